/*
 * row_scores.h - how likely each token is behind each of a few texts that grow by a token a call, for a search that the
 * host makes: it may go on with whichever texts it likes, twice or not at all.
 *
 * A text is known again by its tokens: what is asked for must be a text of the last call and one token behind it, whose
 * keys and values are then in the cache already.  What may follow, and how answers are counted, is the search's own;
 * the engine (models/engine/engine.h) is faster where the device can tell.
 */
#ifndef MODELS_LM_ROW_SCORES_H
#define MODELS_LM_ROW_SCORES_H

#include "kernels/workspace.h"
#include "models/lm/llama_model.h"

struct row_scores {
    struct llama_model *model;
    struct workspace *work;
    int32_t start;        /* what each text begins with: the start of an encoder-decoder's answers, else the prompt's
                             last token */
    int64_t fixed;        /* keys of the prompt that all texts read, of a decoder */
    int64_t n_source;     /* tokens that an encoder-decoder reads */
    int64_t n_vocabulary; /* numbers of a row */
    int64_t rows, keys;   /* texts at most, and keys of each */
    struct kv_cache cache, source;
    struct arena host, data;   /* of both */
    int32_t *table, *was;      /* [rows, keys] where in the cache they lie; of the last call */
    int32_t *texts;            /* [rows, keys] the last call's */
    int64_t n_texts, n_tokens; /* how many, and of how many tokens */
};

/* Reads a prompt of n tokens; up to `rows` texts of up to max_length tokens with the start, fewer where the model's
 * positions end.  Borrows model and workspace.  -1 with EXIT_CODE_MEMORY; release either way. */
int row_scores_open(struct row_scores *s, struct llama_model *model, struct workspace *work, const int32_t *prompt,
                    int64_t n, int rows, int64_t max_length, struct error *err);
void row_scores_release(struct row_scores *s);
/* Tokens that a text may have. */
int64_t row_scores_limit(const struct row_scores *s);

/* Log-probabilities [n, n_vocabulary] of the token behind each of n texts of so many tokens.  -1 with
 * EXIT_CODE_MEMORY. */
int row_scores_next(struct row_scores *s, double *logp, const int32_t *const *texts, int n, int length,
                    struct error *err);

#endif
