/*
 * hard_negative.h - original questions that are unambiguous beside similar columns.
 *
 * A question qualifies if each column of its statement is distinct for a reader. Such a column has no namesake within
 * reach, or the question distinguishes it: by a word of its own name, by its table's name, or by its whole name.
 */
#ifndef DATA_SYNTH_HARD_NEGATIVE_H
#define DATA_SYNTH_HARD_NEGATIVE_H

#include "data/synth/natural.h"

/* A natural_generator that runs last: it adds natural_options.clear hard negatives for each ambiguous question of the
 * corpus. */
int hard_negative_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
