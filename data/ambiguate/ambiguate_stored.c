/* Part of ambiguate.h: kind P from the resolved query: the aggregates that it computes also stand in a new table, a row
 * for each value of the columns that the query names outside of them. */
#include "data/ambiguate/ambiguate_impl.h"
#include "data/sql/sql_lex.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const functions[] = { "sum", "avg", "min", "max" };
static const char *const train_names[] = { "total", "avg", "min", "max" };

/* A column of the query. */
struct stored_column {
    int column;
    struct sql_span span; /* where the query first says it */
};

/* The new table while the query is read. */
struct storing {
    struct resolved_query r;
    const struct sql_core *core;
    struct sql_edits edits; /* every part as the new table names it */
    struct stored_column plain[AMBIGUITY_MAX_STORED], aggregated[AMBIGUITY_MAX_STORED];
    int n_plain, n_aggregated;
    bool number, train; /* count(*) is stored; the form of the training file */
    bool bad;
    const char *new_table;
};

static const char *column_name(const struct storing *s, int column)
{
    return s->r.q->schema->columns[column].name;
}

/* Adds a column unless it is there; another one of its name cannot stand beside it. */
static void keep_column(struct storing *s, struct stored_column *list, int *n, const struct sql_expr *e)
{
    for (int i = 0; i < *n; i++) {
        if (list[i].column == e->column)
            return;
        s->bad = s->bad || strcasecmp(column_name(s, list[i].column), column_name(s, e->column)) == 0;
    }
    if (*n == AMBIGUITY_MAX_STORED)
        s->bad = true;
    else
        list[(*n)++] = (struct stored_column){ e->column, e->span };
}

static bool is_base_column(const struct sql_expr *e)
{
    return e->kind == SQL_EXPR_COLUMN && e->column >= 0 && e->source && e->source->table >= 0;
}

/* The number of the stored function that the call is, or -1. */
static int function_of(const struct sql_expr *e)
{
    int f = ARRAY_LEN(functions) - 1;

    while (f >= 0 && strcasecmp(e->name.text, functions[f]) != 0)
        f--;
    bool one = e->list && !e->list->next && is_base_column(e->list) && !e->star;
    return one && !e->distinct && !e->filter && !e->over ? f : -1;
}

static bool counts_rows(const struct sql_expr *e)
{
    return e->star && !e->filter && !e->over && strcasecmp(e->name.text, "count") == 0;
}

/* max(x) as max_x, count(*) as number. */
static void store_call(struct storing *s, const struct sql_expr *e)
{
    int f = function_of(e);

    if (f >= 0) {
        keep_column(s, s->aggregated, &s->n_aggregated, e->list);
        const char *function = (s->train ? train_names : functions)[f], *column = column_name(s, e->list->column);
        const char *name = strings_printf(&s->edits.text, "%s_%s", function, column);
        sql_edits_add(&s->edits, e->span, sql_written_name(&s->edits.text, name));
    } else if (counts_rows(e) && !s->train) {
        s->number = true;
        sql_edits_add(&s->edits, e->span, "number");
    } else {
        s->bad = true;
    }
}

static void store_column(struct storing *s, const struct sql_expr *e)
{
    if (!is_base_column(e)) {
        s->bad = true;
        return;
    }
    keep_column(s, s->plain, &s->n_plain, e);
    sql_edits_add(&s->edits, e->span, sql_written_name(&s->edits.text, column_name(s, e->column)));
}

static void store_exprs(struct storing *s, const struct sql_expr *e)
{
    for (; e; e = e->next) {
        if (e->kind == SQL_EXPR_CALL)
            store_call(s, e);
        else if (e->kind == SQL_EXPR_COLUMN)
            store_column(s, e);
        else if (e->select || e->source)
            s->bad = true;
        else {
            store_exprs(s, e->left);
            store_exprs(s, e->right);
            store_exprs(s, e->third);
            store_exprs(s, e->list);
        }
    }
}

static void store_results(struct storing *s)
{
    for (const struct sql_result *r = s->core->results; r && !s->bad; r = r->next) {
        const struct sql_expr *e = r->expr;
        s->bad = !e || r->alias.text || (e->kind != SQL_EXPR_CALL && e->kind != SQL_EXPR_COLUMN);
        if (!s->bad && e->kind == SQL_EXPR_CALL)
            store_call(s, e);
        else if (!s->bad)
            store_column(s, e);
    }
}

static void check_source(void *context, struct sql_source *source, struct sql_core *core)
{
    struct storing *s = context;
    s->bad = s->bad || source->kind != SQL_SOURCE_TABLE || source->cte || source->table < 0 || core != s->core;
}

/* One SELECT of base tables, not DISTINCT, with WHERE or HAVING at most. */
static bool has_form(struct storing *s)
{
    struct sql_select *select = s->r.query->select;
    const struct sql_core *c = s->core = select->cores;
    const struct sql_walker walker = { .context = s, .source = check_source };

    if (select->ctes || c->next || c->rows || c->distinct || !c->from || c->windows || (c->where && c->having))
        return false;
    sql_walk(&walker, select);
    return !s->bad;
}

/* All columns and aggregates of the query outside of FROM. */
static bool read_query(struct storing *s)
{
    const struct sql_tail *t = &s->r.query->select->tail;

    if (!has_form(s))
        return false;
    store_results(s);
    store_exprs(s, s->core->where);
    store_exprs(s, s->core->group);
    store_exprs(s, s->core->having);
    for (const struct sql_order *o = t->order; o; o = o->next)
        store_exprs(s, o->expr);
    store_exprs(s, t->limit);
    store_exprs(s, t->offset);
    return !s->bad && s->n_aggregated > 0;
}

/* The place of the first of some words outside of parentheses; behind: of what stands behind it. */
static int place_of(const char *sql, const int *kinds, int n_kinds, bool behind)
{
    int n, depth = 0, at = -1;
    struct sql_token *tokens = sql_lex(sql, &n);

    for (int i = 0; i < n - 1 && at < 0; i++) {
        depth += (tokens[i].kind == TOKEN_LEFT_PAREN) - (tokens[i].kind == TOKEN_RIGHT_PAREN);
        for (int k = 0; k < n_kinds && depth == 0; k++)
            if (tokens[i].kind == kinds[k])
                at = behind ? tokens[i + 1].begin : tokens[i].begin;
    }
    free(tokens);
    return at;
}
#define PLACE_OF(sql, behind, ...)                                                                                     \
    place_of(sql, (const int[]){ __VA_ARGS__ }, ARRAY_LEN(((const int[]){ __VA_ARGS__ })), behind)

/* What stands behind FROM in the reading: the condition and what follows it; without one, the order and the limit,
 * since the new table has a row for each group. */
static const char *tail_of(struct storing *s)
{
    const char *sql = s->edits.sql, *word = "";
    int end = (int)strlen(sql), begin = PLACE_OF(sql, false, WORD_WHERE);

    if (begin < 0 && (begin = PLACE_OF(sql, true, WORD_HAVING)) >= 0)
        word = "where ";
    if (begin < 0)
        begin = PLACE_OF(sql, false, WORD_ORDER, WORD_LIMIT);
    if (begin < 0)
        return "";
    char *text = sql_edits_part(&s->edits, begin, end);
    const char *kept = strings_printf(&s->r.out->text, " %s%s", word, text);
    free(text);
    return kept;
}

static const char *read_stored(struct storing *s, const char *from)
{
    const struct sql_result *first = s->core->results, *last = first;

    while (last->next)
        last = last->next;
    char *list = sql_edits_part(&s->edits, first->span.begin, last->span.end);
    const char *sql = strings_printf(&s->r.out->text, "select %s from %s%s", list, from, tail_of(s));
    free(list);
    return sql;
}

/* The query's own FROM clause. */
static const char *from_clause(struct storing *s)
{
    const char *sql = s->edits.sql;
    int begin = PLACE_OF(sql, true, WORD_FROM);
    int end = PLACE_OF(sql, false, WORD_WHERE, WORD_GROUP, WORD_HAVING, WORD_ORDER, WORD_LIMIT);

    if (end < 0)
        end = (int)strlen(sql);
    while (sql[end - 1] == ' ')
        end--;
    return strings_printf(&s->r.out->text, "%.*s", end - begin, sql + begin);
}

/* "length, max(age) as max_age": a column as the query says it, and under its name. */
static const char *append(struct storing *s, const char *list, const char *before, struct sql_span at, const char *name)
{
    struct strings *text = &s->r.out->text;
    const char *close = *before ? ")" : "";

    return strings_printf(text, "%s%s%s%.*s%s as %s", list, *list ? ", " : "", before, at.end - at.begin,
                          s->edits.sql + at.begin, close, sql_written_name(text, name));
}

static const char *append_aggregates(struct storing *s, const char *list)
{
    struct strings *text = &s->r.out->text;

    for (int i = 0; i < s->n_aggregated; i++)
        for (int f = 0; f < ARRAY_LEN(functions); f++)
            list = append(s, list, strings_printf(text, "%s(", functions[f]), s->aggregated[i].span,
                          strings_printf(text, "%s_%s", (s->train ? train_names : functions)[f],
                                         column_name(s, s->aggregated[i].column)));
    return list;
}

/* The rows of the new table; others: columns of the table that the query does not name. */
static const char *stored_rows(struct storing *s, const char *others)
{
    struct strings *text = &s->r.out->text;
    const char *list = "", *groups = "";

    for (int i = 0; i < s->n_plain; i++) {
        struct sql_span at = s->plain[i].span;
        list = append(s, list, "", at, column_name(s, s->plain[i].column));
        groups = strings_printf(text, "%s%s%.*s", groups, i ? ", " : " group by ", at.end - at.begin,
                                s->edits.sql + at.begin);
    }
    if (s->number)
        list = strings_printf(text, "%s%scount(*) as number", list, *list ? ", " : "");
    list = append_aggregates(s, list);
    return strings_printf(text, "select %s%s from %s%s", list, others, from_clause(s), groups);
}

/* No column of the new table stands twice, and its name means nothing else. */
static bool names_are_free(const struct storing *s, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcasecmp(names[i], names[k]) == 0)
                return false;
    return schema_table_find(s->r.q->schema, s->new_table) < 0 && !resolved_query_says(&s->r, s->new_table);
}

static void set_readings(struct storing *s, struct ambiguity *a, const char *others)
{
    struct strings *text = &s->r.out->text;

    a->stored_rows = stored_rows(s, others);
    a->record.new_table = s->new_table;
    a->record.readings[1] = read_stored(s, sql_written_name(text, s->new_table));
    a->direct = read_stored(s, strings_printf(text, "(%s)", a->stored_rows));
}

/* Tables in order of FROM. */
static bool set_tables(struct storing *s, struct ambiguity *a)
{
    const struct schema *schema = s->r.q->schema;

    for (const struct sql_source *f = s->core->from; f; f = f->next) {
        const char *name = strings_keep(&s->r.out->text, schema->tables[f->table].name);
        int k = 0;
        while (k < a->n_tables && a->tables[k] != name)
            k++;
        if (k == AMBIGUITY_MAX_TABLES)
            return false;
        a->tables[k] = name;
        a->n_tables += k == a->n_tables;
    }
    return true;
}

static bool set_columns(struct storing *s, struct ambiguity *a)
{
    struct strings *text = &s->r.out->text;
    struct ambiqt_record *r = &a->record;
    int plain = s->n_plain + s->number;

    if (plain + s->n_aggregated > AMBIGUITY_MAX_STORED || plain + 4 * s->n_aggregated > AMBIQT_MAX_COLUMNS)
        return false;
    for (int i = 0; i < s->n_plain; i++)
        a->stored[a->n_stored++] = strings_keep(text, column_name(s, s->plain[i].column));
    if (s->number)
        a->stored[a->n_stored++] = "number";
    memcpy(r->new_columns, a->stored, (size_t)plain * sizeof *a->stored);
    r->n_new_columns = plain;
    for (int i = 0; i < s->n_aggregated; i++) {
        const char *column = a->stored[a->n_stored++] = strings_keep(text, column_name(s, s->aggregated[i].column));
        for (int f = 0; f < ARRAY_LEN(functions); f++)
            r->new_columns[r->n_new_columns++] = strings_printf(text, "%s_%s", functions[f], column);
    }
    a->n_plain = s->n_plain;
    a->number = s->number;
    return true;
}

/* The tables' names, then the aggregated columns', with underscores between. */
static const char *table_name(struct storing *s, const struct ambiguity *a)
{
    const char *name = a->tables[0];

    for (int i = 1; i < a->n_tables; i++)
        name = strings_printf(&s->r.out->text, "%s_%s", name, a->tables[i]);
    for (int i = 0; i < s->n_aggregated; i++)
        name = strings_printf(&s->r.out->text, "%s_%s", name, column_name(s, s->aggregated[i].column));
    return strings_keep(&s->r.out->text, name);
}

/* Takes the record back. */
static void leave_out(struct storing *s, enum ambiguity_fault fault)
{
    s->r.out->n--;
    ambiguity_leave_out(s->r.out, fault);
}

static void add_aggregates(struct storing *s)
{
    struct ambiguity *a = ambiguity_add(s->r.out, s->r.q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    if (!set_tables(s, a) || !set_columns(s, a)) {
        leave_out(s, FAULT_FORM);
        return;
    }
    s->new_table = table_name(s, a);
    if (!names_are_free(s, r->new_columns, r->n_new_columns)) {
        leave_out(s, FAULT_NAME);
        return;
    }
    r->table = a->tables[0];
    r->key = ambiguity_key(s->r.q->schema, s->core->from->table);
    r->key = r->key ? strings_keep(&s->r.out->text, r->key) : NULL;
    r->column = a->stored[a->n_plain + a->number];
    set_readings(s, a, "");
}

/* Whether the query computes anything that a new table could store. */
static bool computes(const struct resolved_query *r)
{
    bool found = false;

    for (const struct sql_core *c = r->query->select->cores; c; c = c->next)
        for (const struct sql_result *result = c->results; result && !found; result = result->next)
            found = result->expr && result->expr->kind == SQL_EXPR_CALL && function_of(result->expr) >= 0;
    return found;
}

static void storing_release(struct storing *s)
{
    sql_edits_release(&s->edits);
    resolved_query_release(&s->r);
}

void resolved_aggregates(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct storing s = { .edits.sql = q->sql };

    if (resolved_query_init(&s.r, out, q) == 0) {
        if (read_query(&s))
            add_aggregates(&s);
        else if (computes(&s.r))
            ambiguity_leave_out(out, FAULT_FORM);
    }
    storing_release(&s);
}

/* The training file's form: the table's other columns stand in the new one too. */

static const char *other_columns(struct storing *s)
{
    const struct schema *schema = s->r.q->schema;
    const struct schema_table *t = &schema->tables[s->core->from->table];
    const char *list = "";

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        bool there = c == s->aggregated[0].column;
        for (int i = 0; i < s->n_plain && !there; i++)
            there = s->plain[i].column == c;
        if (!there)
            list = strings_printf(&s->r.out->text, "%s, %s", list,
                                  sql_written_name(&s->r.out->text, schema->columns[c].name));
    }
    return list;
}

/* One aggregated column of one table, which the query does not name outside of the aggregates. */
static bool is_of_one_column(const struct storing *s)
{
    bool one = s->n_aggregated == 1 && !s->core->from->next;

    for (int i = 0; i < s->n_plain && one; i++)
        one = s->plain[i].column != s->aggregated[0].column;
    return one;
}

static void add_one_table(struct storing *s)
{
    const struct schema *schema = s->r.q->schema;
    struct strings *text = &s->r.out->text;
    int table = s->core->from->table;
    struct ambiguity *a = ambiguity_add(s->r.out, s->r.q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    a->one_table = true;
    r->table = strings_keep(text, schema->tables[table].name);
    r->column = strings_keep(text, column_name(s, s->aggregated[0].column));
    r->key = strings_keep(text, ambiguity_key(schema, table));
    s->new_table = strings_printf(text, "%s_%s", r->table, r->column);
    for (int f = ARRAY_LEN(functions) - 1; f >= 0; f--)
        r->new_columns[r->n_new_columns++] = strings_printf(text, "%s_%s", train_names[f], r->column);
    if (names_are_free(s, r->new_columns, r->n_new_columns))
        set_readings(s, a, other_columns(s));
    else
        leave_out(s, FAULT_NAME);
}

void resolved_one_table(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct storing s = { .edits.sql = q->sql, .train = true };

    if (resolved_query_init(&s.r, out, q) == 0) {
        if (!read_query(&s) || !is_of_one_column(&s) || s.n_plain == AMBIGUITY_MAX_STORED) {
            if (computes(&s.r))
                ambiguity_leave_out(out, FAULT_FORM);
        } else if (!ambiguity_key(q->schema, s.core->from->table))
            ambiguity_leave_out(out, FAULT_KEY);
        else
            add_one_table(&s);
    }
    storing_release(&s);
}
