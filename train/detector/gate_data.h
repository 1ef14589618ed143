/*
 * gate_data.h - a data folder as training examples: token ids, schemas as inputs, labels of elements and pairs.
 *
 * It also adds distractor tables to training examples: tables of other training databases, which have nothing to do
 * with the question. They follow from a random seed alone, so that a step builds them when it needs them.
 */
#ifndef TRAIN_DETECTOR_GATE_DATA_H
#define TRAIN_DETECTOR_GATE_DATA_H

#include "data/corpora/dataset.h"
#include "models/embed/schema_finder.h"
#include "models/gatekeeper/gate_batch.h"

/* Duplicated elements: pairs of elements of one schema that some question has as alternatives. */
struct duplicates {
    struct node_pair {
        int u, v;
    } * list;
    int n, cap;
};

/* A schema of an example, with one of its sets of names. */
struct gate_form {
    const struct schema_input *schema;
    int pair; /* the candidate pair that holds the record's alternatives; -1: none, or not among the candidates */
    const struct gate_distractors *appended; /* distractor tables after the example's own tables; or NULL */
};

enum { GATE_FORMS = 1 + EXAMPLE_MAX_RENAMED };

struct gate_example {
    const struct example *record;
    struct gate_item item;                         /* on the record's own schema */
    struct gate_part *part;                        /* the part of a wide schema that is read; NULL: all of it */
    struct schema_graph drawn;                     /* random graph of the item, if the model uses one */
    int pair;                                      /* as in struct gate_form */
    struct node_pair further[EXAMPLE_MAX_FURTHER]; /* the alternatives of the ambiguities after the first */
    int n_further;
    struct gate_form forms[GATE_FORMS]; /* the record's own schema, then schemas with renamed elements */
    int n_forms;
    const struct duplicates *duplicates; /* of its schema; NULL for a part */
    uint8_t *relevant;                   /* [n_nodes] 1: a gold statement uses the element */
    bool knows_relevance;                /* it has gold SQL */
    bool knows_pairs;                    /* it is known which candidate pairs are meant; a custom label may lack them */
};

struct gate_split {
    struct gate_example *list;
    int n;
    int unresolved; /* records without a usable statement: the SQL does not parse or resolve */
    int lost_pairs; /* records whose alternatives are not among the candidates */
};

struct gate_data {
    struct dataset *records;        /* borrowed */
    struct schema_input *inputs;    /* [schemas], prepared on first use */
    struct duplicates *duplicates;  /* [schemas] */
    struct schema_finder **finders; /* [schemas]; NULL for a schema that is read completely */
    struct gate_split splits[SPLITS];
    int cut;       /* questions that are truncated because they do not fit beside their schema */
    uint64_t hash; /* of every record: id, split, question, labels, names of its schema */
};

struct gate_data_settings {
    const struct tokenizer *tokenizer;
    const struct gate_layout *layout;
    const struct gatekeeper_config *net; /* the network that reads the items */
    struct schema_input_settings input;
    int elements;                       /* max elements of a schema that are read; 0: all. With test_only alone */
    struct sentence_encoder *retriever; /* see schema_finder.h; NULL: none */
    bool test_only;                     /* read the test split alone */
};

/* records must outlive d. -1 with EXIT_CODE_DATA, also when no training or validation example is left. */
int gate_data_init(struct gate_data *d, struct dataset *records, const struct gate_data_settings *s, struct error *err);
void gate_data_release(struct gate_data *d);

/* True if a question of the data has elements u and v of the example's schema as alternatives. */
bool gate_data_duplicated(const struct gate_example *e, int u, int v);

/* Distractor tables: training questions on wider schemas. Tables of other training databases follow a question's own
 * tables. They depend on a random seed alone and are built again whenever they are needed. No distractor element is
 * relevant to the question; duplicated elements among them are those of their own database. */

/* A lower bound 2^k with k < DISTRACTOR_DOUBLINGS is sampled, then a number of tables from 2^k to 2^(k + 1) - 1.
 * Whole databases are added until that number is reached, each at most once. Databases that would make the schema
 * wider than SCHEMA_SEARCH_ELEMENTS are skipped. */
enum { DISTRACTOR_DOUBLINGS = 6 };

struct distractor_source {
    const struct gate_data *data;
    const struct gate_data_settings *settings;
    double share;  /* fraction of the questions with distractors */
    uint64_t seed; /* for cached states, see gate_distractors_fixed */
    struct distractor_database {
        const char *source_db;
        int *schemas, n, cap; /* numbers in data->records->schemas: schemas of its training questions */
    } * sources;
    int n_sources, cap;
};

/* A form on a schema with distractor tables. form.schema points to `input`. */
struct gate_distractors {
    struct gate_form form;
    const struct gate_data *data;
    struct schema schema;
    struct schema_input input;
    struct schema_graph drawn; /* if the model uses random graphs; else empty */
    int *schemas, n;           /* numbers of the added schemas, in order */
};

/* data is complete. data and settings must outlive a. */
void distractor_source_init(struct distractor_source *a, const struct gate_data *data,
                            const struct gate_data_settings *s, double share, uint64_t seed);
void distractor_source_release(struct distractor_source *a);

/* Adds distractors to `form`, one of the example's forms. The caller frees the result. NULL if no database fits. */
struct gate_distractors *gate_distractors_new(const struct distractor_source *a, const struct gate_example *e,
                                              const struct gate_form *form, uint64_t draw);
void gate_distractors_free(struct gate_distractors *x); /* harmless on NULL */
/* The example's item on the wider schema. */
struct gate_item gate_distractors_item(const struct gate_example *e, const struct gate_distractors *x);

/* With cached states, the distractors of a question are the same in every epoch. Returns whether the question has
 * some, and sets *draw, their seed. */
bool gate_distractors_fixed(const struct distractor_source *a, const struct gate_example *e, uint64_t *draw);
/* Number of elements of such a question, with its fixed distractors, if any. a may be NULL: no distractors. */
int gate_distractors_nodes(const struct distractor_source *a, const struct gate_example *e);

/* The example's own element behind a node of the form; -1 for a distractor. */
int gate_form_own(const struct gate_form *form, const struct gate_example *e, int node);
/* As gate_data_duplicated, for two nodes of the form. */
bool gate_form_duplicated(const struct gate_form *form, const struct gate_example *e, int u, int v);
/* Whether the candidate pair holds the alternatives of one of the question's ambiguities. */
bool gate_form_meant(const struct gate_form *form, const struct gate_example *e, int pair);

#endif
