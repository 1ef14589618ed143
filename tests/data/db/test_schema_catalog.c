/* Tests of schema_catalog: caching of schemas and of errors. */
#include "tests/support/explain.h"
#include "tests/support/support.h"

#include "data/db/schema_catalog.h"

#include <stdio.h>
#include <unistd.h>

static void failures_are_remembered(void **state)
{
    char *dir = test_dir_new(), first[1024];
    struct schema_catalog catalog;
    struct schema_set set;
    struct error err = { 0 };
    (void)state;

    const char *path = test_file(dir, "db.sqlite", "no database at all, just text");
    assert_int_equal(schema_catalog_open(&catalog, NULL, dir, &err), 0);
    assert_null(schema_catalog_find(&catalog, "db", "q.jsonl: line 1", &err));
    assert_error(err, path, "not a database");
    assert_int_equal(err.code, EXIT_CODE_DATA);
    snprintf(first, sizeof first, "%s", err.text);
    assert_null(schema_catalog_find(&catalog, "late", "q.jsonl: line 2", &err));
    assert_error(err, "q.jsonl: line 2: field \"db_id\"", "no database late");

    assert_int_equal(unlink(path), 0);
    sqlite3 *db = explain_open(NULL, "CREATE TABLE t (a INT)");
    explain_schema(&set, db, dir); /* db.sqlite is valid now, but has been checked in this turn */
    schema_set_close(&set);
    sqlite3_close(db);
    err = (struct error){ 0 };
    assert_null(schema_catalog_find(&catalog, "db", "q.jsonl: line 3", &err));
    assert_string_equal(err.text, first);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_null(schema_catalog_find(&catalog, "db", "q.jsonl: line 4", NULL));
    assert_null(schema_catalog_samples(&catalog, "db"));
    assert_int_equal(rename(path, test_file(dir, "late.sqlite", NULL)), 0);
    assert_int_equal(schema_catalog_find(&catalog, "late", "q.jsonl: line 5", &err)->n_tables, 1);
    assert_non_null(schema_catalog_samples(&catalog, "late"));
    schema_catalog_close(&catalog);
    test_dir_remove(dir);
}

static void write_db(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Returns the samples of the first column. */
static const char *samples(struct schema_catalog *catalog)
{
    return column_samples_text(schema_catalog_samples(catalog, "db"), 0);
}

/* A file that changes between two turns is read again; an unchanged schema keeps its address. */
static void changes_are_seen_in_the_next_turn(void **state)
{
    (void)state;
    char *dir = test_dir_new(), *path = xstrdup(test_file(dir, "db.sqlite", NULL));
    struct schema_catalog catalog;
    struct error err = { 0 };

    write_db(path, "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
    assert_int_equal(schema_catalog_open(&catalog, NULL, dir, &err), 0);
    const struct schema *first = schema_catalog_find(&catalog, "db", "r", &err);
    assert_non_null(first);
    int64_t version = schema_catalog_version(&catalog, "db"), serial = first->serial;
    assert_string_equal(samples(&catalog), "1");

    write_db(path, "UPDATE t SET a = 2");
    assert_ptr_equal(schema_catalog_find(&catalog, "db", "r", &err), first);
    assert_true(schema_catalog_version(&catalog, "db") == version);
    schema_catalog_turn(&catalog);
    assert_ptr_equal(schema_catalog_find(&catalog, "db", "r", &err), first);
    assert_true(first->serial == serial && schema_catalog_version(&catalog, "db") != version);
    assert_string_equal(samples(&catalog), "2");

    write_db(path, "PRAGMA journal_mode = WAL; ALTER TABLE t ADD COLUMN b TEXT");
    assert_int_equal(schema_catalog_find(&catalog, "db", "r", &err)->n_columns, 1);
    schema_catalog_turn(&catalog);
    const struct schema *second = schema_catalog_find(&catalog, "db", "r", &err);
    assert_int_equal(second->n_columns, 2);
    assert_true(second->serial != serial);

    assert_int_equal(unlink(path), 0);
    schema_catalog_turn(&catalog);
    assert_null(schema_catalog_find(&catalog, "db", "r", &err));
    assert_error(err, "no database db");
    test_file(dir, "db.sqlite", "garbage");
    schema_catalog_turn(&catalog);
    assert_null(schema_catalog_find(&catalog, "db", "r", &err));
    assert_error(err, "not a database");
    assert_int_equal(unlink(path), 0);
    write_db(path, "CREATE TABLE u (a INT)");
    schema_catalog_turn(&catalog);
    assert_string_equal(schema_catalog_find(&catalog, "db", "r", &err)->tables[0].name, "u");
    schema_catalog_close(&catalog);
    free(path);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_seen_in_the_next_turn),
        cmocka_unit_test(failures_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
