/*
 * normal_form.h - Unicode's four normal forms, with the Unicode 9 that Hugging Face's tokenizers use for them.
 */
#ifndef MODELS_UNICODE_NORMAL_FORM_H
#define MODELS_UNICODE_NORMAL_FORM_H

#include "models/unicode/normal_text.h"

enum normal_form { FORM_AS_IS, FORM_NFC, FORM_NFD, FORM_NFKC, FORM_NFKD };

/* Replaces out with bytes [start, end) of text in this form.  Bytes that are not UTF-8 become U+FFFD in each of them.
 * Origins count from the start of text. */
void normal_form_apply(enum normal_form form, const char *text, int64_t start, int64_t end, struct normal_text *out);

#endif
