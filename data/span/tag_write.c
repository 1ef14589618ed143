#include "data/span/tag_write.h"

#include "data/span/tag_sentence.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { [TAG_TABLE] = "table", [TAG_COLUMN] = "column", [TAG_VALUE] = "value" };

/* Long ones are cut, at a letter. */
static json_t *example_json(const char *value)
{
    const char *end = text_from_letter(value, TAG_EXAMPLE_LETTERS);
    char *cut;

    if (!*end)
        return json_string(value);
    CHECK(asprintf(&cut, "%.*s...", (int)(end - value), value) >= 0, "no memory for a value");
    json_t *text = json_string(cut);
    free(cut);
    return text;
}

/* Returns 0 where a value is no UTF-8. */
static int add_examples(json_t *list, const struct tag_question *q, const struct tag_concept *c)
{
    const struct span_column *column = &q->columns[c->column];
    int rc = 0;

    if (c->kind == TAG_VALUE)
        return json_array_append_new(list, json_string(c->value));
    for (int i = 0; i < column->n_values && i < TAG_EXAMPLES && c->kind == TAG_COLUMN; i++)
        rc |= json_array_append_new(list, example_json(column->values[i]));
    return rc;
}

/* NULL where a name is no UTF-8, as all of these. */
static json_t *concept_json(const struct tag_question *q, const struct tag_concept *c)
{
    char *name = tag_concept_name(q, c);
    json_t *values = json_array();
    json_t *o = add_examples(values, q, c) ? NULL
                                           : json_pack("{s:s, s:s, s:f, s:O}", "concept", name, "kind", kinds[c->kind],
                                                       "score", c->score, "values", values);
    json_decref(values);
    free(name);
    return o;
}

static json_t *concepts_json(const struct tag_question *q, const struct tag_concept *list, int n)
{
    json_t *all = json_array();

    for (int i = 0; i < n; i++)
        if (json_array_append_new(all, concept_json(q, &list[i]))) {
            json_decref(all);
            return NULL;
        }
    return all;
}

static json_t *span_json(const struct tag_question *q, const struct tag_span *s)
{
    const char *word = text_from_letter(q->question, s->start);
    size_t n = (size_t)(text_from_letter(word, s->end - s->start) - word);

    return json_pack("{s:i, s:i, s:o, s:s, s:f, s:o, s:o}", "start", s->start, "end", s->end, "text",
                     json_stringn(word, n), "label", span_label_name(s->label), "probability", s->probability,
                     "alternatives", concepts_json(q, s->alternatives, s->n_alternatives), "nearest",
                     concepts_json(q, s->nearest, s->n_nearest));
}

static json_t *spans_json(const struct tag_question *q, const struct tag_answer *a)
{
    json_t *all = json_array();

    for (int i = 0; i < a->n_spans; i++)
        if (json_array_append_new(all, span_json(q, &a->spans[i]))) {
            json_decref(all);
            return NULL;
        }
    return all;
}

static json_t *status_json(const struct tag_answer *a)
{
    bool found[SPAN_LABELS] = { false };
    json_t *status = json_array();

    for (int i = 0; i < a->n_spans; i++)
        found[a->spans[i].label] = true;
    if (found[SPAN_AMB])
        json_array_append_new(status, json_string("ambiguous"));
    if (found[SPAN_UNK])
        json_array_append_new(status, json_string("unanswerable"));
    return status;
}

static double problem_of(const struct tag_answer *a)
{
    double most = a->problem;

    for (int i = 0; i < a->n_spans; i++)
        if ((a->spans[i].label == SPAN_AMB || a->spans[i].label == SPAN_UNK) && a->spans[i].probability > most)
            most = a->spans[i].probability;
    return most;
}

static json_t *heat_json(const struct tag_answer *a)
{
    json_t *all = a->heat ? json_array() : NULL;

    for (int i = 0; all && i < a->n_heat; i++)
        json_array_append_new(all, json_pack("{s:i, s:i, s:f}", "start", a->heat[i].start, "end", a->heat[i].end,
                                             "score", a->heat[i].score));
    return all;
}

json_t *tag_json(const json_t *id, const char *db_id, const struct tag_question *q, const struct tag_answer *a)
{
    char *sentence = tag_sentence(q, a);
    json_t *o = json_pack("{s:O*, s:s*, s:s, s:o, s:f, s:o, s:s, s:o*}", "id", id, "db_id", db_id, "question",
                          q->question, "status", status_json(a), "problem", problem_of(a), "spans", spans_json(q, a),
                          "sentence", sentence, "heat", heat_json(a));
    free(sentence);
    return o;
}
