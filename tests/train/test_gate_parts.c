/* GATekeeper's gradients as the sum over the parts of a batch equal those of the whole batch, except for rounding.
 * After AdamW, weights may differ by two steps, since it makes a whole step of the smallest gradient. With an eps
 * larger than the gradients, they agree. */
#include "kernels/cpu/gemm.h"
#include "tests/support/support.h"

#include "tests/support/small_data.h"
#include "train/detector/gate_trainer.h"
#include "train/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 16, LEARNT = 6, CHECKED = 2, RANKS_MOST = 4 };
/* Bounds: of all gradients; of a tensor's terms, 64 roundings of f32, since sums run over thousands of rows; and the
 * smallest value that counts. */
static const double ROUNDING = 1e-6, ROWS = 0x1p-18, FLOOR = 1e-6;

static char *data, *out;

static struct gate_request request(enum gate_encode encode)
{
    struct gate_request q = gate_request_defaults;
    struct gate_settings *s = &q.settings;

    q.data = data;
    q.out = out;
    q.device = "cpu";
    s->encode = encode;
    s->embedder = EMBEDDER_JOINT;
    s->compute = GATE_F32;
    s->scratch.hidden = s->scratch.intermediate = 32;
    s->scratch.heads = s->scratch.layers = 1;
    s->scratch.vocabulary = 400;
    s->scratch.positions = 256;
    s->scratch.dropout = s->dropout = 0;
    s->relevance_epochs = 1;
    s->train.epochs = 2;
    s->train.batch = BATCH;
    s->gat_hidden = s->pair_hidden = 8;
    s->gat_heads = 2;
    return q;
}

/* All gradients, or all weights, one after another. */
static int64_t numbers(const struct run *r)
{
    int64_t n = 0;

    for (int i = 0; i < r->params->n; i++)
        n += tensor_size(r->params->list[i].t);
    return n;
}

static float *weights(const struct run *r)
{
    float *w = xmalloc((size_t)numbers(r) * sizeof *w), *at = w;

    for (int i = 0; i < r->params->n; at += tensor_size(r->params->list[i++].t))
        memcpy(at, r->params->list[i].t->data, tensor_bytes(r->params->list[i].t));
    return w;
}

static void set(const struct run *r, const float *values, bool gradients)
{
    for (int i = 0; i < r->params->n; values += tensor_size(r->params->list[i++].t)) {
        struct tensor *t = r->params->list[i].t;
        memcpy(gradients ? t->grad->data : t->data, values, tensor_bytes(t));
    }
}

/* sum (+)= the gradients of the part that rank k of n computes. */
static void add_part(struct run *r, float *sum, int k, int n)
{
    struct error err;

    r->ranks.all = (struct collective){ .rank = k, .size = n };
    struct batch_partition b = run_batch(r);
    for (int i = 0; i < r->params->n; i++)
        memset(r->params->list[i].t->grad->data, 0, tensor_bytes(r->params->list[i].t));
    r->work.ctx.recording = r->work.ctx.training = true;
    if (b.first < b.end)
        assert_int_equal(r->trainer->step(r->self, &err), 0);
    r->work.ctx.recording = r->work.ctx.training = false;
    r->ranks.all = (struct collective){ .size = 1 };
    for (int i = 0; i < r->params->n; i++) {
        const float *g = r->params->list[i].t->grad->data;
        for (int64_t j = 0; j < tensor_size(r->params->list[i].t); j++)
            *sum++ += g[j];
    }
}

static float *gradients(struct run *r, int n)
{
    float *sum = xcalloc((size_t)numbers(r), sizeof *sum);

    for (int k = 0; k < n; k++)
        add_part(r, sum, k, n);
    return sum;
}

static double norm(const float *a, const float *b, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += pow((double)a[i] - (b ? (double)b[i] : 0), 2);
    return sqrt(sum);
}

/* Bounds for the rounding error of each tensor's gradient. Terms may cancel, so that the norms of the gradients of
 * single examples are added. The caller frees them. */
static double *scales(struct run *r)
{
    double *scale = xcalloc((size_t)r->params->n, sizeof *scale), all = 0;

    for (int k = 0; k < BATCH; k++) {
        float *g = xcalloc((size_t)numbers(r), sizeof *g), *at = g;
        add_part(r, g, k, BATCH);
        for (int i = 0; i < r->params->n; at += tensor_size(r->params->list[i++].t))
            scale[i] += norm(at, NULL, tensor_size(r->params->list[i].t));
        free(g);
    }
    for (int i = 0; i < r->params->n; i++)
        all += scale[i];
    for (int i = 0; i < r->params->n; i++)
        scale[i] = fmax(scale[i], FLOOR * all);
    return scale;
}

/* Difference of the worst tensor. */
static double difference(const struct run *r, const float *a, const float *b, const double *scale)
{
    double worst = 0;

    for (int i = 0; i < r->params->n; i++) {
        int64_t n = tensor_size(r->params->list[i].t);
        worst = fmax(worst, norm(a, b, n) / (scale ? scale[i] : fmax(norm(a, NULL, n), 1e-30)));
        a += n;
        b += n;
    }
    return worst;
}

static double largest_change(const struct run *r, const float *a, const float *b)
{
    double most = 0;

    for (int64_t i = 0; i < numbers(r); i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static void update(struct ctx *c, void *arg)
{
    struct run *r = arg;
    optim_step(c, &r->optim, r->params);
}

/* The weights after a first step with these gradients. */
static float *after_update(struct run *r, const float *start, const float *g, float eps)
{
    struct error err;

    assert_int_equal(r->trainer->enter_stage(r->self, true, &err), 0);
    r->optim.adamw.eps = eps;
    r->optim.schedule = (struct schedule){ .lr = 1e-3f, .form = SCHEDULE_CONSTANT };
    set(r, start, false);
    set(r, g, true);
    assert_int_equal(workspace_step(&r->work, update, r, &err), 0);
    return weights(r);
}

static void check_updates(struct run *r, const float *one, const float *many)
{
    float *start = weights(r);
    float *a = after_update(r, start, one, 1e-8f), *b = after_update(r, start, many, 1e-8f);
    float *c = after_update(r, start, one, 1e3f), *d = after_update(r, start, many, 1e3f);

    print_message("weights differ by %.1e of a tensor's norm, with a large eps by %.1e\n", difference(r, a, b, NULL),
                  difference(r, c, d, NULL));
    assert_true(largest_change(r, a, b) <= 2.1e-3);
    assert_true(largest_change(r, a, start) > 0.9e-3);
    assert_true(difference(r, c, d, NULL) <= ROUNDING);
    set(r, start, false);
    free(start), free(a), free(b), free(c), free(d);
}

static void check_batch(struct run *r, const float *one)
{
    double *scale = scales(r);

    for (int n = 2; n <= RANKS_MOST; n++) {
        float *many = gradients(r, n);
        double apart = difference(r, one, many, scale);
        double all = norm(one, many, numbers(r)) / norm(one, NULL, numbers(r));
        print_message("%d ranks: gradients differ by %.1e, those of a tensor by %.1e of their terms\n", n, all, apart);
        assert_true(all <= ROUNDING && apart <= ROWS);
        check_updates(r, one, many);
        free(many);
    }
    free(scale);
}

/* Skips the first steps. States of a new encoder are so similar that the gradients of relevant and irrelevant
 * elements cancel. */
static void check_stage(struct run *r)
{
    struct error err;

    assert_int_equal(r->trainer->enter_stage(r->self, true, &err), 0);
    for (int step = 0; step < LEARNT + CHECKED; step++) {
        r->state.batch = step % run_batches(r);
        float *one = gradients(r, 1), *start = weights(r);
        if (step >= LEARNT)
            check_batch(r, one);
        free(after_update(r, start, one, 1e-8f));
        free(start);
        free(one);
    }
}

static void check(enum gate_encode encode)
{
    struct gate_request q = request(encode);
    struct gate_trainer t;
    struct run *r = &t.run;
    struct error err;

    gate_trainer_init(&t, &q);
    r->ranks.all = (struct collective){ .size = 1 };
    assert_int_equal(run_open(r, &err), 0);
    for (; r->state.stage < r->n_stages; r->state.stage++)
        check_stage(r);
    run_close(r);
}

/* The bounds hold if a row's bits do not depend on the batch. Without AVX-512, a tensor differed by 1.3e-5 of its
 * terms. */
static void test_element(void **state)
{
    if (!gemm_rows_alone(F32)) {
        print_message("left out: this CPU has no AVX-512\n");
        skip();
    }
    (void)state;
    check(ENCODE_ELEMENT);
}

static void test_schema(void **state)
{
    (void)state;
    check(ENCODE_SCHEMA);
}

static int set_up(void **state)
{
    (void)state;
    data = test_dir_new();
    out = test_dir_new();
    small_data_write(data, 48, 12, 12);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_dir_remove(data);
    test_dir_remove(out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_element), cmocka_unit_test(test_schema) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
