/* Part of phrase.h: expressions, from the inside out. */
#include "data/clarify/phrase_impl.h"
#include "data/sql/sql_print.h"

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
        shown--; /* no half letters */
    const char *text = strings_printf(p->pool, "\"%.*s%s\"", shown, out.text, shown < n ? "..." : "");
    free(out.text);
    return (struct phrase_words){ text, PHRASE_ATOM };
}

const char *phrase_tight(const struct phrase_context *p, const struct sql_expr *e, enum phrase_level level)
{
    struct phrase_words w = phrase_expr(p, e);
    return w.level >= level ? w.text : strings_printf(p->pool, "(%s)", w.text);
}

const char *phrase_list(const struct phrase_context *p, const struct sql_expr *list, const char *last)
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

const char *phrase_string(const struct phrase_context *p, const char *text)
{
    return strings_printf(p->pool, "'%s'", text);
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

/* Columns go without their table where there is but one to have them. */
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
    in.nesting -= chain; /* which is not deep */
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
