#include "data/sql/sql_order.h"

#include "data/sql/sql_tree.h"

#include <string.h>

int sql_ordered(const char *text, struct error *err)
{
    struct arena a = { 0 };
    const struct sql_query *q = NULL;

    if (arena_init(&a, SQL_MAX_TEXT + 1024 * (strlen(text) + 64), err) == 0)
        q = sql_parse(&a, text, err);
    int ordered = q ? q->select->tail.order != NULL : -1;
    arena_release(&a);
    return ordered;
}
