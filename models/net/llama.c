#include "models/net/llama.h"

#include "models/net/param_builder.h"

#include <math.h>
#include <stdio.h>

enum { NAME = 96, LAYER_MODULES = 7 };

static struct linear_map linear(const struct param_builder *p, int64_t out, int64_t in, bool bias, const char *name)
{
    char full[NAME];

    snprintf(full, sizeof full, "%s.weight", name);
    struct linear_map l = { .w = param_matrix(p, out, in, full) };
    snprintf(full, sizeof full, "%s.bias", name);
    if (bias)
        l.b = param_vector(p, out, 0, full);
    return l;
}

static struct tensor *norm(const struct param_builder *p, const struct llama_config *g, int64_t n, const char *name)
{
    struct param_builder b = *p;

    b.flags |= g->norms_less_one ? PARAM_LESS_ONE : 0;
    return param_vector(&b, n, -1, name);
}

static void init_layer(struct llama_layer *l, const struct llama_config *g, struct param_builder *p, int number)
{
    int64_t C = g->hidden_size, I = g->intermediate_size, D = g->head_dim;

    param_part(p, "model.layers.%d.", number);
    l->attention_norm = norm(p, g, C, "input_layernorm.weight");
    l->q = linear(p, g->heads * D, C, g->qkv_bias, "self_attn.q_proj");
    l->k = linear(p, g->groups * D, C, g->qkv_bias, "self_attn.k_proj");
    l->v = linear(p, g->groups * D, C, g->qkv_bias, "self_attn.v_proj");
    l->o = linear(p, C, g->heads * D, g->out_bias, "self_attn.o_proj");
    if (g->kind == QWEN3) {
        l->q_norm = norm(p, g, D, "self_attn.q_norm.weight");
        l->k_norm = norm(p, g, D, "self_attn.k_norm.weight");
    }
    if (g->out_norms)
        l->attention_out_norm = norm(p, g, C, "post_attention_layernorm.weight");
    l->mlp_norm = norm(p, g, C, g->out_norms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight");
    if (g->out_norms)
        l->mlp_out_norm = norm(p, g, C, "post_feedforward_layernorm.weight");
    l->gate = linear(p, I, C, g->mlp_bias, "mlp.gate_proj");
    l->up = linear(p, I, C, g->mlp_bias, "mlp.up_proj");
    l->down = linear(p, C, I, g->mlp_bias, "mlp.down_proj");
}

void llama_init(struct llama *m, const struct llama_config *g, enum dtype dtype, bool frozen, struct params *p,
                const struct param_arenas *a)
{
    struct param_builder builder = { p, a, dtype, g->initializer_range, frozen ? PARAM_FROZEN : 0, "" };

    *m = (struct llama){ .config = *g };
    m->word = param_embedding(&builder, g->vocab_size, g->hidden_size, "model.embed_tokens.weight");
    m->layers = arena_alloc(a->host, (size_t)g->layers * sizeof *m->layers);
    for (int i = 0; i < g->layers; i++) {
        m->layers[i] = (struct llama_layer){ 0 };
        init_layer(&m->layers[i], g, &builder, i);
    }
    param_part(&builder, "%s", "");
    m->norm = norm(&builder, g, g->hidden_size, "model.norm.weight");
    if (g->tied)
        m->head.w = m->word;
    else
        m->head = linear(&builder, g->vocab_size, g->hidden_size, false, "lm_head");
    m->freqs = tensor_alloc(a->host, a->data, F32, 1, (int64_t[]){ g->head_dim / 2 });
}

void llama_upload_constants(const struct llama *m, struct device *d)
{
    float freqs[128];

    CHECK(m->config.head_dim / 2 <= ARRAY_LEN(freqs), "heads of %d channels", m->config.head_dim);
    llama_rope_freqs(&m->config, freqs);
    device_upload(d, m->freqs, freqs);
}

/* One block, as tape_block and tape_checkpoint take it. */
struct block {
    const struct llama *m;
    int number;
    struct llama_input in;
    struct tensor *angles;
};

/* What follows attention is computed for the wanted rows alone. */
static bool is_cut(const struct block *b)
{
    return b->in.rows && b->number == b->m->config.layers - 1;
}

static struct tensor *apply(struct ctx *c, struct tensor *x, const struct linear_map *l)
{
    return op_lora_linear(c, x, l->w, l->b, &l->lora);
}

static struct attention_form form_of(const struct block *b)
{
    const struct llama_config *g = &b->m->config;

    return (struct attention_form){ .heads = g->heads,
                                    .groups = g->groups,
                                    .scale = g->query_scalar > 0 ? 1.0f / sqrtf(g->query_scalar) : 0,
                                    .cap = g->score_cap,
                                    .window = g->windowed[b->number] ? g->window : 0 };
}

/* Queries or keys: normalised by w where the network does that, then rotated by their positions. */
static struct tensor *apply_rope(struct ctx *c, const struct block *b, struct tensor *x, struct tensor *w,
                                 bool transient)
{
    if (w)
        x = op_rms_norm(tape_transient(c), x, w, b->m->config.rms_norm_eps);
    return op_rope(transient ? tape_transient(c) : c, x, b->angles);
}

/* Keys or values as attention counts them. */
static struct tensor *key_rows(struct ctx *c, const struct block *b, struct tensor *x)
{
    return b->in.keys ? op_gather(c, x, b->in.keys) : x;
}

static struct tensor *attend(struct ctx *c, const struct block *b, struct tensor *x)
{
    const struct attention_form form = form_of(b);
    const struct llama_layer *l = &b->m->layers[b->number];
    const struct linear_map *const maps[] = { &l->q, &l->k, &l->v };
    struct tensor *h = op_rms_norm(tape_transient(c), x, l->attention_norm, b->m->config.rms_norm_eps), *y[3];

    bool copied = b->in.keys != NULL; /* backwards of a rope and of a gather read nothing */

    op_lora_group(c, y, h, maps, 3, (l->q_norm ? 0 : 1u) | (l->k_norm ? 0 : 2u) | (copied ? 4u : 0));
    struct tensor *q = apply_rope(c, b, y[0], l->q_norm, false), *k = apply_rope(c, b, y[1], l->k_norm, copied);
    return op_causal_attention(c, q, key_rows(c, b, k), key_rows(c, b, y[2]), &b->in.causal, &form);
}

/* x + what the map makes of h, normed by w where the network does that. */
static struct tensor *add_map(struct ctx *c, const struct block *b, struct tensor *x, struct tensor *h,
                              const struct linear_map *map, struct tensor *w)
{
    if (!w)
        return op_lora_residual(c, x, h, map->w, map->b, &map->lora);
    struct tensor *y = apply(c, h, map);
    return op_add(c, x, op_rms_norm(tape_transient(c), y, w, b->m->config.rms_norm_eps));
}

static struct tensor *add_attention(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct block *b = arg;
    const struct llama_layer *l = &b->m->layers[b->number];
    struct tensor *x = in[0], *attended = attend(c, b, x);

    if (is_cut(b)) {
        attended = op_gather(c, attended, b->in.rows);
        x = op_gather(c, x, b->in.rows);
    }
    return add_map(c, b, x, attended, &l->o, l->attention_out_norm);
}

static struct tensor *add_feed_forward(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct block *b = arg;
    const struct llama_layer *l = &b->m->layers[b->number];
    struct tensor *h = op_rms_norm(tape_transient(c), in[0], l->mlp_norm, b->m->config.rms_norm_eps);
    struct tensor *y[2];

    op_lora_group(c, y, h, (const struct linear_map *const[]){ &l->up, &l->gate }, 2, 0);
    h = op_glu(tape_transient(c), y[1], y[0], b->m->config.gate);
    return add_map(c, b, in[0], h, &l->down, l->mlp_out_norm);
}

static struct tensor *run_block(struct ctx *c, struct tensor **in, const void *arg)
{
    struct tensor *x = tape_block(c, add_attention, arg, in, 1);

    return tape_block(c, add_feed_forward, arg, &x, 1);
}

static struct tensor *layer(struct ctx *c, const struct block *b, struct tensor *x)
{
    if (is_cut(b) || !b->m->checkpointed)
        return run_block(c, &x, b);
    return tape_checkpoint(c, run_block, b, &x, 1);
}

/* Without a backward: attention of the normed x, over the cache where there is one. */
static struct tensor *attend_once(struct ctx *c, const struct block *b, struct tensor *x)
{
    const struct llama_config *g = &b->m->config;
    const struct attention_form form = form_of(b);
    const struct llama_layer *l = &b->m->layers[b->number];
    const struct kv_cache *cache = b->in.cache;
    struct rope_cache r = { b->angles, l->q_norm, l->k_norm, g->rms_norm_eps, NULL, NULL, b->in.cache_rows };
    struct tensor *y[3];

    op_linear_group(c, y, x, (struct rms_norm){ l->attention_norm, g->rms_norm_eps },
                    (const struct linear_map *const[]){ &l->q, &l->k, &l->v }, 3);
    struct tensor *q = y[0], *k = y[1], *v = y[2];
    if (cache) {
        r.k = cache->k[b->number];
        r.v = cache->v[b->number];
    }
    op_rope_cache(c, q, k, v, &r);
    if (b->in.fill && b->number == g->layers - 1)
        return NULL;
    if (b->in.paged)
        return op_paged_attention(c, q, r.k, r.v, b->in.paged, &form);
    k = cache ? r.k : key_rows(c, b, k);
    v = cache ? r.v : key_rows(c, b, v);
    return op_causal_attention(c, q, k, v, &b->in.causal, &form);
}

/* add_map without a backward, in place. */
static void add_once(struct ctx *c, const struct block *b, struct tensor *x, struct tensor *h,
                     const struct linear_map *map, struct tensor *w)
{
    struct tensor *y;

    if (!w) {
        op_linear_add(c, x, h, map);
        return;
    }
    op_linear_group(c, &y, h, (struct rms_norm){ 0 }, &map, 1);
    op_add_to(c, x, op_rms_norm(c, y, w, b->m->config.rms_norm_eps));
}

/* Without a backward x changes in place, and what a block takes besides is given back. */
static struct tensor *layer_once(struct ctx *c, const struct block *b, struct tensor *x)
{
    const struct llama_config *g = &b->m->config;
    const struct llama_layer *l = &b->m->layers[b->number];
    size_t mark = arena_mark(c->step), host = arena_mark(c->host);
    struct tensor *h = attend_once(c, b, x);

    if (!h)
        return NULL;
    if (is_cut(b)) {
        h = op_gather(c, h, b->in.rows);
        x = op_gather(c, x, b->in.rows);
    }
    add_once(c, b, x, h, &l->o, l->attention_out_norm);
    h = op_linear_glu(c, x, (struct rms_norm){ l->mlp_norm, g->rms_norm_eps }, &l->gate, &l->up, g->gate);
    add_once(c, b, x, h, &l->down, l->mlp_out_norm);
    if (!is_cut(b)) {
        arena_reset(c->host, host);
        arena_reset(c->step, mark);
    }
    return x;
}

/* The scale is a number of the embeddings' type, as transformers has it. */
static struct tensor *embed(struct ctx *c, const struct llama *m, const struct llama_input *in)
{
    struct tensor *word = m->word;
    struct tensor *x = op_neftune(c, op_embed(c, &word, &in->tokens, 1), &in->causal.qs, m->neftune);
    float scale = m->config.embedding_scale;

    if (scale == 0)
        return x;
    return op_scale(c, x, x->dtype == BF16 ? f32_from_bf16(bf16_from_f32(scale)) : scale);
}

struct tensor *llama_forward(struct ctx *c, const struct llama *m, const struct llama_input *in)
{
    struct tensor *angles = op_rope_angles(c, in->positions, m->freqs), *x = embed(c, m, in);

    for (int i = 0; i < m->config.layers; i++) {
        struct block *b = arena_alloc(c->host, sizeof *b); /* the backward reads it */
        *b = (struct block){ m, i, *in, angles };
        x = c->recording ? layer(c, b, x) : layer_once(c, b, x);
    }
    return x ? op_rms_norm(c, x, m->norm, m->config.rms_norm_eps) : NULL;
}

static struct lora_module module_of(struct linear_map *l, char *name, bool beside)
{
    return (struct lora_module){ name, l->w->shape[0], l->w->shape[1], &l->lora, &l->w, l->w, beside };
}

int llama_modules(struct llama *m, struct arena *host, struct lora_module **modules)
{
    static const char *const names[LAYER_MODULES] = { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                                      "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                                      "mlp.down_proj" };
    int n = 0, total = m->config.layers * LAYER_MODULES + 1;
    struct lora_module *list = arena_alloc(host, (size_t)total * sizeof *list);

    for (int i = 0; i < m->config.layers; i++) {
        struct llama_layer *l = &m->layers[i];
        struct linear_map *maps[LAYER_MODULES] = { &l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down };
        for (int k = 0; k < LAYER_MODULES; k++) {
            bool beside = maps[k] == &l->k || maps[k] == &l->v || maps[k] == &l->up;
            list[n++] = module_of(maps[k], arena_printf(host, "model.layers.%d.%s", i, names[k]), beside);
        }
    }
    list[n++] = module_of(&m->head, arena_printf(host, "lm_head"), false);
    *modules = list;
    return n;
}
