/*
 * decoder.h - the decoder of tokenizer.json: turns tokens into text by a list of steps.
 *
 * Tokens arrive one by one while a model generates them. A step passes on text as soon as later tokens cannot change
 * it. Most steps pass on each token; ByteFallback, BPEDecoder, and a Fuse or ByteLevel in the middle wait for later
 * tokens. A decoder never changes after decoder_read; a decoder_run belongs to one thread.
 */
#ifndef MODELS_TEXT_DECODER_H
#define MODELS_TEXT_DECODER_H

#include "models/text/byte_alphabet.h"
#include "models/text/byte_buffer.h"
#include "models/text/component.h"
#include "models/text/text_pattern.h"

struct decoder_run;
/* Takes the next token at step k. */
typedef void decoder_put_fn(struct decoder_run *r, int k, const char *token, size_t n);
/* Passes on the held text; no more tokens come. */
typedef void decoder_end_fn(struct decoder_run *r, int k);

struct decoder_step {
    decoder_put_fn *put;
    decoder_end_fn *end; /* NULL: the step holds nothing */
    struct text_pattern pattern;
    char *content;       /* replacement, prefix, suffix or stripped character */
    int64_t start, stop; /* maximum number of characters that are stripped */
    bool cleanup;        /* WordPiece: remove spaces before punctuation */
    bool drops_first;    /* Metaspace: drop the spaces of the first token */
};

struct decoder {
    struct decoder_step *steps;
    int count, cap;
    struct byte_alphabet alphabet;
};

/* Reads "decoder" of a tokenizer.json. Without one, tokens are joined by spaces. Returns -1 with EXIT_CODE_CHECKPOINT
 * or EXIT_CODE_DATA. */
int decoder_read(struct decoder *d, const json_t *root, const char *where, struct error *err);
void decoder_release(struct decoder *d);

struct decoder_state {
    int64_t seen;            /* number of tokens, or of stripped characters */
    struct byte_buffer held; /* text that waits for later tokens */
    struct byte_buffer made; /* buffer for the token that is passed on */
    struct pattern_walk walk;
};

struct decoder_run {
    const struct decoder *d;
    bool exact; /* invalid UTF-8 is kept instead of replaced by U+FFFD */
    struct decoder_state *states;
    struct byte_buffer out; /* decoded text, consumed by the caller; may end in an incomplete character */
};
/* Starts a run. decoder_put appends the text that becomes final to r->out, and decoder_end the text that is held. */
void decoder_start(struct decoder_run *r, const struct decoder *d, bool exact);
void decoder_put(struct decoder_run *r, const char *token, size_t n);
void decoder_end(struct decoder_run *r);
void decoder_run_release(struct decoder_run *r);

#endif
