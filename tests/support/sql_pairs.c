#include "tests/support/sql_pairs.h"

#include <string.h>

#define WORDS(...)                                                                                                     \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

/* The state of a statement while it is spelled. */
struct speller {
    const struct pair_world *w;
    struct strings *pool;
    uint64_t random;  /* of the spelling */
    int draws, twist; /* choices of the sense; the one that comes out otherwise, -1 for none */
    struct {
        const char *name; /* as columns are qualified */
        const struct pair_table *table;
        const char *columns[2]; /* of a derived table, which has no table */
    } sources[PAIR_SOURCES];
    int n_sources;
    const char *with; /* common table expressions; NULL for none */
    bool joined;      /* by USING */
    bool ordered, open;
};

static uint64_t pair_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static uint64_t pair_child(uint64_t node, int k)
{
    return pair_mix(node ^ pair_mix((uint64_t)k + 1));
}

/* Chooses between n senses: the same for both statements of a pair, whenever it is asked for. */
static int pair_choose(struct speller *g, uint64_t node, int k, int n)
{
    int value = (int)(pair_child(node, k + 1000) % (uint64_t)n);
    return g->draws++ == g->twist ? (value + 1) % n : value;
}

/* Chooses between n spellings. */
static int pair_spell(struct speller *g, int n)
{
    g->random = pair_mix(g->random);
    return (int)(g->random % (uint64_t)n);
}

static int pair_count(const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

static const char *pair_choose_word(struct speller *g, uint64_t node, int k, const char *const *words)
{
    return words[pair_choose(g, node, k, pair_count(words))];
}

static const char *pair_spell_word(struct speller *g, const char *const *words)
{
    return words[pair_spell(g, pair_count(words))];
}

enum { PAIR_LITERALS = 14, PAIR_COMPARISONS = 9 };

/* Spellings of roughly one value; the first is the plain one. */
static const char *const pair_literals[PAIR_LITERALS][9] = {
    { "1", "1.0", "'1'", "1e0", "01", "+1", "'1.0'", "TRUE" },
    { "2013", "2013.0", "'2013'", "2013.00", "'2013.0'", "' 2013'", "'2013 '" },
    { "0", "0.0", "-0.0", "'0'", "FALSE", "-0", "+0" },
    { "10", "1e1", "'1e1'", "'10'", "10.0", "0x10", "'0x10'" },
    { "1.5", "1.50", "'1.5'", "15e-1", "+1.5", "'1.50'" },
    { "-3", "-3.0", "'-3'", "- 3", "-03", "-'3'" },
    { "9007199254740993", "9007199254740992", "9007199254740993.0", "'9007199254740993'" },
    { "9223372036854775807", "9223372036854775808", "9223372036854775807.0", "'9223372036854775808'" },
    { "'abc'", "\"abc\"", "'ABC'", "'abc '", "x'616263'" },
    { "'a'", "'A'", "\"a\"", "+'a'", "'a  '" },
    { "''", "' '", "x''", "NULL" },
    { "'1.2.3'", "'1.2.4'", "1.2", "'1.2'" },
    { "NULL", "null", "NULL", "''" },
    { "95358084320.35825", "9.53580843203582382365e10", "95358084320.358250", "'95358084320.35825'" },
};

static const char *pair_literal(struct speller *g, uint64_t node)
{
    const char *const *group = pair_literals[g->w->values[pair_choose(g, node, 0, PAIR_VALUES)]];
    return pair_spell(g, 5) ? group[0] : pair_spell_word(g, group);
}

static const char *source_name(struct speller *g, int source)
{
    const char *name = g->sources[source].name;
    return pair_spell(g, 4) || strchr(name, '"') ? name : strings_printf(g->pool, "\"%s\"", name);
}

static const char *pair_column_of(struct speller *g, uint64_t node, int source)
{
    const struct pair_table *t = g->sources[source].table;
    const char *name =
        t ? t->columns[pair_choose(g, node, 1, PAIR_COLUMNS)] : g->sources[source].columns[pair_choose(g, node, 1, 2)];
    bool bare = g->n_sources == 1 || (g->joined && strcmp(name, "k") == 0);

    return bare && pair_spell(g, 2) ? name : strings_printf(g->pool, "%s.%s", source_name(g, source), name);
}

static const char *pair_column(struct speller *g, uint64_t node)
{
    return pair_column_of(g, node, pair_choose(g, node, 0, g->n_sources));
}

static const char *const collations[] = { "BINARY", "NOCASE", "RTRIM", NULL };
static const char *const types[] = { "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "FLOATING POINT", "CHARINT", NULL };

static const char *arithmetic(struct speller *g, uint64_t node)
{
    const char *left = pair_column(g, pair_child(node, 1)), *right = pair_literal(g, pair_child(node, 2));
    const char *op = pair_choose_word(g, node, 2, WORDS("+", "*", "-", "/"));
    bool turned = (*op == '+' || *op == '*') && pair_spell(g, 2);

    return strings_printf(g->pool, "(%s %s %s)", turned ? right : left, op, turned ? left : right);
}

static const char *some_table(struct speller *g, uint64_t node, int k)
{
    return g->w->tables[pair_choose(g, node, k, PAIR_TABLES)].name;
}

static const char *scalar(struct speller *g, uint64_t node)
{
    const struct pair_table *t = &g->w->tables[pair_choose(g, node, 2, PAIR_TABLES)];
    const char *name = t->columns[pair_choose(g, node, 3, PAIR_COLUMNS)];

    return strings_printf(g->pool, "(SELECT %s(s.%s) FROM %s %ss)",
                          pair_choose_word(g, node, 4, WORDS("max", "min", "count")), name, t->name,
                          pair_spell(g, 2) ? "AS " : "");
}

static const char *pair_operand(struct speller *g, uint64_t node)
{
    const char *inner = pair_column(g, pair_child(node, 3));

    switch (pair_choose(g, node, 9, 16)) {
    case 0:
    case 1:
        return pair_literal(g, pair_child(node, 4));
    case 2:
        return strings_printf(g->pool, "CAST(%s AS %s)", inner, pair_choose_word(g, node, 5, types));
    case 3:
        return strings_printf(g->pool, "+%s", inner);
    case 4:
        return strings_printf(g->pool, "%s COLLATE %s", inner, pair_choose_word(g, node, 5, collations));
    case 5:
        return arithmetic(g, pair_child(node, 5));
    case 6:
        return strings_printf(g->pool, pair_choose(g, node, 6, 2) ? "lower(%s)" : "(%s || '')", inner);
    case 7:
        return scalar(g, pair_child(node, 7));
    default:
        return pair_spell(g, 8) ? inner : strings_printf(g->pool, "(%s)", inner);
    }
}

static const struct {
    const char *op, *turned, *opposite;
} comparisons[PAIR_COMPARISONS] = {
    { "=", "=", "<>" },  { "=", "=", "<>" },       { "<>", "<>", "=" },
    { "<", ">", ">=" },  { "<=", ">=", ">" },      { ">", "<", "<=" },
    { ">=", "<=", "<" }, { "IS", "IS", "IS NOT" }, { "IS NOT", "IS NOT", "IS" },
};

/* c: one of PAIR_COMPARISONS; 0 and 1 are =, 2 <>, 3 <, 4 <=, 5 >, 6 >=. */
static const char *pair_compare(struct speller *g, const char *left, const char *right, int c)
{
    bool turned = pair_spell(g, 2);
    const char *op = turned ? comparisons[c].turned : comparisons[c].op;
    const char *a = turned ? right : left, *b = turned ? left : right;

    if (pair_spell(g, 6) == 0) {
        int other = 0;
        while (strcmp(comparisons[other].op, op) != 0)
            other++;
        return strings_printf(g->pool, "NOT %s %s %s", a, comparisons[other].opposite, b);
    }
    if (strcmp(op, "<>") == 0 || strcmp(op, "=") == 0)
        op = *op == '=' ? pair_spell_word(g, WORDS("=", "=", "==")) : pair_spell_word(g, WORDS("<>", "!="));
    return strings_printf(g->pool, "%s %s %s", a, op, b);
}

static const char *comparison(struct speller *g, uint64_t node)
{
    return pair_compare(g, pair_operand(g, pair_child(node, 1)), pair_operand(g, pair_child(node, 2)),
                        pair_choose(g, node, 3, PAIR_COMPARISONS));
}

static const char *between(struct speller *g, uint64_t node)
{
    const char *x = pair_operand(g, pair_child(node, 1)), *low = pair_operand(g, pair_child(node, 2)),
               *high = pair_operand(g, pair_child(node, 3));
    bool negated = pair_choose(g, node, 4, 3) == 0;

    switch (pair_spell(g, 3)) {
    case 0:
        return strings_printf(g->pool, negated ? "%s NOT BETWEEN %s AND %s" : "%s BETWEEN %s AND %s", x, low, high);
    case 1:
        return strings_printf(g->pool, negated ? "NOT (%s BETWEEN %s AND %s)" : "NOT %s NOT BETWEEN %s AND %s", x, low,
                              high);
    default:
        return strings_printf(g->pool, negated ? "(%s OR %s)" : "(%s AND %s)", pair_compare(g, x, low, negated ? 3 : 6),
                              pair_compare(g, x, high, negated ? 5 : 4));
    }
}

/* In another order. */
static void pair_shuffle(struct speller *g, const char **texts, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = pair_spell(g, i + 1);
        const char *text = texts[i];
        texts[i] = texts[k];
        texts[k] = text;
    }
}

static const char *pair_join(struct speller *g, const char *const *texts, int n, const char *separator)
{
    const char *text = texts[0];

    for (int i = 1; i < n; i++)
        text = strings_printf(g->pool, "%s%s%s", text, separator, texts[i]);
    return text;
}

static const char *in_list(struct speller *g, uint64_t node)
{
    const char *x = pair_operand(g, pair_child(node, 1)), *items[4];
    int n = 1 + pair_choose(g, node, 2, 3);
    bool negated = pair_choose(g, node, 3, 3) == 0, values = pair_choose(g, node, 4, 4);

    for (int i = 0; i < n; i++)
        items[i] = values ? pair_literal(g, pair_child(node, 10 + i)) : pair_operand(g, pair_child(node, 10 + i));
    pair_shuffle(g, items, n);
    if (pair_spell(g, 3) == 0)
        items[n++] = items[0];
    if (pair_spell(g, 2)) {
        for (int i = 0; i < n; i++)
            items[i] = pair_compare(g, x, items[i], negated ? 2 : 0);
        return strings_printf(g->pool, "(%s)", pair_join(g, items, n, negated ? " AND " : " OR "));
    }
    return strings_printf(g->pool,
                          negated ? pair_spell_word(g, WORDS("%s NOT IN (%s)", "NOT %s IN (%s)")) : "%s IN (%s)", x,
                          pair_join(g, items, n, ", "));
}

static const char *truth(struct speller *g, uint64_t node)
{
    const char *x = pair_operand(g, pair_child(node, 1));

    switch (pair_choose(g, node, 2, 3)) {
    case 0:
        return strings_printf(g->pool, pair_spell_word(g, WORDS("%s IS NULL", "%s ISNULL", "NULL IS %s")), x);
    case 1:
        return strings_printf(g->pool, pair_spell_word(g, WORDS("%s IS NOT NULL", "%s NOTNULL", "NOT %s IS NULL")), x);
    default:
        return strings_printf(g->pool, pair_spell_word(g, WORDS("%s", "NOT NOT %s", "%s IS TRUE", "%s IS 1", "(%s)")),
                              x);
    }
}

static const char *pattern(struct speller *g, uint64_t node)
{
    const char *words = pair_choose(g, node, 1, 2) ? "LIKE" : "GLOB", *x = pair_operand(g, pair_child(node, 2));
    const char *like = pair_choose(g, node, 3, 2) ? pair_literal(g, pair_child(node, 4)) : "'a%'";

    return strings_printf(g->pool, pair_spell(g, 5) ? "%s %s %s" : "NOT %s NOT %s %s", x, words, like);
}

static const char *subquery(struct speller *g, uint64_t node)
{
    const char *x = pair_operand(g, pair_child(node, 1)), *table = some_table(g, node, 2);
    const char *y = strings_printf(g->pool, "z.%s", pair_choose_word(g, node, 3, WORDS("k", "a")));

    if (pair_choose(g, node, 4, 2))
        return strings_printf(g->pool, "%s IN (SELECT %s FROM %s z)", x, y, table);
    return strings_printf(g->pool,
                          pair_spell(g, 3) ? "EXISTS (SELECT 1 FROM %s z WHERE %s)"
                                           : "NOT NOT EXISTS (SELECT 1 FROM %s AS z WHERE %s)",
                          table, pair_compare(g, x, y, pair_choose(g, node, 5, PAIR_COMPARISONS)));
}

static const char *pair_condition(struct speller *g, uint64_t node, int depth)
{
    typedef const char *predicate_fn(struct speller * g, uint64_t node);
    static predicate_fn *const predicates[] = { comparison, comparison, comparison, between, in_list,
                                                in_list,    truth,      pattern,    subquery };
    const char *parts[3];

    if (depth == 0 || pair_choose(g, node, 1, 3))
        return predicates[pair_choose(g, node, 2, ARRAY_LEN(predicates))](g, pair_child(node, 3));
    int n = 2 + pair_choose(g, node, 4, 2);
    bool all = pair_choose(g, node, 5, 2);
    for (int i = 0; i < n; i++)
        parts[i] = strings_printf(g->pool, "(%s)", pair_condition(g, pair_child(node, 20 + i), depth - 1));
    pair_shuffle(g, parts, n);
    const char *text = pair_join(g, parts, n, all ? " AND " : " OR ");
    return pair_choose(g, node, 6, 6) ? text : strings_printf(g->pool, "NOT (%s)", text);
}

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

static const char *pair_statement(struct speller *g, uint64_t node)
{
    const char *select = some_select(g, node);
    return g->with ? strings_printf(g->pool, "%s %s", g->with, select) : select;
}

void pair_draw(struct sql_pair *p, const struct pair_world *w, struct strings *pool, uint64_t seed)
{
    bool independent = pair_mix(seed ^ 1) % 20 == 0, twisted = pair_mix(seed ^ 2) % 5 == 0;

    *p = (struct sql_pair){ .ordered = true };
    for (int side = 0; side < 2; side++) {
        struct speller g = { .w = w, .pool = pool, .random = pair_mix(seed + (uint64_t)side), .twist = -1 };
        if (side == 1 && twisted)
            g.twist = (int)(pair_mix(seed ^ 3) % 30);
        p->sql[side] = pair_statement(&g, pair_mix(seed ^ (side == 1 && independent ? 5 : 4)));
        p->ordered = p->ordered && g.ordered;
        p->open = p->open || g.open;
    }
}

static uint64_t next(uint64_t *random)
{
    return *random = pair_mix(*random);
}

static const char *any(uint64_t *random, const char *const *words)
{
    return words[next(random) % (uint64_t)pair_count(words)];
}

static const char *create_table(struct pair_world *w, int t, uint64_t *random)
{
    static const char *const declared[] = { "INTEGER", "TEXT",           "REAL",    "NUMERIC", "BLOB",        "",
                                            "INT",     "FLOATING POINT", "CHARINT", "DATE",    "VARCHAR(20)", NULL };
    static const char *const names[] = { "k", "a", "b", "c" };
    int form = (int)(next(random) % 4);
    const char *text = strings_printf(&w->pool, "CREATE TABLE %s (", w->tables[t].name);

    for (int c = 0; c < PAIR_COLUMNS; c++) {
        const char *type = c == 0 && form == 1 ? "INTEGER" : any(random, declared);
        const char *collate = any(random, WORDS("", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"));
        const char *key = c == 0 && form < 3 ? form == 0 ? " NOT NULL" : " PRIMARY KEY" : "";
        w->tables[t].columns[c] = names[c];
        text = strings_printf(&w->pool, "%s%s%s %s%s%s", text, c ? ", " : "", names[c], type, key, collate);
    }
    w->tables[t].rowid = form != 2;
    w->tables[t].number = form == 1;
    return strings_printf(&w->pool, "%s)%s;", text, form == 2 ? " WITHOUT ROWID" : "");
}

void pair_world_init(struct pair_world *w, uint64_t seed)
{
    static const char *const names[] = { "t", "u", "\"v w\"", "seen" };
    uint64_t random = pair_mix(seed);

    *w = (struct pair_world){ .script = "" };
    for (int i = 0; i < PAIR_VALUES; i++)
        w->values[i] = (int)(next(&random) % PAIR_LITERALS);
    for (int t = 0; t < PAIR_TABLES; t++)
        w->tables[t].name = names[t];
    for (int t = 0; t < PAIR_TABLES - 1; t++)
        w->script = strings_printf(&w->pool, "%s%s", w->script, create_table(w, t, &random));
    struct pair_table *view = &w->tables[PAIR_TABLES - 1];
    memcpy(view->columns, w->tables[0].columns, sizeof view->columns);
    w->script = strings_printf(&w->pool, "%sCREATE VIEW seen AS SELECT k, %s AS a, b, %s AS c FROM u;", w->script,
                               any(&random, WORDS("a", "+a", "lower(a)", "a COLLATE NOCASE")),
                               any(&random, WORDS("c", "CAST(c AS TEXT)", "c + 1")));
}

void pair_world_release(struct pair_world *w)
{
    strings_release(&w->pool);
}

const char *pair_rows(const struct pair_world *w, struct strings *pool, uint64_t seed)
{
    uint64_t random = pair_mix(seed);
    const char *text = "";

    for (int t = 0; t < PAIR_TABLES - 1; t++)
        for (int rows = (int)(next(&random) % 9); rows > 0; rows--) {
            const char *values[PAIR_COLUMNS];
            for (int c = 0; c < PAIR_COLUMNS; c++) {
                const char *const *group = pair_literals[w->values[next(&random) % PAIR_VALUES]];
                values[c] = any(&random, group);
                values[c] = *values[c] == '"' ? "'Abc'" : values[c];
            }
            if (w->tables[t].number)
                values[0] = any(&random, WORDS("1", "0", "-3", "2013", "10", "9007199254740993", "NULL"));
            text = strings_printf(pool, "%sINSERT OR IGNORE INTO %s VALUES (%s, %s, %s, %s);", text, w->tables[t].name,
                                  values[0], values[1], values[2], values[3]);
        }
    return text;
}
