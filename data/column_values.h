/*
 * column_values.h - the distinct values of every column of a database, as a schema text shows them.
 */
#ifndef DATA_COLUMN_VALUES_H
#define DATA_COLUMN_VALUES_H

#include "data/schema.h"
#include "data/strings.h"

enum { COLUMN_VALUES_MAX = 1000 }; /* of one column */

struct column_values {
    const char ***columns; /* by column of the schema: its values, strings in double quotes, others bare */
    int *counts;
    int n_columns;
    struct strings text;
};

/* Reads them from the SQLite file of that schema.  A table or column that the file lacks has none.  -1 with
 * EXIT_CODE_DATA when the file is no database. */
int column_values_read(struct column_values *v, const struct schema *s, const char *path, struct error *err);
void column_values_release(struct column_values *v);

#endif
