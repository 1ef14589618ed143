/*
 * hard_negative.h - questions as people asked them, where nothing or everything in the schema could be confused.
 *
 * A question is taken where each column that its statement uses either has no namesake within reach, or is told from
 * each namesake: by a word of its own name, by its table's name, or because the question has its whole name.
 */
#ifndef DATA_NATURAL_HARD_NEGATIVE_H
#define DATA_NATURAL_HARD_NEGATIVE_H

#include "data/natural/natural.h"

/* A natural_maker: adds natural_options.clear questions of the presence slice for each ambiguous one of the corpus,
 * the questions of other makers included. */
int hard_negative_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
