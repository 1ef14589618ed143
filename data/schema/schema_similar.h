/*
 * schema_similar.h - which tables and which columns of a schema have names that look alike.
 */
#ifndef DATA_SCHEMA_SCHEMA_SIMILAR_H
#define DATA_SCHEMA_SCHEMA_SIMILAR_H

#include "data/schema/element_name.h"

enum { SIMILAR_MAX = 8 }; /* an element picks at most this many others */

struct similar_pair {
    int a, b; /* a < b */
};

/*
 * Pairs among names [from, to) that share their words, their last word, all words of one of them, or half of their
 * trigrams; each name keeps its SIMILAR_MAX best.  Names meet through their words and ends, not each with each, so the
 * time is linear.  Appends to *pairs, an xmalloc'ed array that the caller frees; sorted, no repeats.
 */
void similar_names(const struct element_name *names, int from, int to, struct similar_pair **pairs, int *n, int *cap);

#endif
