/* Part of sql_form.h: expressions in canonical text. */
#include "data/sql/sql_lex.h"
#include "data/sql/sql_print.h"
#include "data/sql_form/sql_form_impl.h"
#include "data/util/real_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *form_printf(struct form_builder *f, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    CHECK(n >= 0, "out of memory");
    f->written += (size_t)n;
    f->full = f->full || f->written > FORM_MAX_BYTES;
    const char *kept = f->full ? "" : strings_keep(&f->store->pool, text);
    free(text);
    return kept;
}

const char *form_lower(struct form_builder *f, const char *text)
{
    char *copy = xstrdup(text);
    for (char *s = copy; *s; s++)
        *s = (char)tolower((unsigned char)*s);
    const char *kept = form_printf(f, "%s", copy);
    free(copy);
    return kept;
}

const char *form_name(struct form_builder *f, const char *name)
{
    const char *lower = form_lower(f, name), *c = lower;
    struct sql_printer p = { 0 };

    while (sql_is_name_char((unsigned char)*c))
        c++;
    if (*lower && !*c)
        return lower;
    sql_put_quoted(&p, lower, '"');
    const char *kept = form_printf(f, "%.*s", (int)p.n, p.text);
    free(p.text);
    return kept;
}

static int compare_texts(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

const char *form_join(struct form_builder *f, const char **texts, int n, const char *between, bool set)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "out of memory");
    if (set && n)
        qsort(texts, (size_t)n, sizeof *texts, compare_texts);
    for (int i = 0; i < n; i++)
        if (i == 0 || !set || strcmp(texts[i], texts[i - 1]) != 0)
            fprintf(out, "%s%s", i ? between : "", texts[i]);
    fclose(out);
    const char *kept = form_printf(f, "%s", text);
    free(text);
    return kept;
}

static const char *join_exprs(struct form_builder *f, const struct sql_expr *list, bool set)
{
    const char **texts = NULL;
    int n = 0, cap = 0;

    for (const struct sql_expr *e = list; e; e = e->next) {
        GROW(texts, n, cap);
        texts[n++] = form_expr(f, e);
    }
    const char *text = form_join(f, texts, n, ", ", set);
    free(texts);
    return text;
}

const char *form_quoted(struct form_builder *f, const char *text)
{
    struct sql_printer p = { 0 };

    sql_put_quoted(&p, text, '\'');
    const char *kept = form_printf(f, "%.*s", (int)p.n, p.text);
    free(p.text);
    return kept;
}

/* At most 15 digits and a small exponent: SQLite and strtod read the same double, however it is written. */
static bool is_short(const char *text)
{
    const char *end = text + strcspn(text, "eE");
    int digits = 0;

    for (const char *c = text; c < end; c++)
        digits += isdigit((unsigned char)*c) != 0;
    long exponent = *end ? strtol(end + 1, NULL, 10) : 0;
    return digits <= 15 && exponent >= -20 && exponent <= 20;
}

const char *form_number(struct form_builder *f, const char *text, bool compared)
{
    size_t digits = strspn(text, "0123456789");
    char shortest[REAL_TEXT];

    if (!text[digits] && digits > 0 && digits < 18)
        return form_printf(f, "%lld", strtoll(text, NULL, 10));
    if (!strpbrk(text, ".eE") || text[strspn(text, "0123456789.eE+-")] || !is_short(text))
        return form_lower(f, text);
    double x = strtod(text, NULL);
    if (compared && x == floor(x) && fabs(x) < 9e15)
        return form_printf(f, "%.0f", x);
    return form_printf(f, "%s", real_literal(shortest, x));
}

static const char *write_literal(struct form_builder *f, const struct sql_expr *e)
{
    if (strcasecmp(e->text, "true") == 0 || strcasecmp(e->text, "false") == 0)
        return tolower((unsigned char)*e->text) == 't' ? "1" : "0";
    return isdigit((unsigned char)*e->text) || *e->text == '.' ? form_number(f, e->text, false)
                                                               : form_lower(f, e->text);
}

/* An alias, or a column out of a star: what it stands for. */
static const char *output_text(const struct form_builder *f, const char *name)
{
    for (const struct form_frame *frame = f->frame; frame; frame = frame->outer)
        for (int i = 0; i < frame->n; i++)
            if (frame->names[i] && strcasecmp(frame->names[i], name) == 0)
                return frame->texts[i];
    return NULL;
}

/* The same in ON, which is read before the results are. */
static const char *alias_text(struct form_builder *f, const char *name)
{
    for (const struct form_frame *frame = f->frame; frame; frame = frame->outer) {
        const struct sql_result *result = sql_find_alias(frame->core, name);
        if (result && result->expr)
            return form_expr(f, result->expr);
    }
    return NULL;
}

static int output_number(const struct sql_source *s, const char *name)
{
    int i = 0;
    while (i < s->n_outputs && strcasecmp(s->outputs[i].name, name) != 0)
        i++;
    return i + 1;
}

static const char *write_column(struct form_builder *f, const struct sql_expr *e)
{
    if (!e->source) {
        const char *text = output_text(f, e->name.text);
        text = text ? text : alias_text(f, e->name.text);
        return text ? text : form_name(f, e->name.text);
    }
    const struct form_source *s = form_find_source(f, e->source);
    const char *name = s ? s->name : form_name(f, sql_source_name(e->source));
    if (form_is_joined(f, e))
        return form_printf(f, "using(%s)", form_name(f, e->name.text));
    if (e->source->table >= 0)
        return form_printf(f, "%s.%s", name, form_name(f, e->name.text));
    return form_printf(f, "%s.%d", name, output_number(e->source, e->name.text));
}

static const char *write_unary(struct form_builder *f, const struct sql_expr *e)
{
    if (e->op == SQL_NOT)
        return form_printf(f, "(%s)", form_condition(f, e).text);
    const char *inner = form_expr(f, e->left);
    if (e->op == SQL_PLUS && form_is_constant(e->left))
        return inner;
    return form_printf(f, "%s%s", sql_op_text(e->op), inner);
}

static const char *write_binary(struct form_builder *f, const struct sql_expr *e)
{
    if (e->op <= SQL_AND)
        return form_logic(f, e, e->op);
    if (e->op <= SQL_GREATER_EQUAL)
        return form_printf(f, "(%s)", form_condition(f, e).text);
    const char *left = form_expr(f, e->left), *right = form_expr(f, e->right);
    bool commutes = e->op == SQL_ADD || e->op == SQL_MULTIPLY;
    bool swap = commutes && strcmp(left, right) > 0 && form_may_turn(f, e, e);
    return form_printf(f, "(%s %s %s)", swap ? right : left, sql_op_text(e->op), swap ? left : right);
}

static const char *write_case(struct form_builder *f, const struct sql_expr *e)
{
    const char *text = form_printf(f, "case %s", e->left ? form_expr(f, e->left) : "");

    for (const struct sql_expr *when = e->list; when; when = when->next->next)
        text = form_printf(f, "%s when %s then %s", text, form_expr(f, when), form_expr(f, when->next));
    return form_printf(f, "%s else %s end", text, e->third ? form_expr(f, e->third) : "null");
}

static const char *write_order(struct form_builder *f, const struct sql_order *list)
{
    const char *text = "";

    for (const struct sql_order *o = list; o; o = o->next)
        text = form_printf(f, "%s %s %d %d", text, form_expr(f, o->expr), o->direction, o->nulls);
    return text;
}

static const char *write_bound(struct form_builder *f, const struct sql_bound *b)
{
    return form_printf(f, "%d %s", b->kind, b->expr ? form_expr(f, b->expr) : "");
}

/* A window that it is based on is written out. */
static const char *write_window(struct form_builder *f, const struct sql_window *w)
{
    const struct sql_window *base = w->base.text && f->frame ? f->frame->core->windows : NULL;

    while (base && (strcasecmp(base->name.text, w->base.text) != 0 || base == w))
        base = base->next;
    const char *under = base && ++f->depth < FORM_MAX_DEPTH ? write_window(f, base) : "";
    return form_printf(f, "(%s by %s order%s frame %d %d %s %s %d)", under, join_exprs(f, w->partition, true),
                       write_order(f, w->order), w->unit, w->between, write_bound(f, &w->start),
                       write_bound(f, &w->end), w->exclude);
}

static const char *write_call(struct form_builder *f, const struct sql_expr *e)
{
    const char *name = form_name(f, e->name.text), *list = e->star ? "*" : join_exprs(f, e->list, false);

    if (strcmp(name, "count") == 0 && e->list && !e->list->next && !e->distinct && e->list->kind == SQL_EXPR_LITERAL &&
        isdigit((unsigned char)*e->list->text))
        list = "*";
    const char *filter = e->filter ? form_printf(f, " where %s", form_expr(f, e->filter)) : "";
    return form_printf(f, "%s(%s%s%s)%s", name, e->distinct ? "distinct " : "", list, filter,
                       e->over ? write_window(f, e->over) : "");
}

static const char *write_select(struct form_builder *f, const struct sql_expr *e)
{
    return form_printf(f, "%s(%s)", e->kind == SQL_EXPR_EXISTS ? "exists " : "", form_select(f, e->select)->text);
}

static const char *write_other(struct form_builder *f, const struct sql_expr *e)
{
    switch (e->kind) {
    case SQL_EXPR_STRING:
        return form_quoted(f, e->text);
    case SQL_EXPR_CAST:
        return form_printf(f, "cast(%s as %s)", form_expr(f, e->left), form_lower(f, e->text));
    case SQL_EXPR_COLLATE:
        return form_printf(f, "(%s collate %s)", form_expr(f, e->left), form_name(f, e->name.text));
    case SQL_EXPR_ROW:
        return form_printf(f, "(%s)", join_exprs(f, e->list, false));
    default:
        return form_printf(f, "%s", e->text); /* a parameter */
    }
}

static const char *write_condition(struct form_builder *f, const struct sql_expr *e)
{
    return form_printf(f, "(%s)", form_condition(f, e).text);
}

static const char *write_between(struct form_builder *f, const struct sql_expr *e)
{
    return form_logic(f, e, e->negated ? SQL_OR : SQL_AND);
}

const char *form_expr(struct form_builder *f, const struct sql_expr *e)
{
    typedef const char *write_fn(struct form_builder * f, const struct sql_expr *e);
    static write_fn *const writers[] = {
        [SQL_EXPR_LITERAL] = write_literal, [SQL_EXPR_STRING] = write_other,  [SQL_EXPR_PARAMETER] = write_other,
        [SQL_EXPR_COLUMN] = write_column,   [SQL_EXPR_UNARY] = write_unary,   [SQL_EXPR_BINARY] = write_binary,
        [SQL_EXPR_BETWEEN] = write_between, [SQL_EXPR_IN] = write_condition,  [SQL_EXPR_CASE] = write_case,
        [SQL_EXPR_CAST] = write_other,      [SQL_EXPR_COLLATE] = write_other, [SQL_EXPR_CALL] = write_call,
        [SQL_EXPR_EXISTS] = write_select,   [SQL_EXPR_SELECT] = write_select, [SQL_EXPR_ROW] = write_other,
    };
    f->full = f->full || f->depth >= FORM_MAX_DEPTH;
    if (f->full)
        return "";
    f->depth++;
    const char *text = writers[e->kind](f, e);
    f->depth--;
    return text;
}
