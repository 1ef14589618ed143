/*
 * lm_data.h - conversations as tokens: what language models learn from.
 */
#ifndef TRAIN_LM_LM_DATA_H
#define TRAIN_LM_LM_DATA_H

#include "models/lm/lm_batch.h"
#include "models/lm/lm_text.h"
#include "train/run/sampler.h"

struct lm_example {
    struct lm_text text; /* its ids, and which of them are the answer's */
    json_t *record;      /* the record itself, when kept */
    int64_t targets;     /* tokens to predict */
};

struct lm_data {
    struct lm_example *items;
    int n, cap;
    int64_t tokens, targets, longest;
    int64_t *lengths;             /* [n] tokens of each */
    struct prefix_order prefixes; /* after lm_data_sort */
    int dropped;                  /* longer than `length` */
    int cut;                      /* shortened to it */
    uint64_t hash;
};

/* Reads conversations with all their answers; a bad record is an error.  Those longer than `length` tokens are left out
 * and counted; of an encoder-decoder's, each side is cut to that length instead.  keep: records stay beside their
 * tokens.  -1 with EXIT_CODE_DATA, also when nothing is left. */
int lm_data_read(struct lm_data *d, const char *path, const struct llama_model *m, int64_t length, bool keep,
                 struct error *err);
struct llama_text lm_data_text(const struct lm_data *d, int example);
/* Fills prefixes. */
void lm_data_sort(struct lm_data *d);
/* Leaves the first n. */
void lm_data_cut(struct lm_data *d, int64_t n);
void lm_data_release(struct lm_data *d);

/* The first n examples, a token a line: id, whether it is to be predicted, text. */
void lm_data_show(const struct lm_data *d, const struct tokenizer *t, int64_t n);

#endif
