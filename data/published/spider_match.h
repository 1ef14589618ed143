/*
 * spider_match.h - Spider's exact set match of two queries, as a whole and by component, and the hardness of a query.
 *
 * A port of the published evaluator (Yu et al., EMNLP 2018; github.com/taoyds/spider, evaluation.py) without values and
 * DISTINCT, including its bugs. The schema comes from tables.json instead of a SQLite file, with the same names in
 * lower case. A query on which the evaluator ends with an error is empty, as one outside the grammar is.
 */
#ifndef DATA_PUBLISHED_SPIDER_MATCH_H
#define DATA_PUBLISHED_SPIDER_MATCH_H

#include "data/schema/schema.h"

/* A schema with the column that represents each column in comparisons: the first of those that foreign keys connect. */
struct spider_schema {
    const struct schema *schema;
    int *canonical; /* [n_columns] */
};
void spider_schema_init(struct spider_schema *s, const struct schema *schema);
void spider_schema_release(struct spider_schema *s);

/* A query without values, with representative columns. */
struct spider_query;
/* Never NULL. The caller frees. */
struct spider_query *spider_query_new(const struct spider_schema *s, const char *sql);
void spider_query_free(struct spider_query *q);
/* Whether the evaluator can read the text; if not, the query is empty. */
bool spider_query_parsed(const struct spider_query *q);

bool spider_match(const struct spider_schema *s, const struct spider_query *predicted, const struct spider_query *gold);

/* The components that the evaluator compares, by its names. */
enum spider_component {
    SPIDER_SELECT,
    SPIDER_SELECT_COLUMNS, /* without aggregates */
    SPIDER_WHERE,
    SPIDER_WHERE_COLUMNS, /* without operators */
    SPIDER_GROUP_NAMES,   /* without HAVING, and without the tables of columns */
    SPIDER_GROUP,
    SPIDER_ORDER,
    SPIDER_AND_OR,
    SPIDER_SET_OPERATORS,
    SPIDER_KEYWORDS,
    SPIDER_COMPONENTS
};
/* "select", "select(no AGG)" and so on. */
const char *spider_component_name(enum spider_component c);

/* Components of a prediction: the number of elements that each query has, and whether they are equal. */
struct spider_comparison {
    int predicted[SPIDER_COMPONENTS], gold[SPIDER_COMPONENTS];
    bool same[SPIDER_COMPONENTS];
    bool exact; /* all components are equal, and the tables */
};
void spider_compare(struct spider_comparison *c, const struct spider_schema *s, const struct spider_query *predicted,
                    const struct spider_query *gold);

enum spider_hardness { SPIDER_EASY, SPIDER_MEDIUM, SPIDER_HARD, SPIDER_EXTRA, SPIDER_HARDNESSES };
/* "easy", "medium", "hard" or "extra". */
const char *spider_hardness_name(enum spider_hardness h);
/* The hardness of a query, by counts of clauses and of nested queries. An empty query is easy. */
enum spider_hardness spider_hardness(const struct spider_query *q);

/* The items of the select list. Two items have the same key if their columns and the operator between them are equal;
 * the aggregate around an item is ignored. */
int spider_query_items(const struct spider_query *q);
bool spider_same_key(const struct spider_query *a, int i, const struct spider_query *b, int j);

/* Classes of wrong predictions, after the error catalogue of LogicalBeam's paper (Bhaskar et al., EMNLP 2023, table 2).
 * A prediction has the first class whose condition holds. */
enum spider_error {
    SPIDER_CORRECT,       /* exact set match */
    SPIDER_UNPARSABLE,    /* the evaluator cannot read the prediction */
    SPIDER_WRONG_JOINS,   /* another number of joins, in all queries of the statement */
    SPIDER_WRONG_ITEMS,   /* another number of items in the outermost select list */
    SPIDER_WRONG_SHAPE,   /* no match even with all names and values made equal */
    SPIDER_WRONG_TABLES,  /* the same shape, other sources in the outermost FROM */
    SPIDER_WRONG_COLUMNS, /* the same shape and tables, other columns or other names in nested queries */
    SPIDER_ERRORS
};
/* "correct", "unparsable", "joins", "items", "shape", "tables" or "columns". */
const char *spider_error_name(enum spider_error e);

/* The class of a prediction; the gold statement must be readable. */
enum spider_error spider_error_of(const struct spider_schema *s, const char *predicted, const char *gold);

#endif
