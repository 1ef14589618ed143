/*
 * llama_generate.h - text from a language model: many prompts at once over a cache of keys and values.
 *
 * Sequences join and leave the batch at any step: one step reads whole prompts of those that join and one token of
 * each that is under way.  Each takes a stretch of cache rows for its prompt and its answer and gives it back at its
 * end.  What a sequence says does not depend on its company but for rounding: random numbers are drawn by its own key.
 */
#ifndef MODELS_LM_LLAMA_GENERATE_H
#define MODELS_LM_LLAMA_GENERATE_H

#include "kernels/workspace.h"
#include "models/lm/llama_model.h"

struct generate_settings {
    int64_t max_new;    /* tokens, at least 1 */
    double temperature; /* 0: the likeliest token */
    double top_p;       /* draw from the fewest tokens that hold this much probability; 1: all */
    uint64_t seed;
    int64_t batch;       /* sequences at once; halved, with a warning, where their cache does not fit */
    int64_t step_tokens; /* prompts join while a step has no more tokens than this */
    int (*stop)(void);   /* asked after every step: not 0 ends the run; NULL: it goes to its end */
};

enum generation_end { GENERATION_STOP, GENERATION_LENGTH };

struct generation {
    const int32_t *prompt;
    int64_t n_prompt;
    uint64_t key;            /* of its random numbers */
    struct ids out;          /* the answer, without the token that stopped it; the caller releases */
    enum generation_end end; /* LENGTH: max_new, or the model's positions, ran out */
};

struct generator {
    struct llama_model *model;
    struct workspace *work;
    struct generate_settings set;
    struct llama_cache cache;
    struct arena cache_host, cache_data;
    struct active_sequence *active;
    int n_active;
    int64_t done, tokens; /* finished sequences and tokens generated since the start */
};

/* Borrows model and workspace; memory for the cache is taken when a run needs it. */
void generator_init(struct generator *g, struct llama_model *model, struct workspace *work,
                    const struct generate_settings *set);
void generator_release(struct generator *g);

/*
 * Fills out and end of all n.  A prompt has 1 to max_positions - 1 tokens.  `after_step`, when not NULL, is called
 * after every step.  1 when it was stopped, with some answers unfinished.
 */
int generator_run(struct generator *g, struct generation *list, int64_t n, void (*after_step)(void *arg), void *arg,
                  struct error *err);

/* What generator_run would take at first for the same texts: bytes of the cache, and of the first step.  The model may
 * be a dry one; nothing runs. */
int generator_measure(struct generator *g, struct generation *list, int64_t n, size_t *cache, size_t *step,
                      struct error *err);

#endif
