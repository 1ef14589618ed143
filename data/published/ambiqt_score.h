/*
 * ambiqt_score.h - AmbiQT's three measures: the interpretations of a record among a system's predictions.
 *
 * Predictions are executed through a runner, which caches results; threads have a runner each.
 */
#ifndef DATA_PUBLISHED_AMBIQT_SCORE_H
#define DATA_PUBLISHED_AMBIQT_SCORE_H

#include "data/db/sqlite_exec.h"
#include "data/published/ambiqt_cases.h"
#include "data/published/spider_match.h"

/* Equality of results in AmbiQT's evaluator. Cells are compared as Python compares the values of sqlite3: integers and
 * reals by value, NULL equals NULL, text and blobs byte by byte and never with each other. */

/* Compares rows as lists if ordered, else as sets. */
bool ambiqt_same_rows(const struct exec_result *a, const struct exec_result *b, bool ordered);

/* Spider's execution match. Columns are matched by the keys of the select list (spider_same_key); of equal keys the
 * last column counts. Matched columns must be equal, rows in order. The order of columns is ignored, and max(x)
 * differs from min(x) only by its values. */
bool ambiqt_same_columns(const struct exec_result *a, const struct spider_query *a_query, const struct exec_result *b,
                         const struct spider_query *b_query);

/* Results of one database; each SQL runs once. */
struct ambiqt_runner;
struct ambiqt_runner *ambiqt_runner_new(const char *db, bool python_text);
void ambiqt_runner_free(struct ambiqt_runner *r);
/* Switches to a database. -1 with EXIT_CODE_DATA if it does not exist. */
int ambiqt_runner_use(struct ambiqt_runner *r, const char *db_id, struct error *err);
/* Valid until the next ambiqt_runner_use. */
const struct exec_result *ambiqt_run(struct ambiqt_runner *r, const char *sql);

enum ambiqt_measure { AMBIQT_EM, AMBIQT_EXM, AMBIQT_DIRECT, AMBIQT_MEASURES };

/* For each measure: whether the first and the second interpretation are found. */
struct ambiqt_found {
    bool interpretation[AMBIQT_MEASURES][2];
};

/*
 * Predictions are mapped (ambiqt_map.h) for each interpretation and compared with the normalised original gold query.
 * For types J and P a prediction counts for the second interpretation only if it does not match the first, for each
 * measure.
 *
 * direct compares rows in order if the gold orders them at its top level; published, if its text contains " order by
 * ".
 *
 * Published, a gold query that fails is matched by every prediction that runs; ours reports the failure, and nothing
 * matches. If runner is NULL, only exact set match is computed; otherwise it must be at the record's database.
 */
struct ambiqt_judge {
    const struct spider_schema *schema;
    struct ambiqt_runner *runner;
    bool published;
};
/* Problems are appended to the skipped records of c. */
struct ambiqt_found ambiqt_score(const struct ambiqt_judge *judge, struct ambiqt_cases *c,
                                 const struct ambiqt_case *of);

#endif
