/* Schemas by db_id: what is remembered of a database that is no good, and what is not. */
#include "tests/support/explain.h"
#include "tests/support/support.h"

#include "data/exec/schema_catalog.h"

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
    explain_schema(&set, db, dir); /* db.sqlite is good now, but was looked at */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
