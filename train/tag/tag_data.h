/*
 * tag_data.h - a folder of records with marked words as training examples.
 */
#ifndef TRAIN_TAG_TAG_DATA_H
#define TRAIN_TAG_TAG_DATA_H

#include "data/corpora/dataset.h"
#include "data/span/span_record.h"
#include "models/dte/dte_target.h"

struct tag_example {
    const struct span_record *record;
    struct tag_question question;
    struct tag_value *values; /* of the question */
    struct dte_item item;
};

struct tag_fold {
    struct span_record_list records;
    struct tag_example *list;
    int n;
    int wide; /* records left out of training because their columns do not fit into one sequence */
};

struct tag_data {
    struct tag_fold folds[FOLDS];
    struct strings texts; /* of the questions' values */
    uint64_t hash;        /* of every record */
};

/* Reads train.jsonl, valid.jsonl and test.jsonl; a missing test.jsonl is an empty one.  -1 with EXIT_CODE_DATA. */
int tag_data_read(struct tag_data *d, const char *dir, struct error *err);
/* Every question that the network reads, cut into its sequences. */
int tag_data_pack(struct tag_data *d, const struct dte_layout *layout, struct error *err);
void tag_data_release(struct tag_data *d);

#endif
