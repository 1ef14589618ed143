/*
 * paged_case.h - queries over a cache with shuffled rows, and several equivalent ways to divide them into units.
 */
#ifndef TESTS_PAGED_CASE_H
#define TESTS_PAGED_CASE_H

#include "kernels/paged.h"

/* Query t sees the first seen[t] keys of row row[t] of the table. */
struct paged_case {
    int64_t queries, rows, keys; /* the table is [rows, keys] */
    const int32_t *seen, *row, *table;
};

enum paged_layout {
    PAGED_WHOLE,   /* a unit for each query */
    PAGED_PAGES,   /* a unit for each query and page */
    PAGED_SHARED,  /* units of all queries for the first pages, which they share; the rest by pages */
    PAGED_TOGETHER /* units of consecutive queries of one row */
};

/* size: pages that are shared, queries of a unit; loose: bounds that are not reached, and units of padding. */
struct paged paged_of(struct ctx *c, const struct paged_case *k, enum paged_layout layout, int64_t size, bool loose);

/* table[rows * keys]: n cache rows (n >= shared + rows (keys - shared)) in a random order, the first `shared` keys of
 * all rows alike. */
void paged_shuffle(int32_t *table, int64_t rows, int64_t keys, int64_t shared, int64_t n);

#endif
