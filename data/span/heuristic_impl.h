/*
 * heuristic_impl.h - what the files behind heuristic.h share: noun phrases, by the words around them.
 */
#ifndef DATA_SPAN_HEURISTIC_IMPL_H
#define DATA_SPAN_HEURISTIC_IMPL_H

#include "data/span/spoken.h"

/* Numbers of words. */
struct noun_phrase {
    int first, last;
};

/* The next behind p, which begins with a last of -1: words that are not taken, behind an article, a preposition, a
 * superlative or the like, up to a verb or a word that names nothing; none that taken words follow.  False where there
 * is no more. */
bool noun_phrase_next(struct noun_phrase *p, const char *question, const struct spoken *words, const bool *taken);

#endif
