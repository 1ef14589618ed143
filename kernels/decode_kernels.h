/*
 * decode_kernels.h - the part of KERNEL_LIST for decoding.  The contract of kernels.h holds.
 */
#ifndef KERNELS_DECODE_KERNELS_H
#define KERNELS_DECODE_KERNELS_H

#include "kernels/beams.h"
#include "kernels/ops.h"
#include "kernels/paged.h"

/* clang-format off */
#define DECODE_KERNEL_LIST(K)                                                                                          \
    /* cache[ids[t],:] = x[t,:] where ids[t] >= 0 */                                                                   \
    K(cache_rows, (struct ctx *c, struct tensor *cache, const struct tensor *x, const struct tensor *ids))             \
    /* see decoder_types.h; in linear_group, the order of a row's sums depends on K alone */                           \
    K(linear_group, (struct ctx *c, struct tensor *y, const struct linear_group *g))                                   \
    K(rope_cache, (struct ctx *c, struct tensor *q, struct tensor *k, const struct tensor *v,                          \
                   const struct rope_cache *r))                                                                        \
    /* see op_paged_attention; every field of the form is set; partial F32 [n_parts, heads (D + 2)] is scratch         \
       */                                                                                                              \
    K(paged_attention, (struct ctx *c, struct tensor *y, const struct tensor *partial, const struct tensor *q,         \
                        const struct tensor *k, const struct tensor *v, const struct paged *p,                         \
                        const struct attention_form *form))                                                            \
    /* y[t] I32 = the first column with the maximum of x[t,:]; 0 if no number is above -infinity */                    \
    K(argmax, (struct ctx *c, struct tensor *y, const struct tensor *x))                                               \
    /* see beams.h; all in place in s */                                                                               \
    K(decode_start, (struct ctx *c, const struct decode_state *s, const struct decode_start *start, bool beams))       \
    K(next_tokens, (struct ctx *c, struct tensor *y, const struct decode_state *s, const struct decode_read *read,     \
                    const struct automaton *a))                                                                        \
    K(forced_runs, (struct ctx *c, const struct decode_state *s, const struct tensor *request,                         \
                    const struct automaton *a, bool beams, int most))                                                  \
    K(candidates, (struct ctx *c, const struct candidates *y, const struct decode_state *s,                            \
                   const struct decode_step *step, const struct tensor *logits, const struct automaton *a,             \
                   enum normalise normalise))                                                                          \
    K(keep_candidates, (struct ctx *c, const struct decode_state *s, const struct decode_step *step,                   \
                        const struct candidates *best))                                                                \
    K(beam_step, (struct ctx *c, const struct decode_state *s, const struct decode_step *step,                         \
                  const struct candidates *best, const struct beam_settings *set))                                     \
    K(draw, (struct ctx *c, const struct decode_state *s, const struct decode_step *step,                              \
             const struct tensor *logits, const struct automaton *a, const struct draw_settings *set))
/* clang-format on */

#endif
