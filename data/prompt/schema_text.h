/*
 * schema_text.h - a schema from the text "table : column , column | table : ..." of AmbiQT's records.
 *
 * The text states neither types nor keys. They are taken from the original schema, by the names of tables and columns;
 * a renamed table is found by its columns. Fragments of cell values in the text, which contain a quote or a
 * parenthesis, are ignored.
 */
#ifndef DATA_PROMPT_SCHEMA_TEXT_H
#define DATA_PROMPT_SCHEMA_TEXT_H

#include "data/schema/schema.h"

/* Reads the text into a set of one schema. set starts as { 0 } and is closed by the caller, also on failure. original:
 * the schema of db_id, or NULL. -1 with EXIT_CODE_DATA: a table without ":" or without a name, or no table. */
int schema_of_text(struct schema_set *set, const char *db_id, const char *text, const struct schema *original,
                   struct error *err);

/* Removes a table from the text or, unless column is NULL, a column of it. Names match in any case; a table without
 * columns is removed. Blanks are kept. The caller frees. */
char *schema_text_without(const char *text, const char *table, const char *column);

#endif
