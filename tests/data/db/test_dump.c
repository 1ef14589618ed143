/* Tests of dumps with missing lines: restored definitions and refused input. With the published file, all of its dumps
 * are tested. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/db/dump.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *load(const char *script)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s\n%s", sqlite3_errmsg(db), script);
    return db;
}

static sqlite3 *rebuild(const char *dump)
{
    struct error err;
    char *script = dump_repair(dump, &err);
    if (!script)
        fail_msg("%s", err.text);
    sqlite3 *db = load(script);
    free(script);
    return db;
}

static int add_row(void *text, int n, char **cells, char **names)
{
    char *to = text;
    (void)names;
    for (int i = 0; i < n; i++)
        snprintf(to + strlen(to), 4096 - strlen(to), "%s%s", i ? "|" : "", cells[i] ? cells[i] : "NULL");
    snprintf(to + strlen(to), 4096 - strlen(to), ";");
    return 0;
}

static void assert_rows(sqlite3 *db, const char *sql, const char *rows)
{
    char text[4096] = "";
    if (sqlite3_exec(db, sql, add_row, text, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_string_equal(text, rows);
}

/* columns: name|type|part of the primary key */
static void assert_columns(sqlite3 *db, const char *table, const char *columns)
{
    char sql[256];
    snprintf(sql, sizeof sql, "select name, type, pk from pragma_table_info('%s')", table);
    assert_rows(db, sql, columns);
}

static void whole_dump_stays_as_it_is(void **state)
{
    (void)state;
    sqlite3 *db =
        rebuild("CREATE TABLE t (\n    id INTEGER PRIMARY KEY AUTOINCREMENT, -- the key, no comma\n"
                "    \"full name\" VARCHAR(20) COLLATE NOCASE UNIQUE NOT NULL DEFAULT 'a,b',\n"
                "    price DECIMAL(10, 2) CHECK (price > 0), due\n);\n\n"
                "INSERT INTO \"t\" (id,full name,price,due) VALUES (1,'O''Neil; (x)',2.5,NULL),(2,'B',-1,x'00');\n");
    assert_columns(db, "t", "id|INTEGER|1;full name|VARCHAR(20)|0;price|DECIMAL(10, 2)|0;due||0;");
    assert_rows(db, "select * from t where \"full name\" = 'o''neil; (X)'", "1|O'Neil; (x)|2.5|NULL;");
    assert_rows(db, "select typeof(due) from t", "null;blob;");
    sqlite3_close(db);
}

static void lost_columns_come_back(void **state)
{
    (void)state;
    sqlite3 *db = rebuild("CREATE TABLE job(\n    id INTEGER PRIMARY KEY,\n    title TEXT,\n);\n"
                          "CREATE TABLE both_ways(\n    PRIMARY KEY (a_id, b_id)\n);\n"
                          "INSERT INTO \"job\" (id,firm_id,title,city) VALUES (1,-7,'x','Rome'),(2,NULL,'y',NULL);\n"
                          "INSERT INTO \"both_ways\" (a_id,b_id) VALUES (1,2),(1,3);\n");
    assert_columns(db, "job", "id|INTEGER|1;firm_id|INTEGER|0;title|TEXT|0;city||0;");
    assert_rows(db, "select * from job", "1|-7|x|Rome;2|NULL|y|NULL;");
    assert_columns(db, "both_ways", "a_id|INTEGER|1;b_id|INTEGER|2;");
    sqlite3_close(db);
}

static void lost_tables_come_back(void **state)
{
    (void)state;
    sqlite3 *db = rebuild("CREATE TABLE a (id INTEGER);\n"
                          "INSERT INTO \"a\" (id) VALUES (1);\n"
                          "INSERT INTO \"Lost One\" (id,name) VALUES (1,'x');\n");
    assert_columns(db, "Lost One", "id|INTEGER|0;name||0;");
    sqlite3_close(db);
}

static void empty_tables_keep_the_targets_of_their_keys(void **state)
{
    (void)state;
    sqlite3 *db = rebuild("CREATE TABLE s (\n  marks INT,\n  CONSTRAINT k PRIMARY KEY (a, b DESC),\n"
                          "  FOREIGN KEY (c) REFERENCES t(id));\n");
    assert_columns(db, "s", "marks|INT|0;a||1;b||2;c||0;");
    sqlite3_close(db);
}

static void lost_ends_and_beginnings(void **state)
{
    (void)state;
    sqlite3 *db = rebuild(
        "CREATE TABLE a (\n  id INTEGER,\n  name TEXT\nCREATE TABLE b (\n  x TEXT NOT NULL\n  y TEXT NOT NULL\n);\n"
        "    title TEXT\n);\nINSERT INTO \"b\" (x,y) VALUES ('1','2');\n"
        "INSERT INTO a (id,name) VALUES (1,'n');\nINSERT INTO a (id,name) VALUES (2,'m');\n");
    assert_columns(db, "a", "id|INTEGER|0;name|TEXT|0;");
    assert_columns(db, "b", "x|TEXT|0;y||0;");
    assert_rows(db, "select id, name from a", "1|n;2|m;");
    sqlite3_close(db);
}

static void other_statements_are_left_out(void **state)
{
    (void)state;
    sqlite3 *db = rebuild("CREATE TEMP TABLE t (a);\nCREATE INDEX i ON t(a);\nCREATE VIEW v AS SELECT a FROM t;\n"
                          "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO t (a) VALUES (9); END;\n"
                          "PRAGMA user_version = 7;\nINSERT INTO t VALUES (1);\n");
    assert_rows(db, "select a from t", "1;");
    assert_rows(db, "select count(*) from sqlite_master", "1;");
    assert_rows(db, "pragma user_version", "0;");
    sqlite3_close(db);
}

static void refused(void **state)
{
    static const char *const cases[][2] = {
        { "CREATE TABLE t (a);\nINSERT INTO t (a) VALUES ('x", "line 2: holds what no SQL has" },
        { "CREATE TABLE t (a);\nINSERT INTO t (a) VALUES (1 /*", "line 2: holds what no SQL has" },
        { "CREATE TABLE", "CREATE TABLE, expected a name" },
        { "CREATE TABLE t", "CREATE TABLE, expected a name" },
        { "CREATE TABLE IF", "CREATE TABLE, expected a name" },
        { "CREATE TABLE t AS SELECT 1", "CREATE TABLE, expected a name" },
        { "\n\nINSERT INTO", "line 3: INSERT, expected INTO" },
        { "INSERT INTO t (a", "INSERT, expected VALUES" },
        { "INSERT INTO t (a) SELECT 1", "INSERT, expected VALUES" },
        { "INSERT", "INSERT, expected INTO" },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        assert_null(dump_repair(cases[i][0], &err));
        assert_error(err, cases[i][1]);
    }
}

/* No prefix of a dump is read past its end. */
static void every_beginning(void **state)
{
    static const char dump[] =
        "CREATE TEMP TABLE IF NOT EXISTS m.\"t\" (a INT, PRIMARY KEY (a), CONSTRAINT c UNIQUE (a, b));\n"
        "INSERT OR IGNORE INTO t (a, b) VALUES (-1, (2)), (3, 'x');";
    (void)state;
    for (size_t n = 0; n < sizeof dump; n++) {
        struct error err = { 0 };
        char *part = strndup(dump, n), *script = dump_repair(part, &err);
        assert_true(script || err.code == EXIT_CODE_DATA);
        free(script);
        free(part);
    }
}

static void every_published_dump(void **state)
{
    struct error err;
    const char *path = test_shared("data/dfpl/gemma2_ambrosia_resplit_validation.json"), *last = "";
    (void)state;
    if (!path)
        skip();
    json_t *file = json_read_file(path, &err), *results = json_object_get(file, "results"), *example;
    size_t i;
    assert_true(json_array_size(results) == 396);
    json_array_foreach(results, i, example)
    {
        const char *dump = json_string_value(json_object_get(example, "db_dump"));
        if (strcmp(dump, last))
            sqlite3_close(rebuild(dump));
        last = dump;
    }
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_dump_stays_as_it_is),
        cmocka_unit_test(lost_columns_come_back),
        cmocka_unit_test(lost_tables_come_back),
        cmocka_unit_test(empty_tables_keep_the_targets_of_their_keys),
        cmocka_unit_test(lost_ends_and_beginnings),
        cmocka_unit_test(other_statements_are_left_out),
        cmocka_unit_test(refused),
        cmocka_unit_test(every_beginning),
        cmocka_unit_test(every_published_dump),
    };
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
