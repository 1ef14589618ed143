#include "models/net/gatekeeper.h"
#include "kernels/batch.h"
#include "models/net/modern_bert.h"
#include "models/net/param_builder.h"

#include <stdlib.h>

static struct tensor *gatekeeper_logits(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b);
static struct tensor *gatekeeper_as(struct ctx *c, struct tensor *x, enum dtype dtype);
static void gat_layer_init(struct gat_layer *l, const struct gatekeeper_config *g, struct param_builder *p, int64_t in,
                           bool mean);
static struct tensor *gat_layer_forward(struct ctx *c, const struct gatekeeper *g, const struct gat_layer *l,
                                        struct tensor *x, const struct graph *graph, bool mean);

static const float NORM_EPS = 1e-5f;

/* Output channels of a layer. */
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

/* Matrices of GAT layers have type dtype; the rest is F32. */
static void pooled_init(struct gatekeeper *g, struct param_builder *p, enum dtype dtype)
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

/* Mean over the neighbours of each relation, multiplied by its matrix (Schlichtkrull et al. 2018, eq. 2). Loops are
 * the relation of a node with itself. */
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
        return gat_layer_forward(c, g, l, x, &graph->graph, true);
    }
}

static struct tensor *pool_nodes(struct ctx *c, const struct gatekeeper *g, struct tensor *x,
                                 const struct gate_graph *graph)
{
    if (g->config.pool == GATE_POOL_ATTENTION)
        return op_attention_pool(c, x, gatekeeper_logits(c, x, g->gate_w, g->gate_b), &graph->nodes);
    return op_segment_pool(c, x, &graph->nodes, g->config.pool == GATE_POOL_SUM ? POOL_SUM : POOL_MEAN);
}

/* The classifier's input for each node. */
static struct tensor *features_of(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    if (g->config.features == FEATURES_STATES)
        return states;
    struct tensor *r = gatekeeper_relevance(c, g, gatekeeper_as(c, states, g->relevance_w->dtype));
    int64_t shape[] = { tensor_size(r), 1 };
    return op_reshape(c, op_activation(c, r, ACT_SIGMOID), 2, shape);
}

/* The score of each graph in one op, which a head without a hidden layer and without gates allows. */
static struct tensor *score_graphs(struct ctx *c, const struct gatekeeper *g, struct tensor *x,
                                   const struct gate_graph *graph)
{
    enum pool pool = g->config.pool == GATE_POOL_SUM ? POOL_SUM : POOL_MEAN;
    return op_segment_score(c, gatekeeper_as(c, x, F32), &graph->nodes, pool, g->config.dropout, g->score_w,
                            g->score_b);
}

static struct gate_scores pooled_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                          const struct gate_graph *graph)
{
    const struct gatekeeper_config *k = &g->config;
    struct tensor *x = features_of(c, g, states);
    bool bert_only = k->classifier == CLASSIFIER_BERT_ONLY;

    for (int i = 0; !bert_only && i < k->gat_layers; i++) {
        const struct gat_layer *l = &g->gat[i];
        struct tensor *w = l->w ? l->w : l->relation[0];
        x = layer_forward(c, g, l, gatekeeper_as(c, x, w->dtype), graph);
        if (k->classifier != CLASSIFIER_GAT_MEAN)
            x = op_dropout(c, x, k->dropout);
    }
    if (!bert_only && k->pool != GATE_POOL_ATTENTION)
        return (struct gate_scores){ .score = score_graphs(c, g, x, graph) };
    x = pool_nodes(c, g, gatekeeper_as(c, x, F32), graph);
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

enum { RELEVANCE_CHANNELS = 8 };
static const float INIT = 0.02f;
static const float GLOROT = -1;
static const float SLOPE = 0.2f; /* of the GAT's LeakyReLU */

static void gat_layer_init(struct gat_layer *l, const struct gatekeeper_config *g, struct param_builder *p, int64_t in,
                           bool mean)
{
    int64_t D = g->gat_hidden, H = g->gat_heads;

    *l = (struct gat_layer){ .w = param_matrix(p, H * D, in, "weight") };
    l->w->tf32 = g->gat_precision == GAT_TF32;
    if (l->w->grad)
        l->w->grad->tf32 = l->w->tf32;
    p->dtype = F32;
    l->a_src = param_matrix(p, H, D, "a_src");
    l->a_dst = param_matrix(p, H, D, "a_dst");
    l->bias = param_vector(p, mean ? D : H * D, 0, "bias");
}

static void init_typed_gat(struct gat_layer *l, const struct gatekeeper_config *g, struct param_builder *p, int number)
{
    param_part(p, "classifier.gat.%d.", number);
    gat_layer_init(l, g, p, g->gat_hidden, true);
    l->edge_bias = param_matrix(p, g->edge_types, g->gat_heads, "edge_bias");
    l->norm_w = param_vector(p, g->gat_hidden, -1, "norm.weight");
    l->norm_b = param_vector(p, g->gat_hidden, 0, "norm.bias");
}

static void init_relevance(struct gatekeeper *g, struct params *p, const struct param_arenas *a, enum dtype dtype)
{
    struct param_builder b = { p, a, dtype, INIT, 0, "" };
    int64_t C = g->config.bert.hidden_size;

    bool modern = g->config.bert.kind == MODERN_BERT;

    g->pooler_w = param_matrix(&b, C, C, modern ? "head.dense.weight" : "bert.pooler.dense.weight");
    if (modern)
        g->pooler_norm = param_vector(&b, C, -1, "head.norm.weight");
    else
        g->pooler_b = param_vector(&b, C, 0, "bert.pooler.dense.bias");
    g->relevance_w = param_matrix(&b, 1, C, "classifier.weight");
    g->relevance_b = param_vector(&b, 1, 0, "classifier.bias");
    if (g->config.encode == ENCODE_SCHEMA && g->config.linguistic)
        g->question_w = param_new(p, a, dtype, 2, (int64_t[]){ C, C }, INIT, 0, "question.weight");
    if (g->config.encode == ENCODE_SCHEMA)
        g->mention_w = param_new(p, a, dtype, 2, (int64_t[]){ C, ELEMENT_MENTIONS }, INIT, 0, "mention.weight");
}

/* `in` features of a pair to a logit. */
static struct pair_head init_pair_head(struct param_builder *p, int64_t in, int64_t hidden, const char *name)
{
    struct pair_head h;

    param_part(p, "%s.", name);
    h.w1 = param_matrix(p, hidden, in, "dense.weight");
    h.b1 = param_vector(p, hidden, 0, "dense.bias");
    h.w2 = param_matrix(p, 1, hidden, "score.weight");
    h.b2 = param_vector(p, 1, 0, "score.bias");
    return h;
}

static void init_pair(struct gatekeeper *g, struct param_builder *p)
{
    const struct gatekeeper_config *k = &g->config;
    int64_t D = k->gat_hidden;

    param_part(p, "pair.");
    g->project_w = param_matrix(p, D, k->bert.hidden_size, "project.weight");
    g->project_b = param_vector(p, D, 0, "project.bias");
    g->duplicates = init_pair_head(p, 4 * D + k->pair_features, k->pair_hidden, "pair.twins");
    param_part(p, "pair.");
    g->relevance_in_w = param_matrix(p, RELEVANCE_CHANNELS, 1, "relevance.weight");
    g->relevance_in_b = param_vector(p, RELEVANCE_CHANNELS, 0, "relevance.bias");
    g->asked = init_pair_head(p, 4 * RELEVANCE_CHANNELS + k->pair_features, k->pair_hidden, "pair.asked");
}

static void init_linguistic(struct gatekeeper *g, struct param_builder *p)
{
    const struct gatekeeper_config *k = &g->config;
    struct linguistic_head *h = &g->linguistic;

    param_part(p, "linguistic.");
    h->gate_w = param_matrix(p, 1, k->gat_hidden, "gate.weight");
    h->gate_b = param_vector(p, 1, 0, "gate.bias");
    h->state_w = param_matrix(p, k->pair_hidden, k->bert.hidden_size, "state.weight");
    h->graph_w = param_matrix(p, k->pair_hidden, k->gat_hidden, "graph.weight");
    h->b = param_vector(p, k->pair_hidden, 0, "graph.bias");
    h->score_w = param_matrix(p, LINGUISTIC_TYPES, k->pair_hidden, "score.weight");
    h->score_b = param_vector(p, LINGUISTIC_TYPES, 0, "score.bias");
}

void gatekeeper_init(struct gatekeeper *g, const struct gatekeeper_config *config, enum dtype dtype, struct params *p,
                     const struct param_arenas *a)
{
    struct param_builder classifier = { p, a, F32, GLOROT, 0, "" };

    CHECK(config->edge_types <= GATE_RELATIONS_MAX, "gatekeeper: %d relations", config->edge_types);
    *g = (struct gatekeeper){ .config = *config };
    bert_init(&g->bert, &config->bert, bert_prefix(&config->bert), dtype, p, a);
    if (config->embedder) {
        const struct param_arenas frozen = { a->host, a->data, OPTIMIZER_NONE };
        bert_init(&g->embedder, &config->bert, GATE_EMBEDDER, dtype, p, &frozen);
    }
    init_relevance(g, p, a, dtype);
    g->gat = arena_alloc(a->host, (size_t)config->gat_layers * sizeof *g->gat);
    if (config->classifier != CLASSIFIER_PAIR) {
        pooled_init(g, &classifier, dtype);
        return;
    }
    for (int i = 0; i < config->gat_layers; i++)
        init_typed_gat(&g->gat[i], config, &classifier, i);
    init_pair(g, &classifier);
    if (config->linguistic)
        init_linguistic(g, &classifier);
}

struct tensor *gatekeeper_states(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text)
{
    struct tensor *x = bert_forward(c, &g->bert, &text->bert);

    if (!text->spans.n)
        return x;
    struct tensor *spans = op_segment_pool(c, x, &text->spans, POOL_MEAN);
    struct tensor *mentions = op_cast(c, text->mentions, g->mention_w->dtype);
    x = op_add(c, op_gather(c, spans, &text->place), op_linear(c, mentions, g->mention_w, NULL, ACT_NONE));
    if (!g->config.linguistic)
        return x;
    return op_add(c, x, op_linear(c, op_gather(c, spans, &text->question), g->question_w, NULL, ACT_NONE));
}

bool gatekeeper_says_word(const struct gatekeeper_config *config)
{
    return config->texts != TEXTS_QUALIFIED && config->features == FEATURES_STATES;
}

struct tensor *gatekeeper_embed(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text)
{
    return bert_forward(c, g->config.embedder ? &g->embedder : &g->bert, &text->bert);
}

/* x [T, K] -> F32 [T] */
static struct tensor *gatekeeper_logits(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b)
{
    int64_t n = tensor_rows(x);
    return op_reshape(c, gatekeeper_as(c, op_linear(c, x, w, b, ACT_NONE), F32), 1, &n);
}

/* The input of the last linear map in transformers' classifier for this encoder. */
static struct tensor *pool(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    if (!g->pooler_norm)
        return op_linear(c, states, g->pooler_w, g->pooler_b, ACT_TANH);
    struct tensor *x = op_linear(c, states, g->pooler_w, NULL, ACT_GELU);
    struct tensor *none = modern_bert_no_bias(c, g->config.bert.hidden_size);
    return op_layer_norm(c, x, NULL, g->pooler_norm, none, g->config.bert.layer_norm_eps);
}

struct tensor *gatekeeper_relevance(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    struct tensor *pooled = pool(c, g, states);
    return gatekeeper_logits(c, op_dropout(c, pooled, g->config.bert.hidden_dropout), g->relevance_w, g->relevance_b);
}

/* Casts x unless it has the type. */
static struct tensor *gatekeeper_as(struct ctx *c, struct tensor *x, enum dtype dtype)
{
    return x->dtype == dtype ? x : op_cast(c, x, dtype);
}

/* The projected states of a GAT layer: x w^T, in the type of w. */
static struct tensor *project(struct ctx *c, const struct gatekeeper *g, struct tensor *x, struct tensor *w)
{
    if (w->dtype == BF16 || g->config.gat_precision != GAT_BF16)
        return op_linear(c, gatekeeper_as(c, x, w->dtype), w, NULL, ACT_NONE);
    struct tensor *rounded = op_cast(c, w, BF16);
    return op_cast(c, op_linear(c, gatekeeper_as(c, x, BF16), rounded, NULL, ACT_NONE), F32);
}

/* With averaged heads, ELU and dropout follow. */
static struct tensor *gat_layer_forward(struct ctx *c, const struct gatekeeper *g, const struct gat_layer *l,
                                        struct tensor *x, const struct graph *graph, bool mean)
{
    struct gat gat = { .graph = graph,
                       .a_src = l->a_src,
                       .a_dst = l->a_dst,
                       .edge_bias = l->edge_bias,
                       .bias = l->bias,
                       .heads = g->config.gat_heads,
                       .mean = mean,
                       .slope = SLOPE,
                       .p = g->config.dropout,
                       .act = mean ? ACT_ELU : ACT_NONE,
                       .out_p = mean ? g->config.dropout : 0 };
    return op_gat(c, project(c, g, x, l->w), &gat);
}

/* Logits F32 [P] of the candidate pairs from states x [N, D]. */
static struct tensor *judge_pairs(struct ctx *c, const struct gatekeeper *g, const struct pair_head *h,
                                  struct tensor *x, const struct gate_graph *graph)
{
    struct tensor *pairs = op_pair_features(c, x, &graph->u, &graph->v, graph->features);
    pairs = op_dropout(c, op_linear(c, pairs, h->w1, h->b1, ACT_GELU), g->config.dropout);
    return gatekeeper_logits(c, pairs, h->w2, h->b2);
}

/* Residual GAT layers over typed edges. */
static struct tensor *reason(struct ctx *c, const struct gatekeeper *g, struct tensor *x, const struct graph *graph)
{
    x = op_linear(c, x, g->project_w, g->project_b, ACT_GELU);
    for (int i = 0; i < g->config.gat_layers; i++) {
        const struct gat_layer *l = &g->gat[i];
        struct tensor *y = gat_layer_forward(c, g, l, x, graph, true);
        x = op_layer_norm(c, y, x, l->norm_w, l->norm_b, 1e-5f);
    }
    return x;
}

/* A few channels of each element's relevance logit. */
static struct tensor *relevance_channels(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    struct tensor *r = gatekeeper_relevance(c, g, gatekeeper_as(c, states, g->relevance_w->dtype));
    r = op_reshape(c, r, 2, (int64_t[]){ tensor_size(r), 1 });
    return op_linear(c, r, g->relevance_in_w, g->relevance_in_b, ACT_TANH);
}

/* Logits [questions, LINGUISTIC_TYPES] from the elements' states x [N, C] and graph states y [N, D]. */
static struct tensor *judge_words(struct ctx *c, const struct gatekeeper *g, struct tensor *x, struct tensor *y,
                                  const struct gate_graph *graph)
{
    const struct linguistic_head *h = &g->linguistic;
    struct tensor *state = op_segment_pool(c, x, &graph->nodes, POOL_MEAN);
    struct tensor *chosen = op_attention_pool(c, y, gatekeeper_logits(c, y, h->gate_w, h->gate_b), &graph->nodes);
    struct tensor *z =
        op_add(c, op_linear(c, state, h->state_w, NULL, ACT_NONE), op_linear(c, chosen, h->graph_w, h->b, ACT_NONE));
    z = op_dropout(c, op_activation(c, z, ACT_GELU), g->config.dropout);
    return op_linear(c, z, h->score_w, h->score_b, ACT_NONE);
}

static struct gate_scores classify_pairs(struct ctx *c, const struct gatekeeper *g, struct tensor *x,
                                         const struct gate_graph *graph)
{
    struct tensor *y = reason(c, g, x, &graph->graph), *duplicates = judge_pairs(c, g, &g->duplicates, y, graph);
    struct tensor *pair =
        op_and_logits(c, duplicates, judge_pairs(c, g, &g->asked, relevance_channels(c, g, x), graph));
    return (struct gate_scores){ .score = op_noisy_or(c, pair, &graph->pairs),
                                 .pair = pair,
                                 .duplicates = duplicates,
                                 .linguistic = g->config.linguistic ? judge_words(c, g, x, y, graph) : NULL };
}

struct gate_scores gatekeeper_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                       const struct gate_graph *graph)
{
    return g->config.classifier == CLASSIFIER_PAIR ? classify_pairs(c, g, gatekeeper_as(c, states, F32), graph)
                                                   : pooled_classify(c, g, states, graph);
}
