/* Part of materialise.h: what the new table of a P record holds: the aggregates for each value of the columns that the
 * query groups or filters by, as far as its second reading can say so.
 */
#include "data/ambiguate/materialise_impl.h"

#include "data/sql/sql_lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_GROUPS = 64 };

struct aggregate_groups {
    struct target *t;
    const struct ambiguity *a;
    const struct schema *s;
    struct ambiqt_words words; /* of the original query */
    const char *names[MAX_GROUPS];
    int n;
};

/* A column as the original query writes it, with its alias where it has one there. */
static const char *reference(const struct aggregate_groups *g, const char *name)
{
    for (int i = 0; i < g->words.n; i++)
        if (ambiqt_has_alias(g->words.items[i]) && strcasecmp(g->words.items[i] + 3, name) == 0)
            return strings_keep(&g->t->text, g->words.items[i]);
    char *quoted = sqlite3_mprintf("\"%w\"", name);
    const char *kept = strings_keep(&g->t->text, quoted);
    sqlite3_free(quoted);
    return kept;
}

static bool is_column(const struct aggregate_groups *g, const char *name)
{
    int t, n = g->a->one_table ? 1 : g->a->n_tables;
    for (int i = 0; i < n; i++) {
        t = schema_table_find(g->s, g->a->one_table ? g->a->record.table : g->a->tables[i]);
        if (t >= 0 && schema_column_find(g->s, t, name) >= 0)
            return true;
    }
    return false;
}

static void add_group(struct aggregate_groups *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (strcasecmp(g->names[i], name) == 0)
            return;
    if (g->n < MAX_GROUPS)
        g->names[g->n++] = strings_keep(&g->t->text, name);
}

/* Every column that a piece of SQL names outside quotes. */
static void add_groups_of(struct aggregate_groups *g, const char *sql)
{
    int n = 0;
    struct sql_token *tokens = sql ? sql_lex(sql, &n) : NULL;

    for (int i = 0; i < n; i++) {
        bool word = tokens[i].kind == TOKEN_NAME || tokens[i].kind >= TOKEN_KEYWORD;
        if (!word || strchr("\"`[", sql[tokens[i].begin]))
            continue;
        const char *name = strings_printf(&g->t->text, "%.*s", tokens[i].end - tokens[i].begin, sql + tokens[i].begin);
        if (is_column(g, name))
            add_group(g, name);
    }
    free(tokens);
}

/* The text between the first FROM and the clause behind it. */
static const char *from_clause(const struct aggregate_groups *g)
{
    static const char *const clauses[] = { " where ", " group by ", " having ", " order by ", " limit " };
    const char *from = strstr(g->a->record.original, " from ") + strlen(" from "), *end = from + strlen(from);

    for (int i = 0; i < ARRAY_LEN(clauses); i++) {
        const char *p = strstr(from, clauses[i]);
        if (p && p < end)
            end = p;
    }
    return strings_printf(&g->t->text, "%.*s", (int)(end - from), from);
}

static bool reading_names(const struct ambiguity *a, const char *name)
{
    struct ambiqt_words w;
    ambiqt_words_split(&w, a->record.readings[1]);
    bool found = ambiqt_words_find(&w, name) >= 0;
    ambiqt_words_release(&w);
    return found;
}

static const char *append(struct aggregate_groups *g, const char *list, const char *expression, const char *name)
{
    char *one = sqlite3_mprintf("%s%s AS \"%w\"", *list ? ", " : "", expression, name);
    list = strings_printf(&g->t->text, "%s%s", list, one);
    sqlite3_free(one);
    return list;
}

static const char *append_aggregates(struct aggregate_groups *g, const char *list, const char *column)
{
    static const char *const functions[] = { "sum", "avg", "min", "max", "count" };
    const char *from = reference(g, column);

    for (int i = 0; i < ARRAY_LEN(functions); i++) {
        const char *name = strings_printf(&g->t->text, "%s_%s", functions[i], column);
        if (i < 4 || reading_names(g->a, name))
            list = append(g, list, strings_printf(&g->t->text, "%s(%s)", functions[i], from), name);
    }
    return list;
}

/* All columns of the new table in the form of the validation file. */
static const char *stored_columns(struct aggregate_groups *g)
{
    const struct ambiguity *a = g->a;
    const char *list = "";

    for (int i = 0; i < g->n; i++)
        list = append(g, list, reference(g, g->names[i]), g->names[i]);
    if (a->number)
        list = append(g, list, "count(*)", "number");
    for (int i = a->n_plain + a->number; i < a->n_stored; i++)
        list = append_aggregates(g, list, a->stored[i]);
    return list;
}

/* And in that of the training file: the table's other columns, this one too where the reading has it, then the four. */
static const char *one_table_columns(struct aggregate_groups *g)
{
    static const char *const functions[] = { "max", "min", "avg", "sum" };
    const struct ambiqt_record *r = &g->a->record;
    const struct schema_table *table = &g->s->tables[schema_table_find(g->s, r->table)];
    const char *list = "", *column = reference(g, r->column);

    for (int c = table->first_column; c < table->first_column + table->n_columns; c++)
        if (strcasecmp(g->s->columns[c].name, r->column) != 0 || reading_names(g->a, r->column))
            list = append(g, list, reference(g, g->s->columns[c].name), g->s->columns[c].name);
    for (int i = 0; i < r->n_new_columns; i++)
        list = append(g, list, strings_printf(&g->t->text, "%s(%s)", functions[i], column), r->new_columns[i]);
    return list;
}

const char *materialise_aggregate(struct target *t, const struct ambiguity *a, const struct schema *s)
{
    struct aggregate_groups g = { .t = t, .a = a, .s = s };
    const char *original = a->record.original, *groups = "";

    ambiqt_words_split(&g.words, original);
    for (int i = 0; i < a->n_plain; i++)
        add_group(&g, a->stored[i]);
    add_groups_of(&g, a->one_table ? strstr(original, " from ") : strstr(a->record.readings[1], " where "));
    add_groups_of(&g, strstr(original, " group by "));
    for (int i = 0; i < g.n; i++)
        groups = strings_printf(&t->text, "%s%s%s", groups, i ? ", " : " GROUP BY ", reference(&g, g.names[i]));
    const char *list = a->one_table ? one_table_columns(&g) : stored_columns(&g);
    const char *sql = strings_printf(&t->text, "SELECT %s FROM %s%s", list, from_clause(&g), groups);
    ambiqt_words_release(&g.words);
    return sql;
}
