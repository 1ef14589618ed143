/* Part of sql.h: FROM clauses. */
#include "data/sql/sql_parse_impl.h"

/* INDEXED BY name, NOT INDEXED, or nothing. */
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
        return sql_parse_arguments(p, &s->arguments) ? -1 : sql_parse_alias(p, &s->alias);
    }
    return sql_parse_alias(p, &s->alias) ? -1 : parse_indexed(p, s);
}

/* ( SELECT ... ) or ( a JOIN b ), behind the parenthesis. */
static int parse_in_parens(struct sql_parser *p, struct sql_source *s)
{
    bool select = sql_at_select(p);

    s->kind = select ? SQL_SOURCE_SELECT : SQL_SOURCE_GROUP;
    if (select)
        s->select = sql_parse_select(p);
    else
        s->group = sql_parse_sources(p);
    if (!s->select && !s->group)
        return -1;
    return sql_expect(p, TOKEN_RIGHT_PAREN, "a join or \")\"") ? -1 : sql_parse_alias(p, &s->alias);
}

/* What SQLite makes of parentheses around one table: its alias, if it had one inside, is forgotten. */
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
        return (s->columns = sql_parse_names(p)) ? 0 : -1;
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

/* What SQLite makes of the words before JOIN; -1 where it sees no join in them. */
static int join_type(int words)
{
    int outer = words & (LEFT | RIGHT | FULL);

    if ((words & OUTER && !outer) || (words & (INNER | CROSS) && words & (OUTER | LEFT | RIGHT | FULL)))
        return -1;
    if (outer)
        return outer == LEFT ? SQL_JOIN_LEFT : outer == RIGHT ? SQL_JOIN_RIGHT : SQL_JOIN_FULL;
    return words & CROSS ? SQL_JOIN_CROSS : SQL_JOIN_INNER;
}

/* 1 and the join's kind in next, 0 when no join follows, -1 with an error. */
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
        return sql_complain(p, begin, "unknown kind of join");
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

struct sql_source *sql_parse_sources(struct sql_parser *p)
{
    struct sql_source *first = SQL_NEW(p, struct sql_source), *last = first;

    if (sql_enter(p))
        return NULL;
    int rc = parse_source(p, first, true);
    if (rc == 0 && first->kind == SQL_SOURCE_GROUP && !first->alias.text)
        first = last = first->group; /* parentheses that open the clause say nothing */
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
