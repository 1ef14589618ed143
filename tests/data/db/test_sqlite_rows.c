/* Tests of rows, of statements that must run, of invalid databases, and of scripts. */
#include "data/db/sqlite_exec.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct exec_limits limits = { .steps = 2000000, .rows = 5000, .bytes = 4 << 20, .seconds = 600 };

static const char world[] =
    "CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, weight REAL, photo BLOB);"
    "INSERT INTO person VALUES (1, 'Ann', 61.5, x'00ff'), (2, 'English', NULL, NULL), (3, 'Bob', 80, zeroblob(3));"
    "CREATE TABLE odd (id INTEGER, text TEXT);"
    "INSERT INTO odd VALUES (1, CAST(x'c3a9' AS TEXT)), (2, CAST(x'41ff42' AS TEXT)), (3, CAST(x'410042' AS TEXT)),"
    " (4, CAST(x'eda080' AS TEXT));"
    "CREATE TABLE numbers (n INTEGER);"
    "INSERT INTO numbers WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000) SELECT n FROM "
    "c;";

struct fixture {
    char *dir;
    struct exec_db *db;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct error err = { 0 };

    f->dir = test_dir_new();
    if (!(f->db = exec_open_script(world, &limits, &err)))
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    exec_close(f->db);
    test_dir_remove(f->dir);
    free(f);
    return 0;
}

static void check(struct exec_db *db, enum exec_status status, const char *sql, const char *message)
{
    struct exec_result r = exec_run(db, sql);

    if (r.status != status || !strstr(r.message ? r.message : "", message))
        fail_msg("%s: %s, %s", sql, exec_status_name(r.status), r.message);
    exec_result_release(&r);
}

static const struct cell *cell(const struct exec_result *r, int row, int column)
{
    assert_int_equal(r->status, EXEC_OK);
    assert_true(row < r->n && column < r->columns);
    return &r->cells[row * r->columns + column];
}

static void assert_bytes(const struct cell *c, enum cell_type type, const char *bytes, int n)
{
    assert_int_equal(c->type, type);
    assert_int_equal(c->n, n);
    assert_memory_equal(c->bytes, bytes, (size_t)n + 1);
}

static void rows_equal_those_of_the_database(void **state)
{
    struct fixture *f = *state;
    struct exec_result r =
        exec_run(f->db, ";/* first */ SELECT id, name AS \"the name\", weight, photo FROM person; -- last\n ; ");

    assert_int_equal(r.n, 3);
    assert_int_equal(r.columns, 4);
    assert_null(r.message);
    assert_string_equal(r.names[1], "the name");
    assert_int_equal(cell(&r, 1, 0)->type, CELL_INTEGER);
    assert_int_equal(cell(&r, 1, 0)->integer, 2);
    assert_bytes(cell(&r, 1, 1), CELL_TEXT, "English", 7);
    assert_true(cell(&r, 0, 2)->type == CELL_REAL && cell(&r, 0, 2)->real == 61.5);
    assert_int_equal(cell(&r, 1, 2)->type, CELL_NULL);
    assert_bytes(cell(&r, 0, 3), CELL_BLOB, "\x00\xff", 2);
    assert_bytes(cell(&r, 2, 3), CELL_BLOB, "\0\0\0", 3);
    exec_result_release(&r);
    r = exec_run(f->db, "SELECT text FROM odd");
    assert_bytes(cell(&r, 0, 0), CELL_TEXT, "\xc3\xa9", 2);
    assert_bytes(cell(&r, 1, 0), CELL_TEXT, "A\xff\x42", 3);
    assert_bytes(cell(&r, 2, 0), CELL_TEXT, "A\0B", 3);
    exec_result_release(&r);
}

/* Allowed statements and their results as text. */
static const char *const allowed[][2] = {
    { "SELECT name FROM person WHERE name = \"English\"", "English" },
    { "SELECT count(*) FROM person WHERE 0", "0" },
    { "VALUES ('a')", "a" },
    { "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 9) SELECT sum(n) FROM c", "45" },
    { "SELECT group_concat(name, '+') FROM (SELECT name FROM person ORDER BY id)", "Ann+English+Bob" },
    { "SELECT name FROM person WHERE name LIKE 'a_N'", "Ann" },
    { "SELECT 'a%b' LIKE 'a\\%_' ESCAPE '\\'", "1" },
    { "SELECT quote(NULL LIKE 'a') || quote('a' LIKE NULL)", "NULLNULL" },
    { "SELECT group_concat(x'6162' LIKE name) FROM person", "0,0,0" },
    { "SELECT name FROM person WHERE name GLOB 'B[a-o]?'", "Bob" },
    { "SELECT trim('xxaxx', 'x') || ltrim('xxaxx', 'x') || rtrim('xxaxx', 'x') || trim(' a ')", "aaxxxxaa" },
    { "SELECT replace(7071, 0, 'x') || instr('h\xc3\xa9llo', 'l')", "7x713" },
    { "SELECT printf('%5.2f|%-4d|%s|%%', 3.14159, 42, 'x') || format('%03d', 7)", " 3.14|42  |x|%007" },
    { "SELECT typeof(printf('%.1500000c', 'x'))", "null" }, /* SQLite's own answer for a size over its limit */
    { "SELECT sum(value) FROM json_each('[1,2,3]')", "6" },
    { "SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]') || ('{\"b\": 3}' ->> '$.b')", "23" },
    { "SELECT group_concat(r) FROM (SELECT rank() OVER (ORDER BY weight) AS r FROM person)", "1,2,3" },
    { "SELECT strftime('%Y', '2024-02-03') || date('2024-01-31', '+1 month')", "20242024-03-02" },
    { "SELECT length(date('now')) + length(CURRENT_TIMESTAMP) + (typeof(random()) = 'integer')", "30" },
    { "SELECT a.id FROM person a FULL JOIN person b ON a.id = b.id + 2 WHERE a.id > 2", "3" },
    { "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'person'", "1" },
};

static void harmless_statements_run(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < ARRAY_LEN(allowed); i++) {
        struct exec_result r = exec_run(f->db, allowed[i][0]);
        if (r.status != EXEC_OK)
            fail_msg("%s: %s", allowed[i][0], r.message);
        assert_int_equal(r.n, 1);
        const struct cell *c = cell(&r, 0, 0);
        if (c->type == CELL_INTEGER)
            assert_int_equal(c->integer, strtoll(allowed[i][1], NULL, 10));
        else
            assert_bytes(c, CELL_TEXT, allowed[i][1], (int)strlen(allowed[i][1]));
        exec_result_release(&r);
    }
}

static void python_text_fails_where_python_does(void **state)
{
    struct fixture *f = *state;
    struct exec_limits python = limits;
    python.python_text = true;
    struct exec_db *db = exec_open_script(world, &python, NULL);

    assert_non_null(db);
    check(db, EXEC_OK, "SELECT text FROM odd WHERE id IN (1, 3)", "");
    check(db, EXEC_OK, "SELECT text FROM odd LIMIT 1", "");
    check(db, EXEC_OK, "SELECT photo, CAST(text AS BLOB) FROM odd, person", "");
    check(db, EXEC_FAILED, "SELECT id, text AS t FROM odd", "Could not decode to UTF-8 column 't' of row 2");
    check(db, EXEC_FAILED, "SELECT text FROM odd WHERE id = 4", "Could not decode");
    check(f->db, EXEC_OK, "SELECT text FROM odd WHERE id = 4", "");
    exec_close(db);
}

/* Steps are counted per statement and are the same each time. */
static void steps_are_exact(void **state)
{
    static const char sql[] = "SELECT count(*) FROM numbers a, numbers b WHERE b.n < 200";
    int64_t least = 0;
    (void)state;

    for (int64_t steps = 100000; !least && steps < 1000000000; steps += steps / 4) {
        struct exec_limits some = limits;
        some.steps = steps;
        struct exec_db *db = exec_open_script(world, &some, NULL);
        assert_non_null(db);
        struct exec_result r = exec_run(db, sql), again = exec_run(db, sql);
        assert_int_equal(r.status, again.status);
        least = r.status == EXEC_OK ? steps : 0;
        exec_result_release(&r);
        exec_result_release(&again);
        exec_close(db);
    }
    assert_in_range(least, 400000, 20000000);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static const char *write_db(const char *dir, const char *script)
{
    const char *path = test_file(dir, "made.sqlite", NULL);
    sqlite3 *db;

    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    return path;
}

static void refuse(const char *path, const char *message)
{
    struct error err = { 0 };

    if (exec_open(path, &limits, &err))
        fail_msg("%s: opened", path);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, path, message);
}

static void files_that_are_no_database(void **state)
{
    const char *dir = ((struct fixture *)*state)->dir, *pipe = test_file(dir, "pipe", NULL);

    refuse(test_file(dir, "none.sqlite", NULL), "unable to open");
    refuse(dir, "expected a file");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    refuse(pipe, "expected a regular file");
    refuse(test_file(dir, "empty.sqlite", ""), "the database has no tables");
    refuse(test_file(dir, "text.sqlite", "a text that is no database"), "not a database");
    refuse(test_file(dir, "head.sqlite", "SQLite format 3"), "not a database");
    refuse(write_db(dir, "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES "
                         "('table', 't', 't', 2, 'CREATE TABLE t(')"),
           "malformed");
    refuse(write_db(dir, "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES "
                         "('table', 't', 't', 1, 'CREATE TABLE t(a)')"),
           "malformed");
}

/* SQLite resolves nested views by recursion, so a long chain could overflow the stack. */
static void chains_of_views(void **state)
{
    const char *dir = ((struct fixture *)*state)->dir;
    char *script = NULL;
    size_t size;
    FILE *f = open_memstream(&script, &size);

    fputs("BEGIN; CREATE VIEW v0 AS SELECT 1 AS x;", f);
    for (int i = 1; i < 500; i++)
        fprintf(f, "CREATE VIEW v%d AS SELECT x FROM v%d;", i, i - 1);
    fputs("COMMIT;", f);
    fflush(f);
    struct exec_db *db = exec_open(write_db(dir, script), &limits, NULL);
    assert_non_null(db);
    check(db, EXEC_OK, "SELECT x FROM v499", "");
    exec_close(db);
    fputs("BEGIN;", f);
    for (int i = 500; i <= 5000; i++)
        fprintf(f, "CREATE VIEW v%d AS SELECT x FROM v0;", i);
    fputs("COMMIT;", f);
    fclose(f);
    refuse(write_db(dir, script), "expected at most 5000 views, got 5001");
    free(script);
}

/* Each view uses the previous one twice: 2^24 sub-queries. */
static void views_that_double(void **state)
{
    const char *dir = ((struct fixture *)*state)->dir;
    char script[4096];
    int n = snprintf(script, sizeof script, "CREATE VIEW v0 AS SELECT 1 AS x;");

    for (int i = 1; i < 25; i++)
        n += snprintf(script + n, sizeof script - (size_t)n, "CREATE VIEW v%d AS SELECT 1 AS x FROM v%d, v%d AS b;", i,
                      i - 1, i - 1);
    struct exec_db *db = exec_open(write_db(dir, script), &limits, NULL);
    assert_non_null(db);
    check(db, EXEC_FAILED, "SELECT count(*) FROM v24", "too many references");
    check(db, EXEC_OK, "SELECT x FROM v3", "");
    exec_close(db);
}

/* SQLite 3.40 considers functions on JSON unsafe in a schema. They are allowed here; unsafe ones are not. */
static void expressions_in_schemas(void **state)
{
    static const char *const refused[][2] = {
        { "CREATE VIEW v AS SELECT rtreecheck('t') AS x", "unsafe use of rtreecheck()" },
        { "CREATE VIEW v AS SELECT load_extension('x.so') AS x", "unsafe use of load_extension()" },
        { "CREATE VIEW v AS SELECT fts3_tokenizer('simple') AS x", "unsafe use of fts3_tokenizer()" },
    };
    const char *dir = ((struct fixture *)*state)->dir;
    struct exec_db *db = exec_open(
        write_db(dir,
                 "CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT CHECK (json_valid(j)), g AS (json_extract(j, '$.a')), "
                 "u TEXT DEFAULT (json_array(1)));"
                 "CREATE INDEX on_function ON t (json_extract(j, '$.b'));"
                 "CREATE INDEX on_operator ON t (j ->> 'c') WHERE length(u) > 0;"
                 "CREATE INDEX on_guarded ON t (replace(u, 'a', 'b'));"
                 "CREATE VIEW v AS SELECT j ->> '$.c' AS c, json_object('a', json(j)) AS o FROM t;"
                 "INSERT INTO t (j, u) VALUES ('{\"a\":1,\"b\":2,\"c\":\"x\"}', 'abc')"),
        &limits, NULL);

    assert_non_null(db);
    struct exec_result r =
        exec_run(db, "SELECT g, json_extract(j, '$.b'), u, c FROM t, v WHERE json_extract(j, '$.b') = 2 "
                     "AND j ->> 'c' = 'x' AND length(u) > 0 AND replace(u, 'a', 'b') = 'bbc'");
    assert_int_equal(cell(&r, 0, 0)->integer, 1);
    assert_int_equal(cell(&r, 0, 1)->integer, 2);
    assert_bytes(cell(&r, 0, 3), CELL_TEXT, "x", 1);
    exec_result_release(&r);
    r = exec_run(db, "SELECT o FROM v");
    assert_bytes(cell(&r, 0, 0), CELL_TEXT, "{\"a\":{\"a\":1,\"b\":2,\"c\":\"x\"}}", 27);
    exec_result_release(&r);
    exec_close(db);
    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        db = exec_open(write_db(dir, refused[i][0]), &limits, NULL);
        assert_non_null(db);
        check(db, EXEC_FAILED, "SELECT x FROM v", refused[i][1]);
        exec_close(db);
    }
    refuse(write_db(dir, "CREATE TABLE t (a, g AS (sqlite_log(1, a)))"), "unsafe use of sqlite_log()");
}

/* Truncated and altered files: there is some answer, and the file does not change. */
static void damaged_files(void **state)
{
    const char *dir = ((struct fixture *)*state)->dir, *path = test_file(dir, "damaged.sqlite", NULL);
    struct stat st;
    const char *whole = write_db(dir, world);
    assert_int_equal(stat(whole, &st), 0);
    size_t n = (size_t)st.st_size;
    char *good = test_read(whole), *bytes = xmalloc(n);
    int opened = 0, failed = 0;

    for (size_t i = 0; i < 120; i++) {
        size_t kept = i < 20 ? n * i / 20 : n;
        memcpy(bytes, good, n);
        for (size_t k = 0; i >= 20 && k < 8; k++)
            bytes[(i * 7919 + k * 104729) % (i % 2 ? n : 4096)] ^= (char)(1 << (i + k) % 8);
        write_bytes(path, bytes, kept);
        struct exec_db *db = exec_open(path, &limits, NULL);
        opened += db != NULL;
        if (db) {
            struct exec_result r = exec_run(db, "SELECT * FROM person, numbers, odd ORDER BY name, text, n LIMIT 50");
            failed += r.status != EXEC_OK;
            exec_result_release(&r);
        }
        exec_close(db);
        char *after = test_read(path);
        assert_memory_equal(after, bytes, kept);
        free(after);
    }
    free(good);
    free(bytes);
    assert_in_range(opened, 1, 119);
    assert_in_range(failed, 1, opened);
}

static void scripts_only_fill(void **state)
{
    static const char *const refused[][3] = {
        { "CREATE TABLE a (x); SELECT 1", "\"SELECT 1\"", "SELECT is not allowed" },
        { "CREATE TABLE a (x);\n INSERT INTO a VALUES (1) RETURNING x", "\"INSERT INTO a", "SELECT is not allowed" },
        { "ATTACH 'x.db' AS x", "\"ATTACH", "ATTACH is not allowed" },
        { "CREATE TEMP VIEW v AS SELECT 1", "\"CREATE TEMP VIEW", "CREATE TEMP VIEW is not allowed" },
        { "CREATE TABLE a (x); CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END", "\"CREATE TRIGGER",
          "CREATE TRIGGER is not allowed" },
        { "CREATE VIRTUAL TABLE f USING fts5(x)", "\"CREATE VIRTUAL", "not allowed" },
        { "CREATE TABLE a (x); UPDATE a SET x = 1", "\"UPDATE a SET", "UPDATE is not allowed" },
        { "PRAGMA writable_schema = 1", "\"PRAGMA", "PRAGMA is not allowed" },
        { "CREATE TABLE a (x); INSERT INTO b VALUES (1)", "\"INSERT INTO b", "no such table: b" },
        { "CREATE TABLE a (x", "\"CREATE TABLE a", "incomplete input" },
        { "CREATE TABLE a (x); INSERT INTO a VALUES (load_extension('x'))", "\"INSERT",
          "load_extension is not allowed" },
        { "VACUUM INTO 'x.db'", "\"VACUUM", "ATTACH is not allowed" },
        { "BEGIN; CREATE TABLE a (x)", "transaction", "ends" },
        { "CREATE TABLE a (x); INSERT INTO a WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n "
          "FROM c",
          "\"INSERT", "more than 2000000 steps" },
    };
    struct fixture *f = *state;

    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        struct error err = { 0 };
        if (exec_open_script(refused[i][0], &limits, &err))
            fail_msg("%s: taken", refused[i][0]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, refused[i][1], refused[i][2]);
    }
    check(f->db, EXEC_REFUSED, "INSERT INTO odd VALUES (9, 'x')", "INSERT is not allowed");
    check(f->db, EXEC_REFUSED, "CREATE TABLE new (x)", "not allowed");
    struct exec_db *db =
        exec_open_script(" ; BEGIN TRANSACTION;\nCREATE TABLE \"a b\" (x);\nCREATE INDEX i ON \"a b\" (x);"
                         "CREATE VIEW v AS SELECT * FROM \"a b\"; INSERT INTO \"a b\" VALUES (1); DELETE FROM \"a b\";"
                         "INSERT INTO \"a b\" VALUES (date('2024-02-28', '+2 days')); COMMIT;\n-- the end",
                         &limits, NULL);
    assert_non_null(db);
    struct exec_result r = exec_run(db, "SELECT * FROM v");
    assert_bytes(cell(&r, 0, 0), CELL_TEXT, "2024-03-01", 10);
    exec_result_release(&r);
    exec_close(db);
}

/* Every available database can be opened, and the rows of each table counted. */
static void shared_databases(void **state)
{
    static const char *const names[] = { "concert_singer", "flight_2", "world_1", "car_1", "baseball_1" };
    (void)state;

    if (!test_shared("data/spider/db/concert_singer.sqlite"))
        skip();
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        char name[128];
        struct error err = { 0 };
        snprintf(name, sizeof name, "data/spider/db/%s.sqlite", names[i]);
        struct exec_db *db = exec_open(test_shared(name), &exec_limits_default, &err);
        if (!db)
            fail_msg("%s", err.text);
        struct exec_result r = exec_run(db, "SELECT name FROM sqlite_master WHERE type = 'table'");
        for (int t = 0; t < r.n; t++) {
            char sql[256];
            snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", cell(&r, t, 0)->bytes);
            check(db, EXEC_OK, sql, "");
        }
        assert_true(r.n > 2);
        exec_result_release(&r);
        exec_close(db);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_equal_those_of_the_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(harmless_statements_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(python_text_fails_where_python_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_no_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_of_views, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_that_double, set_up, tear_down),
        cmocka_unit_test_setup_teardown(expressions_in_schemas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scripts_only_fill, set_up, tear_down),
        cmocka_unit_test(shared_databases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
