/*
 * spider_match.h - Spider's exact set match of two queries, without values and DISTINCT.
 *
 * A port of the published evaluator (Yu et al., EMNLP 2018), including its bugs. The schema comes from tables.json
 * instead of a SQLite file, with the same names in lower case.
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
/* Whether the grammar accepts the text; if not, the query is empty. */
bool spider_query_parsed(const struct spider_query *q);

bool spider_match(const struct spider_schema *s, const struct spider_query *predicted, const struct spider_query *gold);

/* The items of the select list. Two items have the same key if their columns and the operator between them are equal;
 * the aggregate around an item is ignored. */
int spider_query_items(const struct spider_query *q);
bool spider_same_key(const struct spider_query *a, int i, const struct spider_query *b, int j);

#endif
