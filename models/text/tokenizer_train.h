/*
 * tokenizer_train.h - trains vocabularies on texts: byte-level BPE and WordPiece.
 *
 * The BPE trainer makes the same merges as BpeTrainer of Hugging Face's tokenizers. Results do not depend on the
 * machine. The caller closes the tokenizers that are returned.
 */
#ifndef MODELS_TEXT_TOKENIZER_TRAIN_H
#define MODELS_TEXT_TOKENIZER_TRAIN_H

#include "models/text/tokenizer.h"

enum bpe_preset {
    BPE_LLAMA3, /* at most three digits a piece; whole words before merges; begin_of_text, end_of_text, start_header_id,
                   end_header_id, eot_id */
    BPE_QWEN2,  /* one digit a piece; NFC; endoftext, im_start, im_end */
    BPE_WORDS   /* as Qwen 2, but a word has the same tokens after a space or a sign, and as the stem of its plural */
};

struct bpe_options {
    enum bpe_preset preset;
    int32_t vocab_size;
    const char *const *specials; /* [n_specials], in addition to those of the preset */
    int n_specials;
};

/* Trains a byte-level BPE vocabulary of at most options->vocab_size tokens on n texts. Its order: special tokens of the
 * preset, special tokens of the options, the 256 bytes, merged tokens.
 *
 * The most frequent pair of neighbours within words becomes a token, until the vocabulary is full or no pair is left.
 * Ties go to the lower ids. The merges equal those of BpeTrainer(vocab_size, special_tokens,
 * initial_alphabet=ByteLevel.alphabet()), except that no token is longer than VOCAB_MAX_TOKEN bytes.
 *
 * Returns NULL with EXIT_CODE_USAGE if the size is less than 256 plus the special tokens, or above 1,000,000. The same
 * holds for a special token that is empty, repeated, contains a line break, or could occur as a word in plain text. */
struct tokenizer *tokenizer_from_bytes(const char *const *texts, int64_t n, const struct bpe_options *options,
                                       struct error *err);

/* Trains an uncased WordPiece vocabulary of at most vocab_size tokens on n texts. The alphabet is extended by the most
 * frequent pair of neighbouring pieces, until the vocabulary is full or no pair occurs twice.
 *
 * ASCII letters, digits and punctuation are always included, so that every ASCII word can be encoded. So are [unused0]
 * to [unusedN], with N = unused - 1, which no text is encoded to. Returns NULL with EXIT_CODE_USAGE unless 256 <=
 * vocab_size <= 1,000,000. */
struct tokenizer *tokenizer_from_words(const char *const *texts, int64_t n, int unused, int32_t vocab_size,
                                       struct error *err);

#endif
