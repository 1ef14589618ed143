/*
 * ambiqt_cases.h - records of AmbiQT beside what a system predicted for them.
 *
 * Published prediction files are read as they are: benchmark records with one list more, named t2s_outs,
 * template_filled, chatgpt_out or flan_direct_outs, of strings or of lists of strings, which are then merged.
 */
#ifndef DATA_SCORE_AMBIQT_CASES_H
#define DATA_SCORE_AMBIQT_CASES_H

#include "data/corpora/ambiqt.h"
#include "kernels/base.h"

/*
 * Lists of predictions made one: how LogicalBeam's are merged and put behind those of a baseline.
 */

/* Strings that each stand once, in order. */
struct ambiqt_list {
    char **items;
    int n, cap;
};
void ambiqt_list_release(struct ambiqt_list *l);

/* Item j of list i has rank 3 i + 2 j; the first `limit` distinct strings by rank, of equal ranks the earlier list's.
 */
void ambiqt_merge(struct ambiqt_list *out, const struct ambiqt_list *lists, int n_lists, int64_t limit);

/* The first n_first of `first`, then `rest`: in normal form, each once, at most k. */
void ambiqt_collate(struct ambiqt_list *out, const struct ambiqt_list *first, int n_first,
                    const struct ambiqt_list *rest, int64_t k);

struct ambiqt_case {
    int record; /* in the corpus */
    int row;    /* its place in the gold file, from 0 */
    struct ambiqt_list predictions;
};

struct ambiqt_cases {
    struct ambiqt_corpus corpus;
    struct ambiqt_case *items;
    int n, cap;
    json_t *skipped; /* {"record": "row 3", "why"}: predictions without gold, gold without predictions */
};

/*
 * Reads both files; gold may be NULL, then the predictions' own records are the gold.  A prediction belongs to the gold
 * record at its own place when the two agree on db_id, question and orig_query, else to the first free one that does;
 * what its own record says of the altered schema goes before what the gold record says.  A gold record without
 * predictions is a case with none.  At most k predictions of a record are kept.  -1 with EXIT_CODE_DATA naming file,
 * record and field; the caller releases either way.
 */
int ambiqt_cases_read(struct ambiqt_cases *c, const char *gold, const char *pred, int64_t k, struct error *err);
void ambiqt_cases_release(struct ambiqt_cases *c);

/* Appends one to skipped. */
void ambiqt_cases_skip(struct ambiqt_cases *c, int row, const char *why, ...) __attribute__((format(printf, 3, 4)));

#endif
