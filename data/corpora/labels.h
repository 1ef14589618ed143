/*
 * labels.h - custom data sets: questions labelled by people about their own databases.
 *
 * A record needs a question and its label. Its type, alternatives and SQL are used if present. Published rows of
 * AMBROSIA are read too (ambrosia.h), and label_field does not apply to them. All records are checked before the first
 * error is returned, so that the log lists all errors.
 */
#ifndef DATA_CORPORA_LABELS_H
#define DATA_CORPORA_LABELS_H

#include "data/base/record_reader.h"
#include "data/corpora/dataset.h"

struct labels_request {
    const char *path;   /* a file, or a folder with train.jsonl, valid.jsonl and optionally test.jsonl */
    const char *db;     /* as in db_path.h, or NULL with schema */
    const char *schema; /* a tables.json */
    enum record_format format_in;
    const char *label_field; /* "FIELD" with yes or no, or "FIELD=VALUE", where VALUE means yes; NULL: "ambiguous" */
    int64_t seed;            /* seed for splitting a file */
    bool whole;              /* put all records into the test split, even without labels or valid SQL; path is a file */
};

/*
 * Reads a custom data set; all examples are EXAMPLE_CUSTOM. A file is split by database if it has enough of them.
 * Otherwise it is split by question, with both labels in each split as far as possible. The log says how. Invalid SQL
 * is an error in training data; with `whole` it is dropped, with a log message. Returns -1 with EXIT_CODE_DATA after
 * logging the wrong records, up to a maximum. The caller releases d in any case.
 */
int labels_read(struct dataset *d, const struct labels_request *q, struct error *err);

/* Moves the examples of `all` to the splits of d: a fifth is for validation and calibration, a fifth for the test. Logs
 * the split after `name`. */
void labels_split(struct dataset *d, const struct example_list *all, int64_t seed, const char *name);

/* Returns the number of a question among texts, and adds a new one. Case and white space are ignored. */
int labels_text_number(struct strings *texts, const char *question);

#endif
