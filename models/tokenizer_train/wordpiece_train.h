/*
 * wordpiece_train.h - a WordPiece vocabulary learnt from text.
 *
 * It is the alphabet and what grows out of it: the pair of neighbouring pieces that stands most often in the corpus
 * becomes one piece, again and again, until the vocabulary is full or no pair stands twice.
 */
#ifndef MODELS_TOKENIZER_TRAIN_WORDPIECE_TRAIN_H
#define MODELS_TOKENIZER_TRAIN_WORDPIECE_TRAIN_H

#include "models/tokenizer/tokenizer.h"

/* Learns an uncased WordPiece vocabulary of at most vocab_size tokens from n texts.  The same texts in the same order
 * give the same vocabulary on every machine.  ASCII letters, digits and punctuation are always in it, so that no plain
 * word is unknown, and so are [unused0] to [unusedN], N = unused - 1, which no text is cut into.  NULL with
 * EXIT_CODE_USAGE unless 256 <= vocab_size <= 1,000,000. */
struct tokenizer *tokenizer_from_words(const char *const *texts, int64_t n, int unused, int32_t vocab_size,
                                       struct error *err);

#endif
