/*
 * dte_batch.h - windows of questions as tensors for the network, and what it should say of them.
 */
#ifndef MODELS_TAGGER_DTE_BATCH_H
#define MODELS_TAGGER_DTE_BATCH_H

#include "kernels/batch.h"
#include "models/net/dte.h"
#include "models/tagger/dte_item.h"

/* A window to read, with the words [from, to) of the question erased; none where they are equal. */
struct dte_sequence {
    const struct dte_item *item;
    int window, from, to;
};

/* How many of each the sequences have. */
struct dte_sizes {
    int64_t sequences, tokens, rows, words, entities, pairs, meanings;
};
struct dte_sizes dte_sizes_of(const struct dte_sequence *s, int n);

/* unk: the id that erased pieces become.  Of sequences beside one another. */
void dte_text_build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config, int32_t unk,
                    struct dte_text *text);
/* The same for dte_concepts and nothing else: no row, pair or meaning of a word. */
void dte_concepts_build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config,
                        int32_t unk, struct dte_text *text);

/*
 * Labels of one sequence: concepts are the keywords, then the window's entities; words those of the item.  All arrays
 * are as long as the network's outputs for it, weights are means over it.
 */
struct dte_target {
    float *concept, *concept_weight;     /* [concepts] */
    float *grounding, *grounding_weight; /* [concepts, words + 1] */
    float *meaning, *meaning_weight;     /* [words, entities] */
    int32_t *tags;                       /* [words] bits */
    double links;                        /* 1 where a weight of `meaning` is not 0 */
};

/* Of what the whole batch's losses weigh; each is a mean over the examples. */
struct dte_weights {
    double concept, grounding, meaning, tags;
};
void dte_labels_build(struct ctx *c, const struct dte_sequence *s, const struct dte_target *const *targets, int n,
                      const struct dte_weights *w, struct dte_labels *labels);

#endif
