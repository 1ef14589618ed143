/*
 * schema_pairs_impl.h - what schema_pairs.c (which pairs) and schema_pair_features.c (what is said of them) share.
 */
#ifndef DATA_SCHEMA_SCHEMA_PAIRS_IMPL_H
#define DATA_SCHEMA_SCHEMA_PAIRS_IMPL_H

#include "data/schema/element_name.h"
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
};

void pair_view_open(struct pair_view *v, const struct schema *s);
void pair_view_close(struct pair_view *v);

/* An element under a key; those of one key stand together once sorted. */
struct element_key {
    uint64_t key;
    int element;
};
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

void pair_features(const struct pair_view *v, struct schema_pair *pairs, int n);

#endif
