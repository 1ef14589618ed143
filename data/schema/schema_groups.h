/*
 * schema_groups.h - tables that have to do with one another, by their foreign keys.
 *
 * Tables that are appended to a schema without a key to it change nothing in what is counted or read by groups.
 */
#ifndef DATA_SCHEMA_SCHEMA_GROUPS_H
#define DATA_SCHEMA_SCHEMA_GROUPS_H

#include "data/schema/schema.h"

/* [n_tables] for each table one that stands for its group: those that foreign keys join with it, over others too; all
 * tables without a key to or from another are one group more, so that a schema without keys is one.  The caller
 * frees. */
int *schema_groups(const struct schema *s);

#endif
