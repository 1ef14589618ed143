/*
 * decode_state.h - what the rows of requests under way are between the steps of decoding, and what a step is told.
 *
 * What rows said, how likely it was and where their keys lie stays on the device, row W r + i being row i of request r;
 * the host uploads places and lengths alone, and reads answers when they are done.  Words are logged by the step and
 * the row that said them with the row that it went on from, so that beams which change rows copy no text: an answer is
 * walked back from its end.
 */
#ifndef KERNELS_DECODE_STATE_H
#define KERNELS_DECODE_STATE_H

#include "kernels/op_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BEAMS_MAX = 64 };
#define NO_ANSWER (-1e9f) /* end_score of a slot without answer, as in transformers: none that is less is taken */

/*
 * R requests of W rows each.  An answer that ended after step t (from 0) is its last token and, going back from t - 1
 * and row i = end_row, said[i][t-1], then that of row parent[i][t-1] at t - 2, and so on.
 */
struct decode_state {
    int width;                    /* W, at most BEAMS_MAX */
    struct tensor *token;         /* I32 [R W] the newest, which the next step reads */
    struct tensor *state;         /* I32 [R W] of the automaton */
    struct tensor *score;         /* F32 [R W] sum of log p; -infinity: the row holds nothing */
    struct tensor *table;         /* I32 [R W, keys], see paged.h */
    struct tensor *key;           /* I32 [R, 2] of the request's random numbers */
    struct tensor *said, *parent; /* I32 [R W, steps] */
    struct tensor *logp;          /* F32 [R W, steps] of said, over the vocabulary or what was allowed */
    struct tensor *end_step;      /* I32 [R W] of the answer in this slot; -1: none yet */
    struct tensor *end_row, *end_token, *end_stop; /* I32 [R W] end_stop 0: the limit ended it; see op_draw for -1 */
    struct tensor *end_logp, *end_score;           /* F32 [R W] of the last token, and what answers are ordered by */
    struct tensor *done;                           /* I32 [R] 1: nothing that comes can change its answers */
    struct tensor *run;                            /* I32 [R] see op_forced_runs; NULL where nothing binds the rows */
    struct tensor *best_id, *best_logp; /* I32, F32 [R W, steps K] what op_keep_candidates kept, by step; or NULL */
};

/* A step of n requests, their rows one after another in ids and logits.  All I32 [n] on the device. */
struct decode_step {
    struct tensor *request; /* -1: padding, of which nothing is written */
    struct tensor *step;    /* tokens said before */
    struct tensor *fixed;   /* the first place that each row has keys of its own for */
    struct tensor *place;   /* of the token now read; where the pass reads several, of the last */
    struct tensor *limit;   /* tokens it may say, at least 1 */
    /* Where a pass has read several tokens a row, its steps follow one another on the same logits: those of a request
     * begin in row first[i], reads[i] of them a row, and the step goes by the one `ahead` from the newest, of the row
     * that the row was when the pass began.  NULL: logits are [n W, V]. */
    struct tensor *first, *reads;
    int ahead;
};

/* The tokens that a pass reads: each row's newest, and of those behind it that follow without a choice as many as the
 * pass reads at once.  All I32 [T] on the device. */
struct decode_read {
    struct tensor *row;   /* of the state; -1: padding */
    struct tensor *ahead; /* 0: the newest token; j: the j-th behind it */
    struct tensor *place, *cache_row;
};

/* Requests that begin.  n of them; all on the device. */
struct decode_start {
    struct tensor *request, *token, *state; /* I32 [n] request -1: padding; the token that the first step reads */
    struct tensor *key;                     /* I32 [n, 2] */
    struct tensor *length;                  /* I32 [n] places of the prompt that are in the cache */
    struct tensor *rows;                    /* I32 [n, longest] where; filled up with anything */
};

#ifdef __cplusplus
}
#endif
#endif
