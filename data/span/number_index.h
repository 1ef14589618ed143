/*
 * number_index.h - the numbers in the columns of a database, and the years of their dates.
 *
 * Each column has sorted distinct numbers: integers as 64 bits, because a double cannot distinguish large keys, and
 * others as doubles. The index is in memory and bounded; numbers beyond the bound are not found.
 */
#ifndef DATA_SPAN_NUMBER_INDEX_H
#define DATA_SPAN_NUMBER_INDEX_H

#include "kernels/base.h"

/* A number of a question or a cell: `integer` if it is whole and fits, `real` always. */
struct plain_number {
    bool whole;
    int64_t integer;
    double real;
};

enum { YEAR_MIN = 1000, YEAR_MAX = 2999 };

/* int64_t or double; sorted and distinct after number_index_finish. */
struct number_array {
    void *items;
    int n, cap;
};

struct column_numbers {
    struct number_array integers, reals;
    uint64_t *years; /* a bit for each year; NULL: no dates */
};

struct number_index {
    struct column_numbers *columns; /* [n_columns] */
    int n_columns;
    int64_t bytes, max_bytes;
    bool cut; /* max_bytes was reached */
};

void number_index_init(struct number_index *x, int n_columns, int64_t max_bytes);
void number_index_release(struct number_index *x);
/* Call before number_index_finish. */
void number_index_add(struct number_index *x, int column, struct plain_number number);
/* Adds the number of a text if it is one number, and the year if it begins or ends as a date. */
void number_index_add_text(struct number_index *x, int column, const char *text);
/* Call once, after all additions. */
void number_index_finish(struct number_index *x);

bool number_index_has(const struct number_index *x, int column, struct plain_number number);
/* Whether the column has a date of that year. */
bool number_index_has_year(const struct number_index *x, int column, int year);

struct plain_number plain_integer(int64_t integer);
struct plain_number plain_real(double real);
/* False if the text is not one decimal number. */
bool plain_number_read(struct plain_number *number, const char *text);
/* The year of "2023-05-01", "2023/05/01 10:30", "01.05.2023", "5/1/2023" or "1 May 2023"; 0 for other texts. */
int date_year(const char *text);

#endif
