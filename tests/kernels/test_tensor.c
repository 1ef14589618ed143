#include "kernels/rng.h"
#include "kernels/tensor.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* Under AddressSanitizer too much memory is refused, as without it, rather than fatal. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_arena(void **state)
{
    struct arena a, measure;
    struct error err;

    (void)state;
    assert_int_equal(arena_init(&a, 1000, &err), 0);
    arena_measure(&measure);
    for (size_t bytes = 1; bytes < 300; bytes *= 3) {
        void *p = arena_alloc(&a, bytes);
        assert_int_equal((uintptr_t)p % ARENA_ALIGN, 0);
        memset(p, 1, bytes);
        arena_alloc(&measure, bytes);
    }
    assert_int_equal(a.peak, measure.peak);
    size_t mark = arena_mark(&a), peak = a.peak;
    void *first = arena_alloc(&a, 10);
    arena_reset(&a, mark);
    assert_ptr_equal(arena_alloc(&a, 20), first);
    assert_true(a.peak > peak);
    assert_string_equal(arena_printf(&a, "%d %s", 7, "rows"), "7 rows");
    arena_release(&a);
    arena_release(&a); /* a released one is harmless */
    assert_int_equal(arena_init(&a, SIZE_MAX / 2, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_MEMORY);
}

/* Two stacks in one arena, which together fill it. */
static void test_arena_end(void **state)
{
    struct arena a;
    struct error err;

    (void)state;
    assert_int_equal(arena_init(&a, 4 * ARENA_ALIGN, &err), 0);
    char *low = arena_alloc(&a, ARENA_ALIGN), *high = arena_alloc_end(&a, 1);
    assert_ptr_equal(low, a.base);
    assert_ptr_equal(high, a.base + 3 * ARENA_ALIGN);
    size_t mark = arena_mark_end(&a);
    assert_ptr_equal(arena_alloc_end(&a, 2 * ARENA_ALIGN), a.base + ARENA_ALIGN);
    assert_int_equal(a.peak, 4 * ARENA_ALIGN);
    arena_reset_end(&a, mark);
    assert_ptr_equal(arena_alloc(&a, 2 * ARENA_ALIGN), a.base + ARENA_ALIGN);
    assert_int_equal(a.peak, 4 * ARENA_ALIGN);
    arena_release(&a);
}

static void test_shapes(void **state)
{
    struct tensor scalar = { .ndim = 0 }, vector = { .ndim = 1, .shape = { 5 } };
    struct tensor cube = { .dtype = BF16, .ndim = 3, .shape = { 2, 3, 4 } };
    struct tensor empty = { .ndim = 2, .shape = { 3, 0 } };

    (void)state;
    assert_int_equal(tensor_size(&scalar), 1);
    assert_int_equal(tensor_cols(&scalar), 1);
    assert_int_equal(tensor_rows(&scalar), 1);
    assert_int_equal(tensor_cols(&vector), 5);
    assert_int_equal(tensor_rows(&vector), 1);
    assert_int_equal(tensor_rows(&cube), 6);
    assert_int_equal(tensor_bytes(&cube), 48);
    assert_int_equal(tensor_rows(&empty), 0);
    assert_int_equal(tensor_size(&empty), 0);
}

/* Nearest even, the carry into the exponent, overflow to infinity, NaN; every bf16 comes back from f32. */
static void test_bf16(void **state)
{
    (void)state;
    assert_int_equal(bf16_from_f32(1.0f), 0x3f80);
    assert_int_equal(bf16_from_f32(0x1.01p0f), 0x3f80);
    assert_int_equal(bf16_from_f32(0x1.03p0f), 0x3f82);
    assert_int_equal(bf16_from_f32(0x1.010002p0f), 0x3f81);
    assert_int_equal(bf16_from_f32(0x1.ffp0f), 0x4000);
    assert_int_equal(bf16_from_f32(3.4e38f), 0x7f80);
    assert_int_equal(bf16_from_f32(-0.0f), 0x8000);
    assert_true(isnan(f32_from_bf16(bf16_from_f32(NAN))));
    for (uint32_t u = 0; u < 0x10000; u++)
        if ((u & 0x7fff) <= 0x7f80)
            assert_int_equal(bf16_from_f32(f32_from_bf16((uint16_t)u)), u);
}

/* The known answers published with the generator (Random123, kat_vectors: philox4x32 10). */
static void test_philox(void **state)
{
    struct philox zero = philox_block((struct philox){ { 0 } }, 0, 0);
    struct philox ones = philox_block((struct philox){ { ~0u, ~0u, ~0u, ~0u } }, ~0u, ~0u);
    struct philox pi =
        philox_block((struct philox){ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 } }, 0xa4093822, 0x299f31d0);

    (void)state;
    assert_memory_equal(&zero, ((uint32_t[]){ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }), sizeof zero);
    assert_memory_equal(&ones, ((uint32_t[]){ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd }), sizeof ones);
    assert_memory_equal(&pi, ((uint32_t[]){ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 }), sizeof pi);
}

static void test_below(void **state)
{
    struct rng rng = { .seed = 3 };
    int counts[3] = { 0 };

    (void)state;
    for (int i = 0; i < 30000; i++)
        counts[rng_below(&rng, 3)]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(counts[i], 9700, 10300);
    assert_int_equal(rng_below(&rng, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_arena),  cmocka_unit_test(test_arena_end),
                                        cmocka_unit_test(test_shapes), cmocka_unit_test(test_bf16),
                                        cmocka_unit_test(test_philox), cmocka_unit_test(test_below) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
