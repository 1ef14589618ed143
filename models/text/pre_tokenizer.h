/*
 * pre_tokenizer.h - the pre-tokenizer of tokenizer.json: splits a normalised text into the pieces that the model
 * encodes.
 *
 * A piece passes through all steps before the next piece starts, so a step only stores its position. Steps that change
 * a piece (Metaspace, ByteLevel) write it to a buffer of their own. Threads may share a pre-tokenizer; each needs a run
 * of its own.
 */
#ifndef MODELS_TEXT_PRE_TOKENIZER_H
#define MODELS_TEXT_PRE_TOKENIZER_H

#include "models/text/byte_alphabet.h"
#include "models/text/component.h"
#include "models/text/normal_text.h"
#include "models/text/text_pattern.h"

struct pre_tokenizer_run;
/* Splits bytes [start, stop) of text, at least one, and passes the pieces on to the step after step k. */
typedef void pre_tokenizer_fn(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                              int64_t stop);

struct pre_tokenizer_step {
    pre_tokenizer_fn *run;
    struct text_pattern pattern; /* separator of a split */
    enum cut_behavior behavior;
    bool invert;
    char blank[8]; /* the character that Metaspace writes for a space */
    enum { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } prepend;
};

struct pre_tokenizer {
    struct pre_tokenizer_step *steps;
    int count, cap;
    struct byte_alphabet alphabet;
    bool bytes;        /* the pieces are bytes, and the model converts them to the byte alphabet */
    bool adds_blank;   /* a step may put a space before the text */
    bool only_bytes;   /* a ByteLevel step puts no space before the text */
    bool needs_origin; /* a step needs origins in the raw text */
};

/* Reads "pre_tokenizer" of a tokenizer.json. Returns -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA. */
int pre_tokenizer_read(struct pre_tokenizer *p, const json_t *root, const char *where, struct error *err);
/* If the last step writes the byte alphabet, removes it and sets p->bytes: the model then does that conversion itself.
 */
void pre_tokenizer_leave_bytes(struct pre_tokenizer *p);
void pre_tokenizer_release(struct pre_tokenizer *p);

/* Receives a piece: bytes [start, stop) of text, at least one. Origins count from the raw text. */
typedef void pre_tokenizer_emit_fn(void *to, const struct normal_text *text, int64_t start, int64_t stop);

/* State of one run, which belongs to one thread. */
struct pre_tokenizer_run {
    const struct pre_tokenizer *p;
    bool track;
    pre_tokenizer_emit_fn *emit;
    void *to;
    struct cut *cuts;          /* [steps] */
    struct normal_text *texts; /* [steps] buffers of the steps that change a piece */
};
/* Starts a run: emit receives the pieces. `track` requires texts with origins. */
void pre_tokenizer_start(struct pre_tokenizer_run *r, const struct pre_tokenizer *p, bool track,
                         pre_tokenizer_emit_fn *emit, void *to);
/* Splits bytes [start, stop) of text into pieces. */
void pre_tokenizer_cut(struct pre_tokenizer_run *r, const struct normal_text *text, int64_t start, int64_t stop);
void pre_tokenizer_end(struct pre_tokenizer_run *r);

/* BertPreTokenizer's step, for comparison with pre_tokenizer_step.run. */
pre_tokenizer_fn pre_tokenize_bert;

#endif
