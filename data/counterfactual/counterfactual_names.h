/*
 * counterfactual_names.h - what columns may be called that stand where one was: words before its name, as headers of
 * tables have them, or other words for it, from WordNet or a dictionary.
 */
#ifndef DATA_COUNTERFACTUAL_COUNTERFACTUAL_NAMES_H
#define DATA_COUNTERFACTUAL_COUNTERFACTUAL_NAMES_H

#include "data/corpora/spider.h"
#include "data/span/span_record.h"
#include "data/util/strings.h"

struct counterfactual;
struct asked_table;

struct modifier_pair {
    int head; /* number of a stem in header_pool.heads, -1: fits every name of the type */
    enum column_type type;
    const char *words[2];
};

/* Words before another in two headers of a table: home team, away team. */
struct header_pool {
    struct strings heads, seen, text;
    struct modifier_pair *items;
    int n, cap;
};

/* Two other names of a column, and in which group of tables. */
struct listed_pair {
    int name; /* in synonym_pool.names */
    int group;
    const char *const *names;
};
struct synonym_pool {
    struct synonyms dictionary;
    struct strings names; /* those of columns, counterfactual_plain */
    struct listed_pair *items;
    int n, cap;
};

void header_pool_add(struct header_pool *p, const char *const *names, const enum column_type *types, int n);
void header_pool_release(struct header_pool *p);
/* Two names for what a question says of a column; neither is in the table, nor are its own words in a question. */
bool counterfactual_names(struct counterfactual *c, const struct asked_table *t, int column, const char *spoken,
                          const char *const questions[2], const char *names[2]);

/* Collects what the dictionary has, once each group of tables has its fold. */
void synonym_pool_fill(struct counterfactual *c);
void synonym_pool_release(struct synonym_pool *p);

#endif
