#include "data/synth/ambiguate_resolved.h"

#include "data/schema/element_name.h"
#include "data/schema/mention.h"
#include "data/sql/sql_lex.h"
#include "data/sql/sql_scope.h"
#include "data/synth/sql_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The state of renaming a table in a resolved query. */
struct table_renaming {
    struct sql_edits edits;
    int table;
    const char *name; /* the new name */
};

static void rename_source(void *context, struct sql_source *s, struct sql_core *core)
{
    struct table_renaming *n = context;

    (void)core;
    if (resolved_source_is(s, n->table))
        sql_edits_name(&n->edits, s->name.span, n->name);
}

/* A qualifier is the table's name only if the table has no alias. */
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
            ambiguity_reject(r->out, FAULT_NAME);
            return;
        }
    struct ambiguity *a = ambiguity_add(r->out, r->q, SIA_TABLE);
    a->synonyms = *pair;
    a->record.table = strings_keep(&r->out->text, s->tables[table].name);
    for (int k = 0; k < 2; k++) {
        a->record.names[k] = pair->written[k];
        a->record.interpretations[k] = rename_resolved(r, table, pair->names[k]);
    }
}

void resolved_tables(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct resolved_query r;
    struct synonym_pair pair;

    if (resolved_query_init(&r, out, q) == 0)
        for (int t = 0; t < q->schema->n_tables; t++)
            if (is_read(&r, t) && synonym_finder_find(q->synonyms, &pair, q->schema, q->schema->tables[t].name, NULL))
                add_resolved(&r, t, &pair);
    resolved_query_release(&r);
}

/* A place where the query reads the table that is split. */
struct split_site {
    const struct sql_source *source;
    const struct sql_core *core;
    int number; /* the pair of aliases: 1 for t1 and t2, 3 for t3 and t4 */
};

/* A use of a column of the table, with the SELECT that contains it. */
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
    bool bad; /* the table stands in a join or under a star, so it cannot be split */
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

/* ORDER BY of a compound names results, not columns, and has no core. */
static void find_use(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct splitting *p = context;

    for (int i = 0; core && e->kind == SQL_EXPR_COLUMN && i < p->n_sites; i++)
        if (e->source == p->sites[i].source) {
            GROW(p->uses, p->n_uses, p->uses_cap);
            p->uses[p->n_uses++] = (struct split_use){ e, core, i };
        }
}

/* A sub-query may refer to rows of the outer SELECT. All aliases must then be distinct. */
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

/* Returns true if an edit replaces the token. */
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

/* Returns the largest N of a remaining name tN, so that new aliases are unique. */
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

/* Replaces a table by its join with the new table on the key. */
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

/* Returns the query that reads the column from the new table. new_table may be a SELECT in parentheses. */
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
        ambiguity_reject(p->r.out, FAULT_NAME);
        return;
    }
    struct ambiguity *a = ambiguity_add(p->r.out, p->r.q, SIA_JOIN);
    a->record.table = strings_keep(text, table);
    a->record.column = strings_keep(text, column);
    a->record.key = strings_keep(text, s->columns[p->key].name);
    a->record.new_table = new_table;
    a->record.interpretations[1] = join_new_table(p, sql_written_name(text, new_table));
    a->stored_rows = strings_printf(text, "select distinct %s, %s from %s", sql_written_name(text, a->record.key),
                                    sql_written_name(text, column), sql_written_name(text, table));
    a->direct = join_new_table(p, strings_printf(text, "(%s)", a->stored_rows));
}

/* Returns the only column of the table's primary key, or -1. */
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

/* Lists the distinct columns of the table that the outermost SELECT shows, except its key. Returns their number. */
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
            ambiguity_reject(p->r.out, p->key < 0 ? FAULT_KEY : FAULT_FORM);
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

static const char *const functions[] = { "sum", "avg", "min", "max" };

static const char *const train_names[] = { "total", "avg", "min", "max" };

/* A column of the query. */
struct stored_column {
    int column;
    struct sql_span span; /* its first occurrence in the query */
};

/* The new table, filled while the query is read. */
struct storing {
    struct resolved_query r;
    const struct sql_core *core;
    struct sql_edits edits; /* replaces each part by its name in the new table */
    struct stored_column plain[AMBIGUITY_MAX_STORED], aggregated[AMBIGUITY_MAX_STORED];
    int n_plain, n_aggregated;
    bool number, train; /* number: count(*) is stored; train: the form of the training file */
    bool bad;
    const char *new_table;
};

static const char *column_name(const struct storing *s, int column)
{
    return s->r.q->schema->columns[column].name;
}

/* Adds a column once. Two columns of one name cannot stand in the new table. */
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

/* Returns the index of a storable function call, or -1. */
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

/* Stores a call: max(x) becomes max_x, count(*) becomes number. */
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

/* Returns true for one SELECT of base tables without DISTINCT, with WHERE or HAVING but not both. */
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

/* Reads all columns and aggregates of the query outside FROM. Returns false if type P does not support the query. */
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

/* Returns the offset of the first of these tokens outside parentheses, or of the token behind it. -1 if there is none.
 */
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

/* Returns the text behind FROM in the second interpretation: the condition and all that follows it. Without a condition
 * it is ORDER BY and LIMIT, since GROUP BY is already done in the new table. */
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

/* Returns the query's own FROM clause. */
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

/* Appends to a list such as "length, max(age) as max_age": an expression of the query under its name in the new table.
 */
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

/* Returns a SELECT for the rows of the new table. others: columns of the table that the query does not name. */
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

/* Returns true if no column of the new table occurs twice and its name is unused. */
static bool names_are_free(const struct storing *s, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcasecmp(names[i], names[k]) == 0)
                return false;
    return schema_table_find(s->r.q->schema, s->new_table) < 0 && !resolved_query_says(&s->r, s->new_table);
}

static void set_interpretations(struct storing *s, struct ambiguity *a, const char *others)
{
    struct strings *text = &s->r.out->text;

    a->stored_rows = stored_rows(s, others);
    a->record.new_table = s->new_table;
    a->record.interpretations[1] = read_stored(s, sql_written_name(text, s->new_table));
    a->direct = read_stored(s, strings_printf(text, "(%s)", a->stored_rows));
}

/* Lists the tables in order of FROM. */
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

/* Joins the names of the tables and of the aggregated columns by underscores. */
static const char *table_name(struct storing *s, const struct ambiguity *a)
{
    const char *name = a->tables[0];

    for (int i = 1; i < a->n_tables; i++)
        name = strings_printf(&s->r.out->text, "%s_%s", name, a->tables[i]);
    for (int i = 0; i < s->n_aggregated; i++)
        name = strings_printf(&s->r.out->text, "%s_%s", name, column_name(s, s->aggregated[i].column));
    return strings_keep(&s->r.out->text, name);
}

/* Removes the newest record and counts its fault. */
static void reject(struct storing *s, enum ambiguity_fault fault)
{
    s->r.out->n--;
    ambiguity_reject(s->r.out, fault);
}

static void add_aggregates(struct storing *s)
{
    struct ambiguity *a = ambiguity_add(s->r.out, s->r.q, SIA_AGGREGATE);
    struct ambiqt_record *r = &a->record;

    if (!set_tables(s, a) || !set_columns(s, a)) {
        reject(s, FAULT_FORM);
        return;
    }
    s->new_table = table_name(s, a);
    if (!names_are_free(s, r->new_columns, r->n_new_columns)) {
        reject(s, FAULT_NAME);
        return;
    }
    r->table = a->tables[0];
    r->key = ambiguity_key(s->r.q->schema, s->core->from->table);
    r->key = r->key ? strings_keep(&s->r.out->text, r->key) : NULL;
    r->column = a->stored[a->n_plain + a->number];
    set_interpretations(s, a, "");
}

/* Returns true if the query computes an aggregate that a table could store. */
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
            ambiguity_reject(out, FAULT_FORM);
    }
    storing_release(&s);
}

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

/* Returns true for one aggregated column of one table that the query does not name outside the aggregates. */
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
        set_interpretations(s, a, other_columns(s));
    else
        reject(s, FAULT_NAME);
}

void resolved_one_table(struct ambiguities *out, const struct ambiguate_question *q)
{
    struct storing s = { .edits.sql = q->sql, .train = true };

    if (resolved_query_init(&s.r, out, q) == 0) {
        if (!read_query(&s) || !is_of_one_column(&s) || s.n_plain == AMBIGUITY_MAX_STORED) {
            if (computes(&s.r))
                ambiguity_reject(out, FAULT_FORM);
        } else if (!ambiguity_key(q->schema, s.core->from->table))
            ambiguity_reject(out, FAULT_KEY);
        else
            add_one_table(&s);
    }
    storing_release(&s);
}

/* Schema edits D and R, and type C: a column of the query is deleted, or two others replace it. */

/* Pairs of modifiers that distinguish two columns of one meaning, by the type of the replaced column. */
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

/* A resolved query with the element mentions of its question. */
struct understood_query {
    struct resolved_query r;
    float *mentions; /* [elements][ELEMENT_MENTIONS] */
    bool *asked;     /* [columns] used outside join conditions */
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

/* Returns the place of the column's name in this use, behind an alias or within quotes. NULL if the use is *, a
 * result's alias or a word that also means another column. */
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

/* Returns true if the column is no key, the question mentions it, and every use names it. */
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

/* The state of renaming a column, with the conflicts that were found. */
struct renaming {
    const struct understood_query *e;
    struct sql_edits *edits;
    int column;
    const char *name; /* the new name */
    bool aliased;     /* a result or a column of a CTE has the old name as its alias */
    bool captured;    /* another table has the new name, and it stands there without a qualifier */
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

/* Returns the query with the column renamed. out keeps it. */
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

/* Returns true if an alias has the column's name, so that the name may mean another value. */
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

/* Returns true if the new name means the new column wherever the old name stands. */
static bool is_free(const struct understood_query *e, int c, const char *name)
{
    struct renaming n = { .e = e, .column = c, .name = name };
    const struct sql_walker walker = { .context = &n, .expr = note_capture };
    const struct schema *s = e->r.q->schema;

    sql_walk(&walker, e->r.query->select);
    return !n.captured && schema_column_find(s, s->columns[c].table, name) < 0 && !resolved_query_says(&e->r, name);
}

/* Returns true if the question contains the word. */
static bool question_says(const char *question, const char *word)
{
    enum { MOST = 512 };
    uint32_t words[MOST], wanted = word_hash(word);
    int n = words_read(question, words, MOST);

    while (n > 0 && words[n - 1] != wanted)
        n--;
    return n > 0;
}

/* Finds two names that the table does not have. The question must not contain the modifier of either name. */
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
        a->record.interpretations[k] = rename_column(e, c, pair->names[k]);
    }
}

/* SQLite drops the name of a column called "true" or "false" when it passes a sub-query on. */
static bool is_truth(const char *name)
{
    return strcasecmp(name, "true") == 0 || strcasecmp(name, "false") == 0;
}

/* Returns true if the column can be renamed. Otherwise it counts a rejected record. */
static bool renamable(const struct understood_query *e, int c)
{
    bool good = !e->r.natural && by_name(e, c) && !is_aliased(e, c) && !is_truth(e->r.q->schema->columns[c].name);

    if (!good)
        ambiguity_reject(e->r.out, FAULT_FORM);
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

/* Returns true if the outermost SELECT names the column. A star does not count. */
static bool selected(const struct understood_query *e, int c)
{
    bool found = false;

    for (int i = 0; i < e->r.uses.n && !found; i++) {
        const struct sql_use *u = &e->r.uses.list[i];
        found = u->column == c && u->clause == SQL_SELECT && u->depth == 0 && e->r.q->sql[u->end - 1] != '*';
    }
    return found;
}

void resolved_columns(struct ambiguities *out, const struct ambiguate_question *q)
{
    const struct schema *s = q->schema;
    struct understood_query e;
    struct synonym_pair pair;

    if (understand(&e, out, q))
        for (int c = 0; c < s->n_columns; c++) {
            const char *table = s->tables[s->columns[c].table].name;
            if (!selected(&e, c) || !synonym_finder_find(q->synonyms, &pair, s, table, s->columns[c].name) ||
                !renamable(&e, c))
                continue;
            if (is_free(&e, c, pair.names[0]) && is_free(&e, c, pair.names[1]))
                add_renamed(&e, SIA_COLUMN, c, &pair);
            else
                ambiguity_reject(out, FAULT_NAME);
        }
    editing_release(&e);
}
