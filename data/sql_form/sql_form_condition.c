/* Part of sql_form.h: conditions in canonical form: NOT folded in, constants on the right, BETWEEN as two bounds. */
#include "data/sql/sql_print.h"
#include "data/sql_form/sql_form_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

bool form_is_constant(const struct sql_expr *e)
{
    if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_MINUS || e->op == SQL_PLUS))
        return form_is_constant(e->left);
    return e->kind == SQL_EXPR_LITERAL || e->kind == SQL_EXPR_STRING || e->kind == SQL_EXPR_PARAMETER;
}

bool form_are_constants(const struct sql_expr *list)
{
    bool all = list;

    for (const struct sql_expr *e = list; e; e = e->next)
        all = all && form_is_constant(e);
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

/* NOT of a comparison, of IN, LIKE, BETWEEN and of NOT is gone.  The value of a condition is 0, 1 or NULL: as an
 * operand it stands in parentheses, so that NOT NOT x is not taken for x. */
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
        return e->op == SQL_EQUAL && form_is_constant(e->left) != form_is_constant(e->right);
    return e->kind == SQL_EXPR_IN && !e->negated && form_are_constants(e->list);
}

static const struct sql_expr *choice_subject(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_BINARY && form_is_constant(e->left) ? e->right : e->left;
}

/* The constants of a choice before those of `list`. */
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

const char *form_logic(struct form_builder *f, const struct sql_expr *e, enum sql_op op)
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
        bool all = e->star || form_is_constant(e->list);
        t.function = form_lower(f, form_printf(f, "%s%s", e->name.text, e->distinct ? " distinct" : ""));
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

/* Of any of several; what comes down to one is that one. */
static struct form_term alternative(struct form_builder *f, const struct sql_expr *e)
{
    struct form_conditions c = { 0 };

    form_flatten(f, &c, e, SQL_OR);
    form_merge_equalities(f, &c);
    bool one = c.n == 1 && !form_is_or(&c.list[0]);
    struct form_term t = one ? form_condition(f, &c.list[0]) : opaque(form_logic(f, e, SQL_OR), "or", form_copy(f, e));
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
        return form_compare(f, &folded);
    if (folded.kind == SQL_EXPR_IN)
        return form_membership(f, &folded);
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
