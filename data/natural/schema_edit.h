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

#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"

/* Adds examples and their schemas to out, which the caller releases either way.  Databases are split into folds at
 * random.  Ids begin with "edit"; schemas are called after their database.  Same seed: the same examples.  Questions
 * with SQL that is not understood are left out.  -1 where out has such a schema already. */
int schema_edits_make(struct dataset *out, const struct spider_corpus *questions, const struct schema_set *schemas,
                      uint64_t seed, struct error *err);

#endif
