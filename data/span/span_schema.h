/*
 * span_schema.h - the columns of a question for a tagger as a schema, and their elements in a schema.
 *
 * Records may bring columns instead of naming a database.  A model that reads schemas needs a schema of them, and the
 * place of each column in the schema that it has read.
 */
#ifndef DATA_SPAN_SPAN_SCHEMA_H
#define DATA_SPAN_SPAN_SCHEMA_H

#include "data/schema/schema_build.h"
#include "data/span/span_record.h"

/* Returns the name of a table or a column in the schema.  The caller frees it. */
typedef char *span_name_fn(void *user, const char *name);

#define SPAN_TABLE "table" /* name of the table of columns without one */

/* Makes a schema of columns [n], as far as their names go: without keys.  Columns of one table need not
 * be neighbours.  name: NULL keeps the names.  The caller releases the schema. */
void span_schema_init(struct schema *s, const char *db_id, const struct span_column *columns, int n, span_name_fn *name,
                      void *user);

/* Finds columns [n] in a schema by their names in SQL, or by those of the record.  element: [n] tables first, then
 * columns; -1: the schema has no such column.  Equal names have the element of the first one. */
void span_schema_elements(int *element, const struct span_column *columns, int n, const struct schema *s);

#endif
