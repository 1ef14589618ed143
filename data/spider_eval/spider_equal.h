/*
 * spider_equal.h - when parts of two queries of spider_sql.h are the same.
 */
#ifndef DATA_SPIDER_EVAL_SPIDER_EQUAL_H
#define DATA_SPIDER_EVAL_SPIDER_EQUAL_H

#include "data/spider_eval/spider_sql.h"

bool spider_same_column(const struct spider_column *a, const struct spider_column *b);
bool spider_same_unit(const struct spider_unit *a, const struct spider_unit *b);
bool spider_same_units(const struct spider_unit *a, int n_a, const struct spider_unit *b, int n_b);
bool spider_same_item(const struct spider_item *a, const struct spider_item *b);
bool spider_same_condition(const struct spider_condition *a, const struct spider_condition *b);
bool spider_same_conditions(const struct spider_conditions *a, const struct spider_conditions *b);
bool spider_same_source(const struct spider_source *a, const struct spider_source *b);
/* Everything, in the same order; either may be NULL. */
bool spider_same_sql(const struct spider_sql *a, const struct spider_sql *b);

#endif
