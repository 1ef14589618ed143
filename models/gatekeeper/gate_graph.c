/* Part of gate_batch.h: graphs and candidate pairs of a batch. */
#include "models/gatekeeper/gate_batch_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Added edges of an added node, so that none is a hub. */
enum { ADDED_DEGREE = 16 };

static const struct schema_graph *graph_of(const struct gate_item *item)
{
    return item->drawn ? item->drawn : &item->schema->graph;
}

void gate_draw_graph(struct schema_graph *g, struct gate_item *item, const struct gatekeeper_config *config)
{
    uint64_t seed = hash_bytes(HASH_START, item->text, strlen(item->text));

    *g = (struct schema_graph){ 0 };
    if (config->random_edges <= 0)
        return;
    schema_graph_init_random(g, item->schema->n_nodes, (double)config->random_edges, seed);
    item->drawn = g;
}

struct gate_sizes gate_sizes_of(const struct gate_item *items, int n)
{
    struct gate_sizes s = { .items = n, .nodes = gate_nodes(items, n) };

    for (int i = 0; i < n; i++) {
        s.edges += graph_of(&items[i])->n_edges;
        s.pairs += items[i].schema->n_pairs;
    }
    return s;
}

int gate_nodes_padded(int nodes)
{
    return (int)batch_bucket(nodes + 1, NODE_STEPS);
}

struct gate_sizes gate_sizes_padded(struct gate_sizes s)
{
    struct gate_sizes p = { .items = (int)batch_bucket(s.items + 1, SEQUENCE_STEPS),
                            .edges = (int)batch_bucket(s.edges, EDGE_STEPS),
                            .pairs = (int)batch_bucket(s.pairs, PAIR_STEPS) };

    p.nodes = (int)batch_bucket(s.nodes + 1 + (p.edges - s.edges) / ADDED_DEGREE, NODE_STEPS);
    return p;
}

struct graph_lists {
    struct edge *edges;
    int32_t *nodes, *pairs, *u, *v;
    float *features;
    int n_edges, n_nodes, n_pairs;
};

static void lists_init(struct graph_lists *l, const struct gate_sizes *s)
{
    size_t items = (size_t)s->items, pairs = (size_t)s->pairs;

    *l = (struct graph_lists){ .edges = xmalloc((size_t)s->edges * sizeof *l->edges),
                               .nodes = xcalloc(items, sizeof *l->nodes),
                               .pairs = xcalloc(items, sizeof *l->pairs),
                               .u = xmalloc(pairs * sizeof *l->u),
                               .v = xmalloc(pairs * sizeof *l->v),
                               .features = xcalloc(pairs * GATE_PAIR_FEATURES, sizeof *l->features) };
}

static void lists_add(struct graph_lists *l, const struct gate_item *of, int item)
{
    const struct schema_input *in = of->schema;
    const struct schema_graph *graph = graph_of(of);
    float *features = l->features + (size_t)l->n_pairs * GATE_PAIR_FEATURES;

    for (int i = 0; i < graph->n_edges; i++) {
        const struct schema_edge *e = &graph->edges[i];
        l->edges[l->n_edges++] = (struct edge){ l->n_nodes + e->source, l->n_nodes + e->target, e->type };
    }
    for (int i = 0; i < in->n_pairs; i++) {
        const struct schema_pair *p = &in->pairs[i];
        l->u[l->n_pairs] = l->n_nodes + p->u;
        l->v[l->n_pairs] = l->n_nodes + p->v;
        memcpy(features + (size_t)i * GATE_PAIR_FEATURES, p->features, sizeof p->features);
        l->n_pairs++;
    }
    if (in->n_pairs) {
        mention_features(in->schema, of->text, in->pairs, in->n_pairs, features + GATE_MENTION_FEATURES,
                         GATE_PAIR_FEATURES);
        match_features(in->match, of->text, in->pairs, in->n_pairs, features + GATE_MATCH_FEATURES, GATE_PAIR_FEATURES);
    }
    l->nodes[item] = in->n_nodes;
    l->pairs[item] = in->n_pairs;
    l->n_nodes += in->n_nodes;
}

/* What is still missing of the sizes, spread evenly; edges stay sorted by target. */
static void lists_pad(struct graph_lists *l, const struct gate_sizes *s, int items)
{
    int first = l->n_nodes, nodes = s->nodes - first, edges = s->edges - l->n_edges;

    for (int i = 0; l->n_nodes < s->nodes; i++, l->n_nodes++)
        l->nodes[items + i % (s->items - items)]++;
    for (int i = 0; i < edges; i++) {
        int node = first + (int)((int64_t)i * nodes / edges);
        l->edges[l->n_edges++] = (struct edge){ node, node, 0 };
    }
    for (int i = 0; l->n_pairs < s->pairs; i++) {
        l->pairs[items + i % (s->items - items)]++;
        l->u[l->n_pairs] = l->v[l->n_pairs] = first + i % nodes;
        l->n_pairs++;
    }
}

static void lists_release(struct graph_lists *l)
{
    free(l->edges);
    free(l->nodes);
    free(l->pairs);
    free(l->u);
    free(l->v);
    free(l->features);
}

/* degree[node] of the edges of a relation, or of all (-1), that come into each node. */
static void count_degrees(int32_t *degree, const struct edge *edges, int n_edges, int relation)
{
    for (int e = 0; e < n_edges; e++)
        degree[edges[e].target] += relation < 0 || edges[e].type == relation;
}

/* 1 / sqrt(d e), d and e the edges into the two ends, their loops among them (Kipf and Welling 2017, section 2); of a
 * relation 1 / d, d its edges into the target (Schlichtkrull et al. 2018, eq. 2 with c = |N|). */
static struct tensor *edge_weights(struct ctx *c, const struct edge *edges, int n_edges, int n_nodes, int relation)
{
    int32_t *degree = xcalloc((size_t)n_nodes, sizeof *degree);
    float *w = xcalloc((size_t)n_edges, sizeof *w);

    count_degrees(degree, edges, n_edges, relation);
    for (int e = 0; e < n_edges; e++) {
        float d = (float)degree[edges[e].target], from = (float)degree[edges[e].source];
        if (relation < 0)
            w[e] = from > 0 ? 1 / sqrtf(d * from) : 0;
        else if (edges[e].type == relation)
            w[e] = 1 / d;
    }
    struct tensor *t = batch_f32(c, w, n_edges, 1, F32);
    free(degree);
    free(w);
    return t;
}

void gate_graph_weights(struct ctx *c, const struct edge *edges, int n_edges, int n_nodes,
                        const struct gatekeeper_config *config, struct gate_graph *graph)
{
    if (config->classifier == CLASSIFIER_GCN)
        graph->weights[0] = edge_weights(c, edges, n_edges, n_nodes, -1);
    for (int r = 0; config->classifier == CLASSIFIER_RGCN && r < config->edge_types; r++)
        graph->weights[r] = edge_weights(c, edges, n_edges, n_nodes, r);
}

void gate_graph_build(struct ctx *c, const struct gate_item *items, int n, const struct gatekeeper_config *config,
                      struct gate_graph *graph)
{
    struct gate_sizes s = gate_sizes_of(items, n);
    struct graph_lists l;

    if (c->buckets)
        s = gate_sizes_padded(s);
    *graph = (struct gate_graph){ 0 };
    lists_init(&l, &s);
    for (int i = 0; i < n; i++)
        lists_add(&l, &items[i], i);
    lists_pad(&l, &s, n);
    graph->graph = batch_graph(c, l.edges, s.edges, s.nodes);
    graph->nodes = batch_segments(c, l.nodes, s.items);
    gate_graph_weights(c, l.edges, s.edges, s.nodes, config, graph);
    if (config->classifier == CLASSIFIER_PAIR) {
        graph->u = batch_index(c, l.u, s.pairs, s.nodes);
        graph->v = batch_index(c, l.v, s.pairs, s.nodes);
        graph->features = batch_f32(c, l.features, s.pairs, GATE_PAIR_FEATURES, F32);
        graph->pairs = batch_segments(c, l.pairs, s.items);
    }
    lists_release(&l);
}
