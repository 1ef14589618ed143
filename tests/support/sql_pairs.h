/*
 * sql_pairs.h - random schemas and contents, and pairs of statements about them for tests of the canonical form.
 *
 * Both statements of a pair come from one seed and are spelled at random.  They differ in turned comparisons, other
 * literals, BETWEEN or bounds, IN or OR, joins in another order or syntax, numbers or aliases in ORDER BY.  Not all of
 * it keeps the sense, which is for the form to find out.  Some pairs also differ in one choice, some in all.
 */
#ifndef TESTS_SUPPORT_SQL_PAIRS_H
#define TESTS_SUPPORT_SQL_PAIRS_H

#include "data/base/strings.h"

enum { PAIR_TABLES = 4, PAIR_COLUMNS = 4, PAIR_SOURCES = 4, PAIR_VALUES = 4 };

struct pair_table {
    const char *name;
    const char *columns[PAIR_COLUMNS]; /* the first has one name in all tables */
    bool rowid;                        /* it can be named */
    bool number;                       /* the first column is another name of it */
};

struct pair_world {
    struct strings pool;
    struct pair_table tables[PAIR_TABLES]; /* the last is a view */
    int values[PAIR_VALUES]; /* the kinds of value in its rows and statements, few so that many are equal */
    const char *script;      /* its CREATE statements */
};
void pair_world_init(struct pair_world *w, uint64_t seed);
void pair_world_release(struct pair_world *w);
/* INSERT statements for its tables, which pool keeps. */
const char *pair_rows(const struct pair_world *w, struct strings *pool, uint64_t seed);

struct sql_pair {
    const char *sql[2]; /* kept by the pool */
    bool ordered;       /* the order of rows is decided in both */
    bool open;          /* which of several equal values stands in a result is not decided in one of them */
};
void pair_draw(struct sql_pair *p, const struct pair_world *w, struct strings *pool, uint64_t seed);

#endif
