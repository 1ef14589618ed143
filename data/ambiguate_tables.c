/* Kind T: a table that the query reads stands twice, under two synonyms. */
#include "data/ambiguate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word between two others; the caller frees it. */
static char *between(const char *before, const char *word, const char *behind)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s%s%s", before, word, behind) >= 0, "cannot format %s", word);
    return text;
}

static bool has(const char *sql, const char *table, const char *behind)
{
    char *text = between(" ", table, behind);
    bool found = strstr(sql, text);
    free(text);
    return found;
}

/* Replaces the word between these two, in place of a string that it frees. */
static char *rename_between(char *sql, const char *before, const char *table, const char *behind, const char *name)
{
    char *old = between(before, table, behind), *by = between(before, name, behind);
    char *out = text_replace(sql, old, by);

    free(old);
    free(by);
    free(sql);
    return out;
}

/* Only directly behind one of these words, and before a space or parenthesis. */
static char *rename_table(const struct ambiguate_question *q, const char *table, const char *name)
{
    static const char *const before[] = { "from ", "join ", "intersect ", "union ", "except " };
    static const char *const before_prefix[] = { " ", "(", ",", "=", "<", ">" };
    char *out = xstrdup(q->sql);

    for (int i = 0; i < ARRAY_LEN(before); i++) {
        out = rename_between(out, before[i], table, " ", name);
        out = rename_between(out, before[i], table, ")", name);
    }
    for (int i = 0; i < ARRAY_LEN(before_prefix) && q->prefixes; i++)
        out = rename_between(out, before_prefix[i], table, ".", name);
    return out;
}

void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    for (int t = 0; t < q->schema->n_tables; t++) {
        const char *table = q->schema->tables[t].name;
        struct synonym_pair pair;
        bool used = has(q->sql, table, " ") || has(q->sql, table, ")");
        if (!used || !synonym_finder_find(synonyms, &pair, q->schema, table, NULL))
            continue;
        struct ambiguity *a = ambiguity_add(out, q, SIA_TABLE);
        a->synonyms = pair;
        a->record.table = strings_keep(&out->text, table);
        for (int k = 0; k < 2; k++) {
            char *sql = rename_table(q, table, pair.names[k]);
            a->record.names[k] = pair.written[k];
            a->record.readings[k] = strings_keep(&out->text, sql);
            free(sql);
        }
    }
}
