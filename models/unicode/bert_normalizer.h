/*
 * bert_normalizer.h - BertNormalizer and BertPreTokenizer: clean text, blanks round Chinese characters, no accents,
 * lower case; then words and single punctuation characters.
 */
#ifndef MODELS_UNICODE_BERT_NORMALIZER_H
#define MODELS_UNICODE_BERT_NORMALIZER_H

#include "models/unicode/normal_text.h"

enum accents { ACCENTS_AS_CASE, ACCENTS_KEEP, ACCENTS_STRIP }; /* strip_accents: null, false, true */

struct bert_normalizer {
    bool clean_text, chinese, lowercase;
    enum accents accents;
    int16_t ascii[128]; /* what becomes of an ASCII character, -1 when it is dropped; set by bert_normalizer_prepare */
};

void bert_normalizer_prepare(struct bert_normalizer *n);

/* Replaces out with the normalised bytes [start, end) of text; origins count from the start of text. */
void bert_normalize(const struct bert_normalizer *n, const char *text, int64_t start, int64_t end,
                    struct normal_text *out);

/* The next word or punctuation character of text [*at, end): its bytes [*at, *stop).  False when only white space is
 * left. */
bool bert_next_word(const char *text, int64_t *at, int64_t end, int64_t *stop);

#endif
