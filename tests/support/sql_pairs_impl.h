/* sql_pairs_impl.h - declarations that the sources of sql_pairs.h share while a statement is spelled. */
#ifndef TESTS_SUPPORT_SQL_PAIRS_IMPL_H
#define TESTS_SUPPORT_SQL_PAIRS_IMPL_H

#include "tests/support/sql_pairs.h"

#define WORDS(...)                                                                                                     \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

struct speller {
    const struct pair_world *w;
    struct strings *pool;
    uint64_t random;  /* of the spelling */
    int draws, twist; /* choices of the sense; the one that comes out otherwise, -1 for none */
    struct {
        const char *name; /* as columns are qualified */
        const struct pair_table *table;
        const char *columns[2]; /* of a derived table, which has no table */
    } sources[PAIR_SOURCES];
    int n_sources;
    const char *with; /* common table expressions; NULL for none */
    bool joined;      /* by USING */
    bool ordered, open;
};

uint64_t pair_mix(uint64_t x);
uint64_t pair_child(uint64_t node, int k);
int pair_count(const char *const *words);
/* A choice of the sense: the same for both statements of a pair, whenever it is asked for. */
int pair_choose(struct speller *g, uint64_t node, int k, int n);
const char *pair_choose_word(struct speller *g, uint64_t node, int k, const char *const *words);
/* A choice of the spelling. */
int pair_spell(struct speller *g, int n);
const char *pair_spell_word(struct speller *g, const char *const *words);

/* Spellings of one value, more or less; the first is the plain one. */
enum { PAIR_LITERALS = 14, PAIR_COMPARISONS = 9 };
extern const char *const pair_literals[PAIR_LITERALS][9];
const char *pair_literal(struct speller *g, uint64_t node);
const char *pair_column(struct speller *g, uint64_t node);
const char *pair_column_of(struct speller *g, uint64_t node, int source);
const char *pair_operand(struct speller *g, uint64_t node);
/* One of PAIR_COMPARISONS: 0 is =, 1 likewise, 2 <>, 3 <, 4 <=, 5 >, 6 >=. */
const char *pair_compare(struct speller *g, const char *left, const char *right, int comparison);
const char *pair_condition(struct speller *g, uint64_t node, int depth);
const char *pair_statement(struct speller *g, uint64_t node);

void pair_shuffle(struct speller *g, const char **texts, int n);
const char *pair_join(struct speller *g, const char *const *texts, int n, const char *separator);

#endif
