/*
 * split.h - records into train.jsonl, valid.jsonl and test.jsonl by the database that they are about.
 *
 * Databases are put in an order that their names and the seed make, and cut by the shares.  The published way goes by
 * their order in the file instead, so that only the whole corpus gives the published folds.
 */
#ifndef DATA_CORPORA_SPLIT_H
#define DATA_CORPORA_SPLIT_H

#include "data/util/record_reader.h"

struct split_request {
    const char *out; /* the folder, made when it is missing */
    enum record_form form;
    double valid, test; /* shares of the databases, rounded up; at most 1 together */
    int64_t seed;
    bool published; /* AMBROSIA's databases as "Disambiguate First, Parse Later" split them anew */
    bool force;     /* as in out_files_commit */
};

/* The place of a name in the order that names and a seed make. */
uint64_t split_order(const char *name, int64_t seed);
/* The fold of each of n distinct names: 0 train, 1 valid, 2 test.  false, and no folds, when they are too few to leave
 * one for each fold that has a share. */
bool split_names(const char *const *names, int n, double valid, double test, int64_t seed, int *fold);
/* The published way: n names in the order of their file, shuffled by numpy with the seed 42; the first 80 % are train,
 * the next 10 % test, the rest valid. */
void split_names_published(int n, int *fold);

/* Tells on the log what each fold has.  -1 with err. */
int split_records(const struct split_request *q, const char *path, struct error *err);

#endif
