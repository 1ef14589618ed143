/*
 * column_values.h - all distinct values of each column for schema texts, and a few sample values of a column for
 * readers.
 */
#ifndef DATA_DB_COLUMN_VALUES_H
#define DATA_DB_COLUMN_VALUES_H

#include "data/base/strings.h"
#include "data/schema/schema.h"

enum { COLUMN_VALUES_MAX = 1000 }; /* values of one column */

struct exec_db;

struct column_values {
    const char ***columns; /* [n_columns]: the values of each column; strings are in double quotes */
    int *counts;
    int n_columns;
    struct strings text;
};

/* Reads the values from the SQLite file of the schema, for at most 30 seconds in all and 2 seconds for a view. A
 * warning names the tables that take longer. Tables and columns missing in the file have no values. Returns -1 with
 * EXIT_CODE_DATA if the file is not a database. */
int column_values_read(struct column_values *v, const struct schema *s, const char *path, struct error *err);
void column_values_release(struct column_values *v);

enum { SAMPLE_VALUES = 3, SAMPLE_ROWS = 50, SAMPLE_CHARACTERS = 24 };

/* Up to SAMPLE_VALUES distinct values from the first SAMPLE_ROWS rows of each column, read on first use. */
struct column_samples {
    const struct schema *schema; /* borrowed */
    struct exec_db *db;
    const char **texts; /* [n_columns], NULL until read */
    struct strings pool;
    double spent; /* seconds, at most 10; a column that takes more than 2 ends sampling of its table */
};

/* Opens the database at path, which has that schema. Returns -1 with EXIT_CODE_DATA. */
int column_samples_open(struct column_samples *s, const struct schema *schema, const char *path, struct error *err);
/* Returns "'Joe Sharp', 'Timbaland'", with long values truncated, or "" if there are none. s owns the text. */
const char *column_samples_text(struct column_samples *s, int column);
void column_samples_close(struct column_samples *s);

#endif
