/*
 * linguistic.h - questions with linguistic ambiguity, and unambiguous counterparts.
 *
 * Attachment: in "the teachers and students older than 20" the condition may apply to both tables, if both have the
 * column. If only one has it, or if the condition comes first, the question is unambiguous. Scope: "which courses do
 * all students take" asks for one answer for all students or one for each, if a table of pairs joins the two.
 * Vagueness: "recent orders" and "large cities" need a number that the question does not give.
 */
#ifndef DATA_SYNTH_LINGUISTIC_H
#define DATA_SYNTH_LINGUISTIC_H

#include "data/synth/natural.h"

/* A natural_generator: adds examples of the slice "custom" with a linguistic type on the unchanged schemas.
 * natural_options.wording bounds the ambiguous ones of each type on one schema.  Schemas without foreign keys are
 * omitted.  Their tables belong to nothing and may have invented names, as those made of WikiSQL have.  Detectors that
 * learnt from questions about such tables did not recognise the questions of people. */
int linguistic_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
