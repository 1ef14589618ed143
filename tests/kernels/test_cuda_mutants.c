/* Does the fake CUDA notice?  test_cuda_driver over the driver with one thing broken in each (tests/fake_cuda). */
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mutant {
    const char *name, *said;
} mutants[] = {
    { "leading_dimension", "leading dimension 73" },
    { "short_leading_dimension", "a leading dimension of" },
    { "bias_pointer", "there is no bias pointer" },
    { "bias_of_the_plan", "ERROR   ] test_products" },
    { "alignment", "the algorithm was chosen for 16" },
    { "workspace", "the workspace: " },
    { "no_workspace", "a workspace of 0 bytes" },
    { "stage", "written anew before the GPU had read it" },
    { "download", "0xffffffa5" },
    { "device_of_launches", "while the thread's device is" },
    { "sync_in_capture", "cudaErrorStreamCaptureUnsupported" },
    { "allocation_in_capture", "cudaErrorStreamCaptureUnsupported" },
    { "error_left", "after an error that nobody has read" },
    { "leak", "Test teardown failed" },
};

static void test_noticed(void **state)
{
    char command[4096], *output;
    int unnoticed = 0;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(mutants); i++) {
        const struct mutant *m = &mutants[i];
        snprintf(command, sizeof command, "test_cuda_driver '%s/mutant_%s'", FAKE_CUDA_DIR, m->name);
        if (test_run(command, &output) == 0 || !strstr(output, m->said)) {
            printf("mutant_%s: '%s' is not said:\n%s\n", m->name, m->said, output);
            unnoticed++;
        }
        free(output);
    }
    assert_int_equal(unnoticed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_noticed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
