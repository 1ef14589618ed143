#include "data/rewrite/sql_connect.h"

/* Adds a pair unless it is there; false where there is no place. */
static bool add_pair(struct sql_connection *c, int first, int second)
{
    for (int i = 0; i < c->n; i++)
        if (c->pairs[i][0] == first && c->pairs[i][1] == second)
            return true;
    if (c->n == SQL_KEY_COLUMNS)
        return false;
    c->pairs[c->n][0] = first;
    c->pairs[c->n++][1] = second;
    return true;
}

/* Whether no column stands twice on one side and none is outside of a primary key. */
static bool are_of_key(const struct schema *s, const struct sql_connection *c, int side)
{
    for (int i = 0; i < c->n; i++) {
        for (int k = 0; k < i; k++)
            if (c->pairs[i][side] == c->pairs[k][side])
                return false;
        if (!s->columns[c->pairs[i][side]].primary)
            return false;
    }
    return true;
}

/* Whether the columns on one side are the whole primary key of their table. */
static bool is_whole_key(const struct schema *s, const struct sql_connection *c, int side)
{
    const struct schema_table *t = &s->tables[s->columns[c->pairs[0][side]].table];
    int keys = 0;

    for (int k = t->first_column; k < t->first_column + t->n_columns; k++)
        keys += s->columns[k].primary;
    return keys == c->n && are_of_key(s, c, side);
}

/* All foreign keys between the two tables.  Several are one of several columns, or nobody knows which one is meant. */
static bool by_foreign_key(const struct schema *s, int a, int b, struct sql_connection *c)
{
    bool all = true;

    c->n = 0;
    for (int i = 0; i < s->n_foreign_keys && all; i++) {
        int from = s->foreign_keys[i].from, to = s->foreign_keys[i].to;
        if (s->columns[from].table == a && s->columns[to].table == b)
            all = add_pair(c, from, to);
        else if (s->columns[from].table == b && s->columns[to].table == a)
            all = add_pair(c, to, from);
    }
    return all && (c->n == 1 || (c->n > 1 && (is_whole_key(s, c, 0) || is_whole_key(s, c, 1))));
}

/* Columns of the same name in both tables, `but` aside; primary: those that are part of a primary key alone. */
static bool namesakes(const struct schema *s, int a, int b, int but, bool primary, struct sql_connection *c)
{
    const struct schema_table *t = &s->tables[a];
    bool all = true;

    c->n = 0;
    for (int k = t->first_column; k < t->first_column + t->n_columns && all; k++) {
        int same = k == but ? -1 : schema_column_find(s, b, s->columns[k].name);
        if (same >= 0 && (!primary || s->columns[k].primary || s->columns[same].primary))
            all = add_pair(c, k, same);
    }
    return all && c->n > 0 && (!primary || is_whole_key(s, c, 0) || is_whole_key(s, c, 1));
}

bool sql_connect(struct sql_connection *c, const struct schema *s, int a, int b, int but)
{
    bool keyed = by_foreign_key(s, a, b, c);

    if (c->n > 0)
        return keyed;
    if (namesakes(s, a, b, but, true, c))
        return true;
    return c->n == 0 && namesakes(s, a, b, but, false, c) && c->n == 1;
}
