/*
 * text_encoder.h - a stream that compresses what is written to it, for names that end in .gz, .xz or .zst.
 *
 * The same text gives the same bytes: no time and no name stands in them.  Every coding has its checksum.
 */
#ifndef DATA_CODING_TEXT_ENCODER_H
#define DATA_CODING_TEXT_ENCODER_H

#include "data/coding/text_decoder.h"

#include <stdio.h>

/* Whether this build can write it. */
bool text_encoder_has(const struct coding *c);
/* A stream over the descriptor, which stays open.  fclose writes what is left and the checksum: EOF where that fails,
 * as a write does, with errno.  NULL with EXIT_CODE_FAILURE when this build lacks the library, name opening the
 * message, or EXIT_CODE_MEMORY. */
FILE *text_encoder_open(const struct coding *c, int fd, const char *name, struct error *err);

#endif
