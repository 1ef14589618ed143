/*
 * shard.h - one of N contiguous parts of a file's records, which a process of its own works on.
 *
 * Where parts are cut follows from the number of records alone: every process finds its part without asking the others.
 * What it makes of them stands in OUT.I-of-N, beside a mark that says what it is; shard_join() puts the
 * parts together.
 */
#ifndef DATA_SHARD_SHARD_H
#define DATA_SHARD_SHARD_H

#include "data/util/record_reader.h"

#include <jansson.h>

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

/*
 * What a shard leaves beside its output, OUT.I-of-N.shard: which records of which input it is of, how it
 * was made, and what the output's bytes are.  A mark is locked while its shard is worked on, and empty before it was
 * ever whole.
 *
 * What a mark says of input and settings is one JSON value, which must be the same in all marks of a run:
 * {"command", "version", "input": {"records", "sum"}, "settings": {NAME: VALUE}, "files": {NAME: SUM}}.
 */
struct shard_mark {
    struct shard shard;
    json_t *run; /* owned */
    int64_t bytes;
    uint64_t sum; /* of the output, as sum_file makes it */
    bool failed;  /* some of its records */
};

enum shard_state { SHARD_MISSING, SHARD_RUNNING, SHARD_UNFINISHED, SHARD_BROKEN, SHARD_DONE };

/* Takes the mark for this process.  The descriptor, which keeps it until it is closed; -1 with EXIT_CODE_USAGE where
 * another process has it. */
int shard_mark_lock(const char *path, struct error *err);
/* The file appears whole; it is not locked any more. */
int shard_mark_write(const char *path, const struct shard_mark *m, struct error *err);
/* What stands in it, whoever has it.  The caller releases m in every case. */
int shard_mark_parse(struct shard_mark *m, const char *path, struct error *err);
/* The same of one that nobody has.  On SHARD_BROKEN err says why; the caller releases m in every case. */
enum shard_state shard_mark_read(struct shard_mark *m, const char *path, struct error *err);
void shard_mark_release(struct shard_mark *m);

/* In what `one` was made otherwise than the others; "" where in nothing. */
void shard_run_difference(const json_t *one, const json_t *others, char *text, size_t size);

/*
 * A sum of a file or a folder that a run reads, by which parts of the run know that they read the
 * same.
 *
 * It must cost little for weights of a hundred GB: it is of sizes and of samples of the bytes, and not of times or of
 * paths, which differ between machines.
 */
/* Of a folder it takes weights, their settings, prompts and databases, down to the second level, and leaves what others
 * may write beside them.  Of what cannot be read it is that of nothing. */
uint64_t shard_sample(const char *path);

/*
 * Puts the outputs of all shards together, byte for byte what one run would have written.
 *
 * Every shard is looked at before anything is written, so that one call names all that are to be run again.  Which of
 * two settings or inputs is the right one nobody says: it is that of most shards.
 */
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
