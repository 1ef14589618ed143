#include "kernels/device.h"
#include "tests/support/op_test.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct device device;
static const char *type; /* of those checked, NULL: all */

static void check_row(void **state)
{
    op_check(*state, &device, type);
}

/* The rows whose name contains `wanted` (NULL: all), on one device.  Returns how many failed. */
static int check_device(const struct op_row *rows, int n_rows, const char *name, const char *wanted)
{
    struct CMUnitTest *tests = xcalloc((size_t)n_rows, sizeof *tests);
    size_t n = 0;

    for (int i = 0; i < n_rows; i++)
        if (!wanted || strstr(rows[i].name, wanted))
            tests[n++] = (struct CMUnitTest){ rows[i].name, check_row, NULL, NULL, (void *)(uintptr_t)&rows[i] };
    int failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    free(tests);
    return failed;
}

/* Where simt begins: AMBIT_SIMT_SEED, or any; op_check goes on from there. */
static void choose_seed(void)
{
    char text[32];

    snprintf(text, sizeof text, "%ld", (long)(time(NULL) % 100000));
    setenv("AMBIT_SIMT_SEED", text, 0);
}

int op_main(const struct op_row *rows, int n, int argc, char **argv)
{
    static const char *const names[] = { "cpu", "simt", "cuda" };
    struct error err;
    int failed = 0;

    type = argc > 3 ? argv[3] : NULL;
    if (type && strcmp(type, "f32") != 0 && strcmp(type, "bf16") != 0) {
        printf("expected f32 or bf16, got '%s'\n", type);
        return 2;
    }
    choose_seed();
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        if (argc > 1 && strcmp(argv[1], names[i]) != 0)
            continue;
        if (device_open(&device, names[i], &err)) {
            printf("%s: left out: %s\n", names[i], err.text);
            failed += argc > 1;
            continue;
        }
        printf("%s: %s\n", names[i], device.description);
        failed += check_device(rows, n, names[i], argc > 2 ? argv[2] : NULL);
        device_close(&device);
    }
    if (getenv("AMBIT_OPS_CASE"))
        printf("of %ld cases\n", op_cases);
    return failed != 0;
}
