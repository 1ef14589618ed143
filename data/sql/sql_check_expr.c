/* Part of sql_check.h: expressions, and how many columns each part of one has. */
#include "data/sql/sql_check_impl.h"
#include "data/sql/sql_function.h"

#include <string.h>
#include <strings.h>

static int width(const struct sql_expr *e)
{
    if (e->kind == SQL_EXPR_SELECT)
        return sql_select_width(e->select);
    return e->kind == SQL_EXPR_ROW ? sql_count_list(e->list) : 1;
}

static int refuse_width(const struct sql_checker *c, const struct sql_expr *e, int wanted)
{
    const char *what = e->kind == SQL_EXPR_SELECT ? "a sub-query with" : e->kind == SQL_EXPR_ROW ? "a row of" : "";
    return sql_refuse(c, e->span, "expected %d column%s, got %s %d", wanted, wanted > 1 ? "s" : "", what, width(e));
}

static int check_parts(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at);

/* So many columns. */
static int check_width(struct sql_checker *c, const struct sql_expr *e, int wanted, const struct sql_place *at)
{
    if (width(e) != wanted)
        return refuse_width(c, e, wanted);
    return e->kind == SQL_EXPR_ROW ? sql_check_values(c, e->list, at) : check_parts(c, e, at);
}

int sql_check_value(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    return check_width(c, e, at->idle ? width(e) : 1, at);
}

int sql_check_values(struct sql_checker *c, const struct sql_expr *list, const struct sql_place *at)
{
    for (const struct sql_expr *e = list; e; e = e->next)
        if (sql_check_value(c, e, at))
            return -1;
    return 0;
}

/* Comparisons compare rows too. */
static int check_binary(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    bool compares =
        (e->op >= SQL_EQUAL && e->op <= SQL_IS_NOT_DISTINCT) || (e->op >= SQL_LESS && e->op <= SQL_GREATER_EQUAL);
    int n = compares ? width(e->left) : 1;

    if (e->op == SQL_REGEXP)
        return sql_refuse(c, e->span, "SQLite has no REGEXP");
    if (check_width(c, e->left, n, at) || check_width(c, e->right, n, at))
        return -1;
    return e->third ? sql_check_value(c, e->third, at) : 0;
}

static int check_between(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    int n = width(e->left);

    if (check_width(c, e->left, n, at) || check_width(c, e->right, n, at))
        return -1;
    return check_width(c, e->third, n, at);
}

static int check_in(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    int n = width(e->left);
    const struct sql_source *table = e->source;

    if (check_width(c, e->left, n, at))
        return -1;
    if (e->select && sql_select_width(e->select) != n && !at->idle)
        return sql_refuse(c, e->select->span, "expected %d column%s, got a sub-query with %d", n, n > 1 ? "s" : "",
                          sql_select_width(e->select));
    if (e->select)
        return sql_check_select(c, e->select, at);
    int columns = !table ? n : table->table >= 0 ? c->schema->tables[table->table].n_columns : table->n_outputs;
    if (columns != n && !at->idle)
        return sql_refuse(c, table->span, "expected %d column%s, got a table with %d", n, n > 1 ? "s" : "", columns);
    for (const struct sql_expr *item = e->list; item; item = item->next) {
        bool rows = e->left->kind == SQL_EXPR_ROW && item->kind == SQL_EXPR_ROW && width(item) == n;
        if (e->left->kind == SQL_EXPR_ROW && !rows)
            return sql_refuse_always(c, item->span, "IN: expected a row of as many values as on the left");
        if (e->left->kind == SQL_EXPR_SELECT && n > 1)
            return sql_refuse(c, item->span, "IN: expected a row on the left, not a sub-query");
        if (check_width(c, item, n, at))
            return -1;
    }
    return 0;
}

static int check_case(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    int n = e->left ? width(e->left) : 1;

    if (e->left && check_width(c, e->left, n, at))
        return -1;
    for (const struct sql_expr *when = e->list; when; when = when->next->next)
        if (check_width(c, when, n, at) || sql_check_value(c, when->next, at))
            return -1;
    return e->third ? sql_check_value(c, e->third, at) : 0;
}

/* What EXISTS selects is never worked out, though GROUP BY looks into it. */
static int check_exists(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    struct sql_place around = *at;

    around.aggregates = around.aggregates || strcmp(at->clause, "GROUP BY") != 0;
    return sql_check_select(c, e->select, &around);
}

/* A hexadecimal number has 64 bits. */
static int check_literal(const struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const char *digits = e->text;

    if (at->idle || strncasecmp(digits, "0x", 2) != 0)
        return 0;
    digits += 2 + strspn(digits + 2, "0_");
    size_t n = strspn(digits, "0123456789abcdefABCDEF");
    return n > 16 ? sql_refuse(c, e->span, "expected at most 16 hexadecimal digits, got %zu", n) : 0;
}

static int check_parts(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    switch (e->kind) {
    case SQL_EXPR_LITERAL:
        return check_literal(c, e, at);
    case SQL_EXPR_COLUMN:
        return e->source ? 0 : sql_check_alias(c, e, at);
    case SQL_EXPR_UNARY:
    case SQL_EXPR_CAST:
    case SQL_EXPR_COLLATE:
        return sql_check_value(c, e->left, at);
    case SQL_EXPR_BINARY:
        return check_binary(c, e, at);
    case SQL_EXPR_BETWEEN:
        return check_between(c, e, at);
    case SQL_EXPR_IN:
        return check_in(c, e, at);
    case SQL_EXPR_CASE:
        return check_case(c, e, at);
    case SQL_EXPR_CALL:
        return sql_check_call(c, e, at);
    case SQL_EXPR_EXISTS:
        return check_exists(c, e, at);
    case SQL_EXPR_SELECT:
        return sql_check_select(c, e->select, at);
    default:
        return 0;
    }
}
