/*
 * tag_data.h - a folder of records with marked words as training examples.
 */
#ifndef TRAIN_TAGGER_TAG_DATA_H
#define TRAIN_TAGGER_TAG_DATA_H

#include "data/corpora/dataset.h"
#include "data/span/span_record.h"
#include "models/tagger/dte_target.h"

struct tag_example {
    const struct span_record *record;
    struct tag_question question;
    struct tag_value *values; /* of the question */
    struct dte_item item;
};

struct tag_split {
    struct span_record_list records;
    int own; /* number of own records; those after them are replayed from another run */
    struct tag_example *list;
    int n;
    int wide; /* records whose columns do not fit into one sequence, left out of training */
};

struct tag_data {
    struct tag_split splits[SPLITS];
    struct strings texts; /* owns the texts of the questions' values */
    uint64_t hash;        /* of every record */
};

/* Records that a run keeps for later runs that continue from it. */
enum { TAG_REPLAY = 1000 };
#define TAG_REPLAY_FILE "replay.jsonl"

/* Reads train.jsonl, valid.jsonl and test.jsonl of a folder. test.jsonl may be missing; with `few`, valid.jsonl too.
 * A path to a file is a file of training records. -1 with EXIT_CODE_DATA. */
int tag_data_read(struct tag_data *d, const char *path, bool few, struct error *err);
/* Adds up to n training records from DIR/replay.jsonl whose questions are new. A missing file is a warning. */
int tag_data_replay(struct tag_data *d, const char *dir, int n, struct error *err);
/* Writes DIR/replay.jsonl: a random sample of the training records. */
int tag_data_save_replay(const struct tag_data *d, const char *dir, struct error *err);
/* Converts every question to sequences of the network. */
int tag_data_pack(struct tag_data *d, const struct dte_layout *layout, struct error *err);
void tag_data_release(struct tag_data *d);

#endif
