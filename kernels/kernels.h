/*
 * kernels.h - the table of kernels that a device provides: one slot per kernel, filled by cpu/ and by the CUDA sources,
 * which also make simt.
 *
 * A kernel is declared only in KERNEL_LIST, whose parts are here, in loss_kernels.h and in decode_kernels.h.  The list
 * yields the slot, both prototypes and both table rows.
 *
 * Contract of every kernel.  The op has checked the shapes.  Outputs come first.  A `struct destination` whose t is
 * NULL is not written; its `add` means +=.  Element types follow tensor.h: x, y, w and the gradients of activations
 * share the compute type, F32 or BF16, unless a line says otherwise.  Sums run in f32 at least.  Empty tensors are
 * legal and do nothing.  Results are bitwise reproducible: no kernel adds floats atomically.  A kernel may take scratch
 * from c->step above the current mark and must give it back.  The size of scratch depends on shapes only.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "kernels/decode_kernels.h"
#include "kernels/loss_kernels.h"
#include "kernels/trace.h"
#include "kernels/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define KERNEL_LIST(K)                                                                                                 \
    /* y = value, any float type */                                                                                    \
    K(fill, (struct ctx *c, struct tensor *y, float value))                                                            \
    /* y = x, converting between F32 and BF16 */                                                                       \
    K(cast, (struct ctx *c, struct tensor *y, const struct tensor *x))                                                 \
    /* dx (+)= dy, converting */                                                                                       \
    K(accumulate, (struct ctx *c, struct destination dx, const struct tensor *dy))                                     \
    /* y = a + b */                                                                                                    \
    K(add, (struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b))                          \
    /* y = alpha x */                                                                                                  \
    K(scale, (struct ctx *c, struct destination y, const struct tensor *x, float alpha))                               \
    /* y = act(x);  dx (+)= dy act'(x) */                                                                              \
    K(activation, (struct ctx *c, struct tensor *y, const struct tensor *x, enum activation act))                      \
    K(activation_backward, (struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *x,     \
                            enum activation act))                                                                      \
    /* y[T,N] = act(x[T,K] w[N,K]^T + b[N]); b NULL or F32; pre[T,N] = the argument of act, NULL: not needed */        \
    K(linear, (struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x, const struct tensor *w,    \
               const struct tensor *b, enum activation act))                                                           \
    /* y[M,N] (+)= op(a) op(b), op the transpose when ta or tb; y may be F32 while a and b are BF16 */                 \
    K(matmul, (struct ctx *c, struct destination y, const struct tensor *a, bool ta, const struct tensor *b, bool tb)) \
    /* y[N] (+)= sum over rows of x[T,N]; y F32 */                                                                     \
    K(sum_rows, (struct ctx *c, struct destination y, const struct tensor *x))                                         \
    /* y[T,C] = sum_i table[i][ids[i][t], :], n tables */                                                              \
    K(embed, (struct ctx *c, struct tensor *y, struct tensor *const *table, struct tensor *const *ids, int n))         \
    /* y[T,C] = x[ids[t], :] */                                                                                        \
    K(gather, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *ids))                     \
    /* y[i.uniq[u], :] (+)= sum of x[i.order[s], :] for s in [i.start[u], i.start[u+1]). Without add, all other        \
       rows become 0. y may be F32 (a parameter's gradient) while x is BF16. */                                        \
    K(scatter, (struct ctx *c, struct destination y, const struct tensor *x, const struct index *i))                   \
    /* z = x + res (res may be NULL), y = (z - mean) rstd w + b; mean, rstd [T] F32, w, b [C] F32 */                   \
    K(layer_norm, (struct ctx *c, struct tensor *y, struct tensor *mean, struct tensor *rstd, const struct tensor *x,  \
                   const struct tensor *res, const struct tensor *w, const struct tensor *b, float eps))               \
    /* writes the gradient of z to dx and to dres */                                                                   \
    K(layer_norm_backward, (struct ctx *c, struct destination dx, struct destination dres, struct destination dw,      \
                            struct destination db, const struct tensor *dy, const struct tensor *x,                    \
                            const struct tensor *res, const struct tensor *w, const struct tensor *mean,               \
                            const struct tensor *rstd))                                                                \
    /* y[r,j] = word(site, r, j) < threshold(p) ? 0 : x[r,j] / (1 - p); its own backward (y = dx) */                   \
    K(dropout, (struct ctx *c, struct destination y, const struct tensor *x, float p, uint32_t site))                  \
    /* packed bidirectional attention, see op_attention; every field of the form is set; lse [Tq, heads] F32 =         \
       log sum exp */                                                                                                  \
    K(attention, (struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,                         \
                  const struct tensor *kv, const struct seqs *qs, const struct seqs *ks,                               \
                  const struct attention_form *form, uint32_t site))                                                   \
    /* dq and dkv have the layout of q and kv. With fused input, q == kv, dq alone is given, and it is written         \
       once. */                                                                                                        \
    K(attention_backward, (struct ctx *c, struct destination dq, struct destination dkv, struct destination dbias,     \
                           const struct tensor *dy, const struct tensor *y, const struct tensor *lse,                  \
                           const struct tensor *q, const struct tensor *kv, const struct seqs *qs,                     \
                           const struct seqs *ks, const struct attention_form *form, uint32_t site))                   \
    /* packed causal attention, see op_causal_attention; every field of the form is set; lse [Tq, heads] F32 =         \
       log sum exp */                                                                                                  \
    K(causal_attention, (struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,                  \
                         const struct tensor *k, const struct tensor *v, const struct causal *s,                       \
                         const struct attention_form *form))                                                           \
    /* sums: I32 [causal_sum_words] scratch, undefined afterwards; NULL if the device needs none */                    \
    K(causal_attention_backward, (struct ctx *c, struct destination dq, struct destination dk, struct destination dv,  \
                                  struct destination dbias, struct tensor *sums, const struct tensor *dy,              \
                                  const struct tensor *y, const struct tensor *lse, const struct tensor *q,            \
                                  const struct tensor *k, const struct tensor *v, const struct causal *s,              \
                                  const struct attention_form *form))                                                  \
    /* one GAT layer's aggregation, see op_gat; pre = the argument of g.act, NULL: not needed; alpha [E, heads] F32    \
       keeps the coefficients before dropout. The result's dropout has the next site if the coefficients have dropout. */ \
    K(gat, (struct ctx *c, struct tensor *y, struct tensor *pre, struct tensor *alpha, const struct tensor *z,         \
            const struct gat *g, uint32_t site))                                                                       \
    K(gat_backward, (struct ctx *c, struct destination dz, struct destination da_src, struct destination da_dst,       \
                     struct destination dedge_bias, struct destination dbias, const struct tensor *dy,                 \
                     const struct tensor *pre, const struct tensor *alpha, const struct tensor *z,                     \
                     const struct gat *g, uint32_t site))                                                              \
    /* y[i,:] (+)= sum of w[e] x[source(e),:] over the edges into i; back: of w[e] x[target(e),:] over those out of i */ \
    K(propagate, (struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,                 \
                  const struct graph *g, bool back))                                                                   \
    /* y[s,:] = sum or mean of the rows of segment s, 0 when it is empty */                                            \
    K(segment_pool, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, enum pool pool))   \
    K(segment_pool_backward, (struct ctx *c, struct destination dx, const struct tensor *dy, const struct seqs *s,     \
                              enum pool pool))                                                                         \
    /* pooled[s,:] = dropout of segment_pool(x)[s,:] at the site; y[s] = w . pooled[s,:] + b; all F32, w [C], b [1] */  \
    K(segment_score, (struct ctx *c, struct tensor *y, struct tensor *pooled, const struct tensor *x,                  \
                      const struct tensor *w, const struct tensor *b, const struct seqs *s, enum pool pool, float p,   \
                      uint32_t site))                                                                                  \
    K(segment_score_backward, (struct ctx *c, struct destination dx, struct destination dw, struct destination db,     \
                               const struct tensor *dy, const struct tensor *pooled, const struct tensor *w,           \
                               const struct seqs *s, enum pool pool, float p, uint32_t site))                          \
    /* a = softmax of gate[T] F32 within each segment; y[s,:] = sum a[t] x[t,:]; a[T] F32 */                           \
    K(attention_pool, (struct ctx *c, struct tensor *y, struct tensor *a, const struct tensor *x,                      \
                       const struct tensor *gate, const struct seqs *s))                                               \
    K(attention_pool_backward, (struct ctx *c, struct destination dx, struct destination dgate,                        \
                                const struct tensor *dy, const struct tensor *x, const struct tensor *a,               \
                                const struct seqs *s))                                                                 \
    /* y[p,:] = x[u[p]], x[v[p]], |x[u[p]] - x[v[p]]|, x[u[p]] * x[v[p]], extra[p] side by side; y [P, 4C + F] */      \
    K(pair_features, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *u,                 \
                      const struct tensor *v, const struct tensor *extra))                                             \
    /* du[p,:], dv[p,:] [P,C]: the gradients of the two rows of each pair; the op scatters them into dx */             \
    K(pair_features_backward, (struct ctx *c, struct tensor *du, struct tensor *dv, const struct tensor *dy,           \
                               const struct tensor *x, const struct tensor *u, const struct tensor *v))                \
    /* y = x rstd w, rstd = 1 / sqrt(mean of x^2 + eps) of each group of D columns; w [D], rstd [T,n] F32 */           \
    K(rms_norm, (struct ctx *c, struct tensor *y, struct tensor *rstd, const struct tensor *x, const struct tensor *w, \
                 float eps))                                                                                           \
    /* y is recomputed and may share memory with dy; NULL: not needed */                                               \
    K(rms_norm_backward, (struct ctx *c, struct destination dx, struct destination dw, struct tensor *y,               \
                          const struct tensor *dy, const struct tensor *x, const struct tensor *w,                     \
                          const struct tensor *rstd))                                                                  \
    /* y[t,:] = cos(positions[t] freqs), sin(positions[t] freqs); y, freqs F32 */                                      \
    K(rope_angles, (struct ctx *c, struct tensor *y, const struct tensor *positions, const struct tensor *freqs))      \
    /* rotates every head of x by angles[T,D] F32 as op_rope says; back: the inverse rotation, which is the            \
       backward */                                                                                                     \
    K(rope, (struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *angles, bool back))     \
    /* y = g(gate) up, g silu or gelu; dgate (+)= dy up g'(gate), dup (+)= dy g(gate). The backward recomputes         \
       y, which may share memory with dy; NULL: not needed. */                                                         \
    K(glu, (struct ctx *c, struct tensor *y, const struct tensor *gate, const struct tensor *up, enum gate kind))      \
    K(glu_backward, (struct ctx *c, struct destination dgate, struct destination dup, struct tensor *y,                \
                     const struct tensor *dy, const struct tensor *gate, const struct tensor *up, enum gate kind))     \
    /* y = x + u alpha / sqrt(L C), u = (word(site, r, j) >> 8) 2^-23 - 1, L the length of row r's sequence */         \
    K(neftune, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, float alpha,            \
                uint32_t site))                                                                                        \
    /* For n adapters l: h[i] [T, r_i] = scale_i low's i-th part, y[i] (+)= h[i] b_i^T; low [T, sum r_i] F32.          \
       Backward: the i-th part of dh = scale_i dy[i] b_i, in the type of dy, dh NULL: not needed; db[i] (+)=           \
       dy[i]^T h[i], F32. */                                                                                           \
    K(lora_out, (struct ctx *c, const struct destination *y, struct tensor *const *h, const struct tensor *low,        \
                 const struct lora *l, int n))                                                                         \
    K(lora_out_backward, (struct ctx *c, struct tensor *dh, const struct destination *db, struct tensor *const *dy,    \
                          struct tensor *const *h, const struct lora *l, int n))                                       \
    /* rng[3] = site[1], both I32;  y[1] = scale[1] sum x;  dx (+)= scale[1] dy[1]; all F32 */                         \
    K(set_site, (struct ctx *c, struct tensor *rng, const struct tensor *site))                                        \
    K(sum, (struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *scale))                      \
    K(sum_backward, (struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *scale))       \
    /* y[t] = -log softmax(z[t])[target[t]], 0 where target < 0; lse[t] = log sum exp(z[t]), NaN if all -inf; F32 */   \
    K(nll, (struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *z, const struct tensor *target)) \
    /* y = cap tanh(y / cap), in place; F32 */                                                                         \
    K(soft_cap, (struct ctx *c, struct tensor *y, float cap))                                                          \
    /* dz[t,j] = dy[t] (exp(z[t,j] - lse[t]) - (j == target[t])), 0 where target < 0; dz any float type, may be        \
       z. If cap > 0, z is the output of soft_cap, and dz is multiplied by its slope, 1 - (z / cap)^2. */              \
    K(nll_backward, (struct ctx *c, struct tensor *dz, const struct tensor *dy, const struct tensor *lse,              \
                     const struct tensor *z, const struct tensor *target, float cap))                                  \
    /* the updates of update.h: norm[1] = sum of g^2, lr[1] = the schedule at step rng[2]; rng[2] += 1 */              \
    K(adamw, (struct ctx *c, struct tensor *norm, struct tensor *lr, struct tensor *rng,                               \
              const struct update_table *t))                                                                           \
    K(adafactor, (struct ctx *c, struct tensor *norm, struct tensor *lr, struct tensor *rng,                           \
                  const struct update_table *t))                                                                       \
    LOSS_KERNEL_LIST(K)                                                                                                \
    DECODE_KERNEL_LIST(K)
/* clang-format on */

struct kernels {
#define KERNEL_SLOT(name, args) void(*name) args;
    KERNEL_LIST(KERNEL_SLOT)
#undef KERNEL_SLOT
};

#define KERNEL_PROTOTYPES(name, args)                                                                                  \
    void cpu_##name args;                                                                                              \
    void cuda_##name args;
KERNEL_LIST(KERNEL_PROTOTYPES)
#undef KERNEL_PROTOTYPES

extern const struct kernels cpu_kernels;

/* The one door every kernel passes through; its arguments are plain names, since a dry run skips them. */
#define RUN(c, slot, ...)                                                                                              \
    do {                                                                                                               \
        if (!(c)->k)                                                                                                   \
            break;                                                                                                     \
        if (trace_wanted)                                                                                              \
            trace_begin(c);                                                                                            \
        (c)->k->slot((c), __VA_ARGS__);                                                                                \
        if (trace_wanted)                                                                                              \
            trace_end((c), __FILE__, __LINE__, #slot, (struct trace_arg[]){ TRACE_ARGS(__VA_ARGS__) });                \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
