#include "data/contrast/thesis_columns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place, left to right; to is no longer than from. */
static void replace_all(char *s, const char *from, const char *to)
{
    size_t n = strlen(from), m = strlen(to);
    char *out = s;

    while (*s)
        if (strncmp(s, from, n) == 0) {
            memcpy(out, to, m);
            out += m;
            s += n;
        } else
            *out++ = *s++;
    *out = 0;
}

static void lower_outside_quotes(char *s)
{
    for (char quote = 0; *s; s++)
        if (quote)
            quote = *s == quote ? 0 : quote;
        else if (*s == '"' || *s == '\'' || *s == '`')
            quote = *s;
        else
            *s = (char)tolower((unsigned char)*s);
}

static void collapse_spaces(char *s)
{
    char *start = s, *out = s;

    for (; *s; s++)
        if (!isspace((unsigned char)*s))
            *out++ = *s;
        else if (out > start && out[-1] != ' ')
            *out++ = ' ';
    out -= out > start && out[-1] == ' ';
    *out = 0;
}

char *thesis_normalize(const char *sql)
{
    static const char *const changes[][2] = { { " ,", "," },           { "( ", "(" },       { " )", ")" },
                                              { "count (", "count(" }, { "avg (", "avg(" }, { "sum (", "sum(" },
                                              { "min (", "min(" },     { "max (", "max(" }, { ") ,", ")," } };
    char *s = xstrdup(sql);
    size_t n = strlen(s);

    if (n && s[n - 1] == ';')
        s[n - 1] = 0;
    replace_all(s, "``", "`");
    lower_outside_quotes(s);
    collapse_spaces(s);
    for (int i = 0; i < ARRAY_LEN(changes); i++)
        replace_all(s, changes[i][0], changes[i][1]);
    return s;
}

/* Words of a query, with commas and parentheses apart. */
struct words {
    char *text;
    char **list;
    int n, cap;
};

static void words_split(struct words *w, const char *sql)
{
    char *save = NULL;
    size_t n = 0;

    *w = (struct words){ .text = xmalloc(3 * strlen(sql) + 1) };
    for (; *sql; sql++) {
        bool apart = strchr(",()", *sql) != NULL;
        if (apart)
            w->text[n++] = ' ';
        w->text[n++] = *sql;
        if (apart)
            w->text[n++] = ' ';
    }
    w->text[n] = 0;
    for (char *p = strtok_r(w->text, " \t\r\n", &save); p; p = strtok_r(NULL, " \t\r\n", &save)) {
        GROW(w->list, w->n, w->cap);
        w->list[w->n++] = p;
    }
}

static void words_release(struct words *w)
{
    free(w->text);
    free(w->list);
}

static int find_word(const struct words *w, const char *word)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->list[i], word) == 0)
            return i;
    return -1;
}

/* The table behind the last "X as alias"; NULL when there is none. */
static const char *aliased(const struct words *w, const char *alias)
{
    const char *table = NULL;
    for (int i = 1; i + 1 < w->n; i++)
        if (strcmp(w->list[i], "as") == 0 && strcmp(w->list[i + 1], alias) == 0)
            table = w->list[i - 1];
    return table;
}

/* "count(distinct t1.name)" gives "name": inside the parenthesis, last word, behind the last dot. */
static void add_item(struct strings *columns, char *item)
{
    char *open = strchr(item, '('), *close = open ? strchr(open, ')') : NULL;

    if (open)
        item = open + 1;
    if (close)
        *close = 0;
    for (size_t n = strlen(item); n && item[n - 1] == ' ';)
        item[--n] = 0;
    char *space = strrchr(item, ' '), *dot = strrchr(space ? space : item, '.');
    strings_add(columns, dot ? dot + 1 : space ? space + 1 : item);
}

/* Names of the SELECT list, which ends where "from" first stands, though it be inside a name. */
static void list_names(struct strings *columns, const char *sql)
{
    const char *select = strstr(sql, "select"), *from = select ? strstr(select, "from") : NULL;
    char *save = NULL, *list = from ? strndup(select + 6, (size_t)(from - select) - 6) : xstrdup("");

    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
        add_item(columns, item);
    free(list);
}

int thesis_columns(const char *normalized, struct strings *text, struct thesis_column *out, int max)
{
    struct strings names = { 0 };
    struct words w;
    int n = 0;

    list_names(&names, normalized);
    words_split(&w, normalized);
    int from = find_word(&w, "from");
    for (int i = 0; i < from && from + 1 < w.n && n < max; i++) {
        bool prefixed = strlen(w.list[i]) > 2 && w.list[i][2] == '.';
        const char *column = prefixed ? w.list[i] + 3 : w.list[i], *table = w.list[from + 1];
        char alias[3] = { w.list[i][0], prefixed ? w.list[i][1] : 0, 0 };
        if (prefixed)
            table = aliased(&w, alias);
        if (!table || strcmp(column, "*") == 0 || strings_find(&names, column) < 0)
            continue;
        out[n] = (struct thesis_column){ strings_keep(text, table), strings_keep(text, column) };
        bool seen = false;
        for (int k = 0; k < n; k++)
            seen |= out[k].table == out[n].table && out[k].column == out[n].column;
        n += !seen;
    }
    words_release(&w);
    strings_release(&names);
    return n;
}
