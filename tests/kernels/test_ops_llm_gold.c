/* The language model's ops beside torch and transformers (gold/make_ops_llm.py): outputs and every gradient. */
#include "tests/support/support.h"

#include "kernels/tape.h"
#include "tests/support/digest.h"
#include "tests/support/step.h"

#include <stdlib.h>

enum { ROWS = 8, HEADS = 3, HEAD = 64, WIDE = 96 };
#define LIMIT 1e-6

static const int32_t positions[ROWS] = { 0, 1, 2, 17, 511, 4095, 8192, 131071 };

struct gold {
    struct test_step step;
    struct safetensors file;
};

static void gold_open(struct gold *g)
{
    struct error err;

    assert_int_equal(safetensors_open(&g->file, "tests/gold/ops_llm.safetensors", &err), 0);
    test_step_open(&g->step);
}

static void gold_close(struct gold *g)
{
    test_step_close(&g->step);
    safetensors_close(&g->file);
}

static void check(struct gold *g, const char *name, const struct tensor *t)
{
    double error = gold_error(&g->file, name, name, &g->step.device, t);
    if (!(error <= LIMIT))
        fail_msg("%s on %s: off by %g, %g allowed", name, g->step.device.driver->name, error, LIMIT);
}

static void test_rope(void **state)
{
    struct gold g;

    (void)state;
    gold_open(&g);
    struct ctx *c = &g.step.ctx;
    float *numbers = gold_numbers(&g.file, "freqs", HEAD / 2);
    struct tensor *freqs = batch_f32(c, numbers, 1, HEAD / 2, F32);
    struct tensor *angles = op_rope_angles(c, batch_i32(c, positions, ROWS), freqs);
    struct tensor *x = formula_tensor(&g.step, "rope.x", ROWS, HEADS * HEAD, false), *y = op_rope(c, x, angles);
    tape_backward_from(c, y, formula_tensor(&g.step, "rope.dy", ROWS, HEADS * HEAD, false));
    check(&g, "angles", angles);
    check(&g, "rope", y);
    check(&g, "rope.x", x->grad);
    free(numbers);
    gold_close(&g);
}

static void test_rms_norm(void **state)
{
    struct gold g;

    (void)state;
    gold_open(&g);
    struct ctx *c = &g.step.ctx;
    struct tensor *x = formula_tensor(&g.step, "rms_norm.x", ROWS, HEADS * WIDE, false);
    struct tensor *w = formula_tensor(&g.step, "rms_norm.w", 1, WIDE, true), *y = op_rms_norm(c, x, w, 1e-6f);
    tape_backward_from(c, y, formula_tensor(&g.step, "rms_norm.dy", ROWS, HEADS * WIDE, false));
    check(&g, "rms_norm", y);
    check(&g, "rms_norm.x", x->grad);
    check(&g, "rms_norm.w", w->grad);
    gold_close(&g);
}

static void test_swiglu(void **state)
{
    struct gold g;

    (void)state;
    gold_open(&g);
    struct ctx *c = &g.step.ctx;
    struct tensor *gate = formula_tensor(&g.step, "swiglu.gate", ROWS, WIDE, false);
    struct tensor *up = formula_tensor(&g.step, "swiglu.up", ROWS, WIDE, false), *y = op_glu(c, gate, up, GATE_SILU);
    tape_backward_from(c, y, formula_tensor(&g.step, "swiglu.dy", ROWS, WIDE, false));
    check(&g, "swiglu", y);
    check(&g, "swiglu.gate", gate->grad);
    check(&g, "swiglu.up", up->grad);
    gold_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rope), cmocka_unit_test(test_rms_norm),
                                        cmocka_unit_test(test_swiglu) };
    return test_devices(tests, ARRAY_LEN(tests));
}
