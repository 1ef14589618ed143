#include "kernels/cpu/row.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { RUN = 1003 }; /* not a multiple of any vector */

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Patterns from the whole range of f32, zeros, ties, infinities and NaN among them: stored as bf16_from_f32 rounds. */
static void test_rounding(void **state)
{
    float x[RUN], back[RUN];
    uint16_t y[RUN], want[RUN];
    struct tensor t = { .data = y, .dtype = BF16, .ndim = 1, .shape = { RUN } };
    uint32_t bits = 0;

    (void)state;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < RUN; i++, bits += 21401) {
            x[i] = float_of(i % 3 ? bits : (bits & 0xffff0000u) | 0x8000u); /* every third a tie */
            want[i] = bf16_from_f32(x[i]);
        }
        row_store((struct destination){ &t, false }, 0, x, RUN);
        assert_memory_equal(y, want, sizeof y);
        row_load(back, &t, 0, RUN);
        for (int i = 0; i < RUN; i++)
            assert_true(back[i] == f32_from_bf16(y[i]) || (isnan(back[i]) && isnan(x[i])));
    }
}

/* Adding to bf16 adds in f32 and rounds once, and touches nothing beside the run. */
static void test_adding(void **state)
{
    float x[RUN];
    uint16_t y[RUN + 2], before[RUN + 2];
    struct tensor t = { .data = y, .dtype = BF16, .ndim = 1, .shape = { RUN + 2 } };

    (void)state;
    for (int i = 0; i < RUN + 2; i++)
        before[i] = y[i] = bf16_from_f32((float)i * 0.37f);
    for (int i = 0; i < RUN; i++)
        x[i] = 1.0f / (float)(i + 1);
    row_store((struct destination){ &t, true }, 1, x, RUN);
    assert_int_equal(y[0], before[0]);
    assert_int_equal(y[RUN + 1], before[RUN + 1]);
    for (int i = 0; i < RUN; i++)
        assert_int_equal(y[i + 1], bf16_from_f32(f32_from_bf16(before[i + 1]) + x[i]));
}

/* An F32 tensor lends its own memory, and storing it there again is nothing. */
static void test_lending(void **state)
{
    float y[4] = { 1, 2, 3, 4 }, buf[4];
    struct tensor t = { .data = y, .dtype = F32, .ndim = 1, .shape = { 4 } };
    struct destination store = { &t, false }, add = { &t, true };

    (void)state;
    assert_ptr_equal(row_in(buf, &t, 1, 2), y + 1);
    assert_ptr_equal(row_out(buf, store, 2), y + 2);
    assert_ptr_equal(row_out(buf, add, 2), buf);
    row_store(store, 2, y + 2, 2);
    row_store(add, 0, (float[]){ 10, 20 }, 2);
    assert_memory_equal(y, ((float[]){ 11, 22, 3, 4 }), sizeof y);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rounding), cmocka_unit_test(test_adding),
                                        cmocka_unit_test(test_lending) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
