/*
 * normal_text.h - normalised text with the origin of each byte; Unicode's normal forms; BERT's normaliser and
 * pre-tokenizer.
 *
 * Each normaliser reads a range of a text and replaces the contents of a struct normal_text. Normalisers cannot fail:
 * invalid UTF-8 becomes U+FFFD.
 */
#ifndef MODELS_TEXT_NORMAL_TEXT_H
#define MODELS_TEXT_NORMAL_TEXT_H

#include "kernels/base.h"

/* Bytes [start, end) of the text before normalisation. */
struct token_span {
    int64_t start, end;
};

/* A normalised text. It is valid UTF-8 and ends in a zero byte. origin [length] is NULL unless `track` is set. Start as
 * { 0 }, and call normal_text_release at the end. */
struct normal_text {
    char *text;
    struct token_span *origin;
    int64_t length, cap;
    bool track;
};

/* Reserves memory for `more` bytes. */
void normal_text_reserve(struct normal_text *t, int64_t more);
/* Appends a character that replaces bytes `from` of the raw text. */
void normal_text_put(struct normal_text *t, uint32_t cp, struct token_span from);
/* Appends bytes [start, end) of text unchanged. They must be valid UTF-8. */
void normal_text_copy(struct normal_text *t, const char *text, int64_t start, int64_t end);
void normal_text_release(struct normal_text *t);

/* Unicode's four normal forms, with the data of Unicode 9 as in Hugging Face's tokenizers. */
enum normal_form { FORM_AS_IS, FORM_NFC, FORM_NFD, FORM_NFKC, FORM_NFKD };

/* Replaces out by the normal form of bytes [start, end) of text. Invalid bytes become U+FFFD. Origins count from the
 * start of text. */
void normal_form_apply(enum normal_form form, const char *text, int64_t start, int64_t end, struct normal_text *out);

enum accents { ACCENTS_AS_CASE, ACCENTS_KEEP, ACCENTS_STRIP }; /* strip_accents: null (as lowercase), false, true */

/* Settings of BertNormalizer. It cleans text, puts spaces around CJK ideographs, strips accents and lower-cases. */
struct bert_normalizer {
    bool clean_text, chinese, lowercase;
    enum accents accents;
    int16_t ascii[128]; /* result for each ASCII character, -1 if it is removed; set by bert_normalizer_prepare */
};

/* Must be called before bert_normalize when a setting has changed. */
void bert_normalizer_prepare(struct bert_normalizer *n);

/* Replaces out by the normalised bytes [start, end) of text. Origins count from the start of text. */
void bert_normalize(const struct bert_normalizer *n, const char *text, int64_t start, int64_t end,
                    struct normal_text *out);

/* BertPreTokenizer: finds the next word or punctuation character in bytes [*at, end) of text. It becomes bytes [*at,
 * *stop). Returns false if only white space is left. */
bool bert_next_word(const char *text, int64_t *at, int64_t end, int64_t *stop);

#endif
