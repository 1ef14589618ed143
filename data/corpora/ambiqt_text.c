#include "data/corpora/ambiqt_text.h"

#include "kernels/base.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Normal form and words --- */

char *text_replace(const char *s, const char *old, const char *by)
{
    size_t n_old = strlen(old), n_by = strlen(by), hits = 0;
    for (const char *p = s; (p = strstr(p, old)); p += n_old)
        hits++;
    char *out = xmalloc(strlen(s) + hits * n_by + 1), *to = out;
    for (const char *p; (p = strstr(s, old)); s = p + n_old) {
        to = mempcpy(to, s, (size_t)(p - s));
        to = mempcpy(to, by, n_by);
    }
    memcpy(to, s, strlen(s) + 1);
    return out;
}

/* Like text_replace, but frees the old string. */
static char *replace(char *s, const char *old, const char *by)
{
    char *out = text_replace(s, old, by);
    free(s);
    return out;
}

char *ambiqt_lower_outside_quotes(const char *sql)
{
    char *s = text_replace(sql, "``", "`"), quote = 0;
    for (char *p = s; *p; p++) {
        if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'' || *p == '`')
            quote = *p;
        else
            *p = (char)tolower((unsigned char)*p);
    }
    return s;
}

/* Reduces white space to single spaces and trims the ends. */
static void collapse(char *s)
{
    char *to = s;
    for (const char *p = s; *p; p++) {
        if (!isspace((unsigned char)*p))
            *to++ = *p;
        else if (to > s && to[-1] != ' ')
            *to++ = ' ';
    }
    to -= to > s && to[-1] == ' ';
    *to = 0;
}

char *ambiqt_single_blanks(const char *text)
{
    char *s = xstrdup(text);

    collapse(s);
    return s;
}

char *ambiqt_normalize(const char *sql)
{
    static const char *const changes[][2] = {
        { " ,", "," },       { "( ", "(" },       { " )", ")" },       { "count (", "count(" }, { "avg (", "avg(" },
        { "sum (", "sum(" }, { "min (", "min(" }, { "max (", "max(" }, { ") ,", ")," },
    };
    size_t n = strlen(sql);
    char *cut = xstrdup(sql);

    if (n && cut[n - 1] == ';')
        cut[n - 1] = 0;
    char *s = ambiqt_lower_outside_quotes(cut);
    free(cut);
    collapse(s);
    for (int i = 0; i < ARRAY_LEN(changes); i++)
        s = replace(s, changes[i][0], changes[i][1]);
    return s;
}

static void split(struct ambiqt_words *w, char *text)
{
    char *state = NULL;

    *w = (struct ambiqt_words){ .text = text };
    for (char *p = strtok_r(text, " \t\n\r\v\f", &state); p; p = strtok_r(NULL, " \t\n\r\v\f", &state)) {
        GROW(w->items, w->n, w->cap);
        w->items[w->n++] = p;
    }
}

void ambiqt_words_split(struct ambiqt_words *w, const char *sql)
{
    split(w, replace(replace(text_replace(sql, ",", " , "), "(", " ( "), ")", " ) "));
}

void ambiqt_words_split_blanks(struct ambiqt_words *w, const char *sql)
{
    split(w, xstrdup(sql));
}

int ambiqt_words_find(const struct ambiqt_words *w, const char *s)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->items[i], s) == 0)
            return i;
    return -1;
}

void ambiqt_words_release(struct ambiqt_words *w)
{
    free(w->items);
    free(w->text);
    *w = (struct ambiqt_words){ 0 };
}

bool ambiqt_has_alias(const char *word)
{
    return strnlen(word, 4) > 3 && word[2] == '.';
}

const char *ambiqt_without_alias(const char *word)
{
    return ambiqt_has_alias(word) ? word + 3 : word;
}

/* --- Drafts --- */

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
