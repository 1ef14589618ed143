#include "data/clarify/repair.h"

#include "data/schema/element_name.h"
#include "data/span/spoken.h"
#include "data/span/value_match.h"
#include "data/synth/sql_edit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SOURCES_MAX = 32, PASSES = 3, CONDITIONS_MAX = 16 };
#define NAME_LEAST 0.55 /* minimum similarity of a replaced name */

/* A table of a FROM clause. */
struct scope_table {
    const struct sql_source *source;
    struct sql_core *core;
    int table; /* -1: unknown, a sub-query or a CTE */
};

struct repairing {
    const struct schema *s;
    struct exec_db *db;
    struct arena *scratch;
    struct strings *words;
    struct sql_edits edits;
    const char *change;
    struct scope_table tables[SOURCES_MAX];
    int n_tables;
    bool opaque;           /* there are sub-queries or CTEs, whose columns are not known */
    struct strings named;  /* aliases of results, and names of CTEs */
    struct sql_core *core; /* of the fault */
};

/* --- Names --- */

static double likeness(const char *a, const char *b)
{
    struct element_name x, y;

    element_name_read(&x, a);
    element_name_read(&y, b);
    struct name_similarity n = element_name_compare(&x, &y);
    double best = n.trigrams > n.edit ? n.trigrams : n.edit;
    best = n.same_set > best ? n.same_set : best;
    best = n.contains * 0.7 > best ? n.contains * 0.7 : best;
    return fmax(best, 0.8 * spoken_ratio(a, b)); /* swapped letters have no common trigram */
}

/* Part of sql_walker. */
static void collect_source(void *context, struct sql_source *source, struct sql_core *core)
{
    struct repairing *r = context;
    bool known = source->kind == SQL_SOURCE_TABLE && strings_find(&r->named, source->name.text) < 0;

    if (source->kind == SQL_SOURCE_GROUP)
        return;
    r->opaque = r->opaque || !known || r->n_tables == SOURCES_MAX;
    if (r->n_tables < SOURCES_MAX)
        r->tables[r->n_tables++] =
            (struct scope_table){ source, core, known ? schema_table_find(r->s, source->name.text) : -1 };
}

/* Part of sql_walker. */
static void collect_cte(void *context, struct sql_cte *c)
{
    strings_add(&((struct repairing *)context)->named, c->name.text);
}

/* Part of sql_walker. */
static void collect_aliases(void *context, struct sql_core *core, struct sql_select *select)
{
    (void)select;
    for (const struct sql_result *x = core->results; x; x = x->next)
        if (x->alias.text)
            strings_add(&((struct repairing *)context)->named, x->alias.text);
}

static const char *name_of(const struct sql_source *s)
{
    return s->alias.text ? s->alias.text : s->name.text;
}

/* The table with that name or alias, first of the same SELECT; NULL: none. */
static const struct scope_table *find_table(const struct repairing *r, const char *name, const struct sql_core *core)
{
    const struct scope_table *found = NULL;

    for (int i = 0; i < r->n_tables; i++) {
        const char *own = name_of(r->tables[i].source);
        if (own && strcasecmp(own, name) == 0 && (!found || r->tables[i].core == core))
            found = &r->tables[i];
    }
    return found;
}

/* Tables of the SELECT of the fault, `preferred` first. */
static int tables_here(const struct scope_table **list, const struct repairing *r, const struct scope_table *preferred)
{
    int n = 0;

    if (preferred)
        list[n++] = preferred;
    for (int i = 0; i < r->n_tables; i++)
        if (r->tables[i].core == r->core && r->tables[i].table >= 0 && &r->tables[i] != preferred)
            list[n++] = &r->tables[i];
    return n;
}

static void set_change(struct repairing *r, const char *text)
{
    r->change = r->change ? strings_printf(r->words, "%s, and %s", r->change, text) : text;
}

static const char *table_name(const struct repairing *r, int table)
{
    return r->s->tables[table].name;
}

/* Replaces a column by one of a table in the FROM clause. */
static void use_column(struct repairing *r, const struct sql_expr *e, const struct scope_table *t, int column)
{
    const char *name = r->s->columns[column].name;
    struct sql_span span = { e->table ? e->table->span.begin : e->name.span.begin, e->name.span.end };
    const char *written = sql_written_name(r->words, name);

    if (e->table || r->core->from->next)
        written = strings_printf(r->words, "%s.%s", sql_written_name(r->words, name_of(t->source)), written);
    sql_edits_add(&r->edits, span, written);
    set_change(r, strings_printf(r->words, "the column %s was replaced by %s of %s", e->name.text, name,
                                 table_name(r, t->table)));
}

static bool use_same_name(struct repairing *r, const struct sql_expr *e, const struct scope_table **list, int n)
{
    for (int i = 0; i < n; i++) {
        int column = schema_column_find(r->s, list[i]->table, e->name.text);
        if (column < 0)
            continue;
        use_column(r, e, list[i], column);
        return true;
    }
    return false;
}

static bool use_nearest_name(struct repairing *r, const struct sql_expr *e, const struct scope_table **list, int n)
{
    const struct scope_table *table = NULL;
    double most = NAME_LEAST;
    int best = -1;

    for (int i = 0; i < n; i++) {
        const struct schema_table *t = &r->s->tables[list[i]->table];
        for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
            double like = likeness(e->name.text, r->s->columns[c].name);
            if (like > most) {
                most = like;
                best = c;
                table = list[i];
            }
        }
    }
    if (best >= 0)
        use_column(r, e, table, best);
    return best >= 0;
}

/* The only foreign key between two tables, as columns of a and of b.  Returns false if there is none or are several. */
static bool foreign_key(const struct schema *s, int a, int b, int *of_a, int *of_b)
{
    int found = 0;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = &s->foreign_keys[i];
        int from = s->columns[k->from].table, to = s->columns[k->to].table;
        if ((from != a || to != b) && (from != b || to != a))
            continue;
        found++;
        *of_a = from == a ? k->from : k->to;
        *of_b = from == a ? k->to : k->from;
    }
    return found == 1 && a != b;
}

static int end_of_from(const struct sql_core *core)
{
    int end = 0;

    for (const struct sql_source *s = core->from; s; s = s->next) {
        end = s->span.end > end ? s->span.end : end;
        end = s->on && s->on->span.end > end ? s->on->span.end : end;
        for (const struct sql_name *n = s->columns; n; n = n->next)
            end = n->span.end + 1 > end ? n->span.end + 1 : end; /* the parenthesis of USING */
    }
    return end;
}

static const char *equality(struct repairing *r, const char *a, int of_a, const char *b, int of_b)
{
    struct strings *w = r->words;
    return strings_printf(w, "%s.%s = %s.%s", sql_written_name(w, a), sql_written_name(w, r->s->columns[of_a].name),
                          sql_written_name(w, b), sql_written_name(w, r->s->columns[of_b].name));
}

/* Joins table `other` to one of the FROM clause.  Returns false if no foreign key connects them. */
static bool join_table(struct repairing *r, int other, const struct scope_table **list, int n)
{
    int own = -1, its = -1, end = end_of_from(r->core);

    for (int i = 0; i < n; i++) {
        if (!foreign_key(r->s, list[i]->table, other, &own, &its))
            continue;
        sql_edits_add(&r->edits, (struct sql_span){ end, end },
                      strings_printf(r->words, " JOIN %s ON %s", sql_written_name(r->words, table_name(r, other)),
                                     equality(r, name_of(list[i]->source), own, table_name(r, other), its)));
        set_change(
            r, strings_printf(r->words, "%s was joined to %s", table_name(r, other), table_name(r, list[i]->table)));
        return true;
    }
    return false;
}

/* Takes the column from a table that is not in the FROM clause. */
static bool use_other_table(struct repairing *r, const struct sql_expr *e, const struct scope_table **list, int n)
{
    for (int t = 0; t < r->s->n_tables; t++) {
        int column = schema_column_find(r->s, t, e->name.text);
        if (column < 0 || !join_table(r, t, list, n))
            continue;
        struct sql_span span = { e->table ? e->table->span.begin : e->name.span.begin, e->name.span.end };
        sql_edits_add(&r->edits, span,
                      strings_printf(r->words, "%s.%s", sql_written_name(r->words, table_name(r, t)),
                                     sql_written_name(r->words, r->s->columns[column].name)));
        return true;
    }
    return false;
}

/* Whether a column exists as far as the FROM clauses tell. */
static bool column_is_known(const struct repairing *r, const struct sql_expr *e, const struct scope_table **table)
{
    *table = e->table ? find_table(r, e->table->text, r->core) : NULL;
    if (e->table)
        return *table && ((*table)->table < 0 || schema_column_find(r->s, (*table)->table, e->name.text) >= 0);
    if (r->opaque || strings_find(&r->named, e->name.text) >= 0 || e->name.quote == '"' ||
        strcasecmp(e->name.text, "rowid") == 0)
        return true;
    for (int i = 0; i < r->n_tables; i++)
        if (r->tables[i].table < 0 || schema_column_find(r->s, r->tables[i].table, e->name.text) >= 0)
            return true;
    return false;
}

/* Repairs a column that does not exist.  Part of sql_walker; only the first fault is repaired in a pass. */
static void repair_column(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct repairing *r = context;
    const struct scope_table *list[SOURCES_MAX + 1], *own;

    r->core = core;
    if (e->kind != SQL_EXPR_COLUMN || !core || r->edits.n || column_is_known(r, e, &own))
        return;
    int n = tables_here(list, r, own);
    int missing = !own && e->table ? schema_table_find(r->s, e->table->text) : -1;
    if (missing >= 0) /* a table that FROM lacks */
        (void)join_table(r, missing, list, n);
    else if (!use_same_name(r, e, list, n) && !use_nearest_name(r, e, list, n))
        (void)use_other_table(r, e, list, n);
}

static void repair_table(struct repairing *r, const struct scope_table *t)
{
    double most = NAME_LEAST;
    int best = -1;

    for (int i = 0; i < r->s->n_tables; i++) {
        double like = likeness(t->source->name.text, table_name(r, i));
        best = like > most ? i : best;
        most = like > most ? like : most;
    }
    if (best < 0)
        return;
    sql_edits_name(&r->edits, t->source->name.span, table_name(r, best));
    set_change(r,
               strings_printf(r->words, "the table %s was replaced by %s", t->source->name.text, table_name(r, best)));
}

static void forget(struct repairing *r)
{
    sql_edits_release(&r->edits);
    strings_release(&r->named);
    r->n_tables = 0;
    r->opaque = false;
    r->edits = (struct sql_edits){ 0 };
}

/* The statement with the edits so far; words own it.  NULL without edits. */
static const char *edited(struct repairing *r)
{
    if (!r->edits.n)
        return NULL;
    char *text = sql_edits_all(&r->edits);
    const char *kept = strings_keep(r->words, text);
    free(text);
    return kept;
}

/* Repairs the first name that does not exist.  Returns the new statement or NULL. */
static const char *repair_name(struct repairing *r, const char *sql)
{
    const struct sql_walker names = { .context = r, .cte = collect_cte, .core = collect_aliases };
    const struct sql_walker sources = { .context = r, .source = collect_source };
    const struct sql_walker columns = { .context = r, .expr = repair_column };
    struct error why;
    struct sql_query *q = sql_parse(r->scratch, sql, &why);

    if (!q)
        return NULL;
    r->edits = (struct sql_edits){ .sql = sql };
    sql_walk(&names, q->select);
    sql_walk(&sources, q->select);
    for (int i = 0; i < r->n_tables && !r->edits.n; i++)
        if (r->tables[i].table < 0 && r->tables[i].source->kind == SQL_SOURCE_TABLE &&
            strings_find(&r->named, r->tables[i].source->name.text) < 0)
            repair_table(r, &r->tables[i]);
    if (!r->edits.n)
        sql_walk(&columns, q->select);
    const char *text = edited(r);
    forget(r);
    return text;
}

/* --- Values and joins --- */

/* A column that is compared with a text. */
struct value_condition {
    const struct sql_expr *column, *value;
};

struct conditions {
    struct value_condition list[CONDITIONS_MAX];
    int n;
};

static void keep_condition(struct conditions *c, const struct sql_expr *column, const struct sql_expr *value)
{
    for (; value && column && column->kind == SQL_EXPR_COLUMN && column->column >= 0; value = value->next)
        if (value->kind == SQL_EXPR_STRING && c->n < CONDITIONS_MAX)
            c->list[c->n++] = (struct value_condition){ column, value };
}

/* Part of sql_walker. */
static void collect_conditions(void *context, struct sql_expr *e, struct sql_core *core)
{
    (void)core;
    if (e->kind == SQL_EXPR_BINARY && (e->op == SQL_EQUAL || e->op == SQL_LIKE)) {
        keep_condition(context, e->left, e->right);
        keep_condition(context, e->right, e->left);
    }
    if (e->kind == SQL_EXPR_IN)
        keep_condition(context, e->left, e->list);
}

/* Reads the values of a column.  The caller releases the index. */
static void read_values(struct value_index *x, const struct repairing *r, int column)
{
    struct strings pool = { 0 };
    const char *name = sql_written_name(&pool, r->s->columns[column].name);
    const char *sql =
        strings_printf(&pool, "SELECT DISTINCT %s FROM %s WHERE typeof(%s) = 'text' LIMIT %d", name,
                       sql_written_name(&pool, table_name(r, r->s->columns[column].table)), name, REPAIR_VALUES);
    struct exec_result result = exec_run(r->db, sql);

    value_index_init(x, VALUE_INDEX_BYTES / 16);
    for (int64_t i = 0; i < result.n; i++)
        if (result.cells[i].type == CELL_TEXT)
            value_index_add(x, 0, result.cells[i].bytes);
    value_index_finish(x);
    exec_result_release(&result);
    strings_release(&pool);
}

struct nearest_value {
    const struct value_index *index;
    uint32_t entry;
    double ratio;
};

/* A value_found_fn. */
static void keep_nearest(void *user, uint32_t entry, double ratio)
{
    struct nearest_value *best = user;

    if (ratio > best->ratio ||
        (ratio == best->ratio && strcmp(best->index->texts + best->index->entries[entry].text,
                                        best->index->texts + best->index->entries[best->entry].text) < 0)) {
        best->ratio = ratio;
        best->entry = entry;
    }
}

/* The stored value that is nearest to a text, or NULL.  exactly: by its words without case. */
static const char *find_value(const struct repairing *r, int column, const char *text, bool exactly)
{
    char words[VALUE_BYTES + 1];
    int n = value_words(words, text, strlen(text));
    struct value_index x;
    const char *found = NULL;

    if (n <= 0)
        return NULL;
    read_values(&x, r, column);
    struct nearest_value best = { .index = &x };
    uint32_t entry = value_index_exact(&x, words, 0);
    if (!entry && !exactly)
        value_index_alike(&x, words, n, VALUE_RATIO, keep_nearest, &best);
    if (entry || best.ratio > 0)
        found = strings_keep(r->words, x.texts + x.entries[entry ? entry - 1 : best.entry].text);
    value_index_release(&x);
    return found;
}

/* Replaces a value by the nearest one of its column. */
static bool repair_value(struct repairing *r, const struct value_condition *c)
{
    const char *near = find_value(r, c->column->column, c->value->text, false);

    if (!near || strcmp(near, c->value->text) == 0)
        return false;
    sql_edits_add(&r->edits, c->value->span, sql_written_string(r->words, near));
    set_change(r, strings_printf(r->words, "\"%s\" was replaced by \"%s\" of the column %s", c->value->text, near,
                                 r->s->columns[c->column->column].name));
    return true;
}

/* Compares a value with the only other text column of the table that has it. */
static bool move_value(struct repairing *r, const struct value_condition *c)
{
    const struct schema_table *t = &r->s->tables[r->s->columns[c->column->column].table];
    const char *stored = NULL;
    int found = -1, n = 0;

    if (strchr(c->value->text, '%'))
        return false;
    for (int k = t->first_column; k < t->first_column + t->n_columns; k++) {
        const char *value = k != c->column->column && r->s->columns[k].type == COLUMN_TEXT
                                ? find_value(r, k, c->value->text, true)
                                : NULL;
        n += value != NULL;
        stored = value ? value : stored;
        found = value ? k : found;
    }
    if (n != 1)
        return false;
    sql_edits_name(&r->edits, c->column->name.span, r->s->columns[found].name);
    sql_edits_add(&r->edits, c->value->span, sql_written_string(r->words, stored));
    set_change(r, strings_printf(r->words, "the column %s was replaced by %s, which has \"%s\"",
                                 r->s->columns[c->column->column].name, r->s->columns[found].name, stored));
    return true;
}

static bool is_column(const struct sql_expr *e)
{
    return e && e->kind == SQL_EXPR_COLUMN && e->column >= 0 && e->table;
}

/* Replaces the condition of a join by the foreign key of the two tables.  Part of sql_walker. */
static void repair_join(void *context, struct sql_source *source, struct sql_core *core)
{
    struct repairing *r = context;
    const struct sql_expr *on = source->on;
    int a = -1, b = -1;

    (void)core;
    if (!on || on->kind != SQL_EXPR_BINARY || on->op != SQL_EQUAL || !is_column(on->left) || !is_column(on->right))
        return;
    const struct schema_column *left = &r->s->columns[on->left->column], *right = &r->s->columns[on->right->column];
    if (!foreign_key(r->s, left->table, right->table, &a, &b) || (a == on->left->column && b == on->right->column))
        return;
    sql_edits_add(&r->edits, on->span, equality(r, on->left->table->text, a, on->right->table->text, b));
    set_change(r, strings_printf(r->words, "%s and %s were joined by their foreign key", table_name(r, left->table),
                                 table_name(r, right->table)));
}

/* Repairs one part after the other of a statement without rows.  Returns the new statement or NULL. */
static const char *repair_rows(struct repairing *r, const char *sql)
{
    struct conditions all = { .n = 0 };
    const struct sql_walker conditions = { .context = &all, .expr = collect_conditions };
    const struct sql_walker joins = { .context = r, .source = repair_join };
    struct sql_uses uses;
    struct error why;
    struct sql_query *q = sql_parse(r->scratch, sql, &why);

    if (!q || sql_resolve(r->scratch, q, r->s, &uses, &why))
        return NULL;
    r->edits = (struct sql_edits){ .sql = sql };
    sql_walk(&conditions, q->select);
    for (int i = 0; i < all.n; i++)
        if (!repair_value(r, &all.list[i]))
            (void)move_value(r, &all.list[i]);
    sql_walk(&joins, q->select);
    const char *text = edited(r);
    forget(r);
    return text;
}

/* --- The statement --- */

/* -1: fails; 0: has no rows, or only NULLs or a 0 that no row supports; 1: has rows. */
static int try_out(const struct repairing *r, const char *sql)
{
    struct exec_result result = exec_run(r->db, sql);
    const struct cell *cell = result.cells;
    int state = result.status != EXEC_OK ? -1 : result.n > 0;

    if (result.n == 1 && result.columns == 1 &&
        (cell->type == CELL_NULL || (cell->type == CELL_INTEGER && cell->integer == 0)) && state > 0)
        state = 0;
    exec_result_release(&result);
    return state;
}

static bool find_repair(struct repair *found, struct repairing *r, const char *sql)
{
    int state = try_out(r, sql);
    bool failed = state < 0;
    const char *text = sql;

    for (int pass = 0; pass < PASSES && state < 0 && text; pass++) {
        text = repair_name(r, text);
        state = text ? try_out(r, text) : -1;
    }
    if (state < 0)
        return false;
    if (state == 0) {
        const char *before = r->change, *better = repair_rows(r, text);
        bool works = better && try_out(r, better) > 0;
        text = works ? better : text;
        r->change = works ? r->change : before;
    }
    *found = (struct repair){ text, failed, r->change };
    return r->change != NULL;
}

bool repair_statement(struct repair *found, const char *sql, const struct schema *s, struct exec_db *db,
                      struct arena *scratch, struct strings *words)
{
    struct repairing r = { .s = s, .db = db, .scratch = scratch, .words = words };
    size_t mark = arena_mark(scratch);
    bool repaired = find_repair(found, &r, sql);

    arena_reset(scratch, mark);
    return repaired;
}
