/* Part of kernel_rows.h: the linear maps of a step of decoding, at the size of Llama-3.1-8B (Dubey et al. 2024). */
#include "bench/kernel_rows_impl.h"

#include "kernels/kernels.h"

enum { DIM = 4096, KV_DIM = 1024, FFN_DIM = 14336, VOCABULARY = 128256, NOISE_ROWS = 512 };
enum { COLD_BYTES = 400000000 }; /* weights of one run: larger than any GPU cache */

int llama_layers(const struct row *row)
{
    return 1 + (int)(COLD_BYTES / (2 * row->n * row->c));
}

/* The noise repeats, so that the host generates only NOISE_ROWS rows. */
static void make_weights(struct ctx *c, struct bench *b, int64_t rows)
{
    struct tensor *noise = bench_noise(c, NOISE_ROWS, b->row->c, b->dtype);
    struct tensor *w = b->in[b->n_in++] = tensor_new2(c, b->dtype, rows, b->row->c);

    w->frozen = true;
    for (int64_t i = 0; i < rows; i += NOISE_ROWS) {
        int64_t n = rows - i < NOISE_ROWS ? rows - i : NOISE_ROWS;
        struct tensor to = tensor_view(w, i, n), from = tensor_view(noise, 0, n), *y = &to, *x = &from;
        RUN(c, cast, y, x);
    }
}

/* Inputs: x, the stacked weights of all layers, and the weights of the norm. */
static void make_layers(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    make_weights(c, b, llama_layers(b->row) * b->row->n);
    bench_input(c, b, b->row->c, 1, F32);
}

static struct rms_norm norm_of(const struct bench *b)
{
    return (struct rms_norm){ b->in[2], 1e-5f };
}

static struct tensor *run_qkv(struct ctx *c, struct bench *b)
{
    struct tensor *y[3];

    for (int i = 0; i < llama_layers(b->row); i++) {
        struct tensor q = tensor_view(b->in[1], i * b->row->n, DIM);
        struct tensor k = tensor_view(b->in[1], i * b->row->n + DIM, KV_DIM);
        struct tensor v = tensor_view(b->in[1], i * b->row->n + DIM + KV_DIM, KV_DIM);
        struct linear_map maps[3] = { { .w = &q }, { .w = &k }, { .w = &v } };
        op_linear_group(c, y, b->in[0], norm_of(b), (const struct linear_map *const[]){ &maps[0], &maps[1], &maps[2] },
                        3);
    }
    return y[0];
}

static struct tensor *run_add(struct ctx *c, struct bench *b)
{
    struct tensor *y = tensor_new2(c, b->dtype, b->row->t, b->row->n);

    RUN(c, fill, y, 0.0f);
    for (int i = 0; i < llama_layers(b->row); i++) {
        struct tensor w = tensor_view(b->in[1], i * b->row->n, b->row->n);
        op_linear_add(c, y, b->in[0], &(struct linear_map){ .w = &w });
    }
    return y;
}

static struct tensor *run_glu(struct ctx *c, struct bench *b)
{
    struct tensor *y = NULL;

    for (int i = 0; i < llama_layers(b->row); i++) {
        struct tensor gate = tensor_view(b->in[1], i * b->row->n, FFN_DIM);
        struct tensor up = tensor_view(b->in[1], i * b->row->n + FFN_DIM, FFN_DIM);
        y = op_linear_glu(c, b->in[0], norm_of(b), &(struct linear_map){ .w = &gate }, &(struct linear_map){ .w = &up },
                          GATE_SILU);
    }
    return y;
}

static struct tensor *run_head(struct ctx *c, struct bench *b)
{
    return op_linear_logits(c, b->in[0], b->in[1], NULL, 0);
}

/* Runs without a record, as decoding steps do. */
static struct tensor *decode(struct ctx *c, struct bench *b, struct tensor *(*run)(struct ctx *c, struct bench *b))
{
    bool training = c->training;

    c->training = false;
    c->rows = ROWS_FEW;
    struct tensor *y = run(c, b);
    c->rows = ROWS_BY_NUMBER;
    c->training = training;
    return y;
}

static struct tensor *decode_qkv(struct ctx *c, struct bench *b)
{
    return decode(c, b, run_qkv);
}

static struct tensor *decode_add(struct ctx *c, struct bench *b)
{
    return decode(c, b, run_add);
}

static struct tensor *decode_glu(struct ctx *c, struct bench *b)
{
    return decode(c, b, run_glu);
}

static struct tensor *decode_head(struct ctx *c, struct bench *b)
{
    return decode(c, b, run_head);
}

static double layers_flops(const struct row *row)
{
    return 2.0 * (double)row->t * (double)row->c * (double)row->n * llama_layers(row);
}

#define MAPS(rows)                                                                                                     \
    { "qkv", rows, DIM, DIM + 2 * KV_DIM, make_layers, decode_qkv, layers_flops, 0, false },                           \
        { "o", rows, DIM, DIM, make_layers, decode_add, layers_flops, 0, false },                                      \
        { "glu", rows, DIM, 2 * FFN_DIM, make_layers, decode_glu, layers_flops, 0, false },                            \
        { "down", rows, FFN_DIM, DIM, make_layers, decode_add, layers_flops, 0, false },                               \
    {                                                                                                                  \
        "head", rows, DIM, VOCABULARY, make_layers, decode_head, layers_flops, 0, false                                \
    }

const struct row llama_rows[] = { MAPS(1), MAPS(8), MAPS(16), MAPS(32), MAPS(64), MAPS(128), MAPS(425), MAPS(640) };

const int llama_rows_count = ARRAY_LEN(llama_rows);
