/*
 * detector.h - a trained GATekeeper in memory: it prepares each schema once and predicts whether questions are
 * ambiguous.
 *
 * Use detect.h for files, a question_group for questions in memory, and detector_find() for a single question.  If a
 * schema has more elements than the model reads, each question reads the part that fits it best.
 */
#ifndef INFER_DETECT_DETECTOR_H
#define INFER_DETECT_DETECTOR_H

#include "data/base/strings.h"
#include "data/span/tag_databases.h"
#include "models/embed/schema_finder.h"
#include "models/gatekeeper/gate_triage.h"
#include "models/gatekeeper/gate_words.h"

#include <jansson.h>

/* A table or a column of the schema. */
struct prediction_element {
    const char *table, *column; /* column is NULL for a table */
    const char *text;           /* text that the model read */
    double relevance;           /* probability */
};

/* Two elements that words of the question may mean. */
struct prediction_pair {
    enum sia_type type;
    const char *alternatives[2]; /* "table" or "table.column" */
    double score;                /* calibrated probability */
    int start, end;              /* the words, in code points, found by the names; both 0: unknown */
};

enum { PREDICTION_PAIRS = 4 }; /* maximum number of pairs of a prediction */

struct prediction {
    const json_t *id;  /* of the record; or NULL */
    const char *error; /* reason for a missing prediction, whose fields below are unset; or NULL */
    const char *db_id, *question;
    int n_question, n_read; /* tokens of the question, and number of them that the model read */
    int n_schema;           /* elements of the schema; the model read n_elements of them */
    double score;           /* calibrated probability that the question is ambiguous */
    bool ambiguous;         /* the score reaches the threshold */
    const char *status;     /* clear, ambiguous or unsure, set by the caller; or NULL */
    bool named;             /* the model names two alternatives, those of pairs[0] */
    /* The most probable pair, then others that reach the threshold and concern other words. */
    struct prediction_pair pairs[PREDICTION_PAIRS];
    int n_pairs;
    enum linguistic_type linguistic;     /* linguistic ambiguity, which has no alternatives */
    bool schema_only;                    /* the detector has no head for linguistic ambiguity */
    bool triaged;                        /* the detector has a head for classes, and the next four fields are set */
    enum triage_class class;             /* by the thresholds of the head */
    enum triage_kind kind;               /* the likeliest one of the class */
    double classes[TRIAGE_CLASSES];      /* probabilities */
    struct triage_reading signs;         /* of the question's words */
    json_t *tagged;                      /* owned line of tag_json(); NULL: the detector has no head for words */
    struct prediction_element *elements; /* [n_elements] elements that the model read */
    int n_elements;
    struct strings names; /* owns the names of columns; all other strings are borrowed */
};

/* Fills all fields but id, error, question, status, tagged and those of the class.  relevance: [nodes of the item]
 * logits; pairs: [pairs of the schema] logits, or NULL.  The item's schema is the whole one or a part of it.  The
 * caller releases the prediction. */
void prediction_fill(struct prediction *f, const struct gate_model *m, const struct gate_item *item,
                     const struct schema *whole, const struct gate_result *result, const float *relevance,
                     const float *pairs);
void prediction_release(struct prediction *f);

/* Number of elements whose relevance a prediction reports: none, all in the order of the schema, or the most relevant
 * ones in decreasing order. */
enum { RELEVANCE_NONE = 0, RELEVANCE_TOP = 5, RELEVANCE_ALL = -1 };
/* A line of the output, or {"id", "error"}.  Returns a new reference, or NULL when a name of the schema is not UTF-8.
 */
json_t *prediction_json(const struct prediction *f, int relevance);
/* Prints such a line for people: question, schema and a sentence. */
void prediction_print(FILE *out, const json_t *line);
/* Prints such a line as a row of a table (table_writer.h), with the columns of the head. */
extern const char prediction_table_head[];
void prediction_print_row(FILE *out, const json_t *line);

struct detector_settings {
    const char *model, *device; /* folder; auto, cpu, cuda, ... */
    int64_t tokens;             /* maximum number of tokens encoded at once */
    int64_t max_question;       /* maximum number of tokens of a question; 0: as many as fit beside the schema */
    int64_t elements;           /* maximum number of tables and columns of a schema; 0: all */
    double threshold;           /* NAN: the one stored in the model */
    bool no_graph;
    const char *adapter;   /* adapter of ambit-train adapt, a file or folder; or NULL */
    const char *retriever; /* BERT folder (schema_finder.h); or NULL */
};

/* Defaults of detector_settings.elements and .tokens. */
enum { DETECTOR_ELEMENTS = SCHEMA_SEARCH_ELEMENTS, DETECTOR_TOKENS = 16384 };

/* A schema in the form that the model reads.  Each question about a wide schema reads its own part. */
struct prepared_schema {
    const struct schema *schema;
    struct schema_input input;
    struct schema_finder *finder; /* of a wide schema, in place of the input; else NULL */
    struct triage_names names;    /* if the detector has a head for classes */
    struct word_names words;      /* if it has a head for words, of the input's elements; */
    struct tag_source *columns;   /* and the columns of the schema, without values; or NULL */
    bool lasting;                 /* the schema belongs to its db_id, whose values may be looked up */
    uint64_t hash;                /* hash of the schema */
    int64_t serial;
};

struct detector {
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_triage triage; /* unknown with an adapter, which changes what the heads read */
    struct gate_words words;   /* likewise */
    /* Databases in which the words of a question are looked up before the head for classes refuses it, or of each
     * question if looks_up.  Both are set by the caller; databases are borrowed, or NULL. */
    struct tag_databases *values;
    bool looks_up;
    struct gate_scorer scorer;
    struct sentence_encoder retriever; /* zeroed if there is none */
    int elements;                      /* maximum number of elements of a schema; 0: all */
    struct strings db_ids;             /* of the prepared schemas */
    struct prepared_schema **prepared; /* [db_ids.n] */
    int prepared_cap;
};

/* Returns -1 with err.  The caller closes the detector in any case; a zeroed struct may be closed. */
int detector_open(struct detector *d, const struct detector_settings *s, struct error *err);
void detector_close(struct detector *d);

/* Returns the prepared schema of a db_id, prepared anew when s has changed, or NULL with err.  s must outlive the uses
 * of the db_id. */
const struct prepared_schema *detector_prepare(struct detector *d, const char *db_id, const struct schema *s,
                                               struct error *err);
/* Drops all prepared schemas. */
void detector_forget(struct detector *d);
/* The same for a schema that is used once.  The caller frees the result. */
struct prepared_schema *detector_prepare_once(struct detector *d, const struct schema *s, struct error *err);
void prepared_schema_free(struct prepared_schema *p);

/* Maximum number of questions that are scored together. */
enum { DETECTOR_GROUP = 64 };

/* A question of a group, and its place in the results. */
struct group_question {
    const char *question;                 /* borrowed; or NULL */
    const json_t *context;                /* list of the user's earlier questions, borrowed; or NULL */
    const struct prepared_schema *schema; /* NULL: the question cannot be scored */
    char *error;                          /* the reason why it cannot be scored, or NULL */
    struct gate_item item;
    struct ids ids;            /* tokens of the question */
    struct schema_graph drawn; /* the graph with the question's edges */
    struct schema part;        /* part of a wide schema, and its form for the model */
    struct schema_input input;
    int result;                     /* index of its result */
    const float *relevance;         /* [nodes of the item] logits */
    const float *pairs;             /* [pairs of its schema] logits; NULL: the model has none */
    const float *tokens, *elements; /* states for the head for words (gate_encode_words) */
};

/* Questions that are scored together: the one implementation for files, libambit and single questions.  The caller adds
 * questions until the group is full, chooses the parts of wide schemas, scores, and reads the predictions.  A question
 * that cannot be scored keeps its error, and the others of the group are scored. */
struct question_group {
    struct detector *detector;
    int n, nodes; /* nodes: upper bound of the schema elements that the model reads */
    struct group_question questions[DETECTOR_GROUP];
    struct gate_result results[DETECTOR_GROUP];
    float *relevance, *pairs; /* logits of all items, or NULL */
    float *tokens, *elements; /* states of all items for the head for words, or NULL */
};

/* Starts an empty group.  The caller releases it, which also empties it for the next questions. */
void question_group_init(struct question_group *g, struct detector *d);
void question_group_release(struct question_group *g);
/* Tells whether the group has as many questions or schema elements as are scored together. */
bool question_group_is_full(const struct question_group *g);
/* Adds a question, which is borrowed like its schema.  place opens the messages.  A NULL schema has an error in why. */
void question_group_add(struct question_group *g, const char *question, const struct prepared_schema *schema,
                        const char *place, const struct error *why);
/* Sets the context of the latest question, the record's field "context". */
void question_group_context(struct question_group *g, const json_t *record, const char *place);
/* Chooses the part of each wide schema.  All errors of questions are known afterwards.  Returns -1 with err. */
int question_group_choose(struct question_group *g, struct error *err);
/* Scores the questions without errors, and reads their words if the detector has a head for words.  Returns -1 with
 * err.
 */
int question_group_score(struct question_group *g, struct error *err);
/* Reads the words alone, by the encoder's first layers. */
int question_group_read_words(struct question_group *g, struct error *err);
/* Tags the words of a question without error that has been read.  q: the question with columns of its schema, and
 * values if known; the answer is valid as long as q.  The caller releases it. */
void question_group_tag(const struct question_group *g, int i, const struct tag_question *q, struct tag_answer *a);
/* Fills question, error, all that prediction_fill() fills, the class and the tagged words.  The prediction borrows from
 * the group. */
void question_group_predict(const struct question_group *g, int i, struct prediction *f);

/* Predicts for one record with "question".  Returns a line (prediction_json()) as a new reference, or NULL with err.
 * lasting: s belongs to the record's db_id, and its prepared form is kept.  tagged: receives the words' line
 * (tag_json()) as a new reference, NULL without a head for words; or NULL. */
json_t *detector_find(struct detector *d, const json_t *record, const struct schema *s, bool lasting, json_t **tagged,
                      const char *where, struct error *err);

#endif
