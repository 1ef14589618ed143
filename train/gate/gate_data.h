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
    const struct gate_appended *appended; /* what stands behind the example's own tables (gate_appended.h); or NULL */
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
bool gate_data_twins(const struct gate_example *e, int u, int v);
bool twins_hold(const struct twins *t, int u, int v);

#endif
