#include "data/synth/ambiguate.h"

#include "data/db/result_match.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql_lex.h"
#include "data/synth/sql_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ARENA_BYTES = 16 << 20 };

const char *ambiguity_fault_text(enum ambiguity_fault fault)
{
    static const char *const texts[AMBIGUITY_FAULTS] = {
        "query does not parse or resolve",
        "unsupported query form",
        "name in use",
        "no key of one column",
        "equal interpretations",
        "an interpretation fails",
        "rows differ from the query",
    };
    return texts[fault];
}

const char *ambiguity_letter(int type)
{
    static const char *const more[] = { "D", "R", "A" };
    return type < AMBIQT_TYPES ? ambiguity_types[type].name : more[type - AMBIQT_TYPES];
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
    if (!q->sql) /* Text that is no SQL: the parser rejects it later. */
        q->sql = xstrdup(sql);
    ambiqt_words_split(&q->words, q->sql);
}

void ambiguate_question_release(struct ambiguate_question *q)
{
    free(q->sql);
    ambiqt_words_release(&q->words);
}

struct ambiguity *ambiguity_add(struct ambiguities *out, const struct ambiguate_question *q, int type)
{
    const char *sql = strings_keep(&out->text, q->sql);

    GROW(out->items, out->n, out->cap);
    struct ambiguity *a = &out->items[out->n++];
    *a = (struct ambiguity){ .type = type, .question = q->number, .schema = q->schema_number, .resolved = q->resolved };
    a->record = (struct ambiqt_record){ .type = type < AMBIQT_TYPES ? (enum sia_type)type : SIA_COLUMN,
                                        .db_id = strings_keep(&out->text, q->db_id),
                                        .question = strings_keep(&out->text, q->question),
                                        .original = sql,
                                        .interpretations = { sql, sql } };
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

void ambiguity_reject(struct ambiguities *out, enum ambiguity_fault fault)
{
    out->rejected[fault]++;
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
        ambiguity_reject(out, FAULT_UNREADABLE);
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

/* Checks of a record's interpretations. */

static void add_column(struct schema_build *b, int table, const struct schema_column *like, const char *name, bool key)
{
    int at = schema_build_column(b, table, name, NULL, like->type);

    if (key && like->primary)
        schema_build_primary(b, at);
}

static void add_table(struct schema_build *b, const struct ambiguity *a, const struct schema *s, int t,
                      const char *name)
{
    const struct ambiqt_record *r = &a->record;
    const struct schema_table *table = &s->tables[t];
    bool here = r->type == SIA_COLUMN && strcmp(table->name, r->table) == 0;
    int at = schema_build_table(b, name, NULL);

    schema_build_form(b, at, table->form);
    for (int c = table->first_column; c < table->first_column + table->n_columns; c++) {
        const struct schema_column *column = &s->columns[c];
        bool altered = here && strcmp(column->name, r->column) == 0;
        for (int k = 0; k < 2 && altered && a->type != AMBIGUITY_DELETED; k++)
            add_column(b, at, column, r->names[k], k == 0);
        if (!altered)
            add_column(b, at, column, column->name, true);
    }
}

/* Adds the table that the second interpretation of J or P reads. */
static void add_new_table(struct schema_build *b, const struct ambiguity *a, const struct schema *s)
{
    const struct ambiqt_record *r = &a->record;
    const struct schema_table *table = &s->tables[ambiguity_table(s, r->table)];
    int at = schema_build_table(b, r->new_table, NULL);

    if (r->type == SIA_JOIN) {
        schema_build_column(b, at, r->key, NULL, COLUMN_TEXT);
        schema_build_column(b, at, r->column, NULL, COLUMN_TEXT);
    }
    for (int c = 0; c < table->n_columns && a->one_table; c++)
        if (strcmp(s->columns[table->first_column + c].name, r->column) != 0)
            schema_build_column(b, at, s->columns[table->first_column + c].name, NULL, COLUMN_TEXT);
    for (int i = 0; i < r->n_new_columns; i++)
        schema_build_column(b, at, r->new_columns[i], NULL, COLUMN_NUMBER);
}

/* Builds the record's altered schema. The caller releases it. */
static void make_altered(struct schema *out, const struct ambiguity *a, const struct schema *s)
{
    const struct ambiqt_record *r = &a->record;
    struct schema_build b;

    schema_build_init(&b, s->db_id);
    for (int t = 0; t < s->n_tables; t++) {
        bool doubled = r->type == SIA_TABLE && strcmp(s->tables[t].name, r->table) == 0;
        add_table(&b, a, s, t, doubled ? r->names[0] : s->tables[t].name);
        if (doubled)
            add_table(&b, a, s, t, r->names[1]);
    }
    if (r->new_table)
        add_new_table(&b, a, s);
    schema_build_finish(&b, out);
}

/* Declares the primary key of a table WITHOUT ROWID: such a table has no column called rowid. */
static void put_key(FILE *f, struct strings *text, const struct schema *s, const struct schema_table *t)
{
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns && t->form == TABLE_WITHOUT_ROWID; c++)
        if (s->columns[c].primary)
            fprintf(f, "%s%s", n++ ? ", " : ", PRIMARY KEY (", sql_written_name(text, s->columns[c].name));
    fputs(n ? ")) WITHOUT ROWID;\n" : ");\n", f);
}

/* Returns a script that creates the tables without rows. The caller frees it. */
static char *make_script(const struct schema *s)
{
    static const char *const types[] = { [COLUMN_TEXT] = "TEXT",
                                         [COLUMN_NUMBER] = "NUMERIC",
                                         [COLUMN_TIME] = "",
                                         [COLUMN_BOOLEAN] = "",
                                         [COLUMN_OTHERS] = "" };
    struct strings text = { 0 };
    char *script = NULL;
    size_t size;
    FILE *f = open_memstream(&script, &size);

    CHECK(f, "cannot write to memory");
    for (int t = 0; t < s->n_tables; t++) {
        const struct schema_table *table = &s->tables[t];
        fprintf(f, "CREATE TABLE %s (", sql_written_name(&text, table->name));
        for (int i = 0; i < table->n_columns; i++) {
            const struct schema_column *c = &s->columns[table->first_column + i];
            fprintf(f, "%s%s %s", i ? ", " : "", sql_written_name(&text, c->name), types[c->type]);
        }
        put_key(f, &text, s, table);
    }
    CHECK(fclose(f) == 0, "cannot write to memory");
    strings_release(&text);
    return script;
}

static bool runs(struct exec_db *db, const char *sql)
{
    struct exec_result r = exec_run(db, sql);
    bool good = r.status == EXEC_OK;

    exec_result_release(&r);
    return good;
}

/* Virtual tables cannot be created as empty tables. */
static bool has_virtual_tables(const struct schema *s)
{
    for (int t = 0; t < s->n_tables; t++)
        if (s->tables[t].form >= TABLE_VIRTUAL)
            return true;
    return false;
}

/* Runs the interpretations on empty tables. A schema that SQLite rejects, such as one with a duplicate column, decides
 * nothing. */
static int check_empty(bool *good, const struct ambiguity *a, const struct schema *altered, struct error *err)
{
    char *script = make_script(altered);
    struct error why = { 0 };
    struct exec_db *db = exec_open_script(script, &exec_limits_default, &why);

    free(script);
    if (!db && why.code != EXIT_CODE_DATA)
        return error_set(err, why.code, "%s", why.text);
    if (db && a->type == AMBIGUITY_DELETED)
        *good = !runs(db, a->record.original);
    else if (db)
        *good = runs(db, a->record.interpretations[0]) && runs(db, a->record.interpretations[1]);
    exec_close(db);
    return 0;
}

static void count_string(void *context, struct sql_expr *e, struct sql_core *core)
{
    (void)core;
    *(int *)context += e->kind == SQL_EXPR_STRING;
}

/* Counts the string literals of a statement, including double-quoted words that name nothing. Returns -1 if a name is
 * unknown. */
static int count_strings(const char *sql, const struct schema *s)
{
    struct sql_uses uses;
    struct arena arena;
    int n = 0;
    const struct sql_walker walker = { .context = &n, .expr = count_string };

    CHECK(arena_init(&arena, ARENA_BYTES, NULL) == 0, "no %d bytes of memory", ARENA_BYTES);
    struct sql_query *q = sql_parse(&arena, sql, NULL);
    if (!q || sql_resolve(&arena, q, s, &uses, NULL))
        n = -1;
    else
        sql_walk(&walker, q->select);
    arena_release(&arena);
    return n;
}

/* Returns true if both interpretations have as many string literals as the query. P is exempt: its second
 * interpretation drops a clause, and its names were checked when it was made. */
static bool keeps_strings(const struct ambiguity *a, const struct schema *s, const struct schema *altered)
{
    int n = a->record.type == SIA_AGGREGATE || a->type == AMBIGUITY_DELETED ? -1 : count_strings(a->record.original, s);

    for (int k = 0; k < 2 && n >= 0; k++)
        if (count_strings(a->record.interpretations[k], altered) != n)
            return false;
    return true;
}

/* Runs the second interpretation of J or P on the unaltered database. */
static void check_rows(enum ambiguity_fault *fault, const struct ambiguity *a, struct exec_db *db)
{
    struct exec_result query = exec_run(db, a->record.original), interpretation = exec_run(db, a->direct);

    if (query.status != EXEC_OK || interpretation.status != EXEC_OK)
        *fault = FAULT_FAILS;
    else if (a->record.type == SIA_JOIN && !match_rows(&query, &interpretation, false))
        *fault = FAULT_ROWS;
    exec_result_release(&query);
    exec_result_release(&interpretation);
}

/* Returns true if SQLite compiles the statement. LIMIT 0 avoids running it. */
static bool is_taken(struct exec_db *db, const char *sql)
{
    struct strings text = { 0 };
    bool good = runs(db, strings_printf(&text, "select * from (%s) limit 0", sql));

    strings_release(&text);
    return good;
}

static int check_database(enum ambiguity_fault *fault, const struct ambiguity *a, const char *path, struct error *err)
{
    struct exec_db *db = exec_open(path, &exec_limits_default, err);

    if (!db)
        return -1;
    if (a->direct)
        check_rows(fault, a, db);
    else if (!is_taken(db, a->record.original))
        *fault = FAULT_FAILS;
    exec_close(db);
    return 0;
}

int ambiguity_check(enum ambiguity_fault *fault, const struct ambiguity *a, const struct schema *s, const char *path,
                    struct error *err)
{
    struct schema altered;
    bool good = true;

    *fault = AMBIGUITY_FAULTS;
    if (a->type == AMBIGUITY_GIVEN)
        return 0;
    if (a->type != AMBIGUITY_DELETED && strcmp(a->record.interpretations[0], a->record.interpretations[1]) == 0) {
        *fault = FAULT_SAME;
        return 0;
    }
    make_altered(&altered, a, s);
    int rc = has_virtual_tables(s) ? 0 : check_empty(&good, a, &altered, err);
    if (!good)
        *fault = FAULT_FAILS;
    else if (rc == 0 && !keeps_strings(a, s, &altered))
        *fault = FAULT_NAME;
    else if (rc == 0 && path)
        rc = check_database(fault, a, path, err);
    schema_release(&altered);
    return rc;
}
