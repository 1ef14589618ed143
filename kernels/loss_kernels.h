/*
 * loss_kernels.h - the part of KERNEL_LIST for logits, probabilities and losses.  The contract of kernels.h holds.
 */
#ifndef KERNELS_LOSS_KERNELS_H
#define KERNELS_LOSS_KERNELS_H

#include "kernels/ops.h"

/* clang-format off */
#define LOSS_KERNEL_LIST(K)                                                                                            \
    /* y[p] = scale a[u[p]] . b[v[p]], F32 [P] */                                                                      \
    K(pair_dot, (struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b,                      \
                 const struct tensor *u, const struct tensor *v, float scale))                                         \
    /* d[i.uniq[u],:] (+)= scale sum of dy[p] x[ids[p],:], p = i.order[s] for s in [i.start[u], i.start[u+1]).         \
       Without add, all other rows become 0. d may be F32 while x is BF16. */                                          \
    K(pair_dot_backward, (struct ctx *c, struct destination d, const struct tensor *dy, const struct tensor *x,        \
                          const struct index *i, const struct tensor *ids, float scale))                               \
    /* y = softmax of x within each segment;  dx[t] (+)= y[t] (dy[t] - sum over the segment of dy y); all F32 [T] */   \
    K(segment_softmax, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s))                \
    K(segment_softmax_backward, (struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *y,\
                                 const struct seqs *s))                                                                \
    /* y[s] = logit of 1 - prod over segment s of (1 - sigmoid(x[t])), -30 at least; x, y F32; dx = dy sig(x)/sig(y) */\
    K(noisy_or, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s))                       \
    K(noisy_or_backward, (struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *x,       \
                          const struct tensor *y, const struct seqs *s))                                               \
    /* y = logit of sigmoid(a) sigmoid(b); all F32; dy/da = (1 + exp(b)) / (1 + exp(a) + exp(b)) */                    \
    K(and_logits, (struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b))                   \
    K(and_logits_backward, (struct ctx *c, struct destination da, const struct tensor *dy, const struct tensor *a,     \
                            const struct tensor *b))                                                                   \
    /* loss[1] = scale sum_i weight[i] bce(x[i], target[i]); all F32, weight may be NULL */                            \
    K(bce, (struct ctx *c, struct tensor *loss, const struct tensor *x, const struct tensor *target,                   \
            const struct tensor *weight, float pos_weight, float scale))                                               \
    K(bce_backward, (struct ctx *c, struct destination dx, const struct tensor *dloss, const struct tensor *x,         \
                     const struct tensor *target, const struct tensor *weight, float pos_weight, float scale))         \
    /* loss[1] = -sum_i weight[i] (t[i] log q[i] + (1 - t[i]) log(1 - q[i])), q = p clamped to [least, 1 -             \
       least]; all F32 */                                                                                              \
    K(probability_bce, (struct ctx *c, struct tensor *loss, const struct tensor *p, const struct tensor *target,       \
                        const struct tensor *weight, float least))                                                     \
    /* dp is 0 where p was clamped */                                                                                  \
    K(probability_bce_backward, (struct ctx *c, struct destination dp, const struct tensor *dloss,                     \
                                 const struct tensor *p, const struct tensor *target, const struct tensor *weight,     \
                                 float least))                                                                         \
    /* see op_policy_loss; all F32 [T] */                                                                              \
    K(policy_loss, (struct ctx *c, struct tensor *y, const struct tensor *nll, const struct policy *policy))           \
    K(policy_loss_backward, (struct ctx *c, struct destination dnll, const struct tensor *dy,                          \
                             const struct tensor *nll, const struct policy *policy))                                   \
    /* loss[1] = scale sum_t -log softmax(x[t])[target[t]]; rows with target < 0 are skipped; lse [T] F32 */           \
    K(cross_entropy, (struct ctx *c, struct tensor *loss, struct tensor *lse, const struct tensor *x,                  \
                      const struct tensor *target, float scale))                                                       \
    K(cross_entropy_backward, (struct ctx *c, struct destination dx, const struct tensor *dloss,                       \
                               const struct tensor *lse, const struct tensor *x, const struct tensor *target,          \
                               float scale))                                                                           \
    /* see op_crf_log_z; alpha [T,K] F32 = the probability of each tag, given the tokens up to its own */              \
    K(crf_log_z, (struct ctx *c, struct tensor *y, struct tensor *alpha, const struct tensor *e,                       \
                  const struct tensor *allowed, const struct seqs *s, const struct crf *m))                            \
    /* de[t,j] (+)= dy[s] P(y_t = j); sums [S, (K+2) K] F32 = each sequence's gradient of the weights, NULL: not       \
       needed */                                                                                                       \
    K(crf_log_z_backward, (struct ctx *c, struct destination de, struct tensor *sums, const struct tensor *dy,         \
                           const struct tensor *alpha, const struct tensor *e, const struct tensor *allowed,           \
                           const struct seqs *s, const struct crf *m))                                                 \
    /* see op_viterbi; back [T,K] I32 is scratch */                                                                    \
    K(viterbi, (struct ctx *c, struct tensor *y, struct tensor *back, const struct tensor *e,                          \
                const struct tensor *allowed, const struct seqs *s, const struct crf *m))
/* clang-format on */

#endif
