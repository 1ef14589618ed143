/*
 * finding.h - what the detector found out about one question: plain values, and two ways to write them.
 */
#ifndef INFER_DETECT_FINDING_H
#define INFER_DETECT_FINDING_H

#include "data/util/strings.h"
#include "models/gate/gate_score.h"

#include <jansson.h>

/* A table or a column of the schema. */
struct finding_element {
    const char *table, *column; /* column is NULL for a table */
    const char *text;           /* as the model read it */
    double relevance;           /* probability */
};

struct finding {
    const json_t *id;  /* the record's own; NULL: it has none */
    const char *error; /* why there is no finding, and nothing below; NULL: there is one */
    const char *db_id, *question;
    int n_question, n_read; /* tokens of the question, and those of them that the model read */
    int n_schema;           /* elements of the schema, of which the model read n_elements */
    double score;           /* probability that the question is ambiguous */
    bool ambiguous;         /* the score reaches the threshold */
    const char *status;     /* clear, ambiguous or unsure: the caller's to set; NULL: not told */
    bool named;             /* it is ambiguous between two elements that the model names: */
    enum sia_kind kind;
    enum linguistic_kind linguistic;  /* it is ambiguous by its words: of which kind; then it is not named */
    bool schema_only;                 /* the detector has no head for what is ambiguous by its words */
    const char *alternatives[2];      /* "table" or "table.column" */
    struct finding_element *elements; /* those that were read */
    int n_elements;
    struct strings names; /* of columns, which need their table's; all other strings are borrowed */
};

/* Fills all but id, error, question and status from the item's result and the logits of its nodes; the item's schema is
 * the whole one or a part of it.  finding_release frees. */
void finding_fill(struct finding *f, const struct gate_model *m, const struct gate_item *item,
                  const struct schema *whole, const struct gate_result *result, const float *relevance);
void finding_release(struct finding *f);

/* A line of the output, with or without the elements' relevance, or {"id", "error"}; a new reference, NULL when a name
 * of the schema is not UTF-8. */
json_t *finding_json(const struct finding *f, bool relevance);
/* Of such a line a few for people: question, schema and a sentence. */
void finding_print(FILE *out, const json_t *line);

#endif
