/*
 * engine.h - answers to many prompts at once: greedy, drawn, or by beams, over a cache of pages.
 *
 * Requests join when there are pages for all that they may say, and leave when they are done.  A prompt's keys are
 * computed once for all prompts that begin alike (in whole pages), its last token is read by every row of the request;
 * from then on each step reads one token a row.  Words, scores and tables stay on the device, the host knows lengths.
 * Rows of several adapters share a step; prompts are read by one adapter a step, and share keys with those of its own.
 * What a request says does not depend on its company, nor on the order of the list, bit for bit.
 */
#ifndef MODELS_ENGINE_ENGINE_H
#define MODELS_ENGINE_ENGINE_H

#include "kernels/beams.h"
#include "kernels/workspace.h"
#include "models/engine/automaton.h"
#include "models/engine/pages.h"
#include "models/lm/llama_model.h"

struct engine_request;
struct engine_settings {
    int64_t max_new;           /* tokens an answer has at most, at least 1 */
    int answers;               /* to each prompt, at least 1; at most `beams` where there are any */
    int beams;                 /* of beam search, at least 2; 1: each answer is drawn */
    struct beam_settings beam; /* stops and norm are the engine's */
    struct draw_settings draw; /* stops are the engine's */
    int keep;                  /* the likeliest tokens of each step that answers come with; 0: none */
    enum normalise normalise;  /* of beams' scores */
    bool one_by_one;           /* tokens without a choice are read one a step, as others: the same answers, later */
    int64_t batch;             /* requests at once; halved, with a warning, where their cache does not fit */
    int64_t step_tokens;       /* of prompts in a step, about */
    int (*stop)(void);         /* asked after every step: not 0 ends the run; NULL: it goes to its end */
    /* Of draws, asked now and then, with engine_run's arg: is what a row has said so far enough?  A request all of
     * whose rows have ended or said enough is done.  What they say until that is noticed is part of their answers;
     * NULL: only tokens and lengths end them. */
    bool (*enough)(void *arg, const struct engine_request *r, int row, const int32_t *said, int64_t n);
};

/* Of all settings that answers depend on. */
uint64_t engine_settings_key(const struct engine_settings *s);

struct engine_answer {
    struct ids out;               /* without the token that stopped it */
    int32_t last;                 /* the token of the last step, which may be that one */
    bool stopped;                 /* by a stop token; else by max_new, or the model's positions */
    double score, logp;           /* what answers are ordered by; sum of log p, of the stop token too */
    int64_t steps;                /* tokens, with the one that stopped it */
    float *step_logp, *best_logp; /* [steps] of each; [steps, keep] of the best */
    int32_t *best;                /* [steps, keep] the likeliest, -1 where there were fewer; NULL without keep */
};

struct engine_request {
    const int32_t *prompt; /* 1 to max_positions - 1 tokens */
    int64_t n_prompt;
    uint64_t key;          /* of its random numbers */
    const int32_t *source; /* what an encoder-decoder reads, whose prompt is the start token; NULL: a decoder's */
    int64_t n_source;
    const struct automaton_host *constraint; /* on what it may say; NULL: none */
    int adapter;                             /* as llama_model_adapter numbers them */
    struct engine_answer *answers;           /* of settings.answers; the best first, or in the order of the draws */
    int n_answers;                           /* how many there are: fewer than asked where no others exist */
    bool done;                               /* the engine's to set, before it calls after_step: they are there */
};

struct engine {
    struct llama_model *model;
    struct workspace *work;
    struct engine_settings set;
    int width;    /* rows of a request */
    uint64_t tag; /* of settings, and of where cache and state lie: what steps depend on beside shapes */
    int unasked;  /* steps since the device told what is done */
    struct kv_cache cache;
    struct engine_sources {
        struct kv_cache cache; /* of what an encoder-decoder reads: the longest source's rows for each request */
        struct tensor *table;  /* I32 [requests, longest] where they lie */
    } sources;
    struct decode_state state;
    struct pages pages;
    struct arena host, data, table_host, table_data; /* of cache and state; of tables */
    int64_t steps;                                   /* columns of the state's logs */
    struct active_request *active;
    int32_t *slots; /* free requests of the state */
    int64_t n_active, n_slots;
    struct engine_held {
        const struct engine_request *of;
        int32_t *pages;
        int64_t n;
    } held;                     /* whole pages of the prompt that came last, which the next may share */
    struct automaton automaton; /* of all requests of the run, where any are bound */
    struct engine_table {
        const struct automaton_host *of;
        int32_t start;
    } * tables;
    int64_t n_tables, cap_tables;
    int64_t done, tokens; /* finished requests, and tokens of their answers, since the start */
};

/* Borrows model and workspace; memory for the cache is taken when a run needs it. */
void engine_init(struct engine *e, struct llama_model *model, struct workspace *work,
                 const struct engine_settings *set);
void engine_release(struct engine *e);

/* Fills the answers of all n; the caller gives each request room for set.answers of them and releases them.  Those that
 * begin alike are done one after another, else the first of the list before the last, of each adapter.
 * `after_step`, when not NULL, is called after every step.  1 when it was stopped, with some answers unfinished. */
int engine_run(struct engine *e, struct engine_request *list, int64_t n, void (*after_step)(void *arg), void *arg,
               struct error *err);
void engine_answer_release(struct engine_answer *a);
/* A request for answers to that prompt, whichever form the model has; ids, and the model, are borrowed. */
struct engine_request engine_ask(const struct llama_model *m, const int32_t *ids, int64_t n);

/* The tokens that end an answer; returns how many. */
enum { ENGINE_MAX_STOPS = LM_MAX_STOPS + 1 };
int engine_stops(const struct llama_model *m, int32_t stops[ENGINE_MAX_STOPS]);

/* What engine_run would take for the same list: bytes of the cache and the state, and of the largest step.  The model
 * may be a dry one; nothing runs. */
int engine_measure(struct engine *e, struct engine_request *list, int64_t n, size_t *cache, size_t *step,
                   struct error *err);

#endif
