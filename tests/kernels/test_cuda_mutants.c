/* Does the fake CUDA notice?  test_cuda_driver and test_cuda_attention over the driver with one thing broken in each
 * (tests/fake_cuda). */
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    { "late_download", "ERROR   ] test_late_downloads" },
    { "device_of_launches", "while the thread's device is" },
    { "sync_in_capture", "cudaErrorStreamCaptureUnsupported" },
    { "allocation_in_capture", "cudaErrorStreamCaptureUnsupported" },
    { "error_left", "after an error that nobody has read" },
    { "leak", "Test teardown failed" },
    { "attention_strides", "expected" },
    { "attention_heads", "reaches past its memory" },
    { "attention_uid", "cuDNN: tensor 10 is not in the variant pack" },
    { "attention_scale", "expected" },
    { "attention_diagonal", "expected" },
    { "attention_end", "expected" },
    { "attention_key", "test_same_numbers" },
    { "attention_workspace", "expected" },
    { "attention_finalize", "is a descriptor that is not finalized" },
    { "attention_leak", "Test teardown failed" },
};

static void test_noticed(void **state)
{
    char command[4096], *output;
    int unnoticed = 0;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(mutants); i++) {
        const struct mutant *m = &mutants[i];
        bool attention = strncmp(m->name, "attention_", 10) == 0;
        snprintf(command, sizeof command, "%s '%s/mutant_%s' %s",
                 attention ? "test_cuda_attention" : "test_cuda_driver", FAKE_CUDA_DIR, m->name,
                 attention ? "test_same_numbers" : "");
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
    if (access(FAKE_CUDA_DIR "/mutant_leak", F_OK)) {
        print_message("not built: cmake --build BUILD --target driver_mutants builds the broken drivers\n");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_noticed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
