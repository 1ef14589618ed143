/* Part of sql.h: SELECT and its clauses. */
#include "data/sql/sql_parse_impl.h"

bool sql_at_select(const struct sql_parser *p)
{
    int kind = sql_peek(p, 0);
    return kind == WORD_SELECT || kind == WORD_VALUES || kind == WORD_WITH;
}

static int parse_order_end(struct sql_parser *p, struct sql_order *o)
{
    if (sql_accept(p, WORD_DESC))
        o->direction = SQL_DESCENDING;
    else
        sql_accept(p, WORD_ASC);
    if (!sql_accept(p, WORD_NULLS))
        return 0;
    o->nulls = sql_peek(p, 0) == WORD_FIRST ? SQL_NULLS_FIRST : SQL_NULLS_LAST;
    if (sql_peek(p, 0) != WORD_FIRST && sql_peek(p, 0) != WORD_LAST)
        return sql_unexpected(p, "FIRST or LAST");
    p->at++;
    return 0;
}

struct sql_order *sql_parse_order(struct sql_parser *p)
{
    struct sql_order *first = NULL, **end = &first;

    do {
        struct sql_order *o = SQL_NEW(p, struct sql_order);
        if (!(o->expr = sql_parse_expr(p)) || parse_order_end(p, o))
            return NULL;
        *end = o;
        end = &o->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return first;
}

/* *, t.* or an expression with an alias. */
static struct sql_result *parse_result(struct sql_parser *p)
{
    struct sql_result *r = SQL_NEW(p, struct sql_result);
    int begin = sql_begin(p);

    if (sql_is_name(sql_peek(p, 0)) && sql_peek(p, 1) == TOKEN_DOT && sql_peek(p, 2) == TOKEN_STAR) {
        sql_parse_name(p, &r->table, "a table");
        p->at += 2;
    } else if (!sql_accept(p, TOKEN_STAR)) {
        if (!(r->expr = sql_parse_expr(p)))
            return NULL;
        r->span = sql_since(p, begin);
        return sql_parse_alias(p, &r->alias) ? NULL : r;
    }
    r->span = sql_since(p, begin);
    return r;
}

static struct sql_result *parse_results(struct sql_parser *p)
{
    struct sql_result *first = NULL, **end = &first;

    do {
        if (!(*end = parse_result(p)))
            return NULL;
        end = &(*end)->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return first;
}

/* VALUES (1, 2), (3, 4): rows even of one value, unlike parentheses elsewhere. */
static int parse_rows(struct sql_parser *p, struct sql_core *core)
{
    struct sql_expr **end = &core->rows;

    do {
        struct sql_expr *row = SQL_NEW(p, struct sql_expr);
        int begin = sql_begin(p);
        row->kind = SQL_EXPR_ROW;
        row->column = -1;
        if (sql_expect(p, TOKEN_LEFT_PAREN, "\"(\"") || !(row->list = sql_parse_list(p)) ||
            sql_expect(p, TOKEN_RIGHT_PAREN, "an operator, \",\" or \")\""))
            return -1;
        row->span = sql_since(p, begin);
        *end = row;
        end = &row->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return 0;
}

static int parse_group(struct sql_parser *p, struct sql_core *core)
{
    if (sql_accept(p, WORD_GROUP))
        if (sql_expect(p, WORD_BY, "BY") || !(core->group = sql_parse_list(p)))
            return -1;
    if (sql_accept(p, WORD_HAVING) && !(core->having = sql_parse_expr(p)))
        return -1;
    return 0;
}

static int parse_select_core(struct sql_parser *p, struct sql_core *core)
{
    core->distinct = sql_accept(p, WORD_DISTINCT);
    if (!core->distinct)
        sql_accept(p, WORD_ALL);
    if (!(core->results = parse_results(p)))
        return -1;
    if (sql_accept(p, WORD_FROM) && !(core->from = sql_parse_sources(p)))
        return -1;
    if (sql_accept(p, WORD_WHERE) && !(core->where = sql_parse_expr(p)))
        return -1;
    if (parse_group(p, core))
        return -1;
    if (sql_at_window_clause(p)) {
        p->at++;
        core->windows = sql_parse_windows(p);
        return core->windows ? 0 : -1;
    }
    return 0;
}

static struct sql_core *parse_core(struct sql_parser *p, enum sql_set_op op)
{
    struct sql_core *core = SQL_NEW(p, struct sql_core);
    int begin = sql_begin(p), rc;

    core->op = op;
    if (sql_accept(p, WORD_VALUES))
        rc = parse_rows(p, core);
    else
        rc = sql_expect(p, WORD_SELECT, "SELECT or VALUES") ? -1 : parse_select_core(p, core);
    core->span = sql_since(p, begin);
    return rc ? NULL : core;
}

static enum sql_set_op parse_set_op(struct sql_parser *p)
{
    if (sql_accept(p, WORD_UNION))
        return sql_accept(p, WORD_ALL) ? SQL_UNION_ALL : SQL_UNION;
    if (sql_accept(p, WORD_EXCEPT))
        return SQL_EXCEPT;
    return sql_accept(p, WORD_INTERSECT) ? SQL_INTERSECT : SQL_FIRST_CORE;
}

/* LIMIT n, LIMIT n OFFSET m, LIMIT m, n */
static int parse_limit(struct sql_parser *p, struct sql_tail *t)
{
    if (!(t->limit = sql_parse_expr(p)))
        return -1;
    bool comma = sql_accept(p, TOKEN_COMMA);
    if (!comma && !sql_accept(p, WORD_OFFSET))
        return 0;
    if (!(t->offset = sql_parse_expr(p)))
        return -1;
    if (comma) {
        struct sql_expr *first = t->limit;
        t->limit = t->offset;
        t->offset = first;
    }
    return 0;
}

static int parse_tail(struct sql_parser *p, struct sql_tail *t)
{
    if (sql_accept(p, WORD_ORDER))
        if (sql_expect(p, WORD_BY, "BY") || !(t->order = sql_parse_order(p)))
            return -1;
    return sql_accept(p, WORD_LIMIT) ? parse_limit(p, t) : 0;
}

static int parse_cores(struct sql_parser *p, struct sql_select *s)
{
    struct sql_core **end = &s->cores;
    enum sql_set_op op = SQL_FIRST_CORE;

    do {
        struct sql_tail tail = { 0 };
        struct sql_core *core = parse_core(p, op);
        if (!core || (!core->rows && parse_tail(p, &tail))) /* VALUES takes no tail */
            return -1;
        op = parse_set_op(p);
        *(op == SQL_FIRST_CORE ? &s->tail : &core->tail) = tail;
        *end = core;
        end = &core->next;
    } while (op != SQL_FIRST_CORE);
    return 0;
}

static struct sql_cte *parse_cte(struct sql_parser *p)
{
    struct sql_cte *c = SQL_NEW(p, struct sql_cte);

    if (sql_parse_name(p, &c->name, "the name of a common table expression"))
        return NULL;
    if (sql_peek(p, 0) == TOKEN_LEFT_PAREN && !(c->columns = sql_parse_names(p)))
        return NULL;
    if (sql_expect(p, WORD_AS, "AS"))
        return NULL;
    bool negated = sql_accept(p, WORD_NOT);
    if (sql_accept(p, WORD_MATERIALIZED)) {
        c->materialized = negated ? SQL_NOT_MATERIALIZED : SQL_MATERIALIZED;
    } else if (negated) {
        sql_unexpected(p, "MATERIALIZED");
        return NULL;
    }
    if (sql_expect(p, TOKEN_LEFT_PAREN, "\"(\""))
        return NULL;
    if (!sql_at_select(p)) {
        sql_unexpected(p, "SELECT");
        return NULL;
    }
    if (!(c->select = sql_parse_select(p)) || sql_expect(p, TOKEN_RIGHT_PAREN, "\")\" after the sub-query"))
        return NULL;
    return c;
}

static int parse_with(struct sql_parser *p, struct sql_select *s)
{
    struct sql_cte **end = &s->ctes;

    s->recursive = sql_accept(p, WORD_RECURSIVE);
    do {
        if (!(*end = parse_cte(p)))
            return -1;
        end = &(*end)->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return 0;
}

static int parse_parts(struct sql_parser *p, struct sql_select *s)
{
    return sql_accept(p, WORD_WITH) && parse_with(p, s) ? -1 : parse_cores(p, s);
}

struct sql_select *sql_parse_select(struct sql_parser *p)
{
    struct sql_select *s = SQL_NEW(p, struct sql_select);
    int begin = sql_begin(p);

    if (sql_enter(p))
        return NULL;
    int rc = parse_parts(p, s);
    p->height++;
    sql_leave(p);
    s->span = sql_since(p, begin);
    return rc ? NULL : s;
}
