#include "models/net/bert.h"

#include "kernels/batch.h"
#include "kernels/tape.h"
#include "models/net/modern_bert.h"
#include "models/net/param_builder.h"

#include <stdlib.h>
#include <string.h>

/* weight std of the published initialisation */
static const float INIT = 0.02f;

static const char *const prefixes[] = { [CLASSIC_BERT] = "bert.", [MODERN_BERT] = "model." };

const char *bert_prefix(const struct bert_config *g)
{
    return prefixes[g->kind];
}

bool bert_owns(const char *name)
{
    for (int i = 0; i < ARRAY_LEN(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static struct tensor *turns_of(struct ctx *c, const int32_t *positions, int64_t n)
{
    int32_t *turns = xcalloc((size_t)(3 * n) + 1, sizeof *turns);

    for (int64_t t = 0; t < n; t++)
        turns[3 * t] = turns[3 * t + 1] = positions[t];
    struct tensor *y = batch_i32(c, turns, 3 * n);
    free(turns);
    return y;
}

void bert_input_ids(struct ctx *c, struct bert_input *in, const struct bert_config *g, const int32_t *ids,
                    const int32_t *positions, const int32_t *segments, int64_t n)
{
    in->tokens[0] = batch_index(c, ids, n, g->vocab_size);
    if (g->kind == MODERN_BERT) {
        in->turns = turns_of(c, positions, n);
        return;
    }
    in->tokens[1] = batch_index(c, positions, n, g->max_positions);
    in->tokens[2] = batch_index(c, segments, n, g->type_vocab_size);
}

static void init_layer(struct bert_layer *l, const struct bert_config *g, struct param_builder *p, const char *prefix,
                       int number)
{
    int64_t C = g->hidden_size, I = g->intermediate_size;

    *l = (struct bert_layer){ 0 };
    param_part(p, "%sencoder.layer.%d.", prefix, number);
    l->wqkv = param_matrix(p, 3 * C, C, "attention.self.qkv.weight");
    l->bqkv = param_bias(p, 3 * C, "attention.self.qkv.bias");
    l->wo = param_matrix(p, C, C, "attention.output.dense.weight");
    l->bo = param_bias(p, C, "attention.output.dense.bias");
    l->attention_norm_w = param_vector(p, C, -1, "attention.output.LayerNorm.weight");
    l->attention_norm_b = param_vector(p, C, 0, "attention.output.LayerNorm.bias");
    l->w1 = param_matrix(p, I, C, "intermediate.dense.weight");
    l->b1 = param_vector(p, I, 0, "intermediate.dense.bias");
    l->w2 = param_matrix(p, C, I, "output.dense.weight");
    l->b2 = param_bias(p, C, "output.dense.bias");
    l->output_norm_w = param_vector(p, C, -1, "output.LayerNorm.weight");
    l->output_norm_b = param_vector(p, C, 0, "output.LayerNorm.bias");
}

void bert_init(struct bert *b, const struct bert_config *g, const char *prefix, enum dtype dtype, struct params *p,
               const struct param_arenas *a)
{
    struct param_builder builder = { p, a, dtype, INIT, 0, "" };
    int64_t C = g->hidden_size;

    *b = (struct bert){ .config = *g };
    if (g->kind == MODERN_BERT) {
        modern_bert_init(b, prefix, dtype, p, a);
        return;
    }
    param_part(&builder, "%sembeddings.", prefix);
    b->word = param_matrix(&builder, g->vocab_size, C, "word_embeddings.weight");
    b->position = param_matrix(&builder, g->max_positions, C, "position_embeddings.weight");
    b->type = param_matrix(&builder, g->type_vocab_size, C, "token_type_embeddings.weight");
    b->norm_w = param_vector(&builder, C, -1, "LayerNorm.weight");
    b->norm_b = param_vector(&builder, C, 0, "LayerNorm.bias");
    b->layers = arena_alloc(a->host, (size_t)g->layers * sizeof *b->layers);
    for (int i = 0; i < g->layers; i++)
        init_layer(&b->layers[i], g, &builder, prefix, i);
}

int bert_modules(struct bert *b, const char *prefix, struct arena *host, struct lora_module **modules)
{
    int64_t C = b->config.hidden_size;
    int n = 0;

    if (b->config.kind == MODERN_BERT)
        return modern_bert_modules(b, prefix, host, modules);
    *modules = arena_alloc(host, (size_t)(2 * b->config.layers) * sizeof **modules);
    for (int i = 0; i < b->config.layers; i++) {
        struct bert_layer *l = &b->layers[i];
        (*modules)[n++] =
            (struct lora_module){ .name = arena_printf(host, "%sencoder.layer.%d.attention.self.qkv", prefix, i),
                                  .out = 3 * C,
                                  .in = C,
                                  .lora = &l->qkv_lora,
                                  .w = &l->wqkv,
                                  .base = l->wqkv };
        (*modules)[n++] =
            (struct lora_module){ .name = arena_printf(host, "%sencoder.layer.%d.attention.output.dense", prefix, i),
                                  .out = C,
                                  .in = C,
                                  .lora = &l->wo_lora,
                                  .w = &l->wo,
                                  .base = l->wo };
    }
    return n;
}

static struct tensor *map(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b, const struct lora *l)
{
    return l->a ? op_lora_linear(c, x, w, b, l) : op_linear(c, x, w, b, ACT_NONE);
}

/* Feed-forward of the rows x that attention was computed for. */
static struct tensor *feed_forward(struct ctx *c, const struct bert *b, const struct bert_layer *l, struct tensor *x,
                                   struct tensor *attended)
{
    const struct bert_config *g = &b->config;
    struct tensor *o = op_dropout(c, map(c, attended, l->wo, l->bo, &l->wo_lora), g->hidden_dropout);
    x = op_layer_norm(c, o, x, l->attention_norm_w, l->attention_norm_b, g->layer_norm_eps);
    struct tensor *h = op_linear(c, x, l->w1, l->b1, g->activation);
    o = op_dropout(c, op_linear(c, h, l->w2, l->b2, ACT_NONE), g->hidden_dropout);
    return op_layer_norm(tape_result(c), o, x, l->output_norm_w, l->output_norm_b, g->layer_norm_eps);
}

/* A layer over all rows: argument of tape_block and tape_checkpoint. */
struct whole_layer {
    const struct bert *b;
    const struct bert_layer *l;
    struct seqs seqs;
};

static struct tensor *run_whole(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct whole_layer *w = arg;
    const struct bert_config *g = &w->b->config;
    struct tensor *qkv = map(c, in[0], w->l->wqkv, w->l->bqkv, &w->l->qkv_lora);
    struct attention_form form = { .heads = g->heads, .p = g->attention_dropout };
    struct tensor *y = op_attention(c, qkv, qkv, &w->seqs, &w->seqs, &form);
    return feed_forward(c, w->b, w->l, in[0], y);
}

static struct tensor *layer_all(struct ctx *c, const struct bert *b, const struct bert_layer *l, struct tensor *x,
                                const struct seqs *seqs)
{
    struct whole_layer *w = arena_alloc(c->host, sizeof *w); /* read by the backward */

    *w = (struct whole_layer){ b, l, *seqs };
    if (c->recording && !b->checkpointed)
        return tape_block(c, run_whole, w, &x, 1);
    return tape_checkpoint(c, run_whole, w, &x, 1);
}

/* The n rows of the query, key and value map from row `first` on. */
static struct tensor *map_part(struct ctx *c, const struct bert_layer *l, struct tensor *x, int64_t from, int64_t n)
{
    struct lora part = l->qkv_lora;

    if (part.a)
        part.b = tensor_slice(c, part.b, from, n);
    return map(c, x, tensor_slice(c, l->wqkv, from, n), tensor_slice(c, l->bqkv, from, n), &part);
}

/* Computes keys and values of all rows, but queries and the rest of the layer only for the wanted rows. */
static struct tensor *layer_rows(struct ctx *c, const struct bert *b, const struct bert_layer *l, struct tensor *x,
                                 const struct bert_input *in)
{
    int64_t C = b->config.hidden_size;
    struct tensor *wanted = op_gather(c, x, in->rows);
    struct tensor *q = map_part(c, l, wanted, 0, C), *kv = map_part(c, l, x, C, 2 * C);
    struct attention_form form = { .heads = b->config.heads, .p = b->config.attention_dropout };
    struct tensor *y = op_attention(c, q, kv, &in->row_seqs, &in->seqs, &form);
    return feed_forward(c, b, l, wanted, y);
}

static struct tensor *embed(struct ctx *c, const struct bert *b, const struct bert_input *in)
{
    const struct bert_config *g = &b->config;
    struct tensor *tables[3] = { b->word, b->position, b->type };
    struct tensor *x = op_embed(c, tables, in->tokens, 3);

    x = op_layer_norm(c, x, NULL, b->norm_w, b->norm_b, g->layer_norm_eps);
    return op_dropout(c, x, g->hidden_dropout);
}

struct tensor *bert_states(struct ctx *c, const struct bert *b, const struct bert_input *in, int layer)
{
    CHECK(in->first >= 0 && in->first <= layer && layer <= b->config.layers && (in->given || !in->first),
          "states before layer %d of %d from those before %d", layer, b->config.layers, in->first);
    if (b->config.kind == MODERN_BERT)
        return modern_bert_states(c, b, in, layer);
    struct tensor *x = in->given ? in->given : embed(c, b, in);
    for (int i = in->first; i < layer; i++)
        x = layer_all(c, b, &b->layers[i], x, &in->seqs);
    return x;
}

struct tensor *bert_forward(struct ctx *c, const struct bert *b, const struct bert_input *in)
{
    int last = b->config.layers - 1;

    if (b->config.kind == MODERN_BERT)
        return modern_bert_forward(c, b, in);
    if (!in->rows || last < 0)
        return bert_states(c, b, in, last + 1);
    return layer_rows(c, b, &b->layers[last], bert_states(c, b, in, last), in);
}

double bert_flops(const struct bert_config *g, double tokens, double mean_length, double rows)
{
    double C = g->hidden_size, I = g->intermediate_size;
    double projections = 2 * (4 * C * C + 2 * C * I), attention = 4 * mean_length * C;
    double last = 2 * (2 * C * C) * tokens + (2 * (2 * C * C + 2 * C * I) + attention) * rows;
    return (g->layers - 1) * (projections + attention) * tokens + last;
}

const char *const spec_dtypes[] = { "f32", "bf16", NULL };

static const char *const activations[] = { "none", "gelu", "gelu_tanh", "relu", "leaky_relu",
                                           "elu",  "tanh", "sigmoid",   NULL };

static const char *const kinds[] = { "bert", "modernbert", NULL };

/* Every enum of a description is an int in memory. */
_Static_assert(sizeof(enum activation) == sizeof(int) && sizeof(enum dtype) == sizeof(int), "enums are ints");

#define AT(member) offsetof(struct bert_config, member)

static const struct spec_field fields[] = {
    { "activation", AT(activation), SPEC_WORD, activations, 0, 0, false },
    { "vocab_size", AT(vocab_size), SPEC_INT, NULL, 1, 1 << 24, false },
    { "hidden_size", AT(hidden_size), SPEC_INT, NULL, 1, 1 << 16, false },
    { "layers", AT(layers), SPEC_INT, NULL, 1, 128, false },
    { "heads", AT(heads), SPEC_INT, NULL, 1, 1024, false },
    { "intermediate_size", AT(intermediate_size), SPEC_INT, NULL, 1, 1 << 20, false },
    { "max_positions", AT(max_positions), SPEC_INT, NULL, 16, 1 << 20, false },
    { "type_vocab_size", AT(type_vocab_size), SPEC_INT, NULL, 1, 1 << 10, false },
    { "layer_norm_eps", AT(layer_norm_eps), SPEC_FLOAT, NULL, 0, 1, false },
    { "hidden_dropout", AT(hidden_dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "attention_dropout", AT(attention_dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "encoder", AT(kind), SPEC_WORD, kinds, 0, 0, true },
    { "window", AT(window), SPEC_INT, NULL, 0, 1 << 20, true },
    { "global_every", AT(global_every), SPEC_INT, NULL, 0, 1 << 20, true },
    { "theta", AT(theta), SPEC_FLOAT, NULL, 0, 1e12, true },
    { "local_theta", AT(local_theta), SPEC_FLOAT, NULL, 0, 1e12, true },
    { "embedding_dropout", AT(embedding_dropout), SPEC_FLOAT, NULL, 0, 0.999, true },
    { 0 },
};

void bert_spec_write(json_t *o, const struct bert_config *b)
{
    spec_write(o, fields, b);
}

static int check_heads(const struct bert_config *b, const char *where, struct error *err)
{
    int size = b->hidden_size / b->heads;

    if (b->heads * size == b->hidden_size && size >= 1 && size <= HEAD_DIM_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: model: expected heads of 1 to %d channels, got %d channels in %d heads", where, HEAD_DIM_MAX,
                     b->hidden_size, b->heads);
}

static int check_modern(const struct bert_config *b, const char *where, struct error *err)
{
    if (b->kind == CLASSIC_BERT || (b->window >= 2 && b->global_every >= 1 && b->theta >= 1 && b->local_theta >= 1 &&
                                    b->hidden_size / b->heads % 2 == 0))
        return 0;
    return error_set(
        err, EXIT_CODE_CHECKPOINT,
        "%s: model: expected a window of 2 or more, global_every and bases of 1 or more and heads of an even "
        "number of channels, got %d, %d, %g, %g and %d",
        where, b->window, b->global_every, (double)b->theta, (double)b->local_theta, b->hidden_size / b->heads);
}

int bert_spec_read(const json_t *o, struct bert_config *b, const char *where, struct error *err)
{
    return spec_read(o, fields, b, where, err) || check_heads(b, where, err) || check_modern(b, where, err) ? -1 : 0;
}
