/*
 * ask_columns.h - template questions about rival columns (rivals.h) of real schemas.
 *
 * The schemas and their rivals are real, and the questions are generated in many styles. Each question has a short
 * form without the words that distinguish the rivals, and a full form. A third table with keys to both asks for rivals
 * of two tables: "List the name of each order", where product and customer have a name.
 */
#ifndef DATA_SYNTH_ASK_COLUMNS_H
#define DATA_SYNTH_ASK_COLUMNS_H

#include "data/synth/natural.h"

/* A natural_generator. */
int ask_columns_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
