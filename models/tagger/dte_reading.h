/*
 * dte_reading.h - the network's scores of one question, pooled over the windows of its tables.
 *
 * Emissions of a word are the mean over the windows. Concepts of all windows are one list, and the meanings of a
 * word are one softmax over that list. Keywords, and tables that several windows show, take their maximum over the
 * windows. A reading borrows its item; the caller releases it.
 */
#ifndef MODELS_TAGGER_DTE_READING_H
#define MODELS_TAGGER_DTE_READING_H

#include "models/net/dte.h"
#include "models/tagger/dte_item.h"

/* Scores of one window with E entities, from dte_forward. */
struct dte_window_scores {
    const float *concept;  /* [DTE_KEYWORDS + E] */
    const float *score;    /* [DTE_KEYWORDS + E, words + 1] of pairs, before softmax */
    const float *emission; /* [words, tags] */
};

/* The pooled scores. Concepts are numbered keywords first. */
struct dte_reading {
    const struct dte_item *item;
    struct tag_concept *concepts; /* [n_concepts] after the keywords; score: probability that the question means it */
    int n_words, n_concepts, n_tags;
    bool keywords;  /* the network's keywords are trained, so they may take words */
    float *concept; /* [DTE_KEYWORDS + n_concepts] probability that the question means it */
    float
        *grounding; /* [DTE_KEYWORDS + n_concepts, words] softmax over a concept's words and [SEP]; [SEP] is left out */
    float *meaning; /* [n_concepts, words] softmax over the concepts that a word may mean */
    float *emission; /* [words, tags] */
};

/* Call init, then add for each window of the item in order, then finish. keywords: see struct dte_reading. */
void dte_reading_init(struct dte_reading *r, const struct dte_item *item, int tags, bool keywords);
void dte_reading_add(struct dte_reading *r, int window, const struct dte_window_scores *s);
void dte_reading_finish(struct dte_reading *r);
void dte_reading_release(struct dte_reading *r);

/* Whether an occurrence of the value covers the word. */
bool dte_value_covers(const struct dte_item *item, const struct tag_concept *value, int word);
/* Name of a table or column. */
const char *dte_concept_name(const struct dte_item *item, const struct tag_concept *concept);
/* Whether the last word is the mark that ends a sentence. */
bool dte_ends_with_mark(const struct dte_item *item);

#endif
