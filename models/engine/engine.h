/*
 * engine.h - continuous batching: completes many prompts at once, greedily, by sampling or by beam search.
 *
 * Keys and values lie in pages. A request is admitted when all pages that it may need are free, and leaves when it
 * is done. Whole pages of a common prefix are computed once and shared by the prompts that begin with it. All rows
 * of a request read the prompt's last token; after that, each step reads one token per row. Tokens, scores and
 * automata stay on the device; the host only knows lengths.
 * Rows of several adapters share a decoding step. A prefill step reads prompts of one adapter, and pages are shared
 * within an adapter. A request's completions do not depend on other requests or on their order, bit for bit.
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
    int64_t max_new;           /* max tokens of a completion, at least 1 */
    int answers;               /* completions of a prompt, at least 1; with beams, at most `beams` */
    int beams;                 /* beams of beam search, at least 2; 1: sampling */
    struct beam_settings beam; /* the engine sets stops and norm */
    struct draw_settings draw; /* the engine sets stops */
    int keep;                  /* number of top tokens to return for each step; 0: none */
    enum normalise normalise;  /* of beam scores */
    bool one_by_one;     /* disables jump-forward decoding: forced tokens take a step each; same completions, slower */
    int64_t batch;       /* requests at once; halved with a warning if their cache does not fit */
    int64_t step_tokens; /* approximate number of prompt tokens in a step */
    int (*stop)(void);   /* called after each step; non-zero ends the run; NULL: never */
    /* For sampling: called every few steps with engine_run's arg. Returns whether the n tokens of a row suffice. A
     * request ends when all its rows have ended or suffice; tokens generated until then are kept. NULL: not used. */
    bool (*enough)(void *arg, const struct engine_request *r, int row, const int32_t *said, int64_t n);
};

/* Hash of all settings that completions depend on. */
uint64_t engine_settings_key(const struct engine_settings *s);

struct engine_completion {
    struct ids out;               /* without the stop token */
    int32_t last;                 /* token of the last step, possibly a stop token */
    bool stopped;                 /* by a stop token, not by max_new or the model's positions */
    double score, logp;           /* score: sorts the completions; logp: sum of log p, with the stop token */
    int64_t steps;                /* number of tokens, with the stop token */
    float *step_logp, *best_logp; /* [steps]; best_logp: [steps, keep] */
    int32_t *best;                /* [steps, keep] top tokens, -1 if there were fewer; NULL without keep */
};

struct engine_request {
    const int32_t *prompt; /* 1 to max_positions - 1 tokens */
    int64_t n_prompt;
    uint64_t key;          /* seed of its random numbers */
    const int32_t *source; /* source of an encoder-decoder, whose prompt is the start token; or NULL */
    int64_t n_source;
    const struct automaton_host *constraint; /* allowed completions; NULL: all */
    int adapter;                             /* number from llama_model_adapter */
    struct engine_completion *answers;       /* [settings.answers] best first, or in the order of the samples */
    int n_answers;                           /* number of completions; smaller if no more exist */
    bool done; /* set by the engine before it calls after_step: the completions are there */
};

struct engine {
    struct llama_model *model;
    struct workspace *work;
    struct engine_settings set;
    int width;    /* rows of a request */
    uint64_t tag; /* hash of settings and addresses, on which captured graphs depend besides shapes */
    int unasked;  /* steps since the host last asked the device */
    struct kv_cache cache;
    struct engine_sources {
        struct kv_cache cache; /* keys and values of sources; each request has the rows of the longest source */
        struct tensor *table;  /* I32 [requests, longest] their rows */
    } sources;
    struct decode_state state;
    struct pages pages;
    struct arena host, data, table_host, table_data; /* host and data: cache and state; table_*: automata */
    int64_t steps;                                   /* columns of the state's logs */
    struct active_request *active;
    int32_t *slots; /* free slots of the state */
    int64_t n_active, n_slots;
    struct engine_prefix {
        const struct engine_request *of;
        int32_t *pages;
        int64_t n;
    } prefix;                   /* cached prefix: whole pages of the newest prompt, which the next may share */
    struct automaton automaton; /* all automata of the run */
    struct engine_table {
        const struct automaton_host *of;
        int32_t start;
    } * tables;
    int64_t n_tables, cap_tables;
    int64_t done, tokens; /* finished requests and their tokens, since engine_init */
};

/* Borrows model and workspace. engine_run takes the memory of the cache. */
void engine_init(struct engine *e, struct llama_model *model, struct workspace *work,
                 const struct engine_settings *set);
void engine_release(struct engine *e);

/* Completes all n prompts. The caller provides and releases each request's answers. Prompts with a common prefix are
 * completed one after another; the order is otherwise that of the list, for each adapter. after_step (or NULL) is
 * called after each step. Returns 1 if `stop` ended the run with unfinished requests, -1 with EXIT_CODE_MEMORY. */
int engine_run(struct engine *e, struct engine_request *list, int64_t n, void (*after_step)(void *arg), void *arg,
               struct error *err);
void engine_completion_release(struct engine_completion *a);
/* Returns a request for completions of n tokens, as prompt or as source, by the model's architecture. Borrows ids
 * and model. */
struct engine_request engine_ask(const struct llama_model *m, const int32_t *ids, int64_t n);

/* Writes the tokens that end a completion and returns their number. */
enum { ENGINE_MAX_STOPS = LM_MAX_STOPS + 1 };
int engine_stops(const struct llama_model *m, int32_t stops[ENGINE_MAX_STOPS]);

/* Measures engine_run for the list without running it: bytes of cache and state, and bytes of the largest step. The
 * model may be a dry one. */
int engine_measure(struct engine *e, struct engine_request *list, int64_t n, size_t *cache, size_t *step,
                   struct error *err);

#endif
