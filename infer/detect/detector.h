/*
 * detector.h - a trained GATekeeper in memory: schemas prepared once, questions scored, predictions made.
 *
 * Use detect.h for batches and detector_find() for a single question.
 */
#ifndef INFER_DETECT_DETECTOR_H
#define INFER_DETECT_DETECTOR_H

#include "data/util/strings.h"
#include "models/embed/schema_finder.h"
#include "models/gate/gate_score.h"

#include <jansson.h>

/* A table or a column of the schema. */
struct prediction_element {
    const char *table, *column; /* column is NULL for a table */
    const char *text;           /* as the model read it */
    double relevance;           /* probability */
};

struct prediction {
    const json_t *id;  /* the record's own; NULL: it has none */
    const char *error; /* why there is no prediction, and nothing below; NULL: there is one */
    const char *db_id, *question;
    int n_question, n_read; /* tokens of the question, and those of them that the model read */
    int n_schema;           /* elements of the schema, of which the model read n_elements */
    double score;           /* probability that the question is ambiguous */
    bool ambiguous;         /* the score reaches the threshold */
    const char *status;     /* clear, ambiguous or unsure: the caller's to set; NULL: not told */
    bool named;             /* it is ambiguous between two elements that the model names: */
    enum sia_kind kind;
    enum linguistic_kind linguistic;     /* it is ambiguous by its words: of which kind; then it is not named */
    bool schema_only;                    /* the detector has no head for what is ambiguous by its words */
    const char *alternatives[2];         /* "table" or "table.column" */
    struct prediction_element *elements; /* those that were read */
    int n_elements;
    struct strings names; /* of columns, which need their table's; all other strings are borrowed */
};

/* Fills all but id, error, question and status from the item's result and the logits of its nodes; the item's schema is
 * the whole one or a part of it.  prediction_release frees. */
void prediction_fill(struct prediction *f, const struct gate_model *m, const struct gate_item *item,
                     const struct schema *whole, const struct gate_result *result, const float *relevance);
void prediction_release(struct prediction *f);

/* A line of the output, with or without the elements' relevance, or {"id", "error"}; a new reference, NULL when a name
 * of the schema is not UTF-8. */
json_t *prediction_json(const struct prediction *f, bool relevance);
/* Of such a line a few for people: question, schema and a sentence. */
void prediction_print(FILE *out, const json_t *line);

struct detector_settings {
    const char *model, *device; /* folder; auto, cpu ... */
    int64_t tokens;             /* most that are encoded at once */
    int64_t max_question;       /* tokens of a question that are read; 0: as many as fit beside the schema's names */
    int64_t elements;           /* most tables and columns of a schema that are read; 0: all */
    double threshold;           /* NAN: the model's own */
    bool no_graph;
    const char *adapt;     /* what ambit-train adapt left, a file or folder; NULL: none */
    const char *retriever; /* BERT folder, see schema_finder.h; NULL: none */
};

/* Of a schema, that are read where nobody says otherwise. */
enum { DETECTOR_ELEMENTS = SCHEMA_SEARCH_ELEMENTS };

/* A schema as the model reads it, once for all its questions; of a wider one each question reads a part of its own. */
struct prepared_schema {
    const struct schema *schema;
    struct schema_input input;
    struct schema_finder *finder; /* in place of the input, where there are more elements than are read; else NULL */
    uint64_t sum;                 /* of the schema, as is: */
    int64_t serial;
};

struct detector {
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_scorer scorer;
    struct sentence_encoder retriever; /* zeroed: none */
    int elements;                      /* of a schema, that are read at most; 0: all */
    struct strings db_ids;             /* of the schemas that were asked for */
    struct prepared_schema **prepared; /* [db_ids.n] */
    int prepared_cap;
};

/* -1 with err; close in any case.  A zeroed struct may be closed too. */
int detector_open(struct detector *d, const struct detector_settings *s, struct error *err);
void detector_close(struct detector *d);

/* The schema of a db_id, prepared once and again when it is another one; s must live as long as it is asked for.  NULL
 * with err. */
const struct prepared_schema *detector_prepare(struct detector *d, const char *db_id, const struct schema *s,
                                               struct error *err);
/* A question of a prepared schema.  What the item borrows is kept in q, zeroed before, which the caller releases; of a
 * wide schema it lacks what it reads, see detector_part.  -1 with EXIT_CODE_DATA. */
struct question_input {
    struct ids ids;
    struct schema_graph drawn;
    struct schema part; /* of a wide schema, and how the model reads it */
    struct schema_input input;
};
int detector_item(const struct detector *d, struct gate_item *item, struct question_input *q,
                  const struct prepared_schema *p, const char *question, const char *where, struct error *err);
/* The part of a wide schema that a question reads; vector: what detector_vectors makes of it, or NULL. */
int detector_part(const struct detector *d, struct gate_item *item, struct question_input *q,
                  const struct prepared_schema *p, const float *vector, struct error *err);
void question_input_release(struct question_input *q);
/* Whether the part is found by meaning too. */
bool detector_wants_vector(const struct detector *d, const struct prepared_schema *p);
/* Vectors of n questions by the retriever, one after the other; the caller frees.  NULL with err. */
float *detector_vectors(struct detector *d, const char *const *questions, int n, struct error *err);
/* Results [n] and the relevance logits [nodes of all items] of n items. */
int detector_score(struct detector *d, const struct gate_item *items, int n, struct gate_result *results,
                   float *relevance, struct error *err);

/* The prediction's line (prediction_json) of a record with "question", a new reference; NULL with err.  `lasting`: s is
 * that of the record's db_id, and what is prepared of it is kept. */
json_t *detector_find(struct detector *d, const json_t *record, const struct schema *s, bool lasting, const char *where,
                      struct error *err);

#endif
