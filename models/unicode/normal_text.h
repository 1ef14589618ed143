/*
 * normal_text.h - normalised text: the buffer it is written to, Unicode's normal forms and BERT's normaliser.
 */
#ifndef MODELS_UNICODE_NORMAL_TEXT_H
#define MODELS_UNICODE_NORMAL_TEXT_H

#include "kernels/base.h"

/* Bytes [start, end) of the text as it was given. */
struct token_span {
    int64_t start, end;
};

/* Text after a normaliser, and where each of its bytes came from.  Valid UTF-8 always, a zero byte behind; origin is
 * NULL unless track. */
struct normal_text {
    char *text;
    struct token_span *origin;
    int64_t length, cap;
    bool track;
};

/* Room for so many bytes more. */
void normal_text_reserve(struct normal_text *t, int64_t more);
/* Appends a character that came from bytes `from` of the raw text. */
void normal_text_put(struct normal_text *t, uint32_t cp, struct token_span from);
/* Appends bytes [start, end) of text, which must be valid UTF-8, as they are. */
void normal_text_copy(struct normal_text *t, const char *text, int64_t start, int64_t end);
void normal_text_release(struct normal_text *t);

/* Unicode's four normal forms, with the Unicode 9 that Hugging Face's tokenizers use for them. */
enum normal_form { FORM_AS_IS, FORM_NFC, FORM_NFD, FORM_NFKC, FORM_NFKD };

/* Replaces out with bytes [start, end) of text in this form.  Bytes that are not UTF-8 become U+FFFD in each of them.
 * Origins count from the start of text. */
void normal_form_apply(enum normal_form form, const char *text, int64_t start, int64_t end, struct normal_text *out);

/* BertNormalizer and BertPreTokenizer: clean text, blanks round Chinese characters, no accents,
 * lower case; then words and single punctuation characters. */
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
