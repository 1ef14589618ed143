/*
 * pre_tokenizer.h - the second part of a tokenizer: steps that cut a normalised text into the pieces a model sees.
 *
 * A piece goes through all of the steps before the next one begins, so nothing is kept but the place in each step.
 * Steps that change a piece (Metaspace, ByteLevel) write it into a text of their own.
 */
#ifndef MODELS_PIPELINE_PRE_TOKENIZER_H
#define MODELS_PIPELINE_PRE_TOKENIZER_H

#include "models/pipeline/component.h"
#include "models/pipeline/text_pattern.h"
#include "models/unicode/byte_alphabet.h"
#include "models/unicode/normal_text.h"

struct pre_tokenizer_run;
/* Hands the pieces of bytes [start, stop) of text, never none, to the step behind step k. */
typedef void pre_tokenizer_fn(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                              int64_t stop);

struct pre_tokenizer_step {
    pre_tokenizer_fn *run;
    struct text_pattern pattern; /* of a cut */
    enum cut_behavior behavior;
    bool invert;
    char blank[8]; /* what Metaspace writes for a blank */
    enum { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } prepend;
};

struct pre_tokenizer {
    struct pre_tokenizer_step *steps;
    int count, cap;
    struct byte_alphabet alphabet;
    bool bytes;        /* the pieces are bytes, and the model is to write them in the alphabet */
    bool adds_blank;   /* may put a blank before a text */
    bool only_bytes;   /* has a ByteLevel that puts none */
    bool needs_origin; /* asks where in the raw text a piece began */
};

/* The "pre_tokenizer" of a tokenizer.json.  -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA. */
int pre_tokenizer_read(struct pre_tokenizer *p, const json_t *root, const char *where, struct error *err);
/* Leaves the last step, when it writes bytes in the alphabet, to the model; p->bytes is true then. */
void pre_tokenizer_leave_bytes(struct pre_tokenizer *p);
void pre_tokenizer_release(struct pre_tokenizer *p);

/* A piece: bytes [start, stop) of text, at least one, whose origins count from the raw text. */
typedef void pre_tokenizer_emit_fn(void *to, const struct normal_text *text, int64_t start, int64_t stop);

/* What may change with a run.  Threads may cut with one pre-tokenizer at once, each with a run of its own. */
struct pre_tokenizer_run {
    const struct pre_tokenizer *p;
    bool track;
    pre_tokenizer_emit_fn *emit;
    void *to;
    struct cut *cuts;          /* [steps] */
    struct normal_text *texts; /* [steps] what the steps wrote that change a piece */
};
void pre_tokenizer_start(struct pre_tokenizer_run *r, const struct pre_tokenizer *p, bool track,
                         pre_tokenizer_emit_fn *emit, void *to);
void pre_tokenizer_cut(struct pre_tokenizer_run *r, const struct normal_text *text, int64_t start, int64_t stop);
void pre_tokenizer_end(struct pre_tokenizer_run *r);

/* BertPreTokenizer's step. */
pre_tokenizer_fn pre_tokenize_bert;

#endif
