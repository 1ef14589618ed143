/* Part of sql_form.h: comparisons and IN: which side comes first, and constants as they compare. */
#include "data/sql/sql_print.h"
#include "data/sql_form/sql_form_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -1 when turning the sides around is not that simple. */
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

/* Digits, with a point among them or not: the affinity of a number reads such a text as the number. */
static bool is_number_text(const char *text)
{
    size_t whole = strspn(text, "0123456789"), part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

    return whole > 0 && !text[whole + (part ? part + 1 : 0)];
}

/* A constant as it compares with an operand of that affinity: 2013 and 2013.0 are equal but for a TEXT column, where
 * they become '2013' and '2013.0'; '2013' is 2013 for a column of numbers. */
static const char *compared(struct form_builder *f, const struct sql_expr *e, enum column_affinity with)
{
    bool text = with == AFFINITY_TEXT || with == AFFINITY_UNKNOWN, number = with >= AFFINITY_NUMBER;

    if (e->kind == SQL_EXPR_UNARY && e->op == SQL_MINUS)
        return form_printf(f, "-%s", compared(f, e->left, with));
    if (e->kind == SQL_EXPR_LITERAL && !text && isdigit((unsigned char)*e->text))
        return form_number(f, e->text, true);
    if (e->kind == SQL_EXPR_STRING && number && is_number_text(e->text))
        return form_number(f, e->text, true);
    return form_expr(f, e);
}

/* IS TRUE asks whether a value is true, which IS 1 does not. */
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

/* Between columns of two sources of one FROM. */
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

/* Whether the right side comes first: a constant stands on the right; of two others the first in order of the text. */
static bool turns(const struct form_builder *f, const struct sql_expr *e, const char *left, const char *right)
{
    bool constant = form_is_constant(e->left);

    if (mirrored(e->op) < 0 || asks_truth(e->op, e->right) || asks_truth(e->op, e->left))
        return false;
    return constant == form_is_constant(e->right) ? strcmp(left, right) > 0 && form_may_turn(f, e->left, e->right)
                                                  : constant;
}

static const char *right_text(struct form_builder *f, const struct sql_expr *e)
{
    bool pattern = e->op >= SQL_LIKE && e->op <= SQL_MATCH;

    if (asks_truth(e->op, e->right))
        return form_lower(f, e->right->text);
    if (!form_is_constant(e->right))
        return form_operand(f, e->right).text;
    return pattern ? form_expr(f, e->right) : compared(f, e->right, form_side_of(f, e->left).affinity);
}

struct form_term form_compare(struct form_builder *f, const struct sql_expr *e)
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
    t.constant = form_is_constant(written->right);
    t.value = t.constant ? right_text(f, written) : other.text;
    t.other = other.column;
    t.sub = other.sub ? other.sub : t.sub;
    t.op = form_lower(f, form_printf(f, "%s%s", e->negated ? "not " : "", sql_op_text(written->op)));
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
    enum column_affinity affinity = form_side_of(f, e->left).affinity;
    const char **texts = NULL;
    int cap = 0, count = 0;

    for (const struct sql_expr *item = e->list; item; item = item->next) {
        GROW(texts, count, cap);
        texts[count++] = form_is_constant(item) ? compared(f, item, affinity) : form_expr(f, item);
    }
    const char *text = form_join(f, texts, count, ", ", true);
    *n = count;
    for (int i = 1; i < count; i++)
        *n -= strcmp(texts[i], texts[i - 1]) == 0;
    free(texts);
    return text;
}

struct form_term form_membership(struct form_builder *f, const struct sql_expr *e)
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
        t.constant = form_are_constants(e->list);
    }
    bool one = n == 1 && t.constant;
    t.op = one ? e->negated ? "!=" : "=" : e->negated ? "not in" : "in";
    t.text = form_printf(f, one ? "%s %s %s" : "%s %s (%s)", t.text, t.op, t.value);
    t.expr = form_copy(f, e);
    return t;
}
