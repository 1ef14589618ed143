/*
 * Tests of databases that other programs write to or replace during reads: each statement sees one committed, current
 * state. AMBIT_SHOW=1 prints the rows and runs longer.
 */
#include "data/base/log.h"
#include "tests/support/database_writers.h"
#include "tests/support/support.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Committed data are visible while a writer has the file open, even during its transaction. */
static void writers_that_live(void **state)
{
    static const struct {
        const char *what, *before, *work, *expected;
    } cases[] = {
        { "WAL", FEW, WAL MANY, "3001|4501501|one" },
        { "WAL, in a transaction", FEW, WAL MANY "BEGIN; UPDATE t SET x = 0", "3001|4501501|one" },
        { "WAL, a transaction in the file", FEW, WAL MANY SPILL "BEGIN; UPDATE t SET x = 0", "3001|4501501|one" },
        { "WAL, begun again", FEW, WAL MANY "PRAGMA wal_checkpoint(RESTART); UPDATE t SET x = 1 WHERE x < 3",
          "3001|4501500|one" },
        { "WAL, emptied", FEW, WAL MANY "PRAGMA wal_checkpoint(TRUNCATE)", "3001|4501501|one" },
        { "WAL that nobody wrote to", WAL FEW, "SELECT * FROM t", "1|1|one" },
        { "WAL, a reader of an older state", WAL FEW, "BEGIN; SELECT * FROM t", "1|1|one" },
        { "in a transaction", FEW, "BEGIN; UPDATE t SET x = 0", "1|1|one" },
        { "about to write", FEW, "BEGIN IMMEDIATE", "1|1|one" },
        { "a kept journal, in a transaction", FEW,
          "PRAGMA journal_mode = PERSIST; UPDATE t SET x = 2; BEGIN; "
          "UPDATE t SET x = 0",
          "1|2|one" },
        { "a transaction in the file", FEW, SPILL "BEGIN; UPDATE t SET x = 0;" MANY, "locked by another program" },
        { "locked", FEW, "BEGIN EXCLUSIVE", "locked by another program" },
        { "locked for good", FEW, "PRAGMA locking_mode = EXCLUSIVE; UPDATE t SET x = 1", "locked by another program" },
        { "WAL, locked for good", FEW, "PRAGMA locking_mode = EXCLUSIVE;" WAL MANY, "locked by another program" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = test_dir_new();
        const char *path = test_file(dir, "a.sqlite", NULL);
        writer_finish(path, cases[i].before);
        struct exec_db *db = summary_open(path, strstr(cases[i].expected, "locked") ? 1 : 30);
        summary_assert("before", db, "1|1|one");
        struct writer w = writer_start(path, writer_work, cases[i].work);
        uint64_t before = folder_state(dir);
        summary_assert(cases[i].what, db, cases[i].expected);
        summary_assert(cases[i].what, db, cases[i].expected);
        assert_true(folder_state(dir) == before);
        exec_close(db);
        writer_kill(&w);
        test_dir_remove(dir);
    }
}

static void work_later(const char *path, const char *sql)
{
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sqlite3 *db = writer_open(path);
        writer_run(db, "BEGIN EXCLUSIVE; UPDATE t SET x = 2");
        writer_run(db, sql);
        _exit(0);
    }
    usleep(100000);
}

/* A reader waits for a lock that another program holds briefly. */
static void a_lock_is_waited_for(void **state)
{
    static const char busy[] = "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 2000000) "
                               "SELECT count(*) FROM r; COMMIT";
    char *dir = test_dir_new();
    const char *path = test_file(dir, "a.sqlite", NULL);

    (void)state;
    writer_finish(path, FEW);
    struct exec_db *db = summary_open(path, 30);
    struct writer w = writer_start(path, work_later, busy);
    summary_assert("behind a lock", db, "1|2|one");
    writer_kill(&w);
    exec_close(db);
    test_dir_remove(dir);
}

static void no_lock_is_kept(void **state)
{
    static const char *const modes[] = { FEW, WAL FEW };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(modes); i++) {
        char *dir = test_dir_new();
        const char *path = test_file(dir, "a.sqlite", NULL);
        writer_finish(path, modes[i]);
        struct writer w = writer_start(path, writer_work, "UPDATE t SET x = 3");
        struct exec_db *db = summary_open(path, 5);
        summary_assert("between statements", db, "1|3|one");
        writer_kill(&w);
        sqlite3 *other = writer_open(path);
        sqlite3_busy_timeout(other, 0);
        writer_run(other, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; UPDATE t SET x = 4");
        sqlite3_close(other);
        summary_assert("between statements", db, "1|4|one");
        exec_close(db);
        test_dir_remove(dir);
    }
}

/* Moves an amount between two rows and back, one commit each, until it is killed. */
static void move_amounts(const char *path, const char *sql)
{
    static const char *const moves[] = { ("BEGIN; UPDATE t SET x = x - 7 WHERE rowid = 1; "
                                          "UPDATE t SET x = x + 7 WHERE rowid = 2000; UPDATE t SET y = x; COMMIT"),
                                         "DELETE FROM t WHERE rowid > 3001; VACUUM",
                                         "BEGIN; INSERT INTO t VALUES (5, zeroblob(9000)), (-5, 1); COMMIT" };

    if (fork())
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sqlite3 *db = writer_open(path);
    writer_run(db, "PRAGMA synchronous = OFF");
    writer_run(db, sql);
    for (int i = 0;; i++)
        writer_run(db, moves[i % 40 == 0 ? 1 : i % 3 == 0 ? 2 : 0]);
}

/* Reads the rows for some seconds; their sum is always the same. */
static void watch_amounts(const char *what, const char *path, const char *shm)
{
    enum { SUM = 4501501 };
    double end = now_seconds() + (getenv("AMBIT_SHOW") ? 6 : 1.5);
    int seen = 0, refused = 0;
    struct exec_db *db = summary_open(path, 5);

    while (now_seconds() < end) {
        struct exec_result r = exec_run(db, "SELECT sum(x) FROM t");
        if (r.status == EXEC_OK && r.cells[0].integer != SUM)
            fail_msg("%s: a torn state after %d: %lld", what, seen, (long long)r.cells[0].integer);
        if (r.status != EXEC_OK && !strstr(r.message, "changes faster") && !strstr(r.message, "locked by another"))
            fail_msg("%s: %s", what, r.message);
        seen += r.status == EXEC_OK;
        refused += r.status != EXEC_OK;
        exec_result_release(&r);
        if (shm)
            unlink(shm);
    }
    exec_close(db);
    if (getenv("AMBIT_SHOW"))
        print_message("%s: %d read, %d refused\n", what, seen, refused);
    assert_true(seen > 0 || shm);
}

static void no_state_is_torn(void **state)
{
    static const struct {
        const char *what, *mode;
        bool without_shm; /* so that no lock stops writers */
    } cases[] = {
        { "rollback journal", "SELECT 1", false },
        { "rollback journal, spilled", SPILL, false },
        { "rollback journal, kept", "PRAGMA journal_mode = PERSIST", false },
        { "WAL", "PRAGMA journal_mode = WAL", false },
        { "WAL with checkpoints", "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 5", false },
        { "WAL without -shm", "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 5", true },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = test_dir_new(), *path = xstrdup(test_file(dir, "a.sqlite", NULL));
        writer_finish(path, FEW MANY);
        struct writer w = writer_start(path, move_amounts, cases[i].mode);
        char *shm = cases[i].without_shm ? xstrdup(test_file(dir, "a.sqlite-shm", NULL)) : NULL;
        watch_amounts(cases[i].what, path, shm);
        writer_kill(&w);
        free(shm);
        free(path);
        test_dir_remove(dir);
    }
}

/* Replaces the file under the same name, and its bytes in place. */
static void files_that_are_replaced(void **state)
{
    char *dir = test_dir_new(), *path = xstrdup(test_file(dir, "a.sqlite", NULL));
    char *other = xstrdup(test_file(dir, "b.sqlite", NULL)), command[512];

    (void)state;
    writer_finish(path, FEW);
    struct exec_db *db = summary_open(path, 5);
    summary_assert("first", db, "1|1|one");
    writer_finish(path, "UPDATE t SET x = 2");
    summary_assert("another program's UPDATE", db, "1|2|one");
    writer_finish(other, "CREATE TABLE t (x INT, y TEXT); INSERT INTO t VALUES (3, 'one');");
    assert_int_equal(rename(other, path), 0);
    summary_assert("another file under the name", db, "1|3|one");
    writer_finish(other, "CREATE TABLE t (x INT, y TEXT); INSERT INTO t VALUES (4, 'one');");
    snprintf(command, sizeof command, "cat '%s' >'%s'", other, path);
    assert_int_equal(test_run(command, NULL), 0);
    summary_assert("the same counter of changes", db, "1|4|one");
    test_file(dir, "a.sqlite", "garbage");
    summary_assert("garbage", db, "file is not a database");
    assert_int_equal(unlink(path), 0);
    summary_assert("no file", db, "unable to open database file");
    writer_finish(path, FEW);
    summary_assert("a file again", db, "1|1|one");
    writer_finish(path, WAL "UPDATE t SET x = 5");
    summary_assert("WAL turned on", db, "1|5|one");
    writer_crash(path, "UPDATE t SET x = 6");
    summary_assert("a crash", db, "1|6|one");
    writer_finish(path, "PRAGMA journal_mode = DELETE; UPDATE t SET x = 7");
    summary_assert("WAL turned off", db, "1|7|one");
    writer_finish(path, "ALTER TABLE t RENAME TO s; CREATE VIEW t AS SELECT x + 1 AS x, y FROM s");
    summary_assert("another schema", db, "1|8|one");
    exec_close(db);
    free(other);
    free(path);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_that_live),       cmocka_unit_test(a_lock_is_waited_for),
        cmocka_unit_test(no_lock_is_kept),         cmocka_unit_test(no_state_is_torn),
        cmocka_unit_test(files_that_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
