/*
 * ambiqt_cases.h - AmbiQT's records with the predictions of a system.
 *
 * Reads published prediction files: benchmark records with an additional list named t2s_outs, template_filled,
 * chatgpt_out or flan_direct_outs. The list holds strings, or lists of strings, which are merged.
 */
#ifndef DATA_PUBLISHED_AMBIQT_CASES_H
#define DATA_PUBLISHED_AMBIQT_CASES_H

#include "data/corpora/ambiqt.h"
#include "kernels/base.h"

/* Merges lists of predictions, as LogicalBeam merges its own and appends those of a baseline. */

/* Distinct strings in order. */
struct ambiqt_list {
    char **items;
    int n, cap;
};
void ambiqt_list_release(struct ambiqt_list *l);

/* Merges lists by rank: item j of list i has rank 3 i + 2 j. Keeps the first `limit` distinct strings; of equal ranks,
 * the earlier list's comes first. */
void ambiqt_merge(struct ambiqt_list *out, const struct ambiqt_list *lists, int n_lists, int64_t limit);

/* The first n_first of `first`, then `rest`: in normal form, distinct, at most k. */
void ambiqt_collate(struct ambiqt_list *out, const struct ambiqt_list *first, int n_first,
                    const struct ambiqt_list *rest, int64_t k);

struct ambiqt_case {
    int record; /* its index in the corpus */
    int row;    /* its index in the gold file */
    struct ambiqt_list predictions;
};

struct ambiqt_cases {
    struct ambiqt_corpus corpus;
    struct ambiqt_case *items;
    int n, cap;
    json_t *skipped; /* {"record": "row 3", "reason"}: predictions without gold, gold without predictions */
};

/* Reads both files. If gold is NULL, the records in the prediction file are the gold. A prediction belongs to the gold
 * record at its own row if db_id, question and orig_query agree, else to the first free record that agrees. The
 * prediction's own description of the altered schema takes precedence. A gold record without predictions, or with an
 * "error" in their place, becomes a case with none. At most k predictions of a record are kept. -1 with EXIT_CODE_DATA
 * naming file, record and field. The caller releases either way. */
int ambiqt_cases_read(struct ambiqt_cases *c, const char *gold, const char *pred, int64_t k, struct error *err);
void ambiqt_cases_release(struct ambiqt_cases *c);

/* Appends a record to skipped. */
void ambiqt_cases_skip(struct ambiqt_cases *c, int row, const char *why, ...) __attribute__((format(printf, 3, 4)));

#endif
