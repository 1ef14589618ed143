/*
 * schema_edit.h - natural ambiguity made by editing schemas: a question that was clear meets a schema where two
 * elements fit it.
 *
 * Edits are those that databases go through: a column gets a second one with another modifier ("price" becomes
 * "list price" and "sale price", lexicon.h), a table gets an archive or is split by status or year, a key to a table
 * gets a second role, columns are repeated in a table of details.  Every edited schema holds several edits at once, and
 * others that leave all questions clear ("price currency", "order types"), as schemas of people do.  A question says
 * neither modifier and is then ambiguous, or says one ("the sale price") and is clear on the same schema.
 *
 * Examples of the crossed slice come in fours: two questions on two schemas, each ambiguous on one of them.  Those of
 * the presence slice are clear questions that say a modifier.
 */
#ifndef DATA_NATURAL_SCHEMA_EDIT_H
#define DATA_NATURAL_SCHEMA_EDIT_H

#include "data/natural/natural.h"

/* A natural_maker; natural_options.edits bounds the fours of one database. */
int schema_edit_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
