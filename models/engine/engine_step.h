/* engine_step.h - the steps of the engine on the device: sources, prompts and samples of requests under way. */
#ifndef MODELS_ENGINE_ENGINE_STEP_H
#define MODELS_ENGINE_ENGINE_STEP_H

#include "kernels/workspace.h"
#include "models/engine/engine.h"

/*
 * A request that has its pages.  The prompt's keys, all but its last token's, have the places 0 .. fixed - 1 and lie in
 * the first of the pages in order; those of row i's own tokens from place `fixed` on lie in its `own` pages.
 */
struct active_request {
    struct engine_request *of;
    int32_t slot; /* its request in the state */
    int32_t *pages;
    int64_t fixed, prompt_pages, own, n_pages; /* n_pages: prompt_pages + width own */
    int64_t filled;                            /* keys of the prompt that are there */
    int64_t step, limit;                       /* tokens said, and to be said at most */
    int64_t run;                               /* tokens that follow every row without a choice, see op_forced_runs */
    int64_t reads;                             /* tokens a row of the next step: the newest, and some of those */
    bool started;                              /* the state knows it */
};

/* What came is told to the device; a step over some of the prompts' tokens; whether all have been read; and one over a
 * token of each row. */
int engine_start(struct engine *e, struct error *err);
int engine_fill(struct engine *e, struct error *err);
/* Reads the sources of those that come, before they start. */
int engine_encode(struct engine *e, struct error *err);
struct workspace_bytes engine_encode_bytes(struct engine *e);
int engine_decode(struct engine *e, struct error *err);
bool engine_filled(const struct engine *e);
/* How many tokens without a choice the rows have before them, which the device is asked where something binds them. */
void engine_ask_runs(struct engine *e);
/* Bytes of such steps. */
struct workspace_bytes engine_fill_bytes(struct engine *e);
struct workspace_bytes engine_decode_bytes(struct engine *e);

#endif
