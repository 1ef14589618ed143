#include "data/corpora/ambiqt_text.h"

#include "kernels/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* The same, in place of a string that it frees. */
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

/* Runs of blanks become one space, and none is left at the ends. */
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
