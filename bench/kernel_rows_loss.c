/* Part of kernel_rows.h: the ops that compute losses from logits and probabilities. */
#include "bench/kernel_rows_impl.h"

void make_logits(struct ctx *c, struct bench *b)
{
    struct tensor *target;

    bench_input(c, b, b->row->t, 1, F32);
    target = b->in[b->n_in++] = bench_noise(c, b->row->t, 1, F32);
    target->needs_grad = false;
    b->seqs = bench_seqs(c, b->row->t, b->row->n);
}

struct tensor *run_segment_softmax(struct ctx *c, struct bench *b)
{
    return op_segment_softmax(c, b->in[0], &b->seqs);
}

struct tensor *run_probability_bce(struct ctx *c, struct bench *b)
{
    struct tensor *p = op_activation(c, b->in[0], ACT_SIGMOID);
    return op_probability_bce(c, p, b->in[1], b->in[1], 1e-4f);
}

struct tensor *run_policy_loss(struct ctx *c, struct bench *b)
{
    struct tensor *x = b->in[1];
    struct policy policy = {
        .drawn = x, .start = x, .advantage = x, .weight = x, .low = 0.2f, .high = 0.28f, .divergence = 0.04f
    };
    return op_policy_loss(c, b->in[0], &policy);
}

struct tensor *run_noisy_or(struct ctx *c, struct bench *b)
{
    return op_noisy_or(c, b->in[0], &b->seqs);
}

struct tensor *run_and_logits(struct ctx *c, struct bench *b)
{
    return op_and_logits(c, b->in[0], b->in[1]);
}

struct tensor *run_bce(struct ctx *c, struct bench *b)
{
    return op_bce(c, b->in[0], b->in[1], NULL, 1, 1);
}

void make_classes(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->n, b->dtype);
    b->index = bench_index(c, b->row->t, b->row->n);
}

struct tensor *run_cross_entropy(struct ctx *c, struct bench *b)
{
    return op_cross_entropy(c, b->in[0], b->index.ids, 1);
}

void make_crf(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, F32);
    bench_param(c, b, b->row->c + 2, b->row->c, F32);
    b->seqs = bench_seqs(c, b->row->t, b->row->n);
}

struct tensor *run_crf_log_z(struct ctx *c, struct bench *b)
{
    return op_crf_log_z(c, b->in[0], NULL, &b->seqs, &(struct crf){ .weights = b->in[1] });
}

struct tensor *run_viterbi(struct ctx *c, struct bench *b)
{
    return op_viterbi(c, b->in[0], NULL, &b->seqs, &(struct crf){ .weights = b->in[1] });
}
