/*
 * low_rank.h - the common part of linear maps with an adapter and op_linear_nll: the input side of an adapter, x -> h,
 * and its backward.
 *
 * The output side, h B^T, is written first, and the large product is added to it.  The numbers of y therefore pass
 * through memory at most once more, and only the small addend is rounded in between.
 */
#ifndef KERNELS_OPS_LOW_RANK_H
#define KERNELS_OPS_LOW_RANK_H

#include "kernels/kernels.h"

/* An adapter applied to one x. */
struct low_rank {
    struct lora lora;
    struct tensor *h; /* [T, r] = scale dropout(x) A^T in x's type; NULL: no adapter */
    float p;          /* dropout of this step */
    uint32_t site;
};

/* Adapters of maps of one x whose A form one matrix, in memory order. */
struct low_rank_stack {
    struct tensor *a, *h[LORA_STACK];
    struct lora lora[LORA_STACK];
    int map[LORA_STACK]; /* the map of each adapter */
    int n;               /* 0: the A are not adjacent, or there are fewer than two */
};

/* Checks the shapes and types of x [T, K], w [N, K] and the adapter (NULL: none). */
void low_rank_check(const struct tensor *x, const struct tensor *w, const struct lora *l);
/* Checks its arguments and computes h. */
struct low_rank low_rank_enter(struct ctx *c, struct tensor *x, const struct tensor *w, const struct lora *l);
/* y = x w^T + h b^T over the same rows of x, h and y; h may be NULL; y may be F32. */
void low_rank_leave(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *w,
                    const struct tensor *h, const struct tensor *b);
/* Checks its arguments and computes y = x w^T + bias + h B^T.  bias may be NULL, and without a bias y may be F32. */
struct low_rank low_rank_map(struct ctx *c, struct tensor *y, struct tensor *x, const struct tensor *w,
                             const struct tensor *bias, const struct lora *l);
/* Returns the stack of the maps' adapters. */
struct low_rank_stack low_rank_stack(struct ctx *c, const struct tensor *x, const struct linear_map *const *maps,
                                     int n);
/* y[i] = the i-th map of x, for maps with such a stack. */
void low_rank_maps(struct ctx *c, struct low_rank_stack *s, struct tensor *const *y, const struct tensor *x,
                   const struct linear_map *const *maps, int n);
/* Computes dA and dx from dh [T, r], the gradient of dropout(x) A^T.  dx is written or added to; its t is NULL if it is
 * not needed.  If dA is deferred, dh must stay until the block is done. */
void low_rank_backward(struct ctx *c, const struct low_rank *n, struct destination dx, struct tensor *x,
                       struct tensor *dh);
/* dA = dh^T x, at once, or deferred until the backward of the op that made x has restored its data. */
void low_rank_matrix(struct ctx *c, struct tensor *a, struct tensor *x, struct tensor *dh);
/* Returns whether the gradient of a is deferred, so that x need not be recomputed for it. */
bool low_rank_waits(const struct tensor *a, const struct tensor *x);
/* Returns whether low_rank_backward has work to do. */
bool low_rank_needs(const struct low_rank *n, struct destination dx);

#endif
