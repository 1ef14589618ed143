/*
 * dte_linker.h - the greedy linker: links each word of a question to one concept, or to none (DTE, Wang et al.
 * 2023).
 *
 * Training uses its links as tags where labels are missing. The ETA baseline consists of the linker alone. Words and
 * names are compared by their stems (data/span/spoken.h).
 */
#ifndef MODELS_TAGGER_DTE_LINKER_H
#define MODELS_TAGGER_DTE_LINKER_H

#include "data/span/spoken.h"
#include "models/tagger/dte_reading.h"

/* The link of a word. */
struct dte_term {
    int concept; /* index in the reading, keywords first; -1: none */
    double confidence;
};

/* Minimum grounding of a linked word. In ETA, each of several meanings has at least this much. */
extern const double dte_link_threshold;

/* Writes the link of each word to terms. Keywords take no word if they are not trained. */
void dte_link(struct dte_term *terms, const struct dte_reading *r);

/* Returns the stems of all words; "" for punctuation. The caller frees them. */
char (*dte_word_stems(const struct dte_item *item))[SPOKEN_STEM];

#endif
