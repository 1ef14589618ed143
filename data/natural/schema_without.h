/*
 * schema_without.h - a schema without some of its columns, or with another name for one.
 */
#ifndef DATA_NATURAL_SCHEMA_WITHOUT_H
#define DATA_NATURAL_SCHEMA_WITHOUT_H

#include "data/schema/schema.h"

/* dropped: [n_columns].  Keys of a dropped column are dropped, and so is a table that keeps no column.  Names and types
 * stay.  The caller ends out with schema_release. */
void schema_without(struct schema *out, const struct schema *s, const bool *dropped, const char *db_id);
/* The same schema, in which one column has another name; its text is derived from the name. */
void schema_with_name(struct schema *out, const struct schema *s, int column, const char *name, const char *db_id);

#endif
