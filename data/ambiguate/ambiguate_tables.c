/* Part of ambiguate.h: kind T: a table that the query reads stands twice, under two synonyms. */
#include "data/ambiguate/ambiguate_impl.h"

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

/* Only directly behind one of these words, and before a space or parenthesis; the caller frees. */
static char *rename_table(const char *sql, bool thorough, const char *table, const char *name)
{
    static const char *const before[] = { "from ", "join ", "intersect ", "union ", "except " };
    static const char *const before_prefix[] = { " ", "(", ",", "=", "<", ">" };
    char *out = xstrdup(sql);

    for (int i = 0; i < ARRAY_LEN(before); i++) {
        out = rename_between(out, before[i], table, " ", name);
        out = rename_between(out, before[i], table, ")", name);
    }
    for (int i = 0; i < ARRAY_LEN(before_prefix) && thorough; i++)
        out = rename_between(out, before_prefix[i], table, ".", name);
    return out;
}

static void add_table(struct ambiguities *out, const struct ambiguate_question *q, const char *sql, const char *table,
                      const struct synonym_pair *pair)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_TABLE);

    a->synonyms = *pair;
    a->record.table = strings_keep(&out->text, table);
    for (int k = 0; k < 2; k++) {
        char *renamed = rename_table(sql, q->thorough, table, pair->names[k]);
        a->record.names[k] = pair->written[k];
        a->record.readings[k] = strings_printf(&out->text, "%.*s", (int)strlen(renamed) - (int)q->thorough, renamed);
        free(renamed);
    }
}

void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    char *sql = between("", q->sql, q->thorough ? " " : ""); /* then the last word is before a space too */

    for (int t = 0; t < q->schema->n_tables; t++) {
        const char *table = q->schema->tables[t].name;
        struct synonym_pair pair;
        bool used = has(sql, table, " ") || has(sql, table, ")");
        if (used && synonym_finder_find(synonyms, &pair, q->schema, table, NULL))
            add_table(out, q, sql, table, &pair);
    }
    free(sql);
}
