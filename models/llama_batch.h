/*
 * llama_batch.h - tokenised texts packed one after another, and how badly a model predicts their answers.
 */
#ifndef MODELS_LLAMA_BATCH_H
#define MODELS_LLAMA_BATCH_H

#include "models/llama.h"

/* Start as { 0 }.  Rows are the positions whose next token is the answer's, targets those tokens. */
struct llama_batch {
    int32_t *ids, *positions, *lengths, *rows, *targets, *row_counts;
    int64_t n_tokens, n_seqs, n_rows;
    int64_t cap_ids, cap_positions, cap_lengths, cap_rows, cap_targets, cap_row_counts;
};

void llama_batch_clear(struct llama_batch *b);
void llama_batch_release(struct llama_batch *b);
/* Appends a text of n tokens; answer[k] says whether token k is one to be predicted.  The first never is: nothing
 * stands before it. */
void llama_batch_add(struct llama_batch *b, const int32_t *ids, const uint8_t *answer, int64_t n);

/* -log p of every target, F32 [n_rows], in the order of the batch. */
struct tensor *llama_batch_nll(struct ctx *c, const struct llama *net, const struct llama_batch *b);

#endif
