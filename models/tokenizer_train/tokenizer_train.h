/*
 * tokenizer_train.h - vocabularies learnt from text: byte-level BPE, merge by merge as tokenizers' BpeTrainer learns
 * it, and WordPiece.
 *
 * Its kind says how text is cut into words and normalised, which special tokens conversations need, and whether a word
 * that is a token wins over merging: Llama 3's ways, Qwen 2's, or ours for small models that must learn to copy.
 */
#ifndef MODELS_TOKENIZER_TRAIN_TOKENIZER_TRAIN_H
#define MODELS_TOKENIZER_TRAIN_TOKENIZER_TRAIN_H

#include "models/tokenizer/tokenizer.h"

enum bpe_kind {
    BPE_LLAMA3, /* digits in threes, whole words win; begin_of_text, end_of_text, start_header_id, end_header_id, eot_id
                 */
    BPE_QWEN2,  /* digits one by one, NFC; endoftext, im_start, im_end */
    BPE_WORDS   /* as Qwen 2, but a word is the same tokens behind a blank and behind a sign, and begins its plural */
};

struct bpe_plan {
    enum bpe_kind kind;
    int32_t vocab_size;
    const char *const *specials; /* [n_specials], besides those of the kind */
    int n_specials;
};

/*
 * Learns from n texts a vocabulary of at most plan->vocab_size tokens: the kind's special tokens, the plan's, the 256
 * bytes by their characters, and what merges make, in this order.  The most frequent pair of neighbours within words
 * becomes a token, the one of lower ids among equals, until the vocabulary is full or no pair is left: the merges of
 * BpeTrainer(vocab_size, special_tokens, initial_alphabet=ByteLevel.alphabet()) on the same texts, but that no token
 * has more than VOCAB_MAX_TOKEN bytes.  NULL with EXIT_CODE_USAGE when the size is below 256 and the special tokens or
 * above 1,000,000, or when a special token is empty, comes twice, holds a line break, or is what plain text could be (a
 * word).
 */
struct tokenizer *tokenizer_from_bytes(const char *const *texts, int64_t n, const struct bpe_plan *plan,
                                       struct error *err);

/* A WordPiece vocabulary learnt from text.
 *
 * It is the alphabet and what grows out of it: the pair of neighbouring pieces that stands most often in the corpus
 * becomes one piece, again and again, until the vocabulary is full or no pair stands twice. */

/* Learns an uncased WordPiece vocabulary of at most vocab_size tokens from n texts.  The same texts in the same order
 * give the same vocabulary on every machine.  ASCII letters, digits and punctuation are always in it, so that no plain
 * word is unknown, and so are [unused0] to [unusedN], N = unused - 1, which no text is cut into.  NULL with
 * EXIT_CODE_USAGE unless 256 <= vocab_size <= 1,000,000. */
struct tokenizer *tokenizer_from_words(const char *const *texts, int64_t n, int unused, int32_t vocab_size,
                                       struct error *err);

#endif
