/*
 * compression.h - gzip, xz and zstd: a decoder, one function that takes bytes and gives bytes, and an encoder, a stream
 * that compresses what is written to it, for names that end in .gz, .xz or .zst.
 *
 * What is compressed is told by its first bytes; a name that ends in .gz, .xz or .zst only says what they must be.
 * Memory does not grow with what comes out: nothing is decoded before it is asked for.  Streams may follow each other
 * in a file; the checksum and length of each are compared.  Behind the last member of gzip, zeros are padding, and
 * other bytes are ignored with a warning, as by gzip itself.
 *
 * The same text gives the same bytes: no time and no name stands in them.  Every coding has its checksum.
 */
#ifndef DATA_UTIL_COMPRESSION_H
#define DATA_UTIL_COMPRESSION_H

#include "kernels/base.h"

#include <stdio.h>

enum { DECODER_MEMORY_MIB = 256 }; /* what a file may want for being decoded */

struct coding;
/* NULL for a name or for bytes of another kind. */
const struct coding *coding_of_name(const char *path);
const struct coding *coding_of_bytes(const unsigned char *bytes, size_t n);
/* Whether more bytes could still begin one. */
bool coding_may_begin(const unsigned char *bytes, size_t n);
/* "gzip", "xz" or "zstd". */
const char *coding_name(const struct coding *c);
/* Its ending with the dot; "" of NULL. */
const char *coding_ending(const struct coding *c);

/* What is left to read, and the room that is left to write into. */
struct coding_bytes {
    const unsigned char *from;
    size_t n_from;
    unsigned char *to;
    size_t n_to;
};

struct text_decoder;
/* NULL with EXIT_CODE_FAILURE when this build lacks the library, name opening the message. */
struct text_decoder *text_decoder_new(const struct coding *c, const char *name, struct error *err);
/* Moves on in b; `last` says that nothing comes behind b->from.  1, 0 at the end, -1 with EXIT_CODE_DATA. */
int text_decoder_run(struct text_decoder *d, struct coding_bytes *b, bool last, struct error *err);
void text_decoder_free(struct text_decoder *d);

/* Whether this build can write it. */
bool text_encoder_has(const struct coding *c);
/* A stream over the descriptor, which stays open.  fclose writes what is left and the checksum: EOF where that fails,
 * as a write does, with errno.  NULL with EXIT_CODE_FAILURE when this build lacks the library, name opening the
 * message, or EXIT_CODE_MEMORY. */
FILE *text_encoder_open(const struct coding *c, int fd, const char *name, struct error *err);

#endif
