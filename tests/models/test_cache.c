/* The row cache is read again after reopening, drops damaged and foreign parts, and survives kills. */
#include "models/io/cache.h"
#include "models/io/half.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WIDTH = 6, MODEL = 77 };

static char *dir, where[80];

static int setup(void **state)
{
    (void)state;
    dir = test_dir_new();
    snprintf(where, sizeof where, "%s/rows", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_dir_remove(dir);
    return 0;
}

/* The hashes of texts collide in their low and high bits. */
static uint64_t text_of(int i)
{
    return (uint64_t)i << 60 | (uint64_t)(i / 16) << 20 | 5;
}

static int64_t rows_of(int i)
{
    return i % 4;
}

static float value(int i, int64_t k)
{
    return (float)((i * 37 + k * 11) % 2000) * 0.125f;
}

static void add(struct row_cache *c, int i)
{
    float rows[3 * WIDTH];
    struct error err = { 0 };

    for (int64_t k = 0; k < rows_of(i) * WIDTH; k++)
        rows[k] = value(i, k);
    if (row_cache_add(c, text_of(i), rows, rows_of(i), &err))
        fail_msg("%s", err.text);
}

static bool holds(const struct row_cache *c, int i)
{
    const uint16_t *rows = row_cache_find(c, text_of(i), rows_of(i));

    for (int64_t k = 0; rows && k < rows_of(i) * WIDTH; k++)
        if (f32_from_f16(rows[k]) != value(i, k))
            fail_msg("text %d, element %d", i, (int)k);
    return rows != NULL;
}

static struct row_cache *open_cache(uint64_t model, int64_t width)
{
    struct error err = { 0 };
    struct row_cache *c = row_cache_open(where, model, width, &err);
    if (!c)
        fail_msg("%s", err.text);
    return c;
}

static int part_count(void)
{
    DIR *d = opendir(where);
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strstr(e->d_name, "part-") != NULL;
    closedir(d);
    return n;
}

static void test_found_again(void **state)
{
    struct error err = { 0 };
    (void)state;

    struct row_cache *c = open_cache(MODEL, WIDTH);
    assert_false(holds(c, 1));
    for (int i = 0; i < 3000; i++) {
        add(c, i);
        assert_true(holds(c, i));
        if (i % 1000 == 999)
            assert_int_equal(row_cache_flush(c, &err), 0);
    }
    add(c, 3000); /* not flushed, so lost */
    row_cache_close(c);
    assert_int_equal(part_count(), 3);
    c = open_cache(MODEL, WIDTH);
    for (int i = 0; i < 3000; i++)
        assert_true(holds(c, i));
    assert_false(holds(c, 3000));
    assert_null(row_cache_find(c, text_of(3), 2)); /* another number of rows */
    add(c, 3000);
    assert_int_equal(row_cache_flush(c, &err), 0);
    assert_int_equal(row_cache_flush(c, &err), 0);
    row_cache_close(c);
    assert_int_equal(part_count(), 4);
}

static void test_foreign_and_damaged(void **state)
{
    struct error err = { 0 };
    char path[128];
    (void)state;

    struct row_cache *c = open_cache(MODEL, WIDTH);
    for (int i = 0; i < 20; i++) {
        add(c, i);
        assert_int_equal(row_cache_flush(c, &err), 0);
    }
    row_cache_close(c);
    snprintf(path, sizeof path, "%s/part-5.hdf5", where);
    assert_int_equal(truncate(path, 1000), 0);
    snprintf(path, sizeof path, "%s/part-6.hdf5", where);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 2000), 1);
    close(fd);
    snprintf(path, sizeof path, "%s/part-20.hdf5.tmp", where);
    close(open(path, O_WRONLY | O_CREAT, 0666));
    c = open_cache(MODEL, WIDTH);
    for (int i = 0; i < 20; i++)
        assert_int_equal(holds(c, i), i != 5 && i != 6);
    row_cache_close(c);
    assert_int_equal(part_count(), 18);
    row_cache_close(open_cache(MODEL + 1, WIDTH)); /* another model removes all parts */
    assert_int_equal(part_count(), 0);
}

static void test_killed(void **state)
{
    int known = 0;
    (void)state;

    for (int round = 0; round < 12 || known <= 12; round++) { /* on a busy machine a child may make no progress */
        struct row_cache *c = open_cache(MODEL, WIDTH);
        pid_t child = fork();
        if (child == 0)
            for (int i = 0;; i++)
                if (!holds(c, i)) {
                    add(c, i);
                    if (i % 3 == 0 && row_cache_flush(c, NULL))
                        _exit(1);
                }
        usleep((useconds_t)(5000 + 3571 * round));
        int status;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        row_cache_close(c);
        c = open_cache(MODEL, WIDTH);
        int n = 0;
        while (holds(c, n))
            n++;
        assert_true(n >= known);
        known = n;
        row_cache_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_found_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_and_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
