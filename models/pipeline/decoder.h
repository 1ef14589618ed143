/*
 * decoder.h - the last part of a tokenizer: steps that make a text of tokens.
 *
 * Tokens come one by one, as a model makes them, and a step hands on what can no longer change: whole tokens, but for a
 * ByteLevel, a Fuse or a Fuse and a Strip at the end, which hand on what they get.  A step that has to see all of the
 * tokens hands on at the end.
 */
#ifndef MODELS_PIPELINE_DECODER_H
#define MODELS_PIPELINE_DECODER_H

#include "models/pipeline/byte_buffer.h"
#include "models/pipeline/component.h"
#include "models/pipeline/text_pattern.h"
#include "models/unicode/byte_alphabet.h"

struct decoder_run;
/* Takes the next token at step k. */
typedef void decoder_put_fn(struct decoder_run *r, int k, const char *token, size_t n);
/* No more tokens come: hands on what was held back. */
typedef void decoder_end_fn(struct decoder_run *r, int k);

struct decoder_step {
    decoder_put_fn *put;
    decoder_end_fn *end; /* or NULL */
    struct text_pattern pattern;
    char *content;       /* what is put in, or a prefix, or what is stripped */
    int64_t start, stop; /* how many are stripped */
    bool cleanup;        /* WordPiece */
    bool drops_first;    /* Metaspace: the blanks of the first token */
};

struct decoder {
    struct decoder_step *steps;
    int count, cap;
    struct byte_alphabet alphabet;
};

/* The "decoder" of a tokenizer.json; without one, tokens are joined by blanks.  -1 with EXIT_CODE_CHECKPOINT or
 * EXIT_CODE_DATA. */
int decoder_read(struct decoder *d, const json_t *root, const char *where, struct error *err);
void decoder_release(struct decoder *d);

struct decoder_state {
    int64_t seen;            /* tokens, or characters that were stripped */
    struct byte_buffer held; /* what waits for more */
    struct byte_buffer made; /* the token that is handed on */
    struct pattern_walk walk;
};

struct decoder_run {
    const struct decoder *d;
    bool exact; /* bytes that are not UTF-8 stay as they are */
    struct decoder_state *states;
    struct byte_buffer out; /* the text, to be taken; of ByteLevel it need not be UTF-8 */
};
void decoder_start(struct decoder_run *r, const struct decoder *d, bool exact);
void decoder_put(struct decoder_run *r, const char *token, size_t n);
void decoder_end(struct decoder_run *r);
void decoder_run_release(struct decoder_run *r);

#endif
