/*
 * Tests of database files in every state that applications leave behind. The rows are those that SQLite reads from a
 * writable copy, and no file beside the database changes. AMBIT_SHOW=1 prints the rows, AMBIT_LONG=1 runs more hostile
 * files.
 */
#include "data/sqlite/database_state.h"
#include "data/sqlite/sqlite_open.h"
#include "kernels/rng.h"
#include "tests/support/database_writers.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads from a copy of the folder that SQLite may write to. */
static void read_copy(char *to, size_t size, const char *dir, const char *name)
{
    char *copy = test_dir_new(), command[1024];
    sqlite3_stmt *stmt = NULL;

    snprintf(command, sizeof command, "cp -a '%s/.' '%s'", dir, copy);
    assert_int_equal(test_run(command, NULL), 0);
    sqlite3 *db = writer_open(test_file(copy, name, NULL));
    if (sqlite3_prepare_v2(db, SUMMARY, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        summary_show(to, size, (const char *)sqlite3_column_text(stmt, 0), (const char *)sqlite3_column_text(stmt, 1),
                     (const char *)sqlite3_column_text(stmt, 2));
    else
        snprintf(to, size, "error: %s", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    test_dir_remove(copy);
}

/* Reads twice over one connection. */
static void assert_reads(const char *what, const char *path, const char *expected)
{
    struct error err = { 0 };
    struct exec_db *db = exec_open(path, &exec_limits_preview, &err);

    for (int i = 0; i < 2; i++) {
        char got[256];
        if (db)
            summary_read(got, sizeof got, db);
        else
            snprintf(got, sizeof got, "error: %.200s", err.text);
        if (getenv("AMBIT_SHOW"))
            print_message("%-40s %s\n", what, got);
        if (strcmp(got, expected) != 0)
            fail_msg("%s: expected %s, got %s", what, expected, got);
    }
    exec_close(db);
}

static void assert_as_sqlite(const char *what, const char *dir)
{
    char expected[256];
    uint64_t before = folder_state(dir);

    read_copy(expected, sizeof expected, dir, "a.sqlite");
    if (strncmp(expected, "error", 5) == 0)
        fail_msg("%s: the case itself is wrong: %s", what, expected);
    assert_reads(what, test_file(dir, "a.sqlite", NULL), expected);
    if (folder_state(dir) != before)
        fail_msg("%s: the files have changed", what);
}

/* Steps that prepare a folder for a.sqlite. */
struct left_behind {
    const char *what;
    const char *before; /* SQL that runs to its end */
    const char *crash;  /* SQL that runs and is killed, or NULL */
    const char *shell;  /* shell commands in the folder afterwards, or NULL */
};

#define UNFINISHED SPILL "BEGIN; UPDATE t SET x = 666, y = 'lost';" MANY
/* Appends the name in file s to the journal as its super-journal: its length, the sum of its bytes, and SQLite's magic.
 */
#define NAME_SUPER                                                                                                     \
    "{ cat a.sqlite-journal; printf '\\0\\4\\0\\1'; cat s; printf \"\\\\0\\\\0\\\\0\\\\$(printf %o $(wc -c <s))\"; "   \
    "od -An -v -tu1 s | awk '{ for (i = 1; i <= NF; i++) n += $i } END { printf \"%c%c%c%c\", 0, 0, int(n / 256), "    \
    "n % 256 }'; printf '\\331\\325\\005\\371\\040\\241\\143\\327'; } >j; mv j a.sqlite-journal"
static const struct left_behind left_behind[] = {
    { "plain", FEW MANY, NULL, NULL },
    { "WAL, closed", WAL FEW MANY, NULL, NULL },
    { "WAL, closed, empty -wal", WAL FEW, NULL, ": >a.sqlite-wal" },
    { "WAL, closed, empty -wal and -shm", WAL FEW, NULL, ": >a.sqlite-wal; : >a.sqlite-shm" },
    { "WAL after a crash", FEW, WAL MANY, NULL },
    { "WAL after a crash in a transaction", FEW, WAL MANY "BEGIN; " SPILL "UPDATE t SET x = x + 1", NULL },
    { "WAL without -shm", FEW, WAL MANY, "rm a.sqlite-shm" },
    { "WAL without -shm, in a transaction", FEW, WAL MANY SPILL "BEGIN; UPDATE t SET x = x + 1", "rm a.sqlite-shm" },
    { "WAL, all of it there", "SELECT 1", WAL FEW MANY, "rm a.sqlite-shm" },
    { "WAL, checkpointed", FEW, WAL MANY "PRAGMA wal_checkpoint(FULL)", "rm a.sqlite-shm" },
    { "WAL, checkpointed, begun again", FEW,
      WAL MANY "PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (7, 'seven')", "rm a.sqlite-shm" },
    { "WAL, -shm of another", FEW, WAL MANY, "head -c 32768 /dev/zero >a.sqlite-shm" },
    { "WAL, -shm of rubbish", FEW, WAL MANY, "seq 20000 | head -c 32768 >a.sqlite-shm" },
    { "WAL, a torn last frame", FEW, WAL MANY "INSERT INTO t VALUES (8, 'eight')",
      "rm a.sqlite-shm; truncate -s -100 a.sqlite-wal" },
    { "WAL, a damaged last frame", FEW, WAL MANY "INSERT INTO t VALUES (8, 'eight')",
      "rm a.sqlite-shm; truncate -s -100 a.sqlite-wal; truncate -s +100 a.sqlite-wal" },
    { "WAL, damaged in the middle", FEW, WAL "INSERT INTO t VALUES (8, 'eight');" MANY,
      "rm a.sqlite-shm; printf x | dd of=a.sqlite-wal bs=1 seek=20000 conv=notrunc status=none" },
    { "WAL with other salts", FEW, WAL MANY,
      "rm a.sqlite-shm; printf 12345678 | dd of=a.sqlite-wal bs=1 seek=16 conv=notrunc status=none" },
    { "a header of a -wal alone", FEW, WAL MANY, "rm a.sqlite-shm; truncate -s 32 a.sqlite-wal" },
    { "a -wal shorter than its header", FEW, WAL MANY, "rm a.sqlite-shm; truncate -s 20 a.sqlite-wal" },
    { "a -wal that is rubbish", FEW, NULL, "seq 20000 >a.sqlite-wal" },
    { "a -wal beside an earlier copy", FEW, WAL MANY,
      "rm a.sqlite-shm; mv a.sqlite-wal w; cp a.sqlite b; mv w a.sqlite-wal" },
    { "WAL, small pages", "PRAGMA page_size = 512;" FEW, WAL MANY, "rm a.sqlite-shm" },
    { "WAL, large pages", "PRAGMA page_size = 65536;" FEW, WAL MANY, "rm a.sqlite-shm" },
    { "WAL, UTF-16", "PRAGMA encoding = 'UTF-16le';" FEW, WAL MANY "UPDATE t SET y = 'zoë'", "rm a.sqlite-shm" },
    { "WAL, auto_vacuum", "PRAGMA auto_vacuum = 1;" FEW MANY, WAL "DELETE FROM t WHERE x > 9", "rm a.sqlite-shm" },
    { "a hot journal", FEW, UNFINISHED, NULL },
    { "a hot journal of a file that grew", FEW, SPILL "BEGIN;" MANY, NULL },
    { "a hot journal of a file that shrank", FEW MANY, SPILL "BEGIN; DELETE FROM t;" MANY "DELETE FROM t", NULL },
    { "a hot journal, small pages", "PRAGMA page_size = 512;" FEW MANY, UNFINISHED, NULL },
    { "a hot journal, large pages", "PRAGMA page_size = 65536;" FEW MANY, UNFINISHED, NULL },
    { "a hot journal, UTF-16", "PRAGMA encoding = 'UTF-16be';" FEW, UNFINISHED, NULL },
    { "a hot journal of VACUUM's kind", "PRAGMA auto_vacuum = 2;" FEW MANY "DELETE FROM t WHERE x % 2;",
      SPILL "BEGIN; PRAGMA incremental_vacuum(100); UPDATE t SET x = 0", NULL },
    { "a hot journal, cut", FEW MANY, UNFINISHED, "truncate -s -700 a.sqlite-journal" },
    { "a hot journal whose super-journal is gone", FEW MANY, UNFINISHED, "printf /nowhere/super >s; " NAME_SUPER },
    { "a hot journal whose super-journal is there", FEW MANY, UNFINISHED,
      "printf '%s/super' \"$PWD\" >s; printf '%s/a.sqlite-journal\\0' \"$PWD\" >super; " NAME_SUPER },
    { "a hot journal and a -wal that is rubbish", FEW MANY, UNFINISHED, "seq 20000 >a.sqlite-wal" },
    { "a journal whose header is zeros", "PRAGMA journal_mode = PERSIST;" FEW MANY, NULL, NULL },
    { "a journal that was cut to nothing", "PRAGMA journal_mode = TRUNCATE;" FEW MANY, NULL, NULL },
    { "a journal that is rubbish", FEW MANY, NULL, "seq 20000 >a.sqlite-journal" },
    { "a journal of one byte", FEW MANY, NULL, "printf x >a.sqlite-journal" },
};

static void files_that_were_left(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(left_behind); i++) {
        const struct left_behind *l = &left_behind[i];
        char *dir = test_dir_new(), command[2048];
        const char *path = test_file(dir, "a.sqlite", NULL);
        writer_finish(path, l->before);
        if (l->crash)
            writer_crash(path, l->crash);
        snprintf(command, sizeof command, "cd '%s' && { %s; }", dir, l->shell ? l->shell : ":");
        assert_int_equal(test_run(command, NULL), 0);
        assert_as_sqlite(l->what, dir);
        test_dir_remove(dir);
    }
}

static void links_lead_to_the_files(void **state)
{
    char *dir = test_dir_new(), *other = test_dir_new();
    const char *path = test_file(dir, "a.sqlite", NULL), *link = test_file(other, "b.sqlite", NULL);

    (void)state;
    writer_finish(path, FEW);
    writer_crash(path, WAL "UPDATE t SET x = 2");
    assert_int_equal(unlink(test_file(dir, "a.sqlite-shm", NULL)), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_reads("a link", link, "1|2|one");
    test_dir_remove(other);
    test_dir_remove(dir);
}

/* A copy contains all committed data and needs no other file. Two databases have the same hash only if all committed
 * data are equal. */
static void copies_and_sums(void **state)
{
    static const struct {
        const char *what, *crash;
    } cases[] = { { "WAL", WAL "UPDATE t SET x = 2" }, { "a hot journal", UNFINISHED } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = test_dir_new(), *copies = test_dir_new(), *path = xstrdup(test_file(dir, "a.sqlite", NULL));
        char *to = xstrdup(test_file(copies, "a.sqlite", NULL));
        struct error err = { 0 };
        writer_finish(path, FEW MANY);
        writer_crash(path, cases[i].crash);
        uint64_t before = folder_state(dir), sum = database_hash(path);
        char expected[256];
        read_copy(expected, sizeof expected, dir, "a.sqlite");
        if (sqlite_copy(path, to, &err))
            fail_msg("%s", err.text);
        assert_true(folder_state(dir) == before);
        assert_null(test_read(test_file(copies, "a.sqlite-wal", NULL)));
        assert_reads(cases[i].what, to, expected);
        unlink(test_file(dir, i ? "a.sqlite-journal" : "a.sqlite-wal", NULL));
        assert_true(database_hash(path) != sum);
        free(to);
        free(path);
        test_dir_remove(copies);
        test_dir_remove(dir);
    }
}

/* Errors name the file. */
static void files_that_cannot_be_read(void **state)
{
    char *dir = test_dir_new();
    const char *path = test_file(dir, "a.sqlite", NULL);
    struct error err = { 0 };

    (void)state;
    writer_finish(path, FEW);
    assert_int_equal(mkfifo(test_file(dir, "a.sqlite-journal", NULL), 0600), 0);
    assert_null(exec_open(path, &exec_limits_preview, &err));
    assert_error(err, "a.sqlite-journal: expected a regular file");
    assert_int_equal(unlink(test_file(dir, "a.sqlite-journal", NULL)), 0);
    assert_int_equal(mkfifo(test_file(dir, "a.sqlite-wal", NULL), 0600), 0);
    assert_null(exec_open(path, &exec_limits_preview, &err));
    assert_error(err, "a.sqlite-wal: expected a regular file");
    test_dir_remove(dir);
}

/* A journal with more pages than may be undone in memory. */
static void journals_that_are_too_large(void **state)
{
    char *dir = test_dir_new();
    const char *path = test_file(dir, "a.sqlite", NULL);
    struct error err = { 0 };

    (void)state;
    writer_finish(path, "PRAGMA synchronous = OFF;" FEW
                        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE "
                        "n < 150) INSERT INTO t SELECT n, zeroblob(1000000) FROM r");
    writer_crash(path, "PRAGMA synchronous = OFF;" SPILL "BEGIN; UPDATE t SET y = randomblob(1000000)");
    assert_null(exec_open(path, &exec_limits_preview, &err));
    assert_error(err, "a.sqlite-journal: expected a journal that can be undone within 128 MiB",
                 "open the database once in a program that may write to it");
    test_dir_remove(dir);
}

/* Changes random bytes of the files beside the database: the result is an answer or an error, never a crash. */
static void files_beside_that_are_hostile(void **state)
{
    static const struct {
        const char *file, *crash;
    } kinds[] = { { "a.sqlite-wal", WAL MANY }, { "a.sqlite-journal", UNFINISHED } };
    int rounds = getenv("AMBIT_LONG") ? 4000 : 60, answers = 0, errors = 0;

    (void)state;
    for (int k = 0; k < ARRAY_LEN(kinds); k++) {
        char *dir = test_dir_new(), *path = xstrdup(test_file(dir, "a.sqlite", NULL));
        writer_finish(path, FEW);
        writer_crash(path, kinds[k].crash);
        unlink(test_file(dir, "a.sqlite-shm", NULL));
        const char *beside = test_file(dir, kinds[k].file, NULL);
        char *good = test_read(beside);
        struct stat st;
        assert_int_equal(stat(beside, &st), 0);
        struct rng r = { .seed = 36 + (uint64_t)k };
        for (int i = 0; i < rounds; i++) {
            int64_t size = i % 5 ? st.st_size : (int64_t)rng_u32(&r) % st.st_size;
            char *bad = xmalloc((size_t)st.st_size);
            memcpy(bad, good, (size_t)st.st_size);
            for (int n = 0; n < 1 + i % 7; n++) {
                uint64_t within = i % 3 ? 64 : (uint64_t)st.st_size;
                bad[rng_u32(&r) % within] = (char)rng_u32(&r);
            }
            FILE *f = fopen(beside, "wb");
            assert_non_null(f);
            fwrite(bad, 1, (size_t)size, f);
            fclose(f);
            free(bad);
            struct error err = { 0 };
            struct exec_db *db = exec_open(path, &exec_limits_preview, &err);
            struct exec_result e = db ? exec_run(db, SUMMARY) : (struct exec_result){ .status = EXEC_FAILED };
            const char *why = db ? e.message : err.text;
            answers += e.status == EXEC_OK;
            errors += e.status != EXEC_OK;
            if (why && strstr(why, "SQL worker"))
                fail_msg("%s, round %d: %s", kinds[k].file, i, why);
            exec_result_release(&e);
            exec_close(db);
        }
        free(good);
        free(path);
        test_dir_remove(dir);
    }
    if (getenv("AMBIT_SHOW"))
        print_message("%d answers, %d errors\n", answers, errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_were_left),
        cmocka_unit_test(links_lead_to_the_files),
        cmocka_unit_test(copies_and_sums),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(journals_that_are_too_large),
        cmocka_unit_test(files_beside_that_are_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
