/* Indexes of several databases: the least recently used are dropped, the newest stays, and all can be read again. */
#include "data/span/tag_databases.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { DATABASES = 4, VALUES = 20000, MIB = 1 << 20 };

static void fill(const char *dir, int k)
{
    char *path, *sql;
    sqlite3 *db;

    assert_true(asprintf(&path, "%s/d%d.sqlite", dir, k) > 0);
    assert_true(
        asprintf(&sql,
                 "CREATE TABLE t(name TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                 "i < %d) INSERT INTO t SELECT printf('value %%x of %%d', i * 7919, %d) FROM n",
                 VALUES, k) > 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(path);
    free(sql);
}

/* Uses database k like a question. */
static void use(struct tag_databases *d, int k)
{
    char db_id[16];
    struct error err = { 0 };

    snprintf(db_id, sizeof db_id, "d%d", k);
    struct tag_database *b = tag_databases_find(d, db_id, "test", &err);
    if (!b || !tag_database_source(d, b, &err))
        fail_msg("%s", err.text);
    assert_int_equal(b->source.index.n, VALUES);
    tag_databases_trim(d);
}

/* The open databases, one letter each. */
static const char *open_ones(const struct tag_databases *d)
{
    static char text[DATABASES + 1];

    for (int i = 0; i < d->db_ids.n; i++)
        text[i] = d->items[i]->open ? 'o' : '-';
    text[d->db_ids.n] = 0;
    return text;
}

static int64_t bytes_of_one(const char *dir)
{
    struct tag_databases d;
    struct error err = { 0 };

    assert_int_equal(tag_databases_open(&d, NULL, dir, 1024LL * MIB, &err), 0);
    use(&d, 0);
    int64_t bytes = value_index_bytes(&d.items[0]->source.index);
    tag_databases_close(&d);
    return bytes;
}

static void test_let_go(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    struct tag_databases d;
    struct error err = { 0 };

    for (int k = 0; k < DATABASES; k++)
        fill(dir, k);
    int64_t one = bytes_of_one(dir);
    assert_int_equal(tag_databases_open(&d, NULL, dir, 5 * one, &err), 0); /* half of it has room for two */
    for (int k = 0; k < DATABASES; k++)
        use(&d, k);
    assert_string_equal(open_ones(&d), "--oo");
    use(&d, 2);
    use(&d, 0);
    assert_string_equal(open_ones(&d), "o-o-");
    tag_databases_close(&d);
    assert_int_equal(tag_databases_open(&d, NULL, dir, one + MIB / 2, &err), 0); /* half of it has room for none */
    for (int k = 0; k < DATABASES; k++)
        use(&d, k);
    assert_string_equal(open_ones(&d), "---o");
    tag_databases_close(&d);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_let_go) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
