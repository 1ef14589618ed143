#include "data/synth/sql_edit.h"

#include "data/sql/sql_lex.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void walk_exprs(const struct sql_walker *w, struct sql_expr *e, struct sql_core *core);

/* --- Visiting the tree --- */

static void walk_order(const struct sql_walker *w, struct sql_order *o, struct sql_core *core)
{
    for (; o; o = o->next)
        walk_exprs(w, o->expr, core);
}

static void walk_window(const struct sql_walker *w, struct sql_window *v, struct sql_core *core)
{
    walk_exprs(w, v->partition, core);
    walk_order(w, v->order, core);
    walk_exprs(w, v->start.expr, core);
    walk_exprs(w, v->end.expr, core);
}

static void walk_sources(const struct sql_walker *w, struct sql_source *s, struct sql_core *core)
{
    for (; s; s = s->next) {
        if (w->source)
            w->source(w->context, s, core);
        walk_sources(w, s->group, core);
        walk_exprs(w, s->arguments, core);
        walk_exprs(w, s->on, core);
        if (s->select)
            sql_walk(w, s->select);
    }
}

static void walk_exprs(const struct sql_walker *w, struct sql_expr *e, struct sql_core *core)
{
    for (; e; e = e->next) {
        walk_exprs(w, e->left, core);
        walk_exprs(w, e->right, core);
        walk_exprs(w, e->third, core);
        walk_exprs(w, e->list, core);
        walk_exprs(w, e->filter, core);
        if (e->over)
            walk_window(w, e->over, core);
        if (e->kind == SQL_EXPR_IN && e->source) /* for a column, it is the resolved source */
            walk_sources(w, e->source, core);
        if (e->select)
            sql_walk(w, e->select);
        if (w->expr)
            w->expr(w->context, e, core);
    }
}

static void walk_tail(const struct sql_walker *w, const struct sql_tail *t, struct sql_core *core)
{
    walk_order(w, t->order, core);
    walk_exprs(w, t->limit, core);
    walk_exprs(w, t->offset, core);
}

static void walk_core(const struct sql_walker *w, struct sql_core *c)
{
    for (struct sql_result *r = c->results; r; r = r->next)
        walk_exprs(w, r->expr, c);
    walk_sources(w, c->from, c);
    walk_exprs(w, c->rows, c);
    walk_exprs(w, c->where, c);
    walk_exprs(w, c->group, c);
    walk_exprs(w, c->having, c);
    for (struct sql_window *v = c->windows; v; v = v->next)
        walk_window(w, v, c);
    walk_tail(w, &c->tail, c);
}

void sql_walk_core(const struct sql_walker *w, struct sql_core *core, struct sql_select *select)
{
    if (w->core)
        w->core(w->context, core, select);
    walk_core(w, core);
    if (!select->cores->next)
        walk_tail(w, &select->tail, core);
}

void sql_walk(const struct sql_walker *w, struct sql_select *select)
{
    for (struct sql_cte *c = select->ctes; c; c = c->next) {
        if (w->cte)
            w->cte(w->context, c);
        sql_walk(w, c->select);
    }
    for (struct sql_core *c = select->cores; c; c = c->next)
        sql_walk_core(w, c, select);
    if (select->cores->next)
        walk_tail(w, &select->tail, NULL);
}

/* --- Replacing parts of the text --- */

void sql_edits_add(struct sql_edits *e, struct sql_span span, const char *text)
{
    GROW(e->items, e->n, e->cap);
    e->items[e->n++] = (struct sql_change){ span, strings_keep(&e->text, text) };
}

/* Quotes a name and doubles the quotes in it. text owns the result. */
static const char *quoted(struct strings *text, const char *name, char quote)
{
    struct sql_printer p = { 0 };

    sql_put_quoted(&p, name, quote);
    const char *kept = strings_printf(text, "%.*s", (int)p.n, p.text);
    free(p.text);
    return kept;
}

const char *sql_written_name(struct strings *text, const char *name)
{
    return sql_name_wants_quotes(name) ? quoted(text, name, '"') : strings_keep(text, name);
}

const char *sql_written_string(struct strings *text, const char *value)
{
    return quoted(text, value, '\'');
}

void sql_edits_name(struct sql_edits *e, struct sql_span span, const char *name)
{
    char quote = e->sql[span.begin];

    if (quote == '[' && !strchr(name, ']'))
        sql_edits_add(e, span, strings_printf(&e->text, "[%s]", name));
    else if (quote && strchr("\"`", quote))
        sql_edits_add(e, span, quoted(&e->text, name, quote));
    else if (quote == '[' || quote == '\'')
        sql_edits_add(e, span, quoted(&e->text, name, '"'));
    else
        sql_edits_add(e, span, sql_written_name(&e->text, name));
}

static int by_place(const void *a, const void *b)
{
    const struct sql_change *x = a, *y = b;
    return (x->span.begin > y->span.begin) - (x->span.begin < y->span.begin);
}

/* Text under construction. Adjacent tokens without a blank, as in WHERE"name", get one if they would merge. */
struct edited {
    FILE *f;
    char last;
};

static void put(struct edited *e, const char *text, int n)
{
    if (n > 0 && sql_is_name_char((unsigned char)e->last) && sql_is_name_char((unsigned char)*text))
        putc(' ', e->f);
    fprintf(e->f, "%.*s", n, text);
    e->last = n > 0 ? text[n - 1] : e->last;
}

char *sql_edits_part(struct sql_edits *e, int begin, int end)
{
    char *text = NULL;
    size_t size;
    struct edited out = { .f = open_memstream(&text, &size) };

    CHECK(out.f, "cannot write to memory");
    if (e->n)
        qsort(e->items, (size_t)e->n, sizeof *e->items, by_place);
    for (int i = 0; i < e->n; i++) {
        const struct sql_change *c = &e->items[i];
        if (c->span.begin < begin || c->span.end > end)
            continue;
        put(&out, e->sql + begin, c->span.begin - begin);
        put(&out, c->text, (int)strlen(c->text));
        begin = c->span.end;
    }
    put(&out, e->sql + begin, end - begin);
    CHECK(fclose(out.f) == 0, "cannot write to memory");
    return text;
}

char *sql_edits_all(struct sql_edits *e)
{
    return sql_edits_part(e, 0, (int)strlen(e->sql));
}

void sql_edits_release(struct sql_edits *e)
{
    free(e->items);
    strings_release(&e->text);
    *e = (struct sql_edits){ 0 };
}

/* --- Normalized text --- */

static bool is_aggregate(const char *sql, const struct sql_token *t)
{
    static const char *const names[] = { "count", "avg", "sum", "min", "max" };
    int n = t->end - t->begin;

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if ((size_t)n == strlen(names[i]) && strncasecmp(sql + t->begin, names[i], (size_t)n) == 0)
            return true;
    return false;
}

/* Returns whether a blank separates two tokens. */
static bool apart(const char *sql, const struct sql_token *a, const struct sql_token *b)
{
    if (a->end == b->begin || a->kind == TOKEN_LEFT_PAREN || b->kind == TOKEN_RIGHT_PAREN || b->kind == TOKEN_COMMA)
        return false;
    return b->kind != TOKEN_LEFT_PAREN || !is_aggregate(sql, a);
}

static void put_token(FILE *f, const char *sql, const struct sql_token *t)
{
    bool quotes = strchr("\"`['", sql[t->begin]);

    for (int i = t->begin; i < t->end; i++)
        putc(quotes ? sql[i] : tolower((unsigned char)sql[i]), f);
}

char *sql_plain_text(const char *sql)
{
    int n;
    struct sql_token *tokens = sql_lex(sql, &n);
    char *text = NULL;
    size_t size;

    FILE *f = tokens[n - 1].kind == TOKEN_ILLEGAL ? NULL : open_memstream(&text, &size);
    n -= n > 1 && tokens[n - 2].kind == TOKEN_SEMICOLON;
    for (int i = 0; f && i < n - 1; i++) {
        if (i && apart(sql, &tokens[i - 1], &tokens[i]))
            putc(' ', f);
        put_token(f, sql, &tokens[i]);
    }
    CHECK(!f || fclose(f) == 0, "cannot write to memory");
    free(tokens);
    return text;
}
