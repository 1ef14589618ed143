/*
 * dte_batch.h - packs windows of questions and their labels as tensors for the network.
 *
 * The tensors lie in the step's arenas. Items, targets and the layout are borrowed.
 */
#ifndef MODELS_TAGGER_DTE_BATCH_H
#define MODELS_TAGGER_DTE_BATCH_H

#include "kernels/batch.h"
#include "models/net/dte.h"
#include "models/tagger/dte_item.h"

/* A window to read. The question's words [from, to) are erased; from = to: none. */
struct dte_sequence {
    const struct dte_item *item;
    int window, from, to;
};

/* Sizes of a batch of sequences. */
struct dte_sizes {
    int64_t sequences, tokens, rows, words, entities, pairs, meanings;
};
struct dte_sizes dte_sizes_of(const struct dte_sequence *s, int n);

/* Builds the input of n sequences. unk: the id that replaces erased word pieces. */
void dte_text_build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config, int32_t unk,
                    struct dte_text *text);
/* The same for dte_concepts alone: no row, pair or meaning of a word. */
void dte_concepts_build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config,
                        int32_t unk, struct dte_text *text);

/* Labels of one sequence. Concepts are the keywords, then the window's entities; words are the item's. Each array
 * has the shape of the network's output. Weights are means over the sequence. */
struct dte_target {
    float *concept, *concept_weight;     /* [concepts] */
    float *grounding, *grounding_weight; /* [concepts, words + 1] */
    float *meaning, *meaning_weight;     /* [words, entities] */
    int32_t *tags;                       /* [words] bits of the allowed tags */
    double links;                        /* 1 if a weight of `meaning` is not 0 */
};

/* Weights of the losses. Each loss is a mean over the examples. */
struct dte_weights {
    double concept, grounding, meaning, tags;
};
void dte_labels_build(struct ctx *c, const struct dte_sequence *s, const struct dte_target *const *targets, int n,
                      const struct dte_weights *w, struct dte_labels *labels);

#endif
