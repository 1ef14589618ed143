#include "data/base/yaml.h"

#include "data/base/json.h"
#include "data/base/option_parse.h"
#include "data/base/whole_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

const char *texts_add(struct texts *t, const char *s)
{
    GROW(t->items, t->n, t->cap);
    return t->items[t->n++] = xstrdup(s);
}

void texts_release(struct texts *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct texts){ 0 };
}

struct yaml_reader {
    const char *name; /* name of the file */
    const struct option *table;
    void *settings;
    bool *seen, *here; /* options set so far; options set in this file */
    struct texts *texts;
    char group[64]; /* key of the nested mapping, or "" */
    int depth;      /* number of open mappings */
    int option;     /* option whose value comes next, or -1 */
    struct error *err;
};

static int fail(const struct yaml_reader *r, yaml_mark_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(const struct yaml_reader *r, yaml_mark_t at, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return error_set(r->err, EXIT_CODE_USAGE, "%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1, text);
}

static const char *scalar_text(const yaml_event_t *e)
{
    return (const char *)e->data.scalar.value;
}

static bool is_group(const struct option *table, const char *key, size_t n)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)n, key);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    for (int i = 0; table[i].name; i++)
        if (strncmp(table[i].name, name, n) == 0 && table[i].name[n] == '-')
            return true;
    return false;
}

/* Handles a key.  At the outer level it may open a group, as the next event tells. */
static int take_key(struct yaml_reader *r, const yaml_event_t *e)
{
    char name[160];
    const char *key = scalar_text(e);
    size_t n = e->data.scalar.length;
    if (n == 0 || n >= sizeof r->group || strlen(key) != n)
        return fail(r, e->start_mark, "expected a word of 1 to %zu bytes as key", sizeof r->group - 1);
    snprintf(name, sizeof name, "%s%s%s", r->group, *r->group ? "-" : "", key);
    int i = option_find(r->table, name, strlen(name));
    if (i >= 0 && !option_is_source(&r->table[i])) {
        if (r->here[i])
            return fail(r, e->start_mark, "%s: set twice", name);
        r->option = i;
        return 0;
    }
    if (r->depth == 1 && is_group(r->table, key, n)) {
        memcpy(r->group, key, n + 1);
        return 0;
    }
    const char *known = option_nearest(r->table, name);
    if (known)
        return fail(r, e->start_mark, "unknown key '%s', did you mean '%s'?", name, known);
    return fail(r, e->start_mark, "unknown key '%s'", name);
}

static int take_value(struct yaml_reader *r, const yaml_event_t *e)
{
    const struct option *o = &r->table[r->option];
    const char *text = scalar_text(e);
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct error why;
    if (strlen(text) != e->data.scalar.length)
        return fail(r, e->start_mark, "%s: holds a zero byte", o->name);
    if (plain && (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return fail(r, e->start_mark, "%s: expected a value; omit the key for the default", o->name);
    if (o->type == OPTION_STRING || o->type == OPTION_WORD)
        text = texts_add(r->texts, text);
    if (option_set(o, r->settings, text, &why))
        return fail(r, e->start_mark, "%s: %s", o->name, why.text);
    r->here[r->option] = true;
    if (r->seen)
        r->seen[r->option] = true;
    r->option = -1;
    return 0;
}

static int take_scalar(struct yaml_reader *r, const yaml_event_t *e)
{
    if (e->data.scalar.anchor || e->data.scalar.tag)
        return fail(r, e->start_mark, "anchors and tags are not allowed");
    if (r->depth == 0)
        return fail(r, e->start_mark, "expected a mapping, \"name: value\" on each line");
    if (r->option >= 0)
        return take_value(r, e);
    if (r->depth == 1 && *r->group)
        return fail(r, e->start_mark, "%s: expected a mapping below it", r->group);
    return take_key(r, e);
}

static int open_mapping(struct yaml_reader *r, const yaml_event_t *e)
{
    if (e->data.mapping_start.anchor || e->data.mapping_start.tag)
        return fail(r, e->start_mark, "anchors and tags are not allowed");
    if (r->option >= 0)
        return fail(r, e->start_mark, "%s: expected one value, got a mapping", r->table[r->option].name);
    if (r->depth == 2 || (r->depth == 1 && !*r->group))
        return fail(r, e->start_mark, "unexpected mapping");
    r->depth++;
    return 0;
}

static void close_mapping(struct yaml_reader *r)
{
    r->group[0] = '\0';
    r->depth--;
}

static int take_event(struct yaml_reader *r, const yaml_event_t *e, int *documents)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return ++*documents > 1 ? fail(r, e->start_mark, "expected one document, got a second one") : 0;
    case YAML_ALIAS_EVENT:
        return fail(r, e->start_mark, "aliases are not allowed");
    case YAML_SEQUENCE_START_EVENT:
        if (r->option >= 0)
            return fail(r, e->start_mark, "%s: expected one value, got a list", r->table[r->option].name);
        return fail(r, e->start_mark, "unexpected list");
    case YAML_SCALAR_EVENT:
        return take_scalar(r, e);
    case YAML_MAPPING_START_EVENT:
        return open_mapping(r, e);
    case YAML_MAPPING_END_EVENT:
        close_mapping(r);
        return 0;
    default:
        return 0;
    }
}

static int parser_error(const struct yaml_reader *r, const yaml_parser_t *p)
{
    if (p->error == YAML_MEMORY_ERROR)
        return error_set(r->err, EXIT_CODE_MEMORY, "%s: out of memory", r->name);
    if (p->error == YAML_READER_ERROR)
        return error_set(r->err, EXIT_CODE_USAGE, "%s: byte %zu: %s", r->name, p->problem_offset,
                         p->problem ? p->problem : "not UTF-8");
    return fail(r, p->problem_mark, "%s", p->problem ? p->problem : "not YAML");
}

static int read_events(struct yaml_reader *r, yaml_parser_t *p)
{
    int rc = 0, documents = 0;
    for (bool end = false; !end && rc == 0;) {
        yaml_event_t e;
        if (!yaml_parser_parse(p, &e))
            return parser_error(r, p);
        end = e.type == YAML_STREAM_END_EVENT;
        rc = take_event(r, &e, &documents);
        yaml_event_delete(&e);
    }
    return rc;
}

int yaml_read_text(const char *name, const char *text, size_t size, const struct option *table, void *settings,
                   bool *seen, struct texts *texts, struct error *err)
{
    struct yaml_reader r = {
        .name = name, .table = table, .settings = settings, .seen = seen, .texts = texts, .option = -1, .err = err
    };
    yaml_parser_t p;
    if (!yaml_parser_initialize(&p))
        return error_set(err, EXIT_CODE_MEMORY, "%s: out of memory", name);
    yaml_parser_set_input_string(&p, (const unsigned char *)text, size);
    r.here = xcalloc((size_t)option_count(table), sizeof *r.here);
    int rc = read_events(&r, &p);
    free(r.here);
    yaml_parser_delete(&p);
    return rc;
}

int yaml_read(const char *path, const struct option *table, void *settings, bool *seen, struct texts *texts,
              struct error *err)
{
    size_t size;
    char *text = whole_file_read(path, YAML_MAX_BYTES, &size, err);

    if (!text && err)
        err->code = EXIT_CODE_USAGE;
    int rc = text ? yaml_read_text(path, text, size, table, settings, seen, texts, err) : -1;
    free(text);
    return rc;
}

/* Writes the value as a JSON string, which is valid YAML. */
static int write_text(FILE *f, const struct option *o, const char *text, struct error *err)
{
    json_t *value = json_string(text);
    if (!value)
        return error_set(err, EXIT_CODE_USAGE, "%s: '%.200s' is not UTF-8", o->name, text);
    fprintf(f, "%s: ", o->name);
    json_dumpf(value, f, JSON_ENCODE_ANY);
    fputc('\n', f);
    json_decref(value);
    return 0;
}

static int write_option(FILE *f, const struct option *o, const void *settings, struct error *err)
{
    char text[64];
    if (option_is_source(o))
        return 0;
    if (o->type == OPTION_STRING || o->type == OPTION_WORD) {
        const char *s = *(const char *const *)((const char *)settings + o->offset);
        return s ? write_text(f, o, s, err) : 0;
    }
    option_show(o, settings, text, sizeof text);
    if (o->type == OPTION_CHOICE)
        return *text ? write_text(f, o, text, err) : 0;
    if (*text)
        fprintf(f, "%s: %s\n", o->name, text);
    return 0;
}

int yaml_write(const char *path, const struct option *table, const void *settings, struct error *err)
{
    struct out_file o;
    if (out_file_open(&o, path, err))
        return -1;
    for (const struct option *t = table; t->name; t++)
        if (write_option(o.f, t, settings, err)) {
            out_file_abort(&o);
            return -1;
        }
    return out_file_commit(&o, err);
}

/* Reading trees. */

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

/* Reads the value that starts with the event. */
static int take_tree_value(struct tree_reader *r, struct yaml_tree *t, const yaml_event_t *e, int depth)
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

static int take_tree_key(struct tree_reader *r, const struct yaml_tree *of, struct yaml_tree *child,
                         const yaml_event_t *e)
{
    child->key_at = place_of(e->start_mark);
    if (is_marked(e) || e->type != YAML_SCALAR_EVENT)
        return yaml_tree_fail(r->path, child->key_at, r->err, "expected a word as key");
    if (!(child->key = take_text(r, e)))
        return -1;
    for (int i = 0; i + 1 < of->n; i++)
        if (strcmp(of->children[i].key, child->key) == 0)
            return yaml_tree_fail(r->path, child->key_at, r->err, "%s: duplicate key", child->key);
    return 0;
}

/* Reads a child that starts with the event: its key and value in a mapping, its value in a list. */
static int take_child(struct tree_reader *r, struct yaml_tree *t, const yaml_event_t *e, int depth)
{
    yaml_event_t value;

    GROW(t->children, t->n, t->cap);
    struct yaml_tree *child = &t->children[t->n++];
    *child = (struct yaml_tree){ 0 };
    if (t->kind == YAML_LIST)
        return take_tree_value(r, child, e, depth);
    if (take_tree_key(r, t, child, e) || next_event(r, &value))
        return -1;
    int rc = take_tree_value(r, child, &value, depth);
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

/* Reads the value of the only document. */
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
            rc = yaml_tree_fail(r->path, place_of(e.start_mark), r->err, "expected one document, got a second one");
        else if (value)
            rc = take_tree_value(r, t, &e, 0);
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
