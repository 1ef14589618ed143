#include "models/net/modern_bert.h"

#include "kernels/batch.h"
#include "kernels/tape.h"
#include "models/net/param_builder.h"

#include <math.h>
#include <stdlib.h>

static const float INIT = 0.02f;
static const float BEYOND = -1e30f; /* bias of keys outside the window; finite, so that no difference is NaN */

static void init_layer(struct modern_layer *l, const struct bert_config *g, struct param_builder *p, const char *prefix,
                       int number)
{
    int64_t C = g->hidden_size, I = g->intermediate_size;

    *l = (struct modern_layer){ 0 };
    param_part(p, "%slayers.%d.", prefix, number);
    if (number)
        l->attention_norm = param_vector(p, C, -1, "attn_norm.weight");
    l->wqkv = param_matrix(p, 3 * C, C, "attn.Wqkv.weight");
    l->wo = param_matrix(p, C, C, "attn.Wo.weight");
    l->mlp_norm = param_vector(p, C, -1, "mlp_norm.weight");
    l->wi = param_matrix(p, 2 * I, C, "mlp.Wi.weight");
    l->w2 = param_matrix(p, C, I, "mlp.Wo.weight");
}

void modern_bert_init(struct bert *b, const char *prefix, enum dtype dtype, struct params *p,
                      const struct param_arenas *a)
{
    struct param_builder builder = { p, a, dtype, INIT, 0, "" };
    const struct bert_config *g = &b->config;

    param_part(&builder, "%sembeddings.", prefix);
    b->word = param_matrix(&builder, g->vocab_size, g->hidden_size, "tok_embeddings.weight");
    b->norm_w = param_vector(&builder, g->hidden_size, -1, "norm.weight");
    b->modern = arena_alloc(a->host, (size_t)g->layers * sizeof *b->modern);
    for (int i = 0; i < g->layers; i++)
        init_layer(&b->modern[i], g, &builder, prefix, i);
    param_part(&builder, "%s", prefix);
    b->final_norm = param_vector(&builder, g->hidden_size, -1, "final_norm.weight");
}

int modern_bert_modules(struct bert *b, const char *prefix, struct arena *host, struct lora_module **modules)
{
    int64_t C = b->config.hidden_size;
    int n = 0;

    *modules = arena_alloc(host, (size_t)(2 * b->config.layers) * sizeof **modules);
    for (int i = 0; i < b->config.layers; i++) {
        struct modern_layer *l = &b->modern[i];
        char *qkv = arena_printf(host, "%slayers.%d.attn.Wqkv", prefix, i);
        char *wo = arena_printf(host, "%slayers.%d.attn.Wo", prefix, i);
        (*modules)[n++] = (struct lora_module){ qkv, 3 * C, C, &l->qkv_lora, &l->wqkv, l->wqkv, false };
        (*modules)[n++] = (struct lora_module){ wo, C, C, &l->wo_lora, &l->wo, l->wo, false };
    }
    return n;
}

static struct tensor *as_vector(struct ctx *c, struct tensor *x)
{
    int64_t n = tensor_size(x);
    return op_reshape(c, x, 1, &n);
}

struct tensor *modern_bert_no_bias(struct ctx *c, int64_t n)
{
    float *zeros = xcalloc((size_t)n, sizeof *zeros);
    struct tensor *t = as_vector(c, batch_f32(c, zeros, 1, n, F32));

    free(zeros);
    return t;
}

/* Cosines and sines [3T, D] for each token's query, key and value. */
static struct tensor *angles_of(struct ctx *c, const struct bert_config *g, const struct bert_input *in, float theta)
{
    int dim = g->hidden_size / g->heads;
    float freqs[HEAD_DIM_MAX / 2];

    for (int j = 0; j < dim / 2; j++)
        freqs[j] = 1.0f / powf(theta, (float)(2 * j) / (float)dim);
    return op_rope_angles(c, in->turns, as_vector(c, batch_f32(c, freqs, 1, dim / 2, F32)));
}

/* [heads, 2 (half + 1) + 1] bias by distance: 0 up to half; BEYOND at both ends, which stand for all larger
 * distances. */
static struct tensor *window_bias(struct ctx *c, const struct bert_config *g)
{
    int64_t cells = 2 * (g->window / 2 + 1) + 1;
    float *x = xcalloc((size_t)(g->heads * cells), sizeof *x);

    for (int h = 0; h < g->heads; h++)
        x[h * cells] = x[(h + 1) * cells - 1] = BEYOND;
    struct tensor *t = batch_f32(c, x, g->heads, cells, F32);
    free(x);
    return t;
}

/* Tensors that all layers of a step share. */
struct shared {
    const struct bert *b;
    struct seqs seqs;
    struct tensor *zeros, *bias, *angles, *local_angles; /* bias and local_angles: of layers with a window */
};

/* A layer: argument of tape_block and tape_checkpoint. */
struct modern_block {
    struct shared shared;
    int number;
};

static struct tensor *map(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l)
{
    return l->a ? op_lora_linear(c, x, w, NULL, l) : op_linear(c, x, w, NULL, ACT_NONE);
}

static struct tensor *norm(struct ctx *c, const struct shared *s, struct tensor *x, struct tensor *w)
{
    return w ? op_layer_norm(c, x, NULL, w, s->zeros, s->b->config.layer_norm_eps) : x;
}

static struct tensor *attend(struct ctx *c, const struct modern_block *m, struct tensor *x)
{
    const struct shared *s = &m->shared;
    const struct bert_config *g = &s->b->config;
    const struct modern_layer *l = &s->b->modern[m->number];
    bool local = m->number % g->global_every != 0;
    int64_t T = tensor_rows(x), C = g->hidden_size;
    struct attention_form form = { .heads = g->heads, .p = g->attention_dropout, .bias = local ? s->bias : NULL };

    struct tensor *qkv = map(c, norm(c, s, x, l->attention_norm), l->wqkv, &l->qkv_lora);
    qkv = op_reshape(c, qkv, 2, (int64_t[]){ 3 * T, C });
    qkv = op_rope(c, qkv, local ? s->local_angles : s->angles);
    qkv = op_reshape(c, qkv, 2, (int64_t[]){ T, 3 * C });
    struct tensor *y = op_attention(c, qkv, qkv, &s->seqs, &s->seqs, &form);
    return op_dropout(c, map(c, y, l->wo, &l->wo_lora), g->attention_dropout);
}

static struct tensor *feed_forward(struct ctx *c, const struct modern_block *m, struct tensor *x)
{
    const struct shared *s = &m->shared;
    const struct bert_config *g = &s->b->config;
    const struct modern_layer *l = &s->b->modern[m->number];
    int64_t I = g->intermediate_size;
    struct tensor *h = norm(c, s, x, l->mlp_norm);
    struct tensor *gate = op_linear(c, h, tensor_slice(c, l->wi, 0, I), NULL, ACT_NONE);
    struct tensor *up = op_linear(c, h, tensor_slice(c, l->wi, I, I), NULL, ACT_NONE);

    h = op_dropout(c, op_glu(c, gate, up, GATE_GELU_ERF), g->hidden_dropout);
    return op_linear(c, h, l->w2, NULL, ACT_NONE);
}

static struct tensor *run_block(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct modern_block *m = arg;
    struct tensor *x = op_add(c, in[0], attend(c, m, in[0])), *h = feed_forward(c, m, x);

    return op_add(tape_result(c), x, h);
}

static struct shared share(struct ctx *c, const struct bert *b, const struct bert_input *in)
{
    const struct bert_config *g = &b->config;
    struct shared s = { .b = b, .seqs = in->seqs, .zeros = modern_bert_no_bias(c, g->hidden_size) };

    s.angles = angles_of(c, g, in, g->theta);
    if (g->global_every == 1)
        return s;
    s.local_angles = angles_of(c, g, in, g->local_theta);
    s.bias = window_bias(c, g);
    return s;
}

static struct tensor *embed(struct ctx *c, const struct shared *s, const struct bert_input *in)
{
    struct tensor *word = s->b->word, *x = norm(c, s, op_embed(c, &word, in->tokens, 1), s->b->norm_w);

    return op_dropout(c, x, s->b->config.embedding_dropout);
}

static struct tensor *run_layers(struct ctx *c, const struct shared *s, const struct bert_input *in, int layer)
{
    struct tensor *x = in->given ? in->given : embed(c, s, in);

    for (int i = in->first; i < layer; i++) {
        struct modern_block *m = arena_alloc(c->host, sizeof *m); /* read by the backward */
        *m = (struct modern_block){ *s, i };
        x = c->recording && !s->b->checkpointed ? tape_block(c, run_block, m, &x, 1)
                                                : tape_checkpoint(c, run_block, m, &x, 1);
    }
    return x;
}

struct tensor *modern_bert_states(struct ctx *c, const struct bert *b, const struct bert_input *in, int layer)
{
    struct shared s = share(c, b, in);

    return run_layers(c, &s, in, layer);
}

struct tensor *modern_bert_forward(struct ctx *c, const struct bert *b, const struct bert_input *in)
{
    struct shared s = share(c, b, in);
    struct tensor *x = run_layers(c, &s, in, b->config.layers);

    return norm(c, &s, in->rows ? op_gather(c, x, in->rows) : x, b->final_norm);
}
