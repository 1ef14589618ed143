/*
 * ops.h - the vocabulary: every differentiable op, its shapes and its formula.
 *
 * Letters: T rows (tokens of all sequences one after another), C channels, H heads, D head size, N nodes, E edges,
 * S segments, P pairs, V classes.  Every op returns a new tensor in the step arena and, when recording, leaves a record
 * for the backward, which copies every struct that it was handed (graphs, indices, segments): those may live on the
 * caller's stack, the tensors that they name live as long as the step.  Wrong shapes are bugs and abort.  Nothing is
 * padded: sequences are packed and described by offsets.
 */
#ifndef KERNELS_OPS_H
#define KERNELS_OPS_H

#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum activation {
    ACT_NONE,
    ACT_GELU /* erf */,
    ACT_GELU_TANH,
    ACT_RELU,
    ACT_LEAKY_RELU /* 0.2 */,
    ACT_ELU,
    ACT_TANH,
    ACT_SIGMOID
};
enum pool { POOL_SUM, POOL_MEAN };

/* n segments of packed rows: segment s is rows offsets[s] .. offsets[s+1]-1.  offsets is I32 [n + 1] on the device. */
struct seqs {
    struct tensor *offsets;
    int64_t n, max_len; /* max_len >= every segment's length; host numbers that kernels may size grids by */
};

/*
 * n row numbers and, sorted by row, who asks for each: the form in which a sum over askers is the same on every run.
 * All I32 on the device: ids[n]; uniq[n] distinct rows, ascending, -1 past the last; start[n+1] into order[n], whose
 * entries are the positions in ids, ascending for each row.  Made by index_new (batch side, host arrays).
 */
struct index {
    struct tensor *ids, *uniq, *start, *order;
    int64_t n;
};

/*
 * A batch of graphs as one graph, edges sorted by target: node i receives edges offsets[i] .. offsets[i+1]-1, edge e
 * comes from sources[e] with relation types[e].  out_* is the same by source: node j sends out_edges[out_offsets[j]]
 * ... targets[e] is the receiving node.  All I32 on the device.
 */
struct graph {
    struct tensor *offsets, *sources, *types, *targets, *out_offsets, *out_edges;
    int64_t nodes, edges;
    int64_t max_degree;
};

/*
 * Packed causal sequences.  Sequence s owns query rows qs.offsets[s] .. qs.offsets[s+1]-1 and key rows
 * key_start[s] .. key_start[s] + key_len[s] - 1; its i-th of nq queries sees the first key_len - nq + 1 + i of them
 * (so nq == key_len in training, nq < key_len when k, v are a cache).  Before these it sees, whole, the key rows
 * prefix_start[s] .. prefix_start[s] + prefix_len[s] - 1 (a prompt that several sequences share, itself a sequence).
 * All I32 [n] on the device; prefix_* NULL: none.  last[s] (I32 [n], NULL without prefixes): sequences s+1 .. last[s],
 * and no others, have sequence s's keys as their prefix - what the backward needs.
 */
struct causal {
    struct seqs qs;
    struct tensor *key_start, *key_len, *prefix_start, *prefix_len, *last;
    int64_t max_keys; /* key_len + prefix_len of any sequence is no larger; for ctx_note, as qs.max_len is */
};

/* One GAT aggregation (Velickovic et al. 2018, eq. 1-6; gatekeeper's relation bias added to the score). */
struct gat {
    const struct graph *graph;
    struct tensor *a_src, *a_dst; /* F32 [H, D] */
    struct tensor *edge_bias;     /* F32 [types, H], or NULL */
    struct tensor *bias;          /* F32 [H * D], or [D] when mean; NULL for none */
    int heads;
    bool mean;   /* average the heads instead of laying them side by side */
    float slope; /* of LeakyReLU */
    float p;     /* dropout on the coefficients */
};

/* A low-rank addition to a linear map (Hu et al. 2021): scale B A; A [r, K], B [N, r] of the weight's type. */
struct lora {
    struct tensor *a, *b;
    float scale;   /* alpha / r, or alpha / sqrt(r) */
    float dropout; /* on what A reads, when training */
};

/* Rate at step s = 0, 1, ...: lr s / warmup while s < warmup, then with u = (s - warmup) / (total - warmup):
 * lr (1 - u), or lr (1 + cos(pi u)) / 2; nothing from total on.  transformers has the same two schedules. */
struct schedule {
    float lr;
    int64_t warmup, total; /* steps; linear rise, then a fall to zero at total */
    bool cosine;           /* half a cosine rather than a line */
};

/* lr is the schedule's times lr_scale; t = rng[2], already raised by schedule, so the first update has t = 1:
 * g *= min(1, clip / sqrt(norm)); m, v the running means of g and g^2;
 * w -= lr decay w;  w -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) */
struct adamw {
    float beta1, beta2, eps, decay, lr_scale;
    float clip; /* largest global norm, 0 for none; norm[0] is the square of the norm */
};

/* y = a + b, same shape */
struct tensor *op_add(struct ctx *c, struct tensor *a, struct tensor *b);
/* y = alpha x */
struct tensor *op_scale(struct ctx *c, struct tensor *x, float alpha);
/* y = act(x) */
struct tensor *op_activation(struct ctx *c, struct tensor *x, enum activation act);
/* y = x in another float type */
struct tensor *op_cast(struct ctx *c, struct tensor *x, enum dtype dtype);
/* the same numbers under another shape; y shares x's memory */
struct tensor *op_reshape(struct ctx *c, struct tensor *x, int ndim, const int64_t *shape);
/* y[T,N] = act(x[T,K] w[N,K]^T + b[N]), b may be NULL */
struct tensor *op_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b, enum activation act);
/* y = op(a) op(b), 2-D, op the transpose when ta or tb */
struct tensor *op_matmul(struct ctx *c, struct tensor *a, bool ta, struct tensor *b, bool tb);
/*
 * y[T,N] = x w^T + b + scale (dropout(x) A^T) B^T; b NULL or F32; l NULL or l->a NULL: plain.  One record, which keeps
 * x itself and scale dropout(x) A^T [T, r]; a w that needs no gradient costs no product for one.
 */
struct tensor *op_lora_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b,
                              const struct lora *l);
/*
 * y[t] = -log softmax(z_t)[target[t]], z = x w^T + the adapter's; F32 [T], 0 where target (I32 [T]) is negative: such
 * rows give no gradient.  The logits z [T, V] exist for a chunk of rows at a time, at most LOGITS_MAX of them (or 16
 * rows), in the forward and again in the backward, so that T V numbers never have a place.
 */
enum { LOGITS_MAX = 1 << 26 };
struct tensor *op_linear_nll(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l,
                             struct tensor *target);
/* y[T,C] = sum_i table[i][ids[i][t], :]; n <= 4 */
struct tensor *op_embed(struct ctx *c, struct tensor *const *table, const struct index *ids, int n);
/* y[n,C] = x[i.ids, :] */
struct tensor *op_gather(struct ctx *c, struct tensor *x, const struct index *i);
/* y[rows,C] = 0 but y[i.ids[t], :] += x[t, :] */
struct tensor *op_scatter(struct ctx *c, struct tensor *x, const struct index *i, int64_t rows);
/* y = layer norm of x + res over the last dimension, res may be NULL */
struct tensor *op_layer_norm(struct ctx *c, struct tensor *x, struct tensor *res, struct tensor *w, struct tensor *b,
                             float eps);
/* y = x with a share p of its elements zeroed and the rest divided by 1 - p; x itself when not training or p is 0 */
struct tensor *op_dropout(struct ctx *c, struct tensor *x, float p);
/*
 * Bidirectional attention within each sequence: softmax(q k^T / sqrt(D)) v, dropout p on the weights when training.
 * Self attention: q == kv, [T, 3 H D], the columns of q, k and v side by side.  Otherwise q [Tq, H D], kv [Tk, 2 H D]
 * (k then v), qs->n == ks->n.  y [Tq, H D].  D is 32, 64 or 128.  A query of an empty key sequence gives 0.
 */
struct tensor *op_attention(struct ctx *c, struct tensor *q, struct tensor *kv, const struct seqs *qs,
                            const struct seqs *ks, int heads, float p);
/*
 * q [Tq, H D], k and v [Tk, G D], three tensors, H a multiple of G (grouped queries, Ainslie et al. 2023: head h reads
 * group h G / H); y [Tq, H D] = softmax(q k^T / sqrt(D)) v.  D a multiple of 8, 8 .. 256.  A record only where q, k, v
 * are of one step: Tk == Tq, every key row being of one sequence; dk, dv are summed over a group's heads and over the
 * sequences that share a prefix, in a fixed order.
 */
struct tensor *op_causal_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                   const struct causal *s, int heads, int groups);
/*
 * z [N, H D].  score(j -> i) = LeakyReLU(a_src . z_j + a_dst . z_i + edge_bias[type]); alpha = softmax over the edges
 * into i; y_i = sum alpha z_j, heads side by side [N, H D] or averaged [N, D]; + bias.  A node without edges gets bias.
 */
struct tensor *op_gat(struct ctx *c, struct tensor *z, const struct gat *g);
/* y[S,C] = sum or mean of each segment's rows */
struct tensor *op_segment_pool(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool);
/* y[S,C] = sum over the segment of softmax(gate) x; gate F32 [T] */
struct tensor *op_attention_pool(struct ctx *c, struct tensor *x, struct tensor *gate, const struct seqs *s);
/* y[P, 4C + F] = x_u, x_v, |x_u - x_v|, x_u x_v, extra[P,F]; extra (compute type) may be NULL and gets no gradient */
struct tensor *op_pair_features(struct ctx *c, struct tensor *x, const struct index *u, const struct index *v,
                                struct tensor *extra);
/* y[S] = log(p / (1 - p)), p = 1 - prod (1 - sigmoid(x)); x F32 [T] */
struct tensor *op_noisy_or(struct ctx *c, struct tensor *x, const struct seqs *s);
/* y = log(p / (1 - p)), p = sigmoid(a) sigmoid(b); all F32 and of one size */
struct tensor *op_both(struct ctx *c, struct tensor *a, struct tensor *b);
/* loss = scale sum_i weight_i (pos_weight t_i softplus(-x_i) + (1 - t_i) softplus(x_i)); all F32 [n] */
struct tensor *op_bce(struct ctx *c, struct tensor *x, struct tensor *target, struct tensor *weight, float pos_weight,
                      float scale);
/* loss = scale sum_t -log softmax(x[t])[target[t]]; x [T,V], target I32 [T], negative: left out */
struct tensor *op_cross_entropy(struct ctx *c, struct tensor *x, struct tensor *target, float scale);

/* y = x / sqrt(mean(x^2) + eps) w over every group of D = size of w columns of x [T, n D]; w F32 [D] (Zhang & Sennrich
 * 2019).  n > 1 normalises each head apart, as Qwen3 does with q and k.  Backward keeps rstd F32 [T, n] only. */
struct tensor *op_rms_norm(struct ctx *c, struct tensor *x, struct tensor *w, float eps);
/* F32 [T, D]: the cosines of positions[t] freqs[j], then the sines, j < D / 2; positions I32 [T], freqs F32 [D / 2].
 * The product in f32 as transformers has it.  Once per step, for all layers.  No gradient. */
struct tensor *op_rope_angles(struct ctx *c, struct tensor *positions, struct tensor *freqs);
/* Rotates columns (j, j + D/2) of every head of x [T, H D] by angles [T, D] (Su et al. 2021; halves as transformers
 * lays them out).  Backward: the rotation back. */
struct tensor *op_rope(struct ctx *c, struct tensor *x, struct tensor *angles);
/* y = silu(gate) up, all [T, I] (Shazeer 2020) */
struct tensor *op_swiglu(struct ctx *c, struct tensor *gate, struct tensor *up);
/* y = x + u alpha / sqrt(L C), u uniform in [-1, 1), L the length of the row's sequence (NEFTune, Jain et al. 2023);
 * x itself when not training or alpha is 0.  Draws words as op_dropout does (one site). */
struct tensor *op_neftune(struct ctx *c, struct tensor *x, const struct seqs *s, float alpha);
/* y[ids[t], :] = x[t, :] in place, ids I32 [T] all different, negative: left out; y is a cache: no gradient. */
void op_put_rows(struct ctx *c, struct tensor *y, struct tensor *x, struct tensor *ids);
/* I32 [T]: the column of each row's largest number, the first of equals; a NaN is never the largest.  No gradient. */
struct tensor *op_argmax(struct ctx *c, struct tensor *x);
/* F32 [1] = scale sum x, x F32 */
struct tensor *op_sum(struct ctx *c, struct tensor *x, float scale);

#ifdef __cplusplus
}
#endif
#endif
