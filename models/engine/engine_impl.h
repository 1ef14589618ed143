/* engine_impl.h - what the parts of engine.h share: requests under way, their admission, steps and answers. */
#ifndef MODELS_ENGINE_ENGINE_IMPL_H
#define MODELS_ENGINE_ENGINE_IMPL_H

#include "kernels/batch.h"
#include "kernels/paged.h"
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

/* Tokens that a request may say. */
int64_t engine_limit(const struct engine *e, const struct engine_request *r);
/* Pages that it needs when it shares none. */
int64_t engine_pages(const struct engine *e, const struct engine_request *r);
/* The list in the order of admission: of each adapter, prompts that share pages stand together, where the first of them
 * came.  The caller frees. */
struct engine_request **engine_order(struct engine_request *list, int64_t n);

/* Takes a slot and pages; false where there are too few. */
bool engine_admit(struct engine *e, struct engine_request *r);
void engine_leave(struct engine *e, struct active_request *a);
/* Gives up what is held for the next prompt. */
void engine_forget_held(struct engine *e);

/* The cache row of a request's key: of the prompt, and of what a row says. */
int32_t engine_prompt_row(const struct active_request *a, int64_t place);
int32_t engine_own_row(const struct active_request *a, int64_t row, int64_t place);

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

/* Units of attention, see paged.h. */
struct unit_list {
    struct paged_unit *items;
    int64_t n, cap;
    int64_t max_queries, max_chunks;
};
void units_add(struct unit_list *l, struct paged_unit u);
/* Of a decoding step over all that is active, with parts [tokens + 1]. */
void engine_decode_units(const struct engine *e, struct unit_list *l, int32_t *parts);

/* The tables of all requests of a run, before it, and the state in which one of them begins. */
int engine_load_tables(struct engine *e, const struct engine_request *list, int64_t n, struct error *err);
void engine_release_tables(struct engine *e);
int32_t engine_start_state(const struct engine *e, const struct engine_request *r);

/* Reads the answers of a request that is done. */
void engine_read_answers(struct engine *e, struct active_request *a);

#endif
