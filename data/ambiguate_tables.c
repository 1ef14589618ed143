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

/* Only directly behind one of these words, and before a space or parenthesis. */
static char *rename_table(const char *sql, const char *table, const char *name)
{
    static const char *const before[] = { "from ", "join ", "intersect ", "union ", "except " };
    char *out = xstrdup(sql);

    for (int i = 0; i < 2 * ARRAY_LEN(before); i++) {
        const char *behind = i % 2 ? ")" : " ";
        char *old = between(before[i / 2], table, behind), *by = between(before[i / 2], name, behind);
        char *next = text_replace(out, old, by);
        free(old);
        free(by);
        free(out);
        out = next;
    }
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
            char *sql = rename_table(q->sql, table, pair.names[k]);
            a->record.names[k] = pair.written[k];
            a->record.readings[k] = strings_keep(&out->text, sql);
            free(sql);
        }
    }
}
