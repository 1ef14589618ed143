/*
 * beams.h - the ops between the logits of a decoding step and the tokens of the next: candidates, beams, draws.
 *
 * They write in place what decode_state.h describes; none has a gradient.  What a row gets never depends on the rows of
 * other requests, and what is done or padding is left as it is.
 */
#ifndef KERNELS_BEAMS_H
#define KERNELS_BEAMS_H

#include "kernels/decode_state.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CANDIDATES_MAX = 256, DRAW_COLUMNS = 1 << 18 /* of logits to draw from */ };

/*
 * Which tokens may follow: state s has edges first[s] .. first[s+1]-1, ascending by token, and the state each leads to.
 * All I32 on the device; automata of several requests lie one after another.  Without edges nothing may follow.  Stop
 * tokens are edges like others.
 */
struct automaton {
    struct tensor *first, *token, *next;
};
enum { STATE_FREE = -1 }; /* any token may follow, and leads here again */

/* The k best tokens of each row, best first, of equals the lower id first.  Where there are fewer (allowed, neither NaN
 * nor -infinity), value is -infinity and id -1. */
struct candidates {
    struct tensor *value;      /* F32 [n, k] log p */
    struct tensor *id, *state; /* I32 [n, k], the state behind the token */
    int k;
};
enum normalise { NORMALISE_FULL /* p over the vocabulary */, NORMALISE_ALLOWED /* p over what may follow */ };

/* With beams only row 0 of a request holds something at first.  Nothing is said, no slot filled. */
void op_decode_start(struct ctx *c, const struct decode_state *s, const struct decode_start *start, bool beams);

/* I32 [T]: the tokens to read, 0 for padding and where nothing follows; table[row][place] = cache_row of each.  With a
 * NULL every `ahead` is 0. */
struct tensor *op_next_tokens(struct ctx *c, const struct decode_state *s, const struct decode_read *read,
                              const struct automaton *a);
/* run[r] = how many tokens follow each row of request r that goes on without a choice, those that end it aside: of the
 * row that has fewest, at most `most`.  0 where all are free or the request is done.  request I32 [n], -1: padding. */
void op_forced_runs(struct ctx *c, const struct decode_state *s, struct tensor *request, const struct automaton *a,
                    bool beams, int most);

/* Of logits F32 [n W, V], or [any, V] where the step says which; k <= CANDIDATES_MAX; a NULL: every row is free.  Rows
 * of requests that are done have none.  Sums in an order that V alone fixes. */
struct candidates op_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                                struct tensor *logits, const struct automaton *a, int k, enum normalise normalise);
/* best_id and best_logp of the step = the first K of each row's candidates; before the step that moves rows. */
void op_keep_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                        const struct candidates *best);

enum early_stopping { EARLY_FALSE, EARLY_TRUE, EARLY_NEVER };
struct beam_settings {
    struct tensor *stops; /* I32 [any number, 0 too] */
    struct tensor *norm;  /* F32 [longest limit + 1] n^length_penalty at n */
    float length_penalty;
    enum early_stopping early;
};
/* Candidates that a step of beams needs a row: as many of all rows go on or end. */
static inline int beam_candidates(int width, int64_t stops)
{
    return width * (int)(stops > 1 ? 1 + stops : 2);
}
/*
 * Beam search as `_beam_search` of transformers 5 has it, every request as if it were alone: same sequences and same
 * scores.  Of equal scores the lower row is first, in it the likelier token.  Where transformers goes on with rows of
 * score -1e9, of which it has at first all but one, or -infinity, a row holds nothing and ends as no answer.
 */
void op_beam_step(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                  const struct candidates *best, const struct beam_settings *set);

/* As transformers' warpers in their order; each that is off leaves all.  temperature 0: the likeliest. */
struct draw_settings {
    struct tensor *stops; /* I32 [any number, 0 too] */
    float temperature;
    int top_k;              /* 0: off */
    float top_p, typical_p; /* 1: off */
    float min_p;            /* 0: off */
    uint64_t seed;
};
/*
 * Each row says one more token, drawn from what is kept of what is allowed by a number that follows from seed, key, row
 * in the request and step alone; logp is that over the whole vocabulary at temperature 1.  Where nothing is allowed,
 * the row ends with token -1, logp 0.  A row's slot is its own; slots are not sorted.
 */
void op_draw(struct ctx *c, const struct decode_state *s, const struct decode_step *step, struct tensor *logits,
             const struct automaton *a, const struct draw_settings *set);

#ifdef __cplusplus
}
#endif
#endif
