/*
 * split.h - split records into train.jsonl, valid.jsonl and test.jsonl by database.
 *
 * Databases are ordered by a hash of their names and the seed, then cut by the shares. The published split depends on
 * their order in the file, so it needs the whole corpus.
 */
#ifndef DATA_CORPORA_SPLIT_H
#define DATA_CORPORA_SPLIT_H

#include "data/base/record_reader.h"

struct split_request {
    const char *out; /* output folder, created if missing */
    enum record_format format_in;
    double valid, test; /* shares of the databases, rounded up; their sum is at most 1 */
    int64_t seed;
    bool published; /* the split of AMBROSIA's databases in "Disambiguate First, Parse Later" */
    bool force;     /* as in out_files_commit */
};

/* Returns the sort key of a name for a seed. */
uint64_t split_order(const char *name, int64_t seed);
/* Assigns n distinct names to splits: 0 train, 1 valid, 2 test. Returns false if there are too few names for a split
 * with a share. */
bool split_names(const char *const *names, int n, double valid, double test, int64_t seed, int *split);
/* Assigns n names in file order as published. They are shuffled like numpy does with seed 42. The first 80 % are train,
 * the next 10 % test, the rest valid. */
void split_names_published(int n, int *split);

/* Splits a file and logs the size of each split. Returns -1 with err. */
int split_records(const struct split_request *q, const char *path, struct error *err);

#endif
