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

/* A packed batch for a decoder. Rows are the positions whose next token is predicted; targets are those tokens. With
 * shared prefixes, sequences are nodes of a tree of token prefixes, and a text is a path from the root to a leaf.
 * Attention allows one prefix for a sequence. A node below the root that others continue is therefore followed by a
 * sequence without tokens, with copies of all keys from the root to that node. The others have it as their prefix. */
struct llama_batch {
    int32_t *ids, *positions, *lengths, *rows, *targets, *row_counts;
    int32_t *prefix; /* [n_seqs] the sequence that this one continues; -1: none */
    int32_t *copied; /* [n_seqs] number of copied keys of a sequence without tokens; 0: its keys are its tokens' */
    int32_t *copies; /* [n_copies] rows to copy, sequence after sequence */
    int64_t n_tokens, n_seqs, n_rows, n_copies;
    int64_t cap_ids, cap_positions, cap_lengths, cap_rows, cap_targets, cap_row_counts, cap_prefix, cap_copied;
    int64_t cap_copies;
};

/* A tokenised text; answer[k] is 1 if token k is predicted. */
struct llama_text {
    const int32_t *ids;
    const uint8_t *answer;
    int64_t n;
};

/* Compares ids, for qsort. */
int llama_text_compare(const void *a, const void *b);
/* Number of tokens that two texts may share: their common prefix, without the last token before a target of either. */
int64_t llama_text_common(const struct llama_text *a, const struct llama_text *b);

void llama_batch_clear(struct llama_batch *b);
void llama_batch_release(struct llama_batch *b);
/* Appends a text of n tokens; answer[k]: token k is predicted. The first token never is. */
void llama_batch_add(struct llama_batch *b, const int32_t *ids, const uint8_t *answer, int64_t n);

/* Appends n texts, and sorts them by ids. Common prefixes of at least `least` tokens without targets are computed
 * once, at every level (Wang et al. 2025, arXiv 2511.00413). Results equal those of texts added one by one, except
 * for rounding and for noise on the embeddings, which is shared. */
void llama_batch_add_shared(struct llama_batch *b, struct llama_text *texts, int64_t n, int64_t least);

/* Pads the batch to sizes that recur (batch_bucket), with tokens, rows and sequences of weight 0. Their targets are
 * -1. */
void llama_batch_pad(struct llama_batch *b);

/* Logits of all rows, F32 [n_rows, vocab]. */
struct tensor *llama_batch_logits(struct ctx *c, const struct llama *net, const struct llama_batch *b);
/* -log p of all targets, F32 [n_rows]; 0 if the target is -1. */
struct tensor *llama_batch_nll(struct ctx *c, const struct llama *net, const struct llama_batch *b);

/* The sequences of one side, one after another. */
struct token_pack {
    int32_t *ids, *lengths;
    int64_t n_tokens, n_seqs, cap_ids, cap_lengths;
};

/* A packed batch for an encoder-decoder. Sequence i of `answer` is the completion of sequence i of `source`. It
 * begins with the start token. Each of its tokens predicts targets[i] of [answer.n_tokens]. */
struct t5_batch {
    struct token_pack source, answer;
    int32_t *targets;
    int64_t cap_targets;
};

void t5_batch_release(struct t5_batch *b);
/* Appends a text of n tokens: a prompt, and its completion from the first k with answer[k] on. */
void t5_batch_add(struct t5_batch *b, const struct t5_config *g, const int32_t *ids, const uint8_t *answer, int64_t n);
/* Pads the batch to sizes that recur (batch_bucket), with tokens and sequences of weight 0. Their targets are -1. */
void t5_batch_pad(struct t5_batch *b);

/* Logits of all tokens of the completions, F32 [answer.n_tokens, vocab]. */
struct tensor *t5_batch_logits(struct ctx *c, const struct t5 *net, const struct t5_batch *b);
/* -log p of all targets, F32 [answer.n_tokens]; 0 if the target is -1. */
struct tensor *t5_batch_nll(struct ctx *c, const struct t5 *net, const struct t5_batch *b);

/* A batch for either architecture; the model chooses the member. Start as { 0 }. */
struct lm_batch {
    struct llama_batch texts;
    struct t5_batch pairs;
};

void lm_batch_clear(struct lm_batch *b);
void lm_batch_release(struct lm_batch *b);
/* Appends n texts. shared: a decoder computes common prefixes once, and the texts are sorted. */
void lm_batch_add(struct lm_batch *b, const struct llama_model *m, struct llama_text *texts, int64_t n, bool shared);
/* Pads to sizes that recur, as llama_batch_pad and t5_batch_pad. */
void lm_batch_pad(struct lm_batch *b, const struct llama_model *m);
/* Number of tokens read; number of predicted tokens; the latter for each sequence. */
int64_t lm_batch_tokens(const struct lm_batch *b);
int64_t lm_batch_rows(const struct lm_batch *b);
const int32_t *lm_batch_row_counts(const struct lm_batch *b);

/* Logits of the predicted tokens, F32 [rows, vocab], and their -log p, F32 [rows], which is 0 for padding. adapter:
 * see llama_model_net. */
struct tensor *lm_batch_logits(struct ctx *c, const struct llama_model *m, int adapter, const struct lm_batch *b);
struct tensor *lm_batch_nll(struct ctx *c, const struct llama_model *m, int adapter, const struct lm_batch *b);

#endif
