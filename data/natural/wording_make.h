/*
 * wording_make.h - questions whose words leave two readings, and counterparts that leave one.
 *
 * Attachment: "the teachers and students older than 20" (whom does the condition bind?), where both tables have the
 * column; where only one has it, or the condition stands first, the question is clear.  Scope: "which courses do all
 * students take" (one answer for all, or one for each?), where a table of pairs joins the two.  Vague: "recent orders"
 * and "large cities", which need a number that the question does not say.
 */
#ifndef DATA_NATURAL_WORDING_MAKE_H
#define DATA_NATURAL_WORDING_MAKE_H

#include "data/natural/natural.h"

/* A natural_maker: examples of the slice "own" with a linguistic kind, on the corpus' schemas as they are.
 * natural_options.wording bounds the ambiguous ones of each kind on one schema. */
int wording_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
