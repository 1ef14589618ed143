/* Part of sql_pairs.h: FROM, the clauses behind it, whole statements. */
#include "tests/support/sql_pairs_impl.h"

#include <string.h>

/* A source as it stands in FROM; self: another one of its table may stand beside it. */
static const char *add_table(struct speller *g, uint64_t node, bool self)
{
    const struct pair_table *t = &g->w->tables[pair_choose(g, node, 0, PAIR_TABLES)];
    int i = g->n_sources++;
    bool alias = self || pair_spell(g, 2);

    g->sources[i].table = t;
    g->sources[i].name = alias ? strings_printf(g->pool, pair_spell(g, 2) ? "x%d" : "y%d", i) : t->name;
    return alias ? strings_printf(g->pool, pair_spell(g, 2) ? "%s AS %s" : "%s %s", t->name, g->sources[i].name)
                 : t->name;
}

/* Two outputs of a table, p and q. */
static const char *add_derived(struct speller *g, uint64_t node)
{
    struct speller inner = { .w = g->w, .pool = g->pool, .random = g->random, .draws = g->draws, .twist = g->twist };
    const char *from = add_table(&inner, pair_child(node, 1), false);
    const char *p = pair_operand(&inner, pair_child(node, 2)), *q = pair_column(&inner, pair_child(node, 3));
    const char *where = pair_choose(&inner, node, 4, 2) ? pair_condition(&inner, pair_child(node, 5), 0) : NULL;
    int i = g->n_sources++;

    g->random = inner.random;
    g->draws = inner.draws;
    g->sources[i].name = strings_printf(g->pool, "d%d", i);
    g->sources[i].columns[0] = "p";
    g->sources[i].columns[1] = "q";
    const char *select = strings_printf(g->pool, "SELECT %s AS p, %s AS q FROM %s%s%s", p, q, from,
                                        where ? " WHERE " : "", where ? where : "");
    if (pair_spell(g, 2))
        return strings_printf(g->pool, "(%s) AS d%d", select, i);
    g->with = strings_printf(g->pool, "%s%s d%d AS (%s)", g->with ? g->with : "WITH", g->with ? "," : "", i, select);
    return g->sources[i].name;
}

static const char *add_source(struct speller *g, uint64_t node, bool self)
{
    return pair_choose(g, node, 7, 5) ? add_table(g, pair_child(node, 1), self) : add_derived(g, pair_child(node, 2));
}

static const char *edge(struct speller *g, uint64_t node, int a, int b)
{
    return pair_compare(g, pair_column_of(g, pair_child(node, 1), a), pair_column_of(g, pair_child(node, 2), b),
                        pair_choose(g, node, 3, 5) ? 0 : pair_choose(g, node, 4, PAIR_COMPARISONS));
}

/* Two or three sources; their join condition is left for WHERE, or stands in ON. */
static const char *inner_join(struct speller *g, uint64_t node, const char **where)
{
    const char *texts[3];
    int n = 2 + (pair_choose(g, node, 1, 4) == 0);

    for (int i = 0; i < n; i++)
        texts[i] = add_source(g, pair_child(node, 10 + i), true);
    *where = edge(g, pair_child(node, 20), 0, 1);
    if (n == 3) {
        const char *parts[] = { *where, edge(g, pair_child(node, 21), 1, 2) };
        pair_shuffle(g, parts, 2);
        *where = pair_join(g, parts, 2, " AND ");
    }
    pair_shuffle(g, texts, n);
    const char *on = pair_spell(g, 2) ? *where : NULL;
    const char *text = pair_join(
        g, texts, n, on ? " JOIN " : pair_spell_word(g, WORDS(", ", " JOIN ", " CROSS JOIN ", " INNER JOIN ")));
    *where = on ? NULL : *where;
    return on ? strings_printf(g->pool, "%s ON %s", text, on) : text;
}

/* Of two tables, by the column that all have. */
static const char *using_join(struct speller *g, uint64_t node)
{
    const char *texts[] = { add_table(g, pair_child(node, 1), true), add_table(g, pair_child(node, 2), true) };
    const char *kind = pair_choose_word(g, node, 3, WORDS("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"));
    bool inner = *kind == 'J', on = pair_spell(g, 3) == 0;
    int first = inner && pair_spell(g, 3) == 0;

    g->joined = !on;
    const char *by =
        on ? strings_printf(g->pool, "ON %s.k = %s.k", g->sources[first].name, g->sources[!first].name) : "USING (k)";
    return strings_printf(g->pool, "%s %s %s %s", texts[first], kind, texts[!first], by);
}

static const char *outer_join(struct speller *g, uint64_t node)
{
    const char *texts[] = { add_source(g, pair_child(node, 1), true), add_source(g, pair_child(node, 2), true) };
    const char *kind = pair_choose_word(g, node, 3, WORDS("LEFT", "LEFT", "LEFT", "RIGHT", "FULL"));
    const char *on[] = { edge(g, pair_child(node, 4), 0, 1), pair_condition(g, pair_child(node, 5), 0) };

    pair_shuffle(g, on, 2);
    return strings_printf(g->pool, "%s %s %sJOIN %s ON %s", texts[0], kind, pair_spell(g, 2) ? "OUTER " : "", texts[1],
                          pair_choose(g, node, 6, 2) ? pair_join(g, on, 2, " AND ") : on[0]);
}

static const char *from_clause(struct speller *g, uint64_t node, const char **where)
{
    *where = NULL;
    switch (pair_choose(g, node, 1, 8)) {
    case 0:
    case 1:
        return inner_join(g, pair_child(node, 2), where);
    case 2:
        return using_join(g, pair_child(node, 3));
    case 3:
        return outer_join(g, pair_child(node, 4));
    default:
        return add_source(g, pair_child(node, 5), false);
    }
}

static const char *where_clause(struct speller *g, uint64_t node, const char *joined)
{
    const char *parts[2] = { joined, pair_choose(g, node, 1, 5) ? pair_condition(g, pair_child(node, 2), 2) : NULL };

    if (!parts[0] || !parts[1])
        return parts[0] ? parts[0] : parts[1];
    parts[1] = strings_printf(g->pool, "(%s)", parts[1]);
    pair_shuffle(g, parts, 2);
    return pair_join(g, parts, 2, " AND ");
}

/* The clauses after the results: ORDER BY with the texts of the results, then the rows' own numbers if all have one. */
static const char *order_clause(struct speller *g, uint64_t node, const char *const *results, const char *const *names,
                                int n)
{
    const char *terms[8];
    int k = 0, used = 1 + pair_choose(g, node, 1, n);
    bool total = true;

    for (int i = 0; i < used; i++) {
        int of = pair_choose(g, node, 10 + i, n), how = pair_spell(g, 3);
        const char *by = how == 0                ? strings_printf(g->pool, "%d", of + 1)
                         : how == 1 && names[of] ? names[of]
                                                 : results[of];
        const char *collate = pair_choose(g, node, 20 + i, 4)
                                  ? ""
                                  : pair_choose_word(g, node, 30 + i, WORDS(" COLLATE NOCASE", " COLLATE BINARY"));
        const char *way = pair_choose(g, node, 40 + i, 3) ? pair_spell_word(g, WORDS("", " ASC")) : " DESC";
        terms[k++] = strings_printf(g->pool, "%s%s%s", by, collate, way);
    }
    for (int i = 0; i < g->n_sources; i++)
        total = total && g->sources[i].table && g->sources[i].table->rowid;
    for (int i = 0; i < g->n_sources && total; i++)
        terms[k++] = strings_printf(g->pool, "%s.rowid", g->sources[i].name);
    g->ordered = total;
    const char *text = strings_printf(g->pool, " ORDER BY %s", pair_join(g, terms, k, ", "));
    if (!total || pair_choose(g, node, 2, 3))
        return text;
    return strings_printf(g->pool, pair_spell_word(g, WORDS("%s LIMIT 2", "%s LIMIT 2 OFFSET 0", "%s LIMIT 0, 2")),
                          text);
}

/* The alias of an output: often none, and sometimes the name of a column. */
static const char *alias(struct speller *g, int i)
{
    if (pair_spell(g, 3) == 0)
        return NULL;
    return pair_spell(g, 5) ? strings_printf(g->pool, "r%d", i) : pair_spell_word(g, WORDS("a", "b"));
}

static const char *plain_select(struct speller *g, uint64_t node)
{
    const char *joined, *results[3], *names[3] = { NULL }, *listed[3];
    const char *from = from_clause(g, pair_child(node, 1), &joined),
               *where = where_clause(g, pair_child(node, 2), joined);
    int n = 1 + pair_choose(g, node, 3, 3);
    bool distinct = pair_choose(g, node, 4, 5) == 0, star = pair_choose(g, node, 5, 8) == 0;

    for (int i = 0; i < n; i++) {
        results[i] = pair_choose(g, node, 50 + i, 6) ? pair_operand(g, pair_child(node, 60 + i))
                                                     : pair_condition(g, pair_child(node, 60 + i), 0);
        names[i] = alias(g, i);
        listed[i] = names[i] ? strings_printf(g->pool, "%s AS %s", results[i], names[i]) : results[i];
    }
    g->open = g->open || distinct;
    const char *text =
        strings_printf(g->pool, "SELECT %s%s FROM %s%s%s", distinct ? "DISTINCT " : "",
                       star ? "*" : pair_join(g, listed, n, ", "), from, where ? " WHERE " : "", where ? where : "");
    bool sorted = !star && !distinct && pair_choose(g, node, 6, 2);
    return sorted ? strings_printf(g->pool, "%s%s", text, order_clause(g, pair_child(node, 7), results, names, n))
                  : text;
}

static const char *grouped_select(struct speller *g, uint64_t node)
{
    const char *joined, *groups[2], *by[2];
    const char *from = from_clause(g, pair_child(node, 1), &joined),
               *where = where_clause(g, pair_child(node, 2), joined);
    int n = 1 + pair_choose(g, node, 3, 2);
    const char *call =
        pair_choose_word(g, node, 4, WORDS("count(*)", "count(%s)", "count(DISTINCT %s)", "min(%s)", "max(%s)"));

    call = strchr(call, '%')  ? strings_printf(g->pool, call, pair_operand(g, pair_child(node, 5)))
           : pair_spell(g, 2) ? "count(1)"
                              : call;
    for (int i = 0; i < n; i++) {
        const char *name = alias(g, i), *other = name ? name : strings_printf(g->pool, "%d", i + 1);
        groups[i] = pair_column(g, pair_child(node, 10 + i));
        by[i] = pair_spell(g, 2) ? groups[i] : other;
        groups[i] = name ? strings_printf(g->pool, "%s AS %s", groups[i], name) : groups[i];
    }
    pair_shuffle(g, by, n);
    g->open = true;
    const char *having = pair_choose(g, node, 6, 3)
                             ? NULL
                             : pair_compare(g, call, pair_literal(g, pair_child(node, 7)), pair_choose(g, node, 8, 7));
    return strings_printf(g->pool, "SELECT %s, %s FROM %s%s%s GROUP BY %s%s%s", pair_join(g, groups, n, ", "), call,
                          from, where ? " WHERE " : "", where ? where : "", pair_join(g, by, n, ", "),
                          having ? " HAVING " : "", having ? having : "");
}

/* Arms of whole tables say which of two equal rows is left. */
static const char *compound_select(struct speller *g, uint64_t node)
{
    const char *op = pair_choose_word(g, node, 1, WORDS("UNION", "UNION", "UNION ALL", "INTERSECT", "EXCEPT")),
               *arms[3];
    int n = 2 + (pair_choose(g, node, 2, 4) == 0);
    bool whole = pair_choose(g, node, 3, 2);

    for (int i = 0; i < n; i++) {
        uint64_t arm = pair_child(node, 10 + i);
        g->n_sources = 0;
        const char *from = add_table(g, pair_child(arm, 1), false);
        const char *result =
            pair_choose(g, arm, 2, 3) ? pair_column(g, pair_child(arm, 3)) : pair_operand(g, pair_child(arm, 3));
        arms[i] = strings_printf(g->pool, "SELECT %s AS r FROM %s", result, from);
        if (!whole)
            arms[i] = strings_printf(g->pool, "%s WHERE %s", arms[i], pair_condition(g, pair_child(arm, 4), 1));
    }
    if (pair_spell(g, 2))
        pair_shuffle(g, arms, n);
    g->open = g->open || !whole;
    const char *text = pair_join(g, arms, n, strings_printf(g->pool, " %s ", op));
    if (pair_choose(g, node, 4, 3))
        return text;
    return strings_printf(g->pool, "%s ORDER BY %s", text, pair_spell_word(g, WORDS("1", "r")));
}

static const char *some_select(struct speller *g, uint64_t node)
{
    switch (pair_choose(g, node, 0, 8)) {
    case 0:
    case 1:
        return grouped_select(g, pair_child(node, 1));
    case 2:
        return compound_select(g, pair_child(node, 2));
    default:
        return plain_select(g, pair_child(node, 3));
    }
}

const char *pair_statement(struct speller *g, uint64_t node)
{
    const char *select = some_select(g, node);
    return g->with ? strings_printf(g->pool, "%s %s", g->with, select) : select;
}
