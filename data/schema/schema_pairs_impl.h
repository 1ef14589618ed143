/*
 * schema_pairs_impl.h - what schema_pairs.c (which pairs) and schema_pair_features.c (what is said of them) share.
 */
#ifndef DATA_SCHEMA_SCHEMA_PAIRS_IMPL_H
#define DATA_SCHEMA_SCHEMA_PAIRS_IMPL_H

#include "data/schema/name_meaning.h"
#include "data/schema/schema_pairs.h"

/* Two spellings of every element: as SQL writes it, and in natural words.  Relations hold when they hold in either. */
enum spelling { SPELLED_NAME, SPELLED_TEXT, SPELLINGS };

struct pair_view {
    const struct schema *schema;
    int n; /* elements */
    struct element_name *names[SPELLINGS];
    uint64_t *keys[SPELLINGS];  /* element_name_key of the whole name */
    uint64_t *bases[SPELLINGS]; /* the key of what remains without the aggregate word; 0 where there is no such word */
    uint64_t *sets;             /* SPELLED_NAME keys of columns, ascending within each table */
    bool *foreign;              /* columns that stand in a foreign key */
    unsigned *meanings;         /* name_meaning of each element; of columns of a time type MEANS_TIME too */
};

void pair_view_open(struct pair_view *v, const struct schema *s);
void pair_view_close(struct pair_view *v);

/* An element under a key; those of one key stand together once sorted. */
struct element_key {
    uint64_t key;
    int element;
};
/* "count", "number" and the like, which may stand before or behind what is counted. */
bool is_counting_word(uint32_t word);
/* For qsort: by key, then element. */
int element_key_compare(const void *x, const void *y);

bool same_name(const struct pair_view *v, int a, int b);
/* Table b's name is table a's and then that of an element (a column). */
bool name_extends(const struct pair_view *v, int b, int a, int column);
/* Element b is named as an aggregate of element a: max_price, price. */
bool is_aggregate_of(const struct pair_view *v, int b, int a);
/* How many names two tables' columns share. */
int shared_columns(const struct pair_view *v, int a, int b);
/* A primary key column of one table has a namesake in the other. */
bool key_shared(const struct pair_view *v, int a, int b);
/* Tables that may hold the same things: one name contains the other's words, or half of the columns of the smaller one,
 * and at least two, have namesakes in the other. */
bool like_tables(const struct pair_view *v, int a, int b);

/* Joins between tables.  A column joins its table with another one by a foreign key, or, undeclared, by its name. */
struct table_reach {
    int *start, *to; /* neighbours of table t: to[start[t]] .. to[start[t + 1] - 1], ascending */
    int *target;     /* [columns] the table that a column refers to, -1 for none */
};
enum { REACH_FAR = 3 };

void table_reach_open(struct table_reach *r, const struct pair_view *v);
void table_reach_close(struct table_reach *r);
/* 0 for the same table, 1 or 2 joins, REACH_FAR for more. */
int table_reach(const struct table_reach *r, int a, int b);

void pair_features(const struct pair_view *v, const struct table_reach *r, struct schema_pair *pairs, int n);

#endif
