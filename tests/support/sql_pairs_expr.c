/* Part of sql_pairs.h: literals, operands, conditions. */
#include "tests/support/sql_pairs_impl.h"

#include <string.h>

const char *const pair_literals[PAIR_LITERALS][9] = {
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

const char *pair_literal(struct speller *g, uint64_t node)
{
    const char *const *group = pair_literals[g->w->values[pair_choose(g, node, 0, PAIR_VALUES)]];
    return pair_spell(g, 5) ? group[0] : pair_spell_word(g, group);
}

static const char *source_name(struct speller *g, int source)
{
    const char *name = g->sources[source].name;
    return pair_spell(g, 4) || strchr(name, '"') ? name : strings_printf(g->pool, "\"%s\"", name);
}

const char *pair_column_of(struct speller *g, uint64_t node, int source)
{
    const struct pair_table *t = g->sources[source].table;
    const char *name =
        t ? t->columns[pair_choose(g, node, 1, PAIR_COLUMNS)] : g->sources[source].columns[pair_choose(g, node, 1, 2)];
    bool bare = g->n_sources == 1 || (g->joined && strcmp(name, "k") == 0);

    return bare && pair_spell(g, 2) ? name : strings_printf(g->pool, "%s.%s", source_name(g, source), name);
}

const char *pair_column(struct speller *g, uint64_t node)
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

const char *pair_operand(struct speller *g, uint64_t node)
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

const char *pair_compare(struct speller *g, const char *left, const char *right, int c)
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
void pair_shuffle(struct speller *g, const char **texts, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = pair_spell(g, i + 1);
        const char *text = texts[i];
        texts[i] = texts[k];
        texts[k] = text;
    }
}

const char *pair_join(struct speller *g, const char *const *texts, int n, const char *separator)
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

const char *pair_condition(struct speller *g, uint64_t node, int depth)
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
