/*
 * trial.h - the golds and the predictions of one example, executed and compared, each distinct text once.
 *
 * A gold that fails, or two golds whose results the rule cannot tell apart, end the trial: `why` says so, and there is
 * nothing to be scored.  A prediction that fails matches nothing.
 */
#ifndef DATA_SCORE_TRIAL_H
#define DATA_SCORE_TRIAL_H

#include "data/exec/sqlite_exec.h"
#include "data/util/json.h"

/*
 * PUBLISHED  match_published, and golds are the same only when they are so row by row.
 * CELLS      match_cells, or match_row_cells where the gold orders its rows at top level; no rows match no rows.
 * STRICT     match_rows, ordered where the gold orders its rows at top level.
 */
enum trial_rule { TRIAL_PUBLISHED, TRIAL_CELLS, TRIAL_STRICT };

struct trial_query {
    const char *sql; /* borrowed */
    struct exec_result result;
    bool ordered; /* ORDER BY at top level; not looked at under PUBLISHED */
};

struct trial {
    enum trial_rule rule;
    struct trial_query *golds, *queries; /* distinct texts, in order of arrival */
    int n_golds, n_queries, golds_cap, queries_cap;
    int listed_golds; /* what recall divides by: n_golds, to PUBLISHED those that repeat a text too */
    uint8_t *hits;    /* [n_queries * n_golds]: the query's result is the gold's */
    char *why;        /* NULL when it can be scored */
};

/* Some SQL texts, borrowed. */
struct trial_text {
    const char *const *sql;
    int n;
};

/* A list of them that grows; the caller frees sql. */
struct trial_texts {
    const char **sql;
    int n, cap;
};
/* Appends a string, or each string of a list; the texts stay value's.  -1 with EXIT_CODE_DATA. */
int trial_texts_add(struct trial_texts *t, const json_t *value, const char *field, const char *where,
                    struct error *err);
struct trial_text trial_texts_part(const struct trial_texts *t, int first, int n);

/* Executes and compares all.  The trial borrows the texts; the caller releases. */
void trial_run(struct trial *t, enum trial_rule rule, struct exec_db *db, struct trial_text golds,
               struct trial_text queries);
void trial_release(struct trial *t);

/* The number of a query's text, -1 when it is none of the trial's. */
int trial_find(const struct trial *t, const char *sql);

/* Whether a query's result is the gold's. */
bool trial_same(const struct trial *t, const struct trial_query *query, const struct trial_query *gold);
/* Whether two queries, none of them a gold, say the same.  Order counts where both order their rows; to PUBLISHED where
 * either text says "order by", and no rows are like no others. */
bool trial_alike(const struct trial *t, const struct trial_query *a, const struct trial_query *b);

struct trial_score {
    double recall, precision, f1;
    bool one_found, all_found;
    int queries, unique, failed; /* given, distinct texts, and those of them that do not execute */
};

/* Of some of the trial's queries (texts may repeat).  A query may cover several golds, a gold may be covered by several
 * queries: recall is covered golds by listed golds, precision matching queries by distinct ones; what divides by
 * nothing is 0. */
struct trial_score trial_score_covered(const struct trial *t, struct trial_text queries);
/* Each query stands for one gold at most and each gold for one query: the largest such pairing counts. */
struct trial_score trial_score_paired(const struct trial *t, struct trial_text queries);

#endif
