#include "data/synth/sql_exchange.h"

#include "data/schema/schema.h"
#include "data/sql/sql_scope.h"
#include "data/synth/sql_edit.h"

#include <string.h>
#include <strings.h>

enum { SQL_KEY_COLUMNS = 8 }; /* columns of one key */

/* Pairs of joined columns, of the first and of the second table. */
struct sql_connection {
    int pairs[SQL_KEY_COLUMNS][2];
    int n;
};

/* --- Join columns of two tables --- */

/* Adds a pair unless it exists. Returns false if there is no room. */
static bool add_pair(struct sql_connection *c, int first, int second)
{
    for (int i = 0; i < c->n; i++)
        if (c->pairs[i][0] == first && c->pairs[i][1] == second)
            return true;
    if (c->n == SQL_KEY_COLUMNS)
        return false;
    c->pairs[c->n][0] = first;
    c->pairs[c->n++][1] = second;
    return true;
}

/* Returns whether the columns on one side are distinct and all part of a primary key. */
static bool are_of_key(const struct schema *s, const struct sql_connection *c, int side)
{
    for (int i = 0; i < c->n; i++) {
        for (int k = 0; k < i; k++)
            if (c->pairs[i][side] == c->pairs[k][side])
                return false;
        if (!s->columns[c->pairs[i][side]].primary)
            return false;
    }
    return true;
}

/* Returns whether the columns on one side form the whole primary key of their table. */
static bool is_whole_key(const struct schema *s, const struct sql_connection *c, int side)
{
    const struct schema_table *t = &s->tables[s->columns[c->pairs[0][side]].table];
    int keys = 0;

    for (int k = t->first_column; k < t->first_column + t->n_columns; k++)
        keys += s->columns[k].primary;
    return keys == c->n && are_of_key(s, c, side);
}

/* Collects all foreign keys between two tables. Several keys are accepted only if they form one composite key. */
static bool by_foreign_key(const struct schema *s, int a, int b, struct sql_connection *c)
{
    bool all = true;

    c->n = 0;
    for (int i = 0; i < s->n_foreign_keys && all; i++) {
        int from = s->foreign_keys[i].from, to = s->foreign_keys[i].to;
        if (s->columns[from].table == a && s->columns[to].table == b)
            all = add_pair(c, from, to);
        else if (s->columns[from].table == b && s->columns[to].table == a)
            all = add_pair(c, to, from);
    }
    return all && (c->n == 1 || (c->n > 1 && (is_whole_key(s, c, 0) || is_whole_key(s, c, 1))));
}

/* Collects columns with the same name in both tables, except `but`. primary: only columns of a primary key. */
static bool namesakes(const struct schema *s, int a, int b, int but, bool primary, struct sql_connection *c)
{
    const struct schema_table *t = &s->tables[a];
    bool all = true;

    c->n = 0;
    for (int k = t->first_column; k < t->first_column + t->n_columns && all; k++) {
        int same = k == but ? -1 : schema_column_find(s, b, s->columns[k].name);
        if (same >= 0 && (!primary || s->columns[k].primary || s->columns[same].primary))
            all = add_pair(c, k, same);
    }
    return all && c->n > 0 && (!primary || is_whole_key(s, c, 0) || is_whole_key(s, c, 1));
}

/* Finds the columns that join two tables: a foreign key, else a whole primary key with matching names, else the only
 * common name other than `but`. Returns false if there are none, or if several foreign keys do not form one composite
 * key. */
static bool connect_tables(struct sql_connection *c, const struct schema *s, int a, int b, int but)
{
    bool keyed = by_foreign_key(s, a, b, c);

    if (c->n > 0)
        return keyed;
    if (namesakes(s, a, b, but, true, c))
        return true;
    return c->n == 0 && namesakes(s, a, b, but, false, c) && c->n == 1;
}

struct exchanging {
    struct arena *arena;
    const struct schema *s;
    int from, to;              /* tables or columns */
    bool tables;               /* from and to are tables */
    struct sql_core *core;     /* for a join: the SELECT being changed, */
    struct sql_source *source; /* its source of the table that owns `from`, */
    struct sql_source *other;  /* and its source of the table that owns `to` */
    bool found;                /* the core uses the column */
    bool aliased;              /* some result is named like the column */
    int n;                     /* number of replaced names */
    struct error *err;         /* set when the exchange fails */
    bool failed;
};

static void fail(struct exchanging *x, const char *what, const char *name)
{
    if (!x->failed)
        error_set(x->err, EXIT_CODE_DATA, "%s %s", what, name);
    x->failed = true;
}

static void *take(struct exchanging *x, size_t bytes)
{
    if (x->arena->size - x->arena->used > bytes + ARENA_ALIGN)
        return memset(arena_alloc(x->arena, bytes), 0, bytes);
    if (!x->failed)
        error_set(x->err, EXIT_CODE_MEMORY, "no memory for a statement");
    x->failed = true;
    return NULL;
}

typedef void visit_fn(void *exchanging, struct sql_expr *e, struct sql_core *core);

static void visit_select(struct exchanging *x, struct sql_select *s, visit_fn *fn)
{
    const struct sql_walker walker = { .context = x, .expr = fn };

    sql_walk(&walker, s);
}

/* Exchange of columns of the same table. */

static bool says(const struct sql_expr *e, const char *name)
{
    return e->kind == SQL_EXPR_COLUMN && strcasecmp(e->name.text, name) == 0;
}

/* In ORDER BY a name may refer to a result: an alias, or a column from a star. */
static bool is_result(const struct exchanging *x, const struct sql_expr *e)
{
    return !e->source && !e->table && !x->aliased;
}

/* A derived table passes the new name on. */
static void rename_column(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    if (!says(e, x->s->columns[x->from].name) || !(e->source ? e->column == x->from : is_result(x, e)))
        return;
    sql_settle_name(&e->name, x->s->columns[x->to].name);
    x->n++;
}

/* Exchange of tables. */

static const char *namesake(struct exchanging *x, const char *column)
{
    int c = schema_column_find(x->s, x->to, column);

    if (c < 0)
        fail(x, x->s->tables[x->to].name, "lacks a column that the statement uses");
    return c < 0 ? column : x->s->columns[c].name;
}

static void rename_of_table(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    if (e->kind == SQL_EXPR_IN && e->source && e->source->table == x->from) {
        sql_settle_name(&e->source->name, x->s->tables[x->to].name);
        x->n++;
    }
    if (e->kind != SQL_EXPR_COLUMN || e->column < 0 || x->s->columns[e->column].table != x->from)
        return;
    if (says(e, x->s->columns[e->column].name))
        sql_settle_name(&e->name, namesake(x, e->name.text));
    if (e->table && !e->source->alias.text && e->source->table == x->from)
        sql_settle_name(e->table, x->s->tables[x->to].name);
}

static void rename_sources(struct exchanging *x, struct sql_select *select);

static void rename_in_list(struct exchanging *x, struct sql_source *s)
{
    for (; s; s = s->next) {
        rename_in_list(x, s->group);
        if (s->select)
            rename_sources(x, s->select);
        if (s->kind != SQL_SOURCE_TABLE || s->cte || s->table != x->from)
            continue;
        sql_settle_name(&s->name, x->s->tables[x->to].name);
        for (struct sql_name *n = s->columns; n; n = n->next)
            sql_settle_name(n, namesake(x, n->text));
        x->n++;
    }
}

static void rename_starred(struct exchanging *x, struct sql_core *c)
{
    for (struct sql_result *r = c->results; r; r = r->next)
        if (!r->expr && r->table.text && strcasecmp(r->table.text, x->s->tables[x->from].name) == 0)
            sql_settle_name(&r->table, x->s->tables[x->to].name);
}

static void rename_inner(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    if (e->select)
        rename_sources(x, e->select);
}

/* The caller visits nested SELECTs as expressions. */
static void rename_sources(struct exchanging *x, struct sql_select *select)
{
    for (struct sql_cte *c = select->ctes; c; c = c->next)
        rename_sources(x, c->select);
    for (struct sql_core *c = select->cores; c; c = c->next) {
        rename_starred(x, c);
        rename_in_list(x, c->from);
    }
}

/* Exchange of columns of different tables. */

/* Counts the sources of a table in a core, and finds the first one. */
static int count_sources(const struct sql_core *c, int table, struct sql_source **first)
{
    int n = 0;

    *first = NULL;
    for (struct sql_source *s = c->from; s; s = s->next)
        if (s->kind == SQL_SOURCE_TABLE && !s->cte && s->table == table && n++ == 0)
            *first = s;
    return n;
}

static struct sql_name *name_of(struct exchanging *x, const struct sql_source *s)
{
    struct sql_name *n = take(x, sizeof *n);

    if (n)
        sql_settle_name(n, sql_source_name(s));
    return n;
}

static struct sql_expr *column_of(struct exchanging *x, struct sql_source *s, int column)
{
    struct sql_expr *e = take(x, sizeof *e);

    if (!e)
        return NULL;
    e->kind = SQL_EXPR_COLUMN;
    e->source = s;
    e->column = column;
    e->table = name_of(x, s);
    sql_settle_name(&e->name, x->s->columns[column].name);
    return e;
}

/* Returns "left OP right", or NULL if an operand is missing. */
static struct sql_expr *binary(struct exchanging *x, enum sql_op op, struct sql_expr *left, struct sql_expr *right)
{
    struct sql_expr *e = take(x, sizeof *e);

    if (e && left && right) {
        *e = (struct sql_expr){ .kind = SQL_EXPR_BINARY, .op = op, .left = left, .right = right, .column = -1 };
        return e;
    }
    return NULL;
}

/* Joins the table of `to` after all other sources. */
static struct sql_source *join(struct exchanging *x, const struct sql_connection *c)
{
    struct sql_source *s = take(x, sizeof *s), *last = x->core->from;

    if (!s)
        return NULL;
    s->kind = SQL_SOURCE_TABLE;
    s->join = SQL_JOIN_INNER;
    s->table = x->s->columns[x->to].table;
    sql_settle_name(&s->name, x->s->tables[s->table].name);
    for (int i = 0; i < c->n && !x->failed; i++) {
        struct sql_expr *left = column_of(x, x->source, c->pairs[i][0]), *right = column_of(x, s, c->pairs[i][1]);
        struct sql_expr *equal = binary(x, SQL_EQUAL, left, right);
        s->on = s->on ? binary(x, SQL_AND, s->on, equal) : equal;
    }
    if (x->failed)
        return NULL;
    while (last->next)
        last = last->next;
    last->next = s;
    return s;
}

static bool is_of_core(const struct exchanging *x, const struct sql_source *of)
{
    for (const struct sql_source *s = x->core->from; s; s = s->next)
        if (s == of)
            return true;
    return false;
}

static bool is_moved(const struct exchanging *x, const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_COLUMN && e->source && e->source == x->source && e->column == x->from;
}

static void find_moved(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    x->found = x->found || is_moved(x, e);
}

/* Visits a core, and the tail of the SELECT if it has no other core. */
static void visit_own(struct exchanging *x, struct sql_select *select, visit_fn *fn)
{
    const struct sql_walker walker = { .context = x, .expr = fn };

    sql_walk_core(&walker, x->core, select);
}

/* Replaces the column by that of the other table, and qualifies all other columns, since there is one more table now.
 */
static void move_column(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    if (e->kind != SQL_EXPR_COLUMN || !e->source || !is_of_core(x, e->source))
        return;
    bool moved = is_moved(x, e);
    if (moved) {
        e->source = x->other;
        sql_settle_name(&e->name, x->s->columns[x->to].name);
        x->n++;
    }
    if (moved || (!e->table && e->source->table >= 0))
        e->table = name_of(x, e->source);
}

static bool has_star(const struct sql_core *c)
{
    for (const struct sql_result *r = c->results; r; r = r->next)
        if (!r->expr)
            return true;
    return false;
}

static void find_source(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    x->found = x->found || (e->kind == SQL_EXPR_COLUMN && e->source && e->source == x->source);
}

/* Returns whether anything except the join still uses the old column's table. */
static bool is_needed(struct exchanging *x, struct sql_select *select)
{
    struct sql_expr *on[2] = { x->source->on, x->other->on };

    x->source->on = x->other->on = NULL;
    x->found = false;
    visit_own(x, select, find_source);
    x->source->on = on[0];
    x->other->on = on[1];
    return x->found;
}

/* Removes the source that was joined only for the old column. */
static void drop_source(struct exchanging *x, struct sql_select *select)
{
    struct sql_source *first = x->core->from, *second = first->next;
    bool two = second && !second->next && (second->join == SQL_JOIN_INNER || second->join == SQL_JOIN_COMMA) &&
               !second->natural && !second->columns && second->on;

    if (!two || has_star(x->core) || is_needed(x, select))
        return;
    x->core->from = x->other;
    x->other->next = NULL;
    x->other->on = NULL;
    x->other->join = SQL_JOIN_COMMA;
}

static void move_in_core(struct exchanging *x, struct sql_select *select)
{
    int table = x->s->columns[x->from].table, other = x->s->columns[x->to].table;
    struct sql_connection connection;

    if (count_sources(x->core, table, &x->source) != 1)
        return;
    x->found = false;
    visit_own(x, select, find_moved);
    if (!x->found)
        return;
    int there = count_sources(x->core, other, &x->other);
    if (there > 1 || (there == 0 && has_star(x->core))) {
        fail(x, x->s->tables[other].name, "cannot be joined to the statement");
        return;
    }
    if (there == 0 && !connect_tables(&connection, x->s, table, other, x->from)) {
        fail(x, x->s->tables[other].name, "has no key in common with the table of the statement");
        return;
    }
    if (there == 0 && !(x->other = join(x, &connection)))
        return;
    visit_own(x, select, move_column);
    if (there)
        drop_source(x, select);
}

static void move_in_select(struct exchanging *x, struct sql_select *select)
{
    for (struct sql_cte *c = select->ctes; c && !x->failed; c = c->next)
        move_in_select(x, c->select);
    for (struct sql_core *c = select->cores; c && !x->failed; c = c->next) {
        for (struct sql_source *s = c->from; s; s = s->next)
            if (s->select)
                move_in_select(x, s->select);
        x->core = c;
        move_in_core(x, select);
    }
}

static void move_inner(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    if (e->select && !x->failed)
        move_in_select(x, e->select);
}

/* Returns whether the statement uses the table, or the column other than through a star. */
static bool is_used(const struct exchanging *x, const char *text, const struct sql_uses *uses, int element)
{
    for (int i = 0; i < uses->n; i++) {
        const struct sql_use *u = &uses->list[i];
        if (x->tables ? u->table == element : u->column == element && text[u->end - 1] != '*')
            return true;
    }
    return false;
}

static bool has_alias(const struct sql_select *select, const char *name)
{
    for (const struct sql_core *c = select->cores; c; c = c->next)
        for (const struct sql_result *r = c->results; r; r = r->next)
            if (r->alias.text && strcasecmp(r->alias.text, name) == 0)
                return true;
    return false;
}

/* One alias is enough, in any place. */
static void note_alias(void *exchanging, struct sql_expr *e, struct sql_core *core)
{
    struct exchanging *x = exchanging;

    (void)core;
    if (e->select && has_alias(e->select, x->s->columns[x->from].name))
        x->aliased = true;
}

static void exchange_column(struct exchanging *x, struct sql_select *select)
{
    x->aliased = has_alias(select, x->s->columns[x->from].name);
    visit_select(x, select, note_alias);
    visit_select(x, select, rename_column);
}

static void exchange(struct exchanging *x, struct sql_select *select)
{
    if (x->tables) {
        visit_select(x, select, rename_of_table);
        visit_select(x, select, rename_inner);
        rename_sources(x, select);
    } else if (x->s->columns[x->from].table == x->s->columns[x->to].table)
        exchange_column(x, select);
    else {
        visit_select(x, select, move_inner);
        move_in_select(x, select);
    }
    if (!x->n)
        fail(x, "the statement does not name", x->tables ? "the table" : "the column");
}

const char *sql_exchange(struct arena *a, const char *sql, const struct schema *s, int from, int to, struct error *err)
{
    bool tables = from < s->n_tables;
    int base = tables ? 0 : s->n_tables;
    struct exchanging x = { .arena = a, .s = s, .from = from - base, .to = to - base, .tables = tables, .err = err };
    struct sql_query *q = sql_parse(a, sql, err);
    struct sql_uses uses;

    if (!q || sql_resolve(a, q, s, &uses, err))
        return NULL;
    if (tables != (to < s->n_tables) || !is_used(&x, q->text, &uses, x.from) || is_used(&x, q->text, &uses, x.to)) {
        fail(&x, "expected a statement with", "exactly one of the two elements");
        return NULL;
    }
    exchange(&x, q->select);
    const char *text = x.failed ? NULL : sql_print(a, q);
    if (!text && !x.failed)
        error_set(err, EXIT_CODE_MEMORY, "no memory for a statement");
    return text;
}
