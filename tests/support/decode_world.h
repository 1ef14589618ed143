/*
 * decode_world.h - a few requests under way on a device, for tests of the ops of kernels/beams.h by hand.
 */
#ifndef TESTS_DECODE_WORLD_H
#define TESTS_DECODE_WORLD_H

#include "kernels/beams.h"
#include "tests/support/step.h"

enum { WORLD_PROMPT = 3, DECODE_START_TOKEN = 1 };

struct decode_world {
    struct test_step step;
    struct decode_state s;
    int requests, steps;
};

/* Every number of the state is `junk` until a request starts; best: how many candidates are kept a step, or 0. */
void decode_world_open(struct decode_world *w, int requests, int width, int steps, int best, int32_t junk);
/* No byte behind a block was written. */
void decode_world_close(struct decode_world *w);
/* Starts the n requests, -1 among them being padding: key {request, 77}, state as given, places 0 .. WORLD_PROMPT - 1
 * of the prompt in rows 1000 request + place. */
void decode_world_start(struct decode_world *w, const int32_t *request, int n, int32_t state, bool beams);
/* The input of a step of these requests.  Each of their rows and steps has its own row of the cache. */
struct decode_step decode_world_step(struct decode_world *w, const int32_t *request, int n, int step, int limit);
/* The tokens that the step behind `said` others reads, checked; the caller frees. */
int32_t *decode_world_next(struct decode_world *w, const int32_t *request, int n, int said);
/* The cache row in which a row's token of a step lies. */
int32_t decode_world_cache_row(int request, int row, int step);

/* The words or numbers of a tensor; the caller frees. */
int32_t *decode_world_words(struct decode_world *w, const struct tensor *t);
/* Logits of gold/make_decode.py. */
float decode_logit(const char *name, int64_t i);

/* An answer in slot row of a request, its tokens in `tokens`; returns how many, 0: none. */
int decode_world_answer(struct decode_world *w, int request, int slot, int32_t *tokens, float *score, double *logp);

#endif
