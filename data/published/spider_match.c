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

static bool spider_same_condition(const struct spider_condition *a, const struct spider_condition *b)
{
    return a->negated == b->negated && a->op == b->op && spider_same_unit(&a->unit, &b->unit) &&
           same_value(&a->values[0], &b->values[0]) && same_value(&a->values[1], &b->values[1]);
}

static bool spider_same_conditions(const struct spider_conditions *a, const struct spider_conditions *b)
{
    bool same = a->n == b->n;

    for (int i = 0; same && i < a->n; i++)
        same = a->items[i].link == b->items[i].link && spider_same_condition(&a->items[i], &b->items[i]);
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

/* Removes the values of conditions, also in nested queries of conditions, but not in queries of FROM. */
static void remove_values(struct spider_sql *s)
{
    struct spider_conditions *const lists[] = { &s->on, &s->where, &s->having };

    for (int l = 0; l < ARRAY_LEN(lists); l++)
        for (int i = 0; i < lists[l]->n; i++)
            for (int v = 0; v < 2; v++) {
                struct spider_value *value = &lists[l]->items[i].values[v];
                if (value->kind == SPIDER_QUERY)
                    remove_values(value->query);
                else
                    *value = (struct spider_value){ 0 };
            }
    for (int i = 0; i < SPIDER_SETS; i++)
        if (s->sets[i])
            remove_values(s->sets[i]);
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
    for (int i = 0; i < list->n; i++)
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

static void rebuild(const struct spider_schema *schema, struct spider_sql *s)
{
    struct rebuild r = { schema, xcalloc((size_t)schema->schema->n_tables + 1, sizeof *r.in_from) };

    for (int i = 0; i < s->n_from; i++)
        if (!s->from[i].query)
            r.in_from[s->from[i].table] = true;
    remove_values(s);
    rebuild_columns(&r, s);
    free(r.in_from);
}

struct spider_query *spider_query_new(const struct spider_schema *s, const char *sql)
{
    struct spider_query *q = xcalloc(1, sizeof *q);

    spider_tree_parse(&q->tree, s->schema, sql);
    if (q->tree.top)
        rebuild(s, q->tree.top);
    q->sql = q->tree.top ? q->tree.top : &q->empty;
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
    return q->tree.top;
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

/* Compares parts of two queries as multisets; the function sees the whole queries. */
typedef bool same_part(const struct spider_schema *s, const struct spider_sql *a, int i, const struct spider_sql *b,
                       int j);

static bool same_bag(const struct spider_schema *s, const struct spider_sql *a, int n_a, const struct spider_sql *b,
                     int n_b, same_part *same)
{
    bool *used = xcalloc((size_t)n_b + 1, sizeof *used), all = n_a == n_b;

    for (int i = 0; all && i < n_a; i++) {
        int j = 0;
        while (j < n_b && (used[j] || !same(s, a, i, b, j)))
            j++;
        all = j < n_b;
        used[j] = true;
    }
    free(used);
    return all;
}

static bool same_item(const struct spider_schema *s, const struct spider_sql *a, int i, const struct spider_sql *b,
                      int j)
{
    (void)s;
    return spider_same_item(&a->select[i], &b->select[j]);
}

static bool same_condition(const struct spider_schema *s, const struct spider_sql *a, int i, const struct spider_sql *b,
                           int j)
{
    (void)s;
    return spider_same_condition(&a->where.items[i], &b->where.items[j]);
}

static bool same_source(const struct spider_schema *s, const struct spider_sql *a, int i, const struct spider_sql *b,
                        int j)
{
    (void)s;
    return spider_same_source(&a->from[i], &b->from[j]);
}

/* Compares names only, of any table. */
static bool same_group_name(const struct spider_schema *s, const struct spider_sql *a, int i,
                            const struct spider_sql *b, int j)
{
    int x = a->group[i].column, y = b->group[j].column;
    if (x == SPIDER_ALL || y == SPIDER_ALL)
        return x == y;
    return strcasecmp(s->schema->columns[x].name, s->schema->columns[y].name) == 0;
}

/* Equal GROUP BY columns in order, with equal HAVING. HAVING without GROUP BY is ignored. */
static bool match_group(const struct spider_sql *a, const struct spider_sql *b)
{
    if (!a->n_group || !b->n_group)
        return !a->n_group && !b->n_group;
    bool same = a->n_group == b->n_group && spider_same_conditions(&a->having, &b->having);
    for (int i = 0; same && i < a->n_group; i++)
        same = a->group[i].column == b->group[i].column;
    return same;
}

static bool match_order(const struct spider_sql *a, const struct spider_sql *b)
{
    if (!a->ordered || !b->ordered)
        return !a->ordered && !b->ordered;
    return a->descending == b->descending && a->limited == b->limited &&
           spider_same_units(a->order, a->n_order, b->order, b->n_order);
}

/* The links between conditions: "and" (1), "or" (2). */
static int links(const struct spider_conditions *list)
{
    int set = 0;

    for (int i = 0; i < list->n; i++)
        set |= (list->items[i].link == SPIDER_AND) | (list->items[i].link == SPIDER_OR) << 1;
    return set;
}

enum { WHERE = 1, GROUP = 2, HAVING = 4, ORDER = 8, DESC = 16, LIMIT = 32, OR = 64, NOT = 128, IN = 256, LIKE = 512 };
enum { FIRST_SET = 1024 };

static int condition_keywords(const struct spider_conditions *list)
{
    int set = links(list) & 2 ? OR : 0;

    for (int i = 0; i < list->n; i++)
        set |= (list->items[i].negated ? NOT : 0) | (list->items[i].op == SPIDER_IN ? IN : 0) |
               (list->items[i].op == SPIDER_LIKE ? LIKE : 0);
    return set;
}

static int keywords(const struct spider_sql *s)
{
    int set = (s->where.n ? WHERE : 0) | (s->n_group ? GROUP : 0) | (s->having.n ? HAVING : 0) |
              (s->ordered ? ORDER : 0) | (s->ordered && s->descending ? DESC : 0) | (s->limited ? LIMIT : 0);

    for (int i = 0; i < SPIDER_SETS; i++)
        set |= s->sets[i] ? FIRST_SET << i : 0;
    return set | condition_keywords(&s->on) | condition_keywords(&s->where) | condition_keywords(&s->having);
}

static bool match(const struct spider_schema *s, const struct spider_sql *a, const struct spider_sql *b)
{
    bool same = same_bag(s, a, a->n_select, b, b->n_select, same_item) &&
                same_bag(s, a, a->where.n, b, b->where.n, same_condition) &&
                same_bag(s, a, a->n_group, b, b->n_group, same_group_name) && match_group(a, b) && match_order(a, b) &&
                links(&a->where) == links(&b->where) && keywords(a) == keywords(b) &&
                same_bag(s, a, a->n_from, b, b->n_from, same_source);

    for (int i = 0; same && i < SPIDER_SETS; i++)
        same = !a->sets[i] || match(s, a->sets[i], b->sets[i]);
    return same;
}

bool spider_match(const struct spider_schema *s, const struct spider_query *predicted, const struct spider_query *gold)
{
    return match(s, predicted->sql, gold->sql);
}
