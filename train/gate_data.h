/*
 * gate_data.h - the contrast folder as training examples: token ids, schemas as inputs, labels per element and pair.
 */
#ifndef TRAIN_GATE_DATA_H
#define TRAIN_GATE_DATA_H

#include "models/gate_batch.h"

enum gate_kind { KIND_C, KIND_T, KIND_J, KIND_P, KINDS, KIND_NONE = KINDS };
enum gate_slice { SLICE_CROSSED, SLICE_PRESENCE };

struct gate_example {
    char *id, *question_text;
    struct gate_item item;
    enum gate_slice slice;
    enum gate_kind kind;      /* what the example is about, also when it is not ambiguous */
    bool ambiguous;
    int pair;                 /* the candidate pair that the two alternatives are; -1: none, or not among the candidates */
    uint8_t *relevant;        /* [n_nodes] 1 where some gold SQL touches the element */
};

struct gate_split {
    struct gate_example *list;
    int n, cap;
    int skipped; /* records whose SQL could not be resolved */
    int lost_pairs; /* ambiguous ones whose alternatives are not among the candidates */
};

struct gate_data {
    struct schema_set schemas;
    struct schema_input *inputs; /* one per schema, prepared on first use */
    bool *prepared;
    struct gate_split train, valid, test;
    uint64_t hash;              /* of every record read: the split hash */
};

struct gate_data_settings {
    const struct tokenizer *tokenizer;
    const struct gate_glue *glue;
    struct schema_input_settings input;
};

/* Reads DIR/tables.json and {train,valid,test}.jsonl. */
int gate_data_open(struct gate_data *d, const char *dir, const struct gate_data_settings *s, struct error *err);
void gate_data_close(struct gate_data *d);

const char *gate_kind_name(enum gate_kind k);

#endif
