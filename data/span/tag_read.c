#include "data/span/tag_read.h"

#include "data/span/tag_sentence.h"
#include "data/util/json.h"

#include <stdlib.h>
#include <string.h>

static int read_label(enum span_label *label, const json_t *span, const char *where, struct error *err)
{
    const char *name = json_get_string(span, "label", where, err);

    for (int l = 0; name && l < SPAN_LABELS; l++)
        if (strcmp(name, span_label_name((enum span_label)l)) == 0) {
            *label = (enum span_label)l;
            return 0;
        }
    return name ? error_set(err, EXIT_CODE_DATA, "%s: field \"label\": expected COL, VAL, AMB or UNK, got \"%.100s\"",
                            where, name)
                : -1;
}

static int read_kind(struct tag_concept *c, const json_t *concept, const char *where, struct error *err)
{
    static const char *const names[] = { [TAG_TABLE] = "table", [TAG_COLUMN] = "column", [TAG_VALUE] = "value" };
    const char *name = json_get_string(concept, "kind", where, err);

    for (int k = 0; name && k < ARRAY_LEN(names); k++)
        if (strcmp(name, names[k]) == 0) {
            c->kind = (enum tag_kind)k;
            return 0;
        }
    return name ? error_set(err, EXIT_CODE_DATA, "%s: field \"kind\": expected table, column or value, got \"%.100s\"",
                            where, name)
                : -1;
}

static int find_column(const struct span_record *r, const struct tag_concept *c, const char *name)
{
    struct tag_question q = { .columns = r->columns, .n_columns = r->n_columns };
    struct tag_concept tried = { .kind = c->kind };

    for (; tried.column < r->n_columns; tried.column++) {
        char *has = tag_concept_name(&q, &tried);
        bool same = strcmp(has, name) == 0;
        free(has);
        if (same)
            return tried.column;
    }
    return -1;
}

static int read_concept(struct tag_concept *c, const json_t *concept, const struct span_record *r, const char *where,
                        struct error *err)
{
    const char *name = json_get_string(concept, "concept", where, err);

    if (!name || read_kind(c, concept, where, err) || json_get_real(concept, "score", 0, 1, &c->score, where, err))
        return -1;
    c->column = find_column(r, c, name);
    if (c->kind != TAG_VALUE)
        return 0;
    json_t *values = json_get_array(concept, "values", where, err);
    c->value = json_string_value(json_array_get(values, 0));
    if (values && !c->value)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"values\": expected the value, got none", where);
    return values ? 0 : -1;
}

static int read_span(struct tag_span *s, const json_t *span, const struct span_record *r, int after, const char *where,
                     struct error *err)
{
    json_t *list = json_get_array(span, "alternatives", where, err), *concept;
    int64_t start, end;
    size_t i;

    if (!list || json_get_int(span, "start", after, r->n_letters - 1, &start, where, err) ||
        json_get_int(span, "end", start + 1, r->n_letters, &end, where, err) ||
        read_label(&s->label, span, where, err) ||
        json_get_real(span, "probability", 0, 1, &s->probability, where, err))
        return -1;
    s->start = (int)start;
    s->end = (int)end;
    s->alternatives = xcalloc(json_array_size(list) + 1, sizeof *s->alternatives);
    json_array_foreach(list, i, concept)
    {
        if (read_concept(&s->alternatives[s->n_alternatives++], concept, r, where, err))
            return -1;
    }
    return 0;
}

int tag_read(struct tag_answer *a, const json_t *line, const struct span_record *r, const char *where,
             struct error *err)
{
    json_t *list = json_get_array(line, "spans", where, err), *span;
    size_t i;

    *a = (struct tag_answer){ 0 };
    if (!list || json_get_real(line, "problem", 0, 1, &a->problem, where, err))
        return -1;
    a->spans = xcalloc(json_array_size(list) + 1, sizeof *a->spans);
    json_array_foreach(list, i, span)
    {
        char at[512];
        snprintf(at, sizeof at, "%.400s: span %zu", where, i);
        int after = a->n_spans ? a->spans[a->n_spans - 1].end : 0;
        if (read_span(&a->spans[a->n_spans++], span, r, after, at, err))
            return -1;
    }
    return 0;
}
