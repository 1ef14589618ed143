#include "data/sql/sql_form_expr.h"

#include "data/base/real_text.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql_lex.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Origin of a comparison's collation. An explicit COLLATE takes precedence over a column, and the left operand over the
 * right (datatype3.html, section 7.1). */
enum form_collating {
    COLLATES_NOT, /* a value: the other operand decides, else BINARY */
    COLLATES_AS_COLUMN,
    COLLATES_BY_NAME, /* COLLATE */
    COLLATES_SOMEHOW  /* unknown */
};

/* The affinity and collation of an operand in a comparison (datatype3.html, sections 3.2, 4.2 and 7.1). */
struct form_side {
    enum column_affinity affinity;
    enum form_collating collates;
    enum column_collation collation;
};

static bool list_has_collate(const struct sql_expr *list);
static struct form_side side_of(const struct form_builder *f, const struct sql_expr *e, int depth);
static bool may_turn(const struct form_builder *f, const struct sql_expr *left, const struct sql_expr *right);
static const char *compared(struct form_builder *f, const struct sql_expr *e, enum column_affinity with);
static bool is_constant(const struct sql_expr *e);
static bool are_constants(const struct sql_expr *list);
static const char *logic_text(struct form_builder *f, const struct sql_expr *e, enum sql_op op);

/* --- Texts of expressions --- */

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

static const char *lower_text(struct form_builder *f, const char *text)
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
    const char *lower = lower_text(f, name), *c = lower;
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

static const char *quoted_text(struct form_builder *f, const char *text)
{
    struct sql_printer p = { 0 };

    sql_put_quoted(&p, text, '\'');
    const char *kept = form_printf(f, "%.*s", (int)p.n, p.text);
    free(p.text);
    return kept;
}

/* With at most 15 digits and a small exponent, SQLite and strtod read the same double from every spelling. */
static bool is_short(const char *text)
{
    const char *end = text + strcspn(text, "eE");
    int digits = 0;

    for (const char *c = text; c < end; c++)
        digits += isdigit((unsigned char)*c) != 0;
    long exponent = *end ? strtol(end + 1, NULL, 10) : 0;
    return digits <= 15 && exponent >= -20 && exponent <= 20;
}

static const char *number_text(struct form_builder *f, const char *text, bool compared)
{
    size_t digits = strspn(text, "0123456789");
    char shortest[REAL_TEXT];

    if (!text[digits] && digits > 0 && digits < 18)
        return form_printf(f, "%lld", strtoll(text, NULL, 10));
    if (!strpbrk(text, ".eE") || text[strspn(text, "0123456789.eE+-")] || !is_short(text))
        return lower_text(f, text);
    double x = strtod(text, NULL);
    if (compared && x == floor(x) && fabs(x) < 9e15)
        return form_printf(f, "%.0f", x);
    return form_printf(f, "%s", real_literal(shortest, x));
}

static const char *write_literal(struct form_builder *f, const struct sql_expr *e)
{
    if (strcasecmp(e->text, "true") == 0 || strcasecmp(e->text, "false") == 0)
        return tolower((unsigned char)*e->text) == 't' ? "1" : "0";
    return isdigit((unsigned char)*e->text) || *e->text == '.' ? number_text(f, e->text, false)
                                                               : lower_text(f, e->text);
}

/* Returns the text of the output that has that alias or column name. */
static const char *output_text(const struct form_builder *f, const char *name)
{
    for (const struct form_frame *frame = f->frame; frame; frame = frame->outer)
        for (int i = 0; i < frame->n; i++)
            if (frame->names[i] && strcasecmp(frame->names[i], name) == 0)
                return frame->texts[i];
    return NULL;
}

/* Like output_text, for ON, which is read before the results. */
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
    if (e->op == SQL_PLUS && is_constant(e->left))
        return inner;
    return form_printf(f, "%s%s", sql_op_text(e->op), inner);
}

static const char *write_binary(struct form_builder *f, const struct sql_expr *e)
{
    if (e->op <= SQL_AND)
        return logic_text(f, e, e->op);
    if (e->op <= SQL_GREATER_EQUAL)
        return form_printf(f, "(%s)", form_condition(f, e).text);
    const char *left = form_expr(f, e->left), *right = form_expr(f, e->right);
    bool commutes = e->op == SQL_ADD || e->op == SQL_MULTIPLY;
    bool swap = commutes && strcmp(left, right) > 0 && may_turn(f, e, e);
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

/* The base of a window is written out. */
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
        return quoted_text(f, e->text);
    case SQL_EXPR_CAST:
        return form_printf(f, "cast(%s as %s)", form_expr(f, e->left), lower_text(f, e->text));
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
    return logic_text(f, e, e->negated ? SQL_OR : SQL_AND);
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

/* --- Affinity and collation --- */

enum { SIDE_MAX_DEPTH = 100 }; /* recursion through aliases and derived columns, which may refer to themselves */

static const struct form_side unknown = { AFFINITY_UNKNOWN, COLLATES_SOMEHOW, COLLATION_UNKNOWN };

/* Returns the expression that computes a column of a derived table, or NULL if there is not exactly one. */
static const struct sql_expr *derived_expr(const struct sql_source *s, const char *name)
{
    const struct sql_select *select = s->cte ? s->cte->select : s->select;
    bool simple = select && !select->cores->next && form_is_flat(select->cores->from);
    const struct sql_result *result = simple ? select->cores->results : NULL;
    int i = 0;

    while (i < s->n_outputs && strcasecmp(s->outputs[i].name, name) != 0)
        i++;
    for (; result && result->expr && i > 0; i--)
        result = result->next;
    return result ? result->expr : NULL;
}

static struct form_side side_of_alias(const struct form_builder *f, const char *name, int depth)
{
    for (const struct form_frame *frame = f->frame; frame; frame = frame->outer) {
        const struct sql_result *result = sql_find_alias(frame->core, name);
        if (result && result->expr)
            return side_of(f, result->expr, depth + 1);
    }
    return unknown;
}

static struct form_side side_of_column(const struct form_builder *f, const struct sql_expr *e, int depth)
{
    const struct schema *s = f->r.schema;

    if (!e->source)
        return side_of_alias(f, e->name.text, depth);
    if (e->source->kind == SQL_SOURCE_GROUP || form_is_joined(f, e))
        return unknown;
    if (e->source->table >= 0) {
        bool stored = schema_table_is_stored(s, e->source->table);
        if (e->column < 0) /* rowid, or a hidden column */
            return stored ? (struct form_side){ AFFINITY_INTEGER, COLLATES_AS_COLUMN, COLLATION_BINARY } : unknown;
        const struct schema_column *column = &s->columns[e->column];
        return (struct form_side){ column->affinity, COLLATES_AS_COLUMN, column->collation };
    }
    const struct sql_expr *inner = derived_expr(e->source, e->name.text);
    struct form_side side = inner ? side_of(f, inner, depth + 1) : unknown;
    if (side.collates == COLLATES_NOT)
        side.collation = COLLATION_BINARY;
    if (side.collates != COLLATES_SOMEHOW)
        side.collates = COLLATES_AS_COLUMN;
    return side;
}

/* Searches operands and arguments, as SQLite does, but not sub-queries. */
static bool has_collate(const struct sql_expr *e)
{
    return e && (e->kind == SQL_EXPR_COLLATE || has_collate(e->left) || has_collate(e->right) ||
                 has_collate(e->third) || list_has_collate(e->list));
}

static bool list_has_collate(const struct sql_expr *list)
{
    for (const struct sql_expr *e = list; e; e = e->next)
        if (has_collate(e))
            return true;
    return false;
}

/* A value without affinity and collation of its own. */
static struct form_side side_of_value(const struct sql_expr *e)
{
    return has_collate(e) ? (struct form_side){ AFFINITY_NONE, COLLATES_SOMEHOW, COLLATION_UNKNOWN }
                          : (struct form_side){ AFFINITY_NONE, COLLATES_NOT, COLLATION_BINARY };
}

static struct form_side side_of(const struct form_builder *f, const struct sql_expr *e, int depth)
{
    struct form_side side;

    if (depth > SIDE_MAX_DEPTH)
        return unknown;
    switch (e->kind) {
    case SQL_EXPR_COLUMN:
        return side_of_column(f, e, depth);
    case SQL_EXPR_CAST:
        side = side_of(f, e->left, depth + 1);
        side.affinity = column_affinity_of(e->text);
        return side;
    case SQL_EXPR_COLLATE:
        side = side_of(f, e->left, depth + 1);
        return (struct form_side){ side.affinity, COLLATES_BY_NAME, column_collation_of(e->name.text) };
    case SQL_EXPR_UNARY:
        if (e->op != SQL_PLUS)
            return side_of_value(e);
        side = side_of(f, e->left, depth + 1);
        side.affinity = AFFINITY_NONE;
        return side;
    case SQL_EXPR_SELECT:
    case SQL_EXPR_ROW:
        return unknown;
    default:
        return side_of_value(e);
    }
}

static struct form_side expr_side(const struct form_builder *f, const struct sql_expr *e)
{
    return side_of(f, e, 0);
}

/* Returns whether a comparison keeps its collation if its operands are swapped. */
static bool may_turn(const struct form_builder *f, const struct sql_expr *left, const struct sql_expr *right)
{
    struct form_side a = expr_side(f, left), b = expr_side(f, right);

    if (a.collates == COLLATES_NOT || b.collates == COLLATES_NOT)
        return true;
    if (a.collates == COLLATES_SOMEHOW || b.collates == COLLATES_SOMEHOW)
        return false;
    return a.collates != b.collates || (a.collation == b.collation && a.collation != COLLATION_UNKNOWN);
}

bool form_is_binary(const struct form_builder *f, const struct sql_expr *e)
{
    struct form_side side = expr_side(f, e);
    return side.collates != COLLATES_SOMEHOW && side.collation == COLLATION_BINARY;
}

/* Columns of numbers store 1.0 as 1, except REAL columns. */
bool form_is_exact(const struct form_builder *f, const struct sql_expr *e)
{
    enum column_affinity affinity = expr_side(f, e).affinity;
    bool exact = affinity == AFFINITY_TEXT || affinity == AFFINITY_INTEGER || affinity == AFFINITY_NUMERIC;

    return e->kind == SQL_EXPR_COLUMN && exact && form_is_binary(f, e);
}

/* --- Comparisons and IN: operand order, and constants as they compare --- */

/* Returns the operator after swapping the operands, or -1. */
static int mirrored(enum sql_op op)
{
    static const int pairs[][2] = { { SQL_LESS, SQL_GREATER }, { SQL_LESS_EQUAL, SQL_GREATER_EQUAL },
                                    { SQL_EQUAL, SQL_EQUAL },  { SQL_NOT_EQUAL, SQL_NOT_EQUAL },
                                    { SQL_IS, SQL_IS },        { SQL_IS_NOT, SQL_IS_NOT } };
    for (int i = 0; i < ARRAY_LEN(pairs); i++)
        for (int side = 0; side < 2; side++)
            if (pairs[i][side] == (int)op)
                return pairs[i][!side];
    return -1;
}

/* Returns whether numeric affinity converts the text to a number: digits and at most one point. */
static bool is_number_text(const char *text)
{
    size_t whole = strspn(text, "0123456789"), part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

    return whole > 0 && !text[whole + (part ? part + 1 : 0)];
}

/* Returns a constant as it compares with an operand of that affinity. 2013 and 2013.0 are equal except for a TEXT
 * column, where they become '2013' and '2013.0'. For a column of numbers, '2013' is 2013. */
static const char *compared(struct form_builder *f, const struct sql_expr *e, enum column_affinity with)
{
    bool text = with == AFFINITY_TEXT || with == AFFINITY_UNKNOWN, number = with >= AFFINITY_NUMBER;

    if (e->kind == SQL_EXPR_UNARY && e->op == SQL_MINUS)
        return form_printf(f, "-%s", compared(f, e->left, with));
    if (e->kind == SQL_EXPR_LITERAL && !text && isdigit((unsigned char)*e->text))
        return number_text(f, e->text, true);
    if (e->kind == SQL_EXPR_STRING && number && is_number_text(e->text))
        return number_text(f, e->text, true);
    return form_expr(f, e);
}

/* IS TRUE tests for truth; IS 1 does not. */
static bool is_truth_value(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_LITERAL && (strcasecmp(e->text, "true") == 0 || strcasecmp(e->text, "false") == 0);
}

static bool asks_truth(enum sql_op op, const struct sql_expr *right)
{
    return op >= SQL_IS && op <= SQL_IS_NOT_DISTINCT && is_truth_value(right);
}

static bool is_own_column(const struct form_builder *f, const struct sql_expr *e)
{
    const struct form_source *s = e->kind == SQL_EXPR_COLUMN && e->source ? form_find_source(f, e->source) : NULL;
    return s && f->frame && s - f->sources >= f->frame->first_source;
}

/* Returns whether a condition compares columns of two sources of the same FROM. */
static bool is_edge(const struct form_builder *f, const struct sql_expr *e)
{
    return e->op == SQL_EQUAL && is_own_column(f, e->left) && is_own_column(f, e->right) &&
           e->left->source != e->right->source;
}

static const char *edge_ends(struct form_builder *f, const struct form_term *t)
{
    const char *ends[2];
    ends[0] = form_printf(f, "%.*s", (int)strcspn(t->head, "."), t->head);
    ends[1] = form_printf(f, "%.*s", (int)strcspn(t->value, "."), t->value);
    return form_join(f, ends, 2, ",", true);
}

/* Returns whether the operands are swapped. A constant goes to the right; other operands are ordered by text. */
static bool turns(const struct form_builder *f, const struct sql_expr *e, const char *left, const char *right)
{
    bool constant = is_constant(e->left);

    if (mirrored(e->op) < 0 || asks_truth(e->op, e->right) || asks_truth(e->op, e->left))
        return false;
    return constant == is_constant(e->right) ? strcmp(left, right) > 0 && may_turn(f, e->left, e->right) : constant;
}

static const char *right_text(struct form_builder *f, const struct sql_expr *e)
{
    bool pattern = e->op >= SQL_LIKE && e->op <= SQL_MATCH;

    if (asks_truth(e->op, e->right))
        return lower_text(f, e->right->text);
    if (!is_constant(e->right))
        return form_operand(f, e->right).text;
    return pattern ? form_expr(f, e->right) : compared(f, e->right, expr_side(f, e->left).affinity);
}

/* The term of a comparison, and of IN. */
static struct form_term comparison(struct form_builder *f, const struct sql_expr *e)
{
    struct form_term t = form_operand(f, e->left), other = form_operand(f, e->right);
    struct sql_expr *written = form_copy(f, e);

    if (turns(f, e, t.text, other.text)) {
        struct form_term left = t;
        t = other;
        other = left;
        written->op = (enum sql_op)mirrored(e->op);
        written->left = e->right;
        written->right = e->left;
    }
    t.expr = written;
    t.constant = is_constant(written->right);
    t.value = t.constant ? right_text(f, written) : other.text;
    t.other = other.column;
    t.sub = other.sub ? other.sub : t.sub;
    t.op = lower_text(f, form_printf(f, "%s%s", e->negated ? "not " : "", sql_op_text(written->op)));
    const char *escape = e->third ? form_printf(f, " escape %s", form_expr(f, e->third)) : "";
    t.text = form_printf(f, "%s %s %s%s", t.text, t.op, t.value, escape);
    if (is_edge(f, e)) {
        t.head = edge_ends(f, &t);
        t.op = "inner";
        t.value = t.text;
    }
    return t;
}

static const char *in_list(struct form_builder *f, const struct sql_expr *e, int *n)
{
    enum column_affinity affinity = expr_side(f, e->left).affinity;
    const char **texts = NULL;
    int cap = 0, count = 0;

    for (const struct sql_expr *item = e->list; item; item = item->next) {
        GROW(texts, count, cap);
        texts[count++] = is_constant(item) ? compared(f, item, affinity) : form_expr(f, item);
    }
    const char *text = form_join(f, texts, count, ", ", true);
    *n = count;
    for (int i = 1; i < count; i++)
        *n -= strcmp(texts[i], texts[i - 1]) == 0;
    free(texts);
    return text;
}

static struct form_term membership(struct form_builder *f, const struct sql_expr *e)
{
    struct form_term t = form_operand(f, e->left);
    int n = 0;

    if (e->select) {
        t.sub = form_select(f, e->select);
        t.value = form_printf(f, "(%s)", t.sub->text);
    } else if (e->source) {
        t.value = form_printf(f, "(all of %s)", form_name(f, e->source->name.text));
    } else {
        t.value = in_list(f, e, &n);
        t.constant = are_constants(e->list);
    }
    bool one = n == 1 && t.constant;
    t.op = one ? e->negated ? "!=" : "=" : e->negated ? "not in" : "in";
    t.text = form_printf(f, one ? "%s %s %s" : "%s %s (%s)", t.text, t.op, t.value);
    t.expr = form_copy(f, e);
    return t;
}

/* --- Conditions: NOT folded in, BETWEEN as two bounds, equalities merged into IN --- */

struct form_node {
    struct form_node *next;
    struct sql_expr expr;
};

struct sql_expr *form_copy(struct form_builder *f, const struct sql_expr *e)
{
    struct form_node *node = xmalloc(sizeof *node);
    *node = (struct form_node){ f->store->nodes, *e };
    f->store->nodes = node;
    return &node->expr;
}

void form_release_nodes(struct form_store *s)
{
    for (struct form_node *node = s->nodes, *next; node; node = next) {
        next = node->next;
        free(node);
    }
    s->nodes = NULL;
}

static bool is_constant(const struct sql_expr *e)
{
    if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_MINUS || e->op == SQL_PLUS))
        return is_constant(e->left);
    return e->kind == SQL_EXPR_LITERAL || e->kind == SQL_EXPR_STRING || e->kind == SQL_EXPR_PARAMETER;
}

/* Returns whether a list consists of at least one constant. */
static bool are_constants(const struct sql_expr *list)
{
    bool all = list;

    for (const struct sql_expr *e = list; e; e = e->next)
        all = all && is_constant(e);
    return all;
}

static int negated(enum sql_op op)
{
    static const int pairs[][2] = { { SQL_LESS, SQL_GREATER_EQUAL },
                                    { SQL_LESS_EQUAL, SQL_GREATER },
                                    { SQL_EQUAL, SQL_NOT_EQUAL },
                                    { SQL_IS, SQL_IS_NOT },
                                    { SQL_IS_DISTINCT, SQL_IS_NOT_DISTINCT } };
    for (int i = 0; i < ARRAY_LEN(pairs); i++)
        for (int side = 0; side < 2; side++)
            if (pairs[i][side] == (int)op)
                return pairs[i][!side];
    return -1;
}

/* Folds NOT into a comparison, IN, LIKE, BETWEEN or another NOT. The value of a condition is 0, 1 or NULL. As an
 * operand it is parenthesised, so that NOT NOT x is not confused with x. */
static struct sql_expr fold_not(const struct sql_expr *e)
{
    struct sql_expr folded = *e;

    while (folded.kind == SQL_EXPR_UNARY && folded.op == SQL_NOT) {
        struct sql_expr inner = *folded.left;
        bool like = inner.kind == SQL_EXPR_BINARY && inner.op >= SQL_LIKE && inner.op <= SQL_MATCH;
        if (inner.kind == SQL_EXPR_UNARY && inner.op == SQL_NOT) {
            folded = *inner.left;
        } else if (like || inner.kind == SQL_EXPR_IN || inner.kind == SQL_EXPR_BETWEEN) {
            inner.negated = !inner.negated;
            folded = inner;
        } else if (inner.kind == SQL_EXPR_BINARY && negated(inner.op) >= 0) {
            inner.op = (enum sql_op)negated(inner.op);
            folded = inner;
        } else {
            break;
        }
    }
    return folded;
}

static void push(struct form_conditions *c, struct sql_expr e)
{
    GROW(c->list, c->n, c->cap);
    c->list[c->n] = e;
    c->list[c->n++].next = NULL;
}

static void push_bounds(struct form_conditions *c, const struct sql_expr *e)
{
    struct sql_expr low = { .kind = SQL_EXPR_BINARY, .left = e->left, .right = e->right, .column = -1 }, high = low;

    low.op = e->negated ? SQL_LESS : SQL_GREATER_EQUAL;
    high.op = e->negated ? SQL_GREATER : SQL_LESS_EQUAL;
    high.right = e->third;
    push(c, low);
    push(c, high);
}

void form_flatten(struct form_builder *f, struct form_conditions *c, const struct sql_expr *e, enum sql_op op)
{
    struct sql_expr folded = fold_not(e);

    f->full = f->full || f->depth >= FORM_MAX_DEPTH;
    if (f->full)
        return;
    f->depth++;
    if (folded.kind == SQL_EXPR_BINARY && folded.op == op) {
        form_flatten(f, c, folded.left, op);
        form_flatten(f, c, folded.right, op);
    } else if (folded.kind == SQL_EXPR_BETWEEN && folded.negated == (op == SQL_OR)) {
        push_bounds(c, &folded);
    } else {
        push(c, folded);
    }
    f->depth--;
}

static bool is_choice(const struct sql_expr *e)
{
    if (e->kind == SQL_EXPR_BINARY)
        return e->op == SQL_EQUAL && is_constant(e->left) != is_constant(e->right);
    return e->kind == SQL_EXPR_IN && !e->negated && are_constants(e->list);
}

static const struct sql_expr *choice_subject(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_BINARY && is_constant(e->left) ? e->right : e->left;
}

/* Prepends the constants of an equality or IN to `list`. */
static struct sql_expr *choice_constants(struct form_builder *f, const struct sql_expr *e, struct sql_expr *list)
{
    const struct sql_expr *first = e->kind == SQL_EXPR_IN ? e->list : e->left == choice_subject(e) ? e->right : e->left;

    for (const struct sql_expr *item = first; item; item = e->kind == SQL_EXPR_IN ? item->next : NULL) {
        struct sql_expr *copy = form_copy(f, item);
        copy->next = list;
        list = copy;
    }
    return list;
}

static void merge_into(struct form_builder *f, struct form_conditions *c, int into)
{
    struct sql_expr *e = &c->list[into], *subject = form_copy(f, choice_subject(e));
    const char *head = form_expr(f, subject);
    struct sql_expr *list = NULL;
    int kept = into + 1;

    for (int i = into + 1; i < c->n; i++) {
        struct sql_expr *other = &c->list[i];
        if (is_choice(other) && strcmp(form_expr(f, choice_subject(other)), head) == 0)
            list = choice_constants(f, other, list);
        else
            c->list[kept++] = *other;
    }
    c->n = kept;
    if (list)
        *e = (struct sql_expr){
            .kind = SQL_EXPR_IN, .left = subject, .list = choice_constants(f, e, list), .column = -1
        };
}

void form_merge_equalities(struct form_builder *f, struct form_conditions *c)
{
    for (int i = 0; i < c->n && !f->full; i++)
        if (is_choice(&c->list[i]))
            merge_into(f, c, i);
}

/* Writes a condition as text. */
static const char *logic_text(struct form_builder *f, const struct sql_expr *e, enum sql_op op)
{
    struct form_conditions c = { 0 };

    form_flatten(f, &c, e, op);
    if (op == SQL_OR)
        form_merge_equalities(f, &c);
    const char **texts = xmalloc((size_t)c.n * sizeof *texts + 1);
    for (int i = 0; i < c.n; i++)
        texts[i] = form_condition(f, &c.list[i]).text;
    const char *text = form_join(f, texts, c.n, op == SQL_OR ? " or " : " and ", true);
    free(texts);
    free(c.list);
    return form_printf(f, "(%s)", text);
}

static bool is_aggregate(const struct sql_expr *e)
{
    static const char *const names[] = { "count", "sum", "avg", "min", "max", "total" };

    if (e->kind != SQL_EXPR_CALL || e->filter || e->over || !e->star == !e->list || (e->list && e->list->next))
        return false;
    for (int i = 0; i < ARRAY_LEN(names); i++)
        if (strcasecmp(e->name.text, names[i]) == 0)
            return true;
    return false;
}

bool form_is_count(const struct sql_expr *e)
{
    return is_aggregate(e) && strcasecmp(e->name.text, "count") == 0;
}

struct form_term form_operand(struct form_builder *f, const struct sql_expr *e)
{
    struct form_term t = { .function = "", .op = "", .value = "", .column = -1, .other = -1, .table = -1, .expr = e };

    t.core = f->frame ? f->frame->core : NULL;
    if (e->kind == SQL_EXPR_SELECT) {
        t.sub = form_select(f, e->select);
        t.text = t.head = form_printf(f, "(%s)", t.sub->text);
        return t;
    }
    t.text = t.head = form_expr(f, e);
    if (is_aggregate(e)) {
        bool all = e->star || is_constant(e->list);
        t.function = lower_text(f, form_printf(f, "%s%s", e->name.text, e->distinct ? " distinct" : ""));
        t.head = all ? "*" : form_expr(f, e->list);
        t.column = !all && e->list->kind == SQL_EXPR_COLUMN ? e->list->column : -1;
    } else if (e->kind == SQL_EXPR_COLUMN) {
        t.column = e->source ? e->column : -1;
    }
    return t;
}

bool form_is_or(const struct sql_expr *e)
{
    return (e->kind == SQL_EXPR_BINARY && e->op == SQL_OR) || (e->kind == SQL_EXPR_BETWEEN && e->negated);
}

static struct form_term opaque(const char *text, const char *op, const struct sql_expr *e)
{
    return (struct form_term){ text, text, "", op, "", -1, -1, -1, false, NULL, e, NULL };
}

static struct form_term existence(struct form_builder *f, const struct sql_expr *e, bool wanted)
{
    struct form_term t = opaque("", wanted ? "exists" : "not exists", NULL);

    t.sub = form_select(f, e->select);
    t.head = "";
    t.value = form_printf(f, "(%s)", t.sub->text);
    t.text = form_printf(f, "%s %s", t.op, t.value);
    return t;
}

/* Returns the term of an OR. A single remaining operand replaces the OR. */
static struct form_term alternative(struct form_builder *f, const struct sql_expr *e)
{
    struct form_conditions c = { 0 };

    form_flatten(f, &c, e, SQL_OR);
    form_merge_equalities(f, &c);
    bool one = c.n == 1 && !form_is_or(&c.list[0]);
    struct form_term t = one ? form_condition(f, &c.list[0]) : opaque(logic_text(f, e, SQL_OR), "or", form_copy(f, e));
    free(c.list);
    return t;
}

struct form_term form_condition(struct form_builder *f, const struct sql_expr *e)
{
    struct sql_expr folded = fold_not(e);
    bool inverse = folded.kind == SQL_EXPR_UNARY && folded.op == SQL_NOT;

    if (f->full || f->depth >= FORM_MAX_DEPTH) {
        f->full = true;
        return opaque("", "", NULL);
    }
    if (folded.kind == SQL_EXPR_BINARY && folded.op >= SQL_EQUAL && folded.op <= SQL_GREATER_EQUAL)
        return comparison(f, &folded);
    if (folded.kind == SQL_EXPR_IN)
        return membership(f, &folded);
    if (folded.kind == SQL_EXPR_EXISTS || (inverse && folded.left->kind == SQL_EXPR_EXISTS)) {
        struct form_term t = existence(f, inverse ? folded.left : &folded, !inverse);
        t.expr = form_copy(f, &folded);
        return t;
    }
    if (form_is_or(&folded))
        return alternative(f, &folded);
    return inverse ? opaque(form_printf(f, "not %s", form_expr(f, folded.left)), "not", form_copy(f, &folded))
                   : opaque(form_expr(f, &folded), "is", form_copy(f, &folded));
}
