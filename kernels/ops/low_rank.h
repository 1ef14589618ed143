/*
 * low_rank.h - what linear maps with an adapter and op_linear_nll share: an adapter's way in, x -> h, and its way back.
 *
 * The way out, h B^T, is written first and the large product added to it, so that the numbers of y pass through memory
 * once more at most, and what is rounded on the way is the small addend.
 */
#ifndef KERNELS_OPS_LOW_RANK_H
#define KERNELS_OPS_LOW_RANK_H

#include "kernels/kernels.h"

/* An adapter at work on one x. */
struct low_rank {
    struct lora lora;
    struct tensor *h; /* [T, r] = scale dropout(x) A^T in x's type; NULL: no adapter */
    float p;          /* the dropout of this step */
    uint32_t site;
};

/* Adapters of maps of one x, whose A are one matrix, in the order in which they lie. */
struct low_rank_stack {
    struct tensor *a, *h[LORA_STACK];
    struct lora lora[LORA_STACK];
    int map[LORA_STACK]; /* whose they are */
    int n;               /* 0: their A do not lie together, or there are not two */
};

/* Shapes and types of x [T, K], w [N, K] and the adapter (NULL: none). */
void low_rank_check(const struct tensor *x, const struct tensor *w, const struct lora *l);
/* Checks them and computes h. */
struct low_rank low_rank_enter(struct ctx *c, struct tensor *x, const struct tensor *w, const struct lora *l);
/* y = x w^T + h b^T, over the same rows of x, h and y; h may be NULL; y may be F32. */
void low_rank_leave(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *w,
                    const struct tensor *h, const struct tensor *b);
/* Checks, and computes y = x w^T + bias + h B^T; bias may be NULL; y may be F32 without one. */
struct low_rank low_rank_map(struct ctx *c, struct tensor *y, struct tensor *x, const struct tensor *w,
                             const struct tensor *bias, const struct lora *l);
/* The stack of those maps' adapters. */
struct low_rank_stack low_rank_stack(struct ctx *c, const struct tensor *x, const struct linear_map *const *maps,
                                     int n);
/* y[i] = the i-th map of x, of maps that have such a stack. */
void low_rank_maps(struct ctx *c, struct low_rank_stack *s, struct tensor *const *y, const struct tensor *x,
                   const struct linear_map *const *maps, int n);
/* dA and dx from dh [T, r], the gradient of dropout(x) A^T; dx (t NULL: not wanted) is written or added to.  Where dA
 * waits, dh stays until the block is done. */
void low_rank_backward(struct ctx *c, const struct low_rank *n, struct destination dx, struct tensor *x,
                       struct tensor *dh);
/* dA = dh^T x, at once or, where it waits, when the backward of what made x has x's numbers. */
void low_rank_matrix(struct ctx *c, struct tensor *a, struct tensor *x, struct tensor *dh);
/* Whether the gradient of a waits so, and x need not be recomputed for it. */
bool low_rank_waits(const struct tensor *a, const struct tensor *x);
/* Whether low_rank_backward has anything to do. */
bool low_rank_needs(const struct low_rank *n, struct destination dx);

#endif
