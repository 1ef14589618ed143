/* Part of phrase.h: conditions. */
#include "data/clarify/phrase_impl.h"

#include <string.h>
#include <strings.h>

static const struct phrase_words unknown = { NULL, PHRASE_LOOSE };

static struct phrase_words loose(const char *text)
{
    return (struct phrase_words){ text, PHRASE_LOOSE };
}

/* Patterns of one kind of wildcard at the ends are words; other ones are shown as they are. */
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
        return unknown;
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

/* What a sub-query gives is no subject: the other side is. */
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
        int included; /* 1 the value counts, 0 it does not, -1 there is no boundary */
    } relations[] = {
        { SQL_EQUAL, "is ", "", -1 },
        { SQL_NOT_EQUAL, "is not ", "", -1 },
        { SQL_GREATER, "is more than ", "", 0 },
        { SQL_LESS, "is less than ", "", 0 },
        { SQL_GREATER_EQUAL, "is ", " or more", 1 },
        { SQL_LESS_EQUAL, "is ", " or less", 1 },
    };
    struct sql_expr turn = turned(as_written), *e = &turn;

    if (is_null(e->left) || is_null(e->right)) /* which never holds */
        return unknown;
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
    return unknown;
}

static bool is_logic(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_BINARY && (e->op == SQL_AND || e->op == SQL_OR);
}

/* One side of AND or OR; the same one needs no parentheses. */
static const char *side(const struct phrase_context *p, const struct sql_expr *e, enum sql_op op)
{
    struct phrase_context in = *p;

    in.nesting -= is_logic(e) && e->op == op; /* a chain is not deep */
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
                : unknown;
}

static struct phrase_words tell_existence(const struct phrase_context *p, const struct sql_expr *e, bool wanted)
{
    const char *rows = phrase_rows(p, e->select), *answer = rows ? NULL : phrase_answer(p, e->select);

    if (rows)
        return loose(strings_printf(p->pool, "there is %s %s", wanted ? "a" : "no", rows));
    return answer ? loose(strings_printf(p->pool, "there is %s answer to %s", wanted ? "an" : "no", answer)) : unknown;
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
