/*
 * Tests of hostile SQL and hostile database files: the status and message of each, its time, and that nothing is
 * written. AMBIT_SHOW=1 prints every outcome.
 */
#include "data/db/sqlite_exec.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* In by_time, time is the only limit that can be reached, so outcomes do not depend on the machine. Its statements run
 * for minutes or hours, or are timed first. */
static const struct exec_limits by_steps = { .steps = 2000000, .rows = 5000, .bytes = 4 << 20, .seconds = 600 };
static const struct exec_limits by_time = { .steps = INT64_MAX, .rows = 5000, .bytes = 4 << 20, .seconds = 0.3 };
/* How long a case may keep a core busy: its time limit plus the longest operation that cannot be interrupted.
 * Wall-clock time may be longer on a shared machine. */
#ifdef __SANITIZE_ADDRESS__
static const double bound = 60;
#else
static const double bound = 5;
#endif

static const char world[] =
    "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, weight REAL, photo BLOB);"
    "INSERT INTO person VALUES (1, 'Ann', 61.5, x'00ff'), (2, 'English', NULL, NULL), (3, 'Bob', 80, zeroblob(3));"
    "CREATE TABLE odd (id INTEGER, text TEXT);"
    "INSERT INTO odd VALUES (1, CAST(x'c3a9' AS TEXT)), (2, CAST(x'41ff42' AS TEXT)), (3, CAST(x'410042' AS TEXT)),"
    " (4, CAST(x'eda080' AS TEXT));"
    "CREATE TABLE numbers (n INTEGER);"
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000) INSERT INTO numbers SELECT n FROM "
    "c;"
    "CREATE VIEW names AS SELECT name FROM person;"
    "CREATE VIEW loads AS SELECT load_extension('x.so') AS x;"
    "CREATE VIEW reads AS SELECT readfile('/etc/passwd') AS x;"
    "CREATE VIEW tokens AS SELECT fts3_tokenizer('simple') AS x;"
    "CREATE VIEW asks AS SELECT * FROM pragma_database_list;"
    "CREATE VIEW ring AS SELECT * FROM gnir;"
    "CREATE VIEW gnir AS SELECT * FROM ring;"
    "CREATE TRIGGER fires AFTER INSERT ON person BEGIN DELETE FROM numbers; END;"
    "CREATE TRIGGER instead INSTEAD OF INSERT ON names BEGIN DELETE FROM person; END;"
    "CREATE VIRTUAL TABLE docs USING fts4(body);"
    "CREATE VIRTUAL TABLE boxes USING rtree(id, a, b);";

struct hostile {
    enum exec_status status;
    const char *sql, *message;
};

#define ENDLESS "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
#define LONG_TEXT "hex(zeroblob(250000))" /* half a million zeros */
#define TIME_OUT "more than 0.3 seconds"
#define STEPS_OUT "more than 2000000 steps"

static const struct hostile statements[] = {
    /* other statements than SELECT */
    { EXEC_REFUSED, "ATTACH 'new.db' AS other", "ATTACH is not allowed" },
    { EXEC_REFUSED, "ATTACH ':memory:' AS other", "ATTACH is not allowed" },
    { EXEC_REFUSED, "DETACH main", "DETACH is not allowed" },
    { EXEC_REFUSED, "PRAGMA writable_schema = ON", "PRAGMA is not allowed" },
    { EXEC_REFUSED, "PRAGMA journal_mode = WAL", "PRAGMA is not allowed" },
    { EXEC_REFUSED, "PRAGMA temp_store_directory = '.'", "PRAGMA is not allowed" },
    { EXEC_REFUSED, "PRAGMA hard_heap_limit = 0", "PRAGMA is not allowed" },
    { EXEC_REFUSED, "INSERT INTO person (name) VALUES ('x')", "INSERT is not allowed" },
    { EXEC_REFUSED, "INSERT INTO names VALUES ('x')", "INSERT is not allowed" },
    { EXEC_REFUSED, "INSERT INTO person (name) VALUES ('x') RETURNING id", "INSERT is not allowed" },
    { EXEC_REFUSED, "REPLACE INTO person (id) VALUES (1) RETURNING *", "INSERT is not allowed" },
    { EXEC_REFUSED, "UPDATE person SET name = 'x' RETURNING name", "UPDATE is not allowed" },
    { EXEC_REFUSED, "DELETE FROM person RETURNING id", "DELETE is not allowed" },
    { EXEC_REFUSED, "WITH a AS (SELECT 1) DELETE FROM person WHERE id IN a", "DELETE is not allowed" },
    { EXEC_FAILED, "UPDATE sqlite_master SET sql = 'x'", "may not be modified" },
    { EXEC_FAILED, "DELETE FROM sqlite_master", "may not be modified" },
    { EXEC_REFUSED, "DROP TABLE person", "DELETE is not allowed" },
    { EXEC_REFUSED, "ALTER TABLE person RENAME TO people", "ALTER TABLE is not allowed" },
    { EXEC_REFUSED, "CREATE TABLE new (a)", "INSERT is not allowed" },
    { EXEC_REFUSED, "CREATE TEMP TABLE new (a)", "INSERT is not allowed" },
    { EXEC_REFUSED, "CREATE TEMP TABLE new AS SELECT * FROM person", "INSERT is not allowed" },
    { EXEC_REFUSED, "CREATE TEMP VIEW new AS SELECT 1", "INSERT is not allowed" },
    { EXEC_REFUSED, "CREATE TEMP TRIGGER new AFTER INSERT ON person BEGIN SELECT 1; END", "not allowed" },
    { EXEC_REFUSED, "CREATE VIRTUAL TABLE new USING fts5(a)", "INSERT is not allowed" },
    { EXEC_REFUSED, "CREATE INDEX new ON person (name)", "INSERT is not allowed" },
    { EXEC_REFUSED, "VACUUM", "expected a SELECT statement" },
    { EXEC_REFUSED, "VACUUM INTO 'copy.db'", "expected a SELECT statement" },
    { EXEC_REFUSED, "REINDEX", "REINDEX is not allowed" },
    { EXEC_REFUSED, "ANALYZE", "INSERT is not allowed" },
    { EXEC_REFUSED, "BEGIN EXCLUSIVE", "a transaction is not allowed" },
    { EXEC_REFUSED, "COMMIT", "a transaction is not allowed" },
    { EXEC_REFUSED, "SAVEPOINT s", "SAVEPOINT is not allowed" },
    { EXEC_REFUSED, "EXPLAIN SELECT 1", "EXPLAIN is not allowed" },
    { EXEC_REFUSED, "EXPLAIN QUERY PLAN SELECT 1", "EXPLAIN is not allowed" },
    { EXEC_REFUSED, "EXPLAIN DELETE FROM person", "DELETE is not allowed" },
    { EXEC_REFUSED, "SELECT 1; SELECT 2", "more than one statement" },
    { EXEC_REFUSED, "SELECT 1; -- a comment\n; DROP TABLE person", "more than one statement" },
    { EXEC_REFUSED, "SELECT 1; /* a comment */ x", "more than one statement" },
    { EXEC_REFUSED, "", "no statement" },
    { EXEC_REFUSED, " ; -- only a comment", "no statement" },
    { EXEC_REFUSED, "/* that never ends", "no statement" },
    { EXEC_FAILED, ".read x.sql", "syntax error" },
    { EXEC_FAILED, "SELECT ?", "parameters" },
    { EXEC_FAILED, "SELECT * FROM sqlite_temp_master.x", "no such table" },
    /* functions and tables with outside effects */
    { EXEC_REFUSED, "SELECT load_extension('x.so')", "load_extension is not allowed" },
    { EXEC_REFUSED, "SELECT LOAD_EXTENSION('x.so', 'y')", "load_extension is not allowed" },
    { EXEC_FAILED, "SELECT readfile('/etc/passwd')", "no such function: readfile" },
    { EXEC_FAILED, "SELECT writefile('new', 'x')", "no such function: writefile" },
    { EXEC_REFUSED, "SELECT fts3_tokenizer('simple')", "fts3_tokenizer is not allowed" },
    { EXEC_REFUSED, "SELECT fts3_tokenizer('x', x'4141414141414141')", "fts3_tokenizer is not allowed" },
    { EXEC_REFUSED, "SELECT rtreecheck('boxes')", "rtreecheck is not allowed" },
    { EXEC_REFUSED, "SELECT sqlite_log(1, 'x')", "sqlite_log is not allowed" },
    { EXEC_REFUSED, "SELECT * FROM pragma_table_info('person')", "PRAGMA is not allowed" },
    { EXEC_REFUSED, "SELECT * FROM pragma_journal_mode", "PRAGMA is not allowed" },
    { EXEC_FAILED, "SELECT * FROM dbstat", "no such table: dbstat" },
    { EXEC_FAILED, "SELECT * FROM sqlite_dbpage", "no such table: sqlite_dbpage" },
    { EXEC_FAILED, "SELECT * FROM sqlite_stmt", "no such table: sqlite_stmt" },
    { EXEC_OK, "SELECT snippet(docs) FROM docs WHERE docs MATCH 'x'", NULL },
    { EXEC_OK, "SELECT * FROM boxes", NULL },
    { EXEC_FAILED, "DELETE FROM boxes_node", "may not be modified" },
    { EXEC_FAILED, "INSERT INTO boxes_rowid VALUES (1, 1)", "may not be modified" },
    { EXEC_FAILED, "SELECT * FROM loads", "unsafe use of load_extension" },
    { EXEC_FAILED, "SELECT * FROM reads", "no such function: readfile" },
    { EXEC_FAILED, "SELECT * FROM tokens", "unsafe use of fts3_tokenizer" },
    { EXEC_REFUSED, "SELECT * FROM asks", "PRAGMA is not allowed" },
    { EXEC_FAILED, "SELECT * FROM ring", "circularly defined" },
    /* too large */
    { EXEC_STOPPED, "SELECT randomblob(900000000)", "more than 1048576 bytes" },
    { EXEC_STOPPED, "SELECT zeroblob(2147483647)", "more than 1048576 bytes" },
    { EXEC_STOPPED, "SELECT hex(zeroblob(1000000))", "more than 1048576 bytes" },
    { EXEC_STOPPED, "SELECT printf('%.*c', 1000000000, 'x')", "would take too long" },
    { EXEC_STOPPED, "SELECT format('%*s', '-9000000000000000000', 'x')", "would take too long" },
    { EXEC_STOPPED, "SELECT printf(replace(hex(zeroblob(50000)), '00', '%900000c'))", "would take too long" },
    { EXEC_STOPPED, "SELECT printf('%1000000000d', 1)", "would take too long" },
    { EXEC_STOPPED, "SELECT replace(" LONG_TEXT ", '0', " LONG_TEXT ")", "more than 1048576 bytes" },
    { EXEC_STOPPED, "SELECT group_concat(" LONG_TEXT ") FROM numbers", "more than 1048576 bytes" },
    { EXEC_STOPPED, "SELECT zeroblob(1000000) FROM numbers", "a result of more than 4194304 bytes" },
    { EXEC_STOPPED, "SELECT a.n FROM numbers a, numbers b", "more than 5000 rows" },
    { EXEC_STOPPED, ENDLESS "SELECT n FROM c", "more than 5000 rows" },
    /* too long */
    { EXEC_STOPPED, ENDLESS "SELECT count(*) FROM c", STEPS_OUT },
    { EXEC_STOPPED, "WITH RECURSIVE c(n) AS (SELECT 1 UNION SELECT n % 7 + random() FROM c) SELECT max(n) FROM c",
      STEPS_OUT },
    { EXEC_STOPPED, ENDLESS "SELECT (SELECT count(*) FROM c) FROM person WHERE 1 IN (SELECT n FROM c WHERE n < 0)",
      STEPS_OUT },
    { EXEC_STOPPED, "SELECT count(*) FROM numbers a, numbers b, numbers c", STEPS_OUT },
    { EXEC_STOPPED, "SELECT count(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n = c.n * c.n", STEPS_OUT },
    { EXEC_STOPPED, "SELECT DISTINCT a.n * b.n * c.n FROM numbers a, numbers b, numbers c ORDER BY 1 LIMIT 1",
      STEPS_OUT },
    { EXEC_STOPPED,
      "SELECT sum(a.n) OVER (ORDER BY b.n ROWS BETWEEN 900 PRECEDING AND 900 FOLLOWING EXCLUDE TIES)"
      " FROM numbers a, numbers b LIMIT 1",
      STEPS_OUT },
    { EXEC_STOPPED,
      "SELECT length(group_concat(" LONG_TEXT " || a.n) OVER (ORDER BY a.n ROWS BETWEEN 1 PRECEDING "
      "AND 1 FOLLOWING)) FROM numbers a, numbers b",
      "more than" },
    { EXEC_STOPPED, "SELECT json_group_array(" LONG_TEXT " || n) FROM numbers", "memory" },
    { EXEC_STOPPED, ENDLESS "SELECT n FROM c ORDER BY zeroblob(100000) || n", "memory" },
    { EXEC_STOPPED, ENDLESS "SELECT a.n FROM c a JOIN c b ON a.n = b.n WHERE a.n < 0", STEPS_OUT },
    { EXEC_STOPPED, "SELECT " LONG_TEXT " LIKE '%' || substr(" LONG_TEXT ", 1, 40000) || 'b'", "would take too long" },
    { EXEC_STOPPED, "SELECT count(*) FROM numbers WHERE " LONG_TEXT " || n LIKE '%0%0%0%0%0%0%0%0%0%0b'", "more than" },
    { EXEC_STOPPED, "SELECT " LONG_TEXT " GLOB '*' || substr(" LONG_TEXT ", 1, 40000) || '[b]'",
      "would take too long" },
    { EXEC_STOPPED, "SELECT trim(" LONG_TEXT ", " LONG_TEXT " || 'b')", "would take too long" },
    { EXEC_STOPPED,
      "SELECT ltrim(" LONG_TEXT ", replace(hex(zeroblob(60)), '0', 'b'))"
      " FROM numbers a, numbers b",
      "more than" },
    { EXEC_STOPPED, "SELECT instr(" LONG_TEXT ", substr(" LONG_TEXT ", 1, 250000) || 'b')", "would take too long" },
    { EXEC_STOPPED, "SELECT replace(" LONG_TEXT ", substr(" LONG_TEXT ", 1, 250000) || 'b', '')",
      "would take too long" },
    { EXEC_STOPPED,
      "SELECT sum(json_array_length('[' || replace(hex(zeroblob(200000)), '0', '1,') || '1]')) FROM "
      "numbers a, numbers b",
      STEPS_OUT },
    { EXEC_FAILED, "SELECT json_extract(replace(hex(zeroblob(200000)), '0', '['), '$[0][0]')", "malformed JSON" },
    { EXEC_STOPPED,
      "WITH a AS (SELECT 1), b AS (SELECT 1 FROM a, a), c AS (SELECT 1 FROM b, b), d AS (SELECT 1 FROM c, c), "
      "e AS (SELECT 1 FROM d, d), f AS (SELECT 1 FROM e, e), g AS (SELECT 1 FROM f, f), h AS (SELECT 1 FROM g, g), "
      "i AS (SELECT 1 FROM h, h), j AS (SELECT 1 FROM i, i), k AS (SELECT 1 FROM j, j), l AS (SELECT 1 FROM k, k), "
      "m AS (SELECT 1 FROM l, l), n AS (SELECT 1 FROM m, m), o AS (SELECT 1 FROM n, n), p AS (SELECT 1 FROM o, o), "
      "q AS (SELECT 1 FROM p, p), r AS (SELECT 1 FROM q, q), s AS (SELECT 1 FROM r, r), t AS (SELECT 1 FROM s, s), "
      "u AS (SELECT 1 FROM t, t), v AS (SELECT 1 FROM u, u) SELECT count(*) FROM v, v",
      "more than" },
};

static const struct hostile slow[] = {
    { EXEC_STOPPED, ENDLESS "SELECT count(*) FROM c", TIME_OUT },
    { EXEC_STOPPED, ENDLESS "SELECT count(randomblob(1000000)) FROM c", TIME_OUT },
    { EXEC_STOPPED, "SELECT count(a.n || " LONG_TEXT " LIKE '%0%1') FROM numbers a, numbers b", TIME_OUT },
    { EXEC_STOPPED, "SELECT count(trim(a.n || " LONG_TEXT ", '1234567890')) FROM numbers a, numbers b", TIME_OUT },
    { EXEC_STOPPED, "SELECT count(printf('%9999c', 'x')) FROM numbers a, numbers b, numbers c", TIME_OUT },
    { EXEC_STOPPED,
      "SELECT sum(json_array_length('[' || replace(hex(zeroblob(200000)), '0', '1,') || a.n || ']')) "
      "FROM numbers a, numbers b",
      TIME_OUT },
};

/* Texts with a head, a repeated part and a tail. */
static const struct repeated {
    struct hostile head;
    const char *part;
    int times;
    const char *tail;
} repeated[] = {
    { { EXEC_FAILED, "SELECT max(", "too many arguments" }, "1,", 1000, "1)" },
    { { EXEC_FAILED, "SELECT ", "too many columns" }, "1,", 5000, "1" },
    { { EXEC_FAILED, "SELECT 1", "too many terms" }, " UNION ALL SELECT 1", 10000, "" },
    { { EXEC_FAILED, "SELECT 1", "maximum depth" }, " + 1", 100000, "" },
    { { EXEC_FAILED, "SELECT ", "parser stack overflow" }, "(", 100000, "1" },
    { { EXEC_FAILED, "SELECT * FROM numbers", "max: 200" }, ", numbers", 1000, "" },
    { { EXEC_STOPPED, "SELECT count(*) FROM numbers", STEPS_OUT }, ", (SELECT n FROM numbers)", 60, "" },
    { { EXEC_STOPPED, "SELECT 1", "more than 2000 calls" }, ", abs(abs(1))", 1100, "" },
    { { EXEC_STOPPED, "SELECT n IN (", "instructions" }, "n || n,", 100000, "1) FROM numbers" },
    { { EXEC_REFUSED, "SELECT 1", "expected at most 1048576 bytes" }, " /* nothing */", 100000, "" },
};

/* Statements of one row whose calls are so slow and few that SQLite hardly checks its limits. */
static const struct repeated one_row[] = {
    { { EXEC_STOPPED, "SELECT 1", "seconds" },
      " + (" LONG_TEXT " || 1 LIKE '%' || substr(" LONG_TEXT ", 1, 100) || 'b')",
      16,
      "" },
    { { EXEC_STOPPED, "SELECT 1", "seconds" }, " + length(hex(randomblob(500000)))", 160, "" },
};

struct fixture {
    char *dir, *path;
    struct exec_db *db;
};

/* Hashes the names and contents of all files in a folder. */
static uint64_t folder_hash(const char *dir)
{
    uint64_t sum = 0;
    DIR *d = opendir(dir);

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        const char *path = test_file(dir, e->d_name, NULL);
        char *bytes = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? test_read(path) : NULL;
        uint64_t h = hash_bytes(HASH_START, e->d_name, strlen(e->d_name));
        sum += bytes ? hash_bytes(h, bytes, (size_t)st.st_size) : h;
        free(bytes);
    }
    closedir(d);
    return sum;
}

static const char *write_db(const char *dir, const char *name, const char *script)
{
    const char *path = test_file(dir, name, NULL);
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    return path;
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct error err = { 0 };

    f->dir = test_dir_new();
    f->path = xstrdup(write_db(f->dir, "world.sqlite", world));
    if (!(f->db = exec_open(f->path, &by_steps, &err)))
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    exec_close(f->db);
    test_dir_remove(f->dir);
    free(f->path);
    free(f);
    return 0;
}

static void show(double seconds, const struct exec_result *r, const char *sql)
{
    if (getenv("AMBIT_SHOW"))
        print_message("%-8s %6.3f s  %-60.60s  %.100s\n", exec_status_name(r->status), seconds,
                      r->message ? r->message : "", sql);
}

static double busy_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs a case and checks its status, message and time. */
static void check_outcome(struct exec_db *db, const struct hostile *h)
{
    double start = busy_seconds();
    struct exec_result r = exec_run(db, h->sql);
    double seconds = busy_seconds() - start;

    show(seconds, &r, h->sql);
    if (r.status != h->status || (h->message && !strstr(r.message ? r.message : "", h->message)))
        fail_msg("%.200s: %s, %s; expected %s, %s", h->sql, exec_status_name(r.status), r.message,
                 exec_status_name(h->status), h->message);
    if (seconds > bound)
        fail_msg("%.200s: took %g seconds", h->sql, seconds);
    assert_true(r.status == EXEC_OK || (!r.cells && !r.names && !r.n && !r.columns));
    exec_result_release(&r);
}

static char *text_of(const struct repeated *p)
{
    size_t n = strlen(p->head.sql), part = strlen(p->part), tail = strlen(p->tail);
    char *text = xmalloc(n + part * (size_t)p->times + tail + 1), *end = mempcpy(text, p->head.sql, n);

    for (int i = 0; i < p->times; i++)
        end = mempcpy(end, p->part, part);
    memcpy(end, p->tail, tail + 1);
    return text;
}

static void check_repeated(struct exec_db *db, const struct repeated *p)
{
    char *text = text_of(p);

    check_outcome(db, &(struct hostile){ p->head.status, text, p->head.message });
    free(text);
}

/* Runs all cases on one connection, which still works afterwards. */
static void check_all(struct exec_db *db, const struct hostile *list, int n, const struct repeated *more, int n_more,
                      const char *dir)
{
    uint64_t before = folder_hash(dir);

    for (int i = 0; i < n + n_more; i++) {
        if (i < n)
            check_outcome(db, &list[i]);
        else
            check_repeated(db, &more[i - n]);
        if (folder_hash(dir) != before)
            fail_msg("%.200s: changed the folder", i < n ? list[i].sql : more[i - n].head.sql);
    }
    check_outcome(db, &(struct hostile){ EXEC_OK, "SELECT count(*) FROM person", NULL });
}

static void hostile_statements(void **state)
{
    struct fixture *f = *state;
    check_all(f->db, statements, ARRAY_LEN(statements), repeated, ARRAY_LEN(repeated), f->dir);
}

static void slow_statements(void **state)
{
    struct fixture *f = *state;
    struct exec_db *db = exec_open(f->path, &by_time, NULL);

    assert_non_null(db);
    check_all(db, slow, ARRAY_LEN(slow), NULL, 0, f->dir);
    exec_close(db);
}

/* Returns the seconds that a statement takes on this machine. */
static double seconds_of(const char *path, const char *sql)
{
    struct exec_limits limits = by_time;
    struct timespec start, end;

    limits.seconds = 600;
    struct exec_db *db = exec_open(path, &limits, NULL);
    assert_non_null(db);
    clock_gettime(CLOCK_MONOTONIC, &start);
    check_outcome(db, &(struct hostile){ EXEC_OK, sql, NULL });
    clock_gettime(CLOCK_MONOTONIC, &end);
    exec_close(db);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

/* A tenth of the measured time is too short for one row on any machine. */
static void slow_rows(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < ARRAY_LEN(one_row); i++) {
        struct exec_limits limits = by_time;
        char *text = text_of(&one_row[i]);
        limits.seconds = seconds_of(f->path, text) / 10;
        free(text);
        struct exec_db *db = exec_open(f->path, &limits, NULL);
        assert_non_null(db);
        check_all(db, NULL, 0, &one_row[i], 1, f->dir);
        exec_close(db);
    }
}

static void text_that_is_none(void **state)
{
    static const struct hostile list[] = {
        { EXEC_REFUSED, "SELECT '\xff'", "not valid UTF-8" },
        { EXEC_REFUSED, "SELECT '\xed\xa0\x80'", "not valid UTF-8" },
        { EXEC_REFUSED, "\xc3", "not valid UTF-8" },
        { EXEC_FAILED, "SELECT \xc3\xa9", "no such column: \xc3\xa9" },
    };
    struct fixture *f = *state;
    static const char nul[] = "SELECT 1\0; DROP TABLE person";

    for (int i = 0; i < ARRAY_LEN(list); i++)
        check_outcome(f->db, &list[i]);
    struct exec_result r = exec_run_bytes(f->db, nul, sizeof nul - 1);
    assert_int_equal(r.status, EXEC_REFUSED);
    assert_non_null(strstr(r.message, "unexpected NUL in the SQL at byte 8"));
    exec_result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hostile_statements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slow_statements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slow_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_that_is_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
