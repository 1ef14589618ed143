/*
 * Tests of the worker's client: statements that crash SQLite, hang or are killed, and workers that send invalid data.
 * Each gives one failed result, and the next statement runs normally.
 */
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/db/sql_wire.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct exec_limits limits = { .steps = INT64_MAX, .rows = 5000, .bytes = 4 << 20, .seconds = 0.5 };
#ifdef __SANITIZE_ADDRESS__
static const double bound = 20;
#else
static const double bound = 3;
#endif

static const char world[] = "CREATE TABLE t1(a INT, b INT); CREATE INDEX t1a ON t1(a); CREATE TABLE t2(x INT);"
                            "INSERT INTO t1 VALUES (1, 2); INSERT INTO t2 VALUES (3);";

/* A window function over an outer column, which crashes libsqlite3 3.40.1. */
static const char crash[] =
    "SELECT c, (SELECT c + sum(1) OVER ()) AS res FROM t2 LEFT JOIN (SELECT +a AS c FROM t1) AS v1 "
    "ON true GROUP BY c ORDER BY c";
/* One call of a function with quadratic cost, during which SQLite does not check the clock. */
static const char hang[] =
    "SELECT length(json_patch(json_group_object(n, n), json_group_object(n || 'x', n))) FROM (WITH RECURSIVE c(n) AS "
    "(SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 70000) SELECT n FROM c)";

static struct exec_db *open_world(void)
{
    struct error err = { 0 };
    struct exec_db *db = exec_open_script(world, &limits, &err);

    if (!db)
        fail_msg("%s", err.text);
    return db;
}

static void check(struct exec_db *db, enum exec_status status, const char *sql, const char *message)
{
    struct exec_result r = exec_run(db, sql);

    if (r.status != status || !strstr(r.message ? r.message : "", message))
        fail_msg("%.60s: %s, %s", sql, exec_status_name(r.status), r.message);
    exec_result_release(&r);
}

static void check_number(struct exec_db *db, const char *sql, int64_t n)
{
    struct exec_result r = exec_run(db, sql);

    if (r.status != EXEC_OK)
        fail_msg("%s: %s", sql, r.message);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.cells[0].integer, n);
    exec_result_release(&r);
}

/* A version of SQLite without this bug answers; then the crash cannot be tested. */
static bool crashes(struct exec_db *db)
{
    struct exec_result r = exec_run(db, crash);
    bool crashed = r.status == EXEC_FAILED && strstr(r.message, "the SQL worker crashed on this statement (");

    if (!crashed && r.status != EXEC_OK)
        fail_msg("%s", r.message);
    exec_result_release(&r);
    return crashed;
}

/* Counts the children of this process, or only zombies; the newest is in *pid. */
static int children(bool zombies, pid_t *pid)
{
    int n = 0;
    DIR *d = opendir("/proc");

    for (struct dirent *e; (e = readdir(d));) {
        char path[300], line[512] = "", state = 0;
        int parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = *e->d_name >= '0' && *e->d_name <= '9' ? fopen(path, "r") : NULL;
        if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
            sscanf(strrchr(line, ')') + 1, " %c %d", &state, &parent);
        if (f)
            fclose(f);
        if (parent != getpid() || (zombies && state != 'Z'))
            continue;
        *pid = (pid_t)strtol(e->d_name, NULL, 10);
        n++;
    }
    closedir(d);
    return n;
}

/* Kills the worker of this thread, before other threads have any. */
static void kill_worker(void)
{
    pid_t pid = 0;

    assert_int_equal(children(false, &pid), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (!children(true, &pid))
        usleep(1000);
}

static int descriptors(pid_t pid)
{
    char path[64];
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Returns whether a file of /proc contains the line. */
static bool proc_says(pid_t pid, const char *file, const char *line)
{
    char path[64], text[8192] = "";

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    return strstr(text, line) != NULL;
}

static void check_proc(pid_t pid, const char *file, const char *line)
{
    if (!proc_says(pid, file, line))
        fail_msg("/proc/%d/%s does not say \"%s\"", (int)pid, file, line);
}

/* At most one capability remains: root's right to read any file. */
static void check_capabilities(pid_t pid)
{
    static const char *const allowed[] = { "0", "2", "4" };
    char line[64];
    int n = 0;

    for (int i = 0; i < ARRAY_LEN(allowed); i++) {
        snprintf(line, sizeof line, "CapPrm:\t000000000000000%s\n", allowed[i]);
        n += proc_says(pid, "status", line);
    }
    assert_int_equal(n, 1);
}

static void check_environment(pid_t pid)
{
    char path[64], text[4096] = "";

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_null(memmem(text, n, "SECRET", 6));
}

static void a_crash_is_one_result(void **state)
{
    struct exec_db *db = open_world(), *other = open_world();
    pid_t pid;
    (void)state;

    if (!crashes(db)) {
        exec_close(db);
        exec_close(other);
        skip();
    }
    int before = descriptors(getpid());
    for (int i = 0; i < 10; i++) {
        check_number(db, "SELECT a FROM t1", 1);
        check_number(other, "SELECT x FROM t2", 3);
        assert_true(crashes(i % 2 ? db : other));
        assert_int_equal(children(false, &pid), 0);
    }
    check_number(db, "SELECT b FROM t1", 2);
    assert_int_equal(children(false, &pid), 1);
    assert_int_equal(children(true, &pid), 0);
    assert_in_range(descriptors(getpid()), before - 1, before + 1);
    exec_close(db);
    exec_close(other);
    db = open_world();
    assert_int_equal(children(false, &pid), 1);
    exec_close(db);
}

static void a_hanging_worker_is_killed(void **state)
{
    struct exec_db *db = open_world();
    double start = now_seconds();
    (void)state;

    check(db, EXEC_STOPPED, hang, "more than 0.5 seconds");
    assert_true(now_seconds() - start < bound);
    check_number(db, "SELECT a FROM t1", 1);
    exec_close(db);
}

static void write_db(const char *path, const char *script)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, script, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Resolving a table after the last view would take 2^40 steps. */
static void views_that_double_do_not_open_for_ever(void **state)
{
    const char *dir = *state, *path = test_file(dir, "views.sqlite", NULL);
    struct error err = { 0 };
    char script[8192] = "CREATE TABLE t(a); CREATE VIEW v0 AS SELECT a FROM t;";
    double start = now_seconds();

    for (int i = 1; i <= 40; i++) {
        size_t n = strlen(script);
        snprintf(script + n, sizeof script - n, "CREATE VIEW v%d AS SELECT x.a FROM v%d x, v%d y;", i, i - 1, i - 1);
    }
    write_db(path, script);
    struct exec_db *db = exec_open_schema(path, &limits, &err);
    assert_non_null(db);
    check(db, EXEC_OK, "SELECT name FROM pragma_table_xinfo('v3')", "");
    struct exec_result r = exec_run(db, "SELECT count(*) FROM pragma_table_xinfo('v40')");
    assert_int_not_equal(r.status, EXEC_OK); /* too many references, or too late */
    exec_result_release(&r);
    assert_true(now_seconds() - start < bound);
    exec_close(db);
    db = exec_open(path, &limits, &err);
    assert_non_null(db);
    check(db, EXEC_REFUSED, "SELECT name FROM pragma_table_xinfo('v3')", "PRAGMA is not allowed");
    check(db, EXEC_OK, "SELECT a FROM v3", "");
    exec_close(db);
}

/* Kills the worker after a statement has run for a while. */
static void *kill_soon(void *unused)
{
    pid_t pid = 0;

    (void)unused;
    usleep(200000);
    if (children(false, &pid) == 1)
        kill(pid, SIGKILL);
    return NULL;
}

static void killed_from_outside(void **state)
{
    struct exec_db *db = open_world();
    pid_t pid = 0;
    pthread_t killer;
    (void)state;

    kill_worker();
    check_number(db, "SELECT a FROM t1", 1); /* the connection still works */
    assert_int_equal(pthread_create(&killer, NULL, kill_soon, NULL), 0);
    check(db, EXEC_STOPPED, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c) SELECT count(*) FROM c",
          "the SQL worker was killed on this statement (signal 9)");
    pthread_join(killer, NULL);
    check_number(db, "SELECT a FROM t1", 1);
    assert_int_equal(children(true, &pid), 0);
    exec_close(db);
}

/* The worker inherits no open files of the program, and no terminal signals. */
static void the_worker_is_apart(void **state)
{
    int leak = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    struct exec_db *db = open_world();
    pid_t pid = 0;
    (void)state;

    kill_worker();
    setenv("SECRET", "seen", 1);
    check_number(db, "SELECT a FROM t1", 1);
    assert_int_equal(children(false, &pid), 1);
    if (geteuid() == 0) { /* other processes must not inspect it */
        assert_int_equal(descriptors(pid), 3);
        check_environment(pid);
    }
    check_proc(pid, "status", "NoNewPrivs:\t1");
    check_proc(pid, "limits", "Max file size             0                    0");
    check_proc(pid, "limits", "Max processes             0                    0");
    check_proc(pid, "limits", "Max core file size        0                    0");
#ifndef __SANITIZE_ADDRESS__
    check_proc(pid, "limits", "Max address space         1610612736           1610612736");
    check_proc(pid, "status", "Seccomp:\t2");
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
#endif
    check_capabilities(pid);
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    kill(pid, SIGHUP);
    usleep(20000);
    check_number(db, "SELECT a FROM t1", 1);
    pid_t same = 0;
    assert_int_equal(children(false, &same), 1);
    assert_int_equal(same, pid);
    exec_close(db);
    close(leak);
}

/* Makes a folder with a worker that sends these bytes for any request. It closes standard error to signal that it is
 * ready. */
static void make_liar(const char *dir, const void *bytes, size_t n, const char *then)
{
    char script[600];
    const char *said = test_file(dir, "said", NULL);
    FILE *f = fopen(said, "wb");

    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    snprintf(script, sizeof script, "#!/bin/sh\nexec 2>/dev/null\ncat '%s' >&0\n%s\n", said, then);
    assert_int_equal(chmod(test_file(dir, "ambit-sql-worker", script), 0700), 0);
    setenv("AMBIT_MODULE_PATH", dir, 1);
}

struct lie {
    struct wire_answer answer;
    struct cell cells[2];
    char heap[8];
};

static void refuse_lie(const char *dir, const struct lie *lie, const char *then, const char *message)
{
    struct wire_answer opened = { .status = EXEC_OK };
    struct exec_db *db = open_world();
    char bytes[sizeof opened + sizeof *lie];

    kill_worker();
    memcpy(bytes, &opened, sizeof opened);
    memcpy(bytes + sizeof opened, &lie->answer, sizeof lie->answer);
    size_t n = sizeof opened + sizeof lie->answer;
    memcpy(bytes + n, lie->cells, sizeof lie->cells);
    memcpy(bytes + n + sizeof lie->cells, lie->heap, sizeof lie->heap);
    make_liar(dir, bytes, n + sizeof lie->cells + sizeof lie->heap, then);
    struct exec_result r = exec_run(db, "SELECT 1");
    if (r.status == EXEC_OK || !strstr(r.message, message))
        fail_msg("%s: %s; expected %s", exec_status_name(r.status), r.message, message);
    exec_result_release(&r);
    unsetenv("AMBIT_MODULE_PATH");
    check(db, EXEC_OK, "SELECT 1", "");
    exec_close(db);
}

#define ANSWER(a, b, c, d)                                                                                             \
    {                                                                                                                  \
        .status = (a), .columns = (b), .rows = (c), .heap = (d)                                                        \
    }
#define TEXT(length, at)                                                                                               \
    {                                                                                                                  \
        .type = CELL_TEXT, .n = (length), .integer = (at)                                                              \
    }
#define NAMED "c\0text\0"
#define NONE "sent an invalid answer"

static void lies_are_refused(void **state)
{
    static const struct lie lies[] = {
        { ANSWER(9, 1, 2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, -1, 2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 40000, 2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 0, 2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, -2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, INT64_MAX, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 5001, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 30000, 5000, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, SIZE_MAX), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_FAILED, 1, 2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { { .status = EXEC_FAILED, .heap = 5000 }, { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { { .status = EXEC_FAILED }, { TEXT(4, 2), TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { { .type = 77 }, TEXT(4, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(-1, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(4, 8) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(4, -2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(INT32_MAX, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(6, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(3, 2) }, NAMED },
        { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(0, 7), TEXT(0, 7) }, "no NUL!!" },
    };

    for (int i = 0; i < ARRAY_LEN(lies); i++)
        refuse_lie(*state, &lies[i], "exec sleep 100", NONE);
}

static void other_bad_workers(void **state)
{
    static const struct lie good = { ANSWER(EXEC_OK, 1, 2, 8), { TEXT(4, 2), TEXT(4, 2) }, NAMED },
                            longer = { ANSWER(EXEC_OK, 1, 2, 1 << 20), { TEXT(4, 2), TEXT(4, 2) }, NAMED };
    const char *dir = *state;
    struct error err = { 0 };

    refuse_lie(dir, &longer, "sleep 0.3; exit 3", "the SQL worker crashed on this statement (exit code 3)");
    refuse_lie(dir, &longer, "sleep 0.3; kill -11 $$", "the SQL worker crashed on this statement (signal 11)");
    struct exec_db *db = open_world();
    kill_worker();
    make_liar(dir, &good, 0, "exec sleep 100");
    double start = now_seconds();
    check(db, EXEC_FAILED, "SELECT 1", "a database in memory: more than 0.5 seconds");
    assert_true(now_seconds() - start < bound);
    assert_int_equal(chmod(test_file(dir, "ambit-sql-worker", "no program"), 0600), 0);
    check(db, EXEC_FAILED, "SELECT 1", "cannot start");
    assert_null(exec_open_script(world, &limits, &err));
    assert_int_equal(err.code, EXIT_CODE_FAILURE);
    assert_error(err, dir, "Permission denied");
    unsetenv("AMBIT_MODULE_PATH");
    check_number(db, "SELECT a FROM t1", 1);
    exec_close(db);
}

static void *run_many(void *seed)
{
    struct exec_db *db = open_world();
    char sql[64];

    for (int i = 0; i < 200; i++) {
        snprintf(sql, sizeof sql, "SELECT a + %d FROM t1", i + *(int *)seed);
        check_number(db, sql, 1 + i + *(int *)seed);
    }
    return db;
}

/* Each thread has its own process, and a connection works on the thread that uses it. */
static void threads_have_workers(void **state)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    struct exec_db *dbs[THREADS];
    int seeds[THREADS] = { 0, 1000, 2000 };
    pid_t pid;
    (void)state;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &seeds[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], (void **)&dbs[i]);
    for (int i = 0; i < THREADS; i++)
        check_number(dbs[i], "SELECT b FROM t1", 2);
    assert_in_range(children(false, &pid), 1, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        exec_close(dbs[i]);
}

/* Results larger than the buffer of a socket. */
static void large_results(void **state)
{
    struct exec_db *db = open_world();
    (void)state;

    for (int rows = 1; rows <= 5000; rows = 3 * rows + 1) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d) SELECT n, "
                 "printf('%%0*d', 1 + n %% 1000, n) AS text, x'00ff', NULL, n / 2.0 FROM c",
                 rows);
        struct exec_result r = exec_run(db, sql);
        assert_int_equal(r.status, EXEC_OK);
        assert_int_equal(r.n, rows);
        assert_string_equal(r.names[1], "text");
        for (int i = 0; i < rows; i++) {
            const struct cell *c = &r.cells[5 * i];
            assert_int_equal(c[0].integer, i + 1);
            assert_int_equal(c[1].n, strlen(c[1].bytes));
            assert_int_equal(strtol(c[1].bytes, NULL, 10), i + 1);
            assert_memory_equal(c[2].bytes, "\0\xff", 3);
            assert_int_equal(c[3].type, CELL_NULL);
            assert_true(c[4].real == (i + 1) / 2.0);
        }
        exec_result_release(&r);
    }
    exec_close(db);
}

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

static const char endless[] = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";

static struct exec_db *open_patient(void)
{
    struct exec_limits patient = limits;
    struct error err = { 0 };

    patient.seconds = 60;
    struct exec_db *db = exec_open_script(world, &patient, &err);
    if (!db)
        fail_msg("%s", err.text);
    return db;
}

/* A statement ends with the work that contains it, and later ones do not start. Afterwards statements run normally. */
static void work_has_a_time(void **state)
{
    struct work_limit outer = { .seconds = 1 }, inner = { .seconds = 60 };
    struct exec_db *db = open_patient();
    double begun = now_seconds();

    (void)state;
    assert_true(isinf(work_limit_left()));
    work_limit_begin(&outer);
    work_limit_begin(&inner);
    check(db, EXEC_STOPPED, endless, "more than 1 seconds");
    assert_true(work_limit_ended());
    for (int i = 0; i < 1000; i++)
        check(db, EXEC_STOPPED, "SELECT a FROM t1", "no time is left");
    work_limit_end(&inner);
    work_limit_end(&outer);
    assert_true(now_seconds() - begun < 1 + bound);
    assert_false(work_limit_ended());
    check_number(db, "SELECT a FROM t1", 1);
    exec_close(db);
}

static bool is_late(void *begun)
{
    return now_seconds() - *(double *)begun > 0.5;
}

/* Nobody needs the answer any more: the running statement is killed soon. */
static void abandoned_work_ends(void **state)
{
    double begun = now_seconds();
    struct work_limit limit = { .seconds = 60, .abandoned = is_late, .user = &begun };
    struct exec_db *db = open_patient();

    (void)state;
    work_limit_begin(&limit);
    check_number(db, "SELECT a FROM t1", 1);
    check(db, EXEC_STOPPED, endless, "");
    work_limit_end(&limit);
    assert_true(now_seconds() - begun < bound);
    check_number(db, "SELECT a FROM t1", 1);
    exec_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_one_result),
        cmocka_unit_test(a_hanging_worker_is_killed),
        cmocka_unit_test_setup_teardown(views_that_double_do_not_open_for_ever, set_up, tear_down),
        cmocka_unit_test(killed_from_outside),
        cmocka_unit_test(the_worker_is_apart),
        cmocka_unit_test_setup_teardown(lies_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_bad_workers, set_up, tear_down),
        cmocka_unit_test(threads_have_workers),
        cmocka_unit_test(large_results),
        cmocka_unit_test(work_has_a_time),
        cmocka_unit_test(abandoned_work_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
