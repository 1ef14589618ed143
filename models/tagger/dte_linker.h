/*
 * dte_linker.h - the greedy linker (spec of DTE, 4.4): which one concept each word of a question says, or none.
 *
 * Training makes the tags that it has no labels for out of its own links, and the ETA form of the tagger is nothing
 * else.  Words and names are compared by the stems of data/span/spoken.h.
 */
#ifndef MODELS_TAGGER_DTE_LINKER_H
#define MODELS_TAGGER_DTE_LINKER_H

#include "data/span/spoken.h"
#include "models/tagger/dte_reading.h"

/* What a word says. */
struct dte_term {
    int concept; /* of the reading, keywords first; -1: nothing */
    double confidence;
};

/* A word of this grounding is linked, and of ETA's several meanings each has this much. */
extern const double dte_link_threshold;

/* terms: of each word. */
void dte_link(struct dte_term *terms, const struct dte_reading *r);

/* Stems of all words, "" of a mark; the caller frees. */
char (*dte_word_stems(const struct dte_item *item))[SPOKEN_STEM];

#endif
