/* Defines for each op its inputs, one call, and the sizes that the models use. */
#include "bench/kernel_rows_impl.h"

#include "kernels/batch.h"
#include "kernels/kernels.h"
#include "kernels/rng.h"

#include <stdlib.h>

enum { LORA_RANK = 16 };

static struct rng rng;

enum {
    NOISE = 1000003
}; /* random numbers; larger tensors repeat them.  A prime, so that repeats fall in other columns. */

struct tensor *bench_noise(struct ctx *c, int64_t rows, int64_t cols, enum dtype dtype)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols && ctx_uploads(c); i++)
        x[i] = i < NOISE ? rng_uniform(&rng) - 0.5f : x[i - NOISE];
    struct tensor *t = batch_f32(c, x, rows, cols, dtype);
    free(x);
    return t;
}

struct tensor *bench_input(struct ctx *c, struct bench *b, int64_t rows, int64_t cols, enum dtype dtype)
{
    struct tensor *t = b->in[b->n_in++] = bench_noise(c, rows, cols, dtype);

    t->needs_grad = c->recording;
    return t;
}

void bench_param(struct ctx *c, struct bench *b, int64_t rows, int64_t cols, enum dtype dtype)
{
    struct tensor *t = bench_input(c, b, rows, cols, dtype);

    t->frozen = !t->needs_grad;
    t->is_param = t->needs_grad;
    if (t->is_param) {
        t->grad = tensor_new2(c, F32, rows, cols);
        RUN(c, fill, t->grad, 0.0f);
    }
}

struct index bench_index(struct ctx *c, int64_t n, int64_t rows)
{
    int32_t *ids = xmalloc((size_t)n * sizeof *ids);

    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)rng_below(&rng, (uint32_t)rows);
    struct index index = batch_index(c, ids, n, rows);
    free(ids);
    return index;
}

/* Splits t rows into sequences of `length` rows each. */
struct seqs bench_seqs(struct ctx *c, int64_t t, int64_t length)
{
    int64_t n = t / length;
    int32_t *lengths = xmalloc((size_t)n * sizeof *lengths);

    for (int64_t i = 0; i < n; i++)
        lengths[i] = (int32_t)length;
    struct seqs s = batch_seqs(c, lengths, n);
    free(lengths);
    return s;
}

/* Each op has one function that makes the inputs and one that calls it. */

static void make_linear(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, 1, F32);
}

static struct tensor *run_linear(struct ctx *c, struct bench *b)
{
    return op_linear(c, b->in[0], b->in[1], b->in[2], ACT_NONE);
}

static struct tensor *run_linear_gelu(struct ctx *c, struct bench *b)
{
    return op_linear(c, b->in[0], b->in[1], b->in[2], ACT_GELU);
}

/* A frozen weight and an adapter of rank 16.  For the head of a language model, the outputs are the classes. */
void make_lora(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    struct tensor *w = bench_input(c, b, b->row->n, b->row->c, b->dtype);
    w->needs_grad = false;
    w->frozen = true;
    bench_param(c, b, LORA_RANK, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, LORA_RANK, b->dtype);
    b->index = bench_index(c, b->row->t, b->row->n);
}

struct lora bench_adapter(const struct bench *b)
{
    return (struct lora){ .a = b->in[2], .b = b->in[3], .scale = 1 };
}

static struct tensor *run_lora_linear(struct ctx *c, struct bench *b)
{
    struct lora l = bench_adapter(b);
    return op_lora_linear(c, b->in[0], b->in[1], NULL, &l);
}

static struct tensor *run_linear_nll(struct ctx *c, struct bench *b)
{
    struct lora l = bench_adapter(b);
    return op_linear_nll(c, b->in[0], b->in[1], &l, b->index.ids, 0);
}

static double linear_flops(const struct row *row)
{
    return 2.0 * (double)row->t * (double)row->c * (double)row->n;
}

static void make_matrix(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
}

static struct tensor *run_gelu(struct ctx *c, struct bench *b)
{
    return op_activation(c, b->in[0], ACT_GELU);
}

static struct tensor *run_cast(struct ctx *c, struct bench *b)
{
    return op_cast(c, b->in[0], b->dtype == F32 ? BF16 : F32);
}

static struct tensor *run_dropout(struct ctx *c, struct bench *b)
{
    return op_dropout(c, b->in[0], 0.1f);
}

static void make_add(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
}

static struct tensor *run_add(struct ctx *c, struct bench *b)
{
    return op_add(c, b->in[0], b->in[1]);
}

static void make_layer_norm(struct ctx *c, struct bench *b)
{
    make_add(c, b);
    bench_param(c, b, b->row->c, 1, F32);
    bench_param(c, b, b->row->c, 1, F32);
}

static struct tensor *run_layer_norm(struct ctx *c, struct bench *b)
{
    return op_layer_norm(c, b->in[0], b->in[1], b->in[2], b->in[3], 1e-12f);
}

/* n: rows of the table */
static void make_embed(struct ctx *c, struct bench *b)
{
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
    b->index = bench_index(c, b->row->t, b->row->n);
}

static struct tensor *run_embed(struct ctx *c, struct bench *b)
{
    return op_embed(c, b->in, &b->index, 1);
}

static void make_gather(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->n, b->row->c, b->dtype);
    b->index = bench_index(c, b->row->t, b->row->n);
}

static struct tensor *run_gather(struct ctx *c, struct bench *b)
{
    return op_gather(c, b->in[0], &b->index);
}

enum { SEQUENCE = 22 }; /* tokens of a question with a schema element, on average */

/* n: heads */
static void make_attention(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, 3 * b->row->c * b->row->n, b->dtype);
    b->seqs = bench_seqs(c, b->row->t, b->row->t % SEQUENCE ? 128 : SEQUENCE);
}

static struct tensor *run_attention(struct ctx *c, struct bench *b)
{
    return op_attention(c, b->in[0], b->in[0], &b->seqs, &b->seqs, &(struct attention_form){ .heads = (int)b->row->n });
}

static double attention_flops(const struct row *row)
{
    return 4.0 * (double)row->t * (double)(row->t % SEQUENCE ? 128 : SEQUENCE) * (double)(row->c * row->n);
}

enum { CAUSAL_KEYS = 512, CAUSAL_SHARED = 4 };            /* keys of a sequence, heads of a group */
enum { CAUSAL_SEQUENCES = 8, CAUSAL_SEQUENCES_LONG = 2 }; /* in a training step */

/* n heads; `queries` of each sequence's keys are also queries */
static void make_causal(struct ctx *c, struct bench *b, int64_t n, int64_t keys, int64_t queries)
{
    int64_t width = b->row->c * b->row->n;
    int32_t *start = xmalloc((size_t)(2 * n) * sizeof *start), *length = start + n;

    for (int64_t i = 0; i < n; i++) {
        start[i] = (int32_t)(i * keys);
        length[i] = (int32_t)keys;
    }
    b->causal = (struct causal){ .qs = bench_seqs(c, n * queries, queries),
                                 .key_start = batch_i32(c, start, n),
                                 .key_len = batch_i32(c, length, n),
                                 .max_keys = keys };
    free(start);
    bench_input(c, b, n * queries, width, b->dtype);
    bench_input(c, b, n * keys, width / CAUSAL_SHARED, b->dtype);
    bench_input(c, b, n * keys, width / CAUSAL_SHARED, b->dtype);
}

static int64_t causal_keys(const struct row *row)
{
    return row->t < CAUSAL_KEYS ? row->t : CAUSAL_KEYS;
}

static void make_causal_step(struct ctx *c, struct bench *b)
{
    int64_t keys = b->row->t / CAUSAL_SEQUENCES;

    make_causal(c, b, CAUSAL_SEQUENCES, keys, keys);
}

static void make_causal_long(struct ctx *c, struct bench *b)
{
    int64_t keys = b->row->t / CAUSAL_SEQUENCES_LONG;

    make_causal(c, b, CAUSAL_SEQUENCES_LONG, keys, keys);
}

static void make_causal_attention(struct ctx *c, struct bench *b)
{
    int64_t keys = causal_keys(b->row);

    make_causal(c, b, b->row->t / keys, keys, keys);
}

/* One query per sequence, without a gradient. */
static void make_decode(struct ctx *c, struct bench *b)
{
    make_causal(c, b, b->row->t, CAUSAL_KEYS, 1);
    for (int i = 0; i < b->n_in; i++)
        b->in[i]->needs_grad = false;
}

static struct tensor *run_causal_attention(struct ctx *c, struct bench *b)
{
    int heads = (int)b->row->n;
    struct attention_form form = { .heads = heads, .groups = heads / CAUSAL_SHARED };
    return op_causal_attention(c, b->in[0], b->in[1], b->in[2], &b->causal, &form);
}

static double causal_flops_of(const struct row *row, int64_t keys)
{
    return 2.0 * (double)row->t * (double)(keys + 1) * (double)(row->c * row->n);
}

static double causal_flops(const struct row *row)
{
    return causal_flops_of(row, causal_keys(row));
}

static double causal_step_flops(const struct row *row)
{
    return causal_flops_of(row, row->t / CAUSAL_SEQUENCES);
}

static double causal_long_flops(const struct row *row)
{
    return causal_flops_of(row, row->t / CAUSAL_SEQUENCES_LONG);
}

static void make_pool(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_input(c, b, b->row->t, 1, F32);
    b->seqs = bench_seqs(c, b->row->t, b->row->n);
}

static struct tensor *run_segment_pool(struct ctx *c, struct bench *b)
{
    return op_segment_pool(c, b->in[0], &b->seqs, POOL_MEAN);
}

static void make_segment_score(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, F32);
    bench_param(c, b, 1, b->row->c, F32);
    bench_param(c, b, 1, 1, F32);
    b->seqs = bench_seqs(c, b->row->t, b->row->n);
}

static struct tensor *run_segment_score(struct ctx *c, struct bench *b)
{
    return op_segment_score(c, b->in[0], &b->seqs, POOL_MEAN, 0.3f, b->in[1], b->in[2]);
}

static struct tensor *run_attention_pool(struct ctx *c, struct bench *b)
{
    return op_attention_pool(c, b->in[0], b->in[1], &b->seqs);
}

/* t nodes with n edges each, 4 heads */
static void make_graph(struct ctx *c, struct bench *b)
{
    int64_t n = b->row->t * b->row->n;
    struct edge *edges = xmalloc((size_t)n * sizeof *edges);

    for (int64_t i = 0; i < n; i++)
        edges[i] =
            (struct edge){ (int32_t)rng_below(&rng, (uint32_t)b->row->t), (int32_t)(i / b->row->n), (int32_t)(i % 8) };
    b->graph = batch_graph(c, edges, n, b->row->t);
    free(edges);
}

static void make_gat(struct ctx *c, struct bench *b)
{
    make_graph(c, b);
    bench_input(c, b, b->row->t, 4 * b->row->c, b->dtype);
    bench_param(c, b, 4, b->row->c, F32);
    bench_param(c, b, 4, b->row->c, F32);
    bench_param(c, b, 8, 4, F32);
    bench_param(c, b, 4 * b->row->c, 1, F32);
}

static struct tensor *run_gat(struct ctx *c, struct bench *b)
{
    struct gat g = { .graph = &b->graph,
                     .a_src = b->in[1],
                     .a_dst = b->in[2],
                     .edge_bias = b->in[3],
                     .bias = b->in[4],
                     .heads = 4,
                     .slope = 0.2f };
    return op_gat(c, b->in[0], &g);
}

/* A layer of the classifier of Skadborg and Mortensen: averaged heads, ELU, dropout */
static void make_gat_mean(struct ctx *c, struct bench *b)
{
    make_graph(c, b);
    bench_input(c, b, b->row->t, 4 * b->row->c, b->dtype);
    bench_param(c, b, 4, b->row->c, F32);
    bench_param(c, b, 4, b->row->c, F32);
    bench_param(c, b, b->row->c, 1, F32);
}

static struct tensor *run_gat_mean(struct ctx *c, struct bench *b)
{
    struct gat g = { .graph = &b->graph,
                     .a_src = b->in[1],
                     .a_dst = b->in[2],
                     .bias = b->in[3],
                     .heads = 4,
                     .mean = true,
                     .slope = 0.2f,
                     .p = 0.3f,
                     .act = ACT_ELU,
                     .out_p = 0.3f };
    return op_gat(c, b->in[0], &g);
}

static void make_propagate(struct ctx *c, struct bench *b)
{
    make_graph(c, b);
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_input(c, b, b->row->t * b->row->n, 1, F32);
}

static struct tensor *run_propagate(struct ctx *c, struct bench *b)
{
    return op_propagate(c, b->in[0], b->in[1], &b->graph);
}

static void make_pairs(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->n, b->row->c, b->dtype);
    b->index = bench_index(c, b->row->t, b->row->n);
    b->other = bench_index(c, b->row->t, b->row->n);
}

static struct tensor *run_pairs(struct ctx *c, struct bench *b)
{
    return op_pair_features(c, b->in[0], &b->index, &b->other, NULL);
}

static struct tensor *run_pair_dot(struct ctx *c, struct bench *b)
{
    return op_pair_dot(c, b->in[0], &b->index, b->in[0], &b->other, 0.05f);
}

static void make_rms_norm(struct ctx *c, struct bench *b)
{
    make_matrix(c, b);
    bench_param(c, b, b->row->c, 1, F32);
}

/* n: heads, each of c columns with one weight */
static void make_head_norm(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c * b->row->n, b->dtype);
    bench_param(c, b, b->row->c, 1, F32);
}

static struct tensor *run_rms_norm(struct ctx *c, struct bench *b)
{
    return op_rms_norm(c, b->in[0], b->in[1], 1e-5f);
}

/* n: heads */
static void make_rope(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c * b->row->n, b->dtype);
    b->index = bench_index(c, b->row->t, b->row->t);
    struct tensor *angles = b->in[b->n_in++] = op_rope_angles(c, b->index.ids, bench_noise(c, 1, b->row->c / 2, F32));
    angles->needs_grad = false;
}

static struct tensor *run_rope(struct ctx *c, struct bench *b)
{
    return op_rope(c, b->in[0], b->in[1]);
}

static struct tensor *run_glu(struct ctx *c, struct bench *b)
{
    return op_glu(c, b->in[0], b->in[1], b->row->n ? GATE_GELU : GATE_SILU);
}

static void make_residual(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->n, F32);
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
}

static struct tensor *run_residual(struct ctx *c, struct bench *b)
{
    return op_linear_residual(c, b->in[0], b->in[1], b->in[2], 0);
}

static void make_noisy(struct ctx *c, struct bench *b)
{
    make_matrix(c, b);
    b->seqs = bench_seqs(c, b->row->t, b->row->n);
}

static struct tensor *run_neftune(struct ctx *c, struct bench *b)
{
    return op_neftune(c, b->in[0], &b->seqs, 5);
}

static struct tensor *run_argmax(struct ctx *c, struct bench *b)
{
    return op_argmax(c, b->in[0]);
}

const struct row kernel_rows[] = {
    { "linear", 1408, 768, 2304, make_linear, run_linear, linear_flops, 2, ANY_TYPE },
    { "linear", 1408, 768, 768, make_linear, run_linear, linear_flops, 2, ANY_TYPE },
    { "linear gelu", 1408, 768, 3072, make_linear, run_linear_gelu, linear_flops, 2, ANY_TYPE },
    { "linear", 16384, 768, 2304, make_linear, run_linear, linear_flops, 2, BF16_ONLY },
    { "linear gelu", 16384, 768, 3072, make_linear, run_linear_gelu, linear_flops, 2, BF16_ONLY },
    { "linear", 1408, 3072, 768, make_linear, run_linear, linear_flops, 2, ANY_TYPE },
    { "linear", 1408, 384, 1152, make_linear, run_linear, linear_flops, 2, ANY_TYPE },
    { "linear gelu", 1408, 384, 1536, make_linear, run_linear_gelu, linear_flops, 2, ANY_TYPE },
    { "lora_linear", 1408, 4096, 4096, make_lora, run_lora_linear, linear_flops, 1, ANY_TYPE },
    { "lora_linear", 1408, 1024, 4096, make_lora, run_lora_linear, linear_flops, 1, ANY_TYPE },
    { "lora_linear", 16384, 4096, 4096, make_lora, run_lora_linear, linear_flops, 1, BF16_ONLY },
    { "lora_linear", 16384, 4096, 14336, make_lora, run_lora_linear, linear_flops, 1, BF16_ONLY },
    { "linear_nll", 352, 1024, 32000, make_lora, run_linear_nll, linear_flops, 2, ANY_TYPE },
    { "linear_group", 1, 2048, 2048, make_maps, run_linear_group, NULL, 0, ANY_TYPE },
    { "linear_group", 16, 2048, 2048, make_maps, run_linear_group, NULL, 0, ANY_TYPE },
    { "linear_group", 640, 2048, 2048, make_maps, run_linear_group, linear_group_flops, 0, ANY_TYPE },
    { "linear_glu", 1, 2048, 8192, make_halves, run_linear_glu, NULL, 0, ANY_TYPE },
    { "linear_logits", 1, 2048, 32000, make_lora, run_linear_logits, NULL, 0, ANY_TYPE },
    { "linear", 64, 768, 1, make_linear, run_linear, linear_flops, 2, ANY_TYPE },
    { "attention", 1408, 64, 12, make_attention, run_attention, attention_flops, 2.5, ANY_TYPE },
    { "attention", 1408, 32, 12, make_attention, run_attention, attention_flops, 2.5, ANY_TYPE },
    { "attention", 1024, 64, 12, make_attention, run_attention, attention_flops, 2.5, ANY_TYPE },
    { "causal_attention", 2048, 64, 16, make_causal_attention, run_causal_attention, causal_flops, 2.5, ANY_TYPE },
    { "causal_attention", 2048, 128, 8, make_causal_attention, run_causal_attention, causal_flops, 2.5, ANY_TYPE },
    { "causal 2k", 16384, 128, 32, make_causal_step, run_causal_attention, causal_step_flops, 2.5, BF16_ONLY },
    { "causal 8k", 16384, 128, 32, make_causal_long, run_causal_attention, causal_long_flops, 2.5, BF16_ONLY },
    { "causal 2k", 16384, 64, 32, make_causal_step, run_causal_attention, causal_step_flops, 2.5, BF16_ONLY },
    { "causal 8k", 16384, 64, 32, make_causal_long, run_causal_attention, causal_long_flops, 2.5, BF16_ONLY },
    { "causal decode", 16, 128, 8, make_decode, run_causal_attention, NULL, 0, ANY_TYPE },
    { "paged beams", 160, 128, 32, make_paged_beams, run_paged, NULL, 0, ANY_TYPE },
    { "paged alone", 1, 128, 32, make_paged_alone, run_paged, NULL, 0, ANY_TYPE },
    { "paged alone", 32, 128, 32, make_paged_alone, run_paged, NULL, 0, ANY_TYPE },
    { "paged begun", 425, 128, 32, make_paged_begun, run_paged, NULL, 0, ANY_TYPE },
    { "cache_rows", 640, 1024, 0, make_cache_rows, run_cache_rows, NULL, 0, ANY_TYPE },
    { "layer_norm", 1408, 768, 0, make_layer_norm, run_layer_norm, NULL, 0, ANY_TYPE },
    { "layer_norm", 16384, 768, 0, make_layer_norm, run_layer_norm, NULL, 0, BF16_ONLY },
    { "layer_norm", 1408, 384, 0, make_layer_norm, run_layer_norm, NULL, 0, ANY_TYPE },
    { "activation gelu", 1408, 3072, 0, make_matrix, run_gelu, NULL, 0, ANY_TYPE },
    { "add", 1408, 768, 0, make_add, run_add, NULL, 0, ANY_TYPE },
    { "cast", 1408, 768, 0, make_matrix, run_cast, NULL, 0, ANY_TYPE },
    { "dropout", 1408, 768, 0, make_matrix, run_dropout, NULL, 0, ANY_TYPE },
    { "embed", 1408, 768, 1408, make_embed, run_embed, NULL, 0, ANY_TYPE },
    { "gather", 1408, 768, 1408, make_gather, run_gather, NULL, 0, ANY_TYPE },
    { "gat", 1024, 64, 8, make_gat, run_gat, NULL, 0, ANY_TYPE },
    { "gat mean", 1600, 64, 4, make_gat_mean, run_gat_mean, NULL, 0, ANY_TYPE },
    { "propagate", 1024, 384, 8, make_propagate, run_propagate, NULL, 0, ANY_TYPE },
    { "segment_pool", 1408, 384, 22, make_pool, run_segment_pool, NULL, 0, ANY_TYPE },
    { "segment_score", 1600, 64, 50, make_segment_score, run_segment_score, NULL, 0, F32_ONLY },
    { "attention_pool", 1408, 384, 22, make_pool, run_attention_pool, NULL, 0, ANY_TYPE },
    { "pair_features", 1408, 384, 704, make_pairs, run_pairs, NULL, 0, ANY_TYPE },
    { "pair_dot", 8192, 384, 704, make_pairs, run_pair_dot, NULL, 0, ANY_TYPE },
    { "segment_softmax", 8192, 1, 640, make_logits, run_segment_softmax, NULL, 0, F32_ONLY },
    { "probability_bce", 8192, 1, 640, make_logits, run_probability_bce, NULL, 0, F32_ONLY },
    { "policy_loss", 8192, 1, 640, make_logits, run_policy_loss, NULL, 0, F32_ONLY },
    { "noisy_or", 1408, 1, 22, make_logits, run_noisy_or, NULL, 0, F32_ONLY },
    { "and_logits", 1408, 1, 22, make_logits, run_and_logits, NULL, 0, F32_ONLY },
    { "bce", 1408, 1, 22, make_logits, run_bce, NULL, 0, F32_ONLY },
    { "cross_entropy", 1408, 1, 512, make_classes, run_cross_entropy, NULL, 0, ANY_TYPE },
    { "rms_norm", 1024, 2048, 0, make_rms_norm, run_rms_norm, NULL, 0, ANY_TYPE },
    { "rms_norm", 16384, 4096, 0, make_rms_norm, run_rms_norm, NULL, 0, BF16_ONLY },
    { "rms_norm heads", 1024, 128, 16, make_head_norm, run_rms_norm, NULL, 0, ANY_TYPE },
    { "rope", 1024, 64, 32, make_rope, run_rope, NULL, 0, ANY_TYPE },
    { "linear_residual", 1024, 2048, 768, make_residual, run_residual, NULL, 0, ANY_TYPE },
    { "glu silu", 1024, 8192, 0, make_add, run_glu, NULL, 0, ANY_TYPE },
    { "glu silu", 16384, 4096, 0, make_add, run_glu, NULL, 0, BF16_ONLY },
    { "glu gelu", 1024, 8192, 1, make_add, run_glu, NULL, 0, ANY_TYPE },
    { "neftune", 1024, 2048, 128, make_noisy, run_neftune, NULL, 0, ANY_TYPE },
    { "crf_log_z", 2560, 10, 40, make_crf, run_crf_log_z, NULL, 0, F32_ONLY },
    { "viterbi", 2560, 10, 40, make_crf, run_viterbi, NULL, 0, F32_ONLY },
    { "argmax", 16, 128256, 0, make_matrix, run_argmax, NULL, 0, ANY_TYPE },
    { "candidates", 40, 128256, 20, make_decode_logits, run_candidates, NULL, 0, F32_ONLY },
    { "candidates edges", 40, 128256, 20, make_decode_logits, run_allowed_candidates, NULL, 0, F32_ONLY },
    { "beam_step", 640, 20, 0, make_beam_step, run_beam_step, NULL, 0, F32_ONLY },
    { "draw top_p", 40, 128256, 0, make_draw, run_top_p, NULL, 0, F32_ONLY },
    { "draw top_k_p", 40, 128256, 0, make_draw, run_top_k_p, NULL, 0, F32_ONLY },
    { "draw greedy", 10, 128256, 0, make_draw, run_greedy, NULL, 0, F32_ONLY },
};

const int kernel_rows_count = ARRAY_LEN(kernel_rows);

const struct row kernel_product = { "linear",   PEAK_SIDE,    PEAK_SIDE, PEAK_SIDE, make_linear,
                                    run_linear, linear_flops, 2,         ANY_TYPE };
