/*
 * nfc.h - Unicode's canonical composition, with the Unicode 9 that Hugging Face's tokenizers use for it.
 */
#ifndef MODELS_UNICODE_NFC_H
#define MODELS_UNICODE_NFC_H

#include "models/unicode/normal_text.h"

/* Replaces out with bytes [start, end) of text, composed (NFC) when compose.  Bytes that are not UTF-8 become U+FFFD
 * either way.  Origins count from the start of text. */
void nfc_normalize(bool compose, const char *text, int64_t start, int64_t end, struct normal_text *out);

#endif
