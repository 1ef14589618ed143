#include "data/clarify/evidence.h"

#include "data/base/json.h"
#include "data/corpora/example.h"
#include "data/schema/mention.h"
#include "data/span/tagging.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)(*a == '_' ? ' ' : *a)) != tolower((unsigned char)(*b == '_' ? ' ' : *b)))
            return false;
    return *a == *b;
}

/* Tells whether a name is the column's text, with or without its table, as records with their own columns have it. */
static bool is_column_text(const struct schema *s, int column, const char *name)
{
    const struct schema_column *c = &s->columns[column];
    char *full;

    CHECK(asprintf(&full, "%s.%s", s->tables[c->table].text, c->text) >= 0, "no memory for a name");
    bool same = same_text(name, c->name) || same_text(name, c->text) || same_text(name, full);
    free(full);
    return same;
}

/* Returns the first column with this text; *n is the number of such columns. */
static int find_text(const struct schema *s, const char *name, int *n)
{
    int first = -1;

    *n = 0;
    for (int c = 0; c < s->n_columns; c++)
        if (is_column_text(s, c, name) && (*n)++ == 0)
            first = c;
    return first;
}

static int refuse_name(const struct schema *s, const char *name, int first, int n, const char *where, struct error *err)
{
    if (n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: \"%s\" is neither a table nor a table.column of the schema", where,
                         name);
    return error_set(err, EXIT_CODE_DATA,
                     "%s: \"%s\" is a column of %d tables: expected one with its table, such as \"%s.%s\"; tag tells "
                     "it where a record's columns have \"table\"",
                     where, name, n, s->tables[s->columns[first].table].name, s->columns[first].name);
}

/* Finds an element by its name in the schema, else by its words.  "table.column::value" names the column. */
static int find_element(const struct schema *s, const char *name, const char *where, struct error *err)
{
    const char *end = strstr(name, "::");
    char *element = end ? strndup(name, (size_t)(end - name)) : NULL;
    int table, column, n = 1, missing = example_element(s, name, &table, &column);

    if (missing && element)
        missing = example_element(s, element, &table, &column);
    if (missing)
        column = find_text(s, name, &n);
    if (n == 0 && element)
        column = find_text(s, element, &n);
    free(element);
    if (n != 1)
        return refuse_name(s, name, column, n, where, err);
    return column < 0 ? table : s->n_tables + column;
}

static int read_label(struct span *p, const json_t *o, const char *where, struct error *err)
{
    const char *label = json_get_string(o, "label", where, err);

    if (!label)
        return -1;
    for (int i = 0; i < SPAN_LABELS; i++)
        if (strcmp(label, span_label_name((enum span_label)i)) == 0) {
            p->label = (enum span_label)i;
            return 0;
        }
    return error_set(err, EXIT_CODE_DATA, "%s: field \"label\": expected AMB, UNK, COL or VAL, got \"%s\"", where,
                     label);
}

static void add_element(struct span *p, int element)
{
    for (int i = 0; i < p->n_elements; i++)
        if (p->elements[i] == element)
            return;
    p->elements[p->n_elements++] = element;
}

static int read_links(struct span *p, const json_t *o, const struct schema *s, const char *where, struct error *err)
{
    const json_t *list = json_get_array(o, "alternatives", where, err), *item;
    size_t i;

    if (!list || json_array_size(list) > EVIDENCE_MAX)
        return list ? error_set(err, EXIT_CODE_DATA, "%s: alternatives: expected at most %d, got %zu", where,
                                EVIDENCE_MAX, json_array_size(list))
                    : -1;
    json_array_foreach(list, i, item)
    {
        const char *name = json_get_string(item, "concept", where, err);
        const char *kind = json_string_value(json_object_get(item, "type"));
        int element = name ? find_element(s, name, where, err) : -1;
        if (element < 0)
            return -1;
        add_element(p, element);
        p->is_value = p->is_value || (kind ? strcmp(kind, "value") == 0 : strstr(name, "::") != NULL);
    }
    return 0;
}

static void read_mentions(struct span *p, const struct schema *s)
{
    size_t n = (size_t)s->n_tables + (size_t)s->n_columns;
    float *all = xcalloc(n * ELEMENT_MENTIONS + 1, sizeof *all);

    p->said = xcalloc(n + 1, sizeof *p->said);
    mention_elements(s, NULL, p->words, all);
    for (size_t i = 0; i < n; i++)
        p->said[i] = all[i * ELEMENT_MENTIONS + ELEMENT_ALL];
    free(all);
}

static int read_span(struct evidence *h, struct span *p, const json_t *o, const char *question, const struct schema *s,
                     const char *where, struct error *err)
{
    int64_t start, end, n = text_letters(question, strlen(question));

    p->probability = 1;
    if (json_get_int(o, "start", 0, n - 1, &start, where, err) ||
        json_get_int(o, "end", start + 1, n, &end, where, err) || read_label(p, o, where, err) ||
        (json_object_get(o, "probability") && json_get_real(o, "probability", 0, 1, &p->probability, where, err)) ||
        (json_object_get(o, "alternatives") && read_links(p, o, s, where, err)))
        return -1;
    p->start = (int)start;
    p->end = (int)end;
    const char *from = text_from_letter(question, p->start), *to = text_from_letter(from, p->end - p->start);
    p->words = strings_printf(&h->pool, "%.*s", (int)(to - from), from);
    read_mentions(p, s);
    return 0;
}

static int read_spans(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                      struct error *err)
{
    const char *question = json_get_string(record, "question", where, err);
    const json_t *list = json_get_array(record, "spans", where, err), *item;
    size_t i;

    if (!question || !list)
        return -1;
    if (json_array_size(list) > EVIDENCE_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: spans: expected at most %d, got %zu", where, EVIDENCE_MAX,
                         json_array_size(list));
    h->spans = xcalloc(json_array_size(list) + 1, sizeof *h->spans);
    json_array_foreach(list, i, item)
    {
        char place[300];
        snprintf(place, sizeof place, "%s: spans[%zu]", where, i);
        h->n_spans = (int)i + 1;
        if (read_span(h, &h->spans[i], item, question, s, place, err))
            return -1;
    }
    return 0;
}

/* Whether one of the words is called ambiguous. */
static bool has_words(const struct evidence *h, int64_t start, int64_t end)
{
    for (int i = 0; i < h->n_spans; i++)
        if (h->spans[i].label == SPAN_AMB && start < h->spans[i].end && h->spans[i].start < end)
            return true;
    return false;
}

/* The entry of "ambiguities" as a span, a new reference, or NULL with err. */
static json_t *span_of_ambiguity(const json_t *o, const char *where, struct error *err)
{
    json_t *names = json_get_array(o, "alternatives", where, err), *name;
    json_t *concepts = json_array(), *score = json_object_get(o, "score");
    size_t i;

    json_array_foreach(names, i, name)
    {
        json_array_append_new(concepts, json_pack("{s:O}", "concept", name));
    }
    json_t *span =
        names ? json_pack("{s:O*, s:O*, s:s, s:O*, s:O}", "start", json_object_get(o, "start"), "end",
                          json_object_get(o, "end"), "label", "AMB", "probability", score, "alternatives", concepts)
              : NULL;
    json_decref(concepts);
    return span;
}

/* Adds the entries of "ambiguities" after the first, which is the record's prediction, as spans. */
static int read_further(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                        struct error *err)
{
    const char *question = json_get_string(record, "question", where, err);
    const json_t *list = question ? json_get_array(record, "ambiguities", where, err) : NULL;
    char place[300];
    int rc = list ? 0 : -1;

    for (size_t i = 1; i < json_array_size(list) && rc == 0 && h->n_spans < EVIDENCE_MAX; i++) {
        snprintf(place, sizeof place, "%.200s: ambiguities[%zu]", where, i);
        json_t *span = span_of_ambiguity(json_array_get(list, i), place, err);
        if (!span)
            return -1;
        h->spans = xrealloc(h->spans, ((size_t)h->n_spans + 1) * sizeof *h->spans);
        struct span *p = &h->spans[h->n_spans];
        *p = (struct span){ 0 };
        rc = read_span(h, p, span, question, s, place, err);
        if (rc == 0 && !has_words(h, p->start, p->end))
            h->n_spans++;
        else
            free(p->said);
        json_decref(span);
    }
    return rc;
}

/* Reads the ambiguity type; the default is T for tables and C for columns. */
static int read_kind(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                     struct error *err)
{
    const json_t *kind = json_object_get(record, "type");

    h->type = h->n_found && h->found[0] < s->n_tables ? SIA_TABLE : SIA_COLUMN;
    if (!kind || json_is_null(kind))
        return 0;
    int type = ambiguity_type_find(json_string_value(kind));
    if (type < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"type\": expected null or one of " AMBIGUITY_TYPE_NAMES,
                         where);
    if (ambiguity_types[type].head == AMBIGUITY_HEAD_PAIRS)
        h->type = ambiguity_type_schema(type);
    return 0;
}

static int read_found(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                      struct error *err)
{
    const json_t *list = json_get_array(record, "alternatives", where, err), *item;
    char place[300];
    size_t i;

    h->score = 1;
    if (!list || (json_object_get(record, "score") && json_get_real(record, "score", 0, 1, &h->score, where, err)))
        return -1;
    if (json_array_size(list) > FOUND_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: alternatives: expected at most %d, got %zu", where, FOUND_MAX,
                         json_array_size(list));
    json_array_foreach(list, i, item)
    {
        snprintf(place, sizeof place, "%s: alternatives[%zu]", where, i);
        if (!json_is_string(item))
            return error_set(err, EXIT_CODE_DATA, "%s: expected a string", place);
        h->found[i] = find_element(s, json_string_value(item), place, err);
        if (h->found[i] < 0)
            return -1;
        h->n_found = (int)i + 1;
    }
    return read_kind(h, record, s, where, err);
}

int evidence_read(struct evidence *h, const json_t *record, const struct schema *s, const char *where,
                  struct error *err)
{
    *h = (struct evidence){ 0 };
    if (json_object_get(record, "spans") && read_spans(h, record, s, where, err))
        return -1;
    if (json_is_false(json_object_get(record, "ambiguous")) || !json_object_get(record, "alternatives"))
        return 0;
    const json_t *several = json_object_get(record, "ambiguities");
    if (several && !json_is_null(several) && read_further(h, record, s, where, err))
        return -1;
    return read_found(h, record, s, where, err);
}

void evidence_release(struct evidence *h)
{
    for (int i = 0; i < h->n_spans; i++)
        free(h->spans[i].said);
    free(h->spans);
    strings_release(&h->pool);
    *h = (struct evidence){ 0 };
}

const char *evidence_element_name(const struct schema *s, int element, struct strings *pool)
{
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];
    return c ? strings_printf(pool, "%s.%s", s->tables[c->table].name, c->name) : s->tables[element].name;
}
