/*
 * ops.h - every differentiable op, with its shapes and its formula.
 *
 * Letters: T rows (tokens of all sequences one after another), C channels, H heads, D head size, N nodes, E edges, S
 * segments, P pairs, V classes.
 *
 * Every op returns a new tensor in the step arena and, when recording, pushes a record for the backward.  The record
 * copies every struct argument (graphs, indices, segments), so these structs may live on the caller's stack.  The
 * tensors that they name must live as long as the step.  Wrong shapes are bugs and abort.  Nothing is padded: sequences
 * are packed and described by offsets.
 */
#ifndef KERNELS_OPS_H
#define KERNELS_OPS_H

#include "kernels/decoder_types.h"

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
/* the same data with another shape; y shares the memory of x */
struct tensor *op_reshape(struct ctx *c, struct tensor *x, int ndim, const int64_t *shape);
/* y[T,N] = act(x[T,K] w[N,K]^T + b[N]), b may be NULL */
struct tensor *op_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b, enum activation act);
/* y = op(a) op(b), 2-D, op the transpose when ta or tb */
struct tensor *op_matmul(struct ctx *c, struct tensor *a, bool ta, struct tensor *b, bool tb);
/*
 * y[T,N] = x w^T + b + scale (dropout(x) A^T) B^T (LoRA, Hu et al. 2021).  b is NULL or F32.  If l or l->a is NULL,
 * there is no adapter.  The op pushes one record, which keeps x and scale dropout(x) A^T [T, r].  A weight w that needs
 * no gradient costs no product in the backward.
 */
struct tensor *op_lora_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b,
                              const struct lora *l);
/* y = x[T,N] + op_lora_linear(h [T,K]).  The gradient of y becomes the gradient of x, without a copy if x has none
 * yet. */
struct tensor *op_lora_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, struct tensor *b,
                                const struct lora *l);
/*
 * y[i] = op_lora_linear of x with the i-th of n <= 3 maps.  If the loss depends on all of them, there is one record.
 *
 * Adapters whose A are adjacent rows of one matrix (lora_declare), with no dropout between, share launches.  They need
 * one product for A and one launch for B, and their backward shares launches likewise.  Bit i of `transient` marks
 * y[i], see tape_transient.  The gradients of x are added in the order from the last map to the first.
 */
void op_lora_group(struct ctx *c, struct tensor **y, struct tensor *x, const struct linear_map *const *maps, int n,
                   unsigned transient);
/*
 * y[t] = -log softmax(z_t)[target[t]], F32 [T].  z = x w^T plus the adapter's output, then z = cap tanh(z / cap) if cap
 * > 0 (Gemma 2, Riviere et al. 2024).  target is I32 [T].  If it is negative, y is 0 and the row gives no gradient.
 *
 * The logits z [T, V] are computed in chunks of rows, in the forward and again in the backward.  A chunk has at most
 * LOGITS_MAX logits, or 16 rows if these have more.  All T V logits are never stored.
 */
enum { LOGITS_MAX = 1 << 26 };
struct tensor *op_linear_nll(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l,
                             struct tensor *target, float cap);
/* Returns the logits z of op_linear_nll, F32 [T, N], in one tensor.  It is meant for the few rows whose next token is
 * generated.  No gradient. */
struct tensor *op_linear_logits(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l, float cap);
/* y[T,C] = sum_i table[i][ids[i][t], :]; n <= 4 */
struct tensor *op_embed(struct ctx *c, struct tensor *const *table, const struct index *ids, int n);
/* y[n,C] = x[i.ids, :] */
struct tensor *op_gather(struct ctx *c, struct tensor *x, const struct index *i);
/* y[rows,C] = 0, then y[i.ids[t], :] += x[t, :]; i must be made while recording */
struct tensor *op_scatter(struct ctx *c, struct tensor *x, const struct index *i, int64_t rows);
/* y = layer norm of x + res over the last dimension, res may be NULL */
struct tensor *op_layer_norm(struct ctx *c, struct tensor *x, struct tensor *res, struct tensor *w, struct tensor *b,
                             float eps);
/* y = x with each element zeroed with probability p and the rest divided by 1 - p; returns x when not training or p is
 * 0 */
struct tensor *op_dropout(struct ctx *c, struct tensor *x, float p);
/*
 * Bidirectional attention within each sequence, as `form` says: softmax(scale q k^T + bias) v, with dropout on the
 * weights when training.  y [Tq, H D].
 *
 * Self attention: q == kv, [T, 3 H D], the columns of q, k and v side by side.  Cross attention: q [Tq, H D], kv [Tk, 2
 * H D] (k then v), qs->n == ks->n.  D is 1 ..  HEAD_DIM_MAX; a GPU rounds it up to 32, 64, 128 or 256.  The form has no
 * groups.  Positions are those of rows in their own sequences.  A query with an empty key sequence gives 0.
 */
struct tensor *op_attention(struct ctx *c, struct tensor *q, struct tensor *kv, const struct seqs *qs,
                            const struct seqs *ks, const struct attention_form *form);
/*
 * Causal attention: y [Tq, H D] = softmax(scores) v, with the scores that `form` defines; its p is 0.  q [Tq, H D], k
 * and v [Tk, G D] are three tensors.  H is a multiple of G: head h reads group h G / H (grouped queries, Ainslie et al.
 * 2023).  D is 1 .. 256.  The position of a key counts the prefix's keys first.  The last query has the position of the
 * last key.
 *
 * There is a record only if every key row belongs to one sequence, which has as many queries or none.  dk and dv are
 * sums over the heads of a group and the sequences that share a prefix, in a fixed order.  The gradient of the bias is
 * a sum over all sequences.
 */
struct tensor *op_causal_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                   const struct causal *s, const struct attention_form *form);
/*
 * Graph attention (Velickovic et al. 2018).  z [N, H D].  score(j -> i) = LeakyReLU(a_src . z_j + a_dst . z_i +
 * edge_bias[type]); alpha = softmax over the edges into i; y_i = sum alpha z_j, then + bias.  Heads lie side by side
 * [N, H D] or are averaged [N, D].  A node without edges gets the bias alone.  An activation and dropout may follow,
 * with the random numbers that op_dropout would draw.
 */
struct tensor *op_gat(struct ctx *c, struct tensor *z, const struct gat *g);
/* y[i,:] = sum of w[e] x[source(e),:] over the edges e into i, 0 without edges; x [N,C].  w is F32 [E] and gets no
 * gradient. */
struct tensor *op_propagate(struct ctx *c, struct tensor *x, struct tensor *w, const struct graph *g);
/* y[S,C] = sum or mean of each segment's rows */
struct tensor *op_segment_pool(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool);
/* y[S] = w . dropout(segment_pool(x)) + b, a score for each segment; x [T,C], w [1,C] and b [1] are F32 */
struct tensor *op_segment_score(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool, float p,
                                struct tensor *w, struct tensor *b);
/* y[S,C] = sum over the segment of softmax(gate) x; gate F32 [T] */
struct tensor *op_attention_pool(struct ctx *c, struct tensor *x, struct tensor *gate, const struct seqs *s);
/* y[P, 4C + F] = x_u, x_v, |x_u - x_v|, x_u x_v, extra[P,F]; extra (compute type) may be NULL and gets no gradient */
struct tensor *op_pair_features(struct ctx *c, struct tensor *x, const struct index *u, const struct index *v,
                                struct tensor *extra);
/* y[p] = scale a[u[p]] . b[v[p]], F32 [P].  a [N,C] and b [M,C] have one type and may be one tensor. */
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
/* loss = -sum_i weight_i (t_i log q_i + (1 - t_i) log(1 - q_i)), q = p clamped to [least, 1 - least].  A clamped p gets
 * no gradient.  0 < least < .5; all F32 [n]. */
struct tensor *op_probability_bce(struct ctx *c, struct tensor *p, struct tensor *target, struct tensor *weight,
                                  float least);
/* y[t] = weight (divergence (exp(d) - d - 1) - min(r a, clip(r) a)), F32 [T].  r = exp(-nll - drawn), a is the
 * advantage, d = nll - start; see op_types.h. */
struct tensor *op_policy_loss(struct ctx *c, struct tensor *nll, const struct policy *policy);
/* loss = scale sum_t -log softmax(x[t])[target[t]]; x [T,V]; target I32 [T], negative: the row is skipped */
struct tensor *op_cross_entropy(struct ctx *c, struct tensor *x, struct tensor *target, float scale);

/*
 * y[s] = log sum exp(score) over the allowed taggings of sequence s (CRF, Lafferty et al. 2001).  A tagging is allowed
 * if allowed[t] has the bit of each token's tag (I32 [T], NULL: any tag).  e is F32 [T, K].  An empty sequence gives 0.
 * A sequence without an allowed tagging gives -INFINITY and no gradient.
 */
struct tensor *op_crf_log_z(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                            const struct crf *m);
/* y[s] = -log of the probability that the tagging of sequence s is allowed.  A token with a known tag has one bit. */
struct tensor *op_crf_nll(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                          const struct crf *m);
/* Returns I32 [T], the allowed tagging with the highest score (Viterbi 1967), or zeros where there is none.  Ties take
 * the lower tag, compared from the last token on.  No gradient. */
struct tensor *op_viterbi(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                          const struct crf *m);

/* y = x / sqrt(mean(x^2) + eps) w over every group of D columns of x [T, n D] (Zhang & Sennrich 2019).  w is F32 [D]. n
 * > 1 normalises each head separately, as Qwen3 does with q and k.  The backward keeps only rstd F32 [T, n]. */
struct tensor *op_rms_norm(struct ctx *c, struct tensor *x, struct tensor *w, float eps);
/* Returns F32 [T, D]: the cosines of positions[t] freqs[j], then the sines, j < D / 2.  positions is I32 [T], freqs
 * is F32 [D / 2].  The product is an f32 product, as in transformers.  Call it once per step for all layers.  No
 * gradient. */
struct tensor *op_rope_angles(struct ctx *c, struct tensor *positions, struct tensor *freqs);
/* Rotates columns (j, j + D/2) of every head of x [T, H D] by angles [T, D] (Su et al. 2021; transformers has the same
 * layout of halves).  The backward is the inverse rotation. */
struct tensor *op_rope(struct ctx *c, struct tensor *x, struct tensor *angles);
/* y = silu(gate) up, or gelu(gate) up with the tanh or erf formula; all [T, I] (Shazeer 2020) */
struct tensor *op_glu(struct ctx *c, struct tensor *gate, struct tensor *up, enum gate kind);
/* y = x + dropout(h w^T); x and y F32 [T, N], h [T, K], w [N, K].  The sum over layers is never rounded to the type of
 * h. */
struct tensor *op_linear_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, float p);
/* y = x + u alpha / sqrt(L C), u uniform in [-1, 1), L the length of the row's sequence (NEFTune, Jain et al. 2023).
 * Returns x when not training or alpha is 0.  The op draws words as op_dropout does (one site). */
struct tensor *op_neftune(struct ctx *c, struct tensor *x, const struct seqs *s, float alpha);
/*
 * The next three ops are a decoder's block without a backward.  Up to GROUP_ROWS rows take one launch, and a second
 * launch if there are adapters.  More rows take the products of op_lora_linear.  ctx.rows can fix this choice.  If
 * norm.w is NULL, x is not normalised.
 *
 * y[i] [T, N_i] = the i-th of n <= 3 maps of norm(x)
 */
void op_linear_group(struct ctx *c, struct tensor **y, struct tensor *x, struct rms_norm norm,
                     const struct linear_map *const *maps, int n);
/* y [T, N] += the map of x, in place; y has the type of x or F32 */
void op_linear_add(struct ctx *c, struct tensor *y, struct tensor *x, const struct linear_map *map);
/* y [T, I] = silu(gate(norm(x))) up(norm(x)), or gelu with the tanh formula, see op_glu */
struct tensor *op_linear_glu(struct ctx *c, struct tensor *x, struct rms_norm norm, const struct linear_map *gate,
                             const struct linear_map *up, enum gate kind);
/* y += x, in place; one shape and type.  No gradient. */
void op_add_to(struct ctx *c, struct tensor *y, struct tensor *x);
/*
 * Rotates q [T, H D] and k [T, G D] in place as op_rope does.  If r has norm weights, it normalises each head first.
 * With a cache, k and v [T, G D] are written to the cache rows r.ids instead.  No gradient.
 */
void op_rope_cache(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v, const struct rope_cache *r);
/* Copies row t of x to row ids[t] of the cache, which has the type and columns of x.  A negative id skips the row.  ids
 * is I32 [T]; its other entries must be distinct.  No gradient. */
void op_cache_rows(struct ctx *c, struct tensor *cache, struct tensor *x, struct tensor *ids);
/* Returns I32 [T], the column of each row's largest number; ties take the first.  A NaN is never the largest.  No
 * gradient. */
struct tensor *op_argmax(struct ctx *c, struct tensor *x);
/* F32 [1] = scale sum x; all F32, scale has one element */
struct tensor *op_sum(struct ctx *c, struct tensor *x, struct tensor *scale);

#ifdef __cplusplus
}
#endif
#endif
