/* Part of gatekeeper.h: the thesis' classifier and those that it is compared with.  Each pools a state for each
 * question out of the nodes' and makes its logit by one linear layer. */
#include "kernels/batch.h"
#include "models/net/gatekeeper_impl.h"

#include <stdlib.h>

static const float NORM_EPS = 1e-5f;

/* Channels that a layer leaves. */
static int64_t width_of(const struct gatekeeper_config *g)
{
    return g->classifier == CLASSIFIER_GAT_CAT ? (int64_t)g->gat_heads * g->gat_hidden : g->gat_hidden;
}

static bool is_gat(const struct gatekeeper_config *g)
{
    return g->classifier == CLASSIFIER_GAT_MEAN || g->classifier == CLASSIFIER_GAT_CAT;
}

static int64_t input_of(const struct gatekeeper_config *g)
{
    return g->features == FEATURES_RELEVANCE ? 1 : g->bert.hidden_size;
}

static void init_relations(struct gat_layer *l, const struct gatekeeper_config *g, struct param_builder *p, int64_t in)
{
    char name[32];

    for (int r = 0; r < g->edge_types; r++) {
        snprintf(name, sizeof name, "relation.%d.weight", r);
        l->relation[r] = param_matrix(p, g->gat_hidden, in, name);
    }
}

static void init_layer(struct gat_layer *l, const struct gatekeeper_config *g, struct param_builder *p, int number)
{
    int64_t in = number ? width_of(g) : input_of(g), out = width_of(g);
    bool gat = is_gat(g);

    *l = (struct gat_layer){ 0 };
    param_part(p, "classifier.%s.%d.", gat ? "gat" : "gcn", number);
    if (gat)
        gat_layer_init(l, g, p, in, g->classifier == CLASSIFIER_GAT_MEAN);
    else if (g->classifier == CLASSIFIER_RGCN)
        init_relations(l, g, p, in);
    else
        l->w = param_matrix(p, out, in, "weight");
    if (!gat)
        l->bias = param_vector(p, out, 0, "bias");
    if (g->classifier != CLASSIFIER_GAT_CAT)
        return;
    l->norm_w = param_vector(p, out, -1, "norm.weight");
    l->norm_b = param_vector(p, out, 0, "norm.bias");
}

void thesis_init(struct gatekeeper *g, struct param_builder *p, enum dtype dtype)
{
    const struct gatekeeper_config *k = &g->config;
    bool bert_only = k->classifier == CLASSIFIER_BERT_ONLY;
    int64_t pooled = bert_only || k->gat_layers == 0 ? input_of(k) : width_of(k);

    for (int i = 0; !bert_only && i < k->gat_layers; i++) {
        p->dtype = is_gat(k) ? dtype : F32;
        init_layer(&g->gat[i], k, p, i);
    }
    p->dtype = F32;
    param_part(p, "graph.");
    if (bert_only) {
        g->dense_w = param_matrix(p, k->pair_hidden, pooled, "dense.weight");
        g->dense_b = param_vector(p, k->pair_hidden, 0, "dense.bias");
    }
    g->score_w = param_matrix(p, 1, bert_only ? k->pair_hidden : pooled, "score.weight");
    g->score_b = param_vector(p, 1, 0, "score.bias");
    if (k->pool == GATE_POOL_ATTENTION) {
        g->gate_w = param_matrix(p, 1, pooled, "gate.weight");
        g->gate_b = param_vector(p, 1, 0, "gate.bias");
    }
}

/* Each relation's mean over its neighbours, in a matrix of its own (Schlichtkrull et al. 2018, eq. 2; loops are the
 * relation of a node with itself). */
static struct tensor *propagate_relations(struct ctx *c, const struct gatekeeper *g, const struct gat_layer *l,
                                          struct tensor *x, const struct gate_graph *graph)
{
    struct tensor *sum = NULL;

    for (int r = 0; r < g->config.edge_types; r++) {
        struct tensor *from = op_propagate(c, x, graph->weights[r], &graph->graph);
        struct tensor *y = op_linear(c, from, l->relation[r], r ? NULL : l->bias, ACT_NONE);
        sum = sum ? op_add(c, sum, y) : y;
    }
    return sum;
}

static struct tensor *layer_forward(struct ctx *c, const struct gatekeeper *g, const struct gat_layer *l,
                                    struct tensor *x, const struct gate_graph *graph)
{
    switch (g->config.classifier) {
    case CLASSIFIER_RGCN:
        return op_activation(c, propagate_relations(c, g, l, x, graph), ACT_RELU);
    case CLASSIFIER_GCN:
        return op_linear(c, op_propagate(c, x, graph->weights[0], &graph->graph), l->w, l->bias, ACT_RELU);
    case CLASSIFIER_GAT_CAT:
        x = gat_layer_forward(c, g, l, x, &graph->graph, false);
        return op_activation(c, op_layer_norm(c, x, NULL, l->norm_w, l->norm_b, NORM_EPS), ACT_ELU);
    default:
        return op_activation(c, gat_layer_forward(c, g, l, x, &graph->graph, true), ACT_ELU);
    }
}

static struct tensor *pool(struct ctx *c, const struct gatekeeper *g, struct tensor *x, const struct gate_graph *graph)
{
    if (g->config.pool == GATE_POOL_ATTENTION)
        return op_attention_pool(c, x, gatekeeper_logits(c, x, g->gate_w, g->gate_b), &graph->nodes);
    return op_segment_pool(c, x, &graph->nodes, g->config.pool == GATE_POOL_SUM ? POOL_SUM : POOL_MEAN);
}

/* What the classifier knows of each node. */
static struct tensor *features_of(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    if (g->config.features == FEATURES_STATES)
        return states;
    struct tensor *r = gatekeeper_relevance(c, g, gatekeeper_as(c, states, g->relevance_w->dtype));
    int64_t shape[] = { tensor_size(r), 1 };
    return op_reshape(c, op_activation(c, r, ACT_SIGMOID), 2, shape);
}

struct gate_scores thesis_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                   const struct gate_graph *graph)
{
    const struct gatekeeper_config *k = &g->config;
    struct tensor *x = features_of(c, g, states);
    bool bert_only = k->classifier == CLASSIFIER_BERT_ONLY;

    for (int i = 0; !bert_only && i < k->gat_layers; i++) {
        const struct gat_layer *l = &g->gat[i];
        struct tensor *w = l->w ? l->w : l->relation[0];
        x = op_dropout(c, layer_forward(c, g, l, gatekeeper_as(c, x, w->dtype), graph), k->dropout);
    }
    x = pool(c, g, gatekeeper_as(c, x, F32), graph);
    if (bert_only)
        x = op_linear(c, x, g->dense_w, g->dense_b, ACT_RELU);
    return (struct gate_scores){ .score = gatekeeper_logits(c, op_dropout(c, x, k->dropout), g->score_w, g->score_b) };
}

struct tensor *gatekeeper_squared_error(struct ctx *c, struct tensor *logits, struct tensor *target,
                                        struct tensor *weight)
{
    int64_t n = tensor_size(logits), column[] = { n, 1 }, row[] = { 1, n }, one = 1;
    int32_t *each = xmalloc((size_t)n * sizeof *each);

    for (int i = 0; i < n; i++)
        each[i] = i;
    struct index all = batch_index(c, each, n, n);
    free(each);
    struct tensor *d = op_reshape(c, op_add(c, logits, op_scale(c, target, -1)), 2, column);
    struct tensor *squares = op_reshape(c, op_pair_dot(c, d, &all, d, &all, 1), 2, column);
    return op_reshape(c, op_matmul(c, op_reshape(c, weight, 2, row), false, squares, false), 1, &one);
}
