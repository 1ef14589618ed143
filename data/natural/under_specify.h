/*
 * under_specify.h - questions that name one of two rival columns, without the words that tell which one.
 *
 * "What is the start date of each booking?" becomes "What is the date of each booking?".  It is ambiguous on a schema
 * with both dates and clear on a schema with one of them.  Two such questions of one database about different columns
 * are crossed: each stands on a schema that has both of its own columns and one of the other's, and on the schema where
 * it is the other way round.  The question as it was is clear beside both columns.
 */
#ifndef DATA_NATURAL_UNDER_SPECIFY_H
#define DATA_NATURAL_UNDER_SPECIFY_H

#include "data/natural/natural_impl.h"

/* A natural_maker. */
int under_specify_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
