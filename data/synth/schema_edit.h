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
#include "data/synth/schema_edit_find.h"

/* A natural_generator. natural_options.edits bounds the contrast sets of one database. */
int schema_edit_make(struct natural *n, const struct natural_corpus *c, struct error *err);

/* The parts of the generator that several.h shares. */

enum edit_label { EDIT_UNKNOWN, EDIT_CLEAR, EDIT_AMBIGUOUS };

/* Reads the words of all names, and the questions of the database that the split may have. */
void edit_database_read(struct edit_database *d, struct natural *n, const struct spider_corpus *questions,
                        enum data_split split);
void edit_database_release(struct edit_database *d);
/* Judges the question for one edit alone. */
enum edit_label edit_judge_one(const struct edit_database *d, const struct edit_question *q, const struct edit *e);
/* Allocates the arrays of a version without edits. */
void edit_version_init(struct edit_version *v, const struct edit_database *d);
/* Builds the schema with the enabled edits. Returns false if two names are equal. */
bool edit_version_build(struct edit_database *d, struct edit_version *v, const char *db_id);
void edit_version_release(struct edit_version *v);
/* Finds the two elements that the edit makes ambiguous: their names, which d keeps, and their indices, tables first. */
bool edit_alternatives(struct edit_database *d, const struct edit_version *v, const struct edit *e,
                       const char *names[2], int elements[2]);
/* The ambiguity type of questions that an edit of this type makes ambiguous. */
enum sia_type edit_sia_type(enum edit_type type);

#endif
