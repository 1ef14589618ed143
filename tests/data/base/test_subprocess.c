/* Filters: their output, their input at any size, and every way to fail within the bounds. */
#include "data/base/log.h"
#include "data/base/subprocess.h"
#include "tests/support/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct subprocess filter(const char *command)
{
    return (struct subprocess){ .command = command, .seconds = 20, .max_output = 1 << 24 };
}

static void test_output(void **state)
{
    struct subprocess p = filter("tr a-z A-Z; printf end");
    struct error err;

    (void)state;
    assert_int_equal(subprocess_filter(&p, "one\ntwo\n", 8, &err), 0);
    assert_string_equal(p.output, "ONE\nTWO\nend");
    assert_int_equal(p.size, 11);
    subprocess_release(&p);
    p = filter("true"); /* it need not read */
    assert_int_equal(subprocess_filter(&p, "one\n", 4, &err), 0);
    assert_true(p.size == 0 && p.output[0] == '\0');
    subprocess_release(&p);
}

/* More than a pipe holds, in both directions at once. */
static void test_large(void **state)
{
    size_t n = (3 << 20) + 7;
    char *text = xmalloc(n);
    struct subprocess p = filter("cat");
    struct error err;

    (void)state;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i * i % 23);
    assert_int_equal(subprocess_filter(&p, text, n, &err), 0);
    assert_int_equal(p.size, n);
    assert_memory_equal(p.output, text, n);
    subprocess_release(&p);
    free(text);
}

static void assert_fails(struct subprocess p, const char *why, const char *output)
{
    double start = now_seconds();
    struct error err;

    assert_int_equal(subprocess_filter(&p, "x\n", 2, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_FAILURE);
    assert_error(err, why);
    assert_int_equal(strncmp(p.output, output, strlen(output)), 0);
    assert_true(now_seconds() - start < 10);
    subprocess_release(&p);
}

static void test_failures(void **state)
{
    struct subprocess slow = filter("echo first; sleep 60; echo second"), late = filter("exec >&-; sleep 60"),
                      endless = filter("yes");

    (void)state;
    assert_fails(filter("echo a; exit 3"), "exit status 3", "a\n");
    assert_fails(filter("no-such-program-at-all 2>&-"), "exit status 127", "");
    assert_fails(filter("echo a; kill -9 $$"), "ended by signal 9", "a\n");
    slow.seconds = late.seconds = 0.3;
    assert_fails(slow, "not finished after 0.3 seconds", "first\n");
    assert_fails(late, "not finished after 0.3 seconds", "");
    endless.max_output = 1000;
    assert_fails(endless, "more than 1000 bytes of output", "y\ny\n");
}

/* Nothing of the group outlives the call. */
static void test_group(void **state)
{
    struct subprocess p = filter("sleep 60 >&- & echo $!");
    struct error err;

    (void)state;
    assert_int_equal(subprocess_filter(&p, "", 0, &err), 0);
    pid_t pid = (pid_t)strtol(p.output, NULL, 10);
    assert_true(pid > 1);
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    for (int tries = 0; tries < 500; tries++) { /* killed: gone, or a zombie that no one has taken */
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        text[n] = '\0';
        if (f)
            fclose(f);
        if (!f || n == 0 || strstr(text, ") Z "))
            break;
        usleep(10000);
    }
    assert_true(access(path, F_OK) != 0 || strstr(text, ") Z "));
    subprocess_release(&p);
}

/* The command gets default signals, whatever the caller ignores. */
static void test_signals(void **state)
{
    struct subprocess p = filter("yes | head -n 1; kill -0 $$ && echo alive");
    struct error err;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(subprocess_filter(&p, "", 0, &err), 0);
    signal(SIGPIPE, SIG_DFL);
    assert_string_equal(p.output, "y\nalive\n");
    subprocess_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output), cmocka_unit_test(test_large),   cmocka_unit_test(test_failures),
        cmocka_unit_test(test_group),  cmocka_unit_test(test_signals),
    };

    return cmocka_run_group_tests_name("subprocess", tests, NULL, NULL);
}
