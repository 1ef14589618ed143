#include "data/schema/schema_groups.h"

#include <stdlib.h>

static int find(int *group, int table)
{
    while (group[table] != table)
        table = group[table] = group[group[table]];
    return table;
}

static int table_at(const struct schema *s, int column)
{
    return s->columns[column].table;
}

/* Tables without a key to or from another one, behind the first of them. */
static void join_keyless(const struct schema *s, int *group)
{
    bool *keyed = xcalloc((size_t)s->n_tables, sizeof *keyed);
    int first = -1;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        int from = table_at(s, s->foreign_keys[i].from), to = table_at(s, s->foreign_keys[i].to);
        keyed[from] |= from != to;
        keyed[to] |= from != to;
    }
    for (int t = 0; t < s->n_tables; t++)
        if (!keyed[t])
            group[t] = first = first < 0 ? t : first;
    free(keyed);
}

/* By disjoint sets. */
int *schema_groups(const struct schema *s)
{
    int *group = xmalloc((size_t)(s->n_tables + 1) * sizeof *group);

    for (int t = 0; t < s->n_tables; t++)
        group[t] = t;
    for (int i = 0; i < s->n_foreign_keys; i++)
        group[find(group, table_at(s, s->foreign_keys[i].from))] = find(group, table_at(s, s->foreign_keys[i].to));
    for (int t = 0; t < s->n_tables; t++)
        group[t] = find(group, t);
    join_keyless(s, group);
    return group;
}
