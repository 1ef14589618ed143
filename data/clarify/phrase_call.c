/* Part of phrase.h: functions that people know, aggregates, windows. */
#include "data/clarify/phrase_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct phrase_words unknown = { NULL, PHRASE_ATOM };

/* What is said of a call with so many arguments: %1 is the first, as a part that needs that level. */
static const struct known_call {
    const char *name;
    int n;
    const char *words;
    enum phrase_level needs, level;
} known_calls[] = {
    { "abs", 1, "the absolute value of %1", PHRASE_OF, PHRASE_OF },
    { "length", 1, "the length of %1", PHRASE_OF, PHRASE_OF },
    { "lower", 1, "%1 in small letters", PHRASE_ATOM, PHRASE_LOOSE },
    { "upper", 1, "%1 in capital letters", PHRASE_ATOM, PHRASE_LOOSE },
    { "trim", 1, "%1 without blanks around it", PHRASE_ATOM, PHRASE_LOOSE },
    { "ltrim", 1, "%1 without blanks before it", PHRASE_ATOM, PHRASE_LOOSE },
    { "rtrim", 1, "%1 without blanks behind it", PHRASE_ATOM, PHRASE_LOOSE },
    { "replace", 3, "%1 with %2 replaced by %3", PHRASE_ATOM, PHRASE_LOOSE },
    { "instr", 2, "where %2 begins in %1", PHRASE_OF, PHRASE_LOOSE },
    { "nullif", 2, "%1 (nothing where it is %2)", PHRASE_ATOM, PHRASE_LOOSE },
    { "ifnull", 2, "%1 (%2 where it is not filled in)", PHRASE_ATOM, PHRASE_LOOSE },
    { "coalesce", 2, "%1 (%2 where it is not filled in)", PHRASE_ATOM, PHRASE_LOOSE },
    { "iif", 3, "%2 if %1, otherwise %3", PHRASE_SUM, PHRASE_LOOSE },
    { "round", 1, "%1 rounded to a whole number", PHRASE_ATOM, PHRASE_LOOSE },
    { "sqrt", 1, "the square root of %1", PHRASE_OF, PHRASE_OF },
    { "pow", 2, "%1 to the power of %2", PHRASE_ATOM, PHRASE_LOOSE },
    { "power", 2, "%1 to the power of %2", PHRASE_ATOM, PHRASE_LOOSE },
    { "ceil", 1, "%1 rounded up", PHRASE_ATOM, PHRASE_LOOSE },
    { "ceiling", 1, "%1 rounded up", PHRASE_ATOM, PHRASE_LOOSE },
    { "floor", 1, "%1 rounded down", PHRASE_ATOM, PHRASE_LOOSE },
    { "random", 0, "a random number", PHRASE_ATOM, PHRASE_ATOM },
    { "date", 0, "today's date", PHRASE_ATOM, PHRASE_ATOM },
    { "date", 1, "the date of %1", PHRASE_OF, PHRASE_OF },
    { "time", 1, "the time of day of %1", PHRASE_OF, PHRASE_OF },
    { "datetime", 1, "the date and time of %1", PHRASE_OF, PHRASE_OF },
    { "julianday", 1, "the day number of %1", PHRASE_OF, PHRASE_OF },
    { "row_number", 0, "the row number", PHRASE_ATOM, PHRASE_LOOSE },
    { "rank", 0, "the rank", PHRASE_ATOM, PHRASE_LOOSE },
    { "dense_rank", 0, "the rank without gaps", PHRASE_ATOM, PHRASE_LOOSE },
    { "ntile", 1, "which of %1 equal groups it is in", PHRASE_ATOM, PHRASE_LOOSE },
    { "lag", 1, "%1 in the row before", PHRASE_ATOM, PHRASE_LOOSE },
    { "lead", 1, "%1 in the row behind", PHRASE_ATOM, PHRASE_LOOSE },
    { "first_value", 1, "%1 in the first row", PHRASE_ATOM, PHRASE_LOOSE },
};

static int count_list(const struct sql_expr *list)
{
    int n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

static bool is_called(const struct sql_expr *e, const char *name)
{
    return e->kind == SQL_EXPR_CALL && strcasecmp(e->name.text, name) == 0;
}

static const struct sql_expr *nth(const struct sql_expr *list, int n)
{
    while (list && n-- > 0)
        list = list->next;
    return list;
}

/* Of functions of time 'now' is a word. */
static const char *moment(const struct phrase_context *p, const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_STRING && strcasecmp(e->text, "now") == 0 ? "now" : phrase_tight(p, e, PHRASE_OF);
}

static bool tells_time(const struct sql_expr *e)
{
    return is_called(e, "date") || is_called(e, "time") || is_called(e, "datetime") || is_called(e, "julianday");
}

static struct phrase_words tell_known(const struct phrase_context *p, const struct sql_expr *e)
{
    const struct known_call *c = known_calls;
    int n = count_list(e->list);
    const char *text = "";

    while (c < known_calls + ARRAY_LEN(known_calls) && (!is_called(e, c->name) || c->n != n))
        c++;
    if (c == known_calls + ARRAY_LEN(known_calls) || e->star || e->distinct)
        return unknown;
    for (const char *s = c->words, *end; *s; s = *end ? end + 2 : end) {
        end = s + strcspn(s, "%");
        const struct sql_expr *arg = *end ? nth(e->list, end[1] - '1') : NULL;
        bool condition = arg && strncmp(s, " if ", 4) == 0;
        const char *words = !arg            ? ""
                            : condition     ? phrase_expr(p, arg).text
                            : tells_time(e) ? moment(p, arg)
                                            : phrase_tight(p, arg, c->needs);
        text = strings_printf(p->pool, "%s%.*s%s", text, (int)(end - s), s, words);
    }
    return (struct phrase_words){ text, c->level };
}

/* The whole number that an argument is, below a thousand; false for another thing. */
static bool read_number(const struct sql_expr *e, int *n)
{
    bool minus = e && e->kind == SQL_EXPR_UNARY && e->op == SQL_MINUS;
    const struct sql_expr *number = minus ? e->left : e;

    if (!number || number->kind != SQL_EXPR_LITERAL || strspn(number->text, "0123456789") != strlen(number->text) ||
        strlen(number->text) > 3)
        return false;
    *n = (int)strtol(number->text, NULL, 10) * (minus ? -1 : 1);
    return true;
}

static struct phrase_words tell_round(const struct phrase_context *p, const struct sql_expr *e)
{
    int digits;

    if (!read_number(nth(e->list, 1), &digits) || digits < 0)
        return unknown;
    const char *what = phrase_tight(p, e->list, PHRASE_ATOM);
    return (struct phrase_words){ digits ? strings_printf(p->pool, "%s rounded to %d decimal place%s", what, digits,
                                                          digits > 1 ? "s" : "")
                                         : strings_printf(p->pool, "%s rounded to a whole number", what),
                                  PHRASE_LOOSE };
}

static struct phrase_words tell_substr(const struct phrase_context *p, const struct sql_expr *e)
{
    int from, length = 0;
    bool open = !nth(e->list, 2);
    const char *text = NULL;

    if (!read_number(nth(e->list, 1), &from) || (!open && !read_number(nth(e->list, 2), &length)) || length < 0)
        return unknown;
    const char *of = phrase_tight(p, e->list, PHRASE_OF), *many = length == 1 ? "" : "s";
    if (from < 0 && (open || length >= -from))
        text = from == -1 ? strings_printf(p->pool, "the last character of %s", of)
                          : strings_printf(p->pool, "the last %d characters of %s", -from, of);
    else if (from == 1 && length == 1)
        text = strings_printf(p->pool, "the first character of %s", of);
    else if (from == 1 && !open)
        text = strings_printf(p->pool, "the first %d characters of %s", length, of);
    else if (from > 1 && open)
        text = strings_printf(p->pool, "what stands in %s from character %d on", of, from);
    else if (from > 1)
        text = strings_printf(p->pool, "%d character%s of %s from character %d on", length, many, of, from);
    return (struct phrase_words){ text, PHRASE_LOOSE };
}

static struct phrase_words tell_date_part(const struct phrase_context *p, const struct sql_expr *e)
{
    static const char *const parts[][2] = {
        { "%Y", "the year" },
        { "%m", "the month" },
        { "%d", "the day of the month" },
        { "%H", "the hour" },
        { "%M", "the minute" },
        { "%w", "the day of the week" },
        { "%j", "the day of the year" },
        { "%Y-%m", "the year and month" },
        { "%Y-%m-%d", "the date" },
        { "%m-%d", "the month and day" },
        { "%S", "the second" },
        { "%J", "the day number" },
    };

    for (int i = 0; i < ARRAY_LEN(parts) && count_list(e->list) == 2; i++)
        if (e->list->kind == SQL_EXPR_STRING && strcmp(e->list->text, parts[i][0]) == 0)
            return (struct phrase_words){ strings_printf(p->pool, "%s of %s", parts[i][1], moment(p, e->list->next)),
                                          PHRASE_OF };
    return unknown;
}

static struct phrase_words tell_several(const struct phrase_context *p, const struct sql_expr *e, const char *words)
{
    return (struct phrase_words){ strings_printf(p->pool, "%s %s", words, phrase_list(p, e->list, " and ")),
                                  PHRASE_LOOSE };
}

static struct phrase_words tell_scalar(const struct phrase_context *p, const struct sql_expr *e)
{
    int n = count_list(e->list);

    if (is_called(e, "round") && n == 2)
        return tell_round(p, e);
    if ((is_called(e, "substr") || is_called(e, "substring")) && n >= 2)
        return tell_substr(p, e);
    if (is_called(e, "strftime"))
        return tell_date_part(p, e);
    if (is_called(e, "coalesce") && n > 2)
        return tell_several(p, e, "the first that is filled in of");
    if ((is_called(e, "min") || is_called(e, "max")) && n > 1)
        return tell_several(p, e, is_called(e, "min") ? "the smallest of" : "the largest of");
    return tell_known(p, e);
}

static const char *const aggregates[][3] = {
    { "count", "the number of values of %s", "the number of different values of %s" },
    { "sum", "the sum of %s", "the sum of different values of %s" },
    { "total", "the sum of %s", "the sum of different values of %s" },
    { "avg", "the average of %s", "the average of different values of %s" },
    { "min", "the smallest %s", "the smallest %s" },
    { "max", "the largest %s", "the largest %s" },
    { "group_concat", "all values of %s in one text", "all different values of %s in one text" },
};

/* The row of aggregates that a call is of, or -1. */
static int aggregate_of(const struct sql_expr *e)
{
    for (int i = 0; i < ARRAY_LEN(aggregates); i++)
        if (is_called(e, aggregates[i][0]) && (e->star || count_list(e->list) == 1))
            return i;
    return -1;
}

static bool any_aggregated(const struct sql_expr *list)
{
    for (; list; list = list->next)
        if (phrase_is_aggregated(list))
            return true;
    return false;
}

bool phrase_is_aggregated(const struct sql_expr *e)
{
    const struct sql_expr *const parts[] = { e->left, e->right, e->third };

    if (e->kind == SQL_EXPR_CALL && !e->over && aggregate_of(e) >= 0)
        return true;
    for (int i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i] && phrase_is_aggregated(parts[i]))
            return true;
    return any_aggregated(e->list);
}

static bool is_literal(const struct sql_expr *e, const char *text)
{
    return e && e->kind == SQL_EXPR_LITERAL && strcasecmp(e->text, text) == 0;
}

static bool is_comparison(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_BETWEEN || e->kind == SQL_EXPR_IN ||
           (e->kind == SQL_EXPR_BINARY && e->op <= SQL_GREATER_EQUAL);
}

/* The condition of what is 1 where it holds and, as `otherwise` says, nothing or 0 where it does not; else NULL. */
static const struct sql_expr *counted(const struct sql_expr *e, const char *otherwise)
{
    const struct sql_expr *when = NULL, *then = NULL, *rest = NULL;

    if (is_comparison(e))
        return strcmp(otherwise, "0") == 0 ? e : NULL;
    if (e->kind == SQL_EXPR_CASE && !e->left && !e->list->next->next) {
        when = e->list;
        then = when->next;
        rest = e->third;
    } else if (is_called(e, "iif") && count_list(e->list) == 3) {
        when = e->list;
        then = when->next;
        rest = then->next;
    }
    bool none = !rest && strcmp(otherwise, "null") == 0;
    return is_literal(then, "1") && (none || is_literal(rest, otherwise)) ? when : NULL;
}

/* "the number of rows where age is more than 3" */
static const struct sql_expr *rows_counted(const struct sql_expr *e)
{
    if (e->star || e->distinct)
        return NULL;
    return is_called(e, "count") ? counted(e->list, "null") : is_called(e, "sum") ? counted(e->list, "0") : NULL;
}

static const char *aggregate_words(const struct phrase_context *p, const struct sql_expr *e, int row)
{
    const struct sql_expr *when = rows_counted(e);
    bool number = e->list && e->list->kind == SQL_EXPR_LITERAL && isdigit((unsigned char)*e->list->text);

    if (e->star || (row == 0 && number && !e->distinct))
        return "the number of rows";
    if (when)
        return strings_printf(p->pool, "the number of rows where %s", phrase_expr(p, when).text);
    const char *of = phrase_tight(p, e->list, PHRASE_OF), *words = aggregates[row][1 + e->distinct];
    const char *value = e->list->kind != SQL_EXPR_COLUMN && strncmp(words + 4, "smallest", 4) == 0  ? "value of "
                        : e->list->kind != SQL_EXPR_COLUMN && strncmp(words + 4, "largest", 4) == 0 ? "value of "
                                                                                                    : "";
    int before = (int)strcspn(words, "%");
    return strings_printf(p->pool, "%.*s%s%s%s", before, words, value, of, words + before + 2);
}

static struct phrase_words tell_aggregate(const struct phrase_context *p, const struct sql_expr *e)
{
    int row = aggregate_of(e);

    if (row < 0)
        return unknown;
    const char *text = aggregate_words(p, e, row);
    bool loose = e->filter || strchr(aggregates[row][1], '%')[2] || rows_counted(e);
    if (e->filter)
        text = strings_printf(p->pool, "%s%s where %s", text, e->star ? "" : " among rows",
                              phrase_expr(p, e->filter).text);
    return (struct phrase_words){ text, loose ? PHRASE_LOOSE : PHRASE_OF };
}

static const char *orders(const struct phrase_context *p, const struct sql_order *list)
{
    const char *text = "";

    for (const struct sql_order *o = list; o; o = o->next)
        text = strings_printf(p->pool, "%s%s%s (the %s first)", text, o == list ? "" : ", then ",
                              phrase_tight(p, o->expr, PHRASE_SUM),
                              o->direction == SQL_DESCENDING ? "largest" : "smallest");
    return text;
}

/* The definition that OVER name means; NULL when it is built on another one. */
static const struct sql_window *window_of(const struct phrase_context *p, const struct sql_window *w)
{
    const struct sql_window *named = w->bare && p->scope ? p->scope->core->windows : NULL;

    while (named && strcasecmp(named->name.text, w->base.text) != 0)
        named = named->next;
    w = w->bare ? named : w;
    return w && !w->base.text ? w : NULL;
}

/* Over the rows of its group, up to each row where there is an order. */
static struct phrase_words tell_window(const struct phrase_context *p, const struct sql_expr *e)
{
    const struct sql_window *w = window_of(p, e->over);
    struct phrase_words what = tell_aggregate(p, e);
    bool running = what.text;

    what = running || e->filter ? what : tell_known(p, e);
    if (!what.text || !w || w->unit != SQL_NO_FRAME)
        return unknown;
    const char *text = what.text;
    if (w->partition)
        text = strings_printf(p->pool, "%s among those of the same %s", text, phrase_list(p, w->partition, " and "));
    else if (!w->order)
        text = strings_printf(p->pool, "%s among all rows", text);
    if (w->order)
        text =
            strings_printf(p->pool, "%s%s in order of %s", text, running ? " up to each row" : "", orders(p, w->order));
    return (struct phrase_words){ text, PHRASE_LOOSE };
}

struct phrase_words phrase_call(const struct phrase_context *p, const struct sql_expr *e)
{
    if (e->over)
        return tell_window(p, e);
    struct phrase_words w = tell_aggregate(p, e);
    return w.text || e->filter ? w : tell_scalar(p, e);
}
