/*
 * lm_batch.h - packs tokenised texts one after another and computes a language model's loss on their completions.
 *
 * A decoder reads prompt and completion as one sequence (llama_batch). An encoder-decoder reads them as a pair
 * (t5_batch). lm_batch fills the one that the model needs. Batches own their arrays; start them as { 0 } and release
 * them.
 */
#ifndef MODELS_LM_LM_BATCH_H
#define MODELS_LM_LM_BATCH_H

#include "models/lm/llama_model.h"
#include "models/net/llama.h"
#include "models/net/t5.h"

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
