#include "data/clarify/phrase_expr.h"

#include "data/sql/sql_print.h"
#include "data/sql/sql_scope.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct phrase_words unknown = { NULL, PHRASE_ATOM };

struct phrase_words phrase_fragment(const struct phrase_context *p, const struct sql_expr *e)
{
    struct sql_printer out = { 0 };

    sql_print_expr(&out, e);
    sql_put(&out, "");
    int n = (int)out.n, shown = n > PHRASE_FRAGMENT && !p->exact ? PHRASE_FRAGMENT : n;
    while (shown > 0 && shown < n && ((unsigned char)out.text[shown] & 0xc0) == 0x80)
        shown--; /* do not cut inside a character */
    const char *text = strings_printf(p->pool, "\"%.*s%s\"", shown, out.text, shown < n ? "..." : "");
    free(out.text);
    return (struct phrase_words){ text, PHRASE_ATOM };
}

/* The words of an expression, in parentheses if they bind less than `level`. */
static const char *phrase_tight(const struct phrase_context *p, const struct sql_expr *e, enum phrase_level level)
{
    struct phrase_words w = phrase_expr(p, e);
    return w.level >= level ? w.text : strings_printf(p->pool, "(%s)", w.text);
}

/* Joins the words of a list: "a, b and c".  Long lists are abbreviated, loosely bound items get parentheses. */
static const char *phrase_list(const struct phrase_context *p, const struct sql_expr *list, const char *last)
{
    const char *text = "";
    int n = 0, k = 0;

    for (const struct sql_expr *e = list; e; e = e->next)
        n++;
    bool cut = n > PHRASE_LISTED && !p->exact;
    for (const struct sql_expr *e = list; e && (!cut || k < PHRASE_SHOWN); e = e->next, k++)
        text = strings_printf(p->pool, "%s%s%s", text,
                              k == 0       ? ""
                              : k + 1 == n ? last
                                           : ", ",
                              phrase_tight(p, e, PHRASE_SUM));
    return cut ? strings_printf(p->pool, "%s and %d more", text, n - k) : text;
}

/* A string in single quotes. */
static const char *phrase_string(const struct phrase_context *p, const char *text)
{
    return strings_printf(p->pool, "'%s'", text);
}

/* Counts the sources of a FROM clause that have the same name. */
struct source_twins {
    const struct sql_source *of;
    int n, place; /* place: from 1; 0 if it is in another FROM */
};

static bool is_twin(const struct sql_source *a, const struct sql_source *b)
{
    if (a->cte || b->cte)
        return a->cte == b->cte;
    return a == b || (a->table >= 0 && a->table == b->table);
}

static void count_twins(struct source_twins *t, const struct sql_source *list)
{
    for (const struct sql_source *s = list; s; s = s->next) {
        if (s->kind == SQL_SOURCE_GROUP) {
            count_twins(t, s->group);
        } else if (is_twin(s, t->of)) {
            t->n++;
            t->place = s == t->of ? t->n : t->place;
        }
    }
}

static const char *numbered(const struct phrase_context *p, int place, const char *what)
{
    static const char *const words[] = { "first", "second", "third", "fourth", "fifth" };
    return place <= ARRAY_LEN(words) ? strings_printf(p->pool, "the %s %s", words[place - 1], what)
                                     : strings_printf(p->pool, "%s number %d", what, place);
}

/* Searches the scopes from the inside.  *hidden: an inner SELECT reads the same table. */
static struct source_twins find_twins(const struct phrase_context *p, const struct sql_source *s, bool *hidden)
{
    struct source_twins t = { s, 0, 0 };

    *hidden = false;
    for (const struct phrase_scope *scope = p->scope; scope; scope = scope->outer) {
        t = (struct source_twins){ s, 0, 0 };
        count_twins(&t, scope->core->from);
        if (t.place)
            return t;
        *hidden = *hidden || t.n;
    }
    return t;
}

const char *phrase_source(const struct phrase_context *p, const struct sql_source *s)
{
    const char *what = s->table >= 0 && !s->cte ? p->schema->tables[s->table].text : "list";
    bool hidden;
    struct source_twins t = find_twins(p, s, &hidden);

    if (hidden)
        return strings_printf(p->pool, "the %s in question", what);
    return t.place && t.n > 1 ? numbered(p, t.place, what) : what;
}

static struct phrase_words tell_alias(const struct phrase_context *p, const struct sql_expr *e)
{
    for (const struct phrase_scope *scope = p->scope; scope; scope = scope->outer) {
        const struct sql_result *r = sql_find_alias(scope->core, e->name.text);
        struct phrase_context in = *p;
        in.scope = scope;
        if (r && r->expr)
            return phrase_expr(&in, r->expr);
    }
    return unknown;
}

static bool is_open(const struct phrase_scope *scope, const struct form *form)
{
    for (; scope; scope = scope->outer)
        for (const struct form *arm = form; arm; arm = arm->next)
            if (scope->core == arm->core)
                return true;
    return false;
}

/* The words of output n of one SELECT. */
static struct phrase_words tell_output(const struct phrase_context *p, const struct form *arm, int n)
{
    const struct form_term *t = &arm->lists[FORM_SELECT].items[n];
    struct phrase_scope scope = { arm->core, p->scope };
    struct phrase_context in = *p;

    in.scope = &scope;
    in.brief = false;
    struct phrase_words w = phrase_expr(&in, t->expr);
    if (!arm->lists[FORM_GROUP].n || !phrase_is_aggregated(t->expr))
        return w;
    return (struct phrase_words){ strings_printf(p->pool, "%s for each %s", w.text, phrase_groups(&in, arm)),
                                  PHRASE_LOOSE };
}

/* For a compound, the words of any of its SELECTs. */
struct phrase_words phrase_output(const struct phrase_context *p, const struct form *form, int n)
{
    struct strings seen = { 0 };
    struct phrase_words all = unknown;

    for (const struct form *arm = form; arm; arm = arm->next) {
        struct phrase_words one = tell_output(p, arm, n);
        if (strings_find(&seen, one.text) >= 0)
            continue;
        all = seen.n ? (struct phrase_words){ strings_printf(p->pool, "%s or %s", all.text, one.text), PHRASE_LOOSE }
                     : one;
        strings_add(&seen, one.text);
    }
    strings_release(&seen);
    return all;
}

static int output_number(const struct sql_source *s, const char *name)
{
    int i = 0;
    while (i < s->n_outputs && strcasecmp(s->outputs[i].name, name) != 0)
        i++;
    return i;
}

/* A column of a sub-query or common table expression has the words of that output. */
static struct phrase_words tell_derived(const struct phrase_context *p, const struct sql_expr *e)
{
    const struct sql_select *select = e->source->cte ? e->source->cte->select : e->source->select;
    const struct form *form = select ? form_find(p->store, select) : NULL;
    int n = output_number(e->source, e->name.text);
    bool hidden;

    if (!form || n >= e->source->n_outputs || is_open(p->scope, form))
        return unknown;
    for (const struct form *arm = form; arm; arm = arm->next)
        if (arm->lists[FORM_SELECT].n != e->source->n_outputs || arm->core->rows)
            return unknown;
    struct phrase_words w = phrase_output(p, form, n);
    if (find_twins(p, e->source, &hidden).n < 2)
        return w;
    return (struct phrase_words){ strings_printf(p->pool, "%s in %s", w.text, phrase_source(p, e->source)),
                                  PHRASE_LOOSE };
}

/* Tells whether the column's name is also a table's name. */
static bool is_tables_name(const struct schema *s, const char *name)
{
    for (int t = 0; t < s->n_tables; t++)
        if (strcasecmp(s->tables[t].text, name) == 0)
            return true;
    return false;
}

static struct phrase_words tell_column(const struct phrase_context *p, const struct sql_expr *e)
{
    const char *name = e->column >= 0 ? p->schema->columns[e->column].text : "internal row id";
    bool hidden;

    if (p->brief && !is_tables_name(p->schema, name) && find_twins(p, e->source, &hidden).n == 1 && !hidden)
        return (struct phrase_words){ name, PHRASE_ATOM };
    return (struct phrase_words){ strings_printf(p->pool, "%s of %s", name, phrase_source(p, e->source)), PHRASE_ATOM };
}

/* The words of a name; NULL without an exact wording. */
static struct phrase_words phrase_name(const struct phrase_context *p, const struct sql_expr *e)
{
    if (!e->source)
        return tell_alias(p, e);
    if (e->source->table >= 0 && !e->source->cte)
        return tell_column(p, e);
    return tell_derived(p, e);
}

/* Wordings of calls by number of arguments.  %1 is the first argument, which needs that level. */
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
    { "instr", 2, "the position of %2 in %1", PHRASE_OF, PHRASE_LOOSE },
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

/* In functions of time, 'now' has words. */
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

/* Reads an argument that is a whole number below a thousand; else returns false. */
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
        text = strings_printf(p->pool, "the part of %s from character %d on", of, from);
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

/* Index of an aggregate function, or -1. */
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

/* Returns the condition of a CASE that is 1 if it holds and `otherwise` (NULL or 0) if not; else NULL. */
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

/* The window that OVER names; NULL if it is based on another one. */
static const struct sql_window *window_of(const struct phrase_context *p, const struct sql_window *w)
{
    const struct sql_window *named = w->bare && p->scope ? p->scope->core->windows : NULL;

    while (named && strcasecmp(named->name.text, w->base.text) != 0)
        named = named->next;
    w = w->bare ? named : w;
    return w && !w->base.text ? w : NULL;
}

/* The words of a window function. */
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

static struct phrase_words phrase_call(const struct phrase_context *p, const struct sql_expr *e)
{
    if (e->over)
        return tell_window(p, e);
    struct phrase_words w = tell_aggregate(p, e);
    return w.text || e->filter ? w : tell_scalar(p, e);
}

static const struct phrase_words unknown_condition = { NULL, PHRASE_LOOSE };

static struct phrase_words loose(const char *text)
{
    return (struct phrase_words){ text, PHRASE_LOOSE };
}

/* Patterns with one kind of wildcard at their ends have words; others are shown as they are. */
static const char *pattern(const struct phrase_context *p, const char *value, const char *wild, bool inverse)
{
    size_t n = strlen(value);
    bool head = n > 1 && value[0] == wild[0], tail = n > 1 && value[n - 1] == wild[0];
    const char *core = strings_printf(p->pool, "%.*s", (int)(n - (size_t)head - (size_t)tail), value + head);
    bool plain = (head || tail) && core[0] && !strpbrk(core, wild);
    const char *verb = !plain ? "look like" : head && tail ? "contain" : tail ? "start with" : "end with";
    int first = (int)strcspn(verb, " ");

    core = phrase_string(p, plain ? core : value);
    return inverse ? strings_printf(p->pool, "does not %s %s", verb, core)
                   : strings_printf(p->pool, "%.*ss%s %s", first, verb, verb + first, core);
}

static struct phrase_words tell_like(const struct phrase_context *p, const struct sql_expr *e)
{
    const char *about = phrase_tight(p, e->left, PHRASE_SUM);

    if (e->third || (e->op != SQL_LIKE && e->op != SQL_GLOB))
        return unknown_condition;
    if (e->right->kind == SQL_EXPR_STRING)
        return loose(strings_printf(p->pool, "%s %s", about,
                                    pattern(p, e->right->text, e->op == SQL_LIKE ? "%_" : "*?[", e->negated)));
    return loose(strings_printf(p->pool, "%s %s %s", about, e->negated ? "does not look like" : "looks like",
                                phrase_tight(p, e->right, PHRASE_OF)));
}

static bool is_null(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_LITERAL && strcasecmp(e->text, "null") == 0;
}

static struct phrase_words tell_is(const struct phrase_context *p, const struct sql_expr *e)
{
    bool other = e->op == SQL_IS_NOT || e->op == SQL_IS_DISTINCT;
    const char *about = phrase_tight(p, e->left, PHRASE_SUM);

    if (is_null(e->right))
        return loose(strings_printf(p->pool, "%s %s", about, other ? "is filled in" : "is not filled in"));
    return loose(
        strings_printf(p->pool, "%s is %s%s", about, other ? "not " : "", phrase_tight(p, e->right, PHRASE_SUM)));
}

/* A sub-query is not a subject, so the other side becomes the subject. */
static struct sql_expr turned(const struct sql_expr *e)
{
    static const enum sql_op mirrors[][2] = { { SQL_LESS, SQL_GREATER }, { SQL_LESS_EQUAL, SQL_GREATER_EQUAL } };
    struct sql_expr t = *e;

    if (e->left->kind != SQL_EXPR_SELECT || e->right->kind == SQL_EXPR_SELECT)
        return t;
    t.left = e->right;
    t.right = e->left;
    for (int i = 0; i < ARRAY_LEN(mirrors); i++)
        for (int way = 0; way < 2; way++)
            if (e->op == mirrors[i][way])
                t.op = mirrors[i][!way];
    return t;
}

static struct phrase_words tell_comparison(const struct phrase_context *p, const struct sql_expr *as_written,
                                           bool boundary)
{
    static const struct {
        enum sql_op op;
        const char *before, *behind;
        int included; /* 1: the boundary is included, 0: it is not, -1: there is none */
    } relations[] = {
        { SQL_EQUAL, "is ", "", -1 },
        { SQL_NOT_EQUAL, "is not ", "", -1 },
        { SQL_GREATER, "is more than ", "", 0 },
        { SQL_LESS, "is less than ", "", 0 },
        { SQL_GREATER_EQUAL, "is ", " or more", 1 },
        { SQL_LESS_EQUAL, "is ", " or less", 1 },
    };
    struct sql_expr turn = turned(as_written), *e = &turn;

    if (is_null(e->left) || is_null(e->right)) /* never true */
        return unknown_condition;
    for (int i = 0; i < ARRAY_LEN(relations); i++)
        if (e->op == relations[i].op) {
            const char *value = phrase_tight(p, e->right, PHRASE_SUM);
            const char *text = strings_printf(p->pool, "%s %s%s%s", phrase_tight(p, e->left, PHRASE_SUM),
                                              relations[i].before, value, relations[i].behind);
            bool marked = boundary && relations[i].included >= 0;
            return loose(marked ? strings_printf(p->pool, "%s (%s %s)", text, value,
                                                 relations[i].included ? "included" : "not included")
                                : text);
        }
    return unknown_condition;
}

static bool is_logic(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_BINARY && (e->op == SQL_AND || e->op == SQL_OR);
}

/* One side of AND or OR; no parentheses around the same operator. */
static const char *side(const struct phrase_context *p, const struct sql_expr *e, enum sql_op op)
{
    struct phrase_context in = *p;

    in.nesting -= is_logic(e) && e->op == op; /* a chain counts as one level */
    const char *text = phrase_expr(&in, e).text;
    return is_logic(e) && e->op != op ? strings_printf(p->pool, "(%s)", text) : text;
}

static struct phrase_words tell_between(const struct phrase_context *p, const struct sql_expr *e)
{
    return loose(strings_printf(p->pool, "%s is %sfrom %s to %s", phrase_tight(p, e->left, PHRASE_SUM),
                                e->negated ? "not " : "", phrase_tight(p, e->right, PHRASE_SUM),
                                phrase_tight(p, e->third, PHRASE_SUM)));
}

static struct phrase_words tell_in(const struct phrase_context *p, const struct sql_expr *e)
{
    const char *about = phrase_tight(p, e->left, PHRASE_SUM), *what;
    bool table = e->source && e->source->table >= 0 && !e->source->cte;

    if (e->list && !e->list->next)
        return loose(strings_printf(p->pool, "%s %s %s", about, e->negated ? "is not" : "is",
                                    phrase_tight(p, e->list, PHRASE_SUM)));
    if (e->select)
        what = phrase_answer(p, e->select);
    else if (e->source)
        what = table ? strings_printf(p->pool, "all of %s", p->schema->tables[e->source->table].text) : NULL;
    else
        what = e->list ? phrase_list(p, e->list, ", ") : NULL;
    return what ? loose(strings_printf(p->pool, "%s %s %s", about, e->negated ? "is none of" : "is one of", what))
                : unknown_condition;
}

static struct phrase_words tell_existence(const struct phrase_context *p, const struct sql_expr *e, bool wanted)
{
    const char *rows = phrase_rows(p, e->select), *answer = rows ? NULL : phrase_answer(p, e->select);

    if (rows)
        return loose(strings_printf(p->pool, "there is %s %s", wanted ? "a" : "no", rows));
    return answer ? loose(strings_printf(p->pool, "there is %s answer to %s", wanted ? "an" : "no", answer))
                  : unknown_condition;
}

static struct phrase_words tell_not(const struct phrase_context *p, const struct sql_expr *e)
{
    if (e->kind == SQL_EXPR_EXISTS)
        return tell_existence(p, e, false);
    return loose(strings_printf(p->pool, "it is not so that %s", phrase_tight(p, e, PHRASE_SUM)));
}

struct phrase_words phrase_truth(const struct phrase_context *p, const struct sql_expr *e, bool boundary)
{
    switch (e->kind) {
    case SQL_EXPR_UNARY:
        if (e->op == SQL_NOT)
            return tell_not(p, e->left);
        break;
    case SQL_EXPR_BINARY:
        if (is_logic(e))
            return loose(strings_printf(p->pool, "%s %s %s", side(p, e->left, e->op), e->op == SQL_AND ? "and" : "or",
                                        side(p, e->right, e->op)));
        if (e->op >= SQL_LIKE && e->op <= SQL_MATCH)
            return tell_like(p, e);
        if (e->op >= SQL_IS && e->op <= SQL_IS_NOT_DISTINCT)
            return tell_is(p, e);
        if (e->op >= SQL_EQUAL && e->op <= SQL_GREATER_EQUAL)
            return tell_comparison(p, e, boundary);
        break;
    case SQL_EXPR_BETWEEN:
        return tell_between(p, e);
    case SQL_EXPR_IN:
        return tell_in(p, e);
    case SQL_EXPR_EXISTS:
        return tell_existence(p, e, true);
    default:
        break;
    }
    return loose(strings_printf(p->pool, "%s is true", phrase_tight(p, e, PHRASE_SUM)));
}

static struct phrase_words tell_literal(const struct phrase_context *p, const struct sql_expr *e)
{
    static const char *const words[][2] = { { "null", "nothing" },
                                            { "true", "true" },
                                            { "false", "false" },
                                            { "current_date", "today's date" },
                                            { "current_time", "the time now" },
                                            { "current_timestamp", "the date and time now" } };
    if (e->kind == SQL_EXPR_STRING)
        return (struct phrase_words){ phrase_string(p, e->text), PHRASE_ATOM };
    if (isdigit((unsigned char)*e->text) || *e->text == '.')
        return (struct phrase_words){ e->text, PHRASE_ATOM };
    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(e->text, words[i][0]) == 0)
            return (struct phrase_words){ words[i][1], PHRASE_ATOM };
    return unknown;
}

/* Omits the table of columns if there is only one source. */
static struct phrase_context inside(const struct phrase_context *p)
{
    const struct sql_source *from = p->scope ? p->scope->core->from : NULL;
    struct phrase_context in = *p;

    in.brief = !p->exact && from && !from->next && from->kind == SQL_SOURCE_TABLE;
    return in;
}

static struct phrase_words tell_unary(const struct phrase_context *p, const struct sql_expr *e)
{
    if (e->op == SQL_NOT)
        return phrase_truth(p, e, false);
    if (e->op == SQL_PLUS)
        return phrase_expr(p, e->left);
    if (e->op != SQL_MINUS)
        return unknown;
    bool number = e->left->kind == SQL_EXPR_LITERAL && isdigit((unsigned char)*e->left->text);
    return (struct phrase_words){ number ? strings_printf(p->pool, "-%s", e->left->text)
                                         : strings_printf(p->pool, "minus %s", phrase_tight(p, e->left, PHRASE_OF)),
                                  number ? PHRASE_ATOM : PHRASE_PRODUCT };
}

static const struct arithmetic {
    enum sql_op op;
    enum phrase_level level;
    const char *words;
} arithmetics[] = {
    { SQL_ADD, PHRASE_SUM, "plus" },
    { SQL_SUBTRACT, PHRASE_SUM, "minus" },
    { SQL_MULTIPLY, PHRASE_PRODUCT, "times" },
    { SQL_DIVIDE, PHRASE_PRODUCT, "divided by" },
    { SQL_CONCAT, PHRASE_LOOSE, "followed by" },
};

static const struct arithmetic *arithmetic_of(const struct sql_expr *e)
{
    for (int i = 0; i < ARRAY_LEN(arithmetics); i++)
        if (e->kind == SQL_EXPR_BINARY && e->op == arithmetics[i].op)
            return &arithmetics[i];
    return NULL;
}

/* "a plus b plus c", but "a minus (b minus c)" and "a plus (b times c)". */
static struct phrase_words tell_binary(const struct phrase_context *p, const struct sql_expr *e)
{
    const struct arithmetic *a = arithmetic_of(e), *left = arithmetic_of(e->left);

    if (e->op <= SQL_GREATER_EQUAL)
        return phrase_truth(p, e, false);
    struct phrase_context in = inside(p);
    if (e->op == SQL_REMAINDER)
        return (struct phrase_words){ strings_printf(p->pool, "the remainder of %s divided by %s",
                                                     phrase_tight(&in, e->left, PHRASE_OF),
                                                     phrase_tight(&in, e->right, PHRASE_OF)),
                                      PHRASE_LOOSE };
    if (!a)
        return unknown;
    bool chain = left && left->level == a->level;
    const char *right = phrase_tight(&in, e->right, PHRASE_OF);
    in.nesting -= chain; /* counts as one level */
    return (struct phrase_words){
        strings_printf(p->pool, "%s %s %s", phrase_tight(&in, e->left, chain ? a->level : PHRASE_OF), a->words, right),
        a->level
    };
}

static const char *case_condition(const struct phrase_context *p, const struct sql_expr *e, const struct sql_expr *when)
{
    return e->left ? strings_printf(p->pool, "%s is %s", phrase_tight(p, e->left, PHRASE_SUM),
                                    phrase_tight(p, when, PHRASE_SUM))
                   : phrase_expr(p, when).text;
}

/* "'high' if price is more than 9, otherwise 'low'" */
static struct phrase_words tell_case(const struct phrase_context *p, const struct sql_expr *e)
{
    struct phrase_context in = inside(p);
    const char *text = "";

    for (const struct sql_expr *when = e->list; when; when = when->next->next)
        text = strings_printf(p->pool, "%s%s if %s, ", text, phrase_tight(&in, when->next, PHRASE_SUM),
                              case_condition(&in, e, when));
    text =
        strings_printf(p->pool, "%sotherwise %s", text, e->third ? phrase_tight(&in, e->third, PHRASE_SUM) : "nothing");
    return (struct phrase_words){ text, PHRASE_LOOSE };
}

static struct phrase_words tell_cast(const struct phrase_context *p, const struct sql_expr *e)
{
    static const char *const types[][2] = { { "int", "a whole number" },
                                            { "integer", "a whole number" },
                                            { "bigint", "a whole number" },
                                            { "real", "a number" },
                                            { "float", "a number" },
                                            { "double", "a number" },
                                            { "numeric", "a number" },
                                            { "decimal", "a number" },
                                            { "text", "text" },
                                            { "char", "text" },
                                            { "varchar", "text" } };
    size_t n = strcspn(e->text, " (");

    for (int i = 0; i < ARRAY_LEN(types); i++)
        if (strlen(types[i][0]) == n && strncasecmp(e->text, types[i][0], n) == 0)
            return (struct phrase_words){
                strings_printf(p->pool, "%s as %s", phrase_tight(p, e->left, PHRASE_ATOM), types[i][1]), PHRASE_LOOSE
            };
    return unknown;
}

static struct phrase_words tell_collate(const struct phrase_context *p, const struct sql_expr *e)
{
    if (strcasecmp(e->name.text, "nocase") != 0)
        return unknown;
    return (struct phrase_words){
        strings_printf(p->pool, "%s in any letter case", phrase_tight(p, e->left, PHRASE_ATOM)), PHRASE_LOOSE
    };
}

static struct phrase_words tell_row(const struct phrase_context *p, const struct sql_expr *e)
{
    return (struct phrase_words){ strings_printf(p->pool, "(%s)", phrase_list(p, e->list, ", ")), PHRASE_ATOM };
}

static struct phrase_words tell_select(const struct phrase_context *p, const struct sql_expr *e)
{
    return (struct phrase_words){ phrase_answer(p, e->select), PHRASE_OF };
}

static struct phrase_words tell_truth(const struct phrase_context *p, const struct sql_expr *e)
{
    return phrase_truth(p, e, false);
}

static struct phrase_words tell_nothing(const struct phrase_context *p, const struct sql_expr *e)
{
    (void)p;
    (void)e;
    return unknown;
}

struct phrase_words phrase_expr(const struct phrase_context *p, const struct sql_expr *e)
{
    typedef struct phrase_words tell_fn(const struct phrase_context *p, const struct sql_expr *e);
    static tell_fn *const tellers[] = {
        [SQL_EXPR_LITERAL] = tell_literal, [SQL_EXPR_STRING] = tell_literal,  [SQL_EXPR_PARAMETER] = tell_nothing,
        [SQL_EXPR_COLUMN] = phrase_name,   [SQL_EXPR_UNARY] = tell_unary,     [SQL_EXPR_BINARY] = tell_binary,
        [SQL_EXPR_BETWEEN] = tell_truth,   [SQL_EXPR_IN] = tell_truth,        [SQL_EXPR_CASE] = tell_case,
        [SQL_EXPR_CAST] = tell_cast,       [SQL_EXPR_COLLATE] = tell_collate, [SQL_EXPR_CALL] = phrase_call,
        [SQL_EXPR_EXISTS] = tell_truth,    [SQL_EXPR_SELECT] = tell_select,   [SQL_EXPR_ROW] = tell_row,
    };
    struct phrase_context in = *p;
    struct phrase_words w = unknown;

    in.nesting++;
    if (in.nesting <= PHRASE_NESTING && --*p->left >= 0)
        w = tellers[e->kind](&in, e);
    return w.text && (p->exact || strlen(w.text) <= PHRASE_BYTES) ? w : phrase_fragment(p, e);
}
