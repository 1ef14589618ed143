/*
 * lm_gold.h - the small language models of tests/gold/make_llama.py and make_gemma.py in memory, weights by formula.
 */
#ifndef TESTS_LM_GOLD_H
#define TESTS_LM_GOLD_H

#include "kernels/workspace.h"
#include "models/lm/llama_model.h"
#include "models/lm/lm_batch.h"
#include "tests/support/support.h"

#include <jansson.h>

enum lm_part { LM_FROZEN, LM_FULL, LM_ADAPTER /* trained: nothing, every weight, the adapter */ };

struct lm_gold {
    struct device device; /* the one that test_devices is at */
    struct workspace work;
    struct llama_model model;
    const char *tag;
};

/* tests/gold/llama.json with the models of gemma.json, the caller's. */
json_t *lm_gold_read(void);
/* Tag of the i-th model, or NULL after the last one; borrowed. */
const char *lm_gold_tag(const json_t *file, int i);
/* Record of a model in it, borrowed. */
const json_t *lm_gold_case(const json_t *file, const char *tag);

void lm_gold_open(struct lm_gold *g, const json_t *record, enum lm_part part, enum dtype dtype);
void lm_gold_close(struct lm_gold *g);
/* The formulas' numbers into all parameters, zeros into gradients and moments. */
void lm_gold_fill(struct lm_gold *g, struct params *p);

/* Sequences of the model's tag, ids and answers by formula; the caller releases. */
void lm_gold_batch(struct llama_batch *b, const char *tag);
/* Logits of every row of the batch, F32 [T, vocab]. */
struct tensor *lm_gold_logits(struct ctx *c, const struct llama *net, const struct llama_batch *b);
/* Runs forward and backward of the mean -log p of the answers, which it returns; gradients are added up. */
double lm_gold_backward(struct lm_gold *g, const struct llama_batch *b);
/* A copy of every parameter's gradient, the caller's; how far those of now are from it, of the largest number in it. */
float **lm_gold_gradients(const struct lm_gold *g);
double lm_gold_gradients_apart(const struct lm_gold *g, float *const *before);

/* A new folder (test_dir_new) with links to the files of gold/llama/base and a tokenizer beside them. */
char *lm_gold_base_new(void);

#endif
