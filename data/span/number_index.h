/*
 * number_index.h - the numbers that the columns of a database hold, and the years of their dates.
 *
 * Each column has its different numbers sorted: whole ones as 64-bit integers, since a double does not tell large keys
 * apart, all others as doubles.  The index lives in memory and is bounded; a number beyond the bound is not found.
 */
#ifndef DATA_SPAN_NUMBER_INDEX_H
#define DATA_SPAN_NUMBER_INDEX_H

#include "kernels/base.h"

/* A number as a question or a cell has it: `integer` where it is whole and fits, `real` in any case. */
struct plain_number {
    bool whole;
    int64_t integer;
    double real;
};

enum { YEAR_MIN = 1000, YEAR_MAX = 2999 };

/* int64_t or double, sorted and none twice once the index is finished. */
struct number_array {
    void *items;
    int n, cap;
};

struct column_numbers {
    struct number_array integers, reals;
    uint64_t *years; /* a bit for each year of a date; NULL: the column has no date */
};

struct number_index {
    struct column_numbers *columns; /* [n_columns] */
    int n_columns;
    int64_t bytes, max_bytes;
    bool cut; /* there was more than max_bytes take */
};

void number_index_init(struct number_index *x, int n_columns, int64_t max_bytes);
void number_index_release(struct number_index *x);
/* To be called before number_index_finish. */
void number_index_add(struct number_index *x, int column, struct plain_number number);
/* A text: its number where it is one and nothing else, its year where it begins or ends as a date does. */
void number_index_add_text(struct number_index *x, int column, const char *text);
/* Once, when all are there. */
void number_index_finish(struct number_index *x);

bool number_index_has(const struct number_index *x, int column, struct plain_number number);
/* Whether the column has a date of that year. */
bool number_index_has_year(const struct number_index *x, int column, int year);

struct plain_number plain_integer(int64_t integer);
struct plain_number plain_real(double real);
/* False of a text that is not one number in decimal digits. */
bool plain_number_read(struct plain_number *number, const char *text);
/* The year of "2023-05-01", "2023/05/01 10:30", "01.05.2023", "5/1/2023" or "1 May 2023"; 0 of a text that is no date.
 */
int date_year(const char *text);

#endif
