/*
 * llama_batch.h - tokenised texts packed one after another, and how badly a model predicts their answers.
 */
#ifndef MODELS_LM_LLAMA_BATCH_H
#define MODELS_LM_LLAMA_BATCH_H

#include "models/net/llama.h"

/*
 * Start as { 0 }.  Rows are the positions whose next token is the answer's, targets those tokens.  A text that begins
 * as others do may be several sequences, the nodes of a tree of token prefixes from its root to a leaf: what many
 * share, what fewer of these share beyond, at last what is its own.  Attention knows of one prefix for a sequence, so a
 * node below the root that others go on from is followed by a sequence without tokens, whose keys are copies of those
 * of all nodes down to it, and these others have that as their prefix.
 */
struct llama_batch {
    int32_t *ids, *positions, *lengths, *rows, *targets, *row_counts;
    int32_t *prefix; /* [n_seqs] the sequence that this one goes on from, -1: none */
    int32_t *copied; /* [n_seqs] keys that are copies, in a sequence without tokens; 0: its keys are its tokens' */
    int32_t *copies; /* [n_copies] the rows that these are copies of, one sequence's after another's */
    int64_t n_tokens, n_seqs, n_rows, n_copies;
    int64_t cap_ids, cap_positions, cap_lengths, cap_rows, cap_targets, cap_row_counts, cap_prefix, cap_copied;
    int64_t cap_copies;
};

/* A tokenised text: n tokens, and for each whether it is one to be predicted. */
struct llama_text {
    const int32_t *ids;
    const uint8_t *answer;
    int64_t n;
};

/* By ids, for qsort. */
int llama_text_compare(const void *a, const void *b);
/* How many tokens two texts may share: what they begin with alike, less the last token before either's answer. */
int64_t llama_text_common(const struct llama_text *a, const struct llama_text *b);

void llama_batch_clear(struct llama_batch *b);
void llama_batch_release(struct llama_batch *b);
/* Appends a text of n tokens; answer[k] says whether token k is one to be predicted.  The first never is: nothing
 * stands before it. */
void llama_batch_add(struct llama_batch *b, const int32_t *ids, const uint8_t *answer, int64_t n);

/* The same for n texts in the order of their ids (they are sorted): those that begin alike, or go on alike after what
 * they share with more, with at least `least` tokens before any of their answers share what they have in common, which
 * is computed once (as Wang et al. 2025, arXiv 2511.00413).  Numbers are those of texts added one by one but for
 * rounding, and for noise on the embeddings, which is then shared too. */
void llama_batch_add_shared(struct llama_batch *b, struct llama_text *texts, int64_t n, int64_t least);

/* Adds, behind all texts, tokens, rows and sequences that weigh nothing, up to sizes that come again (batch_bucket);
 * the rows' targets are -1. */
void llama_batch_pad(struct llama_batch *b);

/* Logits at every row, F32 [n_rows, vocab], in the order of the batch. */
struct tensor *llama_batch_logits(struct ctx *c, const struct llama *net, const struct llama_batch *b);
/* -log p of every target, 0 where it is -1, F32 [n_rows], in the order of the batch. */
struct tensor *llama_batch_nll(struct ctx *c, const struct llama *net, const struct llama_batch *b);

#endif
