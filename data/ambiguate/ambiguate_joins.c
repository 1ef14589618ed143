/* Part of ambiguate.h: kind J: one of several selected columns also stands in a table of its own, beside the primary
 * key. */
#include "data/ambiguate/ambiguate_impl.h"
#include "data/sql/sql_lex.h"

#include <stdlib.h>
#include <string.h>

/* The columns of the table among the words before its name, FROM too, but for its key; how many. */
static int candidates(int *columns, const struct ambiguate_question *q, int from, int table, const char *key)
{
    int n = 0;
    for (int i = 0; i <= from; i++) {
        int c = ambiguity_column(q->schema, table, q->words.items[i]);
        bool known = c < 0 || strcmp(q->schema->columns[c].name, key) == 0;
        for (int k = 0; k < n && !known; k++)
            known = columns[k] == c;
        if (!known)
            columns[n++] = c;
    }
    return n;
}

/* In every part of the query, nested ones too, the table becomes a join of both. */
static const char *join_both(struct ambiguities *out, const struct ambiguate_question *q, int table, int column,
                             const char *key)
{
    const char *t = q->schema->tables[table].name, *split = q->schema->columns[column].name;
    const char *join = strings_printf(&out->text, "%s as t1 join %s_%s as t2 on t1.%s = t2.%s", t, t, split, key, key);
    const char **words = xmalloc((size_t)q->words.n * sizeof *words);

    for (int i = 0; i < q->words.n; i++) {
        const char *word = q->words.items[i];
        int c = ambiguity_column(q->schema, table, word);
        if (strcmp(word, t) == 0)
            words[i] = join;
        else if (c >= 0)
            words[i] = strings_printf(&out->text, "t%d.%s", c == column ? 2 : 1, word);
        else
            words[i] = word;
    }
    const char *sql = ambiguity_join(out, words, q->words.n);
    free(words);
    return sql;
}

static void add_record(struct ambiguities *out, const struct ambiguate_question *q, int table, int column,
                       const char *key)
{
    struct ambiguity *a = ambiguity_add(out, q, SIA_JOIN);
    struct ambiqt_record *r = &a->record;

    r->table = strings_keep(&out->text, q->schema->tables[table].name);
    r->column = strings_keep(&out->text, q->schema->columns[column].name);
    r->key = strings_keep(&out->text, key);
    r->new_table = strings_printf(&out->text, "%s_%s", r->table, r->column);
    r->readings[1] = join_both(out, q, table, column, key);
}

void ambiguate_joins(struct ambiguities *out, const struct ambiguate_question *q)
{
    int from = ambiqt_words_find(&q->words, "from");

    if (ambiqt_words_find(&q->words, "join") >= 0 || from < 0 || from + 1 >= q->words.n)
        return;
    int table = ambiguity_table(q->schema, q->words.items[from + 1]);
    const char *key = table < 0 ? NULL : ambiguity_key(q->schema, table);
    if (!key)
        return;
    int *columns = xmalloc((size_t)(from + 1) * sizeof *columns), n = candidates(columns, q, from, table, key);
    for (int i = 0; i < n && n >= 2; i++)
        add_record(out, q, table, columns[i], key);
    free(columns);
}

/* A place where the query reads the table that is split. */
struct split_site {
    const struct sql_source *source;
    const struct sql_core *core;
    int number; /* t1, t2 for 1; t3, t4 for 3 */
};

/* A column of the table, and the SELECT in which it stands. */
struct split_use {
    const struct sql_expr *expr;
    const struct sql_core *core;
    int site;
};

struct splitting {
    struct resolved_query r;
    int table, key, column;
    struct split_site *sites;
    struct split_use *uses;
    int n_sites, sites_cap, n_uses, uses_cap;
    bool bad; /* the table stands in a join or under a star */
};

static void find_site(void *context, struct sql_source *s, struct sql_core *core)
{
    struct splitting *p = context;

    if (!resolved_source_is(s, p->table))
        return;
    p->bad = p->bad || !core || core->from != s || s->next || s->indexed != SQL_INDEX_ANY;
    for (const struct sql_result *r = core ? core->results : NULL; r; r = r->next)
        p->bad = p->bad || !r->expr;
    GROW(p->sites, p->n_sites, p->sites_cap);
    p->sites[p->n_sites++] = (struct split_site){ s, core, 1 };
}

/* In ORDER BY of a compound the names are those of the results. */
static void find_use(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct splitting *p = context;

    for (int i = 0; core && e->kind == SQL_EXPR_COLUMN && i < p->n_sites; i++)
        if (e->source == p->sites[i].source) {
            GROW(p->uses, p->n_uses, p->uses_cap);
            p->uses[p->n_uses++] = (struct split_use){ e, core, i };
        }
}

/* A SELECT within another may mean the outer one's rows: their aliases are then distinct. */
static bool is_correlated(const struct splitting *p)
{
    for (int i = 0; i < p->n_uses; i++)
        if (p->uses[i].core != p->sites[p->uses[i].site].core)
            return true;
    return false;
}

static struct sql_span site_span(const struct sql_source *s)
{
    int begin = s->schema.text ? s->schema.span.begin : s->name.span.begin;
    return (struct sql_span){ begin, s->alias.text ? s->alias.span.end : s->name.span.end };
}

/* Whether the token is rewritten. */
static bool is_rewritten(const struct splitting *p, const struct sql_token *t)
{
    for (int i = 0; i < p->n_sites; i++) {
        struct sql_span at = site_span(p->sites[i].source);
        if (t->begin >= at.begin && t->end <= at.end)
            return true;
    }
    for (int i = 0; i < p->n_uses; i++)
        if (t->begin >= p->uses[i].expr->span.begin && t->end <= p->uses[i].expr->span.end)
            return true;
    return false;
}

/* The greatest number N of a word tN that stays in the query. */
static int last_alias(const struct splitting *p)
{
    const char *sql = p->r.q->sql;
    int n, last = 0;
    struct sql_token *tokens = sql_lex(sql, &n);

    for (int i = 0; i < n; i++) {
        const char *name = sql + tokens[i].begin + (strchr("\"`[", sql[tokens[i].begin]) != NULL);
        int number = tokens[i].kind == TOKEN_NAME && (*name | 32) == 't' ? (int)strtol(name + 1, NULL, 10) : 0;
        if (number > last && number < 1000 && !is_rewritten(p, &tokens[i]))
            last = number;
    }
    free(tokens);
    return last;
}

static void number_sites(struct splitting *p)
{
    bool correlated = is_correlated(p);
    int next = last_alias(p) + 1;

    for (int i = 0; i < p->n_sites; i++) {
        p->sites[i].number = next;
        next += correlated ? 2 : 0;
    }
}

/* Exchanges a table for the join of itself and the new table by the key. */
static void join_site(const struct splitting *p, struct sql_edits *edits, const struct split_site *site,
                      const char *new_table)
{
    const struct sql_source *s = site->source;
    const struct schema *schema = p->r.q->schema;
    const char *key = sql_written_name(&edits->text, schema->columns[p->key].name);
    int begin = site_span(s).begin, one = site->number, two = one + 1;

    sql_edits_add(edits, site_span(s),
                  strings_printf(&edits->text, "%.*s as t%d join %s as t%d on t%d.%s = t%d.%s",
                                 s->name.span.end - begin, edits->sql + begin, one, new_table, two, one, key, two,
                                 key));
}

/* The query that reads the column from the new table, which may be a SELECT in parentheses. */
static const char *join_new_table(const struct splitting *p, const char *new_table)
{
    struct sql_edits edits = { .sql = p->r.q->sql };

    for (int i = 0; i < p->n_sites; i++)
        join_site(p, &edits, &p->sites[i], new_table);
    for (int i = 0; i < p->n_uses; i++) {
        const struct sql_expr *e = p->uses[i].expr;
        int number = p->sites[p->uses[i].site].number + (e->column == p->column);
        sql_edits_add(&edits, e->span,
                      strings_printf(&edits.text, "t%d.%.*s", number, e->name.span.end - e->name.span.begin,
                                     edits.sql + e->name.span.begin));
    }
    const char *kept = ambiguity_take(p->r.out, sql_edits_all(&edits));
    sql_edits_release(&edits);
    return kept;
}

static void add_split(struct splitting *p)
{
    const struct schema *s = p->r.q->schema;
    struct strings *text = &p->r.out->text;
    const char *table = s->tables[p->table].name, *column = s->columns[p->column].name;
    const char *new_table = strings_printf(text, "%s_%s", table, column);

    if (schema_table_find(s, new_table) >= 0 || resolved_query_says(&p->r, new_table)) {
        ambiguity_leave_out(p->r.out, FAULT_NAME);
        return;
    }
    struct ambiguity *a = ambiguity_add(p->r.out, p->r.q, SIA_JOIN);
    a->record.table = strings_keep(text, table);
    a->record.column = strings_keep(text, column);
    a->record.key = strings_keep(text, s->columns[p->key].name);
    a->record.new_table = new_table;
    a->record.readings[1] = join_new_table(p, sql_written_name(text, new_table));
    a->stored_rows = strings_printf(text, "select distinct %s, %s from %s", sql_written_name(text, a->record.key),
                                    sql_written_name(text, column), sql_written_name(text, table));
    a->direct = join_new_table(p, strings_printf(text, "(%s)", a->stored_rows));
}

/* The only column of the table's primary key, or -1. */
static int single_key(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];
    int key = -1, n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].primary) {
            key = c;
            n++;
        }
    return n == 1 ? key : -1;
}

/* Distinct columns of the table that the outermost SELECT shows, but for its key; how many. */
static int shown_columns(int *columns, const struct splitting *p)
{
    int n = 0;

    for (int i = 0; i < p->r.uses.n; i++) {
        const struct sql_use *u = &p->r.uses.list[i];
        bool known =
            u->table != p->table || u->column < 0 || u->column == p->key || u->clause != SQL_SELECT || u->depth;
        for (int k = 0; k < n && !known; k++)
            known = columns[k] == u->column;
        if (!known)
            columns[n++] = u->column;
    }
    return n;
}

static void split_columns(struct splitting *p, const int *columns, int n)
{
    const struct sql_walker sites = { .context = p, .source = find_site }, uses = { .context = p, .expr = find_use };

    if (p->key >= 0) {
        sql_walk(&sites, p->r.query->select);
        sql_walk(&uses, p->r.query->select);
        number_sites(p);
    }
    for (int i = 0; i < n; i++) {
        p->column = columns[i];
        if (p->key < 0 || p->bad)
            ambiguity_leave_out(p->r.out, p->key < 0 ? FAULT_KEY : FAULT_FORM);
        else
            add_split(p);
    }
    free(p->sites);
    free(p->uses);
}

void resolved_joins(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct splitting p = { 0 };

    if (resolved_query_init(&p.r, out, q) == 0) {
        const struct sql_source *from = p.r.query->select->cores->from;
        if (from && !from->next && from->kind == SQL_SOURCE_TABLE && !from->cte && from->table >= 0) {
            p.table = from->table;
            p.key = single_key(q->schema, p.table);
            int *columns = xmalloc(((size_t)q->schema->tables[p.table].n_columns + 1) * sizeof *columns);
            int n = shown_columns(columns, &p);
            if (n >= 2)
                split_columns(&p, columns, n);
            free(columns);
        }
    }
    resolved_query_release(&p.r);
}
