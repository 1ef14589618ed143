/*
 * bench_kernels [--quick] [--peaks SIDE] [DEVICE [OP]]: every op forward and backward at the sizes the models use.
 * bench_kernels --llama [DEVICE [OP]]: the linear maps of decoding steps at the size of Llama-3.1-8B, time per layer.
 * bench_kernels --floors: the least possible time of each op on two GPUs, from its bytes and operations.
 *
 * Columns: best and median time of the repeats, then one of two rates.  GFLOP/s are compared with the device's best
 * product of the same type, measured first (4096 x 4096 x 4096, or SIDE).  GB/s are compared with a copy of as many
 * bytes. The bytes of a forward pass are the inputs and the output once.  Those of a backward pass are the inputs, the
 * gradients and the incoming gradient.  Most of them are still cached from the previous repeat, for the op and for the
 * copy.
 * --quick takes an eighth of the rows, small peaks and one repeat, so that everything runs even on a slow device.
 * --peaks measures only the peaks.
 */
#include "bench/kernel_rows.h"
#include "data/base/log.h"
#include "kernels/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK = 8, COPY_BYTES = 512000000 };

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
    for (int i = b->repeats > 1 ? -2 : 0; i < (c->k ? b->repeats : 1); i++) /* the first two are warm-ups */
        one_repeat(c, b, &b->forward[i < 0 ? 0 : i], &b->backward[i < 0 ? 0 : i]);
}

/* Runs the op in inference, to time the forward pass without a record, then in training, to time the backward pass. */
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

/* Measures the best time of a copy that reads and writes copy_bytes in total. */
static void copy_step(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    struct tensor *x = tensor_new1(c, F32, (int64_t)(b->copy_bytes / 8) + 1), *y = tensor_like(c, x);

    b->copy_seconds = 1e9;
    RUN(c, fill, x, 1.0f);
    for (int i = 0; i < b->repeats && c->k; i++) {
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
        exit((int)err.code);
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

    qsort(seconds, (size_t)b->repeats, sizeof *seconds, by_value);
    snprintf(shape, sizeof shape, "%lld x %lld, %lld", (long long)row->t, (long long)row->c, (long long)row->n);
    printf("%-16s %-5s %-18s %-8s %9.1f %9.1f", row->op, dtype_name(b->dtype), shape, backward ? "backward" : "forward",
           seconds[0] * 1e6, seconds[b->repeats / 2] * 1e6);
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
    struct row product = kernel_product;

    if (b->side)
        product.t = product.c = product.n = b->side;
    else if (b->quick)
        product.t = product.c = product.n = product.t / QUICK;
    b->row = &product;
    for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
        b->dtype = dtype;
        run_or_exit(w, product_step, b);
        qsort(b->forward, (size_t)b->repeats, sizeof *b->forward, by_value);
        b->product_peak[dtype] = product.flops(&product) / b->forward[0];
    }
    b->copy_bytes = b->quick ? COPY_BYTES / QUICK : COPY_BYTES;
    run_or_exit(w, copy_step, b);
    printf("product peak: %.4g GFLOP/s f32, %.4g bf16; copy of %.0f MB: %.4g GB/s\n", b->product_peak[F32] * 1e-9,
           b->product_peak[BF16] * 1e-9, b->copy_bytes / 2e6, b->copy_bytes / b->copy_seconds * 1e-9);
}

/* The peak rates of products and copies on a GPU. */
static const struct gpu {
    const char *name;
    double product[2], copy; /* FLOP/s by type; bytes a second */
} gpus[] = { { "A100", { 19.5e12, 312e12 }, 2.0e12 }, { "H200", { 67e12, 790e12 }, 4.3e12 } };

static void print_floor(const struct bench *b, bool backward)
{
    const struct row *row = b->row;
    double bytes = backward ? b->bytes_backward : b->bytes_forward;
    double flops = row->flops ? row->flops(row) * (backward ? row->flops_back : 1) : 0;
    char shape[64];

    snprintf(shape, sizeof shape, "%lld x %lld, %lld", (long long)row->t, (long long)row->c, (long long)row->n);
    printf("%-16s %-5s %-18s %-8s %9.3f %9.3f", row->op, dtype_name(b->dtype), shape, backward ? "backward" : "forward",
           bytes * 1e-6, flops * 1e-9);
    for (int i = 0; i < ARRAY_LEN(gpus); i++) {
        double copy = bytes / gpus[i].copy, product = flops / gpus[i].product[b->dtype];
        printf("  %8.2f %s", 1e6 * (copy > product ? copy : product), copy > product ? "bytes" : "flops");
    }
    printf("\n");
}

static enum dtype first_dtype(const struct row *row)
{
    return row->types == BF16_ONLY ? BF16 : F32;
}

static enum dtype last_dtype(const struct row *row)
{
    return row->types == F32_ONLY ? F32 : BF16;
}

/* Prints the least times, from dry runs that execute no kernel. */
static void print_floors(struct workspace *w, struct bench *b)
{
    printf("%-16s %-5s %-18s %-8s %9s %9s", "op", "type", "rows x cols, n", "", "MB", "GFLOP");
    for (int i = 0; i < ARRAY_LEN(gpus); i++)
        printf("  %5s us bound", gpus[i].name);
    printf("\n");
    for (int i = 0; i < kernel_rows_count; i++)
        for (enum dtype dtype = first_dtype(&kernel_rows[i]); dtype <= last_dtype(&kernel_rows[i]); dtype++) {
            b->row = &kernel_rows[i];
            b->dtype = dtype;
            workspace_measure(w, row_step, b);
            print_floor(b, false);
            if (b->has_backward)
                print_floor(b, true);
        }
}

static void bench_row(struct workspace *w, struct bench *b, const struct row *full)
{
    struct row row = *full;

    if (b->quick)
        row.t = row.t / QUICK;
    b->row = &row;
    for (enum dtype dtype = first_dtype(&row); dtype <= last_dtype(&row); dtype++) {
        b->dtype = dtype;
        run_or_exit(w, row_step, b);
        print_line(w, b, false);
        if (b->has_backward)
            print_line(w, b, true);
    }
}

/* Prints the time of a layer and both rates.  `bytes` counts the weights, which are not cached. */
static void print_llama(const struct bench *b)
{
    const struct row *row = b->row;
    double layers = llama_layers(row), seconds = b->forward[0] / layers;
    double bytes = 2.0 * (double)row->c * (double)row->n / seconds, flops = row->flops(row) / layers / seconds;

    printf("%-6s %5lld %6lld -> %-6lld %9.1f %9.1f %8.0f %6.1f %9.1f %6.1f\n", row->op, (long long)row->t,
           (long long)row->c, (long long)row->n, seconds * 1e6, b->forward[b->repeats / 2] / layers * 1e6, bytes * 1e-9,
           100 * bytes / (b->copy_bytes / b->copy_seconds), flops * 1e-12, 100 * flops / b->product_peak[BF16]);
    fflush(stdout);
}

static void bench_llama(struct workspace *w, struct bench *b, const char *wanted)
{
    printf("%-6s %5s %16s %9s %9s %8s %6s %9s %6s\n", "map", "rows", "k -> columns", "best us", "median", "GB/s",
           "copy %", "TFLOP/s", "peak %");
    for (int i = 0; i < llama_rows_count; i++) {
        if (wanted && strcmp(llama_rows[i].op, wanted) != 0)
            continue;
        b->row = &llama_rows[i];
        b->dtype = BF16;
        run_or_exit(w, product_step, b);
        qsort(b->forward, (size_t)b->repeats, sizeof *b->forward, by_value);
        print_llama(b);
    }
}

static void bench_device(struct bench *b, const char *wanted)
{
    struct workspace w;
    struct error err;

    if (workspace_init(&w, b->device, 1 << 20, &err)) {
        fprintf(stderr, "bench_kernels: %s\n", err.text);
        exit((int)err.code);
    }
    if (b->floors) {
        print_floors(&w, b);
        workspace_release(&w);
        return;
    }
    printf("%s: %s\n", b->device->driver->name, b->device->description);
    measure_peaks(&w, b);
    if (b->llama) {
        bench_llama(&w, b, wanted);
    } else if (!b->side) {
        printf("%-16s %-5s %-18s %-8s %9s %9s\n", "op", "type", "rows x cols, n", "", "best us", "median us");
        for (int i = 0; i < kernel_rows_count; i++)
            if (!wanted || strstr(kernel_rows[i].op, wanted))
                bench_row(&w, b, &kernel_rows[i]);
    }
    workspace_release(&w);
}

int main(int argc, char **argv)
{
    struct device device;
    struct error err;
    struct bench b = { .device = &device, .repeats = REPEATS };

    if (argc > 1 && !strcmp(argv[1], "--quick")) {
        b.quick = true;
        b.repeats = 1;
        argc--, argv++;
    }
    if (argc > 1 && !strcmp(argv[1], "--floors")) {
        b.floors = true;
        argv[1] = "cpu"; /* any device works */
    }
    if (argc > 1 && !strcmp(argv[1], "--llama")) {
        b.llama = true;
        argc--, argv++;
    }
    if (argc > 2 && !strcmp(argv[1], "--peaks")) {
        b.side = strtol(argv[2], NULL, 10);
        argc -= 2, argv += 2;
    }
    if (device_open(&device, argc > 1 ? argv[1] : "auto", &err)) {
        fprintf(stderr, "bench_kernels: %s\n", err.text);
        return (int)err.code;
    }
    bench_device(&b, argc > 2 ? argv[2] : NULL);
    device_close(&device);
    return 0;
}
