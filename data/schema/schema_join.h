/*
 * schema_join.h - several schemas as one: the tables of others behind those of a first one.
 *
 * Nothing changes its order, and keys stay within the schema that they are of, so the elements of the first schema are
 * the first tables and the first columns.
 */
#ifndef DATA_SCHEMA_SCHEMA_JOIN_H
#define DATA_SCHEMA_SCHEMA_JOIN_H

#include "data/schema/schema.h"

/* Of n schemas, at least one.  A table whose name is taken by then, as SQLite compares names, gets "_2" behind it, or
 * the first number from there on that leaves a name which no schema has; its words stay.  The result has the db_id of
 * the first and ends with schema_release (schema_build.h). */
void schema_join(struct schema *out, const struct schema *const *schemas, int n);

#endif
