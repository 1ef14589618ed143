/*
 * ambiqt_score.h - which readings of a record are among a system's predictions, by AmbiQT's three measures.
 */
#ifndef DATA_SCORE_AMBIQT_SCORE_H
#define DATA_SCORE_AMBIQT_SCORE_H

#include "data/exec/sqlite_exec.h"
#include "data/score/ambiqt_cases.h"
#include "data/spider_eval/spider_match.h"

/*
 * When two results are the same for AmbiQT's evaluator.
 *
 * Cells are compared as Python compares what its sqlite3 gives: integers and reals by value, NULL with NULL, text and
 * blobs byte by byte and never with each other.
 */

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

enum ambiqt_measure { AMBIQT_EM, AMBIQT_EXM, AMBIQT_DIRECT, AMBIQT_MEASURES };

/* Of each measure: is the first, is the second reading among them. */
struct ambiqt_found {
    bool reading[AMBIQT_MEASURES][2];
};

/*
 * Predictions are mapped (ambiqt_map.h), each for each reading, and compared with the normalised original gold query.
 * Of kinds J and P a prediction that is the first reading is not the second too, for each measure alone.
 *
 * direct compares rows in order where the gold orders them at its top level; as published, where its text says
 * " order by " anywhere, so also in a sub-query or a string.
 *
 * As published, a gold query that fails is met by every prediction that does not; ours says why it fails and nothing
 * meets it.  runner may be NULL: then only exact set match is decided, and the runner is at the record's database.
 */
struct ambiqt_judge {
    const struct spider_schema *schema;
    struct ambiqt_runner *runner;
    bool published;
};
/* What was odd about it goes to the skipped records of c. */
struct ambiqt_found ambiqt_score(const struct ambiqt_judge *judge, struct ambiqt_cases *c,
                                 const struct ambiqt_case *of);

#endif
