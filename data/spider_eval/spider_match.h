/*
 * spider_match.h - exact set match of two queries, as Spider's evaluator decides it with values and DISTINCT ignored.
 *
 * The schema comes from tables.json where the peer reads a SQLite file: the same names, lower-cased.
 */
#ifndef DATA_SPIDER_EVAL_SPIDER_MATCH_H
#define DATA_SPIDER_EVAL_SPIDER_MATCH_H

#include "data/schema/schema.h"

/* A schema with the column that stands for each in comparisons: of columns that foreign keys connect the first. */
struct spider_schema {
    const struct schema *schema;
    int *canonical; /* [n_columns] */
};
void spider_schema_init(struct spider_schema *s, const struct schema *schema);
void spider_schema_release(struct spider_schema *s);

/* A query with values taken out and columns made canonical. */
struct spider_query;
/* Never NULL.  The caller frees. */
struct spider_query *spider_query_new(const struct spider_schema *s, const char *sql);
void spider_query_free(struct spider_query *q);
/* False when the grammar does not take the text; the query is then an empty one. */
bool spider_query_parsed(const struct spider_query *q);

bool spider_match(const struct spider_schema *s, const struct spider_query *predicted, const struct spider_query *gold);

/* Items of the select list.  Two have the same key when their columns and the operator between them are the same: the
 * aggregate around an item does not count. */
int spider_query_items(const struct spider_query *q);
bool spider_same_key(const struct spider_query *a, int i, const struct spider_query *b, int j);

#endif
