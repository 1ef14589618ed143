/* CPU quotas of control groups, as the kernel writes them. */
#include "tests/support/support.h"

#include "data/base/startup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void write_in(const char *folder, const char *name, const char *text)
{
    char *path = path_in(folder, name);
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(path);
}

static char *folder_in(const char *dir, const char *name)
{
    char *path = path_in(dir, name);

    assert_int_equal(mkdir(path, 0700), 0);
    return path;
}

static void assert_quota(const char *root, const char *group, double expected)
{
    assert_true(threads_quota(root, group) == expected);
}

static void test_second_version(void **state)
{
    char *root = folder_in(*state, "v2"), *slice = folder_in(root, "user.slice"), *pod = folder_in(slice, "pod");

    assert_quota(root, "/", HUGE_VAL);
    write_in(slice, "cpu.max", "max 100000\n");
    assert_quota(root, "/user.slice/pod", HUGE_VAL);
    write_in(pod, "cpu.max", "350000 100000\n");
    assert_quota(root, "/user.slice/pod", 3.5);
    assert_quota(root, "/user.slice", HUGE_VAL);
    write_in(slice, "cpu.max", "200000 100000\n"); /* ancestors count too */
    assert_quota(root, "/user.slice/pod", 2);
    assert_quota(root, "/user.slice/gone", 2);
    free(root), free(slice), free(pod);
}

static void test_first_version(void **state)
{
    char *root = folder_in(*state, "v1"), *pod = folder_in(root, "pod");

    write_in(root, "cpu.cfs_quota_us", "-1\n");
    write_in(root, "cpu.cfs_period_us", "100000\n");
    assert_quota(root, "", HUGE_VAL);
    write_in(pod, "cpu.cfs_quota_us", "50000\n");
    assert_quota(root, "/pod", HUGE_VAL); /* an incomplete quota */
    write_in(pod, "cpu.cfs_period_us", "100000\n");
    assert_quota(root, "/pod", .5);
    write_in(pod, "cpu.cfs_period_us", "0\n");
    assert_quota(root, "/pod", HUGE_VAL);
    write_in(pod, "cpu.cfs_period_us", "none\n");
    assert_quota(root, "/pod", HUGE_VAL);
    free(root), free(pod);
}

static void test_available(void **state)
{
    (void)state;
    assert_in_range(threads_available(), 1, 1 << 16);
}

static int new_folder(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int drop_folder(void **state)
{
    test_dir_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_second_version, new_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_first_version, new_folder, drop_folder),
        cmocka_unit_test(test_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
