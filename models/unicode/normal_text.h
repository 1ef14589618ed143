/*
 * normal_text.h - text after a normaliser, and where each of its bytes came from.
 */
#ifndef MODELS_UNICODE_NORMAL_TEXT_H
#define MODELS_UNICODE_NORMAL_TEXT_H

#include "models/unicode/token_span.h"

/* Valid UTF-8 always, a zero byte behind; origin is NULL unless track. */
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

#endif
