/*
 * shard.h - one of N contiguous parts of a file's records, which a process of its own works on.
 *
 * Where parts are cut follows from the number of records alone: every process finds its part without asking the others.
 * What it makes of them stands in OUT.I-of-N, beside a mark (shard_mark.h) that says what it is; shard_join.h puts the
 * parts together.
 */
#ifndef DATA_SHARD_SHARD_H
#define DATA_SHARD_SHARD_H

#include "data/util/record_reader.h"

enum { SHARDS_MAX = 65536 };

struct shard {
    int index, count;          /* I of N, from 1; 0 of 0: none was asked for */
    struct record_range range; /* of the records, once shard_cut has seen them */
};

/* "3/16"; or "slurm": the task of a job array that SLURM_ARRAY_TASK_ID, _MIN, _MAX and _COUNT tell of, which has all
 * numbers from 0 or 1.  -1 with EXIT_CODE_USAGE. */
int shard_parse(struct shard *s, const char *text, struct error *err);
/* Its range of so many records, cut only before places that `grain` divides: what is computed together is computed
 * together in every cut. */
void shard_cut(struct shard *s, int64_t records, int64_t grain);

/* OUT.I-of-N, and of its mark; the caller frees. */
char *shard_path(const char *out, int index, int count);
char *shard_mark_path(const char *out, int index, int count);

#endif
