/* Attention with T5's relative positions beside transformers (gold/make_attention.py): output and every gradient; and
 * the bits of a sequence among others. */
#include "tests/support/support.h"

#include "kernels/tape.h"
#include "tests/support/digest.h"
#include "tests/support/step.h"

#include <stdlib.h>

enum { HEADS = 3, HEAD = 20, WIDTH = HEADS * HEAD, REACH = 128, CELLS = 2 * REACH + 1, BUCKETS = 32 };
#define LIMIT 2e-6

static const int32_t lengths[] = { 150, 9 };
enum { ROWS = 159 };

/* The table of T5's weights [BUCKETS, HEADS]: a cell for every distance has the weight of its bucket. */
static struct tensor *table_of(struct test_step *s, const float *buckets)
{
    float cells[HEADS * CELLS];

    for (int h = 0; h < HEADS; h++)
        for (int r = 0; r < CELLS; r++)
            cells[h * CELLS + r] = formula_value("bias", (int64_t)buckets[r] * HEADS + h);
    return test_input(s, cells, HEADS, CELLS, true);
}

/* The reverse: the sum over the cells of a bucket. */
static struct tensor *weights_of(struct test_step *s, const struct tensor *table, const float *buckets)
{
    float *cells = test_values(s, table), weights[BUCKETS * HEADS] = { 0 };

    for (int h = 0; h < HEADS; h++)
        for (int r = 0; r < CELLS; r++)
            weights[(int)buckets[r] * HEADS + h] += cells[h * CELLS + r];
    free(cells);
    return batch_f32(&s->ctx, weights, BUCKETS, HEADS, F32);
}

static void test_t5(void **state)
{
    struct test_step s;
    struct safetensors gold;
    struct error err;

    (void)state;
    assert_int_equal(safetensors_open(&gold, "tests/gold/attention.safetensors", &err), 0);
    test_step_open(&s);
    float *buckets = gold_numbers(&gold, "buckets", CELLS);
    struct seqs seqs = batch_seqs(&s.ctx, lengths, ARRAY_LEN(lengths));
    struct tensor *x = formula_tensor(&s, "x", ROWS, 3 * WIDTH, false), *table = table_of(&s, buckets);
    struct attention_form form = { .heads = HEADS, .scale = 1, .bias = table };
    struct tensor *y = op_attention(&s.ctx, x, x, &seqs, &seqs, &form);
    tape_backward_from(&s.ctx, y, formula_tensor(&s, "dy", ROWS, WIDTH, false));

    const struct {
        const char *name;
        const struct tensor *t;
    } checked[] = { { "y", y }, { "x.grad", x->grad }, { "bias.grad", weights_of(&s, table->grad, buckets) } };
    for (int i = 0; i < ARRAY_LEN(checked); i++) {
        double error = gold_error(&gold, checked[i].name, checked[i].name, &s.device, checked[i].t);
        if (!(error <= LIMIT))
            fail_msg("%s on %s: off by %g, %g allowed", checked[i].name, s.device.driver->name, error, LIMIT);
    }
    free(buckets);
    test_step_close(&s);
    safetensors_close(&gold);
}

/* Lengths around the ends of tiles, then two longer ones, which CUDA gives another kernel. */
static const int32_t company[] = { 23, 33, 64, 0, 1, 16, 17, 48, 32, 65, 130 };
enum { SHORT = 9, SHORT_ROWS = 234, WHOLE_ROWS = 429, COMPANY_HEADS = 2, COMPANY_CELLS = 7 };

/* Computes y and lse of the first n sequences, as bytes of their rows. */
static void attend(struct test_step *s, struct tensor *out[2], const struct tensor *x, int n,
                   const struct attention_form *form)
{
    struct ctx *c = &s->ctx;
    struct tensor *y = out[0] = tensor_new2(c, x->dtype, x->shape[0], tensor_cols(x) / 3);
    struct tensor *lse = out[1] = tensor_new2(c, F32, x->shape[0], form->heads);
    struct seqs seqs = batch_seqs(c, company, n), *at = &seqs;

    RUN(c, attention, y, lse, x, x, at, at, form, 0);
}

static void check_company(struct test_step *s, int dim, float p, bool bias)
{
    int64_t width = COMPANY_HEADS * dim;
    struct tensor *x = formula_tensor(s, "x", WHOLE_ROWS, 3 * width, false),
                  *half = tensor_new2(&s->ctx, BF16, WHOLE_ROWS, 3 * width);
    struct attention_form form = { .heads = COMPANY_HEADS, .scale = 0.3f, .p = p };
    struct tensor *alone[2], *among[2];

    if (bias)
        form.bias = formula_tensor(s, "bias", COMPANY_HEADS, COMPANY_CELLS, false);
    RUN(&s->ctx, cast, half, x);
    struct tensor few = tensor_view(half, 0, SHORT_ROWS);
    attend(s, alone, &few, SHORT, &form);
    attend(s, among, half, ARRAY_LEN(company), &form);
    for (int i = 0; i < 2; i++) {
        char *want = xmalloc(tensor_bytes(alone[i])), *got = xmalloc(tensor_bytes(among[i]));
        device_download(&s->device, want, alone[i]);
        device_download(&s->device, got, among[i]);
        assert_memory_equal(got, want, tensor_bytes(alone[i]));
        free(want);
        free(got);
    }
}

static void test_company(void **state)
{
    struct test_step s;

    (void)state;
    test_step_open(&s);
    check_company(&s, 64, 0, false);
    check_company(&s, 64, 0.2f, true);
    check_company(&s, 32, 0, false);
    check_company(&s, 20, 0.2f, true);
    check_company(&s, 7, 0, true);
    test_step_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_t5), cmocka_unit_test(test_company) };
    return test_devices(tests, ARRAY_LEN(tests));
}
