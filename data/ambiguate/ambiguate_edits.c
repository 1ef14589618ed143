/* Part of ambiguate.h: kinds D, R and, of other corpora than Spider, C: a column that the query uses is deleted, or two
 * others stand in its place. */
#include "data/ambiguate/ambiguate_impl.h"
#include "data/schema/mention.h"
#include "data/sql/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ARENA_BYTES = 16 << 20 };

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

/* A question's query, understood. */
struct understood_query {
    struct ambiguities *out;
    const struct ambiguate_question *q;
    struct arena arena;
    struct sql_uses uses;
    float *mentions; /* [elements][ELEMENT_MENTIONS] */
    bool *asked;     /* by column: used for more than a join */
};

static bool understand(struct understood_query *e)
{
    const struct schema *s = e->q->schema;

    CHECK(arena_init(&e->arena, ARENA_BYTES, NULL) == 0, "no %d bytes of memory", ARENA_BYTES);
    struct sql_query *query = sql_parse(&e->arena, e->q->sql, NULL);
    if (!query || sql_resolve(&e->arena, query, s, &e->uses, NULL))
        return false;
    e->mentions = xcalloc(((size_t)s->n_tables + (size_t)s->n_columns) * ELEMENT_MENTIONS, sizeof *e->mentions);
    mention_elements(s, NULL, e->q->question, e->mentions);
    e->asked = xcalloc((size_t)s->n_columns + 1, sizeof *e->asked);
    for (int i = 0; i < e->uses.n; i++) {
        const struct sql_use *u = &e->uses.list[i];
        if (u->column >= 0 && u->clause != SQL_FROM && u->clause != SQL_ON)
            e->asked[u->column] = true;
    }
    return true;
}

static void editing_release(struct understood_query *e)
{
    arena_release(&e->arena);
    free(e->mentions);
    free(e->asked);
}

static const float *mention_of(const struct understood_query *e, int c)
{
    return e->mentions + (e->q->schema->n_tables + c) * ELEMENT_MENTIONS;
}

/* Where the name of the column stands in a use of it, behind an alias or within quotes; NULL when it is used by *, by
 * an alias of its own, or by a word that another column is meant by too. */
static const char *name_in(const struct understood_query *e, const struct sql_use *u)
{
    const char *name = e->q->schema->columns[u->column].name, *end = e->q->sql + u->end;
    size_t n = strlen(name);

    for (int i = 0; i < e->uses.n; i++)
        if (e->uses.list[i].begin == u->begin && e->uses.list[i].column != u->column)
            return NULL;
    end -= strchr("\"`]", end[-1]) != NULL;
    return (size_t)(end - e->q->sql - u->begin) >= n && strncasecmp(end - n, name, n) == 0 ? end - n : NULL;
}

static bool by_name(const struct understood_query *e, int c)
{
    bool good = true;

    for (int i = 0; i < e->uses.n && good; i++)
        good = e->uses.list[i].column != c || name_in(e, &e->uses.list[i]);
    return good;
}

/* The column is no key, the question says a word of its name, and every use is by its name. */
static bool editable(const struct understood_query *e, int c)
{
    return e->asked[c] && mention_of(e, c)[ELEMENT_ANY] > 0 && !schema_column_is_key(e->q->schema, c) && by_name(e, c);
}

static struct ambiguity *add(struct understood_query *e, int kind, int c)
{
    const struct schema *s = e->q->schema;
    struct ambiguity *a = ambiguity_add(e->out, e->q, kind);

    a->record.table = strings_keep(&e->out->text, s->tables[s->columns[c].table].name);
    a->record.column = strings_keep(&e->out->text, s->columns[c].name);
    return a;
}

void ambiguate_deleted(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct understood_query e = { .out = out, .q = q };

    if (understand(&e))
        for (int c = 0; c < q->schema->n_columns; c++)
            if (editable(&e, c) && mention_of(&e, c)[ELEMENT_NAMESAKE] == 0)
                add(&e, AMBIGUITY_DELETED, c);
    editing_release(&e);
}

/* The query with the column renamed; out keeps it. */
static const char *rename_column(struct understood_query *e, int c, const char *name)
{
    size_t n = strlen(e->q->schema->columns[c].name), size;
    const char *from = e->q->sql;
    char *text = NULL;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    for (int i = 0; i < e->uses.n; i++) {
        const char *at = e->uses.list[i].column == c ? name_in(e, &e->uses.list[i]) : NULL;
        if (!at || at < from) /* one word may be two uses */
            continue;
        fprintf(f, "%.*s%s", (int)(at - from), from, name);
        from = at + n;
    }
    fputs(from, f);
    CHECK(fclose(f) == 0, "cannot write to memory");
    const char *kept = strings_keep(&e->out->text, text);
    free(text);
    return kept;
}

/* Two names for the column that its table does not have and of which the question does not say what tells them apart.
 */
static bool find_names(struct understood_query *e, struct synonym_pair *pair, int c)
{
    const struct schema_column *column = &e->q->schema->columns[c];
    *pair = (struct synonym_pair){ .source = SYNONYM_MODIFIER };
    int first = modifiers_of[column->type].first, n = modifiers_of[column->type].n;
    uint64_t start = hash_bytes(HASH_START, column->name, strlen(column->name));

    for (int i = 0; i < n; i++) {
        const char *const *two = modifiers[first + (int)((start + (uint64_t)i) % (uint64_t)n)];
        bool good = true;
        for (int k = 0; k < 2; k++) {
            pair->names[k] =
                strings_printf(&e->out->text, "%s%c%s", two[k], strchr(column->name, ' ') ? ' ' : '_', column->name);
            good = good && !strcasestr(e->q->question, two[k]) &&
                   schema_column_find(e->q->schema, column->table, pair->names[k]) < 0;
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

void ambiguate_replaced(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct understood_query e = { .out = out, .q = q };
    struct synonym_pair pair;

    if (understand(&e))
        for (int c = 0; c < q->schema->n_columns; c++)
            if (editable(&e, c) && find_names(&e, &pair, c))
                add_renamed(&e, AMBIGUITY_REPLACED, c, &pair);
    editing_release(&e);
}

/* The outermost SELECT names the column. */
static bool selected(const struct understood_query *e, int c)
{
    bool found = false;

    for (int i = 0; i < e->uses.n && !found; i++) {
        const struct sql_use *u = &e->uses.list[i];
        found = u->column == c && u->clause == SQL_SELECT && u->depth == 0;
    }
    return found && by_name(e, c);
}

void ambiguate_selected(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms)
{
    struct understood_query e = { .out = out, .q = q };
    struct synonym_pair pair;

    if (understand(&e))
        for (int c = 0; c < q->schema->n_columns; c++) {
            const char *table = q->schema->tables[q->schema->columns[c].table].name;
            if (selected(&e, c) && synonym_finder_find(synonyms, &pair, q->schema, table, q->schema->columns[c].name))
                add_renamed(&e, SIA_COLUMN, c, &pair);
        }
    editing_release(&e);
}
