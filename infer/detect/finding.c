#include "infer/detect/finding.h"

#include "data/console/visible.h"
#include "data/util/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kinds as a sentence has them. */
static const char *const readings[] = {
    [SIA_COLUMN] = "the column",
    [SIA_TABLE] = "the table",
    [SIA_JOIN] = "the value kept in one table or joined from another,",
    [SIA_AGGREGATE] = "the aggregate computed now or the one stored,",
};

/* Likewise, by number less one. */
static const char *const wordings[LINGUISTIC_KINDS] = {
    "a condition may belong to the last thing named or to all of them",
    "what is asked of each may be one answer common to all or one for every one",
    "a word of it fits several tables or columns",
};

/* NULL where it is not known. */
static const char *kind_of(const struct finding *f)
{
    if (f->linguistic != LINGUISTIC_NONE)
        return linguistic_kind_name(f->linguistic);
    return f->named ? sia_kind_letter(f->kind) : NULL;
}

/* Elements that are one node are read as one. */
static struct finding_element element_of(const struct gate_model *m, const struct schema_input *in, int element,
                                         const float *relevance)
{
    const struct schema *s = in->schema;
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];
    const struct schema_table *t = &s->tables[c ? c->table : element];
    const char *name = c ? c->text : t->text;
    int node = in->graph.node[element];

    return (struct finding_element){ .table = t->name,
                                     .column = c ? c->name : NULL,
                                     .text = m->net.config.encode == ENCODE_ELEMENT ? in->texts[node] : name,
                                     .relevance = 1 / (1 + exp(-(double)relevance[node])) };
}

static const char *alternative_of(struct finding *f, int node)
{
    const struct finding_element *e = &f->elements[node];
    return e->column ? strings_printf(&f->names, "%s.%s", e->table, e->column) : e->table;
}

void finding_fill(struct finding *f, const struct gate_model *m, const struct gate_item *item,
                  const struct schema *whole, const struct gate_result *result, const float *relevance)
{
    const struct schema_input *in = item->schema;

    f->db_id = in->schema->db_id;
    f->schema_only = !m->net.config.linguistic;
    f->n_question = item->n_question;
    f->n_read = gate_question_kept(&m->layout, item);
    double words = result->kind == LINGUISTIC_NONE ? -HUGE_VAL : (double)result->linguistic;
    f->score = gate_probability(m, gate_join_logits(m, (double)result->score, words));
    f->ambiguous = f->score >= m->threshold;
    f->linguistic =
        f->ambiguous && gate_words_likelier(m, (double)result->score, words) ? result->kind : LINGUISTIC_NONE;
    f->n_schema = whole->n_tables + whole->n_columns;
    f->n_elements = in->graph.n_elements;
    f->elements = xcalloc((size_t)f->n_elements, sizeof *f->elements);
    for (int i = 0; i < f->n_elements; i++)
        f->elements[i] = element_of(m, in, i, relevance);
    f->named = f->ambiguous && f->linguistic == LINGUISTIC_NONE && result->pair >= 0;
    if (!f->named)
        return;
    const struct schema_pair *pair = &in->pairs[result->pair];
    f->kind = pair->kind;
    f->alternatives[0] = alternative_of(f, pair->u);
    f->alternatives[1] = alternative_of(f, pair->v);
}

void finding_release(struct finding *f)
{
    strings_release(&f->names);
    free(f->elements);
    *f = (struct finding){ 0 };
}

static const char *sentence_of(const struct finding *f, struct strings *text)
{
    if (!f->ambiguous)
        return strings_printf(text,
                              f->schema_only ? "No ambiguity with the schema found: the chance of one is %.0f %%. The "
                                               "question's wording was not examined."
                                             : "No ambiguity found: the chance of one is %.0f %%.",
                              100 * f->score);
    if (f->linguistic != LINGUISTIC_NONE)
        return strings_printf(text, "This question has several readings: %s (%.0f %%).", wordings[f->linguistic - 1],
                              100 * f->score);
    if (!f->named)
        return strings_printf(text, "This question is ambiguous for this schema (%.0f %%).", 100 * f->score);
    return strings_printf(text, "This question may mean %s %s or %s (%.0f %%).", readings[f->kind], f->alternatives[0],
                          f->alternatives[1], 100 * f->score);
}

static const char *told(const struct finding *f, struct strings *text)
{
    const char *sentence = sentence_of(f, text);
    bool unsure = f->status && strcmp(f->status, "unsure") == 0;
    return unsure ? strings_printf(text, "Not sure. %s", sentence) : sentence;
}

static json_t *elements_json(const struct finding *f)
{
    json_t *list = json_array();

    for (int i = 0; i < f->n_elements; i++) {
        const struct finding_element *e = &f->elements[i];
        json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:f}", "table", e->table, "column", e->column, "text",
                                              e->text, "relevance", e->relevance));
    }
    return list;
}

/* NULL when all were. */
static json_t *kept_of(int kept, int of)
{
    return kept < of ? json_pack("{s:i, s:i}", "kept", kept, "of", of) : NULL;
}

json_t *finding_json(const struct finding *f, bool relevance)
{
    if (f->error)
        return json_pack("{s:O?, s:o}", "id", f->id, "error", json_message(f->error));
    struct strings text = { 0 };
    const char *sentence = told(f, &text);
    json_t *alternatives = f->named ? json_pack("[s, s]", f->alternatives[0], f->alternatives[1]) : json_array();
    json_t *cut = kept_of(f->n_read, f->n_question), *part = kept_of(f->n_elements, f->n_schema);
    json_t *o = json_pack("{s:O, s:s, s:s, s:o*, s:o*, s:f, s:b, s:s*, s:s?, s:o, s:s, s:o*}", "id", f->id, "db_id",
                          f->db_id, "question", f->question, "question_cut", cut, "schema_cut", part, "score", f->score,
                          "ambiguous", f->ambiguous, "status", f->status, "kind", kind_of(f), "alternatives",
                          alternatives, "sentence", sentence, "relevance", relevance ? elements_json(f) : NULL);
    strings_release(&text);
    return o;
}

static const char *text_of(const json_t *line, const char *field)
{
    return json_string_value(json_object_get(line, field));
}

void finding_print(FILE *out, const json_t *line)
{
    const char *error = text_of(line, "error");
    const json_t *cut = json_object_get(line, "question_cut"), *part = json_object_get(line, "schema_cut");

    if (error) {
        visible_printf(out, "error: %s\n\n", error);
        return;
    }
    visible_printf(out, "%s\n    [%s] %s\n", text_of(line, "question"), text_of(line, "db_id"),
                   text_of(line, "sentence"));
    if (cut)
        fprintf(out, "    The first %lld of the question's %lld tokens were read.\n",
                (long long)json_integer_value(json_object_get(cut, "kept")),
                (long long)json_integer_value(json_object_get(cut, "of")));
    if (part)
        fprintf(out, "    The %lld of the schema's %lld tables and columns that the question may be about were read.\n",
                (long long)json_integer_value(json_object_get(part, "kept")),
                (long long)json_integer_value(json_object_get(part, "of")));
    fputc('\n', out);
}
