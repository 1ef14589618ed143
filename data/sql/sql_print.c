#include "data/sql/sql_print.h"

#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void print_source_name(struct sql_printer *p, const struct sql_source *s);
static void print_over(struct sql_printer *p, const struct sql_window *w);

static void put_bytes(struct sql_printer *p, const char *s, size_t n)
{
    if (p->n + n >= p->cap) {
        p->cap = 2 * (p->n + n);
        p->text = xrealloc(p->text, p->cap);
    }
    memcpy(p->text + p->n, s, n);
    p->n += n;
}

void sql_put(struct sql_printer *p, const char *s)
{
    put_bytes(p, s, strlen(s));
}

void sql_put_quoted(struct sql_printer *p, const char *s, char quote)
{
    put_bytes(p, &quote, 1);
    for (; *s; s++) {
        if (*s == quote)
            put_bytes(p, s, 1);
        put_bytes(p, s, 1);
    }
    put_bytes(p, &quote, 1);
}

bool sql_name_wants_quotes(const char *name)
{
    bool mark = strncmp(name, "\xef\xbb\xbf", 3) == 0; /* a byte order mark, which the lexer skips as white space */
    if (!*name || isdigit((unsigned char)*name) || *name == '$' || mark)
        return true;
    for (const char *s = name; *s; s++)
        if (!sql_is_name_char((unsigned char)*s))
            return true;
    enum sql_keyword_use use = sql_word_use(name);
    return use != SQL_NOT_KEYWORD && use != SQL_KEYWORD_NAME;
}

void sql_put_name(struct sql_printer *p, const char *name)
{
    if (sql_name_wants_quotes(name))
        sql_put_quoted(p, name, '"');
    else
        sql_put(p, name);
}

/* Writes the name of a function or collation in capitals, unless it must be quoted. */
static void put_upper(struct sql_printer *p, const char *name)
{
    if (sql_name_wants_quotes(name)) {
        sql_put_quoted(p, name, '"');
        return;
    }
    for (const char *s = name; *s; s++)
        put_bytes(p, &(char){ (char)toupper((unsigned char)*s) }, 1);
}

static void put_alias(struct sql_printer *p, const struct sql_name *alias)
{
    if (!alias->text)
        return;
    sql_put(p, " AS ");
    sql_put_name(p, alias->text);
}

static void put_names(struct sql_printer *p, const struct sql_name *names)
{
    sql_put(p, "(");
    for (const struct sql_name *n = names; n; n = n->next) {
        if (n != names)
            sql_put(p, ", ");
        sql_put_name(p, n->text);
    }
    sql_put(p, ")");
}

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

/* --- Expressions --- */

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

/* Writes an expression, in parentheses if its precedence is lower than `level`. */
static void print_level(struct sql_printer *p, const struct sql_expr *e, int level)
{
    bool parens = expr_level(e) < level;
    if (parens)
        sql_put(p, "(");
    sql_print_expr(p, e);
    if (parens)
        sql_put(p, ")");
}

static void print_list(struct sql_printer *p, const struct sql_expr *list)
{
    for (const struct sql_expr *e = list; e; e = e->next) {
        if (e != list)
            sql_put(p, ", ");
        sql_print_expr(p, e);
    }
}

/* In double quotes, an unresolved name could turn into a string. sql_resolve settles such names first. */
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
        sql_put(p, " "); /* "--" would start a comment */
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
        print_source_name(p, e->source);
        return;
    }
    sql_put(p, "(");
    if (e->select)
        sql_print_select(p, e->select);
    else
        print_list(p, e->list);
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
    put_upper(p, e->name.text);
    sql_put(p, e->star ? "(*" : e->distinct ? "(DISTINCT " : "(");
    print_list(p, e->list);
    sql_put(p, ")");
    if (e->filter) {
        sql_put(p, " FILTER (WHERE ");
        sql_print_expr(p, e->filter);
        sql_put(p, ")");
    }
    if (e->over)
        print_over(p, e->over);
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
    print_list(p, e->list);
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
    put_upper(p, e->name.text);
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

/* --- Clauses and statements --- */

static void print_order(struct sql_printer *p, const struct sql_order *order)
{
    static const char *const nulls[] = { "", " NULLS FIRST", " NULLS LAST" };

    sql_put(p, "ORDER BY ");
    for (const struct sql_order *o = order; o; o = o->next) {
        if (o != order)
            sql_put(p, ", ");
        sql_print_expr(p, o->expr);
        sql_put(p, o->direction == SQL_DESCENDING ? " DESC" : "");
        sql_put(p, nulls[o->nulls]);
    }
}

static void print_results(struct sql_printer *p, const struct sql_result *results)
{
    for (const struct sql_result *r = results; r; r = r->next) {
        if (r != results)
            sql_put(p, ", ");
        if (r->expr)
            sql_print_expr(p, r->expr);
        if (r->table.text) {
            sql_put_name(p, r->table.text);
            sql_put(p, ".");
        }
        if (!r->expr)
            sql_put(p, "*");
        put_alias(p, &r->alias);
    }
}

static void print_source_name(struct sql_printer *p, const struct sql_source *s)
{
    if (s->schema.text) {
        sql_put_name(p, s->schema.text);
        sql_put(p, ".");
    }
    sql_put_name(p, s->name.text);
    if (s->kind == SQL_SOURCE_FUNCTION) {
        sql_put(p, "(");
        print_list(p, s->arguments);
        sql_put(p, ")");
    }
}

static void print_source(struct sql_printer *p, const struct sql_source *s)
{
    if (s->kind == SQL_SOURCE_SELECT || s->kind == SQL_SOURCE_GROUP) {
        sql_put(p, "(");
        if (s->select)
            sql_print_select(p, s->select);
        else
            sql_print_sources(p, s->group);
        sql_put(p, ")");
    } else {
        print_source_name(p, s);
    }
    put_alias(p, &s->alias);
    if (s->indexed == SQL_INDEX_NONE)
        sql_put(p, " NOT INDEXED");
    if (s->indexed == SQL_INDEX_NAMED) {
        sql_put(p, " INDEXED BY ");
        sql_put_name(p, s->index.text);
    }
    if (s->on) {
        sql_put(p, " ON ");
        sql_print_expr(p, s->on);
    }
    if (s->columns) {
        sql_put(p, " USING ");
        put_names(p, s->columns);
    }
}

void sql_print_sources(struct sql_printer *p, const struct sql_source *sources)
{
    static const char *const joins[] = { ", ", " JOIN ", " CROSS JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN " };

    for (const struct sql_source *s = sources; s; s = s->next) {
        if (s != sources) {
            sql_put(p, s->natural ? " NATURAL" : "");
            sql_put(p, joins[s->join]);
        }
        print_source(p, s);
    }
}

static void print_bound(struct sql_printer *p, const struct sql_bound *b)
{
    static const char *const kinds[] = { "UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW", " FOLLOWING",
                                         "UNBOUNDED FOLLOWING" };
    if (b->expr)
        sql_print_expr(p, b->expr);
    sql_put(p, kinds[b->kind]);
}

static void print_frame(struct sql_printer *p, const struct sql_window *w)
{
    static const char *const units[] = { "", "RANGE ", "ROWS ", "GROUPS " };
    static const char *const excludes[] = { "", " EXCLUDE NO OTHERS", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP",
                                            " EXCLUDE TIES" };
    sql_put(p, units[w->unit]);
    sql_put(p, w->between ? "BETWEEN " : "");
    print_bound(p, &w->start);
    if (w->between) {
        sql_put(p, " AND ");
        print_bound(p, &w->end);
    }
    sql_put(p, excludes[w->exclude]);
}

/* Writes a window definition with its parentheses. */
static void print_window(struct sql_printer *p, const struct sql_window *w)
{
    const char *space = "";

    sql_put(p, "(");
    if (w->base.text) {
        sql_put_name(p, w->base.text);
        space = " ";
    }
    if (w->partition) {
        sql_put(p, space);
        sql_put(p, "PARTITION BY ");
        print_list(p, w->partition);
        space = " ";
    }
    if (w->order) {
        sql_put(p, space);
        print_order(p, w->order);
        space = " ";
    }
    if (w->unit != SQL_NO_FRAME) {
        sql_put(p, space);
        print_frame(p, w);
    }
    sql_put(p, ")");
}

static void print_over(struct sql_printer *p, const struct sql_window *w)
{
    sql_put(p, " OVER ");
    if (w->bare)
        sql_put_name(p, w->base.text);
    else
        print_window(p, w);
}

static void print_windows(struct sql_printer *p, const struct sql_window *windows)
{
    sql_put(p, " WINDOW ");
    for (const struct sql_window *w = windows; w; w = w->next) {
        if (w != windows)
            sql_put(p, ", ");
        sql_put_name(p, w->name.text);
        sql_put(p, " AS ");
        print_window(p, w);
    }
}

static void print_clause(struct sql_printer *p, const char *word, const struct sql_expr *e)
{
    if (!e)
        return;
    sql_put(p, word);
    print_list(p, e);
}

static void print_tail(struct sql_printer *p, const struct sql_tail *t)
{
    if (t->order) {
        sql_put(p, " ");
        print_order(p, t->order);
    }
    print_clause(p, " LIMIT ", t->limit);
    print_clause(p, " OFFSET ", t->offset);
}

static void print_core(struct sql_printer *p, const struct sql_core *c)
{
    static const char *const ops[] = { "", " UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT " };

    sql_put(p, ops[c->op]);
    if (c->rows) {
        print_clause(p, "VALUES ", c->rows);
        return;
    }
    sql_put(p, c->distinct ? "SELECT DISTINCT " : "SELECT ");
    print_results(p, c->results);
    if (c->from) {
        sql_put(p, " FROM ");
        sql_print_sources(p, c->from);
    }
    print_clause(p, " WHERE ", c->where);
    print_clause(p, " GROUP BY ", c->group);
    print_clause(p, " HAVING ", c->having);
    if (c->windows)
        print_windows(p, c->windows);
    print_tail(p, &c->tail);
}

static void print_with(struct sql_printer *p, const struct sql_select *s)
{
    static const char *const materialized[] = { " AS (", " AS MATERIALIZED (", " AS NOT MATERIALIZED (" };

    sql_put(p, s->recursive ? "WITH RECURSIVE " : "WITH ");
    for (const struct sql_cte *c = s->ctes; c; c = c->next) {
        if (c != s->ctes)
            sql_put(p, ", ");
        sql_put_name(p, c->name.text);
        if (c->columns)
            put_names(p, c->columns);
        sql_put(p, materialized[c->materialized]);
        sql_print_select(p, c->select);
        sql_put(p, ")");
    }
    sql_put(p, " ");
}

void sql_print_select(struct sql_printer *p, const struct sql_select *s)
{
    if (s->ctes)
        print_with(p, s);
    for (const struct sql_core *c = s->cores; c; c = c->next)
        print_core(p, c);
    print_tail(p, &s->tail);
}

char *sql_print(struct arena *a, const struct sql_query *q)
{
    struct sql_printer p = { 0 };

    sql_print_select(&p, q->select);
    char *text = a->size - a->used > p.n + ARENA_ALIGN ? arena_alloc(a, p.n + 1) : NULL;
    if (text) {
        memcpy(text, p.text, p.n);
        text[p.n] = 0;
    }
    free(p.text);
    return text;
}
