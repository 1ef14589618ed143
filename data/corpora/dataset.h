/*
 * dataset.h - a data folder: tables.json and the examples of three folds that share no database.
 */
#ifndef DATA_CORPORA_DATASET_H
#define DATA_CORPORA_DATASET_H

#include "data/corpora/example.h"

enum fold { FOLD_TRAIN, FOLD_VALID, FOLD_TEST, FOLDS };
/* "train", "valid", "test": the file is that with .jsonl behind it. */
const char *fold_name(enum fold f);

struct dataset {
    struct schema_set schemas;
    struct example_list folds[FOLDS];
    struct strings names; /* db_ids of schemas that were given others (mixture.h) */
};

/* Reads DIR/tables.json and the three JSONL files; every db_id and every alternative must stand in tables.json.  The
 * caller releases either way. */
int dataset_read(struct dataset *d, const char *dir, struct error *err);
/* Writes the four files, each appearing whole or not at all; makes the folder when it is not there.  force as
 * in out_files_commit. */
int dataset_write(const struct dataset *d, const char *dir, bool force, struct error *err);
void dataset_release(struct dataset *d);
/* Adds the schemas and examples of `from`, whose schemas move.  -1 with EXIT_CODE_DATA where a db_id is in both; both
 * are released by the caller either way. */
int dataset_join(struct dataset *d, struct dataset *from, struct error *err);

/* Splits only by database and question: -1 with EXIT_CODE_DATA naming a source_db, or a question string, that stands in
 * two folds. */
int dataset_check_folds(const struct dataset *d, struct error *err);
/* How many examples of a fold have a question, or a source_db, that stands in the training fold too. */
int dataset_overlap(const struct dataset *d, enum fold f, bool databases);
/* -1 naming a question or a schema whose crossed examples of one fold are not half ambiguous. */
int dataset_check_balance(const struct dataset *d, struct error *err);

/* dataset_write, and a table of examples by fold, slice, kind and label. */
int dataset_deliver(const struct dataset *d, const char *dir, bool force, FILE *table, struct error *err);

#endif
