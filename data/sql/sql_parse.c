#include "data/sql/sql_parse.h"

#include "data/sql/sql.h"
#include "data/sql/sql_tree.h"

#include <stdlib.h>
#include <string.h>

static bool at_window_clause(const struct sql_parser *p);
static struct sql_source *parse_sources(struct sql_parser *p);
static struct sql_order *parse_order(struct sql_parser *p);

/* --- Tokens and names --- */

void *sql_new_node(struct sql_parser *p, size_t bytes)
{
    return memset(arena_alloc(p->arena, bytes), 0, bytes);
}

int sql_peek(const struct sql_parser *p, int ahead)
{
    int at = p->at + ahead;
    return p->tokens[at < p->n_tokens ? at : p->n_tokens - 1].kind;
}

bool sql_accept(struct sql_parser *p, int kind)
{
    if (sql_peek(p, 0) != kind)
        return false;
    p->at++;
    return true;
}

int sql_begin(const struct sql_parser *p)
{
    return p->tokens[p->at].begin;
}

struct sql_span sql_since(const struct sql_parser *p, int begin)
{
    return (struct sql_span){ begin, p->at ? p->tokens[p->at - 1].end : 0 };
}

/* Returns how many bytes of text to quote in a message: at most 40, without cutting a UTF-8 character. */
static int shown(const struct sql_parser *p, int begin, int length)
{
    int n = 0;
    while (n < length && n < 40 && p->text[begin + n])
        n++;
    while (n > 0 && n < length && ((unsigned char)p->text[begin + n] & 0xc0) == 0x80)
        n--;
    return n;
}

int sql_complain(struct sql_parser *p, int begin, const char *what)
{
    return sql_error(p->err, p->text, begin, ", near \"%.*s\": %s", shown(p, begin, 41), p->text + begin, what);
}

int sql_unexpected(struct sql_parser *p, const char *expected)
{
    const struct sql_token *t = &p->tokens[p->at];
    int length = shown(p, t->begin, t->end - t->begin);

    if (t->kind == TOKEN_END)
        return sql_error(p->err, p->text, t->begin, ": expected %s, got the end of the text", expected);
    if (t->kind == TOKEN_ILLEGAL)
        return sql_error(p->err, p->text, t->begin, ": expected %s, got \"%.*s\", which is no SQL token", expected,
                         length, p->text + t->begin);
    return sql_error(p->err, p->text, t->begin, ": expected %s, got \"%.*s\"", expected, length, p->text + t->begin);
}

int sql_expect(struct sql_parser *p, int kind, const char *expected)
{
    return sql_accept(p, kind) ? 0 : sql_unexpected(p, expected);
}

int sql_enter(struct sql_parser *p)
{
    if (p->nesting == SQL_MAX_NESTING)
        return sql_error(p->err, p->text, sql_begin(p), ": nested more than %d deep", SQL_MAX_NESTING);
    p->nesting++;
    return 0;
}

void sql_leave(struct sql_parser *p)
{
    p->nesting--;
}

bool sql_is_name(int kind)
{
    enum sql_keyword_use use = sql_keyword_use(kind);
    return kind == TOKEN_NAME || kind == TOKEN_STRING || (kind >= TOKEN_KEYWORD && use != SQL_KEYWORD_RESERVED);
}

bool sql_is_bare_alias(int kind)
{
    return sql_is_name(kind) && sql_keyword_use(kind) != SQL_KEYWORD_JOIN && kind != WORD_INDEXED;
}

char *sql_unquote(struct sql_parser *p, const struct sql_token *t)
{
    const char *s = p->text + t->begin;
    size_t length = (size_t)(t->end - t->begin), n = 0;
    char *out = arena_alloc(p->arena, length + 1), close = *s == '[' ? ']' : *s;
    bool quoted = t->kind == TOKEN_STRING || !sql_is_name_char((unsigned char)*s);

    for (size_t i = quoted; i < length - quoted; i++) {
        out[n++] = s[i];
        if (quoted && s[i] == close)
            i++; /* a doubled quote */
    }
    out[n] = 0;
    return out;
}

int sql_parse_name(struct sql_parser *p, struct sql_name *out, const char *expected)
{
    const struct sql_token *t = &p->tokens[p->at];

    if (!sql_is_name(t->kind))
        return sql_unexpected(p, expected);
    char first = p->text[t->begin];
    *out = (struct sql_name){ .text = sql_unquote(p, t), .span = { t->begin, t->end } };
    out->quote = (char)(sql_is_name_char((unsigned char)first) ? 0 : first);
    p->at++;
    return 0;
}

/* Parses [AS] name, or nothing. */
static int parse_alias(struct sql_parser *p, struct sql_name *out)
{
    if (sql_accept(p, WORD_AS))
        return sql_parse_name(p, out, "a name after AS");
    if (sql_is_bare_alias(sql_peek(p, 0)) && !at_window_clause(p))
        return sql_parse_name(p, out, "a name");
    return 0;
}

/* Parses ( a, b ). */
static struct sql_name *parse_names(struct sql_parser *p)
{
    struct sql_name *first = NULL, **end = &first;

    if (sql_expect(p, TOKEN_LEFT_PAREN, "\"(\""))
        return NULL;
    do {
        *end = SQL_NEW(p, struct sql_name);
        if (sql_parse_name(p, *end, "a column name"))
            return NULL;
        end = &(*end)->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return sql_expect(p, TOKEN_RIGHT_PAREN, "\",\" or \")\"") ? NULL : first;
}

/* --- Windows --- */

/* WINDOW, OVER and FILTER are keywords only where no name fits. */
static bool at_window_clause(const struct sql_parser *p)
{
    return sql_peek(p, 0) == WORD_WINDOW && sql_is_name(sql_peek(p, 1)) && sql_peek(p, 2) == WORD_AS;
}

/* A bound may be UNBOUNDED PRECEDING only at the start of a frame and UNBOUNDED FOLLOWING only at its end. */
static int parse_bound(struct sql_parser *p, struct sql_bound *b, bool end)
{
    if (sql_accept(p, WORD_UNBOUNDED)) {
        b->kind = end ? SQL_UNBOUNDED_FOLLOWING : SQL_UNBOUNDED_PRECEDING;
        return end ? sql_expect(p, WORD_FOLLOWING, "FOLLOWING") : sql_expect(p, WORD_PRECEDING, "PRECEDING");
    }
    if (sql_accept(p, WORD_CURRENT)) {
        b->kind = SQL_CURRENT_ROW;
        return sql_expect(p, WORD_ROW, "ROW");
    }
    if (!(b->expr = sql_parse_expr(p)))
        return -1;
    b->kind = sql_peek(p, 0) == WORD_PRECEDING ? SQL_PRECEDING : SQL_FOLLOWING;
    return sql_accept(p, WORD_PRECEDING) ? 0 : sql_expect(p, WORD_FOLLOWING, "an operator, PRECEDING or FOLLOWING");
}

static int parse_exclude(struct sql_parser *p, struct sql_window *w)
{
    if (!sql_accept(p, WORD_EXCLUDE))
        return 0;
    if (sql_accept(p, WORD_NO)) {
        w->exclude = SQL_EXCLUDE_NO_OTHERS;
        return sql_expect(p, WORD_OTHERS, "OTHERS");
    }
    if (sql_accept(p, WORD_CURRENT)) {
        w->exclude = SQL_EXCLUDE_CURRENT_ROW;
        return sql_expect(p, WORD_ROW, "ROW");
    }
    w->exclude = sql_peek(p, 0) == WORD_GROUP ? SQL_EXCLUDE_GROUP : SQL_EXCLUDE_TIES;
    return sql_accept(p, WORD_GROUP) ? 0 : sql_expect(p, WORD_TIES, "NO OTHERS, CURRENT ROW, GROUP or TIES");
}

static enum sql_frame_unit parse_unit(struct sql_parser *p)
{
    if (sql_accept(p, WORD_RANGE))
        return SQL_RANGE;
    if (sql_accept(p, WORD_ROWS))
        return SQL_ROWS;
    return sql_accept(p, WORD_GROUPS) ? SQL_GROUPS : SQL_NO_FRAME;
}

static int parse_frame(struct sql_parser *p, struct sql_window *w)
{
    int begin = sql_begin(p);

    w->unit = parse_unit(p);
    if (w->unit == SQL_NO_FRAME)
        return 0;
    w->between = sql_accept(p, WORD_BETWEEN);
    w->end.kind = SQL_CURRENT_ROW;
    if (parse_bound(p, &w->start, false))
        return -1;
    if (w->between && (sql_expect(p, WORD_AND, "AND") || parse_bound(p, &w->end, true)))
        return -1;
    if (w->start.kind > w->end.kind)
        return sql_complain(p, begin, "the frame ends before it starts");
    return parse_exclude(p, w);
}

/* Parses a window definition after the left parenthesis, including the right one. */
static int parse_definition(struct sql_parser *p, struct sql_window *w)
{
    int kind = sql_peek(p, 0);
    bool own = kind == WORD_PARTITION || kind == WORD_RANGE || kind == WORD_ROWS || kind == WORD_GROUPS;

    if (!own && sql_is_name(kind) && sql_parse_name(p, &w->base, "a window"))
        return -1;
    if (sql_accept(p, WORD_PARTITION))
        if (sql_expect(p, WORD_BY, "BY") || !(w->partition = sql_parse_list(p)))
            return -1;
    if (sql_accept(p, WORD_ORDER))
        if (sql_expect(p, WORD_BY, "BY") || !(w->order = parse_order(p)))
            return -1;
    return parse_frame(p, w) ? -1 : sql_expect(p, TOKEN_RIGHT_PAREN, "PARTITION BY, ORDER BY, a frame or \")\"");
}

struct sql_window *sql_parse_over(struct sql_parser *p)
{
    struct sql_window *w = SQL_NEW(p, struct sql_window);

    w->bare = !sql_accept(p, TOKEN_LEFT_PAREN);
    int rc = w->bare ? sql_parse_name(p, &w->base, "a window") : parse_definition(p, w);
    return rc ? NULL : w;
}

/* Parses the definitions after WINDOW. */
static struct sql_window *parse_windows(struct sql_parser *p)
{
    struct sql_window *first = NULL, **end = &first;

    do {
        struct sql_window *w = SQL_NEW(p, struct sql_window);
        if (sql_parse_name(p, &w->name, "a window") || sql_expect(p, WORD_AS, "AS") ||
            sql_expect(p, TOKEN_LEFT_PAREN, "\"(\"") || parse_definition(p, w))
            return NULL;
        *end = w;
        end = &w->next;
    } while (sql_accept(p, TOKEN_COMMA));
    return first;
}

/* --- FROM clauses --- */

/* Parses INDEXED BY name, NOT INDEXED, or nothing. */
static int parse_indexed(struct sql_parser *p, struct sql_source *s)
{
    if (sql_accept(p, WORD_INDEXED)) {
        s->indexed = SQL_INDEX_NAMED;
        return sql_expect(p, WORD_BY, "BY") ? -1 : sql_parse_name(p, &s->index, "an index");
    }
    if (sql_peek(p, 0) == WORD_NOT && sql_peek(p, 1) == WORD_INDEXED) {
        s->indexed = SQL_INDEX_NONE;
        p->at += 2;
    }
    return 0;
}

static int parse_table(struct sql_parser *p, struct sql_source *s)
{
    if (sql_parse_name(p, &s->name, "a table or sub-query"))
        return -1;
    if (sql_accept(p, TOKEN_DOT)) {
        s->schema = s->name;
        if (sql_parse_name(p, &s->name, "a table"))
            return -1;
    }
    if (sql_accept(p, TOKEN_LEFT_PAREN)) {
        s->kind = SQL_SOURCE_FUNCTION;
        return sql_parse_arguments(p, &s->arguments) ? -1 : parse_alias(p, &s->alias);
    }
    return parse_alias(p, &s->alias) ? -1 : parse_indexed(p, s);
}

/* Parses ( SELECT ... ) or ( a JOIN b ) after the left parenthesis. */
static int parse_in_parens(struct sql_parser *p, struct sql_source *s)
{
    bool select = sql_at_select(p);

    s->kind = select ? SQL_SOURCE_SELECT : SQL_SOURCE_GROUP;
    if (select)
        s->select = sql_parse_select(p);
    else
        s->group = parse_sources(p);
    if (!s->select && !s->group)
        return -1;
    return sql_expect(p, TOKEN_RIGHT_PAREN, "a join or \")\"") ? -1 : parse_alias(p, &s->alias);
}

/* Removes parentheses around a single table. SQLite then drops an alias inside them. */
static void unwrap(struct sql_source *s)
{
    struct sql_source outer = *s;

    if (s->kind != SQL_SOURCE_GROUP || s->group->next)
        return;
    *s = *outer.group;
    s->join = outer.join;
    s->natural = outer.natural;
    s->alias = outer.alias;
    s->indexed = SQL_INDEX_ANY;
    s->on = outer.on;
    s->columns = outer.columns;
    s->span = outer.span;
}

static int parse_constraint(struct sql_parser *p, struct sql_source *s, bool first)
{
    int kind = sql_peek(p, 0);

    if (first && (kind == WORD_ON || kind == WORD_USING))
        return sql_unexpected(p, "a JOIN before ON or USING");
    if (sql_accept(p, WORD_ON))
        return (s->on = sql_parse_expr(p)) ? 0 : -1;
    if (sql_accept(p, WORD_USING))
        return (s->columns = parse_names(p)) ? 0 : -1;
    return 0;
}

static int parse_source(struct sql_parser *p, struct sql_source *s, bool first)
{
    int begin = sql_begin(p);

    s->table = -1;
    if (sql_accept(p, TOKEN_LEFT_PAREN) ? parse_in_parens(p, s) : parse_table(p, s))
        return -1;
    s->span = sql_since(p, begin);
    return parse_constraint(p, s, first);
}

enum { NATURAL = 1, LEFT = 2, RIGHT = 4, FULL = 8, INNER = 16, CROSS = 32, OUTER = 64 };

static int join_word(int kind)
{
    static const int words[][2] = { { WORD_NATURAL, NATURAL }, { WORD_LEFT, LEFT },   { WORD_RIGHT, RIGHT },
                                    { WORD_FULL, FULL },       { WORD_INNER, INNER }, { WORD_CROSS, CROSS },
                                    { WORD_OUTER, OUTER } };
    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (words[i][0] == kind)
            return words[i][1];
    return 0;
}

/* Returns the join type for the words before JOIN, or -1 if SQLite does not accept the combination. */
static int join_type(int words)
{
    int outer = words & (LEFT | RIGHT | FULL);

    if ((words & OUTER && !outer) || (words & (INNER | CROSS) && words & (OUTER | LEFT | RIGHT | FULL)))
        return -1;
    if (outer)
        return outer == LEFT ? SQL_JOIN_LEFT : outer == RIGHT ? SQL_JOIN_RIGHT : SQL_JOIN_FULL;
    return words & CROSS ? SQL_JOIN_CROSS : SQL_JOIN_INNER;
}

/* Returns 1 and the join type in next, 0 if no join follows, or -1 with an error. */
static int parse_join(struct sql_parser *p, struct sql_source *next)
{
    int begin = sql_begin(p), words = 0, n = 0;

    if (sql_accept(p, TOKEN_COMMA))
        return 1;
    for (int word; n < 3 && (word = join_word(sql_peek(p, 0))) != 0; n++, p->at++)
        words |= word;
    if (n == 0 && sql_peek(p, 0) != WORD_JOIN)
        return 0;
    if (sql_expect(p, WORD_JOIN, "JOIN"))
        return -1;
    int type = join_type(words);
    if (type < 0)
        return sql_complain(p, begin, "unknown join type");
    next->join = (enum sql_join)type;
    next->natural = words & NATURAL;
    return 1;
}

static int parse_rest(struct sql_parser *p, struct sql_source *last)
{
    struct sql_source next = { 0 };
    int more;

    while ((more = parse_join(p, &next)) == 1) {
        struct sql_source *s = SQL_NEW(p, struct sql_source);
        *s = next;
        if (parse_source(p, s, false))
            return -1;
        unwrap(s);
        last->next = s;
        last = s;
        next = (struct sql_source){ 0 };
    }
    return more;
}

static struct sql_source *parse_sources(struct sql_parser *p)
{
    struct sql_source *first = SQL_NEW(p, struct sql_source), *last = first;

    if (sql_enter(p))
        return NULL;
    int rc = parse_source(p, first, true);
    if (rc == 0 && first->kind == SQL_SOURCE_GROUP && !first->alias.text)
        first = last = first->group; /* parentheses around the start of the clause have no meaning */
    while (rc == 0 && last->next)
        last = last->next;
    if (rc == 0) {
        unwrap(first);
        rc = parse_rest(p, last);
    }
    p->height++;
    sql_leave(p);
    return rc ? NULL : first;
}

/* --- SELECT and its clauses --- */

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

/* Parses the terms after ORDER BY. */
static struct sql_order *parse_order(struct sql_parser *p)
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

/* Parses *, t.* or an expression with an optional alias. */
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
        return parse_alias(p, &r->alias) ? NULL : r;
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

/* Parses VALUES (1, 2), (3, 4). A row may have one value, unlike parentheses elsewhere. */
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
    if (sql_accept(p, WORD_FROM) && !(core->from = parse_sources(p)))
        return -1;
    if (sql_accept(p, WORD_WHERE) && !(core->where = sql_parse_expr(p)))
        return -1;
    if (parse_group(p, core))
        return -1;
    if (at_window_clause(p)) {
        p->at++;
        core->windows = parse_windows(p);
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

/* Parses LIMIT n, LIMIT n OFFSET m or LIMIT m, n. */
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
        if (sql_expect(p, WORD_BY, "BY") || !(t->order = parse_order(p)))
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
        if (!core || (!core->rows && parse_tail(p, &tail))) /* VALUES has no tail */
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
    if (sql_peek(p, 0) == TOKEN_LEFT_PAREN && !(c->columns = parse_names(p)))
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

/* --- Statements --- */

static struct sql_query *parse_query(struct sql_parser *p)
{
    struct sql_query *q = SQL_NEW(p, struct sql_query);

    q->text = p->text;
    if (!sql_at_select(p)) {
        sql_unexpected(p, "SELECT, VALUES or WITH");
        return NULL;
    }
    q->select = sql_parse_select(p);
    if (!q->select)
        return NULL;
    while (sql_accept(p, TOKEN_SEMICOLON))
        continue;
    return sql_expect(p, TOKEN_END, "an operator, a clause or the end") ? NULL : q;
}

/* Upper bound of arena bytes per token, for its nodes and its text. */
enum { BYTES_PER_TOKEN = 768 };

struct sql_query *sql_parse(struct arena *a, const char *text, struct error *err)
{
    size_t length = strlen(text), left = a->size - a->used;
    struct sql_parser p = { .arena = a, .err = err };
    struct sql_query *q = NULL;

    if (length > SQL_MAX_TEXT) {
        error_set(err, EXIT_CODE_DATA, "expected at most %d bytes of SQL, got %zu", SQL_MAX_TEXT, length);
        return NULL;
    }
    struct sql_token *tokens = sql_lex(text, &p.n_tokens);
    size_t room = 4 * length + (size_t)p.n_tokens * BYTES_PER_TOKEN;
    p.tokens = tokens;
    if (room > left) {
        error_set(err, EXIT_CODE_MEMORY, "SQL of %d tokens needs %zu bytes of its arena, %zu are left", p.n_tokens,
                  room, left);
    } else {
        p.text = memcpy(arena_alloc(a, length + 1), text, length + 1);
        q = parse_query(&p);
    }
    free(tokens);
    return q;
}

int sql_parse_reach(struct arena *a, const char *text, struct sql_token *tokens, int n, bool *whole)
{
    struct error err = { 0 };
    struct sql_parser p = { .arena = a, .text = text, .tokens = tokens, .n_tokens = n + 1, .err = &err };
    struct sql_token behind = tokens[n];
    size_t mark = arena_mark(a), length = n ? (size_t)(tokens[n - 1].end - tokens[0].begin) : 0;

    *whole = false;
    if (4 * length + (size_t)(n + 1) * BYTES_PER_TOKEN > a->size - a->used)
        return 0;
    tokens[n].kind = TOKEN_END;
    *whole = sql_at_select(&p) && sql_parse_select(&p);
    tokens[n] = behind;
    arena_reset(a, mark);
    return p.at;
}

int sql_ordered(const char *text, struct error *err)
{
    struct arena a = { 0 };
    const struct sql_query *q = NULL;

    if (arena_init(&a, SQL_MAX_TEXT + 1024 * (strlen(text) + 64), err) == 0)
        q = sql_parse(&a, text, err);
    int ordered = q ? q->select->tail.order != NULL : -1;
    arena_release(&a);
    return ordered;
}
