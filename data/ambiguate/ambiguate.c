#include "data/ambiguate/ambiguate_impl.h"
#include "data/sql/sql_lex.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ARENA_BYTES = 16 << 20 };

const char *ambiguity_fault_text(enum ambiguity_fault fault)
{
    static const char *const texts[AMBIGUITY_FAULTS] = {
        "query not understood", "form of the query",         "name in use", "key", "two equal readings",
        "a reading fails",      "other rows than the query",
    };
    return texts[fault];
}

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
    q->sql = q->resolved ? sql_plain_text(sql) : ambiqt_normalize(sql);
    if (!q->sql) /* no SQL, which is found where it is parsed */
        q->sql = xstrdup(sql);
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
    *a = (struct ambiguity){ .kind = kind, .question = q->number, .schema = q->schema_number, .resolved = q->resolved };
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

void ambiguity_leave_out(struct ambiguities *out, enum ambiguity_fault fault)
{
    out->left_out[fault]++;
}

const char *ambiguity_take(struct ambiguities *out, char *text)
{
    const char *kept = strings_keep(&out->text, text);

    free(text);
    return kept;
}

static void note_natural(void *context, struct sql_source *s, struct sql_core *core)
{
    struct resolved_query *r = context;

    (void)core;
    r->natural = r->natural || s->natural;
}

int resolved_query_init(struct resolved_query *r, struct ambiguities *out, const struct ambiguate_question *q)
{
    const struct sql_walker walker = { .context = r, .source = note_natural };

    *r = (struct resolved_query){ .out = out, .q = q };
    CHECK(arena_init(&r->arena, ARENA_BYTES, NULL) == 0, "no %d bytes of memory", ARENA_BYTES);
    r->query = sql_parse(&r->arena, q->sql, NULL);
    if (!r->query || sql_resolve(&r->arena, r->query, q->schema, &r->uses, NULL)) {
        ambiguity_leave_out(out, FAULT_UNREADABLE);
        return -1;
    }
    sql_walk(&walker, r->query->select);
    return 0;
}

void resolved_query_release(struct resolved_query *r)
{
    arena_release(&r->arena);
}

static bool token_is(const char *sql, const struct sql_token *t, const char *name)
{
    int begin = t->begin, n = t->end - t->begin;
    bool quotes = strchr("\"`[", sql[begin]);

    if (t->kind != TOKEN_NAME && (t->kind < TOKEN_KEYWORD || sql_keyword_use(t->kind) == SQL_KEYWORD_RESERVED))
        return false;
    if (!quotes && t[1].kind == TOKEN_LEFT_PAREN)
        return false;
    begin += quotes;
    n -= 2 * quotes;
    return strlen(name) == (size_t)n && strncasecmp(sql + begin, name, (size_t)n) == 0;
}

bool resolved_query_says(const struct resolved_query *r, const char *name)
{
    int n;
    struct sql_token *tokens = sql_lex(r->q->sql, &n);
    bool found = false;

    for (int i = 0; i < n - 1 && !found; i++)
        found = token_is(r->q->sql, &tokens[i], name);
    free(tokens);
    return found;
}

bool resolved_source_is(const struct sql_source *s, int table)
{
    return s->kind == SQL_SOURCE_TABLE && !s->cte && s->table == table;
}
