/*
 * exec_batch.h - thousands of queries over all cores, told in order.
 *
 * Each thread has a connection of its own.  A query that was run before on the same bytes of a database, with the same
 * canonical text, is not run again as long as memory for its result lasts; the names of its columns are then those of
 * the text that was run.
 */
#ifndef DATA_EXEC_EXEC_BATCH_H
#define DATA_EXEC_EXEC_BATCH_H

#include "data/exec/sqlite_exec.h"

struct exec_query {
    const char *path, *sql; /* a database file; one SELECT */
};

/* The i-th query's result, which is borrowed; -1 ends the batch. */
typedef int exec_batch_fn(void *user, int64_t i, const struct exec_result *r, struct error *err);

struct exec_batch;
struct exec_batch *exec_batch_open(const struct exec_limits *limits);
/*
 * Calls fn for 0, 1, 2, ... on the caller's thread.  A database that cannot be opened fails its queries.  Returns the
 * number of queries told, which is less than n after a signal (stop.h); -1 when fn did, or with EXIT_CODE_MEMORY.
 */
int64_t exec_batch_run(struct exec_batch *b, const struct exec_query *queries, int64_t n, exec_batch_fn *fn, void *user,
                       struct error *err);
/* Of a file's bytes; 0 when it cannot be read. */
uint64_t exec_batch_hash(struct exec_batch *b, const char *path);
/* Queries that were run, the others being answered from what was known. */
int64_t exec_batch_runs(const struct exec_batch *b);
void exec_batch_close(struct exec_batch *b);

#endif
