/* Part of sql_print.h: expressions. */
#include "data/sql/sql_print.h"

#include <string.h>

enum { LEVEL_NOT = 3, LEVEL_EQUAL = 4, LEVEL_LESS = 5, LEVEL_LEAF = 20 };

static const char *const op_text[] = {
    [SQL_OR] = "OR",
    [SQL_AND] = "AND",
    [SQL_NOT] = "NOT ",
    [SQL_EQUAL] = "=",
    [SQL_NOT_EQUAL] = "!=",
    [SQL_IS] = "IS",
    [SQL_IS_NOT] = "IS NOT",
    [SQL_IS_DISTINCT] = "IS DISTINCT FROM",
    [SQL_IS_NOT_DISTINCT] = "IS NOT DISTINCT FROM",
    [SQL_LIKE] = "LIKE",
    [SQL_GLOB] = "GLOB",
    [SQL_REGEXP] = "REGEXP",
    [SQL_MATCH] = "MATCH",
    [SQL_LESS] = "<",
    [SQL_LESS_EQUAL] = "<=",
    [SQL_GREATER] = ">",
    [SQL_GREATER_EQUAL] = ">=",
    [SQL_BIT_AND] = "&",
    [SQL_BIT_OR] = "|",
    [SQL_SHIFT_LEFT] = "<<",
    [SQL_SHIFT_RIGHT] = ">>",
    [SQL_ADD] = "+",
    [SQL_SUBTRACT] = "-",
    [SQL_MULTIPLY] = "*",
    [SQL_DIVIDE] = "/",
    [SQL_REMAINDER] = "%",
    [SQL_CONCAT] = "||",
    [SQL_ARROW] = "->",
    [SQL_ARROW_TEXT] = "->>",
    [SQL_MINUS] = "-",
    [SQL_PLUS] = "+",
    [SQL_BIT_NOT] = "~",
};

const char *sql_op_text(enum sql_op op)
{
    return op_text[op];
}

static int expr_level(const struct sql_expr *e)
{
    switch (e->kind) {
    case SQL_EXPR_UNARY:
    case SQL_EXPR_BINARY:
        return sql_op_level(e->op);
    case SQL_EXPR_COLLATE:
        return sql_op_level(SQL_COLLATE);
    case SQL_EXPR_BETWEEN:
    case SQL_EXPR_IN:
        return LEVEL_EQUAL;
    default:
        return LEVEL_LEAF;
    }
}

/* In parentheses when it binds less than its place asks. */
static void print_level(struct sql_printer *p, const struct sql_expr *e, int level)
{
    bool parens = expr_level(e) < level;
    if (parens)
        sql_put(p, "(");
    sql_print_expr(p, e);
    if (parens)
        sql_put(p, ")");
}

void sql_print_list(struct sql_printer *p, const struct sql_expr *list)
{
    for (const struct sql_expr *e = list; e; e = e->next) {
        if (e != list)
            sql_put(p, ", ");
        sql_print_expr(p, e);
    }
}

/* A bare name in backquotes or brackets could become a string in double quotes; sql_resolve has put an end to that. */
static void print_column(struct sql_printer *p, const struct sql_expr *e)
{
    char quote = e->name.quote;

    if (e->schema) {
        sql_put_name(p, e->schema->text);
        sql_put(p, ".");
    }
    if (e->table) {
        sql_put_name(p, e->table->text);
        sql_put(p, ".");
    }
    if (e->table)
        sql_put_name(p, e->name.text);
    else if (quote == '"')
        sql_put_quoted(p, e->name.text, '"');
    else if (quote && sql_name_wants_quotes(e->name.text))
        sql_put_quoted(p, e->name.text, '`');
    else
        sql_put(p, e->name.text);
}

static void print_unary(struct sql_printer *p, const struct sql_expr *e)
{
    sql_put(p, op_text[e->op]);
    if (e->left->kind == SQL_EXPR_UNARY && e->op != SQL_NOT)
        sql_put(p, " "); /* two minus signs would be a comment */
    print_level(p, e->left, sql_op_level(e->op));
}

static void print_binary(struct sql_printer *p, const struct sql_expr *e)
{
    int level = sql_op_level(e->op);

    print_level(p, e->left, level);
    sql_put(p, e->negated ? " NOT " : " ");
    sql_put(p, op_text[e->op]);
    sql_put(p, " ");
    print_level(p, e->right, level + 1);
    if (e->third) {
        sql_put(p, " ESCAPE ");
        print_level(p, e->third, LEVEL_LESS);
    }
}

static void print_between(struct sql_printer *p, const struct sql_expr *e)
{
    print_level(p, e->left, LEVEL_EQUAL);
    sql_put(p, e->negated ? " NOT BETWEEN " : " BETWEEN ");
    print_level(p, e->right, LEVEL_NOT);
    sql_put(p, " AND ");
    print_level(p, e->third, LEVEL_LESS);
}

static void print_in(struct sql_printer *p, const struct sql_expr *e)
{
    print_level(p, e->left, LEVEL_EQUAL);
    sql_put(p, e->negated ? " NOT IN " : " IN ");
    if (e->source) {
        sql_print_source_name(p, e->source);
        return;
    }
    sql_put(p, "(");
    if (e->select)
        sql_print_select(p, e->select);
    else
        sql_print_list(p, e->list);
    sql_put(p, ")");
}

static void print_case(struct sql_printer *p, const struct sql_expr *e)
{
    sql_put(p, "CASE");
    if (e->left) {
        sql_put(p, " ");
        sql_print_expr(p, e->left);
    }
    for (const struct sql_expr *when = e->list; when; when = when->next->next) {
        sql_put(p, " WHEN ");
        sql_print_expr(p, when);
        sql_put(p, " THEN ");
        sql_print_expr(p, when->next);
    }
    if (e->third) {
        sql_put(p, " ELSE ");
        sql_print_expr(p, e->third);
    }
    sql_put(p, " END");
}

static void print_call(struct sql_printer *p, const struct sql_expr *e)
{
    sql_put_upper(p, e->name.text);
    sql_put(p, e->star ? "(*" : e->distinct ? "(DISTINCT " : "(");
    sql_print_list(p, e->list);
    sql_put(p, ")");
    if (e->filter) {
        sql_put(p, " FILTER (WHERE ");
        sql_print_expr(p, e->filter);
        sql_put(p, ")");
    }
    if (e->over)
        sql_print_over(p, e->over);
}

static void print_nested(struct sql_printer *p, const char *before, const struct sql_select *s)
{
    sql_put(p, before);
    sql_print_select(p, s);
    sql_put(p, ")");
}

static void print_row(struct sql_printer *p, const struct sql_expr *e)
{
    sql_put(p, "(");
    sql_print_list(p, e->list);
    sql_put(p, ")");
}

static void print_cast(struct sql_printer *p, const struct sql_expr *e)
{
    sql_put(p, "CAST(");
    sql_print_expr(p, e->left);
    sql_put(p, e->text[0] ? " AS " : " AS");
    sql_put(p, e->text);
    sql_put(p, ")");
}

static void print_collate(struct sql_printer *p, const struct sql_expr *e)
{
    print_level(p, e->left, sql_op_level(SQL_COLLATE));
    sql_put(p, " COLLATE ");
    sql_put_upper(p, e->name.text);
}

void sql_print_expr(struct sql_printer *p, const struct sql_expr *e)
{
    switch (e->kind) {
    case SQL_EXPR_LITERAL:
    case SQL_EXPR_PARAMETER:
        sql_put(p, e->text);
        break;
    case SQL_EXPR_STRING:
        sql_put_quoted(p, e->text, '\'');
        break;
    case SQL_EXPR_COLUMN:
        print_column(p, e);
        break;
    case SQL_EXPR_UNARY:
        print_unary(p, e);
        break;
    case SQL_EXPR_BINARY:
        print_binary(p, e);
        break;
    case SQL_EXPR_BETWEEN:
        print_between(p, e);
        break;
    case SQL_EXPR_IN:
        print_in(p, e);
        break;
    case SQL_EXPR_CASE:
        print_case(p, e);
        break;
    case SQL_EXPR_CAST:
        print_cast(p, e);
        break;
    case SQL_EXPR_COLLATE:
        print_collate(p, e);
        break;
    case SQL_EXPR_CALL:
        print_call(p, e);
        break;
    case SQL_EXPR_EXISTS:
        print_nested(p, "EXISTS (", e->select);
        break;
    case SQL_EXPR_SELECT:
        print_nested(p, "(", e->select);
        break;
    case SQL_EXPR_ROW:
        print_row(p, e);
        break;
    }
}
