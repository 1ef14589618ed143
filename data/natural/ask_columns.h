/*
 * ask_columns.h - questions from templates about rival columns of real schemas.
 *
 * The schemas are people's, and so are the rivals in them; the questions are ours, in many styles.  Each question has a
 * short form, without the words that tell the rivals apart, and a full one.  Rivals of two tables are asked for by a
 * third table that has keys to both: "List the name of each order", where product and customer have a name.
 */
#ifndef DATA_NATURAL_ASK_COLUMNS_H
#define DATA_NATURAL_ASK_COLUMNS_H

#include "data/natural/natural.h"

/* A natural_maker. */
int ask_columns_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
