#include "data/sql/sql_resolve.h"

#include "data/sql/sql_lex.h"
#include "data/sql/sql_print.h"
#include "data/sql/sql_scope.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Runs a function that may fail without consequence. On failure, only names already made canonical remain changed. */
typedef int attempt_fn(struct sql_resolver *r, void *context);
static void attempt(struct sql_resolver *r, attempt_fn *fn, void *context);

/* --- Arena, errors, limits and uses --- */

const char *sql_clause_name(enum sql_clause c)
{
    static const char *const names[] = { "select", "from", "on", "where", "group", "having", "order", "limit" };
    return names[c];
}

void *sql_take(struct sql_resolver *r, size_t count, size_t size)
{
    size_t bytes = (count ? count : 1) * size, left = r->arena->size - r->arena->used;

    if (bytes + ARENA_ALIGN > left) {
        error_set(r->err, EXIT_CODE_MEMORY, "SQL needs %zu bytes of its arena, %zu are left", bytes, left);
        return NULL;
    }
    return memset(arena_alloc(r->arena, bytes), 0, bytes);
}

int sql_fail(struct sql_resolver *r, struct sql_span at, const char *fmt, ...)
{
    char what[900];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return sql_error(r->err, r->text, at.begin, ": %s", what);
}

int sql_deeper(struct sql_resolver *r, int by, struct sql_span at)
{
    r->depth += by;
    return r->depth > SQL_MAX_DEPTH ? sql_fail(r, at, "nested too deeply") : 0;
}

int sql_work(struct sql_resolver *r, int n, struct sql_span at)
{
    r->work += n;
    return r->work > SQL_MAX_WORK ? sql_fail(r, at, "too many names to compare") : 0;
}

int sql_use_add(struct sql_resolver *r, struct sql_use use)
{
    if (r->n_uses == SQL_MAX_USES)
        return sql_error(r->err, r->text, use.begin, ": more than %d uses of tables and columns", SQL_MAX_USES);
    GROW(r->uses, r->n_uses, r->uses_cap);
    r->uses[r->n_uses++] = use;
    return 0;
}

int sql_use_column(struct sql_resolver *r, int column, enum sql_clause clause, int level, struct sql_span at)
{
    if (column < 0)
        return 0;
    int table = r->schema->columns[column].table;
    return sql_use_add(r, (struct sql_use){ table, column, clause, level, at.begin, at.end });
}

/* Records the uses of a result again, for another clause. */
static int use_again(struct sql_resolver *r, const struct sql_result *result, enum sql_clause clause, int level,
                     struct sql_span at)
{
    for (int i = 0; i < result->n_uses; i++) {
        struct sql_use use = r->uses[result->first_use + i];
        use.depth += level - result->level;
        use.clause = use.depth == level ? clause : use.clause;
        use.begin = at.begin;
        use.end = at.end;
        if (sql_use_add(r, use))
            return -1;
    }
    return 0;
}

/* --- Windows ---
 * SQLite resolves a window of the WINDOW clause only when something uses it. */

static int resolve_bound(struct sql_resolver *r, struct sql_scope *s, struct sql_bound *b, enum sql_clause clause)
{
    return b->expr ? sql_resolve_expr(r, s, b->expr, clause) : 0;
}

/* Resolves a window, except its base. */
static int resolve_window(struct sql_resolver *r, struct sql_scope *s, struct sql_window *w, enum sql_clause clause)
{
    if (sql_resolve_list(r, s, w->partition, clause))
        return -1;
    for (struct sql_order *o = w->order; o; o = o->next)
        if (sql_resolve_expr(r, s, o->expr, clause))
            return -1;
    return resolve_bound(r, s, &w->start, clause) || resolve_bound(r, s, &w->end, clause) ? -1 : 0;
}

/* Returns the base of w among the windows before `end`, or NULL with an error. */
static struct sql_window *find_base(struct sql_resolver *r, const struct sql_scope *s, const struct sql_window *w,
                                    const struct sql_window *end)
{
    struct sql_window *base = s->core->windows;

    while (base != end && strcasecmp(base->name.text, w->base.text) != 0)
        base = base->next;
    if (base != end)
        return base;
    sql_fail(r, w->base.span, "no window %s", w->base.text);
    return NULL;
}

/* SQLite does not look up the base of the first window of a WINDOW clause. */
static bool has_base(const struct sql_scope *s, const struct sql_window *w)
{
    return w->base.text && w != s->core->windows;
}

/* Resolves each used window and its base once. */
static int use_window(struct sql_resolver *r, struct sql_scope *s, struct sql_window *w)
{
    while (w && !w->used) {
        w->used = true;
        if (resolve_window(r, s, w, SQL_SELECT))
            return -1;
        w = has_base(s, w) ? find_base(r, s, w, w) : NULL;
    }
    return 0;
}

/* Resolves OVER and the base windows. */
static int resolve_over(struct sql_resolver *r, struct sql_scope *s, struct sql_window *w, enum sql_clause clause)
{
    struct sql_window *base = w->base.text ? find_base(r, s, w, NULL) : NULL;

    return (w->base.text && !base) || use_window(r, s, base) ? -1 : resolve_window(r, s, w, clause);
}

struct unused_window {
    struct sql_scope *scope;
    struct sql_window *window;
};

static int resolve_unused_window(struct sql_resolver *r, void *context)
{
    const struct unused_window *u = context;
    return resolve_window(r, u->scope, u->window, SQL_SELECT);
}

/* Resolves the WINDOW clause after all clauses but ORDER BY. Unused windows may be invalid; valid ones are resolved for
 * their canonical names. */
static int resolve_windows(struct sql_resolver *r, struct sql_scope *s)
{
    for (struct sql_window *w = s->core->windows; w; w = w->next) {
        if (has_base(s, w) && !find_base(r, s, w, w))
            return -1;
        if (!w->used)
            attempt(r, resolve_unused_window, &(struct unused_window){ s, w });
    }
    return 0;
}

/* --- Names in expressions --- */

/* rowid, oid or _rowid_. */
static bool is_rowid(const char *name)
{
    return strcasecmp(name, "rowid") == 0 || strcasecmp(name, "oid") == 0 || strcasecmp(name, "_rowid_") == 0;
}

struct rowid_search {
    const struct sql_resolver *r;
    const struct sql_name *table;
    struct sql_source *found;
    int n;
};

/* CTEs and WITHOUT ROWID tables have no rowid. A group has one only if it is named by its alias. */
static bool may_have_rowid(const struct sql_resolver *r, const struct sql_source *s, const struct sql_name *table)
{
    if (s->cte || (s->table >= 0 && r->schema->tables[s->table].form == TABLE_WITHOUT_ROWID))
        return false;
    return table ? strcasecmp(sql_source_name(s), table->text) == 0 : s->kind != SQL_SOURCE_GROUP;
}

static void count_rowids(struct rowid_search *search, struct sql_source *list)
{
    for (struct sql_source *s = list; s; s = s->next)
        if (may_have_rowid(search->r, s, search->table)) {
            search->n++;
            search->found = s;
        }
}

/* Returns the only source in scope that can own a rowid, or NULL. SQLite gives even sub-queries a rowid. */
static struct sql_source *rowid_source(const struct sql_resolver *r, const struct sql_scope *s,
                                       const struct sql_expr *e)
{
    struct rowid_search search = { .r = r, .table = e->table };

    if (!is_rowid(e->name.text))
        return NULL;
    count_rowids(&search, s->core->from);
    return search.n == 1 ? search.found : NULL;
}

static bool find_rowid(const struct sql_resolver *r, const struct sql_scope *s, const struct sql_expr *e,
                       struct sql_match *m)
{
    const char *name = e->name.text;
    struct sql_source *source = rowid_source(r, s, e);

    *m = (struct sql_match){ .source = source, .column = { .name = name, .printed = name, .column = -1 }, .count = 1 };
    return source;
}

struct sql_result *sql_find_alias(const struct sql_core *core, const char *name)
{
    for (struct sql_result *result = core->results; result; result = result->next)
        if (result->alias.text && strcasecmp(result->alias.text, name) == 0)
            return result;
    return NULL;
}

void sql_settle_name(struct sql_name *n, const char *text)
{
    n->text = text;
    n->quote = sql_name_wants_quotes(text) ? '"' : 0;
}

static int settle_column(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, const struct sql_match *m,
                         enum sql_clause clause)
{
    e->source = m->source;
    e->column = m->column.column;
    sql_settle_name(&e->name, m->column.printed);
    if (e->table)
        sql_settle_name(e->table, sql_source_name(m->source));
    if (e->schema)
        sql_settle_name(e->schema, "main");
    if (e->column < 0 && m->source->table >= 0) /* rowid */
        return sql_use_add(r, (struct sql_use){ m->source->table, -1, clause, s->level, e->span.begin, e->span.end });
    return sql_use_column(r, e->column, clause, s->level, e->span);
}

static int ambiguous(struct sql_resolver *r, const struct sql_expr *e, const struct sql_match *m)
{
    const char *name = e->name.text, *a = sql_source_name(m->source), *b = sql_source_name(m->second);
    return sql_fail(r, e->span, "column %s is ambiguous: %s.%s or %s.%s", name, a, name, b, name);
}

/* The message lists the tables in scope, or the columns of the qualified table. */
static int unknown_column(struct sql_resolver *r, const struct sql_scope *scope, const struct sql_expr *e)
{
    char sources[400] = "", columns[500] = "";

    for (const struct sql_scope *s = scope; s; s = s->outer)
        sql_list_sources(sources, sizeof sources, s->core->from);
    if (!e->table)
        return sql_fail(r, e->span, "no column %s in %s", e->name.text, sources[0] ? sources : "a SELECT without FROM");
    for (const struct sql_scope *s = scope; s; s = s->outer) {
        const struct sql_source *table = sql_find_source(s->core->from, e->table->text, NULL);
        if (!table || e->schema)
            continue;
        for (int i = 0; i < sql_source_size(r, table) && strlen(columns) < sizeof columns - 1; i++)
            snprintf(columns + strlen(columns), sizeof columns - strlen(columns), "%s%s", i ? ", " : "",
                     sql_source_output(r, table, i).name);
        return sql_fail(r, e->span, "%s has no column %s; it has %s", e->table->text, e->name.text, columns);
    }
    return sql_fail(r, e->span, "no table or alias %s%s%s here; there are %s", e->schema ? e->schema->text : "",
                    e->schema ? "." : "", e->table->text, sources[0] ? sources : "none");
}

/* An unknown word may still be a string or a truth value. */
static bool become_literal(struct sql_expr *e)
{
    bool truth = strcasecmp(e->name.text, "true") == 0;

    if (e->table)
        return false;
    if (e->name.quote == '"') {
        e->kind = SQL_EXPR_STRING;
        e->text = e->name.text;
        return true;
    }
    if (e->name.quote || (!truth && strcasecmp(e->name.text, "false") != 0))
        return false;
    e->kind = SQL_EXPR_LITERAL;
    e->text = truth ? "TRUE" : "FALSE";
    return true;
}

/* Resolves a name to a column of this scope or an enclosing one, an alias or a string, and changes e accordingly. */
static int resolve_column(struct sql_resolver *r, struct sql_scope *scope, struct sql_expr *e, enum sql_clause clause)
{
    for (struct sql_scope *s = scope; s; s = s->outer) {
        struct sql_match m;
        sql_find_column(r, s->core->from, e->schema, e->table, e->name.text, &m);
        if (sql_work(r, 0, e->span))
            return -1;
        if (m.count > 1)
            return ambiguous(r, e, &m);
        if (m.count == 1 || find_rowid(r, s, e, &m))
            return settle_column(r, scope, e, &m, clause);
        struct sql_result *alias = s->aliases && !e->table ? sql_find_alias(s->core, e->name.text) : NULL;
        if (alias) {
            sql_settle_name(&e->name, alias->alias.text);
            return use_again(r, alias, clause, scope->level, e->span);
        }
    }
    return become_literal(e) ? 0 : unknown_column(r, scope, e);
}

int sql_resolve_list(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *list, enum sql_clause clause)
{
    for (struct sql_expr *e = list; e; e = e->next)
        if (sql_resolve_expr(r, s, e, clause))
            return -1;
    return 0;
}

struct single_column {
    struct sql_resolver *r;
    enum sql_clause clause;
    int level;
    struct sql_span span;
};

static int use_column_of(void *context, struct sql_output column)
{
    const struct single_column *c = context;
    return sql_use_column(c->r, column.column, c->clause, c->level, c->span);
}

/* x IN table is equivalent to x IN (SELECT * FROM table). */
static int resolve_in_table(struct sql_resolver *r, struct sql_scope *s, struct sql_source *source)
{
    struct single_column c = { r, SQL_SELECT, s->level + 1, source->span };

    if (sql_resolve_source(r, s, source, SQL_FROM, s->level + 1) || sql_resolve_list(r, s, source->arguments, SQL_FROM))
        return -1;
    return sql_each_column(r, source, NULL, use_column_of, &c) < 0 ? -1 : 0;
}

static int resolve_parts(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, enum sql_clause clause)
{
    struct sql_outputs outputs = { 0 };

    if ((e->left && sql_resolve_expr(r, s, e->left, clause)) ||
        (e->right && sql_resolve_expr(r, s, e->right, clause)) ||
        (e->third && sql_resolve_expr(r, s, e->third, clause)) || sql_resolve_list(r, s, e->list, clause))
        return -1;
    if ((e->filter && sql_resolve_expr(r, s, e->filter, clause)) || (e->over && resolve_over(r, s, e->over, clause)))
        return -1;
    if (e->kind == SQL_EXPR_IN && e->source)
        return resolve_in_table(r, s, e->source);
    return e->select ? sql_resolve_select(r, e->select, s, s->with, s->level + 1, NULL, &outputs) : 0;
}

int sql_resolve_expr(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, enum sql_clause clause)
{
    if (sql_deeper(r, 1, e->span))
        return -1;
    int rc = e->kind == SQL_EXPR_COLUMN ? resolve_column(r, s, e, clause) : resolve_parts(r, s, e, clause);
    r->depth--;
    return rc;
}

/* --- One SELECT: its results, and the clauses after FROM --- */

/* The outputs of a SELECT while its results are being resolved. */
struct output_builder {
    struct sql_resolver *r;
    const struct sql_scope *scope;
    struct sql_result *result;
    struct sql_output *list; /* on the heap */
    int n, cap;
};

static int add_output(struct output_builder *b, struct sql_output output)
{
    if (b->n == SQL_MAX_OUTPUTS)
        return sql_fail(b->r, b->scope->core->span, "more than %d columns", SQL_MAX_OUTPUTS);
    GROW(b->list, b->n, b->cap);
    b->list[b->n++] = output;
    return 0;
}

static int add_starred(void *context, struct sql_output column)
{
    struct output_builder *b = context;

    column.named = true;
    return add_output(b, column) || sql_use_column(b->r, column.column, SQL_SELECT, b->scope->level, b->result->span)
               ? -1
               : 0;
}

/* t.* also counts as a use of the table. */
static int use_starred_table(struct output_builder *b, struct sql_source *list)
{
    const struct sql_span at = b->result->span;
    const char *name = b->result->table.text;

    for (struct sql_source *s = sql_find_source(list, name, NULL); s; s = sql_find_source(list, name, s)) {
        struct sql_use use = { s->table, -1, SQL_SELECT, b->scope->level, at.begin, at.end };
        if (s->table >= 0 && sql_use_add(b->r, use))
            return -1;
        b->result->table.text = sql_source_name(s);
    }
    return 0;
}

static int resolve_star(struct output_builder *b)
{
    struct sql_core *core = b->scope->core;
    char sources[400] = "";

    if (!core->from)
        return sql_fail(b->r, b->result->span, "\"*\" without FROM");
    if (b->result->table.text && use_starred_table(b, core->from))
        return -1;
    int n = sql_each_column(b->r, core->from, b->result->table.text, add_starred, b);
    if (n != 0)
        return n < 0 ? -1 : 0;
    sql_list_sources(sources, sizeof sources, core->from);
    return sql_fail(b->r, b->result->span, "no table or alias %s here; there are %s", b->result->table.text, sources);
}

static char *keep_text(struct sql_resolver *r, const char *text, size_t n)
{
    char *kept = sql_take(r, n + 1, 1);
    return kept ? memcpy(kept, text, n) : NULL;
}

/* A double-quoted word that became a string still names its output. As a printed string it would lose that name. So it
 * gets an alias in sub-queries, whose outputs can be referenced. */
static void keep_word(struct sql_result *result, const struct sql_expr *e, int level)
{
    if (level == 0)
        return;
    result->alias = e->name;
    result->alias.next = NULL;
}

/* Names an output by its alias, its column or its source text. */
static int name_output(struct sql_resolver *r, struct sql_result *result, struct sql_output *out)
{
    const struct sql_span at = result->span;
    const struct sql_expr *e = result->expr;
    struct sql_printer p = { 0 };

    *out = (struct sql_output){ .name = result->alias.text, .named = result->alias.text };
    while (e->kind == SQL_EXPR_COLLATE)
        e = e->left;
    if (!out->name && e->kind == SQL_EXPR_STRING && e->name.text)
        keep_word(result, e, result->level);
    if (!out->name && (e->kind == SQL_EXPR_COLUMN || e->kind == SQL_EXPR_STRING))
        out->name = e->name.text;
    out->printed = out->name;
    out->column = e->kind == SQL_EXPR_COLUMN ? e->column : -1;
    if (out->name)
        return 0;
    sql_print_expr(&p, result->expr);
    out->name = keep_text(r, r->text + at.begin, (size_t)(at.end - at.begin));
    out->printed = out->name ? keep_text(r, p.text, p.n) : NULL;
    free(p.text);
    return out->printed ? 0 : -1;
}

static int resolve_result(struct output_builder *b, struct sql_scope *s)
{
    struct sql_result *result = b->result;
    struct sql_output output;
    int rc, before = b->n;

    result->first_use = b->r->n_uses;
    result->level = s->level;
    if (!result->expr) {
        rc = resolve_star(b);
    } else {
        rc = sql_resolve_expr(b->r, s, result->expr, SQL_SELECT);
        if (rc == 0)
            rc = name_output(b->r, result, &output) || add_output(b, output) ? -1 : 0;
    }
    result->n_uses = b->r->n_uses - result->first_use;
    result->n_outputs = b->n - before;
    return rc;
}

static int resolve_rows(struct output_builder *b, struct sql_scope *s)
{
    int width = 0;

    for (struct sql_expr *row = s->core->rows; row; row = row->next) {
        int n = 0;
        if (sql_resolve_list(b->r, s, row->list, SQL_SELECT))
            return -1;
        for (const struct sql_expr *e = row->list; e; e = e->next)
            n++;
        if (row != s->core->rows && n != width)
            return sql_fail(b->r, row->span, "expected a row of %d values, got %d", width, n);
        width = n;
    }
    for (int i = 0; i < width; i++) {
        char *name = sql_take(b->r, 24, 1);
        if (!name)
            return -1;
        snprintf(name, 24, "column%d", i + 1);
        if (add_output(b, (struct sql_output){ .name = name, .printed = name, .column = -1 }))
            return -1;
    }
    return 0;
}

static int resolve_outputs(struct sql_resolver *r, struct sql_scope *s, struct sql_outputs *out)
{
    struct output_builder b = { .r = r, .scope = s };
    int rc = s->core->rows ? resolve_rows(&b, s) : 0;

    for (b.result = s->core->results; b.result && rc == 0; b.result = b.result->next)
        rc = resolve_result(&b, s);
    out->list = rc ? NULL : sql_take(r, (size_t)b.n, sizeof *out->list);
    out->n = b.n;
    if (out->list)
        memcpy(out->list, b.list, (size_t)b.n * sizeof *b.list);
    free(b.list);
    return out->list ? 0 : -1;
}

/* SQLite reads at most 32 bits, with leading signs and in hexadecimal too. */
long sql_ordinal(const struct sql_expr *e)
{
    bool negative = false;
    char *end = NULL;

    for (; e->kind == SQL_EXPR_COLLATE || (e->kind == SQL_EXPR_UNARY && (e->op == SQL_PLUS || e->op == SQL_MINUS));
         e = e->left)
        negative ^= e->kind == SQL_EXPR_UNARY && e->op == SQL_MINUS;
    bool hex = e->kind == SQL_EXPR_LITERAL && e->text[0] == '0' && (e->text[1] | 0x20) == 'x';
    if (e->kind != SQL_EXPR_LITERAL || !isdigit((unsigned char)e->text[0]))
        return -1;
    long n = strtol(e->text, &end, hex ? 16 : 10);
    return *end || n > INT32_MAX ? -1 : negative ? 0 : n;
}

/* Records the uses of the n-th output in another clause. */
static int use_ordinal(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs, long n,
                       const struct sql_expr *e, enum sql_clause clause)
{
    const struct sql_result *result = s->core->results;

    if (sql_work(r, outputs->n, e->span))
        return -1;
    if (n < 1)
        return sql_fail(r, e->span, "expected a column from 1 to %d, got a number below 1", outputs->n);
    if (n > outputs->n)
        return sql_fail(r, e->span, "expected a column from 1 to %d, got %ld", outputs->n, n);
    for (long left = n; result && left > result->n_outputs; result = result->next)
        left -= result->n_outputs;
    if (!result || !result->expr)
        return sql_use_column(r, outputs->list[n - 1].column, clause, s->level, e->span);
    return use_again(r, result, clause, s->level, e->span);
}

/* GROUP BY and ORDER BY cannot see enclosing queries. */
static int resolve_group_by(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs)
{
    struct sql_scope own = *s;

    own.outer = NULL;
    for (struct sql_expr *e = s->core->group; e; e = e->next) {
        long n = sql_ordinal(e);
        if (n >= 0 ? use_ordinal(r, s, outputs, n, e, SQL_GROUP) : sql_resolve_expr(r, &own, e, SQL_GROUP))
            return -1;
    }
    return 0;
}

/* In ORDER BY, aliases and columns from a star take precedence over other columns of that name. */
static long find_named(const struct sql_outputs *outputs, const struct sql_expr *e)
{
    for (int i = 0; i < outputs->n && e->kind == SQL_EXPR_COLUMN && !e->table; i++)
        if (outputs->list[i].named && strcasecmp(outputs->list[i].name, e->name.text) == 0)
            return i + 1;
    return 0;
}

static int resolve_order_term(struct sql_resolver *r, struct sql_scope *s, const struct sql_outputs *outputs,
                              struct sql_expr *e)
{
    struct sql_expr *inner = e;
    long n = sql_ordinal(e);

    if (n >= 0)
        return use_ordinal(r, s, outputs, n, e, SQL_ORDER);
    while (inner->kind == SQL_EXPR_COLLATE)
        inner = inner->left;
    n = find_named(outputs, inner);
    if (sql_work(r, outputs->n, e->span))
        return -1;
    if (n == 0)
        return sql_resolve_expr(r, s, e, SQL_ORDER);
    sql_settle_name(&inner->name, outputs->list[n - 1].printed);
    return use_ordinal(r, s, outputs, n, inner, SQL_ORDER);
}

static int resolve_order(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs,
                         struct sql_order *order)
{
    struct sql_scope own = *s;

    own.outer = NULL;
    for (struct sql_order *o = order; o; o = o->next)
        if (resolve_order_term(r, &own, outputs, o->expr))
            return -1;
    return 0;
}

/* Resolves one core, but not its ORDER BY. */
static int resolve_core(struct sql_resolver *r, struct sql_scope *s, struct sql_outputs *out)
{
    struct sql_core *core = s->core;

    if (sql_resolve_tables(r, s) || resolve_outputs(r, s, out))
        return -1;
    s->aliases = true;
    if (sql_resolve_conditions(r, s) || (core->where && sql_resolve_expr(r, s, core->where, SQL_WHERE)) ||
        resolve_group_by(r, s, out) || (core->having && sql_resolve_expr(r, s, core->having, SQL_HAVING)))
        return -1;
    return resolve_windows(r, s);
}

/* --- Set operations, CTEs and the whole statement --- */

/* Returns whether a column is the rowid of its table: by a rowid name, or as the only primary key, of a number. */
static bool is_row_number(const struct sql_resolver *r, const struct sql_expr *e)
{
    if (e->column < 0)
        return is_rowid(e->name.text);
    const struct schema_column *own = &r->schema->columns[e->column];
    const struct schema_table *t = &r->schema->tables[own->table];
    int keys = 0;
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        keys += r->schema->columns[c].primary;
    return own->primary && keys == 1 && own->type == COLUMN_NUMBER;
}

/* Returns the result of one core, from 1, that an ORDER BY term of a set operation names; 0 if none. */
static long find_in_core(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs,
                         const struct sql_expr *e)
{
    struct sql_match m = { 0 };
    long i = 1;

    for (int o = 0; o < outputs->n && !e->table; o++)
        if (strcasecmp(outputs->list[o].name, e->name.text) == 0)
            return o + 1;
    sql_find_column(r, s->core->from, e->schema, e->table, e->name.text, &m);
    const struct sql_source *rows = m.count ? NULL : rowid_source(r, s, e);
    for (const struct sql_result *result = s->core->results; result && result->expr; result = result->next, i++) {
        const struct sql_expr *x = result->expr;
        if (x->kind != SQL_EXPR_COLUMN || !x->source)
            continue;
        if (rows ? x->source == rows && is_row_number(r, x)
                 : m.count == 1 && x->source == m.source && strcasecmp(x->name.text, m.column.name) == 0)
            return i;
    }
    return 0;
}

/* A SELECT while its cores are being resolved. */
struct compound {
    struct sql_resolver *r;
    struct sql_scope *scopes; /* of the cores */
    struct sql_outputs *outputs;
    int n;
};

/* An expression must resolve in one of the cores. The error of the first core is reported. */
static int resolve_compound_expr(const struct compound *c, struct sql_expr *e)
{
    struct error *err = c->r->err, ignored = { 0 };
    int depth = c->r->depth, rc = -1;

    for (int i = 0; i < c->n && rc; i++) {
        struct sql_scope own = c->scopes[i];
        own.outer = NULL;
        c->r->err = i ? &ignored : err;
        c->r->depth = depth;
        rc = sql_resolve_expr(c->r, &own, e, SQL_ORDER);
    }
    c->r->err = err;
    return rc;
}

static int resolve_compound_term(struct compound *c, struct sql_expr *e)
{
    struct sql_expr *inner = e;
    long n = sql_ordinal(e);

    while (inner->kind == SQL_EXPR_COLLATE)
        inner = inner->left;
    if (n < 0 && inner->kind != SQL_EXPR_COLUMN)
        return resolve_compound_expr(c, e);
    for (int i = 0; i < c->n && n < 0; i++) {
        if (sql_work(c->r, c->outputs[i].n, inner->span))
            return -1;
        long found = find_in_core(c->r, &c->scopes[i], &c->outputs[i], inner);
        if (found && !inner->table)
            sql_settle_name(&inner->name, c->outputs[i].list[found - 1].printed);
        n = found ? found : n;
    }
    if (n < 0)
        return sql_fail(c->r, inner->span, "expected a column of the set operation, got %s", inner->name.text);
    for (int i = 0; i < c->n; i++)
        if (use_ordinal(c->r, &c->scopes[i], &c->outputs[i], n, inner, SQL_ORDER))
            return -1;
    return 0;
}

/* LIMIT cannot see columns. */
static int resolve_limit(struct sql_resolver *r, const struct sql_scope *s, const struct sql_tail *t)
{
    struct sql_core nothing = { 0 };
    struct sql_scope alone = { .core = &nothing, .with = s->with, .level = s->level };

    if (t->limit && sql_resolve_expr(r, &alone, t->limit, SQL_LIMIT))
        return -1;
    return t->offset ? sql_resolve_expr(r, &alone, t->offset, SQL_LIMIT) : 0;
}

static int resolve_tail(struct compound *c, const struct sql_tail *t)
{
    if (c->n == 1 && resolve_order(c->r, c->scopes, c->outputs, t->order))
        return -1;
    for (struct sql_order *o = t->order; o && c->n > 1; o = o->next)
        if (resolve_compound_term(c, o->expr))
            return -1;
    return resolve_limit(c->r, c->scopes, t);
}

static int resolve_one_core(struct compound *c, int i, struct sql_cte *cte)
{
    struct sql_scope *s = &c->scopes[i];
    struct compound alone = { c->r, s, &c->outputs[i], 1 };

    if (resolve_core(c->r, s, &c->outputs[i]))
        return -1;
    if (c->outputs[i].n != c->outputs[0].n)
        return sql_fail(c->r, s->core->span, "set operation: expected SELECTs of %d columns, got %d", c->outputs[0].n,
                        c->outputs[i].n);
    if (i == 0 && cte && sql_publish_cte(c->r, cte, c->outputs))
        return -1;
    return resolve_tail(&alone, &s->core->tail);
}

static int resolve_cores(struct sql_resolver *r, struct sql_select *select, const struct sql_scope *model,
                         struct sql_cte *cte, struct sql_outputs *outputs)
{
    struct compound c = { .r = r };
    struct sql_core *core;
    int n = 0;

    for (core = select->cores; core; core = core->next)
        n++;
    c.scopes = sql_take(r, (size_t)n, sizeof *c.scopes);
    c.outputs = c.scopes ? sql_take(r, (size_t)n, sizeof *c.outputs) : NULL;
    if (!c.outputs)
        return -1;
    for (core = select->cores; core; core = core->next, c.n++) {
        c.scopes[c.n] = *model;
        c.scopes[c.n].core = core;
        if (resolve_one_core(&c, c.n, cte))
            return -1;
    }
    *outputs = c.outputs[0];
    return resolve_tail(&c, &select->tail);
}

static void attempt(struct sql_resolver *r, attempt_fn *fn, void *context)
{
    struct error *err = r->err, ignored = { 0 };
    int depth = r->depth, n_uses = r->n_uses;

    r->err = &ignored;
    if (fn(r, context)) {
        r->depth = depth;
        r->n_uses = n_uses;
    }
    r->err = err;
}

struct unused_cte {
    const struct sql_with *with;
    struct sql_cte *cte;
};

static int resolve_unused(struct sql_resolver *r, void *context)
{
    const struct unused_cte *u = context;
    return sql_resolve_cte(r, u->with, u->cte);
}

int sql_resolve_select(struct sql_resolver *r, struct sql_select *select, struct sql_scope *outer,
                       const struct sql_with *with, int level, struct sql_cte *cte, struct sql_outputs *outputs)
{
    const struct sql_with own = { select->ctes, with, outer, level };
    const struct sql_scope model = { .outer = outer, .with = &own, .level = level };

    if (sql_deeper(r, SQL_SELECT_DEPTH, select->span))
        return -1;
    if (resolve_cores(r, select, &model, cte, outputs))
        return -1;
    /* SQLite resolves a CTE only when it is used, so an unused one may be invalid. Valid ones are resolved for their
     * canonical names. */
    for (struct sql_cte *c = select->ctes; c; c = c->next)
        attempt(r, resolve_unused, &(struct unused_cte){ &own, c });
    r->depth -= SQL_SELECT_DEPTH;
    return 0;
}

static int compare_uses(const void *left, const void *right)
{
    const struct sql_use *a = left, *b = right;
    const int keys[][2] = { { a->begin, b->begin }, { a->end, b->end },       { a->depth, b->depth },
                            { a->table, b->table }, { a->column, b->column }, { (int)a->clause, (int)b->clause } };
    for (int i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Copies the uses to the arena, sorted by position, without duplicates. */
static int keep_uses(struct sql_resolver *r, struct sql_uses *uses)
{
    int n = 0;

    if (r->n_uses)
        qsort(r->uses, (size_t)r->n_uses, sizeof *r->uses, compare_uses);
    for (int i = 0; i < r->n_uses; i++)
        if (n == 0 || compare_uses(&r->uses[i], &r->uses[n - 1]) != 0)
            r->uses[n++] = r->uses[i];
    uses->list = sql_take(r, (size_t)n, sizeof *uses->list);
    if (!uses->list)
        return -1;
    if (n)
        memcpy(uses->list, r->uses, (size_t)n * sizeof *r->uses);
    uses->n = n;
    return 0;
}

int sql_resolve(struct arena *a, struct sql_query *q, const struct schema *s, struct sql_uses *uses, struct error *err)
{
    struct error ignored = { 0 };
    struct sql_resolver r = { .arena = a, .text = q->text, .schema = s, .err = err ? err : &ignored };
    struct sql_outputs outputs = { 0 };

    *uses = (struct sql_uses){ 0 };
    int rc = sql_resolve_select(&r, q->select, NULL, NULL, 0, NULL, &outputs);
    if (rc == 0)
        rc = keep_uses(&r, uses);
    free(r.uses);
    return rc;
}
