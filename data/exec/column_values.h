/*
 * column_values.h - the distinct values of every column of a database, as a schema text shows them; and a few values of
 * one column, as people write them.
 */
#ifndef DATA_EXEC_COLUMN_VALUES_H
#define DATA_EXEC_COLUMN_VALUES_H

#include "data/schema/schema.h"
#include "data/util/strings.h"

enum { COLUMN_VALUES_MAX = 1000 }; /* of one column */

struct exec_db;

struct column_values {
    const char ***columns; /* by column of the schema: its values, strings in double quotes, others bare */
    int *counts;
    int n_columns;
    struct strings text;
};

/* Reads them from the SQLite file of that schema, for 30 seconds at most, of a view for 2; a warning names what takes
 * longer.  A table or column that the file lacks has none.  -1 with EXIT_CODE_DATA when the file is no database. */
int column_values_read(struct column_values *v, const struct schema *s, const char *path, struct error *err);
void column_values_release(struct column_values *v);

enum { SAMPLE_VALUES = 3, SAMPLE_ROWS = 50, SAMPLE_LETTERS = 24 };

/* Up to SAMPLE_VALUES different values of a column, from its first SAMPLE_ROWS rows, read when first asked for. */
struct column_samples {
    const struct schema *schema; /* borrowed */
    struct exec_db *db;
    const char **texts; /* [n_columns], NULL when not read yet */
    struct strings pool;
    double spent; /* seconds, of 10; a column that takes more than 2 ends its table's */
};

/* The database at path has that schema.  -1 with EXIT_CODE_DATA. */
int column_samples_open(struct column_samples *s, const struct schema *schema, const char *path, struct error *err);
/* "'Joe Sharp', 'Timbaland'", long ones cut; "" when the column has nothing to show.  Owned by s. */
const char *column_samples_text(struct column_samples *s, int column);
void column_samples_close(struct column_samples *s);

#endif
