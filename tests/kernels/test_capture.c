/* Training steps captured and replayed beside eager ones, bit for bit: new inputs, dropout, AdamW, layers run twice. */
#include "tests/support/support.h"

#include "kernels/kernels.h"
#include "kernels/optim.h"
#include "kernels/workspace.h"
#include "models/net/bert.h"
#include "tests/support/digest.h"
#include "tests/support/step.h"

#include <stdlib.h>
#include <string.h>

enum { VOCAB = 37, POSITIONS = 16, SEQUENCES = 3, TOKENS = 17, HIDDEN = 32, STEPS = 5, HOST_BYTES = 4 << 20 };
static const int32_t lengths[SEQUENCES] = { 9, 1, 7 }, other_lengths[SEQUENCES] = { 8, 2, 7 };

struct model {
    struct device device;
    struct arena host, data;
    struct params params;
    struct bert bert;
    struct optim optim;
    struct workspace work;
    const int32_t *lengths;
    int step; /* which inputs come next */
    struct tensor *loss;
};

static void open_model(struct model *m, enum dtype dtype, bool checkpointed)
{
    struct bert_config g = { .vocab_size = VOCAB,
                             .hidden_size = HIDDEN,
                             .layers = 2,
                             .heads = 1,
                             .intermediate_size = 48,
                             .max_positions = POSITIONS,
                             .type_vocab_size = 2,
                             .activation = ACT_GELU,
                             .layer_norm_eps = 1e-12f,
                             .hidden_dropout = 0.2f,
                             .attention_dropout = 0.1f };
    struct param_arenas arenas = { &m->host, &m->data, OPTIMIZER_ADAMW };
    struct error err;

    *m = (struct model){ .lengths = lengths };
    test_device_open(&m->device);
    assert_int_equal(arena_init(&m->host, HOST_BYTES, &err), 0);
    assert_int_equal(device_arena(&m->device, &m->data, 2 << 20, &err), 0);
    assert_int_equal(workspace_init(&m->work, &m->device, HOST_BYTES, &err), 0);
    bert_init(&m->bert, &g, "bert.", dtype, &m->params, &arenas);
    params_init(&m->params, &m->device, 3);
    m->bert.checkpointed = checkpointed;
    assert_int_equal(optim_init(&m->optim, &m->device, &m->params, &err), 0);
    m->optim.schedule = (struct schedule){ .lr = 1e-2f, .warmup = 2, .total = 2 * STEPS };
    m->optim.adamw = (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.01f, .clip = 0.5f };
    workspace_seed(&m->work, 21, 0);
    m->work.ctx.recording = m->work.ctx.training = true;
}

static void close_model(struct model *m)
{
    workspace_release(&m->work);
    optim_release(&m->optim, &m->device);
    params_release(&m->params);
    device_arena_release(&m->device, &m->data);
    arena_release(&m->host);
    device_close(&m->device);
}

static void build(struct ctx *c, const struct model *m, struct bert_input *in)
{
    int32_t ids[3][TOKENS];

    for (int s = 0, t = 0; s < SEQUENCES; s++)
        for (int i = 0; i < m->lengths[s]; i++, t++) {
            ids[0][t] = (int32_t)(formula_word("ids", 100 * m->step + t) % VOCAB);
            ids[1][t] = i;
            ids[2][t] = i % 2;
        }
    *in = (struct bert_input){ .seqs = batch_seqs(c, m->lengths, SEQUENCES) };
    in->tokens[0] = batch_index(c, ids[0], TOKENS, VOCAB);
    in->tokens[1] = batch_index(c, ids[1], TOKENS, POSITIONS);
    in->tokens[2] = batch_index(c, ids[2], TOKENS, 2);
}

/* The targets are uploaded after the forward, where memory of the forward's scratch is free again. */
static void step(struct ctx *c, void *arg)
{
    enum { N = TOKENS * HIDDEN };
    struct model *m = arg;
    struct bert_input in;
    float target[N];

    m->optim.schedule.lr = m->step < STEPS / 2 ? 1e-2f : 5e-3f; /* kernels that were captured must see it */
    m->params.list[0].lr_scale = m->step < STEPS / 2 ? 1 : 0.5f;
    build(c, m, &in);
    struct tensor *y = op_cast(c, bert_forward(c, &m->bert, &in), F32);
    for (int i = 0; i < N; i++)
        target[i] = formula_word("target", N * m->step + i) & 1 ? 1.0f : 0.0f;
    struct tensor *t = batch_f32(c, target, TOKENS, HIDDEN, F32);
    m->loss =
        op_bce(c, op_reshape(c, y, 1, (int64_t[]){ N }), op_reshape(c, t, 1, (int64_t[]){ N }), NULL, 1, 1.0f / N);
    tape_backward(c, m->loss);
    optim_step(c, &m->optim, &m->params);
}

/* Losses of STEPS steps, then the weights and moments; the caller frees. */
static float *outcome(struct model *m, const float *losses, size_t *bytes)
{
    float *all = xmalloc(STEPS * sizeof *all);
    size_t n = STEPS;

    memcpy(all, losses, STEPS * sizeof *all);
    for (int i = 0; i < m->params.n; i++) {
        const struct tensor *each[] = { m->params.list[i].t, m->params.list[i].state[0], m->params.list[i].state[1] };
        for (int k = 0; k < ARRAY_LEN(each); k++) {
            float *x = tensor_floats(&m->device, each[k]);
            size_t size = (size_t)tensor_size(each[k]);
            all = xrealloc(all, (n + size) * sizeof *all);
            memcpy(all + n, x, size * sizeof *all);
            n += size;
            free(x);
        }
    }
    *bytes = n * sizeof *all;
    return all;
}

static float *train_eagerly(struct model *m, size_t *bytes)
{
    float losses[STEPS];
    struct error err;

    for (m->step = 0; m->step < STEPS; m->step++) {
        assert_int_equal(workspace_run(&m->work, step, m, &err), 0);
        device_download(&m->device, &losses[m->step], m->loss);
    }
    return outcome(m, losses, bytes);
}

/* A traced step is not captured. */
static bool captures(const struct model *m)
{
    return m->device.driver->capture_begin && !getenv("AMBIT_TRACE");
}

static float *train_captured(struct model *m, size_t *bytes)
{
    float losses[STEPS];
    struct error err;

    for (m->step = 0; m->step < STEPS; m->step++) {
        int64_t uploads = m->device.counts.uploads;
        assert_int_equal(workspace_step(&m->work, step, m, &err), 0);
        bool table = m->step == 0 || m->step == STEPS / 2; /* a new one, and new rates in it */
        assert_int_equal(m->device.counts.uploads - uploads,
                         m->device.driver->capture_begin ? 1 + table : 0); /* the cpu counts nothing */
        assert_int_equal(m->work.counts.replayed, captures(m) ? m->step : 0);
        device_download(&m->device, &losses[m->step], m->loss);
    }
    assert_int_equal(m->work.n_captured, captures(m));
    return outcome(m, losses, bytes);
}

static void check_captured(enum dtype dtype, bool checkpointed)
{
    struct model eager, captured;
    size_t bytes, also;

    open_model(&eager, dtype, checkpointed);
    open_model(&captured, dtype, checkpointed);
    float *want = train_eagerly(&eager, &bytes), *got = train_captured(&captured, &also);
    for (int i = 1; i < STEPS; i++)
        assert_true(want[i] != want[i - 1]);
    assert_int_equal(bytes, also);
    assert_memory_equal(got, want, bytes);
    free(want);
    free(got);
    close_model(&eager);
    close_model(&captured);
}

static void test_captured_is_eager(void **state)
{
    (void)state;
    check_captured(F32, false);
    check_captured(BF16, false);
    check_captured(F32, true);
}

/* Steps that were replayed when one more is made. */
static int64_t replayed(struct model *m, step_fn *fn, void *arg)
{
    int64_t before = m->work.counts.replayed;
    struct error err;

    assert_int_equal(workspace_step(&m->work, fn, arg, &err), 0);
    return m->work.counts.replayed - before;
}

/* Sequences of other lengths, with the same number of tokens, need other grids.  A step without training is another
 * one, too. */
static void test_other_shapes(void **state)
{
    struct model m;

    (void)state;
    open_model(&m, F32, false);
    int64_t yes = captures(&m);
    assert_int_equal(replayed(&m, step, &m), 0);
    assert_int_equal(replayed(&m, step, &m), yes);
    m.lengths = other_lengths;
    assert_int_equal(replayed(&m, step, &m), 0);
    m.lengths = lengths;
    m.work.ctx.training = false;
    assert_int_equal(replayed(&m, step, &m), 0);
    m.work.ctx.training = true;
    assert_int_equal(replayed(&m, step, &m), yes);
    m.params.list[0].t->needs_grad = false;
    assert_int_equal(replayed(&m, step, &m), 0);
    m.params.list[0].t->needs_grad = true;
    workspace_forget(&m.work);
    assert_int_equal(replayed(&m, step, &m), 0);
    m.work.eager = true;
    m.lengths = other_lengths;
    assert_int_equal(replayed(&m, step, &m), 0);
    assert_int_equal(replayed(&m, step, &m), 0);
    close_model(&m);
}

/* A step whose shape is its size. */
static void other_step(struct ctx *c, void *size)
{
    struct tensor *y = tensor_new1(c, F32, *(int64_t *)size);
    RUN(c, fill, y, 7.0f);
}

/* Another step in between changes nothing, unless it needs more memory than there is. */
static void test_steps_between(void **state)
{
    struct model m, alone;
    float loss, want;
    int64_t small = 1000;

    (void)state;
    open_model(&m, F32, false);
    open_model(&alone, F32, false);
    int64_t yes = captures(&m);
    assert_int_equal(replayed(&m, step, &m) + replayed(&alone, step, &alone), 0);
    int64_t large = (int64_t)m.work.step.size;
    assert_int_equal(replayed(&m, other_step, &small), 0);
    assert_int_equal(replayed(&m, step, &m), yes);
    assert_int_equal(replayed(&alone, step, &alone), yes);
    device_download(&m.device, &loss, m.loss);
    device_download(&alone.device, &want, alone.loss);
    assert_memory_equal(&loss, &want, sizeof loss);
    assert_int_equal(replayed(&m, other_step, &large), 0);
    assert_int_equal(replayed(&m, step, &m), 0);
    close_model(&m);
    close_model(&alone);
}

/* Of more shapes than are kept the one that ran longest ago is forgotten. */
static void test_many_shapes(void **state)
{
    struct model m;

    (void)state;
    open_model(&m, F32, false);
    int64_t yes = captures(&m), first = CAPTURED_MAX + 1, second = first - 1;
    replayed(&m, other_step, &first);
    for (int64_t size = second; size > 1; size--)
        assert_int_equal(replayed(&m, other_step, &size), 0);
    assert_int_equal(replayed(&m, other_step, &first), yes);
    assert_int_equal(replayed(&m, other_step, &(int64_t){ 1 }), 0);
    assert_int_equal(replayed(&m, other_step, &first), yes);
    assert_int_equal(replayed(&m, other_step, &second), 0);
    close_model(&m);
}

static const struct driver *real;

static void *end_without_memory(struct device *d)
{
    real->capture_free(d, real->capture_end(d));
    return NULL;
}

/* A device that has no memory left for a capture runs kernel by kernel from then on. */
static void test_no_memory(void **state)
{
    struct model m;

    (void)state;
    open_model(&m, F32, false);
    real = m.device.driver;
    struct driver full = *real;
    full.capture_end = end_without_memory;
    m.device.driver = &full;
    for (int i = 0; i < 2; i++)
        assert_int_equal(replayed(&m, step, &m), 0);
    assert_int_equal(m.work.n_captured, 0);
    assert_int_equal(m.work.eager, captures(&m));
    m.device.driver = real;
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_captured_is_eager), cmocka_unit_test(test_other_shapes),
        cmocka_unit_test(test_steps_between),     cmocka_unit_test(test_many_shapes),
        cmocka_unit_test(test_no_memory),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
