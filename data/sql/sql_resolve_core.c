/* Part of sql_resolve.h: one SELECT of a compound: its results, and the clauses behind FROM. */
#include "data/sql/sql_print.h"
#include "data/sql/sql_scope.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The outputs of a SELECT while its results are resolved. */
struct output_builder {
    struct sql_resolver *r;
    const struct sql_scope *scope;
    struct sql_result *result;
    struct sql_output *list; /* on the heap */
    int n, cap;
};

static int add_output(struct output_builder *b, struct sql_output output)
{
    if (b->n == SQL_MAX_OUTPUTS)
        return sql_fail(b->r, b->scope->core->span, "more than %d columns", SQL_MAX_OUTPUTS);
    GROW(b->list, b->n, b->cap);
    b->list[b->n++] = output;
    return 0;
}

static int add_starred(void *context, struct sql_output column)
{
    struct output_builder *b = context;

    column.named = true;
    return add_output(b, column) || sql_use_column(b->r, column.column, SQL_SELECT, b->scope->level, b->result->span)
               ? -1
               : 0;
}

/* t.* uses the table itself too. */
static int use_starred_table(struct output_builder *b, struct sql_source *list)
{
    const struct sql_span at = b->result->span;
    const char *name = b->result->table.text;

    for (struct sql_source *s = sql_find_source(list, name, NULL); s; s = sql_find_source(list, name, s)) {
        struct sql_use use = { s->table, -1, SQL_SELECT, b->scope->level, at.begin, at.end };
        if (s->table >= 0 && sql_use_add(b->r, use))
            return -1;
        b->result->table.text = sql_source_name(s);
    }
    return 0;
}

static int resolve_star(struct output_builder *b)
{
    struct sql_core *core = b->scope->core;
    char sources[400] = "";

    if (!core->from)
        return sql_fail(b->r, b->result->span, "\"*\" without FROM");
    if (b->result->table.text && use_starred_table(b, core->from))
        return -1;
    int n = sql_each_column(b->r, core->from, b->result->table.text, add_starred, b);
    if (n != 0)
        return n < 0 ? -1 : 0;
    sql_list_sources(sources, sizeof sources, core->from);
    return sql_fail(b->r, b->result->span, "no table or alias %s here; there are %s", b->result->table.text, sources);
}

static char *keep_text(struct sql_resolver *r, const char *text, size_t n)
{
    char *kept = sql_take(r, n + 1, 1);
    return kept ? memcpy(kept, text, n) : NULL;
}

/* A string that was a word in double quotes gives its column that name.  Printed as a string it would not, so in a
 * sub-query, where somebody may ask for it, it gets an alias. */
static void keep_word(struct sql_result *result, const struct sql_expr *e, int level)
{
    if (level == 0)
        return;
    result->alias = e->name;
    result->alias.next = NULL;
}

/* What an output is called: its alias, its column, or the text it was computed from. */
static int name_output(struct sql_resolver *r, struct sql_result *result, struct sql_output *out)
{
    const struct sql_span at = result->span;
    const struct sql_expr *e = result->expr;
    struct sql_printer p = { 0 };

    *out = (struct sql_output){ .name = result->alias.text, .named = result->alias.text };
    while (e->kind == SQL_EXPR_COLLATE)
        e = e->left;
    if (!out->name && e->kind == SQL_EXPR_STRING && e->name.text)
        keep_word(result, e, result->level);
    if (!out->name && (e->kind == SQL_EXPR_COLUMN || e->kind == SQL_EXPR_STRING))
        out->name = e->name.text;
    out->printed = out->name;
    out->column = e->kind == SQL_EXPR_COLUMN ? e->column : -1;
    if (out->name)
        return 0;
    sql_print_expr(&p, result->expr);
    out->name = keep_text(r, r->text + at.begin, (size_t)(at.end - at.begin));
    out->printed = out->name ? keep_text(r, p.text, p.n) : NULL;
    free(p.text);
    return out->printed ? 0 : -1;
}

static int resolve_result(struct output_builder *b, struct sql_scope *s)
{
    struct sql_result *result = b->result;
    struct sql_output output;
    int rc, before = b->n;

    result->first_use = b->r->n_uses;
    result->level = s->level;
    if (!result->expr) {
        rc = resolve_star(b);
    } else {
        rc = sql_resolve_expr(b->r, s, result->expr, SQL_SELECT);
        if (rc == 0)
            rc = name_output(b->r, result, &output) || add_output(b, output) ? -1 : 0;
    }
    result->n_uses = b->r->n_uses - result->first_use;
    result->n_outputs = b->n - before;
    return rc;
}

static int resolve_rows(struct output_builder *b, struct sql_scope *s)
{
    int width = 0;

    for (struct sql_expr *row = s->core->rows; row; row = row->next) {
        int n = 0;
        if (sql_resolve_list(b->r, s, row->list, SQL_SELECT))
            return -1;
        for (const struct sql_expr *e = row->list; e; e = e->next)
            n++;
        if (row != s->core->rows && n != width)
            return sql_fail(b->r, row->span, "a row of %d values among rows of %d", n, width);
        width = n;
    }
    for (int i = 0; i < width; i++) {
        char *name = sql_take(b->r, 24, 1);
        if (!name)
            return -1;
        snprintf(name, 24, "column%d", i + 1);
        if (add_output(b, (struct sql_output){ .name = name, .printed = name, .column = -1 }))
            return -1;
    }
    return 0;
}

static int resolve_outputs(struct sql_resolver *r, struct sql_scope *s, struct sql_outputs *out)
{
    struct output_builder b = { .r = r, .scope = s };
    int rc = s->core->rows ? resolve_rows(&b, s) : 0;

    for (b.result = s->core->results; b.result && rc == 0; b.result = b.result->next)
        rc = resolve_result(&b, s);
    out->list = rc ? NULL : sql_take(r, (size_t)b.n, sizeof *out->list);
    out->n = b.n;
    if (out->list)
        memcpy(out->list, b.list, (size_t)b.n * sizeof *b.list);
    free(b.list);
    return out->list ? 0 : -1;
}

/* As SQLite reads it: of at most 32 bits, with signs before it and in hexadecimal too. */
long sql_ordinal(const struct sql_expr *e)
{
    bool negative = false;
    char *end = NULL;

    for (; e->kind == SQL_EXPR_COLLATE || (e->kind == SQL_EXPR_UNARY && (e->op == SQL_PLUS || e->op == SQL_MINUS));
         e = e->left)
        negative ^= e->kind == SQL_EXPR_UNARY && e->op == SQL_MINUS;
    bool hex = e->kind == SQL_EXPR_LITERAL && e->text[0] == '0' && (e->text[1] | 0x20) == 'x';
    if (e->kind != SQL_EXPR_LITERAL || !isdigit((unsigned char)e->text[0]))
        return -1;
    long n = strtol(e->text, &end, hex ? 16 : 10);
    return *end || n > INT32_MAX ? -1 : negative ? 0 : n;
}

int sql_use_ordinal(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs, long n,
                    const struct sql_expr *e, enum sql_clause clause)
{
    const struct sql_result *result = s->core->results;

    if (sql_work(r, outputs->n, e->span))
        return -1;
    if (n < 1)
        return sql_fail(r, e->span, "expected a column from 1 to %d, got a number below 1", outputs->n);
    if (n > outputs->n)
        return sql_fail(r, e->span, "expected a column from 1 to %d, got %ld", outputs->n, n);
    for (long left = n; result && left > result->n_outputs; result = result->next)
        left -= result->n_outputs;
    if (!result || !result->expr)
        return sql_use_column(r, outputs->list[n - 1].column, clause, s->level, e->span);
    return sql_use_again(r, result, clause, s->level, e->span);
}

/* Unlike the other clauses, GROUP BY and ORDER BY see nothing of the queries around. */
static int resolve_group_by(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs)
{
    struct sql_scope own = *s;

    own.outer = NULL;
    for (struct sql_expr *e = s->core->group; e; e = e->next) {
        long n = sql_ordinal(e);
        if (n >= 0 ? sql_use_ordinal(r, s, outputs, n, e, SQL_GROUP) : sql_resolve_expr(r, &own, e, SQL_GROUP))
            return -1;
    }
    return 0;
}

/* Here, unlike elsewhere, an alias comes before a column of that name, and so does a column out of a star. */
static long find_named(const struct sql_outputs *outputs, const struct sql_expr *e)
{
    for (int i = 0; i < outputs->n && e->kind == SQL_EXPR_COLUMN && !e->table; i++)
        if (outputs->list[i].named && strcasecmp(outputs->list[i].name, e->name.text) == 0)
            return i + 1;
    return 0;
}

static int resolve_order_term(struct sql_resolver *r, struct sql_scope *s, const struct sql_outputs *outputs,
                              struct sql_expr *e)
{
    struct sql_expr *inner = e;
    long n = sql_ordinal(e);

    if (n >= 0)
        return sql_use_ordinal(r, s, outputs, n, e, SQL_ORDER);
    while (inner->kind == SQL_EXPR_COLLATE)
        inner = inner->left;
    n = find_named(outputs, inner);
    if (sql_work(r, outputs->n, e->span))
        return -1;
    if (n == 0)
        return sql_resolve_expr(r, s, e, SQL_ORDER);
    sql_settle_name(&inner->name, outputs->list[n - 1].printed);
    return sql_use_ordinal(r, s, outputs, n, inner, SQL_ORDER);
}

int sql_resolve_order(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs,
                      struct sql_order *order)
{
    struct sql_scope own = *s;

    own.outer = NULL;
    for (struct sql_order *o = order; o; o = o->next)
        if (resolve_order_term(r, &own, outputs, o->expr))
            return -1;
    return 0;
}

int sql_resolve_core(struct sql_resolver *r, struct sql_scope *s, struct sql_outputs *out)
{
    struct sql_core *core = s->core;

    if (sql_resolve_tables(r, s) || resolve_outputs(r, s, out))
        return -1;
    s->aliases = true;
    if (sql_resolve_conditions(r, s) || (core->where && sql_resolve_expr(r, s, core->where, SQL_WHERE)) ||
        resolve_group_by(r, s, out) || (core->having && sql_resolve_expr(r, s, core->having, SQL_HAVING)))
        return -1;
    return sql_resolve_windows(r, s);
}
