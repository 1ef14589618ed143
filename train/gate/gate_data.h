/*
 * gate_data.h - a data folder as training examples: token ids, schemas as inputs, labels per element and pair.
 */
#ifndef TRAIN_GATE_GATE_DATA_H
#define TRAIN_GATE_GATE_DATA_H

#include "data/corpora/dataset.h"
#include "models/gate/gate_batch.h"
#include "models/gate/gate_part.h"

/* Pairs of elements of one schema that some question calls alternatives. */
struct twins {
    struct node_pair {
        int u, v;
    } * list;
    int n, cap;
};

/* A schema that an example stands on, in one of its wordings. */
struct gate_form {
    const struct schema_input *schema;
    int pair; /* the candidate pair that the two alternatives are; -1: none, or not among the candidates */
    const struct gate_distractors *appended; /* what stands behind the example's own tables; or NULL */
};

enum { GATE_FORMS = 1 + EXAMPLE_MAX_RENAMED };

struct gate_example {
    const struct example *record;
    struct gate_item item;              /* on the record's own schema */
    struct gate_part *part;             /* of a wide schema, which its item reads; NULL: it reads all */
    struct schema_graph drawn;          /* the item's, where the model takes drawn ones */
    int pair;                           /* likewise, see struct gate_form */
    struct gate_form forms[GATE_FORMS]; /* the record's own schema, then the renamed ones */
    int n_forms;
    const struct twins *twins; /* of its schema; NULL of a part */
    uint8_t *relevant;         /* [n_nodes] of what is read, 1 where some gold SQL touches the element */
    bool knows_relevance;      /* it has gold SQL */
    bool knows_pairs;          /* which candidate pairs are meant; a question that people labelled may not say */
};

struct gate_fold {
    struct gate_example *list;
    int n;
    int unresolved; /* records left out because their SQL does not parse or resolve */
    int lost_pairs; /* those whose alternatives are not among the candidates */
};

struct gate_data {
    struct dataset *records;        /* borrowed */
    struct schema_input *inputs;    /* one per schema, prepared on first use */
    struct twins *twins;            /* one per schema */
    struct schema_finder **finders; /* one per schema, NULL where it is read as a whole */
    struct gate_fold folds[FOLDS];
    int cut;       /* questions that are longer than fits beside their schema */
    uint64_t hash; /* of every record: id, fold, question, labels, names of its schema */
};

struct gate_data_settings {
    const struct tokenizer *tokenizer;
    const struct gate_layout *layout;
    const struct gatekeeper_config *net; /* what the items are for */
    struct schema_input_settings input;
    int elements;                       /* of a schema, that are read at most; 0: all; with test_only alone */
    struct sentence_encoder *retriever; /* see schema_finder.h; NULL: none */
    bool test_only;                     /* nothing is trained or validated on, and the other folds are not read */
};

/* records must outlive d.  -1 with EXIT_CODE_DATA, also when nothing is left to train or validate on. */
int gate_data_init(struct gate_data *d, struct dataset *records, const struct gate_data_settings *s, struct error *err);
void gate_data_release(struct gate_data *d);

/* Whether some question of the data calls elements u and v of the example's schema alternatives. */
bool gate_data_duplicated(const struct gate_example *e, int u, int v);

/* Training questions on wider schemas: behind a question's own tables stand those of other training
 * databases, which have nothing to do with it.
 *
 * Which ones follows from a number, the draw, and from nothing else, so what a step or the cache of states needs is
 * built when it is needed and anew the next time.  Of an appended element no question of another database asks; which
 * of them are twins their own questions say. */

/* Tables appended: a power of two below 2 ^ DISTRACTOR_DOUBLINGS is drawn, then a number from there to the next one; as
 * many whole databases as it takes, each at most once, of those that leave the schema no wider than what detection
 * reads (SCHEMA_SEARCH_ELEMENTS). */
enum { DISTRACTOR_DOUBLINGS = 6 };

struct distractor_source {
    const struct gate_data *data;
    const struct gate_data_settings *settings;
    double share;  /* of the questions */
    uint64_t seed; /* of frozen stages, see gate_distractors_fixed */
    struct distractor_database {
        const char *source_db;
        int *schemas, n, cap; /* numbers in data->records->schemas; those that its training questions are about */
    } * sources;
    int n_sources, cap;
};

/* A form on a schema with more tables.  form.schema is the input below. */
struct gate_distractors {
    struct gate_form form;
    const struct gate_data *data;
    struct schema schema;
    struct schema_input input;
    struct schema_graph drawn; /* where the model takes drawn ones; else empty */
    int *schemas, n;           /* numbers of those that were appended, in their order */
};

/* data and settings must outlive it; data is whole. */
void distractor_source_init(struct distractor_source *a, const struct gate_data *data,
                            const struct gate_data_settings *s, double share, uint64_t seed);
void distractor_source_release(struct distractor_source *a);

/* The example on `form`, one of its own, with tables behind; gate_distractors_free ends it.  NULL where no database
 * fits.
 */
struct gate_distractors *gate_distractors_new(const struct distractor_source *a, const struct gate_example *e,
                                              const struct gate_form *form, uint64_t draw);
void gate_distractors_free(struct gate_distractors *x); /* harmless on NULL */
/* What the example's item reads then. */
struct gate_item gate_distractors_item(const struct gate_example *e, const struct gate_distractors *x);

/* Where states are cached a question has the same tables behind it whenever it is read.  Whether it is one of those
 * that have some, and with which draw. */
bool gate_distractors_fixed(const struct distractor_source *a, const struct gate_example *e, uint64_t *draw);
/* Elements that such a question is read on, and the others on their own schema; a may be NULL: none is one of those. */
int gate_distractors_nodes(const struct distractor_source *a, const struct gate_example *e);

/* The example's own element that a node of the form is; -1 where it is appended. */
int gate_form_own(const struct gate_form *form, const struct gate_example *e, int node);
/* As gate_data_duplicated, for two nodes of the form. */
bool gate_form_duplicated(const struct gate_form *form, const struct gate_example *e, int u, int v);

#endif
