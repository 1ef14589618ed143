/*
 * byte_alphabet.h - the 256 characters that stand for bytes in the tokens of a byte-level vocabulary.
 *
 * Printable characters of Latin-1 stand for themselves, the other 68 bytes in their order for U+0100 to U+0143; so a
 * blank is written "Ġ" and no token holds white space or control characters.
 */
#ifndef MODELS_UNICODE_BYTE_ALPHABET_H
#define MODELS_UNICODE_BYTE_ALPHABET_H

#include "kernels/base.h"

enum { BYTE_ALPHABET_END = 0x144 };

struct byte_alphabet {
    uint16_t chars[256];
    int16_t bytes[BYTE_ALPHABET_END]; /* -1: stands for none */
};

void byte_alphabet_init(struct byte_alphabet *a);
/* Writes bytes in these characters; out holds 2 * n.  Returns the length. */
int64_t byte_alphabet_write(const struct byte_alphabet *a, char *out, const char *bytes, int64_t n);
/* The bytes that text (UTF-8) stands for; out holds as many as text has.  Returns how many, -1 when it holds another
 * character. */
int64_t byte_alphabet_read(const struct byte_alphabet *a, char *out, const char *text, int64_t length);

#endif
