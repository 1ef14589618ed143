/*
 * kernel_rows.h - the rows that bench_kernels measures, one for each op and size.
 */
#ifndef BENCH_KERNEL_ROWS_H
#define BENCH_KERNEL_ROWS_H

#include "kernels/beams.h"
#include "kernels/ops.h"
#include "kernels/paged.h"

enum { REPEATS = 15, INPUTS_MAX = 6, PEAK_SIDE = 4096 };

struct bench {
    const struct row *row;
    enum dtype dtype;
    struct device *device;
    bool quick;
    bool floors;  /* nothing is measured */
    bool llama;   /* llama_rows take the place of kernel_rows */
    int repeats;  /* at most REPEATS */
    int64_t side; /* peaks alone, of this size; 0: peaks of the usual size, then the rows */
    int n_in;
    struct tensor *in[INPUTS_MAX];
    struct seqs seqs, pairs;
    struct index index, other;
    struct graph graph;
    struct causal causal;
    struct paged paged;
    struct tensor *cache;
    struct decode_state decode;
    struct decode_step at;
    struct automaton automaton;
    struct candidates best;
    struct tensor *stops, *norm;
    double forward[REPEATS], backward[REPEATS]; /* seconds */
    double bytes_forward, bytes_backward;
    bool has_backward;
    double product_peak[2], copy_bytes, copy_seconds; /* FLOP/s by type; what `copy` measures */
};

enum row_types { ANY_TYPE, F32_ONLY, BF16_ONLY };

/* t rows; c channels (of each head, where there are heads); n outputs, heads, or what the op counts besides */
struct row {
    const char *op;
    int64_t t, c, n;
    void (*make)(struct ctx *c, struct bench *b);
    struct tensor *(*run)(struct ctx *c, struct bench *b);
    double (*flops)(const struct row *row); /* NULL: bound by bytes */
    double flops_back;                      /* backward products per forward product */
    enum row_types types;
};

extern const struct row kernel_rows[];
extern const int kernel_rows_count;
/* The linear maps of decoding steps at the size of Llama-3.1-8B, in bf16.  One run passes through the given number of
 * layers. */
extern const struct row llama_rows[];
extern const int llama_rows_count;
int llama_layers(const struct row *row);
/* The product whose rate is the reference of the others. */
extern const struct row kernel_product;

#endif
