/*
 * beams.h - the ops between the logits of a decoding step and the tokens of the next: candidates, beams, sampling.
 *
 * The ops write the tensors of decode_state.h in place.  No op has a gradient.  The results of a row never depend on
 * the rows of other requests.  Rows that are done or padding stay unchanged.
 */
#ifndef KERNELS_BEAMS_H
#define KERNELS_BEAMS_H

#include "kernels/decode_state.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CANDIDATES_MAX = 256, DRAW_COLUMNS = 1 << 18 /* max vocabulary size for sampling */ };

/*
 * The automaton of constrained decoding.  State s has edges first[s] .. first[s+1]-1, ascending by token; next is the
 * target state of an edge.  A state without edges allows no token.  Stop tokens are ordinary edges.  All tensors are
 * I32 on the device, and automata of several requests are concatenated.
 */
struct automaton {
    struct tensor *first, *token, *next;
};
enum { STATE_FREE = -1 }; /* any token may follow and leads to STATE_FREE */

/* The k best tokens of each row, best first; ties take the lower id first.  Candidates are allowed tokens whose logits
 * are neither NaN nor -infinity.  Missing candidates have value -infinity and id -1. */
struct candidates {
    struct tensor *value;      /* F32 [n, k] log p */
    struct tensor *id, *state; /* I32 [n, k], the state after the token */
    int k;
};
enum normalise { NORMALISE_FULL /* p over the vocabulary */, NORMALISE_ALLOWED /* p over the allowed tokens */ };

/* Starts requests: no token is generated and no slot is filled.  With beams, only row 0 of a request is active at
 * first. */
void op_decode_start(struct ctx *c, const struct decode_state *s, const struct decode_start *start, bool beams);

/* Returns I32 [T], the tokens to read, 0 for padding and if no token follows.  Sets table[row][place] = cache_row of
 * each.  If a is NULL, every `ahead` must be 0. */
struct tensor *op_next_tokens(struct ctx *c, const struct decode_state *s, const struct decode_read *read,
                              const struct automaton *a);
/* Sets run[r] to the number of forced tokens that follow each active row of request r, without those that end it.  It
 * is the minimum over the rows, and at most `most`.  It is 0 if all rows are free or the request is done.  request is
 * I32 [n], -1: padding. */
void op_forced_runs(struct ctx *c, const struct decode_state *s, struct tensor *request, const struct automaton *a,
                    bool beams, int most);

/* Returns the candidates of logits F32 [n W, V], or [any, V] with the rows that the step names.  k <= CANDIDATES_MAX.
 * If a is NULL, every row is free.  Rows of finished requests have no candidates.  The order of sums depends on V
 * alone. */
struct candidates op_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                                struct tensor *logits, const struct automaton *a, int k, enum normalise normalise);
/* Sets best_id and best_logp of the step to the first K candidates of each row.  Call it before the op that moves
 * rows. */
void op_keep_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                        const struct candidates *best);

enum early_stopping { EARLY_FALSE, EARLY_TRUE, EARLY_NEVER };
struct beam_settings {
    struct tensor *stops; /* I32 [any number, 0 too] */
    struct tensor *norm;  /* F32 [max limit + 1] n^length_penalty at n */
    float length_penalty;
    enum early_stopping early;
};
/* Returns the number of candidates per row for a step of beam search.  Over all rows, this number continues or ends. */
static inline int beam_candidates(int width, int64_t stops)
{
    return width * (int)(stops > 1 ? 1 + stops : 2);
}
/*
 * Beam search as in `_beam_search` of transformers 5, independently for each request, with the same sequences and
 * scores.  Of equal scores the lower row comes first, and in a row the more probable token.
 *
 * transformers continues rows with score -1e9 (at first all rows but one) or -infinity.  Here such a row is empty and
 * gives no completion.
 */
void op_beam_step(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                  const struct candidates *best, const struct beam_settings *set);

/* Settings of sampling: the warpers of transformers, in their order.  A warper that is off keeps all tokens.
 * Temperature 0 takes the most probable token. */
struct draw_settings {
    struct tensor *stops; /* I32 [any number, 0 too] */
    float temperature;
    int top_k;              /* 0: off */
    float top_p, typical_p; /* 1: off */
    float min_p;            /* 0: off */
    uint64_t seed;
};
/*
 * Samples one token for each row from the allowed tokens that the warpers keep.  The random number depends only on
 * seed, key, row in the request and step.  logp is the log-probability over the whole vocabulary at temperature 1.  If
 * no token is allowed, the row ends with token -1 and logp 0.  Each row has its own slot, and slots are not sorted.
 */
void op_draw(struct ctx *c, const struct decode_state *s, const struct decode_step *step, struct tensor *logits,
             const struct automaton *a, const struct draw_settings *set);

#ifdef __cplusplus
}
#endif
#endif
