#include "data/span/span_record.h"

#include "data/base/records.h"

#include <stdlib.h>
#include <string.h>

static const char *const labels[SPAN_LABELS] = { "COL", "VAL", "AMB", "UNK" };

const char *span_label_name(enum span_label label)
{
    return labels[label];
}

int text_letters(const char *text, size_t n)
{
    int letters = 0;

    for (size_t i = 0; i < n; i++)
        letters += ((unsigned char)text[i] & 0xc0) != 0x80;
    return letters;
}

static int read_values(struct span_column *c, const json_t *column, const char *where, struct error *err)
{
    json_t *values = json_object_get(column, "values") ? json_get_array(column, "values", where, err) : NULL;
    size_t i, n = json_array_size(values);
    json_t *value;

    if (json_object_get(column, "values") && !values)
        return -1;
    c->values = xcalloc(n + 1, sizeof *c->values);
    json_array_foreach(values, i, value)
    {
        if (!json_is_string(value))
            return error_set(err, EXIT_CODE_DATA, "%s: field \"values\": expected strings, got %s", where,
                             json_type_name(value));
        c->values[c->n_values++] = json_string_value(value);
    }
    return 0;
}

static int read_type(struct span_column *c, const json_t *column, const char *where, struct error *err)
{
    const char *name = json_get_string(column, "type", where, err);

    for (int t = COLUMN_TEXT; name && t <= COLUMN_OTHERS; t++)
        if (strcmp(name, column_type_name((enum column_type)t)) == 0) {
            c->type = (enum column_type)t;
            return 0;
        }
    return name ? error_set(err, EXIT_CODE_DATA,
                            "%s: field \"type\": expected text, number, time, boolean or others, got \"%s\"", where,
                            name)
                : -1;
}

static int read_column(struct span_column *c, const json_t *column, const char *where, struct error *err)
{
    if (json_object_get(column, "table") && !(c->table = json_get_string(column, "table", where, err)))
        return -1;
    c->name = json_get_string(column, "name", where, err);
    if (!c->name || read_type(c, column, where, err))
        return -1;
    if (!*c->name)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"name\": expected the name of a column, got \"\"", where);
    return read_values(c, column, where, err);
}

static int read_columns(struct span_record *r, const char *where, struct error *err)
{
    json_t *columns = json_get_array(r->json, "columns", where, err), *column;
    size_t i;

    if (!columns)
        return -1;
    if (!json_array_size(columns))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"columns\": expected one at least, got none", where);
    r->columns = xcalloc(json_array_size(columns), sizeof *r->columns);
    json_array_foreach(columns, i, column)
    {
        char at[512];
        snprintf(at, sizeof at, "%s: column %zu", where, i);
        if (read_column(&r->columns[r->n_columns++], column, at, err))
            return -1;
    }
    return 0;
}

static int read_label(struct marked_span *s, const json_t *span, const char *where, struct error *err)
{
    const char *name = json_get_string(span, "label", where, err);

    for (int l = 0; name && l < SPAN_LABELS; l++)
        if (strcmp(name, labels[l]) == 0) {
            s->label = (enum span_label)l;
            return 0;
        }
    return name ? error_set(err, EXIT_CODE_DATA, "%s: field \"label\": expected COL, VAL, AMB or UNK, got \"%s\"",
                            where, name)
                : -1;
}

static int read_concept(struct span_concept *a, const struct span_record *r, const json_t *alternative,
                        const char *where, struct error *err)
{
    int64_t column;

    if (json_get_int(alternative, "column", 0, r->n_columns - 1, &column, where, err))
        return -1;
    a->column = (int)column;
    if (!json_object_get(alternative, "value"))
        return 0;
    a->value = json_get_string(alternative, "value", where, err);
    return a->value ? 0 : -1;
}

static int read_alternatives(struct marked_span *s, const struct span_record *r, const json_t *span, const char *where,
                             struct error *err)
{
    static const char *const wanted[SPAN_LABELS] = { "one column", "one value", "two or more", "none" };
    json_t *list = json_get_array(span, "alternatives", where, err), *alternative;
    size_t i, n = json_array_size(list);

    if (!list)
        return -1;
    if (s->label == SPAN_AMB ? n < 2 : n != (s->label != SPAN_UNK))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"alternatives\": expected %s for %s, got %zu", where,
                         wanted[s->label], labels[s->label], n);
    s->alternatives = xcalloc(n + 1, sizeof *s->alternatives);
    json_array_foreach(list, i, alternative) if (read_concept(&s->alternatives[s->n_alternatives++], r, alternative,
                                                              where, err)) return -1;
    if (n == 1 && (s->label == SPAN_VAL) != (s->alternatives[0].value != NULL))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"alternatives\": expected %s for %s, got %s", where,
                         wanted[s->label], labels[s->label], s->alternatives[0].value ? "a value" : "a column");
    return 0;
}

static int read_span(struct marked_span *s, const struct span_record *r, const json_t *span, int after,
                     const char *where, struct error *err)
{
    int64_t start, end;

    if (json_get_int(span, "start", after, r->n_letters - 1, &start, where, err) ||
        json_get_int(span, "end", start + 1, r->n_letters, &end, where, err) || read_label(s, span, where, err))
        return -1;
    s->start = (int)start;
    s->end = (int)end;
    return read_alternatives(s, r, span, where, err);
}

static int read_spans(struct span_record *r, const char *where, struct error *err)
{
    json_t *spans = json_get_array(r->json, "spans", where, err), *span;
    size_t i;

    if (!spans)
        return -1;
    r->spans = xcalloc(json_array_size(spans) + 1, sizeof *r->spans);
    json_array_foreach(spans, i, span)
    {
        char at[512];
        snprintf(at, sizeof at, "%s: span %zu", where, i);
        int after = r->n_spans ? r->spans[r->n_spans - 1].end : 0;
        if (read_span(&r->spans[r->n_spans++], r, span, after, at, err))
            return -1;
    }
    return 0;
}

static int read_keyword(struct sql_concepts *c, const json_t *concept, const char *where, struct error *err)
{
    const char *name = json_get_string(concept, "keyword", where, err);
    int keyword = name ? sql_keyword_find(name) : -1;

    if (keyword < 0)
        return name ? error_set(
                          err, EXIT_CODE_DATA,
                          "%s: field \"keyword\": expected MAX, MIN, COUNT, SUM, AVG, >, <, =, >= or <=, got \"%s\"",
                          where, name)
                    : -1;
    c->keywords |= 1u << keyword;
    return 0;
}

/* Reads the concepts of the SQL, if the record has them. */
static int read_concepts(struct span_record *r, const char *where, struct error *err)
{
    json_t *list = json_object_get(r->json, "concepts") ? json_get_array(r->json, "concepts", where, err) : NULL,
           *concept;
    size_t i;

    r->has_sql = list != NULL;
    if (!list)
        return json_object_get(r->json, "concepts") ? -1 : 0;
    r->sql.items = xcalloc(json_array_size(list) + 1, sizeof *r->sql.items);
    json_array_foreach(list, i, concept)
    {
        char at[512];
        snprintf(at, sizeof at, "%s: concept %zu", where, i);
        if (json_object_get(concept, "keyword") ? read_keyword(&r->sql, concept, at, err)
                                                : read_concept(&r->sql.items[r->sql.n++], r, concept, at, err))
            return -1;
    }
    return 0;
}

static int read_texts(struct span_record *r, const char *where, struct error *err)
{
    struct {
        const char *field, **to;
    } texts[] = { { "id", &r->id },
                  { "source", &r->source },
                  { "db_id", &r->db_id },
                  { "question", &r->question },
                  { "type", &r->kind } };

    for (int i = 0; i < ARRAY_LEN(texts); i++)
        if (!(*texts[i].to = json_get_string(r->json, texts[i].field, where, err)))
            return -1;
    r->n_letters = text_letters(r->question, strlen(r->question));
    return r->n_letters ? 0 : error_set(err, EXIT_CODE_DATA, "%s: field \"question\": expected words, got \"\"", where);
}

int span_record_init(struct span_record *r, json_t *json, const char *where, struct error *err)
{
    *r = (struct span_record){ .json = json };
    int rc = read_texts(r, where, err);
    if (rc == 0)
        rc = read_columns(r, where, err);
    if (rc == 0)
        rc = read_spans(r, where, err);
    if (rc == 0)
        rc = read_concepts(r, where, err);
    if (rc)
        span_record_release(r);
    return rc;
}

int span_record_init_question(struct span_record *r, json_t *json, const char *where, struct error *err)
{
    *r = (struct span_record){ .json = json };
    r->question = json_get_string(json, "question", where, err);
    if (r->question && read_columns(r, where, err) == 0) {
        r->n_letters = text_letters(r->question, strlen(r->question));
        return 0;
    }
    span_record_release(r);
    return -1;
}

void span_record_release(struct span_record *r)
{
    for (int i = 0; i < r->n_columns; i++)
        free(r->columns[i].values);
    for (int i = 0; i < r->n_spans; i++)
        free(r->spans[i].alternatives);
    free(r->columns);
    free(r->spans);
    free(r->sql.items);
    json_decref(r->json);
    *r = (struct span_record){ 0 };
}

bool span_record_is_problem(const struct span_record *r)
{
    for (int i = 0; i < r->n_spans; i++)
        if (r->spans[i].label == SPAN_AMB || r->spans[i].label == SPAN_UNK)
            return true;
    return false;
}

/* A record_fn. */
static int add_record(void *user, json_t *record, const char *where, struct error *err)
{
    struct span_record_list *l = user;

    GROW(l->items, l->n, l->cap);
    if (span_record_init(&l->items[l->n], json_incref(record), where, err))
        return -1;
    l->n++;
    return 0;
}

int span_records_read(struct span_record_list *l, const char *path, struct error *err)
{
    return records_each_as_is(path, RECORDS_AUTO, add_record, l, err);
}

void span_records_release(struct span_record_list *l)
{
    for (int i = 0; i < l->n; i++)
        span_record_release(&l->items[i]);
    free(l->items);
    *l = (struct span_record_list){ 0 };
}
