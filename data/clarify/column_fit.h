/*
 * column_fit.h - whether the columns of a statement's conditions hold values like those that the question mentions.
 *
 * "In 2019" needs a condition on dates or years, and "50 kg" needs one on a weight.  Values are read from the database
 * on first use, for each column once.  Without a database, types and names decide.
 */
#ifndef DATA_CLARIFY_COLUMN_FIT_H
#define DATA_CLARIFY_COLUMN_FIT_H

#include "data/db/sqlite_exec.h"
#include "data/schema/schema.h"
#include "data/span/measure_unit.h"

enum { FIT_NUMBERS = 16 }; /* maximum: numbers of a question */

/* Times, numbers and units of a question. */
struct fit_question {
    struct said_number numbers[FIT_NUMBERS];
    const struct measure_unit *units[FIT_NUMBERS]; /* of each number; NULL: none */
    int n;
    bool time; /* the question says a year, a date, a month, or a time such as "last week" */
};
void fit_question_read(struct fit_question *q, const char *text);

enum column_times { TIMES_UNREAD, TIMES_NO, TIMES_YES };

struct column_fit {
    const struct schema *schema; /* borrowed */
    struct exec_db *db;          /* borrowed; or NULL */
    enum column_times *times;    /* [n_columns] */
};

/* The caller closes the struct. */
void column_fit_open(struct column_fit *f, const struct schema *schema, struct exec_db *db);
void column_fit_close(struct column_fit *f);

/* Whether most values of the column are dates or years. */
bool column_fit_times(struct column_fit *f, int column);
/* Whether the name of the column or of its table has a word of the unit. */
bool column_fit_measures(const struct column_fit *f, int column, const struct measure_unit *unit);

#endif
