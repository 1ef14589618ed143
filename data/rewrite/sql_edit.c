#include "data/rewrite/sql_edit.h"

#include "data/sql/sql_lex.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sql_edits_add(struct sql_edits *e, struct sql_span span, const char *text)
{
    GROW(e->items, e->n, e->cap);
    e->items[e->n++] = (struct sql_change){ span, strings_keep(&e->text, text) };
}

/* In these quotes, which are doubled inside; text keeps it. */
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

/* Text while it is written: what stood side by side without a blank, as WHERE"name" may, stays two words. */
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

static bool is_aggregate(const char *sql, const struct sql_token *t)
{
    static const char *const names[] = { "count", "avg", "sum", "min", "max" };
    int n = t->end - t->begin;

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if ((size_t)n == strlen(names[i]) && strncasecmp(sql + t->begin, names[i], (size_t)n) == 0)
            return true;
    return false;
}

/* Whether a blank stands between two tokens. */
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
