#include "data/spider_eval/spider_equal.h"

#include <string.h>

bool spider_same_column(const struct spider_column *a, const struct spider_column *b)
{
    return a->aggregate == b->aggregate && a->column == b->column && a->distinct == b->distinct;
}

bool spider_same_unit(const struct spider_unit *a, const struct spider_unit *b)
{
    return a->op == b->op && a->binary == b->binary && spider_same_column(&a->columns[0], &b->columns[0]) &&
           (!a->binary || spider_same_column(&a->columns[1], &b->columns[1]));
}

bool spider_same_units(const struct spider_unit *a, int n_a, const struct spider_unit *b, int n_b)
{
    bool same = n_a == n_b;

    for (int i = 0; same && i < n_a; i++)
        same = spider_same_unit(&a[i], &b[i]);
    return same;
}

bool spider_same_item(const struct spider_item *a, const struct spider_item *b)
{
    return a->aggregate == b->aggregate && spider_same_unit(&a->unit, &b->unit);
}

static bool same_value(const struct spider_value *a, const struct spider_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case SPIDER_QUERY:
        return spider_same_sql(a->query, b->query);
    case SPIDER_STRING:
        return strcmp(a->text, b->text) == 0;
    case SPIDER_NUMBER:
        return a->number >= b->number && a->number <= b->number;
    case SPIDER_COLUMN:
        return spider_same_column(&a->column, &b->column);
    default:
        return true;
    }
}

bool spider_same_condition(const struct spider_condition *a, const struct spider_condition *b)
{
    return a->negated == b->negated && a->op == b->op && spider_same_unit(&a->unit, &b->unit) &&
           same_value(&a->values[0], &b->values[0]) && same_value(&a->values[1], &b->values[1]);
}

bool spider_same_conditions(const struct spider_conditions *a, const struct spider_conditions *b)
{
    bool same = a->n == b->n;

    for (int i = 0; same && i < a->n; i++)
        same = a->items[i].link == b->items[i].link && spider_same_condition(&a->items[i], &b->items[i]);
    return same;
}

bool spider_same_source(const struct spider_source *a, const struct spider_source *b)
{
    return a->table == b->table && spider_same_sql(a->query, b->query);
}

static bool same_select(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->distinct == b->distinct && a->n_select == b->n_select;

    for (int i = 0; same && i < a->n_select; i++)
        same = spider_same_item(&a->select[i], &b->select[i]);
    return same;
}

static bool same_from(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->n_from == b->n_from && spider_same_conditions(&a->on, &b->on);

    for (int i = 0; same && i < a->n_from; i++)
        same = spider_same_source(&a->from[i], &b->from[i]);
    return same;
}

static bool same_group(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->n_group == b->n_group;

    for (int i = 0; same && i < a->n_group; i++)
        same = spider_same_column(&a->group[i], &b->group[i]);
    return same;
}

static bool same_end(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->ordered == b->ordered && a->descending == b->descending && a->limited == b->limited &&
                a->limit == b->limit && spider_same_units(a->order, a->n_order, b->order, b->n_order);

    for (int i = 0; same && i < SPIDER_SETS; i++)
        same = spider_same_sql(a->sets[i], b->sets[i]);
    return same;
}

bool spider_same_sql(const struct spider_sql *a, const struct spider_sql *b)
{
    if (!a || !b)
        return !a && !b;
    return same_select(a, b) && same_from(a, b) && spider_same_conditions(&a->where, &b->where) && same_group(a, b) &&
           spider_same_conditions(&a->having, &b->having) && same_end(a, b);
}
