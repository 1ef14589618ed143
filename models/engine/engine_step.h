/*
 * engine_step.h - the steps of the engine on the device: encode sources, start requests, prefill prompts, decode.
 *
 * Each step covers all active requests. engine.c admits requests and calls the steps in this order. Functions return
 * -1 with EXIT_CODE_MEMORY. The *_bytes functions measure the largest step of a kind without running it.
 */
#ifndef MODELS_ENGINE_ENGINE_STEP_H
#define MODELS_ENGINE_ENGINE_STEP_H

#include "kernels/workspace.h"
#include "models/engine/engine.h"

/* A request that has its pages. The keys of its prompt, without the last token, have places 0 .. fixed - 1 in the
 * first pages. The keys of row i's tokens, from place `fixed` on, lie in that row's `own` pages. */
struct active_request {
    struct engine_request *of;
    int32_t slot; /* its request number in the state */
    int32_t *pages;
    int64_t fixed, prompt_pages, own, n_pages; /* n_pages = prompt_pages + width * own */
    int64_t filled;                            /* prompt keys that are computed */
    int64_t step, limit;                       /* tokens generated; max tokens */
    int64_t run;                               /* forced tokens that follow in every row, see op_forced_runs */
    int64_t reads; /* tokens that each row reads in the next step: the newest and forced ones */
    bool started;  /* the state knows the request */
};

/* Starts new requests in the state; prefills some prompt tokens; decodes one token or more in each row. */
int engine_start(struct engine *e, struct error *err);
int engine_fill(struct engine *e, struct error *err);
/* Computes the keys and values of the sources of new requests, for an encoder-decoder. */
int engine_encode(struct engine *e, struct error *err);
struct workspace_bytes engine_encode_bytes(struct engine *e);
int engine_decode(struct engine *e, struct error *err);
bool engine_filled(const struct engine *e);
/* Reads the number of forced tokens that follow in each row, if requests are constrained. */
void engine_ask_runs(struct engine *e);
/* Bytes of the largest step of each kind. */
struct workspace_bytes engine_fill_bytes(struct engine *e);
struct workspace_bytes engine_decode_bytes(struct engine *e);

#endif
