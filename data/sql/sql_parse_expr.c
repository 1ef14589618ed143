/* Part of sql_parse.h: expressions, parsed by precedence climbing. */
#include "data/sql/sql_parse.h"

#include <string.h>
#include <strings.h>

static struct sql_expr *new_expr(struct sql_parser *p, enum sql_expr_kind kind, int begin);
static struct sql_expr *parse_level(struct sql_parser *p, int level);

/* --- Operands --- */

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
    struct sql_expr *e = new_expr(p, kind, begin);
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
    struct sql_expr *operand = parse_level(p, sql_op_level(op));
    if (!operand)
        return NULL;
    struct sql_expr *e = new_expr(p, SQL_EXPR_UNARY, begin);
    e->op = op;
    e->left = operand;
    return e;
}

/* Parses SELECT ... ) after the left parenthesis. */
static struct sql_select *parse_nested(struct sql_parser *p)
{
    struct sql_select *s = sql_parse_select(p);
    return s && sql_expect(p, TOKEN_RIGHT_PAREN, "\")\" after the sub-query") == 0 ? s : NULL;
}

static struct sql_expr *parse_paren(struct sql_parser *p)
{
    int begin = sql_begin(p);

    p->at++;
    if (sql_at_select(p)) {
        struct sql_select *s = parse_nested(p);
        struct sql_expr *e = s ? new_expr(p, SQL_EXPR_SELECT, begin) : NULL;
        if (e)
            e->select = s;
        return e;
    }
    struct sql_expr *list = sql_parse_list(p);
    if (!list || sql_expect(p, TOKEN_RIGHT_PAREN, "an operator, \",\" or \")\""))
        return NULL;
    if (!list->next)
        return list;
    struct sql_expr *row = new_expr(p, SQL_EXPR_ROW, begin);
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
    struct sql_select *s = parse_nested(p);
    struct sql_expr *e = s ? new_expr(p, SQL_EXPR_EXISTS, begin) : NULL;
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
    struct sql_expr *e = new_expr(p, SQL_EXPR_CASE, begin);
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

/* Parses a type name: any number of words, then optionally (n) or (n, m). The result keeps the words, with single
 * blanks. */
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
    struct sql_expr *e = new_expr(p, SQL_EXPR_CAST, begin);
    e->left = operand;
    e->text = type;
    return e;
}

/* Parses [FILTER (WHERE ...)] [OVER ...]. */
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

/* Parses a call, starting at the left parenthesis. */
static struct sql_expr *parse_call(struct sql_parser *p, struct sql_name *name)
{
    struct sql_expr *e = new_expr(p, SQL_EXPR_CALL, name->span.begin);

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

/* Parses column, table.column, schema.table.column or a call. */
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
    struct sql_expr *e = new_expr(p, SQL_EXPR_COLUMN, part[0].span.begin);
    e->name = part[n - 1];
    e->table = n > 1 ? keep_name(p, &part[n - 2]) : NULL;
    e->schema = n > 2 ? keep_name(p, &part[0]) : NULL;
    return e;
}

/* Parses an operand: an expression without infix operators. */
static struct sql_expr *parse_operand(struct sql_parser *p)
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

/* --- Operators --- */

enum { LEVEL_ANY = 1, LEVEL_NOT = 3, LEVEL_EQUAL = 4, LEVEL_LESS = 5, LEVEL_COLLATE = 11, LEVEL_UNARY = 12 };

int sql_op_level(enum sql_op op)
{
    if (op <= SQL_NOT)
        return op == SQL_OR ? 1 : op == SQL_AND ? 2 : LEVEL_NOT;
    if (op <= SQL_MATCH)
        return LEVEL_EQUAL;
    if (op <= SQL_GREATER_EQUAL)
        return LEVEL_LESS;
    if (op <= SQL_SHIFT_RIGHT)
        return 7; /* 6 is the precedence of ESCAPE, which is no node of its own */
    if (op <= SQL_SUBTRACT)
        return 8;
    if (op <= SQL_REMAINDER)
        return 9;
    return op <= SQL_ARROW_TEXT ? 10 : op == SQL_COLLATE ? LEVEL_COLLATE : LEVEL_UNARY;
}

static struct sql_expr *new_expr(struct sql_parser *p, enum sql_expr_kind kind, int begin)
{
    struct sql_expr *e = SQL_NEW(p, struct sql_expr);
    e->kind = kind;
    e->span = sql_since(p, begin);
    e->column = -1;
    return e;
}

struct sql_expr *sql_parse_list(struct sql_parser *p)
{
    struct sql_expr *first = NULL, **end = &first;

    do {
        *end = sql_parse_expr(p);
        if (!*end)
            return NULL;
        end = &(*end)->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return first;
}

int sql_parse_arguments(struct sql_parser *p, struct sql_expr **list)
{
    *list = NULL;
    if (sql_accept(p, TOKEN_RIGHT_PAREN))
        return 0;
    *list = sql_parse_list(p);
    return *list ? sql_expect(p, TOKEN_RIGHT_PAREN, "an operator, \",\" or \")\"") : -1;
}

static struct sql_expr *binary(struct sql_parser *p, struct sql_expr *left, enum sql_op op, struct sql_expr *right)
{
    if (!right)
        return NULL;
    struct sql_expr *e = new_expr(p, SQL_EXPR_BINARY, left->span.begin);
    e->op = op;
    e->left = left;
    e->right = right;
    return e;
}

static struct sql_expr *parse_binary(struct sql_parser *p, struct sql_expr *left, enum sql_op op)
{
    p->at++;
    return binary(p, left, op, parse_level(p, sql_op_level(op) + 1));
}

/* Parses IS [NOT] [DISTINCT FROM]. */
static struct sql_expr *parse_is(struct sql_parser *p, struct sql_expr *left)
{
    p->at++;
    bool negated = sql_accept(p, WORD_NOT);
    enum sql_op op = negated ? SQL_IS_NOT : SQL_IS;
    if (sql_accept(p, WORD_DISTINCT)) {
        if (sql_expect(p, WORD_FROM, "FROM"))
            return NULL;
        op = negated ? SQL_IS_NOT_DISTINCT : SQL_IS_DISTINCT;
    }
    return binary(p, left, op, parse_level(p, LEVEL_LESS));
}

/* ISNULL becomes IS NULL; NOTNULL and NOT NULL become IS NOT NULL. */
static struct sql_expr *parse_null_test(struct sql_parser *p, struct sql_expr *left, enum sql_op op)
{
    struct sql_expr *null = new_expr(p, SQL_EXPR_LITERAL, sql_begin(p));
    p->at++;
    null->text = "NULL";
    null->span.end = sql_since(p, 0).end;
    return binary(p, left, op, null);
}

static struct sql_expr *parse_like(struct sql_parser *p, struct sql_expr *left, bool negated, enum sql_op op)
{
    struct sql_expr *e = parse_binary(p, left, op);
    if (!e)
        return NULL;
    e->negated = negated;
    if (sql_accept(p, WORD_ESCAPE)) {
        e->third = parse_level(p, LEVEL_LESS);
        if (!e->third)
            return NULL;
        e->span = sql_since(p, e->span.begin);
    }
    return e;
}

static struct sql_expr *parse_between(struct sql_parser *p, struct sql_expr *left, bool negated)
{
    p->at++;
    /* this level excludes AND, which belongs to BETWEEN */
    struct sql_expr *low = parse_level(p, LEVEL_NOT);
    if (!low || sql_expect(p, WORD_AND, "AND of BETWEEN"))
        return NULL;
    struct sql_expr *high = parse_level(p, LEVEL_LESS);
    if (!high)
        return NULL;
    struct sql_expr *e = new_expr(p, SQL_EXPR_BETWEEN, left->span.begin);
    e->negated = negated;
    e->left = left;
    e->right = low;
    e->third = high;
    return e;
}

/* Parses x IN [schema.]table or x IN function(...). */
static int parse_in_table(struct sql_parser *p, struct sql_expr *e)
{
    struct sql_source *s = SQL_NEW(p, struct sql_source);
    int begin = sql_begin(p);

    e->source = s;
    s->table = -1;
    if (sql_parse_name(p, &s->name, "\"(\" or a table after IN"))
        return -1;
    if (sql_accept(p, TOKEN_DOT)) {
        s->schema = s->name;
        if (sql_parse_name(p, &s->name, "a table"))
            return -1;
    }
    if (sql_accept(p, TOKEN_LEFT_PAREN)) {
        s->kind = SQL_SOURCE_FUNCTION;
        if (sql_parse_arguments(p, &s->arguments))
            return -1;
    }
    s->span = sql_since(p, begin);
    return 0;
}

static struct sql_expr *parse_in(struct sql_parser *p, struct sql_expr *left, bool negated)
{
    struct sql_expr *e = new_expr(p, SQL_EXPR_IN, left->span.begin);

    p->at++;
    e->negated = negated;
    e->left = left;
    if (!sql_accept(p, TOKEN_LEFT_PAREN)) {
        if (parse_in_table(p, e))
            return NULL;
    } else if (sql_at_select(p)) {
        if (!(e->select = parse_nested(p)))
            return NULL;
    } else if (sql_parse_arguments(p, &e->list)) {
        return NULL;
    }
    e->span = sql_since(p, e->span.begin);
    return e;
}

static struct sql_expr *parse_collate(struct sql_parser *p, struct sql_expr *left)
{
    struct sql_name name;

    p->at++;
    if (!sql_is_bare_alias(sql_peek(p, 0))) {
        sql_unexpected(p, "a collation");
        return NULL;
    }
    sql_parse_name(p, &name, "a collation");
    struct sql_expr *e = new_expr(p, SQL_EXPR_COLLATE, left->span.begin);
    e->left = left;
    e->name = name;
    return e;
}

/* Returns the infix operator of a token, or -1. */
static int infix_op(int kind)
{
    static const struct {
        int kind;
        enum sql_op op;
    } ops[] = { { WORD_OR, SQL_OR },
                { WORD_AND, SQL_AND },
                { WORD_IS, SQL_IS },
                { WORD_ISNULL, SQL_IS },
                { WORD_NOTNULL, SQL_IS },
                { WORD_BETWEEN, SQL_EQUAL },
                { WORD_IN, SQL_EQUAL },
                { WORD_NOT, SQL_NOT },
                { WORD_LIKE, SQL_LIKE },
                { WORD_GLOB, SQL_GLOB },
                { WORD_REGEXP, SQL_REGEXP },
                { WORD_MATCH, SQL_MATCH },
                { WORD_COLLATE, SQL_COLLATE },
                { TOKEN_EQUAL, SQL_EQUAL },
                { TOKEN_NOT_EQUAL, SQL_NOT_EQUAL },
                { TOKEN_LESS, SQL_LESS },
                { TOKEN_LESS_EQUAL, SQL_LESS_EQUAL },
                { TOKEN_GREATER, SQL_GREATER },
                { TOKEN_GREATER_EQUAL, SQL_GREATER_EQUAL },
                { TOKEN_AND_BITS, SQL_BIT_AND },
                { TOKEN_OR_BITS, SQL_BIT_OR },
                { TOKEN_SHIFT_LEFT, SQL_SHIFT_LEFT },
                { TOKEN_SHIFT_RIGHT, SQL_SHIFT_RIGHT },
                { TOKEN_PLUS, SQL_ADD },
                { TOKEN_MINUS, SQL_SUBTRACT },
                { TOKEN_STAR, SQL_MULTIPLY },
                { TOKEN_SLASH, SQL_DIVIDE },
                { TOKEN_PERCENT, SQL_REMAINDER },
                { TOKEN_CONCAT, SQL_CONCAT },
                { TOKEN_ARROW, SQL_ARROW },
                { TOKEN_ARROW_TEXT, SQL_ARROW_TEXT } };

    for (int i = 0; i < ARRAY_LEN(ops); i++)
        if (ops[i].kind == kind)
            return (int)ops[i].op;
    return -1;
}

/* Parses NOT before an infix operator: NOT IN, NOT LIKE and so on. */
static struct sql_expr *parse_not_infix(struct sql_parser *p, struct sql_expr *left)
{
    p->at++;
    int kind = sql_peek(p, 0), op = infix_op(kind);

    if (kind == WORD_NULL)
        return parse_null_test(p, left, SQL_IS_NOT);
    if (kind == WORD_BETWEEN)
        return parse_between(p, left, true);
    if (kind == WORD_IN)
        return parse_in(p, left, true);
    if (op >= SQL_LIKE && op <= SQL_MATCH)
        return parse_like(p, left, true, (enum sql_op)op);
    sql_unexpected(p, "NULL, IN, BETWEEN, LIKE, GLOB, REGEXP or MATCH after NOT");
    return NULL;
}

static struct sql_expr *parse_infix(struct sql_parser *p, struct sql_expr *left, enum sql_op op)
{
    switch (sql_peek(p, 0)) {
    case WORD_IS:
        return parse_is(p, left);
    case WORD_ISNULL:
        return parse_null_test(p, left, SQL_IS);
    case WORD_NOTNULL:
        return parse_null_test(p, left, SQL_IS_NOT);
    case WORD_BETWEEN:
        return parse_between(p, left, false);
    case WORD_IN:
        return parse_in(p, left, false);
    case WORD_NOT:
        return parse_not_infix(p, left);
    case WORD_COLLATE:
        return parse_collate(p, left);
    default:
        return op >= SQL_LIKE && op <= SQL_MATCH ? parse_like(p, left, false, op) : parse_binary(p, left, op);
    }
}

/* Parses left-associative operators of at least that level. Each operator adds 1 to the tree's height. A NOT in place
 * of a tighter operand counts as nested, since it is printed in parentheses. */
static struct sql_expr *parse_operators(struct sql_parser *p, int level)
{
    int begin = sql_begin(p);
    bool loose = level > LEVEL_NOT && sql_peek(p, 0) == WORD_NOT;
    struct sql_expr *e = loose ? parse_level(p, LEVEL_NOT) : parse_operand(p);

    p->height++;
    for (int op; e && (op = infix_op(sql_peek(p, 0))) >= 0 && sql_op_level((enum sql_op)op) >= level; p->height++) {
        if (p->height >= SQL_MAX_HEIGHT) {
            sql_complain(p, sql_begin(p), "the expression is too large");
            return NULL;
        }
        e = parse_infix(p, e, (enum sql_op)op);
        if (e)
            e->span.begin = begin; /* a parenthesised left operand starts after its parenthesis */
    }
    return e;
}

/* Parses an expression whose outermost operators have at least that level. */
static struct sql_expr *parse_level(struct sql_parser *p, int level)
{
    int before = p->height;

    if (sql_enter(p))
        return NULL;
    p->height = 0;
    struct sql_expr *e = parse_operators(p, level);
    p->height = p->height > before ? p->height : before;
    sql_leave(p);
    return e;
}

struct sql_expr *sql_parse_expr(struct sql_parser *p)
{
    return parse_level(p, LEVEL_ANY);
}
