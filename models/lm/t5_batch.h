/*
 * t5_batch.h - prompts and answers of an encoder-decoder packed one after another, and how badly it predicts the
 * answers.
 */
#ifndef MODELS_LM_T5_BATCH_H
#define MODELS_LM_T5_BATCH_H

#include "models/net/t5.h"

/* The sequences of one side, one after another. */
struct token_pack {
    int32_t *ids, *lengths;
    int64_t n_tokens, n_seqs, cap_ids, cap_lengths;
};

/* Start as { 0 }.  Sequence i of `answer` answers sequence i of `source`; it begins with the start token, and at each
 * of its tokens the next is to be predicted: targets[answer.n_tokens]. */
struct t5_batch {
    struct token_pack source, answer;
    int32_t *targets;
    int64_t cap_targets;
};

void t5_batch_clear(struct t5_batch *b);
void t5_batch_release(struct t5_batch *b);
/* Appends a text of n tokens, which is a prompt and, where answer[k] first is not 0, its answer to the end. */
void t5_batch_add(struct t5_batch *b, const struct t5_config *g, const int32_t *ids, const uint8_t *answer, int64_t n);
/* Adds, behind all texts, tokens and sequences that weigh nothing, up to sizes that come again (batch_bucket); their
 * targets are -1. */
void t5_batch_pad(struct t5_batch *b);

/* Logits at every token of the answers, F32 [answer.n_tokens, vocab]. */
struct tensor *t5_batch_logits(struct ctx *c, const struct t5 *net, const struct t5_batch *b);
/* -log p of every target, 0 where it is -1, F32 [answer.n_tokens]. */
struct tensor *t5_batch_nll(struct ctx *c, const struct t5 *net, const struct t5_batch *b);

#endif
