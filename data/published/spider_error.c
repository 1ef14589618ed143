#include "data/published/spider_error.h"

static const char *const names[] = { "correct", "unparsable", "joins", "items", "shape", "tables", "columns" };

const char *spider_error_name(enum spider_error e)
{
    return names[e];
}

/* The class of two readable queries that do not match; blanks both. */
static enum spider_error difference(const struct spider_schema *s, struct spider_query *predicted,
                                    struct spider_query *gold)
{
    bool tables = spider_same_tables(s, predicted, gold);

    if (spider_query_joins(predicted) != spider_query_joins(gold))
        return SPIDER_WRONG_JOINS;
    if (spider_query_items(predicted) != spider_query_items(gold))
        return SPIDER_WRONG_ITEMS;
    spider_query_blank(predicted);
    spider_query_blank(gold);
    if (!spider_match(s, predicted, gold))
        return SPIDER_WRONG_SHAPE;
    return tables ? SPIDER_WRONG_COLUMNS : SPIDER_WRONG_TABLES;
}

enum spider_error spider_error_of(const struct spider_schema *s, const char *predicted, const char *gold)
{
    struct spider_query *a = spider_query_new(s, predicted), *b = spider_query_new(s, gold);
    enum spider_error e = SPIDER_CORRECT;

    if (!spider_match(s, a, b))
        e = spider_query_parsed(a) ? difference(s, a, b) : SPIDER_UNPARSABLE;
    spider_query_free(a);
    spider_query_free(b);
    return e;
}
