/*
 * dataset.h - a data folder: tables.json and the examples of three splits that share no database.
 */
#ifndef DATA_CORPORA_DATASET_H
#define DATA_CORPORA_DATASET_H

#include "data/corpora/example.h"

enum data_split { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST, SPLITS };
/* Returns "train", "valid" or "test"; the file has that name and .jsonl. */
const char *split_name(enum data_split f);

struct dataset {
    struct schema_set schemas;
    struct example_list splits[SPLITS];
    struct strings names; /* db_ids of renamed schemas (mixture.h) */
};

/* Reads DIR/tables.json and the three JSONL files. Every db_id and alternative must exist in tables.json. The caller
 * releases d even after an error. */
int dataset_read(struct dataset *d, const char *dir, struct error *err);
/* Writes the four files atomically, and creates the folder if needed. `force` is that of out_files_commit. */
int dataset_write(const struct dataset *d, const char *dir, bool force, struct error *err);
/* Writes a tables.json with one schema per line, which keeps thousands of them readable and compact. */
int dataset_write_schemas(const struct schema_set *s, struct out_file *o, struct error *err);
void dataset_release(struct dataset *d);
/* Adds the examples of `from`, and moves its schemas. Returns -1 with EXIT_CODE_DATA if both have the same db_id. The
 * caller releases both in any case. */
int dataset_join(struct dataset *d, struct dataset *from, struct error *err);

/* Checks that splits share no source database and no question. Returns -1 with EXIT_CODE_DATA; the message has the
 * source_db or question. */
int dataset_check_splits(const struct dataset *d, struct error *err);
/* Returns how many examples of a split have a question, or a source_db, that the training split has too. */
int dataset_overlap(const struct dataset *d, enum data_split f, bool databases);
/* Checks that half of the contrast examples of each question and each schema are ambiguous, for each split. Returns -1;
 * the message has the question or schema. */
int dataset_check_balance(const struct dataset *d, struct error *err);

/* Calls dataset_write, and prints the number of examples by split, slice, type and label. */
int dataset_deliver(const struct dataset *d, const char *dir, bool force, FILE *table, struct error *err);

#endif
