#include "models/net/gatekeeper.h"

#include <math.h>
#include <stdio.h>

enum { RELEVANCE_CHANNELS = 8 };
static const float INIT = 0.02f;
static const float SLOPE = 0.2f; /* of the GAT's LeakyReLU */

struct maker {
    struct params *p;
    const struct param_arenas *a;
};

/* Glorot's deviation for a classifier matrix, BERT's for anything else. */
static struct tensor *glorot_of(const struct maker *m, enum dtype dtype, int64_t rows, int64_t cols, const char *name,
                                int layer)
{
    int64_t shape[2] = { rows, cols };
    float std = sqrtf(2.0f / (float)(rows + cols));
    return layer < 0 ? param_new(m->p, m->a, dtype, 2, shape, std, PARAM_DECAY, "%s", name)
                     : param_new(m->p, m->a, dtype, 2, shape, std, PARAM_DECAY, "classifier.gat.%d.%s", layer, name);
}

static struct tensor *glorot(const struct maker *m, int64_t rows, int64_t cols, const char *name, int layer)
{
    return glorot_of(m, F32, rows, cols, name, layer);
}

static struct tensor *vector(const struct maker *m, int64_t n, float init, const char *name, int layer)
{
    return layer < 0 ? param_new(m->p, m->a, F32, 1, &n, init, 0, "%s", name)
                     : param_new(m->p, m->a, F32, 1, &n, init, 0, "classifier.gat.%d.%s", layer, name);
}

static void init_gat(struct gat_layer *l, const struct gatekeeper_config *g, enum dtype dtype, const struct maker *m,
                     int number)
{
    bool thesis = g->classifier == CLASSIFIER_GAT_MEAN;
    int64_t D = g->gat_hidden, H = g->gat_heads, in = thesis && number == 0 ? g->bert.hidden_size : D;

    *l = (struct gat_layer){ .w = glorot_of(m, thesis ? dtype : F32, H * D, in, "weight", number),
                             .a_src = glorot(m, H, D, "a_src", number),
                             .a_dst = glorot(m, H, D, "a_dst", number),
                             .bias = vector(m, D, 0, "bias", number) };
    if (thesis)
        return;
    l->edge_bias = glorot(m, g->edge_types, H, "edge_bias", number);
    l->norm_w = vector(m, D, -1, "norm.weight", number);
    l->norm_b = vector(m, D, 0, "norm.bias", number);
}

static void init_relevance(struct gatekeeper *g, enum dtype dtype, const struct maker *m)
{
    int64_t C = g->config.bert.hidden_size;

    g->pooler_w = param_new(m->p, m->a, dtype, 2, (int64_t[]){ C, C }, INIT, PARAM_DECAY, "bert.pooler.dense.weight");
    g->pooler_b = param_new(m->p, m->a, F32, 1, &C, 0, 0, "bert.pooler.dense.bias");
    g->relevance_w = param_new(m->p, m->a, dtype, 2, (int64_t[]){ 1, C }, INIT, PARAM_DECAY, "classifier.weight");
    g->relevance_b = param_new(m->p, m->a, F32, 1, (int64_t[]){ 1 }, 0, 0, "classifier.bias");
    if (g->config.encode == ENCODE_SCHEMA)
        g->mention_w = param_new(m->p, m->a, dtype, 2, (int64_t[]){ C, ELEMENT_MENTIONS }, INIT, 0, "mention.weight");
}

/* `in` features of a pair to a logit. */
static struct pair_head init_pair_head(const struct maker *m, int64_t in, int64_t hidden, const char *name)
{
    char at[4][64];
    static const char *const parts[] = { "dense.weight", "dense.bias", "score.weight", "score.bias" };

    for (int i = 0; i < 4; i++)
        snprintf(at[i], sizeof at[i], "%s.%s", name, parts[i]);
    return (struct pair_head){ .w1 = glorot(m, hidden, in, at[0], -1),
                               .b1 = vector(m, hidden, 0, at[1], -1),
                               .w2 = glorot(m, 1, hidden, at[2], -1),
                               .b2 = vector(m, 1, 0, at[3], -1) };
}

static void init_pair(struct gatekeeper *g, const struct maker *m)
{
    const struct gatekeeper_config *k = &g->config;
    int64_t D = k->gat_hidden;

    g->project_w = glorot(m, D, k->bert.hidden_size, "pair.project.weight", -1);
    g->project_b = vector(m, D, 0, "pair.project.bias", -1);
    g->twins = init_pair_head(m, 4 * D + k->pair_features, k->pair_hidden, "pair.twins");
    g->relevance_in_w = glorot(m, RELEVANCE_CHANNELS, 1, "pair.relevance.weight", -1);
    g->relevance_in_b = vector(m, RELEVANCE_CHANNELS, 0, "pair.relevance.bias", -1);
    g->asked = init_pair_head(m, 4 * RELEVANCE_CHANNELS + k->pair_features, k->pair_hidden, "pair.asked");
}

static void init_gat_mean(struct gatekeeper *g, const struct maker *m)
{
    const struct gatekeeper_config *k = &g->config;

    g->score_w = glorot(m, 1, k->gat_hidden, "graph.score.weight", -1);
    g->score_b = vector(m, 1, 0, "graph.score.bias", -1);
    if (k->pool == GATE_POOL_ATTENTION) {
        g->gate_w = glorot(m, 1, k->gat_hidden, "graph.gate.weight", -1);
        g->gate_b = vector(m, 1, 0, "graph.gate.bias", -1);
    }
}

void gatekeeper_init(struct gatekeeper *g, const struct gatekeeper_config *config, enum dtype dtype, struct params *p,
                     const struct param_arenas *a)
{
    struct maker m = { p, a };

    *g = (struct gatekeeper){ .config = *config };
    bert_init(&g->bert, &config->bert, "bert.", dtype, p, a);
    init_relevance(g, dtype, &m);
    g->gat = arena_alloc(a->host, (size_t)config->gat_layers * sizeof *g->gat);
    for (int i = 0; i < config->gat_layers; i++)
        init_gat(&g->gat[i], config, dtype, &m, i);
    if (config->classifier == CLASSIFIER_PAIR)
        init_pair(g, &m);
    else
        init_gat_mean(g, &m);
}

struct tensor *gatekeeper_states(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text)
{
    struct tensor *x = bert_forward(c, &g->bert, &text->bert);

    if (!text->spans.n)
        return x;
    x = op_gather(c, op_segment_pool(c, x, &text->spans, POOL_MEAN), &text->place);
    struct tensor *mentions = op_cast(c, text->mentions, g->mention_w->dtype);
    return op_add(c, x, op_linear(c, mentions, g->mention_w, NULL, ACT_NONE));
}

/* x [T, K] -> F32 [T] */
static struct tensor *logits(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b)
{
    int64_t n = tensor_rows(x);
    return op_reshape(c, op_cast(c, op_linear(c, x, w, b, ACT_NONE), F32), 1, &n);
}

struct tensor *gatekeeper_relevance(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    struct tensor *pooled = op_linear(c, states, g->pooler_w, g->pooler_b, ACT_TANH);
    return logits(c, op_dropout(c, pooled, g->config.bert.hidden_dropout), g->relevance_w, g->relevance_b);
}

static struct tensor *as_dtype(struct ctx *c, struct tensor *x, enum dtype dtype)
{
    return x->dtype == dtype ? x : op_cast(c, x, dtype);
}

static struct tensor *attend(struct ctx *c, const struct gatekeeper *g, const struct gat_layer *l, struct tensor *x,
                             const struct graph *graph)
{
    struct gat gat = { .graph = graph,
                       .a_src = l->a_src,
                       .a_dst = l->a_dst,
                       .edge_bias = l->edge_bias,
                       .bias = l->bias,
                       .heads = g->config.gat_heads,
                       .mean = true,
                       .slope = SLOPE,
                       .p = g->config.dropout };
    return op_gat(c, op_linear(c, as_dtype(c, x, l->w->dtype), l->w, NULL, ACT_NONE), &gat);
}

/* The thesis: ELU and dropout after every layer, pool, dropout, linear. */
static struct gate_scores classify_gat_mean(struct ctx *c, const struct gatekeeper *g, struct tensor *x,
                                            const struct gate_graph *graph)
{
    float p = g->config.dropout;

    for (int i = 0; i < g->config.gat_layers; i++)
        x = op_dropout(c, op_activation(c, attend(c, g, &g->gat[i], x, &graph->graph), ACT_ELU), p);
    x = as_dtype(c, x, F32);
    if (g->config.pool == GATE_POOL_ATTENTION)
        x = op_attention_pool(c, x, logits(c, x, g->gate_w, g->gate_b), &graph->nodes);
    else
        x = op_segment_pool(c, x, &graph->nodes, g->config.pool == GATE_POOL_SUM ? POOL_SUM : POOL_MEAN);
    return (struct gate_scores){ .score = logits(c, op_dropout(c, x, p), g->score_w, g->score_b) };
}

/* x [N, D] of the elements to a logit F32 [P] for each candidate pair. */
static struct tensor *judge_pairs(struct ctx *c, const struct gatekeeper *g, const struct pair_head *h,
                                  struct tensor *x, const struct gate_graph *graph)
{
    struct tensor *pairs = op_pair_features(c, x, &graph->u, &graph->v, graph->features);
    pairs = op_dropout(c, op_linear(c, pairs, h->w1, h->b1, ACT_GELU), g->config.dropout);
    return logits(c, pairs, h->w2, h->b2);
}

/* Residual GAT layers over typed edges. */
static struct tensor *reason(struct ctx *c, const struct gatekeeper *g, struct tensor *x, const struct graph *graph)
{
    x = op_linear(c, x, g->project_w, g->project_b, ACT_GELU);
    for (int i = 0; i < g->config.gat_layers; i++) {
        const struct gat_layer *l = &g->gat[i];
        struct tensor *y = op_activation(c, attend(c, g, l, x, graph), ACT_ELU);
        x = op_layer_norm(c, op_dropout(c, y, g->config.dropout), x, l->norm_w, l->norm_b, 1e-5f);
    }
    return x;
}

/* Few channels of each element's relevance logit. */
static struct tensor *relevance_channels(struct ctx *c, const struct gatekeeper *g, struct tensor *states)
{
    struct tensor *r = gatekeeper_relevance(c, g, as_dtype(c, states, g->relevance_w->dtype));
    r = op_reshape(c, r, 2, (int64_t[]){ tensor_size(r), 1 });
    return op_linear(c, r, g->relevance_in_w, g->relevance_in_b, ACT_TANH);
}

static struct gate_scores classify_pairs(struct ctx *c, const struct gatekeeper *g, struct tensor *x,
                                         const struct gate_graph *graph)
{
    struct tensor *twins = judge_pairs(c, g, &g->twins, reason(c, g, x, &graph->graph), graph);
    struct tensor *pair = op_both(c, twins, judge_pairs(c, g, &g->asked, relevance_channels(c, g, x), graph));
    return (struct gate_scores){ .score = op_noisy_or(c, pair, &graph->pairs), .pair = pair, .twins = twins };
}

struct gate_scores gatekeeper_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                       const struct gate_graph *graph)
{
    return g->config.classifier == CLASSIFIER_PAIR ? classify_pairs(c, g, as_dtype(c, states, F32), graph)
                                                   : classify_gat_mean(c, g, states, graph);
}
