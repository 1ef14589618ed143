/* Part of ambiguate.h: kinds D, R and C from the resolved query: a column that the query uses is deleted, or two others
 * stand in its place. */
#include "data/ambiguate/ambiguate_impl.h"
#include "data/schema/element_name.h"
#include "data/schema/mention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What tells two columns of one meaning apart, by the type of the column that they replace. */
static const char *const modifiers[][2] = {
    { "primary", "secondary" },  { "former", "current" }, { "official", "common" }, { "original", "revised" },
    { "estimated", "reported" }, { "planned", "actual" }, { "minimum", "maximum" }, { "earliest", "latest" },
};
static const struct {
    int first, n;
} modifiers_of[] = {
    [COLUMN_TEXT] = { 0, 4 },    [COLUMN_NUMBER] = { 4, 3 }, [COLUMN_TIME] = { 5, 3 },
    [COLUMN_BOOLEAN] = { 3, 3 }, [COLUMN_OTHERS] = { 0, 4 },
};

/* A question's query and the question's words. */
struct understood_query {
    struct resolved_query r;
    float *mentions; /* [elements][ELEMENT_MENTIONS] */
    bool *asked;     /* by column: used for more than a join */
};

static bool understand(struct understood_query *e, struct ambiguities *out, const struct ambiguate_question *q)
{
    const struct schema *s = q->schema;

    *e = (struct understood_query){ 0 };
    if (resolved_query_init(&e->r, out, q))
        return false;
    e->mentions = xcalloc(((size_t)s->n_tables + (size_t)s->n_columns) * ELEMENT_MENTIONS, sizeof *e->mentions);
    mention_elements(s, NULL, q->question, e->mentions);
    e->asked = xcalloc((size_t)s->n_columns + 1, sizeof *e->asked);
    for (int i = 0; i < e->r.uses.n; i++) {
        const struct sql_use *u = &e->r.uses.list[i];
        if (u->column >= 0 && u->clause != SQL_FROM && u->clause != SQL_ON)
            e->asked[u->column] = true;
    }
    return true;
}

static void editing_release(struct understood_query *e)
{
    resolved_query_release(&e->r);
    free(e->mentions);
    free(e->asked);
}

static const float *mention_of(const struct understood_query *e, int c)
{
    return e->mentions + (e->r.q->schema->n_tables + c) * ELEMENT_MENTIONS;
}

/* Where the name of the column stands in a use of it, behind an alias or within quotes; NULL when it is used by *, by
 * an alias of its own, or by a word that another column is meant by too. */
static const char *name_in(const struct understood_query *e, const struct sql_use *u)
{
    const char *name = e->r.q->schema->columns[u->column].name, *end = e->r.q->sql + u->end;
    size_t n = strlen(name);

    for (int i = 0; i < e->r.uses.n; i++)
        if (e->r.uses.list[i].begin == u->begin && e->r.uses.list[i].column != u->column)
            return NULL;
    end -= strchr("\"`]", end[-1]) != NULL;
    return (size_t)(end - e->r.q->sql - u->begin) >= n && strncasecmp(end - n, name, n) == 0 ? end - n : NULL;
}

static bool by_name(const struct understood_query *e, int c)
{
    bool good = true;

    for (int i = 0; i < e->r.uses.n && good; i++)
        good = e->r.uses.list[i].column != c || name_in(e, &e->r.uses.list[i]);
    return good;
}

/* The column is no key, the question says a word of its name, and every use is by its name. */
static bool editable(const struct understood_query *e, int c)
{
    return e->asked[c] && mention_of(e, c)[ELEMENT_ANY] > 0 && !schema_column_is_key(e->r.q->schema, c) &&
           by_name(e, c);
}

static struct ambiguity *add(struct understood_query *e, int kind, int c)
{
    const struct schema *s = e->r.q->schema;
    struct ambiguity *a = ambiguity_add(e->r.out, e->r.q, kind);

    a->record.table = strings_keep(&e->r.out->text, s->tables[s->columns[c].table].name);
    a->record.column = strings_keep(&e->r.out->text, s->columns[c].name);
    return a;
}

void ambiguate_deleted(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct understood_query e;

    if (understand(&e, out, q))
        for (int c = 0; c < q->schema->n_columns; c++)
            if (editable(&e, c) && mention_of(&e, c)[ELEMENT_NAMESAKE] == 0)
                add(&e, AMBIGUITY_DELETED, c);
    editing_release(&e);
}

/* A column while it is renamed, or what stands in the way of it. */
struct renaming {
    const struct understood_query *e;
    struct sql_edits *edits;
    int column;
    const char *name; /* the new one */
    bool aliased;     /* a result or a column of a CTE has the old name as its own */
    bool captured;    /* the new name, without a qualifier, is that of another table too */
};

static bool names_column(const struct renaming *n, const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_COLUMN && e->column == n->column &&
           strcasecmp(e->name.text, n->e->r.q->schema->columns[n->column].name) == 0;
}

static void rename_expr(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct renaming *n = context;

    (void)core;
    if (names_column(n, e))
        sql_edits_name(n->edits, e->name.span, n->name);
}

/* The query with the column renamed; out keeps it. */
static const char *rename_column(const struct understood_query *e, int c, const char *name)
{
    struct sql_edits edits = { .sql = e->r.q->sql };
    struct renaming n = { .e = e, .edits = &edits, .column = c, .name = name };
    const struct sql_walker walker = { .context = &n, .expr = rename_expr };

    sql_walk(&walker, e->r.query->select);
    const char *kept = ambiguity_take(e->r.out, sql_edits_all(&edits));
    sql_edits_release(&edits);
    return kept;
}

static void note_alias(void *context, struct sql_core *core, struct sql_select *select)
{
    struct renaming *n = context;

    (void)select;
    for (const struct sql_result *r = core->results; r; r = r->next)
        n->aliased = n->aliased || (r->alias.text && strcasecmp(r->alias.text, n->name) == 0);
}

static void note_cte(void *context, struct sql_cte *c)
{
    struct renaming *n = context;

    for (const struct sql_name *name = c->columns; name; name = name->next)
        n->aliased = n->aliased || strcasecmp(name->text, n->name) == 0;
}

/* Whether a result goes by the column's name where it may be another value's. */
static bool is_aliased(const struct understood_query *e, int c)
{
    struct renaming n = { .e = e, .column = c, .name = e->r.q->schema->columns[c].name };
    const struct sql_walker walker = { .context = &n, .core = note_alias, .cte = note_cte };

    sql_walk(&walker, e->r.query->select);
    return n.aliased;
}

static void note_capture(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct renaming *n = context;
    const struct schema *s = n->e->r.q->schema;

    (void)core;
    if (!names_column(n, e) || e->table)
        return;
    for (int i = 0; i < n->e->r.uses.n && !n->captured; i++)
        n->captured = schema_column_find(s, n->e->r.uses.list[i].table, n->name) >= 0;
}

/* Whether the new name means the new column wherever the old one stands. */
static bool is_free(const struct understood_query *e, int c, const char *name)
{
    struct renaming n = { .e = e, .column = c, .name = name };
    const struct sql_walker walker = { .context = &n, .expr = note_capture };
    const struct schema *s = e->r.q->schema;

    sql_walk(&walker, e->r.query->select);
    return !n.captured && schema_column_find(s, s->columns[c].table, name) < 0 && !resolved_query_says(&e->r, name);
}

/* Whether the question has the word. */
static bool question_says(const char *question, const char *word)
{
    enum { MOST = 512 };
    uint32_t words[MOST], wanted = word_hash(word);
    int n = words_read(question, words, MOST);

    while (n > 0 && words[n - 1] != wanted)
        n--;
    return n > 0;
}

/* Two names for the column that its table does not have and of which the question does not say what tells them apart.
 */
static bool find_names(struct understood_query *e, struct synonym_pair *pair, int c)
{
    const struct schema_column *column = &e->r.q->schema->columns[c];
    *pair = (struct synonym_pair){ .source = SYNONYM_MODIFIER };
    int first = modifiers_of[column->type].first, n = modifiers_of[column->type].n;
    uint64_t start = hash_bytes(HASH_START, column->name, strlen(column->name));

    for (int i = 0; i < n; i++) {
        const char *const *two = modifiers[first + (int)((start + (uint64_t)i) % (uint64_t)n)];
        bool good = true;
        for (int k = 0; k < 2; k++) {
            pair->names[k] =
                strings_printf(&e->r.out->text, "%s%c%s", two[k], strchr(column->name, ' ') ? ' ' : '_', column->name);
            good = good && !question_says(e->r.q->question, two[k]) && is_free(e, c, pair->names[k]);
        }
        if (good)
            return true;
    }
    return false;
}

static void add_renamed(struct understood_query *e, int kind, int c, const struct synonym_pair *pair)
{
    struct ambiguity *a = add(e, kind, c);

    a->synonyms = *pair;
    for (int k = 0; k < 2; k++) {
        a->record.names[k] = pair->names[k];
        a->record.readings[k] = rename_column(e, c, pair->names[k]);
    }
}

/* SQLite passes a column of this name on from a sub-query without its name. */
static bool is_truth(const char *name)
{
    return strcasecmp(name, "true") == 0 || strcasecmp(name, "false") == 0;
}

/* The column can be renamed; else the record is left out. */
static bool renamable(const struct understood_query *e, int c)
{
    bool good = !e->r.natural && by_name(e, c) && !is_aliased(e, c) && !is_truth(e->r.q->schema->columns[c].name);

    if (!good)
        ambiguity_leave_out(e->r.out, FAULT_FORM);
    return good;
}

void ambiguate_replaced(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct understood_query e;
    struct synonym_pair pair;

    if (understand(&e, out, q))
        for (int c = 0; c < q->schema->n_columns; c++)
            if (editable(&e, c) && renamable(&e, c) && find_names(&e, &pair, c))
                add_renamed(&e, AMBIGUITY_REPLACED, c, &pair);
    editing_release(&e);
}

/* The outermost SELECT names the column: a star does not. */
static bool selected(const struct understood_query *e, int c)
{
    bool found = false;

    for (int i = 0; i < e->r.uses.n && !found; i++) {
        const struct sql_use *u = &e->r.uses.list[i];
        found = u->column == c && u->clause == SQL_SELECT && u->depth == 0 && e->r.q->sql[u->end - 1] != '*';
    }
    return found;
}

void resolved_columns(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    const struct schema *s = q->schema;
    struct understood_query e;
    struct synonym_pair pair;

    if (understand(&e, out, q))
        for (int c = 0; c < s->n_columns; c++) {
            const char *table = s->tables[s->columns[c].table].name;
            if (!selected(&e, c) || !synonym_finder_find(synonyms, &pair, s, table, s->columns[c].name) ||
                !renamable(&e, c))
                continue;
            if (is_free(&e, c, pair.names[0]) && is_free(&e, c, pair.names[1]))
                add_renamed(&e, SIA_COLUMN, c, &pair);
            else
                ambiguity_leave_out(out, FAULT_NAME);
        }
    editing_release(&e);
}
