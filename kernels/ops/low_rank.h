/*
 * low_rank.h - what op_lora_linear and op_linear_nll share: an adapter's way in, x -> h, and its way back.
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

/* Shapes and types of x [T, K], w [N, K] and the adapter (NULL: none). */
void low_rank_check(const struct tensor *x, const struct tensor *w, const struct lora *l);
/* Checks them and computes h. */
struct low_rank low_rank_enter(struct ctx *c, struct tensor *x, const struct tensor *w, const struct lora *l);
/* y = x w^T + bias + h B^T, over the same rows of x, h and y; bias and h may be NULL; y may be F32 without bias. */
void low_rank_leave(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *w,
                    const struct tensor *bias, const struct tensor *h, const struct tensor *b);
/* dA and dx from dy B [T, r], F32; dx (t NULL: not wanted) is written or added to as it says. */
void low_rank_backward(struct ctx *c, const struct low_rank *n, struct destination dx, struct tensor *x,
                       const struct tensor *dy_b);
/* Whether low_rank_backward has anything to do. */
bool low_rank_needs(const struct low_rank *n, struct destination dx);

#endif
