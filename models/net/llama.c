#include "models/net/llama.h"

#include "models/net/param_builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kv_cache_init(struct kv_cache *cache, int layers, int64_t width, enum dtype dtype, int64_t rows,
                   struct arena *host, struct arena *data)
{
    size_t n = (size_t)layers;
    int64_t shape[2] = { rows, width };

    *cache =
        (struct kv_cache){ arena_alloc(host, n * sizeof *cache->k), arena_alloc(host, n * sizeof *cache->v), rows };
    for (int i = 0; i < layers; i++) {
        cache->k[i] = tensor_alloc(host, data, dtype, 2, shape);
        cache->v[i] = tensor_alloc(host, data, dtype, 2, shape);
    }
}

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
    if (g->qk_norm) {
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

/* Argument of tape_block and tape_checkpoint. */
struct block {
    const struct llama *m;
    int number;
    struct llama_input in;
    struct tensor *angles;
};

/* Whether this is the last block, which computes only the wanted rows after attention. */
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

/* Normalises queries or keys by w, if the network does so, and rotates them by position. */
static struct tensor *apply_rope(struct ctx *c, const struct block *b, struct tensor *x, struct tensor *w,
                                 bool transient)
{
    if (w)
        x = op_rms_norm(tape_transient(c), x, w, b->m->config.rms_norm_eps);
    return op_rope(transient ? tape_transient(c) : c, x, b->angles);
}

/* Keys or values in the order of attention's rows. */
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

    bool copied = b->in.keys != NULL; /* backwards of RoPE and gather read no inputs */

    op_lora_group(c, y, h, maps, 3, (l->q_norm ? 0 : 1u) | (l->k_norm ? 0 : 2u) | (copied ? 4u : 0));
    struct tensor *q = apply_rope(c, b, y[0], l->q_norm, false), *k = apply_rope(c, b, y[1], l->k_norm, copied);
    return op_causal_attention(c, q, key_rows(c, b, k), key_rows(c, b, y[2]), &b->in.causal, &form);
}

/* x + map(h), normalised by w if the network does so. */
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

/* Attention of the normalised x without a backward, over the cache if there is one. */
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

/* add_map in place, without a backward. */
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

/* Without a backward, x is updated in place and a block's temporary memory is reused. */
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

/* The scale is rounded to the embeddings' type, as in transformers. */
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
        struct block *b = arena_alloc(c->host, sizeof *b); /* read by the backward */
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

#define NEAR 6 /* initial score of the wanted neighbour, above the next one's */

#define SAME 12 /* initial score of an equal token, above others' */

#define FAST 0.1 /* radians per position; faster pairs distinguish neighbours */

#define QUIET                                                                                                          \
    0.125 /* scale of random weights that would drown the circuit: the other half of embeddings, and outputs */

#define SAID 3 /* scale of the copied embedding */

/* Sizes: channels, channels of a head, half of each, heads of a group, standard deviation of embeddings. */
struct circuit {
    const struct llama *m;
    struct params *params;
    struct device *device;
    int C, D, half_C, half_D, per_group;
    float spread;
};

/* Channel of a head's k-th slow channel: the second half of each half, since channels rotate in pairs. */
static int slow(const struct circuit *s, int k)
{
    int quarter = s->half_D / 2;
    return k < quarter ? s->half_D - quarter + k : s->D - quarter + (k - quarter);
}

/* Number of slow channels, which is even. */
static int n_slow(const struct circuit *s)
{
    return 2 * (s->half_D / 2);
}

/* Channel of the embedding that a group's k-th slow channel reads. Channel 0 is constant. */
static int read_by(const struct circuit *s, int group, int k)
{
    return 1 + (group * s->half_D + k) % (s->half_C - 1);
}

/* Channel that the k-th slow channel of a first-layer head writes. */
static int written_by(const struct circuit *s, int head, int k)
{
    return s->half_C + (head * s->half_D + k) % (s->C - s->half_C);
}

/* All embeddings get the same norm, so that a constant channel stays constant under RMSNorm. */
static void start_embedding(const struct circuit *s)
{
    float *x = start_values(s->params, s->m->word, s->device);

    for (int64_t i = 0; i < s->m->word->shape[0]; i++) {
        float *row = x + i * s->C;
        double squares = 0;
        for (int c = 0; c < s->C; c++) {
            row[c] *= c < s->half_C ? 1 : (float)QUIET;
            squares += c ? (double)row[c] * row[c] : 0;
        }
        float scale = s->spread * (float)sqrt((s->half_C - 1) / squares);
        for (int c = 0; c < s->C; c++)
            row[c] = c ? scale * row[c] : s->spread;
    }
    start_upload(s->params, s->m->word, s->device, x);
}

/* All keys are one vector. Queries are that vector, rotated back by the positions that the head looks back. */
static void start_neighbours(const struct circuit *s, const struct llama_layer *l)
{
    float *q = xcalloc((size_t)tensor_size(l->q.w), sizeof *q), *k = xcalloc((size_t)tensor_size(l->k.w), sizeof *k);
    float *freqs = xmalloc((size_t)s->half_D * sizeof *freqs);
    double apart = 0;

    llama_rope_freqs(&s->m->config, freqs);
    for (int p = 0; p < s->half_D && freqs[p] >= (float)FAST; p++)
        apart += 1 - cos((double)freqs[p]);
    /* the constant channel of a normalised embedding is sqrt(2), in both */
    float size = (float)sqrt(NEAR * sqrt((double)s->D) / apart / 2);
    for (int h = 0; h < s->m->config.heads; h++)
        for (int p = 0; p < s->half_D && freqs[p] >= (float)FAST; p++) {
            float back = (float)(1 + h % s->per_group) * freqs[p];
            q[(int64_t)(h * s->D + p) * s->C] = size * cosf(back);
            q[(int64_t)(h * s->D + s->half_D + p) * s->C] = -size * sinf(back);
        }
    for (int g = 0; g < s->m->config.groups; g++)
        for (int p = 0; p < s->half_D && freqs[p] >= (float)FAST; p++)
            k[(int64_t)(g * s->D + p) * s->C] = size;
    free(freqs);
    start_upload(s->params, l->q.w, s->device, q);
    start_upload(s->params, l->k.w, s->device, k);
}

/* A scaled copy of the random output matrix. The caller frees it. */
static float *quiet_output(const struct circuit *s, const struct llama_layer *l)
{
    float *o = start_values(s->params, l->o.w, s->device);

    for (int64_t i = 0; i < tensor_size(l->o.w); i++)
        o[i] *= (float)QUIET;
    return o;
}

/* Values are embeddings. Each head writes them to its channels of the other half. */
static void start_telling(const struct circuit *s, const struct llama_layer *l)
{
    float *v = start_values(s->params, l->v.w, s->device), *o = quiet_output(s, l);

    for (int g = 0; g < s->m->config.groups; g++)
        for (int k = 0; k < n_slow(s); k++)
            v[(int64_t)(g * s->D + slow(s, k)) * s->C + read_by(s, g, k)] += 1;
    for (int h = 0; h < s->m->config.heads; h++)
        for (int k = 0; k < n_slow(s); k++)
            o[(int64_t)written_by(s, h, k) * s->C + h * s->D + slow(s, k)] += s->spread;
    start_upload(s->params, l->v.w, s->device, v);
    start_upload(s->params, l->o.w, s->device, o);
}

/* The first head of each group matches its query, the current token, with keys that hold the token before each
 * place. */
static void start_finding(const struct circuit *s, const struct llama_layer *l)
{
    float *q = start_values(s->params, l->q.w, s->device), *k = start_values(s->params, l->k.w, s->device);
    float size = (float)sqrt(SAME * sqrt((double)s->D) / n_slow(s));

    for (int g = 0; g < s->m->config.groups; g++)
        for (int i = 0; i < n_slow(s); i++) {
            int head = g * s->per_group;
            q[(int64_t)(head * s->D + slow(s, i)) * s->C + read_by(s, g, i)] += size;
            k[(int64_t)(g * s->D + slow(s, i)) * s->C + written_by(s, head, i)] += size;
        }
    start_upload(s->params, l->q.w, s->device, q);
    start_upload(s->params, l->k.w, s->device, k);
}

/* Groups share the embedding's channels; each copies its own. */
static void start_saying(const struct circuit *s, const struct llama_layer *l)
{
    float *v = start_values(s->params, l->v.w, s->device), *o = quiet_output(s, l);

    for (int g = 0; g < s->m->config.groups; g++)
        for (int i = 0; i < s->D; i++) {
            int channel = 1 + (g * s->D + i) % (s->half_C - 1), head = g * s->per_group;
            v[(int64_t)(g * s->D + i) * s->C + channel] += 1;
            o[(int64_t)channel * s->C + head * s->D + i] += SAID * s->spread;
        }
    start_upload(s->params, l->v.w, s->device, v);
    start_upload(s->params, l->o.w, s->device, o);
}

void llama_start_copying(const struct llama *m, struct params *p, struct device *d)
{
    const struct llama_config *g = &m->config;
    const struct circuit s = { .m = m,
                               .params = p,
                               .device = d,
                               .C = g->hidden_size,
                               .D = g->head_dim,
                               .half_C = g->hidden_size / 2,
                               .half_D = g->head_dim / 2,
                               .per_group = g->heads / g->groups,
                               .spread = 1 / sqrtf((float)g->hidden_size) };

    CHECK(s.half_C > 1, "%d channels", g->hidden_size);
    CHECK(g->heads * g->head_dim == g->hidden_size, "%d heads of %d in %d channels", g->heads, g->head_dim,
          g->hidden_size);
    start_embedding(&s);
    start_neighbours(&s, &m->layers[0]);
    start_telling(&s, &m->layers[0]);
    if (g->layers < 2)
        return;
    start_finding(&s, &m->layers[1]);
    start_saying(&s, &m->layers[1]);
}
