/*
 * bench_kernels [DEVICE [OP]]: every op forward and backward at the sizes the models use.
 *
 * Columns: best and median time of the repeats; GFLOP/s and their share of the device's best product of the same type
 * (4096 x 4096 x 4096, measured first), or GB/s and their share of what a copy of as many bytes reaches.  Bytes are
 * what must move: inputs once and the output once; for a backward, inputs, gradients and the incoming gradient.  Most
 * of it is still in some cache from the repeat before, for the op as for the copy it is held against.
 */
#include "data/log.h"
#include "kernels/batch.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 15, INPUTS_MAX = 6, PEAK_SIDE = 4096 };

struct bench {
    const struct row *row;
    enum dtype dtype;
    struct device *device;
    int n_in;
    struct tensor *in[INPUTS_MAX];
    struct seqs seqs, pairs;
    struct index index, other;
    struct graph graph;
    double forward[REPEATS], backward[REPEATS]; /* seconds */
    double bytes_forward, bytes_backward;
    bool has_backward;
    double product_peak[2], copy_bytes, copy_seconds; /* FLOP/s by type; what `copy` measures */
};

/* t rows; c channels (of each head, where there are heads); n outputs, heads, or what the op counts besides */
struct row {
    const char *op;
    int64_t t, c, n;
    void (*make)(struct ctx *c, struct bench *b);
    struct tensor *(*run)(struct ctx *c, struct bench *b);
    double (*flops)(const struct row *row); /* NULL: bound by bytes */
    double flops_back;                      /* backward products per forward product */
    bool f32_only;
};

static struct rng rng;

static struct tensor *noise(struct ctx *c, int64_t rows, int64_t cols, enum dtype dtype)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols && c->k; i++)
        x[i] = rng_uniform(&rng) - 0.5f;
    struct tensor *t = batch_f32(c, x, rows, cols, dtype);
    free(x);
    return t;
}

static struct tensor *input(struct ctx *c, struct bench *b, int64_t rows, int64_t cols, enum dtype dtype)
{
    struct tensor *t = b->in[b->n_in++] = noise(c, rows, cols, dtype);

    t->needs_grad = c->recording;
    return t;
}

static void param(struct ctx *c, struct bench *b, int64_t rows, int64_t cols, enum dtype dtype)
{
    struct tensor *t = input(c, b, rows, cols, dtype);

    t->frozen = !t->needs_grad;
    t->is_param = t->needs_grad;
    if (t->is_param) {
        t->grad = tensor_new2(c, F32, rows, cols);
        RUN(c, fill, t->grad, 0.0f);
    }
}

static struct index random_index(struct ctx *c, int64_t n, int64_t rows)
{
    int32_t *ids = xmalloc((size_t)n * sizeof *ids);

    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)rng_below(&rng, (uint32_t)rows);
    struct index index = batch_index(c, ids, n, rows);
    free(ids);
    return index;
}

/* Sequences of `length` rows each that make up t rows. */
static struct seqs equal_seqs(struct ctx *c, int64_t t, int64_t length)
{
    int64_t n = t / length;
    int32_t *lengths = xmalloc((size_t)n * sizeof *lengths);

    for (int64_t i = 0; i < n; i++)
        lengths[i] = (int32_t)length;
    struct seqs s = batch_seqs(c, lengths, n);
    free(lengths);
    return s;
}

/* One function makes the inputs and one calls the op. */

static void make_linear(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->t, b->row->c, b->dtype);
    param(c, b, b->row->n, b->row->c, b->dtype);
    param(c, b, b->row->n, 1, F32);
}

static struct tensor *run_linear(struct ctx *c, struct bench *b)
{
    return op_linear(c, b->in[0], b->in[1], b->in[2], ACT_NONE);
}

static struct tensor *run_linear_gelu(struct ctx *c, struct bench *b)
{
    return op_linear(c, b->in[0], b->in[1], b->in[2], ACT_GELU);
}

static double linear_flops(const struct row *row)
{
    return 2.0 * (double)row->t * (double)row->c * (double)row->n;
}

static void make_matrix(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->t, b->row->c, b->dtype);
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
    input(c, b, b->row->t, b->row->c, b->dtype);
    input(c, b, b->row->t, b->row->c, b->dtype);
}

static struct tensor *run_add(struct ctx *c, struct bench *b)
{
    return op_add(c, b->in[0], b->in[1]);
}

static void make_layer_norm(struct ctx *c, struct bench *b)
{
    make_add(c, b);
    param(c, b, b->row->c, 1, F32);
    param(c, b, b->row->c, 1, F32);
}

static struct tensor *run_layer_norm(struct ctx *c, struct bench *b)
{
    return op_layer_norm(c, b->in[0], b->in[1], b->in[2], b->in[3], 1e-12f);
}

/* n: rows of the table */
static void make_embed(struct ctx *c, struct bench *b)
{
    param(c, b, b->row->n, b->row->c, b->dtype);
    b->index = random_index(c, b->row->t, b->row->n);
}

static struct tensor *run_embed(struct ctx *c, struct bench *b)
{
    return op_embed(c, b->in, &b->index, 1);
}

static void make_gather(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->n, b->row->c, b->dtype);
    b->index = random_index(c, b->row->t, b->row->n);
}

static struct tensor *run_gather(struct ctx *c, struct bench *b)
{
    return op_gather(c, b->in[0], &b->index);
}

enum { SEQUENCE = 22 }; /* tokens of a question with a schema element, on average */

/* n: heads */
static void make_attention(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->t, 3 * b->row->c * b->row->n, b->dtype);
    b->seqs = equal_seqs(c, b->row->t, b->row->t % SEQUENCE ? 128 : SEQUENCE);
}

static struct tensor *run_attention(struct ctx *c, struct bench *b)
{
    return op_attention(c, b->in[0], b->in[0], &b->seqs, &b->seqs, (int)b->row->n, 0);
}

static double attention_flops(const struct row *row)
{
    return 4.0 * (double)row->t * (double)(row->t % SEQUENCE ? 128 : SEQUENCE) * (double)(row->c * row->n);
}

static void make_pool(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->t, b->row->c, b->dtype);
    input(c, b, b->row->t, 1, F32);
    b->seqs = equal_seqs(c, b->row->t, b->row->n);
}

static struct tensor *run_segment_pool(struct ctx *c, struct bench *b)
{
    return op_segment_pool(c, b->in[0], &b->seqs, POOL_MEAN);
}

static struct tensor *run_attention_pool(struct ctx *c, struct bench *b)
{
    return op_attention_pool(c, b->in[0], b->in[1], &b->seqs);
}

/* t nodes with n edges each, 4 heads */
static void make_gat(struct ctx *c, struct bench *b)
{
    int64_t n = b->row->t * b->row->n;
    struct edge *edges = xmalloc((size_t)n * sizeof *edges);

    for (int64_t i = 0; i < n; i++)
        edges[i] =
            (struct edge){ (int32_t)rng_below(&rng, (uint32_t)b->row->t), (int32_t)(i / b->row->n), (int32_t)(i % 8) };
    b->graph = batch_graph(c, edges, n, b->row->t);
    free(edges);
    input(c, b, b->row->t, 4 * b->row->c, b->dtype);
    param(c, b, 4, b->row->c, F32);
    param(c, b, 4, b->row->c, F32);
    param(c, b, 8, 4, F32);
    param(c, b, 4 * b->row->c, 1, F32);
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

static void make_pairs(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->n, b->row->c, b->dtype);
    b->index = random_index(c, b->row->t, b->row->n);
    b->other = random_index(c, b->row->t, b->row->n);
}

static struct tensor *run_pairs(struct ctx *c, struct bench *b)
{
    return op_pair_features(c, b->in[0], &b->index, &b->other, NULL);
}

static void make_logits(struct ctx *c, struct bench *b)
{
    struct tensor *target;

    input(c, b, b->row->t, 1, F32);
    target = b->in[b->n_in++] = noise(c, b->row->t, 1, F32);
    target->needs_grad = false;
    b->seqs = equal_seqs(c, b->row->t, b->row->n);
}

static struct tensor *run_noisy_or(struct ctx *c, struct bench *b)
{
    return op_noisy_or(c, b->in[0], &b->seqs);
}

static struct tensor *run_bce(struct ctx *c, struct bench *b)
{
    return op_bce(c, b->in[0], b->in[1], NULL, 1, 1);
}

static void make_classes(struct ctx *c, struct bench *b)
{
    input(c, b, b->row->t, b->row->n, b->dtype);
    b->index = random_index(c, b->row->t, b->row->n);
}

static struct tensor *run_cross_entropy(struct ctx *c, struct bench *b)
{
    return op_cross_entropy(c, b->in[0], b->index.ids, 1);
}

static const struct row rows[] = {
    { "linear", 1408, 768, 2304, make_linear, run_linear, linear_flops, 2, false },
    { "linear", 1408, 768, 768, make_linear, run_linear, linear_flops, 2, false },
    { "linear gelu", 1408, 768, 3072, make_linear, run_linear_gelu, linear_flops, 2, false },
    { "linear", 1408, 3072, 768, make_linear, run_linear, linear_flops, 2, false },
    { "linear", 1408, 384, 1152, make_linear, run_linear, linear_flops, 2, false },
    { "linear gelu", 1408, 384, 1536, make_linear, run_linear_gelu, linear_flops, 2, false },
    { "linear", 64, 768, 1, make_linear, run_linear, linear_flops, 2, false },
    { "attention", 1408, 64, 12, make_attention, run_attention, attention_flops, 2.5, false },
    { "attention", 1408, 32, 12, make_attention, run_attention, attention_flops, 2.5, false },
    { "attention", 1024, 64, 12, make_attention, run_attention, attention_flops, 2.5, false },
    { "layer_norm", 1408, 768, 0, make_layer_norm, run_layer_norm, NULL, 0, false },
    { "layer_norm", 1408, 384, 0, make_layer_norm, run_layer_norm, NULL, 0, false },
    { "activation gelu", 1408, 3072, 0, make_matrix, run_gelu, NULL, 0, false },
    { "add", 1408, 768, 0, make_add, run_add, NULL, 0, false },
    { "cast", 1408, 768, 0, make_matrix, run_cast, NULL, 0, false },
    { "dropout", 1408, 768, 0, make_matrix, run_dropout, NULL, 0, false },
    { "embed", 1408, 768, 1408, make_embed, run_embed, NULL, 0, false },
    { "gather", 1408, 768, 1408, make_gather, run_gather, NULL, 0, false },
    { "gat", 1024, 64, 8, make_gat, run_gat, NULL, 0, false },
    { "segment_pool", 1408, 384, 22, make_pool, run_segment_pool, NULL, 0, false },
    { "attention_pool", 1408, 384, 22, make_pool, run_attention_pool, NULL, 0, false },
    { "pair_features", 1408, 384, 704, make_pairs, run_pairs, NULL, 0, false },
    { "noisy_or", 1408, 1, 22, make_logits, run_noisy_or, NULL, 0, true },
    { "bce", 1408, 1, 22, make_logits, run_bce, NULL, 0, true },
    { "cross_entropy", 1408, 1, 512, make_classes, run_cross_entropy, NULL, 0, false },
};

/* Measuring. */

static double total_bytes(const struct bench *b)
{
    double sum = 0;

    for (int i = 0; i < b->n_in; i++)
        sum += (double)tensor_bytes(b->in[i]);
    return sum;
}

static void one_repeat(struct ctx *c, struct bench *b, double *forward, double *backward)
{
    size_t host = arena_mark(c->host), step = arena_mark(c->step);
    double start = now_seconds();

    struct tensor *y = b->row->run(c, b);
    if (c->k)
        b->device->driver->sync(b->device);
    *forward = now_seconds() - start;
    b->bytes_forward = total_bytes(b) + (double)tensor_bytes(y);
    b->has_backward = c->tape != NULL;
    if (b->has_backward) {
        struct tensor *dy = tensor_like(c, y);
        RUN(c, fill, dy, 0.5f);
        start = now_seconds();
        tape_backward_from(c, y, dy);
        if (c->k)
            b->device->driver->sync(b->device);
        *backward = now_seconds() - start;
        b->bytes_backward = 2 * total_bytes(b) + (double)tensor_bytes(y);
    }
    c->tape = NULL;
    for (int i = 0; i < b->n_in; i++)
        if (!b->in[i]->is_param)
            b->in[i]->grad = NULL;
    arena_reset(c->host, host);
    arena_reset(c->step, step);
}

static void repeat_row(struct ctx *c, struct bench *b)
{
    b->n_in = 0;
    b->row->make(c, b);
    for (int i = -2; i < (c->k ? REPEATS : -1); i++)
        one_repeat(c, b, &b->forward[i < 0 ? 0 : i], &b->backward[i < 0 ? 0 : i]);
}

/* Inference first, so that the forward is the one without records; then training, for the backward. */
static void row_step(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    double forward[REPEATS], bytes;

    c->training = true;
    c->recording = false;
    repeat_row(c, b);
    memcpy(forward, b->forward, sizeof forward);
    bytes = b->bytes_forward;
    c->recording = true;
    repeat_row(c, b);
    memcpy(b->forward, forward, sizeof forward);
    b->bytes_forward = bytes;
}

static void product_step(struct ctx *c, void *arg)
{
    struct bench *b = arg;

    c->recording = false;
    repeat_row(c, b);
}

/* Best time of a copy that reads and writes copy_bytes in all. */
static void copy_step(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    struct tensor *x = tensor_new1(c, F32, (int64_t)(b->copy_bytes / 8) + 1), *y = tensor_like(c, x);

    b->copy_seconds = 1e9;
    RUN(c, fill, x, 1.0f);
    for (int i = 0; i < REPEATS && c->k; i++) {
        double start = now_seconds();
        RUN(c, cast, y, x);
        b->device->driver->sync(b->device);
        double seconds = now_seconds() - start;
        b->copy_seconds = seconds < b->copy_seconds ? seconds : b->copy_seconds;
    }
}

static void run_or_exit(struct workspace *w, step_fn *fn, struct bench *b)
{
    struct error err;

    if (workspace_run(w, fn, b, &err)) {
        fprintf(stderr, "bench_kernels: %s\n", err.text);
        exit(err.code);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_line(struct workspace *w, struct bench *b, bool backward)
{
    const struct row *row = b->row;
    double *seconds = backward ? b->backward : b->forward, bytes = backward ? b->bytes_backward : b->bytes_forward;
    char shape[64];

    qsort(seconds, REPEATS, sizeof *seconds, by_value);
    snprintf(shape, sizeof shape, "%lld x %lld, %lld", (long long)row->t, (long long)row->c, (long long)row->n);
    printf("%-16s %-5s %-18s %-8s %9.1f %9.1f", row->op, dtype_name(b->dtype), shape, backward ? "backward" : "forward",
           seconds[0] * 1e6, seconds[REPEATS / 2] * 1e6);
    if (row->flops) {
        double rate = row->flops(row) * (backward ? row->flops_back : 1) / seconds[0];
        printf(" %9.1f GFLOP/s %5.1f %%\n", rate * 1e-9, 100 * rate / b->product_peak[b->dtype]);
        return;
    }
    b->copy_bytes = bytes;
    run_or_exit(w, copy_step, b);
    printf(" %9.1f GB/s    %5.1f %%\n", bytes / seconds[0] * 1e-9, 100 * b->copy_seconds / seconds[0]);
}

static void measure_peaks(struct workspace *w, struct bench *b)
{
    static const struct row product = { "linear",   PEAK_SIDE,    PEAK_SIDE, PEAK_SIDE, make_linear,
                                        run_linear, linear_flops, 2,         false };
    b->row = &product;
    for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
        b->dtype = dtype;
        run_or_exit(w, product_step, b);
        qsort(b->forward, REPEATS, sizeof *b->forward, by_value);
        b->product_peak[dtype] = linear_flops(&product) / b->forward[0];
    }
    b->copy_bytes = 512e6;
    run_or_exit(w, copy_step, b);
    printf("product peak: %.0f GFLOP/s f32, %.0f bf16; copy of 256 MB: %.1f GB/s\n", b->product_peak[F32] * 1e-9,
           b->product_peak[BF16] * 1e-9, b->copy_bytes / b->copy_seconds * 1e-9);
}

static void bench_device(struct device *device, const char *wanted)
{
    struct workspace w;
    struct error err;
    struct bench b = { .device = device };

    if (workspace_init(&w, device, 1 << 20, &err)) {
        fprintf(stderr, "bench_kernels: %s\n", err.text);
        exit(err.code);
    }
    printf("%s: %s\n", device->driver->name, device->description);
    measure_peaks(&w, &b);
    printf("%-16s %-5s %-18s %-8s %9s %9s\n", "op", "type", "rows x cols, n", "", "best us", "median us");
    for (int i = 0; i < ARRAY_LEN(rows); i++)
        for (enum dtype dtype = F32; dtype <= (rows[i].f32_only ? F32 : BF16); dtype++) {
            b.row = &rows[i];
            b.dtype = dtype;
            if (wanted && !strstr(b.row->op, wanted))
                continue;
            run_or_exit(&w, row_step, &b);
            print_line(&w, &b, false);
            if (b.has_backward)
                print_line(&w, &b, true);
        }
    workspace_release(&w);
}

int main(int argc, char **argv)
{
    struct device device;
    struct error err;

    if (device_open(&device, argc > 1 ? argv[1] : "auto", &err)) {
        fprintf(stderr, "bench_kernels: %s\n", err.text);
        return (int)err.code;
    }
    bench_device(&device, argc > 2 ? argv[2] : NULL);
    device_close(&device);
    return 0;
}
