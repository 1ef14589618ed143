/*
 * lm_data.h - training and validation conversations as tokens.
 */
#ifndef TRAIN_LM_LM_DATA_H
#define TRAIN_LM_LM_DATA_H

#include "models/lm/lm_batch.h"
#include "models/lm/lm_text.h"
#include "train/run/sampler.h"

struct lm_example {
    struct lm_text text; /* token ids, and a mask of the completion's tokens */
    json_t *record;      /* the record, if kept */
    int64_t targets;     /* tokens to predict */
};

struct lm_data {
    struct lm_example *items;
    int n, cap;
    int64_t tokens, targets, longest;
    int64_t *lengths;             /* [n] tokens of each */
    struct prefix_order prefixes; /* filled by lm_data_sort */
    int dropped;                  /* conversations longer than `length`, left out */
    int cut;                      /* records shortened to `length` */
    uint64_t hash;
};

/* Reads conversations with all their completions. A bad record is an error. Conversations of more than `length`
 * tokens are left out and counted; for an encoder-decoder, each side is truncated to `length` instead. keep: keeps
 * the records. -1 with EXIT_CODE_DATA, also when nothing is left. Release d either way. */
int lm_data_read(struct lm_data *d, const char *path, const struct llama_model *m, int64_t length, bool keep,
                 struct error *err);
struct llama_text lm_data_text(const struct lm_data *d, int example);
/* Fills prefixes. */
void lm_data_sort(struct lm_data *d);
/* Keeps the first n examples. */
void lm_data_cut(struct lm_data *d, int64_t n);
void lm_data_release(struct lm_data *d);

/* Prints the first n examples, one token a line: id, a mark if it is a target, text. */
void lm_data_show(const struct lm_data *d, const struct tokenizer *t, int64_t n);

#endif
