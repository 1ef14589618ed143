/*
 * spider_sql.h - parses SQL as Spider's evaluator does, for spider_match.c.
 *
 * The grammar is smaller than SQL. Outer joins, CASE, CAST, aliases without AS and names of result columns are
 * rejected, text after the end is ignored, and some errors are accepted. This reproduces the published program.
 */
#ifndef DATA_PUBLISHED_SPIDER_SQL_H
#define DATA_PUBLISHED_SPIDER_SQL_H

#include "data/schema/schema.h"

struct spider_words {
    char **items;
    int n, cap;
};

/* Splits words as Spider's evaluator does with NLTK 3.5 or later: lower case outside quotes, all quotes double, != >=
 * <= as one word. Case is that of ASCII. Ends of sentences inside a statement and NLTK's contractions ("cannot") are
 * not split. -1 if a quote is left open. The caller releases either way. */
int spider_words_split(struct spider_words *w, const char *sql);
void spider_words_release(struct spider_words *w);

enum { SPIDER_ALL = -1 };                                            /* the column "*" */
enum { SPIDER_NO_AGGREGATE };                                        /* else an index in the list of aggregates */
enum { SPIDER_INTERSECT, SPIDER_UNION, SPIDER_EXCEPT, SPIDER_SETS }; /* set operators after a query */
enum { SPIDER_DISTINCT_ANY = -1 };                                   /* a flag that is not compared */
/* indices in the list of operators */
enum { SPIDER_BETWEEN = 1, SPIDER_IN = 8, SPIDER_LIKE = 9 };

struct spider_column {
    int aggregate, column, distinct; /* column: its index in the schema, or SPIDER_ALL */
};

struct spider_unit { /* a column, or two with an operator */
    int op;
    bool binary;
    struct spider_column columns[2];
};

struct spider_item {
    int aggregate;
    struct spider_unit unit;
};

enum spider_value_kind { SPIDER_NO_VALUE, SPIDER_QUERY, SPIDER_STRING, SPIDER_NUMBER, SPIDER_COLUMN };

struct spider_value {
    enum spider_value_kind kind;
    struct spider_sql *query;
    const char *text; /* points into the words */
    double number;
    struct spider_column column;
};

enum spider_term_kind { SPIDER_CONDITION, SPIDER_AND, SPIDER_OR };

/* A condition, or a word between conditions. */
struct spider_term {
    enum spider_term_kind kind;
    bool negated;
    int op;
    struct spider_unit unit;
    struct spider_value values[2];
};

/* The evaluator reads the terms at even places, from 0, as conditions and those at odd places as links. A statement
 * can break this order: "a = 1 b = 2" has two conditions without a link, and "a = 1 and" ends in a link. */
struct spider_conditions {
    struct spider_term *items;
    int n, cap;
};

struct spider_source {
    struct spider_sql *query; /* or NULL with a table */
    int table;
};

struct spider_sql {
    int distinct;
    struct spider_item *select;
    int n_select, cap_select;
    struct spider_source *from;
    int n_from, cap_from;
    struct spider_conditions on, where, having;
    struct spider_column *group;
    int n_group, cap_group;
    bool ordered, descending, limited;
    struct spider_unit *order;
    int n_order, cap_order;
    int64_t limit;
    struct spider_sql *sets[SPIDER_SETS];
};

/* Owns a query and all queries within it. */
struct spider_tree {
    struct spider_words words;
    struct spider_sql **nodes;
    int n, cap;
    struct spider_sql *top; /* NULL if the grammar rejects the text */
};

void spider_tree_parse(struct spider_tree *t, const struct schema *schema, const char *sql);
void spider_tree_release(struct spider_tree *t);

#endif
