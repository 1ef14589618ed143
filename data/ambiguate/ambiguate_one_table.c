/* Part of ambiguate.h: kind P, in the older form of the published training file: one table and one aggregated column a
 * record. */
#include "data/ambiguate/ambiguate_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const functions[] = { "max", "min", "avg", "sum" };
static const char *const names[] = { "max", "min", "avg", "total" };

/* "max(column)" or "max_column"; the caller frees it. */
static char *with_column(const char *before, const char *open, const char *column, const char *close)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s%s%s%s", before, open, column, close) >= 0, "cannot format %s", column);
    return text;
}

/* The text up to the first " from ", each aggregate of the column as the new table names it. */
static char *select_stored(const char *sql, size_t n, const char *column)
{
    char *list = strndup(sql, n);

    CHECK(list, "cannot copy %zu bytes", n);
    for (int k = 0; k < ARRAY_LEN(functions); k++) {
        char *old = with_column(functions[k], "(", column, ")"), *by = with_column(names[k], "_", column, "");
        char *next = text_replace(list, old, by);
        free(old);
        free(by);
        free(list);
        list = next;
    }
    return list;
}

static void add_record(struct ambiguities *out, const struct ambiguate_question *q, int table, int column)
{
    const char *from = strstr(q->sql, " from "), *old = q->schema->tables[table].name;
    const char *behind = from + strlen(" from ") + strlen(old);
    struct ambiguity *a = ambiguity_add(out, q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    a->one_table = true;
    r->table = strings_keep(&out->text, old);
    r->column = strings_keep(&out->text, q->schema->columns[column].name);
    r->key = strings_keep(&out->text, ambiguity_key(q->schema, table));
    r->new_table = strings_printf(&out->text, "%s_%s", r->table, r->column);
    for (int k = 0; k < ARRAY_LEN(names); k++)
        r->new_columns[r->n_new_columns++] = strings_printf(&out->text, "%s_%s", names[k], r->column);
    char *list = select_stored(q->sql, (size_t)(from - q->sql), r->column);
    r->readings[1] = strings_printf(&out->text, "%s from %s%s", list, r->new_table, behind);
    free(list);
}

/* Whether the text before from has an aggregate of the column. */
static bool has_aggregate(const char *sql, const char *from, const char *column)
{
    for (int k = 0; k < ARRAY_LEN(functions); k++) {
        char *call = with_column(functions[k], "(", column, ")");
        const char *p = strstr(sql, call);
        free(call);
        if (p && p < from)
            return true;
    }
    return false;
}

void ambiguate_one_table(struct ambiguities *out, const struct ambiguate_question *q)
{
    const char *from = strstr(q->sql, " from ");
    int at = ambiqt_words_find(&q->words, "from");

    if (!from || strstr(q->sql, " join ") || at < 0 || at + 1 >= q->words.n)
        return;
    int table = ambiguity_table(q->schema, q->words.items[at + 1]);
    if (table < 0 || !ambiguity_key(q->schema, table))
        return;
    const struct schema_table *t = &q->schema->tables[table];
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (has_aggregate(q->sql, from, q->schema->columns[c].name))
            add_record(out, q, table, c);
}
