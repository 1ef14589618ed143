/*
 * ambiqt_exec.h - when two results are the same for AmbiQT's evaluator.
 *
 * Cells are compared as Python compares what its sqlite3 gives: integers and reals by value, NULL with NULL, text and
 * blobs byte by byte and never with each other.
 */
#ifndef DATA_SCORE_AMBIQT_EXEC_H
#define DATA_SCORE_AMBIQT_EXEC_H

#include "data/exec/sqlite_exec.h"
#include "data/spider_eval/spider_match.h"

/* Rows as a list when the gold orders, else as a set. */
bool ambiqt_same_rows(const struct exec_result *a, const struct exec_result *b, bool ordered);

/*
 * Spider's first execution match.  Columns go by the keys of the select list (spider_same_key), of equal keys the last
 * column; the same keys must have the same columns, rows in order.  So the order of columns does not count, that of
 * rows always does, and max(x) is not told from min(x) but by what it gives.
 */
bool ambiqt_same_columns(const struct exec_result *a, const struct spider_query *a_query, const struct exec_result *b,
                         const struct spider_query *b_query);

/* Results of one database, each SQL run once.  Threads have a runner each. */
struct ambiqt_runner;
struct ambiqt_runner *ambiqt_runner_new(const char *db, bool python_text);
void ambiqt_runner_free(struct ambiqt_runner *r);
/* Turns to a database; -1 with EXIT_CODE_DATA when there is none. */
int ambiqt_runner_use(struct ambiqt_runner *r, const char *db_id, struct error *err);
/* Good until the next ambiqt_runner_use. */
const struct exec_result *ambiqt_run(struct ambiqt_runner *r, const char *sql);

#endif
