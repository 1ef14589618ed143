#include "data/published/spider_match.h"

#include "data/published/spider_sql.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool spider_same_column(const struct spider_column *a, const struct spider_column *b)
{
    return a->aggregate == b->aggregate && a->column == b->column && a->distinct == b->distinct;
}

static bool spider_same_unit(const struct spider_unit *a, const struct spider_unit *b)
{
    return a->op == b->op && a->binary == b->binary && spider_same_column(&a->columns[0], &b->columns[0]) &&
           (!a->binary || spider_same_column(&a->columns[1], &b->columns[1]));
}

static bool spider_same_units(const struct spider_unit *a, int n_a, const struct spider_unit *b, int n_b)
{
    bool same = n_a == n_b;

    for (int i = 0; same && i < n_a; i++)
        same = spider_same_unit(&a[i], &b[i]);
    return same;
}

static bool spider_same_item(const struct spider_item *a, const struct spider_item *b)
{
    return a->aggregate == b->aggregate && spider_same_unit(&a->unit, &b->unit);
}

static bool spider_same_sql(const struct spider_sql *a, const struct spider_sql *b);

static bool same_value(const struct spider_value *a, const struct spider_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case SPIDER_QUERY:
        return spider_same_sql(a->query, b->query);
    case SPIDER_STRING:
        return strcmp(a->text, b->text) == 0;
    case SPIDER_NUMBER:
        return a->number >= b->number && a->number <= b->number;
    case SPIDER_COLUMN:
        return spider_same_column(&a->column, &b->column);
    default:
        return true;
    }
}

static bool spider_same_term(const struct spider_term *a, const struct spider_term *b)
{
    return a->kind == b->kind && a->negated == b->negated && a->op == b->op && spider_same_unit(&a->unit, &b->unit) &&
           same_value(&a->values[0], &b->values[0]) && same_value(&a->values[1], &b->values[1]);
}

static bool spider_same_conditions(const struct spider_conditions *a, const struct spider_conditions *b)
{
    bool same = a->n == b->n;

    for (int i = 0; same && i < a->n; i++)
        same = spider_same_term(&a->items[i], &b->items[i]);
    return same;
}

static bool spider_same_source(const struct spider_source *a, const struct spider_source *b)
{
    return a->table == b->table && spider_same_sql(a->query, b->query);
}

static bool same_select(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->distinct == b->distinct && a->n_select == b->n_select;

    for (int i = 0; same && i < a->n_select; i++)
        same = spider_same_item(&a->select[i], &b->select[i]);
    return same;
}

static bool same_from(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->n_from == b->n_from && spider_same_conditions(&a->on, &b->on);

    for (int i = 0; same && i < a->n_from; i++)
        same = spider_same_source(&a->from[i], &b->from[i]);
    return same;
}

static bool same_group(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->n_group == b->n_group;

    for (int i = 0; same && i < a->n_group; i++)
        same = spider_same_column(&a->group[i], &b->group[i]);
    return same;
}

static bool same_end(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->ordered == b->ordered && a->descending == b->descending && a->limited == b->limited &&
                a->limit == b->limit && spider_same_units(a->order, a->n_order, b->order, b->n_order);

    for (int i = 0; same && i < SPIDER_SETS; i++)
        same = spider_same_sql(a->sets[i], b->sets[i]);
    return same;
}

/* Whether two queries are equal in everything, in order; either may be NULL. */
static bool spider_same_sql(const struct spider_sql *a, const struct spider_sql *b)
{
    if (!a || !b)
        return !a && !b;
    return same_select(a, b) && same_from(a, b) && spider_same_conditions(&a->where, &b->where) && same_group(a, b) &&
           spider_same_conditions(&a->having, &b->having) && same_end(a, b);
}

/* Connects columns by foreign keys in their order. A key joins the first set that contains one of its columns, even if
 * the other column is in a later set. If two sets contain a column, the later one decides. */
static void connect(int *canonical, const struct schema *s)
{
    int n_sets = 0;
    int8_t *member = xcalloc((size_t)(s->n_foreign_keys + 1) * (size_t)(s->n_columns + 1), 1);

    for (int k = 0; k < s->n_foreign_keys; k++) {
        struct schema_foreign_key key = s->foreign_keys[k];
        int set = 0;
        while (set < n_sets && !member[set * s->n_columns + key.from] && !member[set * s->n_columns + key.to])
            set++;
        n_sets += set == n_sets;
        member[set * s->n_columns + key.from] = member[set * s->n_columns + key.to] = 1;
    }
    for (int set = 0; set < n_sets; set++) {
        int first = -1;
        for (int c = 0; c < s->n_columns; c++) {
            if (!member[set * s->n_columns + c])
                continue;
            first = first < 0 ? c : first;
            canonical[c] = first;
        }
    }
    free(member);
}

void spider_schema_init(struct spider_schema *s, const struct schema *schema)
{
    *s = (struct spider_schema){ schema, xcalloc((size_t)schema->n_columns + 1, sizeof *s->canonical) };
    for (int c = 0; c < schema->n_columns; c++)
        s->canonical[c] = c;
    connect(s->canonical, schema);
}

void spider_schema_release(struct spider_schema *s)
{
    free(s->canonical);
    *s = (struct spider_schema){ 0 };
}

struct spider_query {
    struct spider_tree tree;
    const struct spider_sql *sql; /* the tree's, or empty */
    struct spider_sql empty;
};

static bool remove_values(struct spider_sql *s);

/* Handles a term at an even place. */
static bool remove_values_of(struct spider_term *term)
{
    bool good = term->kind == SPIDER_CONDITION;

    for (int v = 0; v < 2 && good; v++) {
        if (term->values[v].kind == SPIDER_QUERY)
            good = remove_values(term->values[v].query);
        else
            term->values[v] = (struct spider_value){ 0 };
    }
    return good;
}

/* Removes the values of conditions, also in nested queries of conditions, but not in queries of FROM. False if a link
 * stands in the place of a condition, on which the evaluator fails. */
static bool remove_values(struct spider_sql *s)
{
    struct spider_conditions *const lists[] = { &s->on, &s->where, &s->having };
    bool good = true;

    for (int l = 0; l < ARRAY_LEN(lists); l++)
        for (int i = 0; i < lists[l]->n && good; i += 2)
            good = remove_values_of(&lists[l]->items[i]);
    for (int i = 0; i < SPIDER_SETS; i++)
        good = good && (!s->sets[i] || remove_values(s->sets[i]));
    return good;
}

/* False if a condition in the place of a link has a nested query, on which the evaluator fails. */
static bool has_plain_links(const struct spider_sql *s)
{
    bool good = true;

    for (int i = 1; i < s->where.n && good; i += 2)
        good = s->where.items[i].values[0].kind != SPIDER_QUERY && s->where.items[i].values[1].kind != SPIDER_QUERY;
    for (int i = 0; i < SPIDER_SETS && good; i++)
        good = !s->sets[i] || has_plain_links(s->sets[i]);
    return good;
}

/* The tables of the outermost query, whose columns are replaced by their representatives. */
struct rebuild {
    const struct spider_schema *schema;
    bool *in_from;
};

static void rebuild_column(const struct rebuild *r, struct spider_column *c)
{
    c->distinct = SPIDER_DISTINCT_ANY;
    if (c->column != SPIDER_ALL && r->in_from[r->schema->schema->columns[c->column].table])
        c->column = r->schema->canonical[c->column];
}

static void rebuild_unit(const struct rebuild *r, struct spider_unit *u)
{
    rebuild_column(r, &u->columns[0]);
    if (u->binary)
        rebuild_column(r, &u->columns[1]);
}

static void rebuild_conditions(const struct rebuild *r, struct spider_conditions *list)
{
    for (int i = 0; i < list->n; i += 2)
        rebuild_unit(r, &list->items[i].unit);
}

/* Queries in conditions and in FROM stay unchanged. */
static void rebuild_columns(const struct rebuild *r, struct spider_sql *s)
{
    s->distinct = SPIDER_DISTINCT_ANY;
    for (int i = 0; i < s->n_select; i++)
        rebuild_unit(r, &s->select[i].unit);
    for (int i = 0; i < s->n_group; i++)
        rebuild_column(r, &s->group[i]);
    for (int i = 0; i < s->n_order; i++)
        rebuild_unit(r, &s->order[i]);
    rebuild_conditions(r, &s->on);
    rebuild_conditions(r, &s->where);
    rebuild_conditions(r, &s->having);
    for (int i = 0; i < SPIDER_SETS; i++)
        if (s->sets[i])
            rebuild_columns(r, s->sets[i]);
}

/* False if the evaluator would fail. */
static bool rebuild(const struct spider_schema *schema, struct spider_sql *s)
{
    struct rebuild r = { schema, xcalloc((size_t)schema->schema->n_tables + 1, sizeof *r.in_from) };

    for (int i = 0; i < s->n_from; i++)
        if (!s->from[i].query)
            r.in_from[s->from[i].table] = true;
    bool good = remove_values(s) && has_plain_links(s);
    rebuild_columns(&r, s);
    free(r.in_from);
    return good;
}

struct spider_query *spider_query_new(const struct spider_schema *s, const char *sql)
{
    struct spider_query *q = xcalloc(1, sizeof *q);

    spider_tree_parse(&q->tree, s->schema, sql);
    bool good = q->tree.top && rebuild(s, q->tree.top);
    q->sql = good ? q->tree.top : &q->empty;
    return q;
}

void spider_query_free(struct spider_query *q)
{
    if (!q)
        return;
    spider_tree_release(&q->tree);
    free(q);
}

bool spider_query_parsed(const struct spider_query *q)
{
    return q->sql != &q->empty;
}

int spider_query_items(const struct spider_query *q)
{
    return q->sql->n_select;
}

bool spider_same_key(const struct spider_query *a, int i, const struct spider_query *b, int j)
{
    const struct spider_unit *x = &a->sql->select[i].unit, *y = &b->sql->select[j].unit;
    return x->binary == y->binary && (x->binary ? spider_same_unit(x, y) : spider_same_column(x->columns, y->columns));
}

static const char *const component_names[] = { "select", "select(no AGG)", "where",  "where(no OP)", "group(no Having)",
                                               "group",  "order",          "and/or", "IUEN",         "keywords" };
static const char *const hardness_names[] = { "easy", "medium", "hard", "extra" };

const char *spider_component_name(enum spider_component c)
{
    return component_names[c];
}

const char *spider_hardness_name(enum spider_hardness h)
{
    return hardness_names[h];
}

/* The two queries of a comparison. */
struct spider_pair {
    const struct spider_schema *schema;
    const struct spider_sql *a, *b;
};

/* Compares part i of a with part j of b. */
typedef bool same_part(const struct spider_pair *p, int i, int j);

/* Whether the parts are equal as multisets. */
static bool same_bag(const struct spider_pair *p, int n_a, int n_b, same_part *same)
{
    bool *used = xcalloc((size_t)n_b + 1, sizeof *used), all = n_a == n_b;

    for (int i = 0; all && i < n_a; i++) {
        int j = 0;
        while (j < n_b && (used[j] || !same(p, i, j)))
            j++;
        all = j < n_b;
        used[j] = true;
    }
    free(used);
    return all;
}

static bool same_item(const struct spider_pair *p, int i, int j)
{
    return spider_same_item(&p->a->select[i], &p->b->select[j]);
}

static bool same_item_unit(const struct spider_pair *p, int i, int j)
{
    return spider_same_unit(&p->a->select[i].unit, &p->b->select[j].unit);
}

static bool same_condition(const struct spider_pair *p, int i, int j)
{
    return spider_same_term(&p->a->where.items[2 * i], &p->b->where.items[2 * j]);
}

static bool same_condition_unit(const struct spider_pair *p, int i, int j)
{
    return spider_same_unit(&p->a->where.items[2 * i].unit, &p->b->where.items[2 * j].unit);
}

static bool same_source(const struct spider_pair *p, int i, int j)
{
    return spider_same_source(&p->a->from[i], &p->b->from[j]);
}

/* Compares names only, of any table. */
static bool same_group_name(const struct spider_pair *p, int i, int j)
{
    int x = p->a->group[i].column, y = p->b->group[j].column;
    if (x == SPIDER_ALL || y == SPIDER_ALL)
        return x == y;
    return strcasecmp(p->schema->schema->columns[x].name, p->schema->schema->columns[y].name) == 0;
}

/* Equal GROUP BY columns in order, with equal HAVING. HAVING without GROUP BY is ignored. */
static bool match_group(const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = a->n_group == b->n_group && spider_same_conditions(&a->having, &b->having);

    for (int i = 0; same && i < a->n_group; i++)
        same = a->group[i].column == b->group[i].column;
    return same;
}

static bool match_order(const struct spider_sql *a, const struct spider_sql *b)
{
    return a->descending == b->descending && a->limited == b->limited &&
           spider_same_units(a->order, a->n_order, b->order, b->n_order);
}

/* Whether the first n terms at odd places include this one. */
static bool has_link(const struct spider_conditions *list, int n, const struct spider_term *link)
{
    bool found = false;

    for (int i = 1; i < n && !found; i += 2)
        found = spider_same_term(&list->items[i], link);
    return found;
}

/* The number of distinct terms at odd places. */
static int n_links(const struct spider_conditions *list)
{
    int n = 0;

    for (int i = 1; i < list->n; i += 2)
        n += !has_link(list, i, &list->items[i]);
    return n;
}

static bool same_links(const struct spider_conditions *a, const struct spider_conditions *b)
{
    bool same = n_links(a) == n_links(b);

    for (int i = 1; same && i < a->n; i += 2)
        same = has_link(b, b->n, &a->items[i]);
    return same;
}

enum {
    WHERE = 1,
    GROUP = 2,
    HAVING = 4,
    ORDER = 8,
    DESC = 16,
    ASC = 32,
    LIMIT = 64,
    OR = 128,
    NOT = 256,
    IN = 512,
    LIKE = 1024,
    FIRST_SET = 2048
};

static int condition_keywords(const struct spider_conditions *list)
{
    int set = 0;

    for (int i = 0; i < list->n; i++) {
        const struct spider_term *term = &list->items[i];
        if (i % 2)
            set |= term->kind == SPIDER_OR ? OR : 0;
        else
            set |= (term->negated ? NOT : 0) | (term->op == SPIDER_IN ? IN : 0) | (term->op == SPIDER_LIKE ? LIKE : 0);
    }
    return set;
}

static int keywords(const struct spider_sql *s)
{
    int direction = s->descending ? DESC : ASC;
    int set = (s->where.n ? WHERE : 0) | (s->n_group ? GROUP : 0) | (s->having.n ? HAVING : 0) |
              (s->ordered ? ORDER | direction : 0) | (s->limited ? LIMIT : 0);

    for (int i = 0; i < SPIDER_SETS; i++)
        set |= s->sets[i] ? FIRST_SET << i : 0;
    return set | condition_keywords(&s->on) | condition_keywords(&s->where) | condition_keywords(&s->having);
}

/* The number of conditions, which are the terms at even places. */
static int n_conditions(const struct spider_conditions *list)
{
    return (list->n + 1) / 2;
}

static bool match(const struct spider_schema *s, const struct spider_sql *a, const struct spider_sql *b);

static void put_component(struct spider_comparison *c, enum spider_component which, int predicted, int gold, bool same)
{
    c->predicted[which] = predicted;
    c->gold[which] = gold;
    c->same[which] = predicted == gold && same;
}

static void compare_select(struct spider_comparison *c, const struct spider_pair *p)
{
    int a = p->a->n_select, b = p->b->n_select;

    put_component(c, SPIDER_SELECT, a, b, same_bag(p, a, b, same_item));
    put_component(c, SPIDER_SELECT_COLUMNS, a, b, same_bag(p, a, b, same_item_unit));
}

static void compare_where(struct spider_comparison *c, const struct spider_pair *p)
{
    const struct spider_conditions *a = &p->a->where, *b = &p->b->where;
    int n_a = n_conditions(a), n_b = n_conditions(b);
    bool same = same_links(a, b);

    put_component(c, SPIDER_WHERE, n_a, n_b, same_bag(p, n_a, n_b, same_condition));
    put_component(c, SPIDER_WHERE_COLUMNS, n_a, n_b, same_bag(p, n_a, n_b, same_condition_unit));
    /* The evaluator exchanges the two numbers if they differ, and sets both to 1 if the links are equal. */
    put_component(c, SPIDER_AND_OR, same ? 1 : n_links(b), same ? 1 : n_links(a), same);
}

static void compare_group(struct spider_comparison *c, const struct spider_pair *p)
{
    int a = p->a->n_group, b = p->b->n_group;

    put_component(c, SPIDER_GROUP_NAMES, a, b, same_bag(p, a, b, same_group_name));
    put_component(c, SPIDER_GROUP, a > 0, b > 0, (!a && !b) || match_group(p->a, p->b));
}

static void compare_sets(struct spider_comparison *c, const struct spider_pair *p)
{
    int n_a = 0, n_b = 0;
    bool same = true;

    for (int i = 0; i < SPIDER_SETS; i++) {
        const struct spider_sql *a = p->a->sets[i], *b = p->b->sets[i];
        n_a += a != NULL;
        n_b += b != NULL;
        same = same && !a == !b && (!a || match(p->schema, a, b));
    }
    put_component(c, SPIDER_SET_OPERATORS, n_a, n_b, same);
}

static int n_bits(int set)
{
    int n = 0;

    for (; set; set &= set - 1)
        n++;
    return n;
}

static void compare(struct spider_comparison *c, const struct spider_pair *p)
{
    int a = keywords(p->a), b = keywords(p->b), n_from = p->b->n_from;

    *c = (struct spider_comparison){ 0 };
    compare_select(c, p);
    compare_where(c, p);
    compare_group(c, p);
    put_component(c, SPIDER_ORDER, p->a->ordered, p->b->ordered, !p->a->ordered || match_order(p->a, p->b));
    compare_sets(c, p);
    put_component(c, SPIDER_KEYWORDS, n_bits(a), n_bits(b), a == b);
    c->exact = n_from == 0 || same_bag(p, p->a->n_from, n_from, same_source); /* SELECT * FROM has no table */
    for (int i = 0; i < SPIDER_COMPONENTS; i++)
        c->exact = c->exact && c->same[i];
}

static bool match(const struct spider_schema *s, const struct spider_sql *a, const struct spider_sql *b)
{
    struct spider_comparison c;

    compare(&c, &(struct spider_pair){ s, a, b });
    return c.exact;
}

void spider_compare(struct spider_comparison *c, const struct spider_schema *s, const struct spider_query *predicted,
                    const struct spider_query *gold)
{
    compare(c, &(struct spider_pair){ s, predicted->sql, gold->sql });
}

bool spider_match(const struct spider_schema *s, const struct spider_query *predicted, const struct spider_query *gold)
{
    return match(s, predicted->sql, gold->sql);
}

/* Whether the outermost FROM has the same sources, in any order. */
static bool same_tables(const struct spider_schema *s, const struct spider_query *a, const struct spider_query *b)
{
    return same_bag(&(struct spider_pair){ s, a->sql, b->sql }, a->sql->n_from, b->sql->n_from, same_source);
}

/* The joins of a query and of all queries within it: the sources of FROM after the first. */
static int query_joins(const struct spider_query *q)
{
    int n = 0;

    for (int i = 0; i < q->tree.n && spider_query_parsed(q); i++)
        n += q->tree.nodes[i]->n_from > 1 ? q->tree.nodes[i]->n_from - 1 : 0;
    return n;
}

static void blank_unit(struct spider_unit *u)
{
    u->columns[0].column = u->columns[1].column = SPIDER_ALL;
}

static void blank_conditions(struct spider_conditions *list)
{
    for (int i = 0; i < list->n; i++) {
        struct spider_term *term = &list->items[i];
        blank_unit(&term->unit);
        for (int v = 0; v < 2; v++) {
            term->values[v].text = "";
            term->values[v].number = 0;
            term->values[v].column.column = SPIDER_ALL;
        }
    }
}

static void blank_sql(struct spider_sql *s)
{
    for (int i = 0; i < s->n_select; i++)
        blank_unit(&s->select[i].unit);
    for (int i = 0; i < s->n_from; i++)
        s->from[i].table = 0;
    for (int i = 0; i < s->n_group; i++)
        s->group[i].column = SPIDER_ALL;
    for (int i = 0; i < s->n_order; i++)
        blank_unit(&s->order[i]);
    blank_conditions(&s->on);
    blank_conditions(&s->where);
    blank_conditions(&s->having);
    s->limit = 0;
}

/* Makes all names and all values of a kind equal, so that two queries match if they have the same structure. */
static void blank_query(struct spider_query *q)
{
    for (int i = 0; i < q->tree.n; i++)
        blank_sql(q->tree.nodes[i]);
}

/* Terms of conditions that count for the hardness of a query. */
struct condition_counts {
    int ors, likes, nested;
};

static void count_conditions(struct condition_counts *n, const struct spider_conditions *list)
{
    for (int i = 0; i < list->n; i++) {
        const struct spider_term *term = &list->items[i];
        if (i % 2) {
            n->ors += term->kind == SPIDER_OR;
            continue;
        }
        n->likes += term->op == SPIDER_LIKE;
        n->nested += (term->values[0].kind == SPIDER_QUERY) + (term->values[1].kind == SPIDER_QUERY);
    }
}

/* NOT counts as an aggregate in WHERE, and so do NOT and every link in HAVING. */
static int n_aggregates(const struct spider_sql *s)
{
    int n = 0;

    for (int i = 0; i < s->n_select; i++)
        n += s->select[i].aggregate != SPIDER_NO_AGGREGATE;
    for (int i = 0; i < s->where.n; i += 2)
        n += s->where.items[i].negated;
    for (int i = 0; i < s->n_group; i++)
        n += s->group[i].aggregate != SPIDER_NO_AGGREGATE;
    for (int i = 0; i < s->n_order; i++)
        n += (s->order[i].columns[0].aggregate != SPIDER_NO_AGGREGATE) +
             (s->order[i].binary && s->order[i].columns[1].aggregate != SPIDER_NO_AGGREGATE);
    for (int i = 0; i < s->having.n; i++)
        n += s->having.items[i].kind != SPIDER_CONDITION || s->having.items[i].negated;
    return n;
}

enum spider_hardness spider_hardness(const struct spider_query *q)
{
    const struct spider_sql *s = q->sql;
    struct condition_counts n = { 0 };

    count_conditions(&n, &s->on);
    count_conditions(&n, &s->where);
    count_conditions(&n, &s->having);
    for (int i = 0; i < SPIDER_SETS; i++)
        n.nested += s->sets[i] != NULL;
    int clauses = (s->where.n > 0) + (s->n_group > 0) + s->ordered + s->limited + (s->n_from > 0 ? s->n_from - 1 : 0) +
                  n.ors + n.likes;
    int others = (n_aggregates(s) > 1) + (s->n_select > 1) + (s->where.n > 1) + (s->n_group > 1);
    if (clauses <= 1 && others == 0)
        return n.nested == 0 ? SPIDER_EASY : n.nested == 1 ? SPIDER_HARD : SPIDER_EXTRA;
    if (n.nested > 0)
        return SPIDER_EXTRA;
    if ((clauses <= 1 && others <= 2) || (clauses <= 2 && others < 2))
        return SPIDER_MEDIUM;
    return clauses <= 2                  ? others > 2 ? SPIDER_HARD : SPIDER_EXTRA
           : clauses == 3 && others <= 2 ? SPIDER_HARD
                                         : SPIDER_EXTRA;
}

static const char *const error_names[SPIDER_ERRORS] = { "correct", "unparsable", "joins",  "items",
                                                        "shape",   "tables",     "columns" };

const char *spider_error_name(enum spider_error e)
{
    return error_names[e];
}

/* The class of two readable queries that do not match; blanks both. */
static enum spider_error difference(const struct spider_schema *s, struct spider_query *predicted,
                                    struct spider_query *gold)
{
    bool tables = same_tables(s, predicted, gold);

    if (query_joins(predicted) != query_joins(gold))
        return SPIDER_WRONG_JOINS;
    if (spider_query_items(predicted) != spider_query_items(gold))
        return SPIDER_WRONG_ITEMS;
    blank_query(predicted);
    blank_query(gold);
    if (!spider_match(s, predicted, gold))
        return SPIDER_WRONG_SHAPE;
    return tables ? SPIDER_WRONG_COLUMNS : SPIDER_WRONG_TABLES;
}

enum spider_error spider_error_of(const struct spider_schema *s, const char *predicted, const char *gold)
{
    struct spider_query *a = spider_query_new(s, predicted), *b = spider_query_new(s, gold);
    enum spider_error e = SPIDER_CORRECT;

    if (!spider_match(s, a, b))
        e = spider_query_parsed(a) ? difference(s, a, b) : SPIDER_UNPARSABLE;
    spider_query_free(a);
    spider_query_free(b);
    return e;
}
