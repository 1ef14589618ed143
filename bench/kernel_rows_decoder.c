/* Part of kernel_rows.h: the ops of a decoder without a backward. */
#include "bench/kernel_rows_impl.h"

/* A decoder's few rows: queries, keys and values of n, n / 4 and n / 4 columns, or two maps of n. */
void make_maps(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    for (int i = 0; i < 3; i++)
        bench_param(c, b, i ? b->row->n / 4 : b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->c, 1, F32);
}

void make_halves(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->c, 1, F32);
}

/* Runs without a record, as these ops do. */
static struct tensor *run_once(struct ctx *c, struct bench *b, struct tensor *(*run)(struct ctx *c, struct bench *b))
{
    bool recording = c->recording, training = c->training;

    c->recording = c->training = false;
    struct tensor *y = run(c, b);
    c->recording = recording;
    c->training = training;
    return y;
}

static struct tensor *group_once(struct ctx *c, struct bench *b)
{
    struct linear_map maps[3] = { { .w = b->in[1] }, { .w = b->in[2] }, { .w = b->in[3] } };
    struct tensor *y[3];

    op_linear_group(c, y, b->in[0], (struct rms_norm){ b->in[4], 1e-5f },
                    (const struct linear_map *const[]){ &maps[0], &maps[1], &maps[2] }, 3);
    return y[0];
}

struct tensor *run_linear_group(struct ctx *c, struct bench *b)
{
    return run_once(c, b, group_once);
}

static struct tensor *swiglu_once(struct ctx *c, struct bench *b)
{
    struct linear_map gate = { .w = b->in[1] }, up = { .w = b->in[2] };

    return op_linear_swiglu(c, b->in[0], (struct rms_norm){ b->in[3], 1e-5f }, &gate, &up);
}

struct tensor *run_linear_swiglu(struct ctx *c, struct bench *b)
{
    return run_once(c, b, swiglu_once);
}

static struct tensor *logits_once(struct ctx *c, struct bench *b)
{
    struct lora l = bench_adapter(b);
    return op_linear_logits(c, b->in[0], b->in[1], &l);
}

struct tensor *run_linear_logits(struct ctx *c, struct bench *b)
{
    return run_once(c, b, logits_once);
}
