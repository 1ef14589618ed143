#include "kernels/batch.h"
#include "kernels/device.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

/* A small post-norm transformer block with every kind of record a model has, run plain and checkpointed. */
enum { WIDTH = 64, HEADS = 2, INNER = 96, ROWS = 29, BLOCKS = 3, PARAMS = 12, RANK = 6 };
enum { ADAPTER = 8 }; /* the first parameter of the adapters, which are never frozen: of two maps, then of one */

static const struct {
    int64_t rows, cols;
} param_shapes[PARAMS] = { { 3 * WIDTH, WIDTH }, { 3 * WIDTH, 0 }, { WIDTH, WIDTH }, { WIDTH, 0 },
                           { INNER, WIDTH },     { WIDTH, INNER }, { WIDTH, 0 },     { WIDTH, 0 },
                           { RANK, WIDTH },      { INNER, RANK },  { RANK, INNER },  { WIDTH, RANK } };

struct block {
    struct tensor *p[PARAMS];
    struct seqs seqs;
    bool transient;
};

static struct tensor *block_forward(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct block *b = arg;
    struct tensor *qkv = op_linear(c, in[0], b->p[0], b->p[1], ACT_NONE);
    struct attention_form form = { .heads = HEADS, .p = 0.1f };
    struct tensor *a = op_attention(c, qkv, qkv, &b->seqs, &b->seqs, &form);

    a = op_dropout(c, op_linear(c, a, b->p[2], b->p[3], ACT_NONE), 0.1f);
    struct tensor *x = op_layer_norm(c, a, in[0], b->p[6], b->p[7], 1e-5f);
    struct tensor *f = op_linear(c, x, b->p[4], NULL, ACT_GELU);
    f = op_dropout(c, op_linear(c, f, b->p[5], b->p[3], ACT_NONE), 0.1f);
    return op_layer_norm(tape_result(c), f, x, b->p[6], b->p[7], 1e-5f);
}

/* The next op's output is transient if the block's are. */
static struct ctx *briefly(struct ctx *c, const struct block *b)
{
    return b->transient ? tape_transient(c) : c;
}

/* The map by p[matrix], with p[adapter] and the next as its adapter. */
static struct linear_map adapted(const struct block *b, int matrix, int adapter)
{
    return (struct linear_map){ .w = b->p[matrix], .lora = { b->p[adapter], b->p[adapter + 1], .scale = 0.5f } };
}

/* x + f(x): a pre-norm block, whose output's gradient goes on as x's own. */
static struct tensor *residual_forward(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct block *b = arg;
    struct tensor *h = op_rms_norm(briefly(c, b), in[0], b->p[6], 1e-5f);
    struct linear_map up = adapted(b, 4, ADAPTER), down = adapted(b, 5, ADAPTER + 2);
    struct tensor *gate = op_linear(c, h, b->p[4], NULL, ACT_NONE), *y = op_lora_linear(c, h, up.w, NULL, &up.lora);

    h = op_glu(briefly(c, b), gate, y, GATE_SILU);
    return op_lora_residual(c, in[0], h, down.w, b->p[3], &down.lora);
}

/* The same where the gradient of the sum lies among those that the block gives back. */
static struct tensor *mapped_forward(struct ctx *c, struct tensor **in, const void *arg)
{
    const struct block *b = arg;
    return op_linear(c, residual_forward(c, in, arg), b->p[2], b->p[3], ACT_NONE);
}

static struct tensor *noise(struct ctx *c, struct rng *rng, int64_t rows, int64_t cols, enum dtype dtype)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = rng_uniform(rng) - 0.5f;
    struct tensor *t = batch_f32(c, x, rows, cols, dtype);
    free(x);
    return t;
}

/* A copy in step memory, where a gradient lies that may go on as another's. */
static struct tensor *in_step(struct ctx *c, const struct tensor *x)
{
    struct destination y = { tensor_like(c, x), false };

    RUN(c, scale, y, x, 1.0f);
    return y.t;
}

/* How blocks are run: one op after another, as blocks, computed again in the backward. */
enum manner { PLAIN, BLOCK, CHECKPOINT };

struct run {
    struct device *d;
    enum dtype dtype;
    enum manner manner;
    bool frozen;           /* the parameters, not the input */
    block_fn *block, *odd; /* the blocks, by number */
    bool transient;
    uint64_t bits;
    size_t peak; /* of the real run, when everything is there */
    int64_t records;
};

static void add_bits(struct run *r, const struct tensor *t)
{
    void *bytes = xmalloc(tensor_bytes(t));

    device_download(r->d, bytes, t);
    r->bits = hash_bytes(r->bits, bytes, tensor_bytes(t));
    free(bytes);
}

static void make_params(struct ctx *c, struct block *b, struct run *r, struct rng *rng)
{
    for (int i = 0; i < PARAMS; i++) {
        int64_t rows = param_shapes[i].rows, cols = param_shapes[i].cols;
        struct tensor *t = noise(c, rng, rows, cols ? cols : 1, cols ? r->dtype : F32);
        b->p[i] = t;
        t->needs_grad = t->is_param = !r->frozen || i >= ADAPTER;
        if (!t->needs_grad)
            continue;
        t->grad = tensor_new2(c, F32, rows, cols ? cols : 1);
        RUN(c, fill, t->grad, 0.0f);
    }
}

/* All blocks share their parameters, so each gradient is added to from every block. */
static void train_step(struct ctx *c, void *arg)
{
    static const int32_t lengths[] = { 12, 1, 0, 16 };
    struct run *r = arg;
    struct rng rng = { .seed = 5 };
    struct block b = { .seqs = batch_seqs(c, lengths, ARRAY_LEN(lengths)), .transient = r->transient };

    c->recording = c->training = true;
    struct tensor *in = noise(c, &rng, ROWS, WIDTH, r->dtype), *x = in,
                  *dy = in_step(c, noise(c, &rng, ROWS, WIDTH, r->dtype));
    in->needs_grad = true;
    make_params(c, &b, r, &rng);
    for (int i = 0; i < BLOCKS; i++) {
        block_fn *fn = i % 2 ? r->odd : r->block;
        x = r->manner == CHECKPOINT ? tape_checkpoint(c, fn, &b, &x, 1)
            : r->manner == BLOCK    ? tape_block(c, fn, &b, &x, 1)
                                    : fn(c, &x, &b);
    }
    r->records = 0;
    for (const struct node *n = c->tape; n; n = n->prev)
        r->records++;
    tape_backward_from(c, x, dy);
    r->peak = c->step->peak;
    if (!c->k)
        return;
    r->bits = HASH_START;
    add_bits(r, x);
    add_bits(r, in->grad);
    for (int i = 0; i < PARAMS; i++)
        if (b.p[i]->needs_grad)
            add_bits(r, b.p[i]->grad);
}

static struct run measured(struct run r)
{
    struct workspace w;
    struct error err;

    assert_int_equal(workspace_init(&w, r.d, 1 << 20, &err), 0);
    workspace_seed(&w, 11, 3);
    size_t dry = workspace_measure(&w, train_step, &r).step;
    assert_int_equal(workspace_run(&w, train_step, &r, &err), 0);
    assert_int_equal(r.peak, dry);
    workspace_release(&w);
    return r;
}

static struct run run_step(struct device *d, enum dtype dtype, enum manner manner, bool frozen)
{
    return measured((struct run){ d, dtype, manner, frozen, .block = block_forward, .odd = block_forward });
}

/* Transient tensors change no number, and less is there at once. */
static void check_brief(struct device *d, enum dtype dtype, bool frozen)
{
    struct run plain = { d, dtype, PLAIN, frozen, .block = residual_forward, .odd = mapped_forward }, kept[3],
               transient[3];

    plain = measured(plain);
    for (enum manner m = PLAIN; m <= CHECKPOINT; m++) {
        struct run r = { d, dtype, m, frozen, .block = plain.block, .odd = plain.odd };
        kept[m] = measured(r);
        r.transient = true;
        transient[m] = measured(r);
        assert_int_equal(kept[m].bits, plain.bits);
        assert_int_equal(transient[m].bits, plain.bits);
    }
    assert_true(transient[BLOCK].peak < kept[BLOCK].peak);
    assert_true(kept[BLOCK].peak < plain.peak && kept[CHECKPOINT].peak < plain.peak);
}

static void check_blocks(const char *device)
{
    struct device d;
    struct error err;

    if (device_open(&d, device, &err)) {
        print_message("%s\n", err.text);
        skip();
    }
    for (enum dtype dtype = F32; dtype <= BF16; dtype++)
        for (int frozen = 0; frozen < 2; frozen++) {
            struct run plain = run_step(&d, dtype, PLAIN, frozen), again = run_step(&d, dtype, PLAIN, frozen);
            struct run block = run_step(&d, dtype, BLOCK, frozen), kept = run_step(&d, dtype, CHECKPOINT, frozen);
            assert_int_equal(plain.bits, again.bits);
            assert_int_equal(kept.bits, plain.bits);
            assert_int_equal(block.bits, plain.bits);
            assert_true(block.peak < plain.peak && kept.peak < block.peak);
            assert_int_equal(block.records, plain.records + BLOCKS);
            assert_int_equal(kept.records, BLOCKS);
            check_brief(&d, dtype, frozen);
        }
    device_close(&d);
}

static void test_blocks_cpu(void **state)
{
    (void)state;
    check_blocks("cpu");
}

static void test_blocks_simt(void **state)
{
    (void)state;
    check_blocks("simt");
}

static void test_blocks_cuda(void **state)
{
    (void)state;
    check_blocks("cuda");
}

/* The other checks need numbers small enough to follow by hand, on the cpu. */
static struct device cpu;

static void with_ctx(step_fn *fn)
{
    struct workspace w;
    struct error err;

    assert_int_equal(workspace_init(&w, &cpu, 1 << 16, &err), 0);
    assert_int_equal(workspace_run(&w, fn, NULL, &err), 0);
    workspace_release(&w);
}

static void assert_values(struct ctx *c, const struct tensor *t, const float *want)
{
    for (int64_t i = 0; c->k && i < tensor_size(t); i++)
        assert_float_equal(((const float *)t->data)[i], want[i], 0);
}

/* loss = sum over both uses of x; the middle tensor b takes part twice */
static void chain_step(struct ctx *c, void *arg)
{
    (void)arg;
    c->recording = true;
    struct tensor *x = batch_f32(c, (const float[]){ 1, -2 }, 1, 2, F32);
    x->needs_grad = true;
    struct tensor *b = op_activation(c, x, ACT_RELU), *y = op_add(c, op_add(c, b, b), x);
    tape_backward_from(c, y, batch_f32(c, (const float[]){ 10, 100 }, 1, 2, F32));
    assert_values(c, y, (const float[]){ 3, -2 });
    assert_values(c, x->grad, (const float[]){ 30, 100 });
}

static void test_chain(void **state)
{
    (void)state;
    with_ctx(chain_step);
}

/* An op whose output nobody used has no gradient and its backward is not run. */
static void unused_step(struct ctx *c, void *arg)
{
    (void)arg;
    c->recording = true;
    struct tensor *x = batch_f32(c, (const float[]){ 1, -2 }, 1, 2, F32);
    x->needs_grad = true;
    struct tensor *unused = op_activation(c, x, ACT_TANH), *y = op_activation(c, x, ACT_LEAKY_RELU);
    tape_backward_from(c, y, batch_f32(c, (const float[]){ 1, 10 }, 1, 2, F32));
    assert_null(unused->grad);
    assert_values(c, x->grad, (const float[]){ 1, 2 });
}

static void test_unused(void **state)
{
    (void)state;
    with_ctx(unused_step);
}

static void silent_step(struct ctx *c, void *arg)
{
    (void)arg;
    struct tensor *x = batch_f32(c, (const float[]){ 1, -2 }, 1, 2, F32);
    x->needs_grad = true;
    c->recording = false;
    struct tensor *y = op_activation(c, x, ACT_RELU);
    assert_null(c->tape);
    assert_true(y->needs_grad); /* so that a checkpoint, which runs its block silently, knows */
    c->recording = true;
    x->needs_grad = false;
    y = op_activation(c, x, ACT_RELU);
    assert_null(c->tape);
    assert_false(y->needs_grad);
}

static void test_silent(void **state)
{
    (void)state;
    with_ctx(silent_step);
}

/* Two slices of one parameter write into their own rows of its gradient. */
static void slice_step(struct ctx *c, void *arg)
{
    (void)arg;
    c->recording = true;
    struct tensor *w = batch_f32(c, (const float[]){ 1, 2, 3, 4, 5, 6 }, 3, 2, F32);
    w->needs_grad = w->is_param = true;
    w->grad = tensor_new2(c, F32, 3, 2);
    RUN(c, fill, w->grad, 0.0f);
    struct tensor *first = tensor_slice(c, w, 0, 1), *last = tensor_slice(c, w, 2, 1);
    struct tensor *y = op_add(c, op_add(c, first, last), last);
    tape_backward_from(c, y, batch_f32(c, (const float[]){ 1, 10 }, 1, 2, F32));
    assert_values(c, y, (const float[]){ 11, 14 });
    assert_values(c, w->grad, (const float[]){ 1, 10, 0, 0, 2, 20 });
}

static void test_slice(void **state)
{
    (void)state;
    with_ctx(slice_step);
}

/* Outside training dropout gives x itself and draws no number. */
static void evaluation_step(struct ctx *c, void *arg)
{
    (void)arg;
    struct tensor *x = batch_f32(c, (const float[]){ 1, -2 }, 1, 2, F32);
    c->training = false;
    assert_ptr_equal(op_dropout(c, x, 0.5f), x);
    assert_int_equal(c->site, 0);
    c->training = true;
    assert_ptr_equal(op_dropout(c, x, 0), x);
    assert_ptr_not_equal(op_dropout(c, x, 0.5f), x);
    assert_int_equal(c->site, 1);
}

static void test_evaluation(void **state)
{
    (void)state;
    with_ctx(evaluation_step);
}

/* The data of the results that two nested blocks made. */
struct results {
    const void *inner, *outer;
};

/* Twice the input, into the memory of the block's output. */
static struct tensor *doubled(struct ctx *c, struct tensor **in, const void *arg)
{
    struct results *r = *(struct results *const *)arg;
    struct tensor *y = op_add(tape_result(c), in[0], in[0]);

    r->inner = y->data;
    return y;
}

/* The input and four times the input: only the last sum has the memory of the output. */
static struct tensor *quintupled(struct ctx *c, struct tensor **in, const void *arg)
{
    struct results *r = *(struct results *const *)arg;
    struct tensor *twice = tape_checkpoint(c, doubled, arg, in, 1), *four = op_add(c, twice, twice);

    assert_ptr_equal(twice->data, r->inner);
    struct tensor *y = op_add(tape_result(c), four, in[0]);
    r->outer = y->data;
    assert_ptr_not_equal(op_add(tape_result(c), four, four)->data, y->data);
    return y;
}

static void result_step(struct ctx *c, void *arg)
{
    (void)arg;
    struct results made, *given = &made;
    struct tensor *x = batch_f32(c, (const float[]){ 1, -2 }, 1, 2, F32);
    struct tensor *y = tape_checkpoint(c, quintupled, &given, &x, 1);

    assert_ptr_equal(y->data, made.outer);
    assert_null(c->result);
    assert_values(c, y, (const float[]){ 5, -10 });
    assert_ptr_not_equal(op_add(tape_result(c), x, x)->data, y->data);
}

static void test_result(void **state)
{
    (void)state;
    with_ctx(result_step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_cpu), cmocka_unit_test(test_blocks_simt), cmocka_unit_test(test_blocks_cuda),
        cmocka_unit_test(test_chain),      cmocka_unit_test(test_unused),      cmocka_unit_test(test_silent),
        cmocka_unit_test(test_slice),      cmocka_unit_test(test_evaluation),  cmocka_unit_test(test_result),
    };
    struct error err;

    if (device_open(&cpu, "cpu", &err))
        return EXIT_CODE_DEVICE;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    device_close(&cpu);
    return failed;
}
