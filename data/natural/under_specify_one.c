/* Part of under_specify_impl.h: schemas on which only one column fits a short question. */
#include "data/natural/under_specify_impl.h"

#include "data/natural/element_style.h"
#include "data/rewrite/sql_edit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of a column that keeps its rival beside it, under the whole name that the question says. */
static const float WHOLE_NAME = 0.5f;

struct column_renaming {
    struct sql_edits edits;
    int column;
    const char *from, *to;
};

/* Of struct sql_walker. */
static void rename_column(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct column_renaming *r = context;

    (void)core;
    if (e->kind == SQL_EXPR_COLUMN && e->column == r->column && strcasecmp(e->name.text, r->from) == 0)
        sql_edits_name(&r->edits, e->name.span, r->to);
}

/* The statement in which the column has another name; NULL where it cannot be read. */
static const char *rename_in(struct natural *n, struct strings *text, const char *sql, const struct schema *s,
                             int column, const char *name)
{
    struct sql_uses uses;
    size_t mark = arena_mark(&n->sql);
    struct sql_query *q = sql_parse(&n->sql, sql, NULL);
    struct column_renaming r = {
        .edits = { .sql = sql }, .column = column, .from = s->columns[column].name, .to = name
    };
    const struct sql_walker walker = { .context = &r, .expr = rename_column };
    const char *renamed = NULL;

    if (q && sql_resolve(&n->sql, q, s, &uses, NULL) == 0) {
        sql_walk(&walker, q->select);
        char *all = sql_edits_all(&r.edits);
        renamed = strings_keep(text, all);
        free(all);
    }
    sql_edits_release(&r.edits);
    arena_reset(&n->sql, mark);
    return renamed;
}

/* As the other names of the schema are spelled. */
static const char *spell_like(struct strings *text, const char *words, const char *like)
{
    bool capital = isupper((unsigned char)like[0]), underscore = strchr(like, '_') != NULL;
    bool small = false;

    for (const char *p = like; *p; p++)
        small = small || islower((unsigned char)*p);
    enum element_style style = !small ? STYLE_UPPER : underscore || !capital ? STYLE_SNAKE : STYLE_CAMEL;
    return element_spell(text, words, style);
}

static bool fits_by_name(struct under_one *one, struct natural *n, struct strings *text, const struct under_item *i)
{
    int column = i->columns[one->which];
    const struct schema_column *c = &one->s->columns[column];
    const char *words = words_among(text, c->text, &i->left), *name = spell_like(text, words, c->name);

    if (!words[0] || schema_column_find(one->s, c->table, name) >= 0 ||
        c->table != one->s->columns[i->columns[1 - one->which]].table)
        return false;
    const char *sql = rename_in(n, text, i->sql[one->which], one->s, column, name);
    if (!sql)
        return false;
    *one = (struct under_one){ natural_rename(n, one->s, column, name), one->which, -1, sql };
    bool *flags = xcalloc((size_t)one->s->n_columns, sizeof *flags);
    bool good = natural_touch(n, sql, one->s, flags);
    free(flags);
    return good;
}

struct under_one under_one_draw(struct natural *n, struct strings *text, const struct under_item *i,
                                const struct schema *s)
{
    int which = (int)rng_below(&n->rng, 2);

    for (int k = 0; k < 2; k++) /* its key would go with it */
        if (s->columns[i->columns[k]].primary)
            which = k;
    struct under_one one = { s, which, i->columns[1 - which], i->sql[which] }, named = one;
    return rng_uniform(&n->rng) < WHOLE_NAME && fits_by_name(&named, n, text, i) ? named : one;
}
