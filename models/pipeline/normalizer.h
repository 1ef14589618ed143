/*
 * normalizer.h - the first part of a tokenizer: steps that change the text, one after the other.
 *
 * Every step reads one text and writes another, with the place each byte came from.  The first step sees the text as it
 * was given and makes valid UTF-8 of it.
 */
#ifndef MODELS_PIPELINE_NORMALIZER_H
#define MODELS_PIPELINE_NORMALIZER_H

#include "models/pipeline/component.h"
#include "models/pipeline/text_pattern.h"
#include "models/unicode/normal_text.h"

struct charsmap;
struct normalizer_step;
/* Replaces out with the changed bytes [start, end) of text; origins count from the start of text. */
typedef void normalizer_fn(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                           struct normal_text *out);

struct normalizer_step {
    normalizer_fn *run;
    enum normal_form form;
    struct bert_normalizer bert;
    bool left, right;            /* which ends a strip is about */
    char *content;               /* what is put in */
    struct text_pattern pattern; /* what is replaced */
    struct charsmap *charsmap;
};

struct normalizer {
    struct normalizer_step *steps;
    int count, cap;
};

/* The "normalizer" of a tokenizer.json.  -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA. */
int normalizer_read(struct normalizer *n, const json_t *root, const char *where, struct error *err);
/* The one step there is when that is BertNormalizer, whose settings may then be changed before the first run. */
struct bert_normalizer *normalizer_bert(const struct normalizer *n);
/* Does it put something before a text? */
bool normalizer_prepends(const struct normalizer *n);
void normalizer_release(struct normalizer *n);

/* What may change with a run: out->text is the result.  Start as { 0 } with out.track set if need be. */
struct normalizer_work {
    struct normal_text out, last;
};
void normalizer_run(const struct normalizer *n, const char *text, int64_t start, int64_t end,
                    struct normalizer_work *w);
void normalizer_work_release(struct normalizer_work *w);

#endif
