#include "data/contrast/practice_query_impl.h"

#include <string.h>

/* A column of table t with one of the roles, other than `except`; -1 when there is none or none is wanted. */
static int draw_column(const struct practice_table *t, unsigned roles, int except, struct rng *rng)
{
    int chosen = -1;
    uint32_t seen = 0;

    for (int i = 0; i < practice_n_columns(t); i++)
        if ((t->columns[i].role & roles) && i != except && rng_below(rng, ++seen) == 0)
            chosen = i;
    return chosen;
}

static void draw_value(char *out, size_t size, const struct practice_table *t, int column, struct rng *rng)
{
    if (column >= 0)
        practice_value(out, size, &t->columns[column], (int)rng_below(rng, 64));
}

bool practice_draw(struct practice_query *q, const struct practice_domain *d, struct rng *rng)
{
    const struct practice_template *of = &practice_templates[rng_below(rng, (uint32_t)practice_n_templates)];

    *q = (struct practice_query){ .domain = d, .of = of, .u = -1, .link = -1, .x = -1 };
    q->wording = (int)rng_below(rng, PRACTICE_WORDINGS);
    q->t = (int)rng_below(rng, (uint32_t)practice_n_tables(d));
    const struct practice_table *t = &d->tables[q->t];
    q->a = draw_column(t, of->a, -1, rng);
    q->b = draw_column(t, of->b, q->a, rng);
    if ((of->a && q->a < 0) || (of->b && q->b < 0))
        return false;
    draw_value(q->value_b, sizeof q->value_b, t, q->b, rng);
    if (!of->x)
        return true;
    q->link = draw_column(t, PRACTICE_LINK, -1, rng);
    if (q->link < 0)
        return false;
    q->u = practice_table_find(d, t->columns[q->link].table);
    q->x = draw_column(&d->tables[q->u], of->x, -1, rng);
    draw_value(q->value_x, sizeof q->value_x, &d->tables[q->u], q->x, rng);
    return q->x >= 0;
}

bool practice_asks(const struct practice_query *q, enum sia_kind kind, int table, int column)
{
    switch (kind) {
    case SIA_TABLE:
        return table == q->t || table == q->u;
    case SIA_AGGREGATE:
        return table == q->t && column == q->b && strstr(q->of->sql, ":b}");
    default:
        return (table == q->t && (column == q->a || column == q->b)) || (table == q->u && column == q->x);
    }
}
