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
    int own; /* of the records: those behind them are another run's, for replay */
    struct tag_example *list;
    int n;
    int wide; /* records left out of training because their columns do not fit into one sequence */
};

struct tag_data {
    struct tag_fold folds[FOLDS];
    struct strings texts; /* of the questions' values */
    uint64_t hash;        /* of every record */
};

/* So many training records a run keeps for those that go on from it. */
enum { TAG_REPLAY = 1000 };
#define TAG_REPLAY_FILE "replay.jsonl"

/* Reads train.jsonl, valid.jsonl and test.jsonl of a folder; a missing test.jsonl is an empty one, and so is, with
 * `few`, a missing valid.jsonl.  A path that is no folder is a file of training records.  -1 with EXIT_CODE_DATA. */
int tag_data_read(struct tag_data *d, const char *path, bool few, struct error *err);
/* Adds n records of DIR/replay.jsonl to those for training, none of a question that these ask; none with
 * a warning where there is no such file. */
int tag_data_replay(struct tag_data *d, const char *dir, int n, struct error *err);
/* Writes DIR/replay.jsonl: a sample of the training records in an order of its own. */
int tag_data_save_replay(const struct tag_data *d, const char *dir, struct error *err);
/* Every question that the network reads, cut into its sequences. */
int tag_data_pack(struct tag_data *d, const struct dte_layout *layout, struct error *err);
void tag_data_release(struct tag_data *d);

#endif
