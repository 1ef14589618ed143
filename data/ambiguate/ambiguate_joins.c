/* Part of ambiguate.h: kind J: one of several selected columns also stands in a table of its own, beside the primary
 * key. */
#include "data/ambiguate/ambiguate_impl.h"

#include <stdlib.h>
#include <string.h>

/* The columns of the table among the words before its name, FROM too, but for its key; how many. */
static int candidates(int *columns, const struct ambiguate_question *q, int from, int table, const char *key)
{
    int n = 0;
    for (int i = 0; i <= from; i++) {
        int c = ambiguity_column(q->schema, table, q->words.items[i]);
        bool known = c < 0 || strcmp(q->schema->columns[c].name, key) == 0;
        for (int k = 0; k < n && !known; k++)
            known = columns[k] == c;
        if (!known)
            columns[n++] = c;
    }
    return n;
}

/* In every part of the query, nested ones too, the table becomes a join of both. */
static const char *join_both(struct ambiguities *out, const struct ambiguate_question *q, int table, int column,
                             const char *key)
{
    const char *t = q->schema->tables[table].name, *split = q->schema->columns[column].name;
    const char *join = strings_printf(&out->text, "%s as t1 join %s_%s as t2 on t1.%s = t2.%s", t, t, split, key, key);
    const char **words = xmalloc((size_t)q->words.n * sizeof *words);

    for (int i = 0; i < q->words.n; i++) {
        const char *word = q->words.items[i];
        int c = ambiguity_column(q->schema, table, word);
        if (strcmp(word, t) == 0)
            words[i] = join;
        else if (c >= 0)
            words[i] = strings_printf(&out->text, "t%d.%s", c == column ? 2 : 1, word);
        else
            words[i] = word;
    }
    const char *sql = ambiguity_join(out, words, q->words.n);
    free(words);
    return sql;
}

static void add_record(struct ambiguities *out, const struct ambiguate_question *q, int table, int column,
                       const char *key)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_JOIN);
    struct ambiqt_record *r = &a->record;

    r->table = strings_keep(&out->text, q->schema->tables[table].name);
    r->column = strings_keep(&out->text, q->schema->columns[column].name);
    r->key = strings_keep(&out->text, key);
    r->new_table = strings_printf(&out->text, "%s_%s", r->table, r->column);
    r->readings[1] = join_both(out, q, table, column, key);
}

void ambiguate_joins(struct ambiguities *out, const struct ambiguate_question *q)
{
    int from = ambiqt_words_find(&q->words, "from");

    if (ambiqt_words_find(&q->words, "join") >= 0 || from < 0 || from + 1 >= q->words.n)
        return;
    int table = ambiguity_table(q->schema, q->words.items[from + 1]);
    const char *key = table < 0 ? NULL : ambiguity_key(q->schema, table);
    if (!key)
        return;
    int *columns = xmalloc((size_t)(from + 1) * sizeof *columns), n = candidates(columns, q, from, table, key);
    for (int i = 0; i < n && n >= 2; i++)
        add_record(out, q, table, columns[i], key);
    free(columns);
}
