#include "infer/detect/detect.h"

#include "kernels/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Kinds as the field writes them, and in a sentence. */
static const char *const readings[] = {
    [SIA_COLUMN] = "the column",
    [SIA_TABLE] = "the table",
    [SIA_JOIN] = "the value kept in one table or joined from another,",
    [SIA_AGGREGATE] = "the aggregate computed now or the one stored,",
};

static const char *table_name(const struct schema *s, int node)
{
    return s->tables[node < s->n_tables ? node : s->columns[node - s->n_tables].table].name;
}

/* "table" or "table.column". */
static json_t *element_name(const struct schema *s, int node)
{
    if (node < s->n_tables)
        return json_string(s->tables[node].name);
    return json_sprintf("%s.%s", table_name(s, node), s->columns[node - s->n_tables].name);
}

static json_t *relevance_of(const struct gate_model *m, const struct finding *f)
{
    const struct schema_input *in = f->item->schema;
    const struct schema *s = in->schema;
    json_t *list = json_array();

    for (int node = 0; node < in->n_nodes; node++) {
        bool table = node < s->n_tables;
        const struct schema_column *column = table ? NULL : &s->columns[node - s->n_tables];
        const char *text = m->net.config.encode == ENCODE_ELEMENT ? in->texts[node]
                           : table                                ? s->tables[node].text
                                                                  : column->text;
        json_array_append_new(list, json_pack("{s:s, s:s?, s:s, s:f}", "table", table_name(s, node), "column",
                                              table ? NULL : column->name, "text", text, "relevance",
                                              1 / (1 + exp(-(double)f->relevance[node]))));
    }
    return list;
}

static json_t *sentence_of(const struct finding *f, bool ambiguous, double p)
{
    if (!ambiguous)
        return json_sprintf("No ambiguity found: the chance of one is %.0f %%.", 100 * p);
    if (f->result->pair < 0)
        return json_sprintf("This question is ambiguous for this schema (%.0f %%).", 100 * p);
    const struct schema_pair *pair = &f->item->schema->pairs[f->result->pair];
    json_t *u = element_name(f->item->schema->schema, pair->u), *v = element_name(f->item->schema->schema, pair->v);
    json_t *text = json_sprintf("This question may mean %s %s or %s (%.0f %%).", readings[pair->kind],
                                json_string_value(u), json_string_value(v), 100 * p);
    json_decref(u);
    json_decref(v);
    return text;
}

static json_t *alternatives_of(const struct finding *f, bool ambiguous)
{
    json_t *list = json_array();

    if (!ambiguous || f->result->pair < 0)
        return list;
    const struct schema_pair *pair = &f->item->schema->pairs[f->result->pair];
    json_array_append_new(list, element_name(f->item->schema->schema, pair->u));
    json_array_append_new(list, element_name(f->item->schema->schema, pair->v));
    return list;
}

json_t *finding_to_json(const struct gate_model *m, const struct finding *f)
{
    double p = gate_probability(m, (double)f->result->score);
    bool ambiguous = p >= m->threshold;
    const char *kind =
        ambiguous && f->result->pair >= 0 ? sia_kind_letter(f->item->schema->pairs[f->result->pair].kind) : NULL;

    return json_pack("{s:s, s:s, s:s, s:f, s:b, s:s?, s:o, s:o, s:o}", "id", f->id, "db_id",
                     f->item->schema->schema->db_id, "question", f->question, "score", p, "ambiguous", ambiguous,
                     "kind", kind, "alternatives", alternatives_of(f, ambiguous), "sentence",
                     sentence_of(f, ambiguous, p), "relevance", relevance_of(m, f));
}

void finding_print(FILE *f, const json_t *finding)
{
    const char *error = json_string_value(json_object_get(finding, "error"));

    if (error) {
        fprintf(f, "error: %s\n\n", error);
        return;
    }
    fprintf(f, "%s\n    [%s] %s\n\n", json_string_value(json_object_get(finding, "question")),
            json_string_value(json_object_get(finding, "db_id")),
            json_string_value(json_object_get(finding, "sentence")));
}
