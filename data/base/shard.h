/*
 * shard.h - processes one of N contiguous parts of a file's records, so that several processes can share the work.
 *
 * The boundaries depend only on the number of records, so processes need not communicate.  The output of part I is
 * OUT.I-of-N, with a manifest beside it. shard_join() concatenates the outputs.
 *
 * Paths returned by functions belong to the caller.
 */
#ifndef DATA_BASE_SHARD_H
#define DATA_BASE_SHARD_H

#include "data/base/record_reader.h"

#include <jansson.h>

enum { SHARDS_MAX = 65536 };

struct shard {
    int index, count;          /* I and N, from 1; 0 and 0: no shard */
    struct record_range range; /* records of the shard, set by shard_cut */
};

/* Parses "3/16", or "slurm": the current task of a job array by SLURM_ARRAY_TASK_ID, _MIN, _MAX and _COUNT.  The array
 * must contain all tasks from 0 or 1.  -1 with EXIT_CODE_USAGE. */
int shard_parse(struct shard *s, const char *text, struct error *err);
/* Computes the range of the shard.  Boundaries are multiples of `grain`, so that batches are the same for every N. */
void shard_cut(struct shard *s, int64_t records, int64_t grain);

/* The path OUT.I-of-N; the caller frees it. */
char *shard_path(const char *out, int index, int count);

/*
 * The manifest OUT.I-of-N.shard of a shard: its records, its input, its settings and the hash of its output.  While a
 * process works on the shard, the manifest is locked.  It is empty until the shard was completed once.
 *
 * Input and settings are one JSON value, which must be equal in all manifests of a run: {"command", "version", "input":
 * {"records", "hash"}, "settings": {NAME: VALUE}, "files": {NAME: HASH}}.
 */
struct shard_manifest {
    struct shard shard;
    json_t *run; /* owned */
    int64_t bytes;
    uint64_t hash; /* hash of the output by hash_file */
    bool failed;   /* some records failed */
};

enum shard_state { SHARD_MISSING, SHARD_RUNNING, SHARD_UNFINISHED, SHARD_BROKEN, SHARD_DONE };

/* Locks the manifest for this process.  Returns the descriptor that holds the lock until it is closed, or -1 with
 * EXIT_CODE_USAGE if another process holds it. */
int shard_manifest_lock(const char *path, struct error *err);
/* Replaces the manifest by a complete one, which is not locked. */
int shard_manifest_write(const char *path, const struct shard_manifest *m, struct error *err);
/* Reads a manifest, locked or not.  The caller releases m in every case. */
int shard_manifest_parse(struct shard_manifest *m, const char *path, struct error *err);
/* Reads a manifest unless it is locked.  On SHARD_BROKEN err holds the reason.  The caller releases m in every case. */
enum shard_state shard_manifest_read(struct shard_manifest *m, const char *path, struct error *err);
void shard_manifest_release(struct shard_manifest *m);

/*
 * A hash of an input file or folder, by which shards check that they read the same inputs.
 *
 * It must be fast for hundreds of gigabytes of weights.  It covers sizes and samples of the bytes, but not times or
 * paths, which differ between machines.
 */
/* For a folder it covers weights, their settings, prompts and databases down to the second level; other files may
 * change.  Unreadable files count as empty. */
uint64_t shard_sample(const char *path);

/*
 * Concatenates the outputs of all shards.  The result equals the output of one run byte for byte.
 *
 * All shards are checked before anything is written, so that one call lists all shards that must be repeated.  If
 * manifests disagree on settings or input, the majority counts.
 */
struct shard_join_request {
    const char *shards; /* OUT of OUT.I-of-N */
    const char *out;    /* NULL: the same OUT */
};

struct shard_join_counts {
    int shards, failed; /* failed: shards in which records failed */
    int64_t records;
};

/* -1 with EXIT_CODE_DATA if a shard is missing, unfinished, of another run, or differs from its manifest.  Each such
 * shard is logged, and err lists their numbers. */
int shard_join(const struct shard_join_request *q, struct shard_join_counts *counts, struct error *err);

#endif
