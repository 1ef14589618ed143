/*
 * shard_join.h - puts the outputs of all shards together, byte for byte what one run would have written.
 *
 * Every shard is looked at before anything is written, so that one call names all that are to be run again.  Which of
 * two settings or inputs is the right one nobody says: it is that of most shards.
 */
#ifndef DATA_SHARD_SHARD_JOIN_H
#define DATA_SHARD_SHARD_JOIN_H

#include "kernels/base.h"

struct shard_join_request {
    const char *shards; /* OUT of OUT.I-of-N */
    const char *out;    /* NULL: the same OUT */
};

struct shard_join_counts {
    int shards, failed; /* failed: that have records which did */
    int64_t records;
};

/* -1 with EXIT_CODE_DATA where a shard is missing, unfinished, of another run, or not what its mark says: each is told
 * in a line of its own, and err has their numbers. */
int shard_join(const struct shard_join_request *q, struct shard_join_counts *counts, struct error *err);

#endif
