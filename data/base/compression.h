/*
 * compression.h - reading and writing gzip, xz and zstd.
 *
 * The decoder takes bytes and gives bytes.  The first bytes of the input select its format.  A name that ends in .gz,
 * .xz or .zst only requires that format.  Memory stays bounded, since the caller limits the output of each call.  A
 * file may hold several streams in a row; the decoder checks the checksum and the length of each.  Behind the last
 * member of a gzip file it accepts zeros as padding and ignores other bytes with a warning, as gzip does.
 *
 * The encoder is a stdio stream.  The same text always gives the same bytes, since neither a time nor a name is stored.
 * Each format stores a checksum.
 *
 * The caller frees decoders and closes encoders.  Functions fail with an error code that their comments name.
 */
#ifndef DATA_BASE_COMPRESSION_H
#define DATA_BASE_COMPRESSION_H

#include "kernels/base.h"

#include <stdio.h>

enum { DECODER_MEMORY_MIB = 256 }; /* maximum memory that a file may require for decoding */

struct coding;
/* Find a format by the ending of a name or by the first bytes of a file.  NULL if none fits. */
const struct coding *coding_of_name(const char *path);
const struct coding *coding_of_bytes(const unsigned char *bytes, size_t n);
/* Whether n bytes could become the start of some format if more bytes followed. */
bool coding_may_begin(const unsigned char *bytes, size_t n);
/* "gzip", "xz" or "zstd". */
const char *coding_name(const struct coding *c);
/* The ending of its names with the dot; "" if c is NULL. */
const char *coding_ending(const struct coding *c);

/* The input that is left to read and the output space that is left to fill. */
struct coding_bytes {
    const unsigned char *from;
    size_t n_from;
    unsigned char *to;
    size_t n_to;
};

struct text_decoder;
/* NULL with EXIT_CODE_FAILURE if this build lacks the library. name opens the messages. */
struct text_decoder *text_decoder_new(const struct coding *c, const char *name, struct error *err);
/* Decodes from b->from to b->to and advances both.  `last` says that no input follows.  Returns 1, 0 at the end, or -1
 * with EXIT_CODE_DATA. */
int text_decoder_run(struct text_decoder *d, struct coding_bytes *b, bool last, struct error *err);
void text_decoder_free(struct text_decoder *d);

/* Whether this build can write the format. */
bool text_encoder_has(const struct coding *c);
/* A stream that compresses into the descriptor, which stays open. fclose writes the rest and the checksum; like a
 * write, it returns EOF on failure and sets errno.  NULL with EXIT_CODE_FAILURE if this build lacks the library, or
 * with EXIT_CODE_MEMORY. name opens the message. */
FILE *text_encoder_open(const struct coding *c, int fd, const char *name, struct error *err);

#endif
