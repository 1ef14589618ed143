/*
 * byte_alphabet.h - the byte alphabet of byte-level BPE: 256 characters that stand for bytes in tokens (GPT-2, Radford
 * et al. 2019).
 *
 * Each printable Latin-1 character stands for the byte with its code. The other 68 bytes have U+0100 to U+0143, in
 * their order. A space is written "Ġ", and no token holds white space or control characters.
 */
#ifndef MODELS_TEXT_BYTE_ALPHABET_H
#define MODELS_TEXT_BYTE_ALPHABET_H

#include "kernels/base.h"

enum { BYTE_ALPHABET_END = 0x144 };

struct byte_alphabet {
    uint16_t chars[256];
    int16_t bytes[BYTE_ALPHABET_END]; /* -1: the character stands for no byte */
};

void byte_alphabet_init(struct byte_alphabet *a);
/* Writes n bytes in the alphabet to out, which holds 2 * n. Returns the length written. */
int64_t byte_alphabet_write(const struct byte_alphabet *a, char *out, const char *bytes, int64_t n);
/* Reads text (UTF-8) written in the alphabet. out holds as many bytes as text. Returns the number of bytes, or -1 if a
 * character is not in the alphabet. */
int64_t byte_alphabet_read(const struct byte_alphabet *a, char *out, const char *text, int64_t length);

#endif
