/*
 * trial.h - executes and compares the golds and predictions of one example, each distinct text once.
 *
 * If a gold fails, or two golds have equal results, the trial cannot be scored and `why` states the reason. A
 * prediction that fails matches nothing.
 */
#ifndef DATA_EVAL_TRIAL_H
#define DATA_EVAL_TRIAL_H

#include "data/base/json.h"
#include "data/db/sqlite_exec.h"

/* PUBLISHED uses match_published; golds are equal only if all rows are. CELLS uses match_cells, or match_row_cells if
 * the gold orders its rows at top level; empty results match each other. STRICT uses match_rows, in order if the gold
 * orders its rows at top level. */
enum trial_rule { TRIAL_PUBLISHED, TRIAL_CELLS, TRIAL_STRICT };

struct trial_query {
    const char *sql; /* borrowed */
    struct exec_result result;
    bool ordered; /* ORDER BY at top level; ignored by PUBLISHED */
};

struct trial {
    enum trial_rule rule;
    struct trial_query *golds, *queries; /* distinct texts, in order */
    int n_golds, n_queries, golds_cap, queries_cap;
    int listed_golds; /* the denominator of recall: n_golds, for PUBLISHED with repeated texts */
    uint8_t *hits;    /* [n_queries * n_golds] whether the query's result matches the gold's */
    char *why;        /* NULL if the trial can be scored */
};

/* A view of SQL texts, borrowed. */
struct trial_text {
    const char *const *sql;
    int n;
};

/* A growing list of texts; the caller frees sql. */
struct trial_texts {
    const char **sql;
    int n, cap;
};
/* Appends a string, or each string of a list; the texts belong to value. -1 with EXIT_CODE_DATA. */
int trial_texts_add(struct trial_texts *t, const json_t *value, const char *field, const char *where,
                    struct error *err);
struct trial_text trial_texts_part(const struct trial_texts *t, int first, int n);

/* Executes and compares all. Borrows the texts; the caller releases. */
void trial_run(struct trial *t, enum trial_rule rule, struct exec_db *db, struct trial_text golds,
               struct trial_text queries);
void trial_release(struct trial *t);

/* The index of a query by its text, or -1. */
int trial_find(const struct trial *t, const char *sql);

/* Whether a query's result matches the gold's. */
bool trial_same(const struct trial *t, const struct trial_query *query, const struct trial_query *gold);
/* Whether two queries, neither a gold, have equal results. Order counts if both order their rows; for PUBLISHED, if
 * either text says "order by", and empty results match nothing. */
bool trial_alike(const struct trial *t, const struct trial_query *a, const struct trial_query *b);

struct trial_score {
    double recall, precision, f1;
    bool one_found, all_found;
    int queries, unique, failed; /* all, distinct, and distinct ones that fail */
};

/* Scores some of the trial's queries; texts may repeat. A query may cover several golds and vice versa. Recall is
 * covered golds by listed golds, precision is matching queries by distinct ones; a ratio of nothing is 0. */
struct trial_score trial_score_covered(const struct trial *t, struct trial_text queries);
/* The same with a maximum one-to-one matching of queries and golds. */
struct trial_score trial_score_paired(const struct trial *t, struct trial_text queries);

#endif
