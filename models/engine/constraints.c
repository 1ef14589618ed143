#include "models/engine/constraints.h"

#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/base/whole_file.h"
#include "models/engine/constraint_form.h"

#include <stdlib.h>
#include <string.h>

struct constraints {
    char *path;
    struct strings forms; /* each distinct constraint as JSON */
    struct strings where; /* first line of each */
    struct strings ids;
    int *form_of; /* [ids] */
    int64_t *line_of;
    int cap_forms, cap_lines;
};

/* The record without its id, as JSON. The caller frees it. NULL: it cannot be written. */
static char *form_text(const json_t *record)
{
    json_t *form = json_pack("{s:O*, s:O*, s:O*, s:O*}", "answers", json_object_get(record, "answers"), "slots",
                             json_object_get(record, "slots"), "template", json_object_get(record, "template"),
                             "alternatives", json_object_get(record, "alternatives"));
    char *text = form ? json_dumps(form, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(form);
    return text;
}

static int check_form(const json_t *record, const char *where, struct error *err)
{
    struct constraint_form form;
    int rc = constraint_form_read(&form, record, where, err);

    constraint_form_release(&form);
    return rc;
}

static int add_record(struct constraints *c, const json_t *record, int64_t line, const char *where, struct error *err)
{
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(record, buffer);
    int n = c->ids.n, i = strings_add(&c->ids, id);

    if (i < n)
        return error_set(err, EXIT_CODE_DATA, "%s: the id \"%.200s\" is also on line %lld", where, id,
                         (long long)c->line_of[i]);
    char *text = form_text(record);
    CHECK(text, "%s: a record that was read cannot be written", where);
    GROW(c->form_of, n, c->cap_forms);
    GROW(c->line_of, n, c->cap_lines);
    c->line_of[n] = line;
    c->form_of[n] = strings_add(&c->forms, text);
    if (c->form_of[n] == c->where.n)
        strings_add(&c->where, where);
    free(text);
    return 0;
}

static int read_all(struct constraints *c, struct record_reader *in, struct error *err)
{
    json_t *record;
    int rc;

    while ((rc = record_reader_next(in, &record, err)) > 0) {
        const char *where = record_reader_where(in);
        rc = check_form(record, where, err) || add_record(c, record, record_reader_number(in), where, err) ? -1 : 0;
        json_decref(record);
        if (rc)
            return -1;
    }
    if (rc == 0 && c->ids.n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: expected a constraint on each line, got none", c->path);
    return rc;
}

struct constraints *constraints_open(const char *path, struct error *err)
{
    struct record_reader *in = record_reader_open(path, RECORDS_AUTO, err);
    struct constraints *c = in ? xcalloc(1, sizeof *c) : NULL;

    if (!c)
        return NULL;
    c->path = xstrdup(path);
    int rc = read_all(c, in, err);
    record_reader_close(in);
    if (rc == 0)
        return c;
    constraints_close(c);
    return NULL;
}

void constraints_close(struct constraints *c)
{
    if (!c)
        return;
    strings_release(&c->forms);
    strings_release(&c->where);
    strings_release(&c->ids);
    free(c->form_of);
    free(c->line_of);
    free(c->path);
    free(c);
}

int constraints_count(const struct constraints *c)
{
    return c->forms.n;
}

int constraints_find(const struct constraints *c, const json_t *record, struct error *err)
{
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(record, buffer);
    int i = strings_find(&c->ids, id);

    if (i < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no line has the id \"%.200s\"", c->path, id);
    return c->form_of[i];
}

uint64_t constraints_key(const struct constraints *c, int i)
{
    return hash_text(HASH_START, c->forms.items[i]);
}

static int compile_form(const struct constraint_form *f, const struct tokenizer *t, const int32_t *stops, int n_stops,
                        struct automaton_host *a, struct error *err)
{
    int n;
    struct token_list *words = constraint_form_encode(f, t, stops, n_stops, &n, err);

    if (!words)
        return -1;
    int rc = automaton_build(a, words, n, stops, n_stops, err);
    for (int i = 0; i < n; i++)
        token_list_release(words + i);
    free(words);
    return rc;
}

int constraint_compile(const json_t *o, const char *where, const struct tokenizer *t, const int32_t *stops, int n_stops,
                       struct automaton_host *a, struct error *err)
{
    struct constraint_form form;
    int rc = constraint_form_read(&form, o, where, err);

    if (rc == 0 && (rc = compile_form(&form, t, stops, n_stops, a, err)))
        error_prefix(err, "%s", where);
    constraint_form_release(&form);
    return rc;
}

int constraints_compile(const struct constraints *c, int i, const struct tokenizer *t, const int32_t *stops,
                        int n_stops, struct automaton_host *a, struct error *err)
{
    json_t *o = json_loads(c->forms.items[i], 0, NULL);

    CHECK(o, "constraint %d was good before", i);
    int rc = constraint_compile(o, c->where.items[i], t, stops, n_stops, a, err);
    json_decref(o);
    return rc;
}
