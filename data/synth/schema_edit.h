/*
 * schema_edit.h - ambiguity from edited schemas: a question that was unambiguous fits two elements of the edited
 * schema.
 *
 * The edits occur in real databases. A column gets a sibling with another modifier ("price" becomes "list price" and
 * "sale price", lexicon.h). A table gets an archive or is split by status or year. A foreign key gets a second role. A
 * table of details repeats columns. Every edited schema has several edits, some of which leave all questions
 * unambiguous ("price currency", "order types"), as in real schemas. A question without a modifier is ambiguous on the
 * edited schema, and the same question with a modifier ("the sale price") is not.
 *
 * A contrast set has two questions on two schemas, each question ambiguous on one schema. Hard negatives are questions
 * with a modifier.
 */
#ifndef DATA_SYNTH_SCHEMA_EDIT_H
#define DATA_SYNTH_SCHEMA_EDIT_H

#include "data/synth/natural.h"

/* A natural_generator. natural_options.edits bounds the contrast sets of one database. */
int schema_edit_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
