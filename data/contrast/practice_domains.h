/*
 * practice_domains.h - small domains of our own making, from which practice data is put together.
 *
 * A domain is a schema, rows, and for every table and column two other words that may stand for it.  Questions call a
 * column by the words of its name ("loan_date": loan date), which fit both of its other names.
 */
#ifndef DATA_CONTRAST_PRACTICE_DOMAINS_H
#define DATA_CONTRAST_PRACTICE_DOMAINS_H

#include "kernels/base.h"

#include <stdbool.h>

enum { PRACTICE_TABLES = 5, PRACTICE_COLUMNS = 9 };

/* What a column holds, hence what may be asked of it.  Bits, so that a template can take several. */
enum practice_role {
    PRACTICE_KEY = 1,     /* row numbers from 1 */
    PRACTICE_LINK = 2,    /* a foreign key */
    PRACTICE_NAME = 4,    /* text that tells the rows apart */
    PRACTICE_CLASS = 8,   /* text that many rows share */
    PRACTICE_NUMBER = 16, /* a measure: can be added up and compared */
    PRACTICE_TIME = 32    /* a date, a year or a time of day: can be compared */
};

struct practice_column {
    const char *name;
    enum practice_role role;
    const char *synonyms[2]; /* NULL for keys and links */
    const char *values;      /* parted by |, row i takes value i modulo their number; NULL for keys and links */
    const char *table;       /* the table a link refers to, else NULL */
};

struct practice_table {
    const char *name, *plural; /* plural as questions write it */
    const char *synonyms[2];
    struct practice_column columns[PRACTICE_COLUMNS]; /* ends with a NULL name unless full; the first is the key */
};

struct practice_domain {
    const char *name; /* NULL ends a list */
    struct practice_table tables[PRACTICE_TABLES];
};

/* The domains in a fixed order; NULL behind the last. */
const struct practice_domain *practice_domain(int i);

int practice_n_tables(const struct practice_domain *d);
int practice_n_columns(const struct practice_table *t);
/* The number of the table of that name. */
int practice_table_find(const struct practice_domain *d, const char *name);
int practice_n_values(const struct practice_column *c);
/* Value i modulo their number. */
void practice_value(char *out, size_t size, const struct practice_column *c, int i);
/* Whether it stands in SQL without quotes. */
bool practice_is_number(const char *value);

#endif
