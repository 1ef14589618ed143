#include "data/contrast/thesis_columns.h"

#include "data/corpora/ambiqt_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table behind the last "X as alias"; NULL when there is none. */
static const char *aliased(const struct ambiqt_words *w, const char *alias)
{
    const char *table = NULL;
    for (int i = 1; i + 1 < w->n; i++)
        if (strcmp(w->items[i], "as") == 0 && strcmp(w->items[i + 1], alias) == 0)
            table = w->items[i - 1];
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
    struct ambiqt_words w;
    int n = 0;

    list_names(&names, normalized);
    ambiqt_words_split(&w, normalized);
    int from = ambiqt_words_find(&w, "from");
    for (int i = 0; i < from && from + 1 < w.n && n < max; i++) {
        bool prefixed = strlen(w.items[i]) > 2 && w.items[i][2] == '.';
        const char *column = prefixed ? w.items[i] + 3 : w.items[i], *table = w.items[from + 1];
        char alias[3] = { w.items[i][0], prefixed ? w.items[i][1] : 0, 0 };
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
    ambiqt_words_release(&w);
    strings_release(&names);
    return n;
}
