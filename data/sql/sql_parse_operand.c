/* Part of sql.h: what stands between operators. */
#include "data/sql/sql_parse_impl.h"

#include <string.h>

static char *copy_span(struct sql_parser *p, struct sql_span s)
{
    char *copy = arena_alloc(p->arena, (size_t)(s.end - s.begin) + 1);
    memcpy(copy, p->text + s.begin, (size_t)(s.end - s.begin));
    copy[s.end - s.begin] = 0;
    return copy;
}

static struct sql_expr *parse_token(struct sql_parser *p, enum sql_expr_kind kind)
{
    int begin = sql_begin(p);
    p->at++;
    struct sql_expr *e = sql_new_expr(p, kind, begin);
    e->text = kind == SQL_EXPR_STRING ? sql_unquote(p, &p->tokens[p->at - 1]) : copy_span(p, e->span);
    return e;
}

static struct sql_expr *parse_keyword_literal(struct sql_parser *p)
{
    const char *text = sql_keyword_text(sql_peek(p, 0));
    struct sql_expr *e = parse_token(p, SQL_EXPR_LITERAL);
    e->text = text;
    return e;
}

static struct sql_expr *parse_unary(struct sql_parser *p, enum sql_op op)
{
    int begin = sql_begin(p);
    p->at++;
    struct sql_expr *operand = sql_parse_level(p, sql_op_level(op));
    if (!operand)
        return NULL;
    struct sql_expr *e = sql_new_expr(p, SQL_EXPR_UNARY, begin);
    e->op = op;
    e->left = operand;
    return e;
}

/* ( SELECT ... ), at the word SELECT. */
struct sql_select *sql_parse_nested(struct sql_parser *p)
{
    struct sql_select *s = sql_parse_select(p);
    return s && sql_expect(p, TOKEN_RIGHT_PAREN, "\")\" after the sub-query") == 0 ? s : NULL;
}

static struct sql_expr *parse_paren(struct sql_parser *p)
{
    int begin = sql_begin(p);

    p->at++;
    if (sql_at_select(p)) {
        struct sql_select *s = sql_parse_nested(p);
        struct sql_expr *e = s ? sql_new_expr(p, SQL_EXPR_SELECT, begin) : NULL;
        if (e)
            e->select = s;
        return e;
    }
    struct sql_expr *list = sql_parse_list(p);
    if (!list || sql_expect(p, TOKEN_RIGHT_PAREN, "an operator, \",\" or \")\""))
        return NULL;
    if (!list->next)
        return list;
    struct sql_expr *row = sql_new_expr(p, SQL_EXPR_ROW, begin);
    row->list = list;
    return row;
}

static struct sql_expr *parse_exists(struct sql_parser *p)
{
    int begin = sql_begin(p);

    p->at++;
    if (sql_expect(p, TOKEN_LEFT_PAREN, "\"(\" after EXISTS"))
        return NULL;
    if (!sql_at_select(p)) {
        sql_unexpected(p, "a sub-query");
        return NULL;
    }
    struct sql_select *s = sql_parse_nested(p);
    struct sql_expr *e = s ? sql_new_expr(p, SQL_EXPR_EXISTS, begin) : NULL;
    if (e)
        e->select = s;
    return e;
}

static struct sql_expr *parse_case(struct sql_parser *p)
{
    int begin = sql_begin(p);
    struct sql_expr *operand = NULL, *otherwise = NULL, *list = NULL, **end = &list;

    p->at++;
    if (sql_peek(p, 0) != WORD_WHEN && !(operand = sql_parse_expr(p)))
        return NULL;
    if (sql_peek(p, 0) != WORD_WHEN) {
        sql_unexpected(p, "WHEN");
        return NULL;
    }
    while (sql_accept(p, WORD_WHEN)) {
        if (!(*end = sql_parse_expr(p)) || sql_expect(p, WORD_THEN, "THEN"))
            return NULL;
        end = &(*end)->next;
        if (!(*end = sql_parse_expr(p)))
            return NULL;
        end = &(*end)->next;
    }
    if (sql_accept(p, WORD_ELSE) && !(otherwise = sql_parse_expr(p)))
        return NULL;
    if (sql_expect(p, WORD_END, "WHEN, ELSE or END"))
        return NULL;
    struct sql_expr *e = sql_new_expr(p, SQL_EXPR_CASE, begin);
    e->left = operand;
    e->list = list;
    e->third = otherwise;
    return e;
}

static int parse_signed_number(struct sql_parser *p)
{
    if (!sql_accept(p, TOKEN_PLUS))
        sql_accept(p, TOKEN_MINUS);
    return sql_expect(p, TOKEN_NUMBER, "a number");
}

/* A type name: any words, even none, then perhaps (n) or (n, m).  Printed as written, blanks made single. */
static const char *parse_type(struct sql_parser *p)
{
    int first = p->at;

    while (sql_is_bare_alias(sql_peek(p, 0)))
        p->at++;
    if (p->at > first && sql_accept(p, TOKEN_LEFT_PAREN))
        if (parse_signed_number(p) || (sql_accept(p, TOKEN_COMMA) && parse_signed_number(p)) ||
            sql_expect(p, TOKEN_RIGHT_PAREN, "\")\" after the type's size"))
            return NULL;
    struct sql_span s = sql_since(p, p->tokens[first].begin);
    char *type = arena_alloc(p->arena, p->at > first ? (size_t)(2 * (s.end - s.begin)) + 1 : 1), *to = type;
    for (int i = first; i < p->at; i++) {
        const struct sql_token *t = &p->tokens[i];
        bool word = sql_is_name(t->kind);
        if (word && i > first)
            *to++ = ' ';
        to = mempcpy(to, p->text + t->begin, (size_t)(t->end - t->begin));
        if (t->kind == TOKEN_COMMA)
            *to++ = ' ';
    }
    *to = 0;
    return type;
}

static struct sql_expr *parse_cast(struct sql_parser *p)
{
    int begin = sql_begin(p);

    p->at++;
    if (sql_expect(p, TOKEN_LEFT_PAREN, "\"(\" after CAST"))
        return NULL;
    struct sql_expr *operand = sql_parse_expr(p);
    if (!operand || sql_expect(p, WORD_AS, "an operator or AS"))
        return NULL;
    const char *type = parse_type(p);
    if (!type || sql_expect(p, TOKEN_RIGHT_PAREN, "\")\" after the type"))
        return NULL;
    struct sql_expr *e = sql_new_expr(p, SQL_EXPR_CAST, begin);
    e->left = operand;
    e->text = type;
    return e;
}

/* [FILTER (WHERE ...)] [OVER ...] */
static int parse_filter_over(struct sql_parser *p, struct sql_expr *call)
{
    if (sql_peek(p, 0) == WORD_FILTER && sql_peek(p, 1) == TOKEN_LEFT_PAREN) {
        p->at += 2;
        if (sql_expect(p, WORD_WHERE, "WHERE") || !(call->filter = sql_parse_expr(p)) ||
            sql_expect(p, TOKEN_RIGHT_PAREN, "an operator or \")\""))
            return -1;
    }
    int next = sql_peek(p, 1);
    if (sql_peek(p, 0) == WORD_OVER && (next == TOKEN_LEFT_PAREN || sql_is_name(next))) {
        p->at++;
        call->over = sql_parse_over(p);
        return call->over ? 0 : -1;
    }
    return 0;
}

/* At the left parenthesis. */
static struct sql_expr *parse_call(struct sql_parser *p, struct sql_name *name)
{
    struct sql_expr *e = sql_new_expr(p, SQL_EXPR_CALL, name->span.begin);

    p->at++;
    e->name = *name;
    if (sql_accept(p, TOKEN_STAR)) {
        e->star = true;
        if (sql_expect(p, TOKEN_RIGHT_PAREN, "\")\" after \"*\""))
            return NULL;
    } else {
        e->distinct = sql_accept(p, WORD_DISTINCT);
        if (!e->distinct)
            sql_accept(p, WORD_ALL);
        if (sql_parse_arguments(p, &e->list))
            return NULL;
    }
    if (parse_filter_over(p, e))
        return NULL;
    e->span = sql_since(p, name->span.begin);
    return e;
}

static struct sql_name *keep_name(struct sql_parser *p, const struct sql_name *name)
{
    struct sql_name *kept = SQL_NEW(p, struct sql_name);
    *kept = *name;
    return kept;
}

/* column, table.column, schema.table.column or a call. */
static struct sql_expr *parse_named(struct sql_parser *p)
{
    struct sql_name part[3];
    int n = 0;
    bool call = sql_keyword_use(sql_peek(p, 0)) != SQL_KEYWORD_JOIN;

    do {
        if (sql_parse_name(p, &part[n++], "a name after \".\""))
            return NULL;
    } while (n < 3 && sql_accept(p, TOKEN_DOT));
    if (n == 1 && call && sql_peek(p, 0) == TOKEN_LEFT_PAREN)
        return parse_call(p, &part[0]);
    struct sql_expr *e = sql_new_expr(p, SQL_EXPR_COLUMN, part[0].span.begin);
    e->name = part[n - 1];
    e->table = n > 1 ? keep_name(p, &part[n - 2]) : NULL;
    e->schema = n > 2 ? keep_name(p, &part[0]) : NULL;
    return e;
}

struct sql_expr *sql_parse_operand(struct sql_parser *p)
{
    int kind = sql_peek(p, 0);

    switch (kind) {
    case TOKEN_NUMBER:
    case TOKEN_BLOB:
        return parse_token(p, SQL_EXPR_LITERAL);
    case TOKEN_PARAMETER:
        return parse_token(p, SQL_EXPR_PARAMETER);
    case TOKEN_STRING:
        return sql_peek(p, 1) == TOKEN_DOT ? parse_named(p) : parse_token(p, SQL_EXPR_STRING);
    case TOKEN_LEFT_PAREN:
        return parse_paren(p);
    case TOKEN_MINUS:
        return parse_unary(p, SQL_MINUS);
    case TOKEN_PLUS:
        return parse_unary(p, SQL_PLUS);
    case TOKEN_TILDE:
        return parse_unary(p, SQL_BIT_NOT);
    case WORD_NOT:
        return parse_unary(p, SQL_NOT);
    case WORD_NULL:
        return parse_keyword_literal(p);
    case WORD_CURRENT_DATE:
    case WORD_CURRENT_TIME:
    case WORD_CURRENT_TIMESTAMP:
        return sql_peek(p, 1) == TOKEN_DOT ? parse_named(p) : parse_keyword_literal(p);
    case WORD_EXISTS:
        return parse_exists(p);
    case WORD_CASE:
        return parse_case(p);
    case WORD_CAST:
        return sql_peek(p, 1) == TOKEN_DOT ? parse_named(p) : parse_cast(p);
    case WORD_RAISE:
        sql_unexpected(p, "an expression outside triggers");
        return NULL;
    default:
        if (sql_is_name(kind))
            return parse_named(p);
        sql_unexpected(p, "an expression");
        return NULL;
    }
}
