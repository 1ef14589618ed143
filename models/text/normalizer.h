/*
 * normalizer.h - the normaliser of tokenizer.json: changes a text by a list of steps.
 *
 * Each step reads one text and writes another, together with the origin of each byte. The first step makes the text
 * valid UTF-8. A normaliser does not change after it is read, so threads may share it; each needs a normalizer_work of
 * its own.
 */
#ifndef MODELS_TEXT_NORMALIZER_H
#define MODELS_TEXT_NORMALIZER_H

#include "models/text/component.h"
#include "models/text/normal_text.h"
#include "models/text/text_pattern.h"

struct charsmap;
struct normalizer_step;
/* Replaces out by the changed bytes [start, end) of text. Origins count from the start of text. */
typedef void normalizer_fn(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                           struct normal_text *out);

struct normalizer_step {
    normalizer_fn *run;
    enum normal_form form;
    struct bert_normalizer bert;
    bool left, right;            /* Strip: at the start, at the end */
    char *content;               /* Prepend and Replace: the inserted text */
    struct text_pattern pattern; /* Replace: the replaced text */
    struct charsmap *charsmap;
};

struct normalizer {
    struct normalizer_step *steps;
    int count, cap;
};

/* Reads "normalizer" of a tokenizer.json. Returns -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA. */
int normalizer_read(struct normalizer *n, const json_t *root, const char *where, struct error *err);
/* Returns the settings if BertNormalizer is the only step, else NULL. They may be changed before the first run; call
 * bert_normalizer_prepare afterwards. */
struct bert_normalizer *normalizer_bert(const struct normalizer *n);
/* Returns whether a Prepend step puts text before each text. */
bool normalizer_prepends(const struct normalizer *n);
void normalizer_release(struct normalizer *n);

/* Buffers of a run; out holds the result. Start as { 0 }, with out.track set if origins are needed. */
struct normalizer_work {
    struct normal_text out, last;
};
void normalizer_run(const struct normalizer *n, const char *text, int64_t start, int64_t end,
                    struct normalizer_work *w);
void normalizer_work_release(struct normalizer_work *w);

#endif
