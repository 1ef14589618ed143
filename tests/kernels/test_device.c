#include "kernels/device.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer too much memory is refused, as without it, rather than fatal. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void check_refused(const char *spec, enum exit_code code, const char *word)
{
    struct device d;
    struct error err;

    assert_int_equal(device_open(&d, spec, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, word))
        fail_msg("'%s' does not say '%s'", err.text, word);
    device_close(&d); /* harmless */
}

static void test_specs(void **state)
{
    (void)state;
    check_refused("", EXIT_CODE_USAGE, "auto, cpu, cuda");
    check_refused("gpu", EXIT_CODE_USAGE, "'gpu'");
    check_refused("cuda:", EXIT_CODE_USAGE, "cuda:N");
    check_refused("cuda:-1", EXIT_CODE_USAGE, "cuda:N");
    check_refused("cuda:1x", EXIT_CODE_USAGE, "cuda:N");
    check_refused("cuda:99999999999999999999", EXIT_CODE_USAGE, "1023");
}

/* A file of the module's name that is no module, then a module that has no driver in it. */
static void test_bad_module(void **state)
{
    char *dir = test_dir_new();

    (void)state;
    setenv("AMBIT_MODULE_PATH", dir, 1);
    test_file(dir, "libambit_simt.so", "not a library");
    check_refused("simt", EXIT_CODE_DEVICE, "libambit_simt.so");
    test_file(dir, "libambit_cuda.so", "not a library");
    check_refused("cuda", EXIT_CODE_DEVICE, "libambit_cuda.so");

    struct device d;
    struct error err;
    assert_int_equal(device_open(&d, "auto", &err), 0); /* falls back */
    assert_string_equal(d.driver->name, "cpu");
    device_close(&d);
    unsetenv("AMBIT_MODULE_PATH");
    test_dir_remove(dir);
}

static void test_cpu(void **state)
{
    struct device d;
    struct arena a;
    struct error err;
    float in[3] = { 1, 2, 3 }, out[3] = { 0 };

    (void)state;
    assert_int_equal(device_open(&d, "cpu", &err), 0);
    assert_true(d.total_memory >= d.free_memory && d.free_memory > 0);
    assert_non_null(strstr(d.description, "threads"));
    assert_int_equal(device_arena(&d, &a, 100, &err), 0);
    assert_true(a.size >= 100 && (uintptr_t)a.base % ARENA_ALIGN == 0);
    struct tensor t = { .data = arena_alloc(&a, sizeof in), .dtype = F32, .ndim = 1, .shape = { 3 } };
    device_upload(&d, &t, in);
    device_download(&d, out, &t);
    assert_memory_equal(in, out, sizeof in);
    memset(out, 0, sizeof out);
    device_download_start(&d, out, &t);
    d.driver->download_finish(&d, 0);
    assert_memory_equal(in, out, sizeof in);
    device_arena_release(&d, &a);
    assert_int_equal(device_arena(&d, &a, SIZE_MAX / 4, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_MEMORY);
    assert_int_equal(device_arena(&d, &a, SIZE_MAX, &err), -1);
    device_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_specs), cmocka_unit_test(test_bad_module),
                                        cmocka_unit_test(test_cpu) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
