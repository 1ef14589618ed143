#include "data/corpora/ambiqt_draft.h"

#include "data/corpora/ambiqt_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 128;
}

static int quoted_length(const char *p)
{
    const char *end = strchr(p + 1, *p);
    return end ? (int)(end - p) + 1 : (int)strlen(p);
}

static int name_length(const char *p)
{
    int n = 0;
    while (in_name(p[n]))
        n++;
    return n;
}

static struct draft_piece next_piece(struct draft *d, const char *p)
{
    struct draft_piece piece = { .s = p, .n = 1, .word = "" };

    if (in_name(*p)) {
        piece.n = name_length(p);
        piece.name = true;
        piece.word = strings_printf(&d->text, "%.*s", piece.n, p);
    } else if (strchr("'\"`", *p)) {
        piece.n = quoted_length(p);
        if (*p != '\'' && piece.n > 2)
            piece.word = strings_printf(&d->text, "%.*s", piece.n - 2, p + 1);
    }
    return piece;
}

void draft_init(struct draft *d, const char *sql)
{
    *d = (struct draft){ .sql = ambiqt_normalize(sql) };
    for (const char *p = d->sql; *p;) {
        if (*p == ' ') {
            p++;
            continue;
        }
        GROW(d->pieces, d->n, d->cap);
        d->pieces[d->n] = next_piece(d, p);
        p += d->pieces[d->n++].n;
    }
}

void draft_release(struct draft *d)
{
    free(d->sql);
    free(d->pieces);
    strings_release(&d->text);
    *d = (struct draft){ 0 };
}

char *draft_finish(const struct draft *d)
{
    char *written = NULL;
    size_t n;
    const char *from = d->sql;

    FILE *f = open_memstream(&written, &n);
    CHECK(f, "no memory for a query");
    for (int i = 0; i < d->n; i++) {
        const struct draft_piece *piece = &d->pieces[i];
        fwrite(from, 1, (size_t)(piece->s - from), f);
        if (piece->as)
            fputs(piece->as, f);
        else
            fwrite(piece->s, 1, (size_t)piece->n, f);
        from = piece->s + piece->n;
    }
    fclose(f);
    char *normal = ambiqt_normalize(written);
    free(written);
    return normal;
}

bool draft_is(const struct draft *d, int i, const char *word)
{
    return i >= 0 && i < d->n && strcasecmp(d->pieces[i].word, word) == 0;
}

bool draft_is_alias(const struct draft *d, int i)
{
    static const char *const others[] = { "as",     "on",    "using",   "where",     "group",  "order", "limit",
                                          "having", "inner", "left",    "right",     "full",   "outer", "cross",
                                          "join",   "union", "natural", "intersect", "except", "from" };
    bool alias = i >= 0 && i < d->n && d->pieces[i].name && !strchr(d->pieces[i].word, '.');

    for (int k = 0; k < ARRAY_LEN(others); k++)
        alias = alias && !draft_is(d, i, others[k]);
    return alias;
}

bool draft_is_sql(const struct draft *d, int i)
{
    bool call = i + 1 < d->n && *d->pieces[i + 1].s == '(';
    bool clause = (draft_is(d, i, "group") || draft_is(d, i, "order")) && draft_is(d, i + 1, "by");

    return d->pieces[i].name && (call || clause);
}

bool draft_is_table(const struct draft *d, int i)
{
    return draft_is(d, i - 1, "from") || draft_is(d, i - 1, "join");
}

bool draft_has_table(const struct draft *d, const char *table)
{
    bool found = false;
    for (int i = 0; i < d->n; i++)
        found = found || (draft_is_table(d, i) && draft_is(d, i, table));
    return found;
}

void draft_write(struct draft *d, int i, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    CHECK(n >= 0, "cannot format %s", fmt);
    d->pieces[i].as = strings_keep(&d->text, text);
    free(text);
}

const char *draft_column(struct draft *d, int i, const char **prefix)
{
    const char *word = d->pieces[i].word, *point = strchr(word, '.');

    *prefix = point ? strings_printf(&d->text, "%.*s", (int)(point - word), word) : "";
    return point ? point + 1 : word;
}

const char *draft_table(const struct draft *d, const char *prefix)
{
    for (int i = 0; i < d->n; i++) {
        int alias = i + 1 + draft_is(d, i + 1, "as");
        if (draft_is_table(d, i) && draft_is_alias(d, alias) && draft_is(d, alias, prefix))
            return d->pieces[i].word;
    }
    return prefix;
}
