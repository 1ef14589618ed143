/*
 * practice_domains.h - the small written domains of synthetic data.
 *
 * A domain has a schema, rows, and two synonyms for every table and column. Questions call a column by the words of
 * its name ("loan_date": loan date), which fit both synonyms.
 */
#ifndef DATA_SYNTH_PRACTICE_DOMAINS_H
#define DATA_SYNTH_PRACTICE_DOMAINS_H

#include "kernels/base.h"

#include <stdbool.h>

enum { PRACTICE_TABLES = 5, PRACTICE_COLUMNS = 9 };

/* The content of a column, which decides the questions about it. Roles are bits, so that a template can accept several.
 */
enum practice_role {
    PRACTICE_KEY = 1,     /* row numbers from 1 */
    PRACTICE_LINK = 2,    /* a foreign key */
    PRACTICE_NAME = 4,    /* text that identifies the rows */
    PRACTICE_CLASS = 8,   /* text that many rows share */
    PRACTICE_NUMBER = 16, /* a measure, to be added up and compared */
    PRACTICE_TIME = 32    /* a date, a year or a time of day, to be compared */
};

struct practice_column {
    const char *name;
    enum practice_role role;
    const char *synonyms[2]; /* NULL for keys and links */
    const char *values;      /* separated by |; row i has value i modulo their number; NULL for keys and links */
    const char *table;       /* the table that a link refers to, else NULL */
};

struct practice_table {
    const char *name, *plural; /* plural: as questions write it */
    const char *synonyms[2];
    struct practice_column
        columns[PRACTICE_COLUMNS]; /* ends with a NULL name unless full; the first column is the key */
};

struct practice_domain {
    const char *name; /* NULL ends a list */
    struct practice_table tables[PRACTICE_TABLES];
};

/* Returns the domains in a fixed order, NULL behind the last. */
const struct practice_domain *practice_domain(int i);

int practice_n_tables(const struct practice_domain *d);
int practice_n_columns(const struct practice_table *t);
/* Returns the index of the table with this name. */
int practice_table_find(const struct practice_domain *d, const char *name);
int practice_n_values(const struct practice_column *c);
/* Writes value i modulo the number of values. */
void practice_value(char *out, size_t size, const struct practice_column *c, int i);
/* Returns true if the value needs no quotes in SQL. */
bool practice_is_number(const char *value);

#endif
