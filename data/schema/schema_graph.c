#include "data/schema/schema_graph.h"

#include "data/base/text_fold.h"
#include "data/schema/element_name.h"
#include "data/schema/schema.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The edges while they are collected. */
struct edge_list {
    struct schema_edge *edges;
    int n, cap;
    const int32_t *node;
};

static void add(struct edge_list *d, int from, int to, enum schema_edge_type type)
{
    GROW(d->edges, d->n, d->cap);
    d->edges[d->n++] = (struct schema_edge){ d->node[from], d->node[to], (int32_t)type };
}

/* Adds an edge and, if `both`, its reverse, whose type is the next number. */
static void add_ways(struct edge_list *d, int from, int to, enum schema_edge_type type, bool both)
{
    add(d, from, to, type);
    if (both)
        add(d, to, from, type + 1);
}

static void add_columns(struct edge_list *d, const struct schema *s, enum graph_mode mode)
{
    bool both = mode != GRAPH_PAPER && mode != GRAPH_MONO;

    for (int c = 0; c < s->n_columns; c++) {
        int column = s->n_tables + c, table = s->columns[c].table;
        if (s->columns[c].primary)
            add_ways(d, table, column, EDGE_PK, both);
        else if (mode == GRAPH_MONO)
            add(d, table, column, EDGE_BELONGS_REV);
        if (mode == GRAPH_PAPER || (both && !s->columns[c].primary))
            add_ways(d, column, table, EDGE_BELONGS, both);
    }
}

static void add_foreign_keys(struct edge_list *d, const struct schema *s, enum graph_mode mode)
{
    bool both = mode != GRAPH_PAPER && mode != GRAPH_MONO;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        int from = s->foreign_keys[i].from, to = s->foreign_keys[i].to;
        add_ways(d, s->n_tables + from, s->n_tables + to, EDGE_FK, both);
        if (mode != GRAPH_PAPER)
            add_ways(d, s->columns[from].table, s->columns[to].table, EDGE_TFK, both);
    }
}

/* Adds similar names within groups, so that tables without a key to a group do not change its edges. */
static void add_similar(struct edge_list *d, const struct schema *s)
{
    int n_elements = s->n_tables + s->n_columns, n = 0, cap = 0, *group = schema_groups(s);
    struct element_name *names = xmalloc((size_t)n_elements * sizeof *names);
    struct similar_pair *pairs = NULL;

    for (int i = 0; i < n_elements; i++)
        element_name_read(&names[i], i < s->n_tables ? s->tables[i].text : s->columns[i - s->n_tables].text);
    similar_names(names, 0, s->n_tables, &pairs, &n, &cap);
    similar_names(names, s->n_tables, n_elements, &pairs, &n, &cap);
    for (int i = 0; i < n; i++)
        if (group[schema_table_of(s, pairs[i].a)] == group[schema_table_of(s, pairs[i].b)]) {
            add(d, pairs[i].a, pairs[i].b, EDGE_SIMILAR);
            add(d, pairs[i].b, pairs[i].a, EDGE_SIMILAR);
        }
    free(group);
    free(pairs);
    free(names);
}

static int by_target(const void *x, const void *y)
{
    const struct schema_edge *a = x, *b = y;
    if (a->target != b->target)
        return (a->target > b->target) - (a->target < b->target);
    if (a->source != b->source)
        return (a->source > b->source) - (a->source < b->source);
    return (a->type > b->type) - (a->type < b->type);
}

/* Sorts, removes loops and duplicates, and writes each edge `times` times with one loop for each node. */
static void finish(struct schema_graph *g, struct edge_list *d, int n_nodes, int times)
{
    int n = 0;

    if (d->n)
        qsort(d->edges, (size_t)d->n, sizeof *d->edges, by_target);
    g->edges = xmalloc(((size_t)d->n * (size_t)times + (size_t)n_nodes) * sizeof *g->edges);
    for (int i = 0; i < d->n; i++) {
        struct schema_edge *e = &d->edges[i], *last = n ? &g->edges[n - 1] : NULL;
        bool again = last && last->source == e->source && last->target == e->target;
        for (int k = 0; e->source != e->target && !again && k < times; k++)
            g->edges[n++] = *e;
    }
    for (int i = 0; i < n_nodes; i++)
        g->edges[n++] = (struct schema_edge){ i, i, EDGE_SELF };
    qsort(g->edges, (size_t)n, sizeof *g->edges, by_target);
    g->n_edges = n;
    g->n_nodes = n_nodes;
    free(d->edges);
}

struct named_element {
    char *text; /* in lower case */
    int element;
};

static int by_text(const void *x, const void *y)
{
    const struct named_element *a = x, *b = y;
    int order = strcmp(a->text, b->text);
    return order ? order : (a->element > b->element) - (a->element < b->element);
}

static struct named_element *sorted_names(const struct schema *s, int n)
{
    struct named_element *list = xmalloc((size_t)n * sizeof *list + 1);

    for (int i = 0; i < n; i++)
        list[i] =
            (struct named_element){ text_lower(i < s->n_tables ? s->tables[i].text : s->columns[i - s->n_tables].text),
                                    i };
    if (n)
        qsort(list, (size_t)n, sizeof *list, by_text);
    return list;
}

/* Gives elements of the same name one node, numbered by first appearance.  The node of "*" comes last unless an element
 * has that name.  Returns the number of nodes. */
static int merge_by_name(int32_t *node, const struct schema *s)
{
    int n = s->n_tables + s->n_columns, nodes = 0;
    struct named_element *list = sorted_names(s, n);
    bool star = false;

    for (int i = 0, first = 0; i < n; i++) {
        if (i && strcmp(list[i].text, list[first].text) != 0)
            first = i;
        node[list[i].element] = list[first].element;
        star |= !strcmp(list[i].text, SCHEMA_STAR);
    }
    for (int i = 0; i < n; i++) {
        node[i] = node[i] == i ? nodes++ : node[node[i]];
        free(list[i].text);
    }
    free(list);
    return nodes + !star;
}

void schema_graph_init(struct schema_graph *g, const struct schema *s, enum graph_mode mode)
{
    int n = s->n_tables + s->n_columns, n_nodes = n;

    *g = (struct schema_graph){ .n_elements = n, .node = xmalloc((size_t)n * sizeof *g->node) };
    for (int i = 0; i < n; i++)
        g->node[i] = i;
    if (mode == GRAPH_REPRODUCTION)
        n_nodes = merge_by_name(g->node, s);
    struct edge_list d = { .node = g->node };
    add_columns(&d, s, mode);
    add_foreign_keys(&d, s, mode);
    if (mode == GRAPH_TYPED)
        add_similar(&d, s);
    finish(g, &d, n_nodes, mode == GRAPH_REPRODUCTION ? 2 : 1);
}

/* A set of node pairs a < b.  A slot holds a * n + b + 1, or 0 if it is free. */
struct pair_set {
    uint64_t *slots, mask;
};

static bool pair_set_add(struct pair_set *p, uint64_t value)
{
    uint64_t at = value * 0x9E3779B97F4A7C15u >> 20 & p->mask;

    while (p->slots[at] && p->slots[at] != value)
        at = (at + 1) & p->mask;
    if (p->slots[at])
        return false;
    p->slots[at] = value;
    return true;
}

void schema_graph_init_random(struct schema_graph *g, int n, double mult, uint64_t seed)
{
    double max = 0.5 * n * (n - 1.0), wanted = floor(mult * n) < max ? floor(mult * n) : max;
    struct rng rng = { .seed = seed };
    struct pair_set set = { .mask = 63 };
    struct edge_list d = { 0 };

    *g = (struct schema_graph){ .n_elements = n, .node = xmalloc((size_t)n * sizeof *g->node) };
    for (int i = 0; i < n; i++)
        g->node[i] = i;
    d.node = g->node;
    while ((double)set.mask < wanted + 2)
        set.mask = 2 * set.mask + 1;
    set.slots = xcalloc(set.mask + 1, sizeof *set.slots);
    while (d.n < wanted) {
        int a = (int)rng_below(&rng, (uint32_t)n), b = (int)rng_below(&rng, (uint32_t)n);
        int low = a < b ? a : b, high = a < b ? b : a;
        if (a == b || !pair_set_add(&set, (uint64_t)low * (uint64_t)n + (uint64_t)high + 1))
            continue;
        add(&d, a, b, EDGE_BELONGS);
        add(&d, b, a, EDGE_BELONGS);
    }
    free(set.slots);
    finish(g, &d, n, 1);
}

void schema_graph_release(struct schema_graph *g)
{
    free(g->edges);
    free(g->node);
    *g = (struct schema_graph){ 0 };
}
