/* Tests of perturbed copies: they distinguish statements that agree on the original but differ in meaning, and not
 * equivalent ones. */
#include "tests/support/support.h"

#include "data/db/equivalence.h"
#include "data/db/perturb.h"
#include "data/db/sqlite_exec.h"

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
    "CREATE VIEW long_boat AS SELECT * FROM boat WHERE length > 10;"
    "CREATE TABLE dock(code TEXT, side INT, wide INT NOT NULL CHECK (wide > 0), area INT AS (wide * 2), "
    "PRIMARY KEY (code, side)) WITHOUT ROWID;"
    "INSERT INTO dock VALUES ('n', 1, 7), ('n', 2, 8), ('s', 1, 9);"
    "CREATE TABLE berth(id INTEGER PRIMARY KEY, code TEXT, side INT, next INT REFERENCES berth, note TEXT, "
    "FOREIGN KEY (code, side) REFERENCES dock(code, side));"
    "CREATE UNIQUE INDEX one_note ON berth(note);"
    "INSERT INTO berth VALUES (1, 'n', 1, NULL, 'a'), (2, 's', 1, 1, NULL);"
    "CREATE TABLE odd(a INT CHECK (a < length(sqlite_source_id())));"
    "INSERT INTO odd VALUES (1);";

struct fixture {
    char *dir;
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
    f->db = exec_open(path, &exec_limits_preview, &err);
    assert_non_null(f->db);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    exec_close(f->db);
    test_dir_remove(f->dir);
    free(f);
    return 0;
}

static bool same(const struct fixture *f, const char *a, const char *b, bool ordered, uint64_t seed)
{
    const char *const sql[] = { a, b };
    struct exec_signature x, y;
    struct equivalence w;
    int copy;

    equivalence_open(&w, f->db, sql, 2, seed);
    equivalence_run(&x, &w, a, ordered);
    equivalence_run(&y, &w, b, ordered);
    bool answer = equivalence_compare(&w, &x, &y, &copy) == VERDICT_SAME;
    if (w.broken)
        fail_msg("%s", w.broken);
    exec_signature_release(&x);
    exec_signature_release(&y);
    equivalence_release(&w);
    return answer;
}

enum { SEEDS = 20 };

/* All pairs agree on the original database. */
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

/* Results that are empty, failed or constant on all databases prove nothing. */
static void nothing_is_no_evidence(void **state)
{
    assert_false(same(*state, "SELECT id FROM port WHERE 1 = 0", "SELECT id FROM boat WHERE 1 = 0", false, 1));
    assert_false(same(*state, "SELECT nothing FROM port", "SELECT nothing FROM port", false, 1));
    assert_false(same(*state, "SELECT count(*) * 0 FROM port", "SELECT count(*) * 0 FROM boat", false, 1));
    assert_true(same(*state, "SELECT name FROM long_boat", "SELECT name FROM boat WHERE length > 10", false, 1));
}

static char *script(const struct fixture *f, const char *sql, uint64_t seed, int copy)
{
    struct error err = { 0 };
    struct perturb *p = perturb_open(f->db, &sql, 1, seed, &err);
    if (!p)
        fail_msg("%s", err.text);
    char *text = perturb_script(p, copy);
    perturb_close(p);
    return text;
}

static int64_t count(struct exec_db *db, const char *sql)
{
    struct exec_result r = exec_run(db, sql);
    if (r.status != EXEC_OK)
        fail_msg("%s: %s", sql, r.message);
    int64_t n = r.cells[0].integer;
    exec_result_release(&r);
    return n;
}

static int copy_named(const char *name)
{
    for (int k = 0; k < PERTURB_COPIES; k++)
        if (strcmp(perturb_copy_name(k), name) == 0)
            return k;
    fail_msg("no copy \"%s\"", name);
    return -1;
}

static void copies_repeat(void **state)
{
    static const char sql[] = "SELECT * FROM boat, crew WHERE length > 12 LIMIT 40";
    for (int k = 0; k < PERTURB_COPIES; k++) {
        char *one = script(*state, sql, 3, k), *again = script(*state, sql, 3, k), *other = script(*state, sql, 4, k);
        assert_string_equal(one, again);
        if (k != copy_named("no rows"))
            assert_string_not_equal(one, other);
        free(one);
        free(again);
        free(other);
    }
}

/* Declared constraints hold on every copy, and tables that no statement sees are missing. */
static void copies_are_sound(void **state)
{
    static const char sql[] = "SELECT * FROM boat, port, crew, dock, berth, long_boat WHERE length > 12";
    struct error err;
    int64_t rows = 0;
    for (uint64_t seed = 0; seed < SEEDS * PERTURB_COPIES; seed++) {
        char *text = script(*state, sql, seed / PERTURB_COPIES, (int)(seed % PERTURB_COPIES));
        struct exec_db *db = exec_open_script(text, &exec_limits_preview, &err);
        if (!db)
            fail_msg("%s: %s", err.text, text);
        free(text);
        assert_int_equal(count(db, "SELECT count(*) FROM port WHERE name IS NULL"), 0);
        assert_int_equal(count(db, "SELECT count(*) FROM boat WHERE port NOT IN (SELECT id FROM port)"), 0);
        assert_int_equal(count(db, "SELECT count(*) - count(DISTINCT id) FROM boat"), 0);
        assert_int_equal(count(db, "SELECT count(*) FROM dock WHERE area <> wide * 2 OR wide <= 0"), 0);
        assert_int_equal(count(db, "SELECT count(*) - count(DISTINCT code || '/' || side) FROM dock"), 0);
        assert_int_equal(
            count(
                db,
                "SELECT count(*) FROM berth AS b WHERE code || side > '' AND NOT EXISTS (SELECT 1 FROM dock AS d WHERE "
                "d.code = b.code AND d.side = b.side)"),
            0);
        assert_int_equal(count(db, "SELECT count(*) FROM berth WHERE next NOT IN (SELECT id FROM berth)"), 0);
        assert_int_equal(count(db, "SELECT count(note) - count(DISTINCT note) FROM berth"), 0);
        assert_int_equal(count(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'boat_name'"), 0);
        rows += count(db, "SELECT (SELECT count(*) FROM berth WHERE next IS NOT NULL) + (SELECT count(*) FROM dock)");
        exec_close(db);
    }
    assert_true(rows > 20 * (int64_t)SEEDS * PERTURB_COPIES);
}

/* Each copy has the change that its name says. */
static void copies_hold_their_promise(void **state)
{
    static const char sql[] = "SELECT boat.name FROM boat, crew, port WHERE length > 12 LIMIT 70";
    static const struct {
        const char *copy, *sql;
        int64_t low, high;
    } rows[] = {
        { "no rows", "SELECT count(*) FROM boat", 0, 0 },
        { "one row", "SELECT count(*) FROM boat", 1, 1 },
        { "ties", "SELECT count(*) FROM boat WHERE length = (SELECT max(length) FROM boat)", 2, 40 },
        { "nulls filled", "SELECT count(*) - count(person) FROM crew", 0, 0 },
        { "nulls filled", "SELECT count(DISTINCT person) FROM crew", 10, 40 },
        { "nulls inserted", "SELECT count(*) - count(length) FROM boat", 2, 40 },
        { "rows duplicated", "SELECT count(*) - (SELECT count(*) FROM (SELECT DISTINCT * FROM crew)) FROM crew", 5,
          40 },
        { "rows without partners", "SELECT count(*) FROM port WHERE id NOT IN (SELECT port FROM boat WHERE port > 0)",
          1, 40 },
        { "values near the constants", "SELECT min(2, sum(length = 12)) + min(2, sum(length = 13)) FROM boat", 2, 4 },
        { "more rows than limits", "SELECT count(*) FROM boat", 71, 100 },
        { "some tables empty", "SELECT (SELECT count(*) FROM port) = 0", 1, 1 },
        { "other tables empty", "SELECT (SELECT count(*) FROM port) > 0", 1, 1 },
    };
    struct error err;
    for (int i = 0; i < ARRAY_LEN(rows); i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            char *text = script(*state, sql, seed, copy_named(rows[i].copy));
            struct exec_db *db = exec_open_script(text, &exec_limits_preview, &err);
            assert_non_null(db);
            int64_t n = count(db, rows[i].sql);
            if (n < rows[i].low || n > rows[i].high)
                fail_msg("%s, seed %d: %s: %d\n%s", rows[i].copy, (int)seed, rows[i].sql, (int)n, text);
            exec_close(db);
            free(text);
        }
}

/* A CHECK that calls a forbidden function. */
static void an_impossible_copy_is_reported(void **state)
{
    struct fixture *f = *state;
    static const char *const sql[] = { "SELECT a FROM odd", "SELECT a + 0 FROM odd" };
    struct exec_signature x, y;
    struct equivalence w;
    int copy;

    equivalence_open(&w, f->db, sql, 2, 1);
    equivalence_run(&x, &w, sql[0], false);
    equivalence_run(&y, &w, sql[1], false);
    assert_int_equal(equivalence_compare(&w, &x, &y, &copy), VERDICT_UNPROVEN);
    struct error err = { 0 };
    error_set(&err, EXIT_CODE_DATA, "%s", w.broken);
    assert_error(err, "no perturbed copy can be made", "odd", "sqlite_source_id");
    exec_signature_release(&x);
    exec_signature_release(&y);
    equivalence_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_show),
        cmocka_unit_test(equal_ones_are_the_same),
        cmocka_unit_test(nothing_is_no_evidence),
        cmocka_unit_test(copies_repeat),
        cmocka_unit_test(copies_are_sound),
        cmocka_unit_test(copies_hold_their_promise),
        cmocka_unit_test(an_impossible_copy_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
