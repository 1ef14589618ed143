#include "data/ambiguate/ambiguate_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ambiguity_letter(int kind)
{
    static const char *const more[] = { "D", "R", "A" };
    return kind < SIA_KINDS ? sia_kind_letter((enum sia_kind)kind) : more[kind - SIA_KINDS];
}

void ambiguities_release(struct ambiguities *a)
{
    free(a->items);
    strings_release(&a->text);
    *a = (struct ambiguities){ 0 };
}

void ambiguate_question_init(struct ambiguate_question *q, const char *sql)
{
    q->sql = ambiqt_normalize(sql);
    ambiqt_words_split(&q->words, q->sql);
}

void ambiguate_question_release(struct ambiguate_question *q)
{
    free(q->sql);
    ambiqt_words_release(&q->words);
}

struct ambiguity *ambiguity_add(struct ambiguities *out, const struct ambiguate_question *q, int kind)
{
    const char *sql = strings_keep(&out->text, q->sql);

    GROW(out->items, out->n, out->cap);
    struct ambiguity *a = &out->items[out->n++];
    *a = (struct ambiguity){ .kind = kind, .question = q->number, .schema = q->schema_number };
    a->record = (struct ambiqt_record){ .kind = kind < SIA_KINDS ? (enum sia_kind)kind : SIA_COLUMN,
                                        .db_id = strings_keep(&out->text, q->db_id),
                                        .question = strings_keep(&out->text, q->question),
                                        .original = sql,
                                        .readings = { sql, sql } };
    return a;
}

const char *ambiguity_join(struct ambiguities *out, const char *const *words, int n)
{
    size_t size = 1;
    for (int i = 0; i < n; i++)
        size += strlen(words[i]) + 1;
    char *joined = xmalloc(size), *to = joined;
    for (int i = 0; i < n; i++)
        to = stpcpy(stpcpy(to, i ? " " : ""), words[i]);
    *to = 0;
    char *normal = ambiqt_normalize(joined);
    const char *kept = strings_keep(&out->text, normal);
    free(joined);
    free(normal);
    return kept;
}

const char *ambiguity_key(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].primary)
            return s->columns[c].name;
    return NULL;
}

int ambiguity_table(const struct schema *s, const char *name)
{
    int t = schema_table_find(s, name);
    return t >= 0 && strcmp(s->tables[t].name, name) == 0 ? t : -1;
}

int ambiguity_column(const struct schema *s, int table, const char *name)
{
    int c = schema_column_find(s, table, name);
    return c >= 0 && strcmp(s->columns[c].name, name) == 0 ? c : -1;
}
