/*
 * several.h - questions with none, one, and two or three independent ambiguities.
 *
 * A question names two or three elements. Edits (schema_edit.h) are composed: each replaces another element, mentioned
 * by other words, by two that fit these words. A column, a foreign key or a table becomes two, or a new table repeats a
 * column. The question is then ambiguous once for each edit, and its gold statements are the product of the
 * alternatives.
 *
 * Two questions of a database with as many edits form a contrast set on four schemas: with all edits of one question,
 * or with one of them. Edits that concern neither question fill up the number of doubled elements. Half of the
 * examples of each question and each schema are ambiguous, and the number of doubled elements does not reveal how
 * often. A hard negative is a question with all its ambiguities, and with a modifier for each ("the list price").
 *
 * If the corpus has rows, the edited database is made: all statements must run, and each two of a question must give
 * different rows.
 */
#ifndef DATA_SYNTH_SEVERAL_H
#define DATA_SYNTH_SEVERAL_H

#include "data/synth/natural.h"

/* Maximum number of ambiguities of a question, and of its statements. */
enum { SEVERAL_MAX = 1 + EXAMPLE_MAX_FURTHER, SEVERAL_SQL = 1 << SEVERAL_MAX };

/* A natural_generator. natural_options.several bounds the questions of one database. */
int several_make(struct natural *n, const struct natural_corpus *c, struct error *err);

#endif
