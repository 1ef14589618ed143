#include "models/net/t5.h"

#include "kernels/device.h"
#include "models/net/param_builder.h"

#include <math.h>
#include <stdlib.h>

#define HIDDEN (-1e30f) /* bias of a masked key */

static struct tensor *matrix(struct param_builder *b, float std, int64_t rows, int64_t cols, const char *name)
{
    b->init_std = std;
    return param_matrix(b, rows, cols, name);
}

/* Standard deviations of Mesh TensorFlow: products of unit states have unit size, without a scale in the attention. */
static struct t5_attention init_attention(const struct t5_config *g, struct param_builder *b, const char *part)
{
    int64_t C = g->d_model, inner = (int64_t)g->heads * g->d_kv;
    float factor = g->initializer_factor;
    char stem[sizeof b->part];
    struct t5_attention a = { .norm = param_vector(b, C, -1, "layer_norm.weight") };

    snprintf(stem, sizeof stem, "%s", b->part);
    param_part(b, "%.80s%s.", stem, part);
    a.q = matrix(b, factor / sqrtf((float)C * (float)g->d_kv), inner, C, "q.weight");
    a.kv = matrix(b, factor / sqrtf((float)C), 2 * inner, C, "kv.weight");
    a.o = matrix(b, factor / sqrtf((float)inner), C, inner, "o.weight");
    return a;
}

static void init_layer(struct t5_layer *l, const struct t5_config *g, struct param_builder *b, const char *side,
                       int number)
{
    int64_t C = g->d_model, I = g->d_ff;
    bool decoder = *side == 'd';
    float std = g->initializer_factor / sqrtf((float)C);

    param_part(b, "%s.block.%d.layer.0.", side, number);
    l->self = init_attention(g, b, "SelfAttention");
    param_part(b, "%s.block.%d.layer.1.", side, number);
    if (decoder)
        l->cross = init_attention(g, b, "EncDecAttention");
    param_part(b, "%s.block.%d.layer.%d.", side, number, decoder ? 2 : 1);
    l->norm = param_vector(b, C, -1, "layer_norm.weight");
    if (g->gated)
        l->gate = matrix(b, std, I, C, "DenseReluDense.wi_0.weight");
    l->up = matrix(b, std, I, C, g->gated ? "DenseReluDense.wi_1.weight" : "DenseReluDense.wi.weight");
    l->down = matrix(b, g->initializer_factor / sqrtf((float)I), C, I, "DenseReluDense.wo.weight");
}

static int64_t places(const struct t5_config *g)
{
    return 2 * (int64_t)g->max_distance + 1;
}

static void init_stack(struct t5_stack *s, const struct t5_config *g, struct param_builder *b, const char *side, int n)
{
    struct param_builder f32 = *b;

    f32.dtype = F32;
    param_part(&f32, "%s.block.0.layer.0.SelfAttention.", side);
    s->n = n;
    s->bias = matrix(&f32, g->initializer_factor / sqrtf((float)g->d_model), g->buckets, g->heads,
                     "relative_attention_bias.weight");
    s->layers = arena_alloc(b->a->host, (size_t)n * sizeof *s->layers);
    for (int i = 0; i < n; i++) {
        s->layers[i] = (struct t5_layer){ 0 };
        init_layer(&s->layers[i], g, b, side, i);
    }
    param_part(b, "%s.", side);
    s->norm = param_vector(b, g->d_model, -1, "final_layer_norm.weight");
    s->buckets = tensor_alloc(b->a->host, b->a->data, F32, 2, (int64_t[]){ places(g), g->buckets });
    if (*side == 'd')
        s->mask = tensor_alloc(b->a->host, b->a->data, F32, 2, (int64_t[]){ g->heads, places(g) });
}

void t5_init(struct t5 *m, const struct t5_config *g, enum dtype dtype, bool frozen, struct params *p,
             const struct param_arenas *a)
{
    struct param_builder b = { p, a, dtype, 0, frozen ? PARAM_FROZEN : 0, "" };

    *m = (struct t5){ .config = *g };
    b.init_std = g->initializer_factor;
    m->shared = param_embedding(&b, g->vocab_size, g->d_model, "shared.weight");
    init_stack(&m->encoder, g, &b, "encoder", g->encoder_layers);
    init_stack(&m->decoder, g, &b, "decoder", g->decoder_layers);
    param_part(&b, "%s", "");
    m->head = g->tied ? m->shared : matrix(&b, g->initializer_factor, g->vocab_size, g->d_model, "lm_head.weight");
}

/* Masked places have no bucket. */
static void upload_buckets(const struct t5_stack *s, const struct t5_config *g, bool causal, struct device *d)
{
    float *x = xcalloc((size_t)(places(g) * g->buckets), sizeof *x);

    for (int64_t i = 0; i < places(g); i++) {
        int ahead = (int)i - g->max_distance;
        if (!causal || ahead <= 0)
            x[i * g->buckets + t5_bucket(g, ahead, causal)] = 1;
    }
    device_upload(d, s->buckets, x);
    free(x);
}

void t5_upload_constants(const struct t5 *m, struct device *d)
{
    const struct t5_config *g = &m->config;
    float *mask = xcalloc((size_t)(g->heads * places(g)), sizeof *mask);

    upload_buckets(&m->encoder, g, false, d);
    upload_buckets(&m->decoder, g, true, d);
    for (int64_t i = 0; i < g->heads * places(g); i++)
        mask[i] = i % places(g) > g->max_distance ? HIDDEN : 0;
    device_upload(d, m->decoder.mask, mask);
    free(mask);
}

/* One block, for tape_block and tape_checkpoint. Its inputs are in this order. */
enum { RUNNING, BIAS, STATES };

struct t5_block {
    const struct t5 *m;
    const struct t5_layer *l;
    struct seqs seqs, source; /* source: of a decoder */
    bool decoder;
};

static struct tensor *in_type(struct ctx *c, struct tensor *x, enum dtype dtype)
{
    return x->dtype == dtype ? x : op_cast(c, x, dtype);
}

/* Input of attention or feed-forward, in the weights' type. */
static struct tensor *normed(struct ctx *c, const struct t5 *m, struct tensor *x, struct tensor *w)
{
    x = op_rms_norm(tape_transient(c), x, w, m->config.layer_norm_eps);
    return in_type(c, x, m->shared->dtype);
}

static struct tensor *linear(struct ctx *c, struct tensor *x, struct tensor *w)
{
    return op_linear(c, x, w, NULL, ACT_NONE);
}

static struct tensor *add_self_attention(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct t5_block *b = arg;
    const struct t5_attention *a = &b->l->self;
    float p = b->m->config.dropout;
    const struct attention_form form = { .heads = b->m->config.heads, .scale = 1, .bias = in[BIAS], .p = p };
    struct tensor *h = normed(c, b->m, in[RUNNING], a->norm), *q = linear(c, h, a->q), *kv = linear(c, h, a->kv);

    h = op_attention(c, q, kv, &b->seqs, &b->seqs, &form);
    return op_linear_residual(c, in[RUNNING], h, a->o, p);
}

/* in[1]: states of the encoder. */
static struct tensor *add_cross_attention(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct t5_block *b = arg;
    const struct t5_attention *a = &b->l->cross;
    float p = b->m->config.dropout;
    const struct attention_form form = { .heads = b->m->config.heads, .scale = 1, .p = p };
    struct tensor *q = linear(c, normed(c, b->m, in[RUNNING], a->norm), a->q), *kv = linear(c, in[1], a->kv);

    q = op_attention(c, q, kv, &b->seqs, &b->source, &form);
    return op_linear_residual(c, in[RUNNING], q, a->o, p);
}

static struct tensor *add_feed_forward(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct t5_block *b = arg;
    const struct t5_layer *l = b->l;
    float p = b->m->config.dropout;
    struct tensor *h = normed(c, b->m, in[RUNNING], l->norm);

    if (l->gate) {
        struct tensor *gate = linear(c, h, l->gate), *up = linear(c, h, l->up);
        h = op_glu(c, gate, up, GATE_GELU);
    } else {
        h = op_linear(c, h, l->up, NULL, ACT_RELU);
    }
    return op_linear_residual(c, in[RUNNING], op_dropout(c, h, p), l->down, p);
}

static struct tensor *run_block(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct t5_block *b = arg;
    struct tensor *x = tape_block(c, add_self_attention, b, in, 2);

    if (b->decoder)
        x = tape_block(c, add_cross_attention, b, (struct tensor *[]){ x, in[STATES] }, 2);
    return tape_block(c, add_feed_forward, b, &x, 1);
}

/* Without recording, a block keeps only its output. */
static struct tensor *layer(struct ctx *c, struct t5_block b, struct tensor **in)
{
    struct t5_block *kept = arena_alloc(c->host, sizeof *kept); /* read by the backward */
    int n = b.decoder ? 3 : 2;

    *kept = b;
    if (c->recording && !b.m->checkpointed)
        return tape_block(c, run_block, kept, in, n);
    return tape_checkpoint(c, run_block, kept, in, n);
}

/* F32 [heads, 2 R + 1]: the weights' column for each relative position. Products with ones and zeros are exact. */
static struct tensor *bias_table(struct ctx *c, const struct t5_stack *s)
{
    struct tensor *table = op_matmul(c, s->bias, true, s->buckets, true);
    return s->mask ? op_add(c, table, s->mask) : table;
}

/* States after a stack's last norm, F32. */
static struct tensor *run_stack(struct ctx *c, const struct t5 *m, const struct t5_stack *s, const struct t5_tokens *t,
                                const struct t5_tokens *source, struct tensor *states)
{
    float p = m->config.dropout;
    struct tensor *shared = m->shared, *x = in_type(c, op_embed(c, &shared, &t->ids, 1), F32);
    struct tensor *in[] = { op_dropout(c, x, p), bias_table(c, s), states };

    for (int i = 0; i < s->n; i++)
        in[RUNNING] = layer(c, (struct t5_block){ m, &s->layers[i], t->seqs, source->seqs, states != NULL }, in);
    return op_dropout(c, op_rms_norm(c, in[RUNNING], s->norm, m->config.layer_norm_eps), p);
}

struct tensor *t5_encode(struct ctx *c, const struct t5 *m, const struct t5_tokens *source)
{
    return in_type(c, run_stack(c, m, &m->encoder, source, source, NULL), m->shared->dtype);
}

/* Scales the final F32 states for the head. */
static struct tensor *for_head(struct ctx *c, const struct t5 *m, struct tensor *x)
{
    if (m->config.scaled)
        x = op_scale(c, x, 1.0f / sqrtf((float)m->config.d_model));
    return in_type(c, x, m->shared->dtype);
}

struct tensor *t5_decode(struct ctx *c, const struct t5 *m, const struct t5_tokens *answer,
                         const struct t5_tokens *source, struct tensor *states)
{
    return for_head(c, m, run_stack(c, m, &m->decoder, answer, source, states));
}

/* The keys' or values' half of a kv matrix. */
static struct linear_map half_of(struct ctx *c, const struct tensor *kv, int half)
{
    int64_t n = kv->shape[0] / 2;
    return (struct linear_map){ .w = tensor_slice(c, kv, half * n, n) };
}

void t5_cache_source(struct ctx *c, const struct t5 *m, struct tensor *states, struct kv_cache *cache,
                     struct tensor *rows)
{
    for (int i = 0; i < m->decoder.n; i++) {
        size_t mark = arena_mark(c->step), host = arena_mark(c->host);
        const struct tensor *kv = m->decoder.layers[i].cross.kv;
        struct linear_map k = half_of(c, kv, 0), v = half_of(c, kv, 1);
        struct tensor *y[2];
        op_linear_group(c, y, states, (struct rms_norm){ 0 }, (const struct linear_map *const[]){ &k, &v }, 2);
        op_cache_rows(c, cache->k[i], y[0], rows);
        op_cache_rows(c, cache->v[i], y[1], rows);
        arena_reset(c->host, host);
        arena_reset(c->step, mark);
    }
}

static struct tensor *attend_self(struct ctx *c, const struct t5 *m, int number, struct tensor *x, struct tensor *bias,
                                  const struct t5_step *in)
{
    const struct t5_attention *a = &m->decoder.layers[number].self;
    const struct attention_form form = { .heads = m->config.heads, .scale = 1, .bias = bias };
    struct linear_map q = { .w = a->q }, k = half_of(c, a->kv, 0), v = half_of(c, a->kv, 1);
    struct tensor *y[3], *h = normed(c, m, x, a->norm);

    op_linear_group(c, y, h, (struct rms_norm){ 0 }, (const struct linear_map *const[]){ &q, &k, &v }, 3);
    op_cache_rows(c, in->cache->k[number], y[1], in->cache_rows);
    op_cache_rows(c, in->cache->v[number], y[2], in->cache_rows);
    return op_paged_attention(c, y[0], in->cache->k[number], in->cache->v[number], in->paged, &form);
}

static struct tensor *attend_source(struct ctx *c, const struct t5 *m, int number, struct tensor *x,
                                    const struct t5_step *in)
{
    const struct t5_attention *a = &m->decoder.layers[number].cross;
    const struct attention_form form = { .heads = m->config.heads, .scale = 1 };
    const struct kv_cache *cache = in->source_cache;
    struct linear_map q = { .w = a->q };
    struct tensor *y, *h = normed(c, m, x, a->norm);

    op_linear_group(c, &y, h, (struct rms_norm){ 0 }, (const struct linear_map *const[]){ &q }, 1);
    return op_paged_attention(c, y, cache->k[number], cache->v[number], in->source_paged, &form);
}

static struct tensor *feed_forward_once(struct ctx *c, const struct t5 *m, const struct t5_layer *l, struct tensor *x)
{
    struct linear_map up = { .w = l->up }, gate = { .w = l->gate };
    const struct linear_map *const maps[] = { &up, &gate };
    struct tensor *y[2], *h = normed(c, m, x, l->norm);

    op_linear_group(c, y, h, (struct rms_norm){ 0 }, maps, l->gate ? 2 : 1);
    return l->gate ? op_glu(c, y[1], y[0], GATE_GELU) : op_activation(c, y[0], ACT_RELU);
}

static void add_product(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w)
{
    struct linear_map map = { .w = w };
    op_linear_add(c, x, h, &map);
}

struct tensor *t5_decode_step(struct ctx *c, const struct t5 *m, const struct t5_step *in)
{
    struct tensor *shared = m->shared, *bias = bias_table(c, &m->decoder);
    struct tensor *x = in_type(c, op_embed(c, &shared, &in->tokens, 1), F32);

    for (int i = 0; i < m->decoder.n; i++) { /* x is updated in place, and temporary memory is reused */
        size_t mark = arena_mark(c->step), host = arena_mark(c->host);
        const struct t5_layer *l = &m->decoder.layers[i];
        add_product(c, x, attend_self(c, m, i, x, bias, in), l->self.o);
        add_product(c, x, attend_source(c, m, i, x, in), l->cross.o);
        add_product(c, x, feed_forward_once(c, m, l, x), l->down);
        arena_reset(c->host, host);
        arena_reset(c->step, mark);
    }
    return for_head(c, m, op_rms_norm(c, x, m->decoder.norm, m->config.layer_norm_eps));
}

enum { TURNS = 4 };

#define NEAR 8 /* above the scores of equal tokens, which begin at sqrt(d_kv) */

/* The neighbour that a head looks at, in turn; 0: none. */
static const int encoder_turns[TURNS] = { 0, -1, -2, 1 }, decoder_turns[TURNS] = { 0, -1, -2, -3 };

struct start {
    const struct t5_config *config;
    struct params *params;
    struct device *device;
};

static void start_attention(const struct start *s, const struct t5_attention *a)
{
    int64_t inner = a->o->shape[1], C = a->o->shape[0];
    float *kv = start_values(s->params, a->kv, s->device);
    float *q = xmalloc((size_t)(inner * C) * sizeof *q), *o = xmalloc((size_t)(inner * C) * sizeof *o);
    float scale = 1 / sqrtf((float)s->config->d_kv);

    for (int64_t i = 0; i < inner * C; i++)
        q[i] = scale * kv[i];
    for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < inner; i++)
            o[c * inner + i] = kv[(inner + i) * C + c];
    start_upload(s->params, a->q, s->device, q);
    start_upload(s->params, a->o, s->device, o);
    free(kv);
}

static void start_stack(const struct start *s, const struct t5_stack *stack, bool causal)
{
    const int *turns = causal ? decoder_turns : encoder_turns;
    float *bias = start_values(s->params, stack->bias, s->device);

    for (int h = 0; h < s->config->heads; h++)
        if (turns[h % TURNS])
            bias[t5_bucket(s->config, turns[h % TURNS], causal) * s->config->heads + h] += NEAR;
    start_upload(s->params, stack->bias, s->device, bias);
    for (int i = 0; i < stack->n; i++) {
        start_attention(s, &stack->layers[i].self);
        if (causal)
            start_attention(s, &stack->layers[i].cross);
    }
}

void t5_start_copying(const struct t5 *m, struct params *p, struct device *d)
{
    const struct start s = { &m->config, p, d };

    start_stack(&s, &m->encoder, false);
    start_stack(&s, &m->decoder, true);
}
