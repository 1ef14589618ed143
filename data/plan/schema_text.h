/*
 * schema_text.h - a schema out of "table : column , column | table : ...", as AmbiQT's records bring it along.
 *
 * Such a text says neither types nor keys: they are those of the original schema, whose tables and columns go by their
 * names, a table under another name by its columns.
 * Fragments of cell values that stand in it, which have a quote or a parenthesis, are no columns.
 */
#ifndef DATA_PLAN_SCHEMA_TEXT_H
#define DATA_PLAN_SCHEMA_TEXT_H

#include "data/schema/schema.h"

/* The one schema of set, which starts as { 0 } and is closed by the caller, after an error too.  original: that of
 * db_id, or NULL.  -1 with EXIT_CODE_DATA: a table has no ":" or no name, or there is none. */
int schema_of_text(struct schema_set *set, const char *db_id, const char *text, const struct schema *original,
                   struct error *err);

/* The text without a table, or with `column` not NULL without that column of it, names in any case; a table whose last
 * column goes, goes too.  Blanks stay as the text has them.  The caller frees. */
char *schema_text_without(const char *text, const char *table, const char *column);

#endif
