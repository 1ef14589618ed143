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

#include "kernels/crf.h"
#include "kernels/decoder_types.h"
#include "kernels/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/* y = x[T,N] + what op_lora_linear makes of h [T,K]; the gradient of y becomes x's, which costs nothing where it has
 * none yet. */
struct tensor *op_lora_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, struct tensor *b,
                                const struct lora *l);
/*
 * y[i] = what op_lora_linear makes of x with the i-th of n <= 3 maps, in one record where the loss depends on all of
 * them.  Adapters whose A lie below one another in memory (lora_declare), with no dropout between, are one product on
 * the way in and one launch on the way out, and so is all that comes back.  transient: bit i is for y[i], see
 * tape_transient.  The gradients of x are added from the last map on.
 */
void op_lora_group(struct ctx *c, struct tensor **y, struct tensor *x, const struct linear_map *const *maps, int n,
                   unsigned transient);
/*
 * y[t] = -log softmax(z_t)[target[t]], z = x w^T + the adapter's, where cap > 0 then cap tanh(z / cap) (Gemma 2,
 * Riviere et al. 2024); F32 [T], 0 where target (I32 [T]) is negative: such rows give no gradient.  The logits z [T, V]
 * exist for a chunk of rows at a time, at most LOGITS_MAX of them (or 16 rows), in the forward and again in the
 * backward, so that T V numbers never have a place.
 */
enum { LOGITS_MAX = 1 << 26 };
struct tensor *op_linear_nll(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l,
                             struct tensor *target, float cap);
/* The z of op_linear_nll, F32 [T, N], whole: for the few rows that a next token is wanted of.  No gradient. */
struct tensor *op_linear_logits(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l, float cap);
/* y[T,C] = sum_i table[i][ids[i][t], :]; n <= 4 */
struct tensor *op_embed(struct ctx *c, struct tensor *const *table, const struct index *ids, int n);
/* y[n,C] = x[i.ids, :] */
struct tensor *op_gather(struct ctx *c, struct tensor *x, const struct index *i);
/* y[rows,C] = 0 but y[i.ids[t], :] += x[t, :]; i made while recording */
struct tensor *op_scatter(struct ctx *c, struct tensor *x, const struct index *i, int64_t rows);
/* y = layer norm of x + res over the last dimension, res may be NULL */
struct tensor *op_layer_norm(struct ctx *c, struct tensor *x, struct tensor *res, struct tensor *w, struct tensor *b,
                             float eps);
/* y = x with a share p of its elements zeroed and the rest divided by 1 - p; x itself when not training or p is 0 */
struct tensor *op_dropout(struct ctx *c, struct tensor *x, float p);
/*
 * Bidirectional attention within each sequence, to the form: softmax(scale q k^T + bias) v, dropout on the weights when
 * training.  Self attention: q == kv, [T, 3 H D], the columns of q, k and v side by side.  Otherwise q [Tq, H D],
 * kv [Tk, 2 H D] (k then v), qs->n == ks->n.  y [Tq, H D].  D is 1 .. HEAD_DIM_MAX; on a GPU it counts as the next of
 * 32, 64, 128 and 256.  The form has no groups; places are those of rows in their own sequences.  A query of an empty
 * key sequence gives 0.
 */
struct tensor *op_attention(struct ctx *c, struct tensor *q, struct tensor *kv, const struct seqs *qs,
                            const struct seqs *ks, const struct attention_form *form);
/*
 * q [Tq, H D], k and v [Tk, G D], three tensors, H a multiple of G (grouped queries, Ainslie et al. 2023: head h reads
 * group h G / H); y [Tq, H D] = softmax(scores) v, the scores as the form says, its p 0.  A key's place counts the
 * prefix's keys first; the last query's place is the last key's.  D is 1 .. 256.  A record only where every key row is
 * of one sequence, which has as many queries or none; dk, dv are summed over a group's heads and over the sequences
 * that share a prefix, in a fixed order, and the bias's gradient over all sequences.
 */
struct tensor *op_causal_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                   const struct causal *s, const struct attention_form *form);
/*
 * z [N, H D].  score(j -> i) = LeakyReLU(a_src . z_j + a_dst . z_i + edge_bias[type]); alpha = softmax over the edges
 * into i; y_i = sum alpha z_j, heads side by side [N, H D] or averaged [N, D]; + bias.  A node without edges gets bias.
 */
struct tensor *op_gat(struct ctx *c, struct tensor *z, const struct gat *g);
/* y[i,:] = sum of w[e] x[source(e),:] over the edges e into i, 0 without any; x [N,C], w F32 [E], which gets no
 * gradient */
struct tensor *op_propagate(struct ctx *c, struct tensor *x, struct tensor *w, const struct graph *g);
/* y[S,C] = sum or mean of each segment's rows */
struct tensor *op_segment_pool(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool);
/* y[S,C] = sum over the segment of softmax(gate) x; gate F32 [T] */
struct tensor *op_attention_pool(struct ctx *c, struct tensor *x, struct tensor *gate, const struct seqs *s);
/* y[P, 4C + F] = x_u, x_v, |x_u - x_v|, x_u x_v, extra[P,F]; extra (compute type) may be NULL and gets no gradient */
struct tensor *op_pair_features(struct ctx *c, struct tensor *x, const struct index *u, const struct index *v,
                                struct tensor *extra);
/* y[p] = scale a[u[p]] . b[v[p]], F32 [P]; a [N,C] and b [M,C] of one type, which may be one tensor */
struct tensor *op_pair_dot(struct ctx *c, struct tensor *a, const struct index *u, struct tensor *b,
                           const struct index *v, float scale);
/* y = softmax of x within each segment; F32 [T] */
struct tensor *op_segment_softmax(struct ctx *c, struct tensor *x, const struct seqs *s);
/* y[S] = log(p / (1 - p)), p = 1 - prod (1 - sigmoid(x)); x F32 [T] */
struct tensor *op_noisy_or(struct ctx *c, struct tensor *x, const struct seqs *s);
/* y = log(p / (1 - p)), p = sigmoid(a) sigmoid(b); all F32 and of one size */
struct tensor *op_and_logits(struct ctx *c, struct tensor *a, struct tensor *b);
/* loss = scale sum_i weight_i (pos_weight t_i softplus(-x_i) + (1 - t_i) softplus(x_i)); all F32 [n] */
struct tensor *op_bce(struct ctx *c, struct tensor *x, struct tensor *target, struct tensor *weight, float pos_weight,
                      float scale);
/* loss = -sum_i weight_i (t_i log q_i + (1 - t_i) log(1 - q_i)), q = p, but not below least nor above 1 - least, where
 * it has no gradient; 0 < least < .5; all F32 [n] */
struct tensor *op_probability_bce(struct ctx *c, struct tensor *p, struct tensor *target, struct tensor *weight,
                                  float least);
/* y[t] = weight (divergence (exp(d) - d - 1) - min(r a, clip(r) a)), F32 [T], where r = exp(-nll - drawn), a the
 * advantage, d = nll - start; see policy.h */
struct tensor *op_policy_loss(struct ctx *c, struct tensor *nll, const struct policy *policy);
/* loss = scale sum_t -log softmax(x[t])[target[t]]; x [T,V], target I32 [T], negative: left out */
struct tensor *op_cross_entropy(struct ctx *c, struct tensor *x, struct tensor *target, float scale);

/*
 * y[s] = log of the sum of exp(score) over the taggings of sequence s that give each token t a tag whose bit allowed[t]
 * (I32 [T], NULL: any) has; e F32 [T, K].  0 for an empty sequence, -INFINITY, without gradient, where there is none.
 */
struct tensor *op_crf_log_z(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                            const struct crf *m);
/* y[s] = -log of the probability that sequence s has a tagging within allowed: one bit a token for a known tag. */
struct tensor *op_crf_nll(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                          const struct crf *m);
/* I32 [T]: the tagging within allowed that scores highest, of equals the one with the lower tag, from the last token on
 * (Viterbi 1967); 0s where there is none.  No gradient. */
struct tensor *op_viterbi(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                          const struct crf *m);

/* y = x / sqrt(mean(x^2) + eps) w over every group of D = size of w columns of x [T, n D]; w F32 [D] (Zhang & Sennrich
 * 2019).  n > 1 normalises each head apart, as Qwen3 does with q and k.  Backward keeps rstd F32 [T, n] only. */
struct tensor *op_rms_norm(struct ctx *c, struct tensor *x, struct tensor *w, float eps);
/* F32 [T, D]: the cosines of positions[t] freqs[j], then the sines, j < D / 2; positions I32 [T], freqs F32 [D / 2].
 * The product in f32 as transformers has it.  Once per step, for all layers.  No gradient. */
struct tensor *op_rope_angles(struct ctx *c, struct tensor *positions, struct tensor *freqs);
/* Rotates columns (j, j + D/2) of every head of x [T, H D] by angles [T, D] (Su et al. 2021; halves as transformers
 * lays them out).  Backward: the rotation back. */
struct tensor *op_rope(struct ctx *c, struct tensor *x, struct tensor *angles);
/* y = silu(gate) up, or gelu(gate) up, by tanh or by erf, all [T, I] (Shazeer 2020) */
struct tensor *op_glu(struct ctx *c, struct tensor *gate, struct tensor *up, enum gate kind);
/* y = x + dropout(h w^T), x and y F32 [T, N], h [T, K], w [N, K]: a sum over layers that is never rounded to h's type
 */
struct tensor *op_linear_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, float p);
/* y = x + u alpha / sqrt(L C), u uniform in [-1, 1), L the length of the row's sequence (NEFTune, Jain et al. 2023);
 * x itself when not training or alpha is 0.  Draws words as op_dropout does (one site). */
struct tensor *op_neftune(struct ctx *c, struct tensor *x, const struct seqs *s, float alpha);
/*
 * The three below are a decoder's block without a backward.  Of up to GROUP_ROWS rows each is one launch, and one more
 * where there are adapters; of more rows, the products that op_lora_linear makes; or as ctx.rows says.  norm.w NULL: x
 * as it is.
 *
 * y[i] [T, N_i] = what n <= 3 maps make of norm(x)
 */
void op_linear_group(struct ctx *c, struct tensor **y, struct tensor *x, struct rms_norm norm,
                     const struct linear_map *const *maps, int n);
/* y [T, N], of x's type or F32, += what the map makes of x, in place */
void op_linear_add(struct ctx *c, struct tensor *y, struct tensor *x, const struct linear_map *map);
/* y [T, I] = silu(gate(norm(x))) up(norm(x)), or gelu by tanh, see op_glu */
struct tensor *op_linear_glu(struct ctx *c, struct tensor *x, struct rms_norm norm, const struct linear_map *gate,
                             const struct linear_map *up, enum gate kind);
/* y += x, of one shape and type, in place.  No gradient. */
void op_add_to(struct ctx *c, struct tensor *y, struct tensor *x);
/*
 * q [T, H D] and k [T, G D], each head normed by r's weights where it has any, are rotated in place as op_rope does;
 * with a cache, k and v [T, G D] go to its rows r.ids instead.  No gradient.
 */
void op_rope_cache(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v, const struct rope_cache *r);
/* Row t of x goes to row ids[t] of the cache, of x's type and columns; a negative id: nowhere.  ids I32 [T], all that
 * are not negative different.  No gradient. */
void op_cache_rows(struct ctx *c, struct tensor *cache, struct tensor *x, struct tensor *ids);
/* I32 [T]: the column of each row's largest number, the first of equals; a NaN is never the largest.  No gradient. */
struct tensor *op_argmax(struct ctx *c, struct tensor *x);
/* F32 [1] = scale sum x; all F32, scale of one number */
struct tensor *op_sum(struct ctx *c, struct tensor *x, struct tensor *scale);

#ifdef __cplusplus
}
#endif
#endif
