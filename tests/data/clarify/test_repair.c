/* Repairs of statements: each kind of fault, statements that need none, and those that stay as they are. */
#include "tests/support/exec_world.h"
#include "tests/support/support.h"

#include "data/clarify/repair.h"

#include <stdlib.h>
#include <string.h>

struct world {
    struct exec_world exec;
    struct strings words;
};

static int set_up(void **state)
{
    static const char script[] =
        "CREATE TABLE singer (singer_id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INT);"
        "CREATE TABLE song (song_id INTEGER PRIMARY KEY, title TEXT, singer_id INT REFERENCES singer(singer_id),"
        " sales INT);"
        "CREATE TABLE prize (prize_id INTEGER PRIMARY KEY, trophy TEXT);"
        "INSERT INTO singer VALUES (1, 'Ida Holm', 'France', 30), (2, 'O''Hara', 'Norway', 40), (3, 'Ann', 'Norway', 22);"
        "INSERT INTO song VALUES (11, 'Rain', 1, 5), (12, 'Sun', 2, 7), (13, 'Fog', 1, 9);";
    return exec_world_set_up(state, sizeof(struct world), script);
}

static int tear_down(void **state)
{
    strings_release(&((struct world *)*state)->words);
    return exec_world_tear_down(state);
}

/* expected: NULL if there is no repair. */
static void expect(struct world *w, const char *sql, const char *expected, bool failed)
{
    struct repair r = { 0 };
    bool repaired = repair_statement(&r, sql, w->exec.sql.schemas.schemas, w->exec.db, &w->exec.sql.arena, &w->words);
    const char *got = repaired ? r.sql : "(none)";

    if (strcmp(got, expected ? expected : "(none)") != 0)
        fail_msg("%s: expected %s, got %s", sql, expected ? expected : "none", got);
    if (repaired && (r.failed != failed || !r.change || !*r.change))
        fail_msg("%s: failed %d, expected %d; change %s", sql, r.failed, failed, r.change);
}

static void test_names(void **state)
{
    static const char *const cases[][2] = {
        { "SELECT nam FROM singer", "SELECT name FROM singer" },
        { "SELECT T1.nmae FROM singer AS T1", "SELECT T1.name FROM singer AS T1" },
        { "SELECT name FROM singers", "SELECT name FROM singer" },
        { "SELECT country FROM \"Singers\" WHERE agee > 25", "SELECT country FROM \"singer\" WHERE age > 25" },
        { "SELECT T2.name FROM singer AS T1 JOIN song AS T2 ON T1.singer_id = T2.singer_id",
          "SELECT T1.name FROM singer AS T1 JOIN song AS T2 ON T1.singer_id = T2.singer_id" },
        { "SELECT name FROM song WHERE title = 'Rain'",
          "SELECT singer.name FROM song JOIN singer ON song.singer_id = singer.singer_id WHERE title = 'Rain'" },
        { "SELECT singer.name FROM song",
          "SELECT singer.name FROM song JOIN singer ON song.singer_id = singer.singer_id" },
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        expect(*state, cases[i][0], cases[i][1], true);
}

static void test_rows(void **state)
{
    static const char *const cases[][2] = {
        { "SELECT name FROM singer WHERE country = 'Norwey'", "SELECT name FROM singer WHERE country = 'Norway'" },
        { "SELECT name FROM singer WHERE country = 'france'", "SELECT name FROM singer WHERE country = 'France'" },
        { "SELECT age FROM singer WHERE name IN ('Ida Hlom')", "SELECT age FROM singer WHERE name IN ('Ida Holm')" },
        { "SELECT age FROM singer WHERE name LIKE 'o hara'", "SELECT age FROM singer WHERE name LIKE 'O''Hara'" },
        { "SELECT count(*) FROM singer WHERE country = \"norway\"",
          "SELECT count(*) FROM singer WHERE country = 'Norway'" },
        { "SELECT age FROM singer WHERE country = 'ida holm'", "SELECT age FROM singer WHERE name = 'Ida Holm'" },
        { "SELECT T2.title FROM singer AS T1 JOIN song AS T2 ON T1.singer_id = T2.song_id",
          "SELECT T2.title FROM singer AS T1 JOIN song AS T2 ON T1.singer_id = T2.singer_id" },
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        expect(*state, cases[i][0], cases[i][1], false);
}

static void test_both(void **state)
{
    expect(*state, "SELECT nam FROM singers WHERE country = 'Norwey'",
           "SELECT name FROM singer WHERE country = 'Norway'", true);
}

static void test_no_repair(void **state)
{
    static const char *const cases[] = {
        "SELECT name FROM singer",                        /* has rows */
        "SELECT name FROM singer WHERE age > 99",         /* no value to blame */
        "SELECT name FROM singer WHERE country = 'Peru'", /* nothing alike is stored */
        "SELECT trophy FROM singer",                      /* no foreign key to the table */
        "SELECT x FROM quux",                             /* no table alike */
        "SELECT name FROM singer WHERE",                  /* not a statement */
        "DELETE FROM singer",
        "SELECT trophy FROM prize", /* an empty table */
        "WITH s AS (SELECT * FROM singer) SELECT nosuch FROM s",
        "",
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        expect(*state, cases[i], NULL, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_repair, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
