/* Part of sql_form.h: how SQLite compares an expression: the affinity and the collation that it brings to a comparison
 * (datatype3.html, sections 3.2, 4.2 and 7.1). */
#include "data/schema/schema_build.h"
#include "data/sql_form/sql_form_impl.h"

#include <string.h>
#include <strings.h>

enum { SIDE_MAX_DEPTH = 100 }; /* of what an alias or a derived column stands for, which may name itself */

static const struct form_side unknown = { AFFINITY_UNKNOWN, COLLATES_SOMEHOW, COLLATION_UNKNOWN };

static struct form_side side_of(const struct form_builder *f, const struct sql_expr *e, int depth);

/* What a column of a derived table is computed from; NULL where that is not one expression. */
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

static bool list_has_collate(const struct sql_expr *list);

/* Within operands and arguments, from where SQLite takes it too; not within sub-queries. */
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

/* Neither affinity nor a collation of its own. */
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

struct form_side form_side_of(const struct form_builder *f, const struct sql_expr *e)
{
    return side_of(f, e, 0);
}

bool form_may_turn(const struct form_builder *f, const struct sql_expr *left, const struct sql_expr *right)
{
    struct form_side a = form_side_of(f, left), b = form_side_of(f, right);

    if (a.collates == COLLATES_NOT || b.collates == COLLATES_NOT)
        return true;
    if (a.collates == COLLATES_SOMEHOW || b.collates == COLLATES_SOMEHOW)
        return false;
    return a.collates != b.collates || (a.collation == b.collation && a.collation != COLLATION_UNKNOWN);
}

bool form_is_binary(const struct form_builder *f, const struct sql_expr *e)
{
    struct form_side side = form_side_of(f, e);
    return side.collates != COLLATES_SOMEHOW && side.collation == COLLATION_BINARY;
}

/* Columns of numbers keep 1.0 as 1, but for REAL. */
bool form_is_exact(const struct form_builder *f, const struct sql_expr *e)
{
    enum column_affinity affinity = form_side_of(f, e).affinity;
    bool exact = affinity == AFFINITY_TEXT || affinity == AFFINITY_INTEGER || affinity == AFFINITY_NUMERIC;

    return e->kind == SQL_EXPR_COLUMN && exact && form_is_binary(f, e);
}
