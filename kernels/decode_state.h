/*
 * decode_state.h - the state of running requests between the steps of decoding, and the arguments of a step.
 *
 * Tokens, their log-probabilities and the positions of their keys stay on the device.  Row W r + i is row i of request
 * r.  The host uploads only positions and lengths, and reads completions when they are done.
 *
 * Each step logs the generated token of every row and the row that it continues.  Beams that change rows therefore copy
 * no text: a completion is traced back from its end.
 */
#ifndef KERNELS_DECODE_STATE_H
#define KERNELS_DECODE_STATE_H

#include "kernels/op_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BEAMS_MAX = 64 };
#define NO_ANSWER (-1e9f) /* end_score of a slot without a completion, as in transformers: the minimum score */

/*
 * R requests of W rows each.  To read a completion that ended after step t (from 0), start with its last token and row
 * i = end_row.  The token at t - 1 is said[i][t-1], and the row at t - 2 is parent[i][t-1], and so on.
 */
struct decode_state {
    int width;                    /* W, at most BEAMS_MAX */
    struct tensor *token;         /* I32 [R W] newest token, which the next step reads */
    struct tensor *state;         /* I32 [R W] automaton state */
    struct tensor *score;         /* F32 [R W] sum of log p; -infinity: the row is empty */
    struct tensor *table;         /* I32 [R W, keys], see paged.h */
    struct tensor *key;           /* I32 [R, 2] key of the request's random numbers */
    struct tensor *said, *parent; /* I32 [R W, steps] */
    struct tensor *logp;          /* F32 [R W, steps] log p of said, over the vocabulary or the allowed tokens */
    struct tensor *end_step;      /* I32 [R W] last step of the completion in this slot; -1: none yet */
    struct tensor *end_row, *end_token, *end_stop; /* I32 [R W] end_stop 0: ended by the limit; see op_draw for -1 */
    struct tensor *end_logp, *end_score;           /* F32 [R W] log p of the last token; sort key of completions */
    struct tensor *done;                           /* I32 [R] 1: later steps cannot change the request's completions */
    struct tensor *run;                 /* I32 [R] see op_forced_runs; NULL if no automaton constrains the rows */
    struct tensor *best_id, *best_logp; /* I32, F32 [R W, steps K] output of op_keep_candidates, by step; or NULL */
};

/* A step of n requests, whose rows are consecutive in ids and logits.  All tensors are I32 [n] on the device. */
struct decode_step {
    struct tensor *request; /* -1: padding, nothing is written */
    struct tensor *step;    /* tokens generated before */
    struct tensor *fixed;   /* first position at which each row has its own keys */
    struct tensor *place;   /* position of the token read now; the last one if the pass reads several */
    struct tensor *limit;   /* max tokens to generate, at least 1 */
    /* A pass may read several tokens per row.  Its steps then share the logits: those of a request begin in row
     * first[i], with reads[i] of them for each row.  The step uses the logits `ahead` tokens after the newest one, of
     * the row at the start of the pass.  NULL: logits are [n W, V]. */
    struct tensor *first, *reads;
    int ahead;
};

/* The tokens that a pass reads: the newest of each row and some forced tokens after it (jump-forward decoding).  All
 * tensors are I32 [T] on the device. */
struct decode_read {
    struct tensor *row;   /* row of the state; -1: padding */
    struct tensor *ahead; /* 0: the newest token; j: the j-th token after it */
    struct tensor *place, *cache_row;
};

/* n requests that begin.  All tensors are on the device. */
struct decode_start {
    struct tensor *request, *token, *state; /* I32 [n] request -1: padding; token: the first that a step reads */
    struct tensor *key;                     /* I32 [n, 2] */
    struct tensor *length;                  /* I32 [n] number of prompt tokens in the cache */
    struct tensor *rows;                    /* I32 [n, longest] their cache rows; padded with any values */
};

#ifdef __cplusplus
}
#endif
#endif
