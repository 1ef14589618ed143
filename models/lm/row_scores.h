/*
 * row_scores.h - next-token probabilities of a few texts that grow by one token per call, for a search on the host.
 *
 * The search may continue any text, several times or not at all. A text is recognised by its tokens: each must be a
 * text of the last call plus one token, so that its keys and values are cached. Constraints and scores belong to the
 * search. The engine (models/engine/engine.h) is faster if the search can run on the device.
 */
#ifndef MODELS_LM_ROW_SCORES_H
#define MODELS_LM_ROW_SCORES_H

#include "kernels/workspace.h"
#include "models/lm/llama_model.h"

struct row_scores {
    struct llama_model *model;
    struct workspace *work;
    int32_t start;        /* first token of all texts: an encoder-decoder's start token, else the prompt's last token */
    int64_t fixed;        /* prompt keys that all texts read, of a decoder */
    int64_t n_source;     /* tokens of an encoder-decoder's source */
    int64_t n_vocabulary; /* numbers of a row */
    int64_t rows, keys;   /* max texts; max keys of each */
    struct kv_cache cache, source;
    struct arena host, data;   /* of both caches */
    int32_t *table, *was;      /* [rows, keys] cache rows of the keys; `was`: of the last call */
    int32_t *texts;            /* [rows, keys] texts of the last call */
    int64_t n_texts, n_tokens; /* number of texts, and their length */
};

/* Reads a prompt of n tokens. Up to `rows` texts may have up to max_length tokens with the start token, limited by
 * the model's positions. Borrows model and workspace. -1 with EXIT_CODE_MEMORY. The caller releases s either way. */
int row_scores_open(struct row_scores *s, struct llama_model *model, struct workspace *work, const int32_t *prompt,
                    int64_t n, int rows, int64_t max_length, struct error *err);
void row_scores_release(struct row_scores *s);
/* Max tokens of a text. */
int64_t row_scores_limit(const struct row_scores *s);

/* Log-probabilities [n, n_vocabulary] of the token after each of n texts of `length` tokens. -1 with
 * EXIT_CODE_MEMORY. */
int row_scores_next(struct row_scores *s, double *logp, const int32_t *const *texts, int n, int length,
                    struct error *err);

#endif
