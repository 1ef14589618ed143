/*
 * shard_mark.h - what a shard leaves beside its output, OUT.I-of-N.shard: which records of which input it is of, how it
 * was made, and what the output's bytes are.  A mark is locked while its shard is worked on, and empty before it was
 * ever whole.
 *
 * What a mark says of input and settings is one JSON value, which must be the same in all marks of a run:
 * {"command", "version", "input": {"records", "sum"}, "settings": {NAME: VALUE}, "files": {NAME: SUM}}.
 */
#ifndef DATA_SHARD_SHARD_MARK_H
#define DATA_SHARD_SHARD_MARK_H

#include "data/shard/shard.h"

#include <jansson.h>

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

#endif
