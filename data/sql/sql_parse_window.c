/* Part of sql.h: window definitions. */
#include "data/sql/sql_parse_impl.h"

bool sql_at_window_clause(const struct sql_parser *p)
{
    return sql_peek(p, 0) == WORD_WINDOW && sql_is_name(sql_peek(p, 1)) && sql_peek(p, 2) == WORD_AS;
}

/* The other end of a frame may be unbounded only in its own direction. */
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

/* Behind the left parenthesis, to and with the right one. */
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
        if (sql_expect(p, WORD_BY, "BY") || !(w->order = sql_parse_order(p)))
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

struct sql_window *sql_parse_windows(struct sql_parser *p)
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
