/*
 * lm_batch.h - texts packed one after another for either form of language model: decoders read prompt and answer as one
 * sequence, encoder-decoders as a pair.
 */
#ifndef MODELS_LM_LM_BATCH_H
#define MODELS_LM_LM_BATCH_H

#include "models/lm/llama_batch.h"
#include "models/lm/llama_model.h"
#include "models/lm/t5_batch.h"

/* Start as { 0 }.  The model says which of the two is filled. */
struct lm_batch {
    struct llama_batch texts;
    struct t5_batch pairs;
};

void lm_batch_clear(struct lm_batch *b);
void lm_batch_release(struct lm_batch *b);
/* n texts; shared: what those of a decoder begin with in common is computed once, and they are sorted. */
void lm_batch_add(struct lm_batch *b, const struct llama_model *m, struct llama_text *texts, int64_t n, bool shared);
/* Up to sizes that come again, as llama_batch_pad and t5_batch_pad. */
void lm_batch_pad(struct lm_batch *b, const struct llama_model *m);
/* Tokens that are read; places whose next token is an answer's; how many of these each text has. */
int64_t lm_batch_tokens(const struct lm_batch *b);
int64_t lm_batch_rows(const struct lm_batch *b);
const int32_t *lm_batch_row_counts(const struct lm_batch *b);

/* Logits at those places, F32 [rows, vocab]; -log p of what stands there, F32 [rows], 0 where lm_batch_pad added it.
 * adapter: as llama_model_net has it. */
struct tensor *lm_batch_logits(struct ctx *c, const struct llama_model *m, int adapter, const struct lm_batch *b);
struct tensor *lm_batch_nll(struct ctx *c, const struct llama_model *m, int adapter, const struct lm_batch *b);

#endif
