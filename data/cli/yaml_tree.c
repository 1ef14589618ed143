#include "data/cli/yaml_tree.h"

#include "data/cli/options_impl.h"
#include "data/util/whole_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct tree_reader {
    const char *path;
    yaml_parser_t parser;
    struct error *err;
};

int yaml_tree_fail(const char *path, struct yaml_place at, struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return error_set(err, EXIT_CODE_USAGE, "%s:%zu:%zu: %s", path, at.line, at.column, text);
}

static struct yaml_place place_of(yaml_mark_t mark)
{
    return (struct yaml_place){ mark.line + 1, mark.column + 1 };
}

static int next_event(struct tree_reader *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->parser, e))
        return 0;
    if (r->parser.error == YAML_READER_ERROR)
        return error_set(r->err, EXIT_CODE_USAGE, "%s: byte %zu: %s", r->path, r->parser.problem_offset,
                         r->parser.problem ? r->parser.problem : "not UTF-8");
    return yaml_tree_fail(r->path, place_of(r->parser.problem_mark), r->err, "%s",
                          r->parser.problem ? r->parser.problem : "not YAML");
}

static bool is_marked(const yaml_event_t *e)
{
    return e->type == YAML_ALIAS_EVENT ||
           (e->type == YAML_SCALAR_EVENT && (e->data.scalar.anchor || e->data.scalar.tag)) ||
           (e->type == YAML_MAPPING_START_EVENT && (e->data.mapping_start.anchor || e->data.mapping_start.tag)) ||
           (e->type == YAML_SEQUENCE_START_EVENT && (e->data.sequence_start.anchor || e->data.sequence_start.tag));
}

/* The text of a scalar; NULL with an error. */
static char *take_text(struct tree_reader *r, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    bool good = e->type == YAML_SCALAR_EVENT && e->data.scalar.length > 0;

    for (size_t i = 0; good && i < e->data.scalar.length; i++)
        good = (unsigned char)text[i] >= ' ';
    if (good)
        return xstrdup(text);
    yaml_tree_fail(r->path, place_of(e->start_mark), r->err, "expected a value of one line");
    return NULL;
}

static int read_children(struct tree_reader *r, struct yaml_tree *t, int depth);

/* The value that begins with the event. */
static int take_value(struct tree_reader *r, struct yaml_tree *t, const yaml_event_t *e, int depth)
{
    t->at = place_of(e->start_mark);
    if (is_marked(e))
        return yaml_tree_fail(r->path, t->at, r->err, "anchors, aliases and tags are not allowed");
    if (e->type == YAML_SCALAR_EVENT)
        return (t->text = take_text(r, e)) ? 0 : -1;
    if (depth == YAML_TREE_DEPTH)
        return yaml_tree_fail(r->path, t->at, r->err, "expected at most %d levels", YAML_TREE_DEPTH);
    t->kind = e->type == YAML_SEQUENCE_START_EVENT ? YAML_LIST : YAML_MAPPING;
    return read_children(r, t, depth + 1);
}

static int take_key(struct tree_reader *r, const struct yaml_tree *of, struct yaml_tree *child, const yaml_event_t *e)
{
    child->key_at = place_of(e->start_mark);
    if (is_marked(e) || e->type != YAML_SCALAR_EVENT)
        return yaml_tree_fail(r->path, child->key_at, r->err, "expected a word as key");
    if (!(child->key = take_text(r, e)))
        return -1;
    for (int i = 0; i + 1 < of->n; i++)
        if (strcmp(of->children[i].key, child->key) == 0)
            return yaml_tree_fail(r->path, child->key_at, r->err, "%s: stands here twice", child->key);
    return 0;
}

/* A child of which the event is the first: its key, behind which the value comes, or its value. */
static int take_child(struct tree_reader *r, struct yaml_tree *t, const yaml_event_t *e, int depth)
{
    yaml_event_t value;

    GROW(t->children, t->n, t->cap);
    struct yaml_tree *child = &t->children[t->n++];
    *child = (struct yaml_tree){ 0 };
    if (t->kind == YAML_LIST)
        return take_value(r, child, e, depth);
    if (take_key(r, t, child, e) || next_event(r, &value))
        return -1;
    int rc = take_value(r, child, &value, depth);
    yaml_event_delete(&value);
    return rc;
}

static int read_children(struct tree_reader *r, struct yaml_tree *t, int depth)
{
    yaml_event_t e;
    int rc = 0;

    for (bool end = false; rc == 0 && !end;) {
        if (next_event(r, &e))
            return -1;
        end = e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT;
        if (!end)
            rc = take_child(r, t, &e, depth);
        yaml_event_delete(&e);
    }
    return rc;
}

/* The only document's value. */
static int read_stream(struct tree_reader *r, struct yaml_tree *t)
{
    bool found = false;
    yaml_event_t e;
    int rc = 0;

    for (bool end = false; rc == 0 && !end;) {
        if (next_event(r, &e))
            return -1;
        end = e.type == YAML_STREAM_END_EVENT;
        bool value = !end && e.type != YAML_STREAM_START_EVENT && e.type != YAML_DOCUMENT_START_EVENT &&
                     e.type != YAML_DOCUMENT_END_EVENT;
        if (value && found)
            rc = yaml_tree_fail(r->path, place_of(e.start_mark), r->err, "a second document");
        else if (value)
            rc = take_value(r, t, &e, 0);
        found = found || value;
        yaml_event_delete(&e);
    }
    return rc || found ? rc : error_set(r->err, EXIT_CODE_USAGE, "%s: is empty", r->path);
}

int yaml_tree_read(struct yaml_tree *t, const char *path, struct error *err)
{
    struct tree_reader r = { .path = path, .err = err };
    size_t size;

    *t = (struct yaml_tree){ 0 };
    char *text = whole_file_read(path, YAML_MAX_BYTES, &size, err);
    if (!text)
        return -1;
    CHECK(yaml_parser_initialize(&r.parser), "out of memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    int rc = read_stream(&r, t);
    yaml_parser_delete(&r.parser);
    free(text);
    return rc;
}

void yaml_tree_release(struct yaml_tree *t)
{
    for (int i = 0; i < t->n; i++)
        yaml_tree_release(&t->children[i]);
    free(t->children);
    free(t->key);
    free(t->text);
    *t = (struct yaml_tree){ 0 };
}

static int set_option(const struct yaml_tree *child, const char *path, const struct option *table, void *settings,
                      struct texts *texts, struct error *err)
{
    int i = option_find(table, child->key, strlen(child->key));
    const struct option *o = i < 0 ? NULL : &table[i];
    const char *near = o ? NULL : option_nearest(table, child->key);
    struct error why;

    if (!o || option_is_source(o))
        return yaml_tree_fail(path, child->key_at, err, "unknown key '%s'%s%s%s", child->key,
                              near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    if (child->kind != YAML_SCALAR)
        return yaml_tree_fail(path, child->at, err, "%s: expected one value", o->name);
    bool kept = o->type == OPTION_STRING || o->type == OPTION_WORD;
    if (option_set(o, settings, kept ? texts_add(texts, child->text) : child->text, &why))
        return yaml_tree_fail(path, child->at, err, "%s: %s", o->name, why.text);
    return 0;
}

int yaml_tree_set(const struct yaml_tree *mapping, const char *path, const char *skip, const struct option *table,
                  void *settings, struct texts *texts, struct error *err)
{
    if (mapping->kind != YAML_MAPPING)
        return yaml_tree_fail(path, mapping->at, err, "expected a mapping of options");
    for (int i = 0; i < mapping->n; i++) {
        const struct yaml_tree *child = &mapping->children[i];
        if ((!skip || strcmp(child->key, skip) != 0) && set_option(child, path, table, settings, texts, err))
            return -1;
    }
    return 0;
}
