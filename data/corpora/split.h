/*
 * split.h - records into train.jsonl, valid.jsonl and test.jsonl by the database that they are about.
 *
 * Databases are put in an order that their names and the seed make, and cut by the shares.
 */
#ifndef DATA_CORPORA_SPLIT_H
#define DATA_CORPORA_SPLIT_H

#include "data/util/record_reader.h"

struct split_request {
    const char *out; /* the folder, made when it is missing */
    enum record_form form;
    double valid, test; /* shares of the databases, rounded up; at most 1 together */
    int64_t seed;
    bool force; /* as in out_files_commit */
};

/* Tells on the log what each fold has.  -1 with err. */
int split_records(const struct split_request *q, const char *path, struct error *err);

#endif
