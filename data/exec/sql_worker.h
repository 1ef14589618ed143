/*
 * sql_worker.h - a process of its own in which a stranger's SQL runs: what crashes, hangs or grows there ends there.
 *
 * A worker is the program ambit-sql-worker at the other end of a socket.  It is started when it is first needed, stays
 * for what is to come, and is killed when it is late or breaks what sql_wire.h says; the next request starts it anew.
 * Each thread that opens databases has one, which holds all that it opens.
 */
#ifndef DATA_EXEC_SQL_WORKER_H
#define DATA_EXEC_SQL_WORKER_H

#include "data/exec/sql_wire.h"

struct sql_worker;

/* The calling thread's, with the number of a new connection in *db.  A worker is never freed. */
struct sql_worker *sql_worker_join(int *db);
/* The number is free again; what the process has under it is closed. */
void sql_worker_leave(struct sql_worker *w, int db, int64_t age);

/* A request and its answer stand between these two: threads may share a worker when connections change hands. */
void sql_worker_lock(struct sql_worker *w);
void sql_worker_unlock(struct sql_worker *w);

/* Which process it is, counted from 1: what an earlier one held is gone.  Starts it where none runs; 0 with
 * EXIT_CODE_FAILURE when it cannot be started. */
int64_t sql_worker_age(struct sql_worker *w, struct error *err);

enum sql_worker_end {
    WORKER_ANSWERS,
    WORKER_GONE,    /* it had ended before it was asked */
    WORKER_STOPPED, /* out of time, or killed by somebody else */
    WORKER_CRASHED  /* or what it says is no answer */
};

/* Sends a request.  Whatever is not WORKER_ANSWERS has a reason in err. */
enum sql_worker_end sql_worker_ask(struct sql_worker *w, const struct wire_request *q, const char *text,
                                   struct error *err);
/* Takes the next n bytes of the answer. */
enum sql_worker_end sql_worker_take(struct sql_worker *w, void *to, size_t n, struct error *err);
/* Kills it for what it said. */
enum sql_worker_end sql_worker_refuse(struct sql_worker *w, struct error *err);

#endif
