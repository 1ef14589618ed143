/*
 * ambiqt_collate.h - lists of predictions made one: how LogicalBeam's are merged and put behind those of a baseline.
 */
#ifndef DATA_SCORE_AMBIQT_COLLATE_H
#define DATA_SCORE_AMBIQT_COLLATE_H

#include "kernels/base.h"

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

#endif
