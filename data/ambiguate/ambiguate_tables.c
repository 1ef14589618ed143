/* Part of ambiguate.h: kind T: a table that the query reads stands twice, under two synonyms. */
#include "data/ambiguate/ambiguate_impl.h"
#include "data/sql/sql_scope.h"

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
static char *rename_table(const char *sql, const char *table, const char *name)
{
    static const char *const before[] = { "from ", "join ", "intersect ", "union ", "except " };
    char *out = xstrdup(sql);

    for (int i = 0; i < ARRAY_LEN(before); i++) {
        out = rename_between(out, before[i], table, " ", name);
        out = rename_between(out, before[i], table, ")", name);
    }
    return out;
}

static void add_table(struct ambiguities *out, const struct ambiguate_question *q, const char *table,
                      const struct synonym_pair *pair)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_TABLE);

    a->synonyms = *pair;
    a->record.table = strings_keep(&out->text, table);
    for (int k = 0; k < 2; k++) {
        a->record.names[k] = pair->written[k];
        a->record.readings[k] = ambiguity_take(out, rename_table(q->sql, table, pair->names[k]));
    }
}

void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    for (int t = 0; t < q->schema->n_tables; t++) {
        const char *table = q->schema->tables[t].name;
        struct synonym_pair pair;
        bool used = has(q->sql, table, " ") || has(q->sql, table, ")");
        if (used && synonym_finder_find(synonyms, &pair, q->schema, table, NULL))
            add_table(out, q, table, &pair);
    }
}

/* A table while it is renamed in a resolved query. */
struct table_renaming {
    struct sql_edits edits;
    int table;
    const char *name; /* the new one */
};

static void rename_source(void *context, struct sql_source *s, struct sql_core *core)
{
    struct table_renaming *n = context;

    (void)core;
    if (resolved_source_is(s, n->table))
        sql_edits_name(&n->edits, s->name.span, n->name);
}

/* A qualifier is the table's name where the table has no alias. */
static void rename_qualifier(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct table_renaming *n = context;

    (void)core;
    if (e->kind == SQL_EXPR_COLUMN && e->table && e->source && !e->source->alias.text &&
        resolved_source_is(e->source, n->table))
        sql_edits_name(&n->edits, e->table->span, n->name);
}

static void rename_stars(void *context, struct sql_core *core, struct sql_select *select)
{
    struct table_renaming *n = context;

    (void)select;
    for (struct sql_result *r = core->results; r; r = r->next) {
        const struct sql_source *s = r->table.text ? sql_find_source(core->from, r->table.text, NULL) : NULL;
        if (s && !s->alias.text && resolved_source_is(s, n->table))
            sql_edits_name(&n->edits, r->table.span, n->name);
    }
}

static const char *rename_resolved(const struct resolved_query *r, int table, const char *name)
{
    struct table_renaming n = { .edits.sql = r->q->sql, .table = table, .name = name };
    const struct sql_walker walker = {
        .context = &n, .source = rename_source, .expr = rename_qualifier, .core = rename_stars
    };

    sql_walk(&walker, r->query->select);
    const char *kept = ambiguity_take(r->out, sql_edits_all(&n.edits));
    sql_edits_release(&n.edits);
    return kept;
}

static bool is_read(const struct resolved_query *r, int table)
{
    for (int i = 0; i < r->uses.n; i++)
        if (r->uses.list[i].table == table && r->uses.list[i].column < 0)
            return true;
    return false;
}

static void add_resolved(struct resolved_query *r, int table, const struct synonym_pair *pair)
{
    const struct schema *s = r->q->schema;

    for (int k = 0; k < 2; k++)
        if (schema_table_find(s, pair->names[k]) >= 0 || resolved_query_says(r, pair->names[k])) {
            ambiguity_leave_out(r->out, FAULT_NAME);
            return;
        }
    struct ambiguity *a = ambiguity_add(r->out, r->q, SIA_TABLE);
    a->synonyms = *pair;
    a->record.table = strings_keep(&r->out->text, s->tables[table].name);
    for (int k = 0; k < 2; k++) {
        a->record.names[k] = pair->written[k];
        a->record.readings[k] = rename_resolved(r, table, pair->names[k]);
    }
}

void resolved_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    struct resolved_query r;
    struct synonym_pair pair;

    if (resolved_query_init(&r, out, q) == 0)
        for (int t = 0; t < q->schema->n_tables; t++)
            if (is_read(&r, t) && synonym_finder_find(synonyms, &pair, q->schema, q->schema->tables[t].name, NULL))
                add_resolved(&r, t, &pair);
    resolved_query_release(&r);
}
