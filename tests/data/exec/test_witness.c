/* Perturbed copies: statements that agree on a database and differ in meaning are told apart, equal ones are not. */
#include "tests/support/support.h"

#include "data/exec/perturb.h"
#include "data/exec/schema_sqlite.h"
#include "data/exec/sqlite_exec.h"
#include "data/exec/witness.h"
#include "data/schema/schema.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const char harbour[] =
    "CREATE TABLE port(id INTEGER PRIMARY KEY, name TEXT NOT NULL, depth INT);"
    "INSERT INTO port VALUES (1, 'Porto''s', 10), (2, 'Brest', 20), (3, 'Kiel', 20);"
    "CREATE TABLE boat(id INTEGER PRIMARY KEY, name TEXT, length REAL, port INT REFERENCES port(id));"
    "INSERT INTO boat VALUES (1, 'Ann', 12.5, 1), (2, 'Bob', 20, 2), (3, 'Cal', 30.5, 3), (4, 'Dan', 8, 3);"
    "CREATE TABLE boat_name(id INTEGER PRIMARY KEY, name TEXT);"
    "INSERT INTO boat_name VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Cal'), (4, 'Dan');"
    "CREATE TABLE crew(boat INT, person TEXT);"
    "CREATE VIEW long_boat AS SELECT * FROM boat WHERE length > 10;";

struct fixture {
    char *dir;
    struct schema_set set;
    struct exec_db *db;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct error err;
    sqlite3 *db;

    f->dir = test_dir_new();
    const char *path = test_file(f->dir, "harbour.sqlite", NULL);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, harbour, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(schema_set_open_sqlite(&f->set, path, false, &err), 0);
    f->db = exec_open(path, &witness_limits, &err);
    assert_non_null(f->db);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    exec_close(f->db);
    schema_set_close(&f->set);
    test_dir_remove(f->dir);
    free(f);
    return 0;
}

static bool same(const struct fixture *f, const char *a, const char *b, bool ordered, uint64_t seed)
{
    const char *const sql[] = { a, b };
    struct testimony x, y;
    struct witness w;
    struct error err = { 0 };

    if (witness_open(&w, f->db, f->set.schemas, sql, 2, seed, &err))
        fail_msg("%s", err.text);
    witness_ask(&x, &w, a, ordered);
    witness_ask(&y, &w, b, ordered);
    bool answer = testimony_same(&x, &y);
    testimony_release(&x);
    testimony_release(&y);
    witness_release(&w);
    return answer;
}

enum { SEEDS = 20 };

/* All pairs agree on the database as it is. */
static void differences_show(void **state)
{
    static const char *const pairs[][2] = {
        { "SELECT name FROM port WHERE depth > 10", "SELECT name FROM port WHERE depth >= 20" },
        { "SELECT name FROM boat WHERE length > 12.5", "SELECT name FROM boat WHERE length >= 20" },
        { "SELECT name FROM port WHERE depth >= 10", "SELECT name FROM port" },
        { "SELECT name FROM port", "SELECT DISTINCT name FROM port" },
        { "SELECT count(*) FROM boat", "SELECT count(name) FROM boat" },
        { "SELECT boat.name FROM boat", "SELECT boat.name FROM boat JOIN port ON boat.port = port.id" },
        { "SELECT name FROM boat", "SELECT name FROM boat_name" },
        { "SELECT b.length, b.name FROM boat b",
          "SELECT b.length, n.name FROM boat b JOIN boat_name n ON b.id = n.id" },
        { "SELECT name FROM port WHERE name = 'Kiel'", "SELECT name FROM port WHERE name LIKE 'K%'" },
        { "SELECT name FROM port WHERE name = \"Porto's\"", "SELECT name FROM port WHERE depth = 10" },
        { "SELECT max(length) FROM boat", "SELECT length FROM boat WHERE name = 'Cal'" },
        { "SELECT person FROM crew", "SELECT person FROM crew WHERE boat > 5" },
        { "SELECT count(*) FROM crew", "SELECT count(DISTINCT person) FROM crew" },
    };
    for (int i = 0; i < ARRAY_LEN(pairs); i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            if (same(*state, pairs[i][0], pairs[i][1], false, seed))
                fail_msg("seed %d: taken for the same: %s; %s", (int)seed, pairs[i][0], pairs[i][1]);
    assert_false(same(*state, "SELECT name FROM boat ORDER BY name", "SELECT name FROM boat ORDER BY id", true, 1));
}

static void equal_ones_are_the_same(void **state)
{
    static const char *const pairs[][2] = {
        { "SELECT name FROM port WHERE depth > 10 AND id < 3",
          "SELECT name FROM port WHERE id <= 2 AND NOT depth <= 10" },
        { "SELECT name FROM port WHERE depth IN (10, 20)", "SELECT name FROM port WHERE depth = 10 OR depth = 20" },
        { "SELECT sum(length) / count(length) FROM boat", "SELECT avg(length) FROM boat" },
        { "SELECT name FROM boat WHERE port IN (SELECT id FROM port WHERE depth = 20)",
          "SELECT b.name FROM boat b JOIN port p ON b.port = p.id WHERE p.depth = 20" },
        { "SELECT count(*) FROM port", "SELECT count(name) FROM port" },
    };
    for (int i = 0; i < ARRAY_LEN(pairs); i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            if (!same(*state, pairs[i][0], pairs[i][1], false, seed))
                fail_msg("seed %d: told apart: %s; %s", (int)seed, pairs[i][0], pairs[i][1]);
}

/* No rows anywhere, and failing, say nothing. */
static void nothing_is_no_evidence(void **state)
{
    assert_false(same(*state, "SELECT id FROM port WHERE id < 0", "SELECT id FROM boat WHERE id < 0", false, 1));
    assert_false(same(*state, "SELECT nothing FROM port", "SELECT nothing FROM port", false, 1));
    assert_false(same(*state, "SELECT name FROM long_boat", "SELECT name FROM long_boat", false, 1)); /* no views */
}

static char *script(const struct fixture *f, uint64_t seed, int copy)
{
    static const bool wanted[] = { true, true, true, true };
    struct strings literals = { 0 };
    struct error err = { 0 };
    strings_add(&literals, "12");
    const struct perturb_source source = { f->db, f->set.schemas, wanted, &literals };
    char *text = perturb_script(&source, seed, copy, 3, &err);
    strings_release(&literals);
    assert_non_null(text);
    return text;
}

static int64_t count(struct exec_db *db, const char *sql)
{
    struct exec_result r = exec_run(db, sql);
    assert_int_equal(r.status, EXEC_OK);
    int64_t n = r.cells[0].integer;
    exec_result_release(&r);
    return n;
}

static void copies_are_sound(void **state)
{
    struct error err;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        char *one = script(*state, seed, 1), *again = script(*state, seed, 1), *other = script(*state, seed, 2);
        assert_string_equal(one, again);
        assert_string_not_equal(one, other);
        struct exec_db *db = exec_open_script(one, &witness_limits, &err);
        assert_non_null(db);
        assert_true(count(db, "SELECT count(*) FROM crew") >= 6);
        assert_int_equal(count(db, "SELECT count(*) FROM port WHERE name IS NULL"), 0);
        assert_true(count(db, "SELECT count(*) FROM boat JOIN port ON boat.port = port.id") > 0);
        exec_close(db);
        free(one);
        free(again);
        free(other);
    }
}

static void a_copy_that_cannot_be_made_is_told(void **state)
{
    struct fixture *f = *state;
    struct error err = { 0 };
    struct witness w;
    static const char *const sql[] = { "SELECT name FROM port" };
    struct exec_db *other = exec_open_script("CREATE TABLE port(id INT);", &witness_limits, &err);
    assert_int_equal(witness_open(&w, other, f->set.schemas, sql, 1, 1, &err), -1);
    assert_error(err, "no perturbed copy can be made", "table port", "name");
    witness_release(&w);
    exec_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_show),
        cmocka_unit_test(equal_ones_are_the_same),
        cmocka_unit_test(nothing_is_no_evidence),
        cmocka_unit_test(copies_are_sound),
        cmocka_unit_test(a_copy_that_cannot_be_made_is_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
