/*
 * dte_reading.h - what the network says of one question, pooled over the windows of its tables.
 *
 * A word's emissions are the mean over the windows, which is that of its states, the map from one to the other being
 * linear; concepts stand side by side, and what a word may mean is one softmax over those of all windows.  A keyword,
 * and a table that several windows tell, has the most that one of them gives it.
 */
#ifndef MODELS_TAGGER_DTE_READING_H
#define MODELS_TAGGER_DTE_READING_H

#include "models/net/dte.h"
#include "models/tagger/dte_item.h"

/* Of one window with E entities, as dte_forward gives it. */
struct dte_window_scores {
    const float *concept;  /* [DTE_KEYWORDS + E] */
    const float *score;    /* [DTE_KEYWORDS + E, words + 1]: of pairs, before any softmax */
    const float *emission; /* [words, tags] */
};

/* Borrows the item.  Concepts are numbered keywords first. */
struct dte_reading {
    const struct dte_item *item;
    struct tag_concept *concepts; /* [n_concepts] behind the keywords; score: that the question means it */
    int n_words, n_concepts, n_tags;
    float *concept;   /* [DTE_KEYWORDS + n_concepts]: that the question means it */
    float *grounding; /* [DTE_KEYWORDS + n_concepts, words]: softmax over a concept's words and [SEP], without this */
    float *meaning;   /* [n_concepts, words]: softmax over what a word may mean */
    float *emission;  /* [words, tags] */
};

/* Empty, then each of the item's windows in order, then what only all of them together tell. */
void dte_reading_init(struct dte_reading *r, const struct dte_item *item, int tags);
void dte_reading_add(struct dte_reading *r, int window, const struct dte_window_scores *s);
void dte_reading_finish(struct dte_reading *r);
void dte_reading_release(struct dte_reading *r);

/* Words that reach into code points [start, end): from *from up to before *to. */
void dte_words_at(const struct dte_item *item, int start, int end, int *from, int *to);
/* Whether a match of this value covers the word. */
bool dte_value_covers(const struct dte_item *item, const struct tag_concept *value, int word);
/* What a table or a column is called. */
const char *dte_concept_name(const struct dte_item *item, const struct tag_concept *concept);
/* Whether the last word is the mark that ends a sentence. */
bool dte_ends_with_mark(const struct dte_item *item);

#endif
