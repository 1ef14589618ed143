/* Part of ambiguate.h: kind C: a column that the outermost SELECT names stands twice, under two synonyms. */
#include "data/ambiguate/ambiguate_impl.h"

#include <stdlib.h>
#include <string.h>

/* A column of the SELECT list and the table it is of, both as the query says. */
struct use {
    const char *column, *table;
};

struct uses {
    struct use *items;
    int n, cap;
};

/* What the alias before a word's dot stands for: the last definition counts, wherever in the query it is. */
static const char *table_of_alias(const struct ambiqt_words *w, const char *word)
{
    for (int i = w->n - 2; i > 0; i--)
        if (strcmp(w->items[i], "as") == 0 && strncmp(w->items[i + 1], word, 2) == 0 && !w->items[i + 1][2])
            return w->items[i - 1];
    return NULL;
}

/* One piece of the SELECT list, from begin to end: the inside of its parenthesis, or all; its last word; without what
 * stands before a dot. */
static bool piece_is(const char *begin, const char *end, const char *column)
{
    const char *open = memchr(begin, '(', (size_t)(end - begin));
    const char *close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;

    if (close) {
        begin = open + 1;
        end = close;
    }
    while (end > begin && end[-1] == ' ')
        end--;
    for (const char *p = begin; p < end; p++)
        if (*p == ' ' || *p == '.')
            begin = p + 1;
    size_t n = strlen(column);
    return (size_t)(end - begin) == n && memcmp(begin, column, n) == 0;
}

/* Whether a piece of the text between the first "select" and the first "from" is that column. */
static bool selects(const char *sql, const char *column)
{
    const char *select = strstr(sql, "select"), *from = strstr(sql, "from");

    if (!select || !from || from < select)
        return false;
    for (const char *p = select + strlen("select"); p < from; p++) {
        const char *comma = memchr(p, ',', (size_t)(from - p)), *end = comma ? comma : from;
        if (piece_is(p, end, column))
            return true;
        p = end;
    }
    return false;
}

static void add_use(struct uses *u, const char *column, const char *table)
{
    for (int i = 0; i < u->n; i++)
        if (strcmp(u->items[i].column, column) == 0 && strcmp(u->items[i].table, table) == 0)
            return;
    GROW(u->items, u->n, u->cap);
    u->items[u->n++] = (struct use){ column, table };
}

static void find_uses(struct uses *u, const struct ambiguate_question *q, int from)
{
    const struct ambiqt_words *w = &q->words;

    for (int i = 0; i < from; i++) {
        const char *word = w->items[i], *column = ambiqt_without_alias(word);
        if (strcmp(column, "*") == 0 || !selects(q->sql, column))
            continue;
        const char *table = column > word ? table_of_alias(w, word) : w->items[from + 1];
        if (table)
            add_use(u, column, table);
    }
}

/* The query with the column renamed.  A word without alias belongs to the table behind the first FROM as it reads by
 * then: a table called like the column is renamed too, and nothing behind it counts as its column any more. */
static const char *rename_column(struct ambiguities *out, const struct ambiguate_question *q, int from,
                                 const struct use *use, const char *name)
{
    const struct ambiqt_words *w = &q->words;
    const char **words = xmalloc((size_t)w->n * sizeof *words);

    memcpy(words, w->items, (size_t)w->n * sizeof *words);
    for (int i = 0; i < w->n; i++) {
        const char *column = ambiqt_without_alias(words[i]);
        if (strcmp(column, use->column) != 0)
            continue;
        const char *table = column > words[i] ? table_of_alias(w, words[i]) : words[from + 1];
        if (!table || strcmp(table, use->table) != 0)
            continue;
        words[i] = strings_printf(&out->text, "%.*s%s", (int)(column - words[i]), words[i], name);
    }
    const char *sql = ambiguity_join(out, words, w->n);
    free(words);
    return sql;
}

void ambiguate_columns(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    int from = ambiqt_words_find(&q->words, "from");
    struct uses uses = { 0 };

    if (from < 0 || from + 1 >= q->words.n)
        return;
    find_uses(&uses, q, from);
    for (int i = 0; i < uses.n; i++) {
        const struct use *u = &uses.items[i];
        struct synonym_pair pair;
        if (!synonym_finder_find(synonyms, &pair, q->schema, u->table, u->column))
            continue;
        struct ambiguity *a = ambiguity_add(out, q, SIA_COLUMN);
        a->synonyms = pair;
        a->record.table = strings_keep(&out->text, u->table);
        a->record.column = strings_keep(&out->text, u->column);
        for (int k = 0; k < 2; k++) {
            a->record.names[k] = pair.names[k];
            a->record.readings[k] = rename_column(out, q, from, u, pair.names[k]);
        }
    }
    free(uses.items);
}
