/* The choice among candidates without a user: each feature, known right choices, and hostile input. */
#include "tests/support/exec_world.h"
#include "tests/support/support.h"

#include "data/clarify/auto_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 3 };

static int set_up(void **state)
{
    static const char script[] =
        "CREATE TABLE singer (singer_id INTEGER PRIMARY KEY, name TEXT, country TEXT, age INT, birth_place TEXT);"
        "CREATE TABLE song (song_id INTEGER PRIMARY KEY, title TEXT, singer_id INT REFERENCES singer(singer_id),"
        " sales INT, seconds INT, released TEXT);"
        "INSERT INTO singer VALUES (1, 'Ida', 'France', 30, 'Norway'), (2, 'Ole', 'Norway', 40, 'France'),"
        " (3, 'Ann', 'Norway', 22, 'Peru');"
        "INSERT INTO song VALUES (11, 'Rain', 1, 5, 180, '2018-05-01'), (12, 'Sun', 2, 7, 200, '2019-02-11'),"
        " (13, 'Fog', 1, 9, 95, '2019-12-30');";
    return exec_world_set_up(state, sizeof(struct exec_world), script);
}

/* Makes the choice among statements [GROUPS], of which the last may be NULL, with equal votes. */
static void make(struct auto_choice *c, struct exec_world *w, const char *question, const char *const *sql)
{
    const struct auto_question q = { question, w->sql.schemas.schemas, w->db, &w->sql.arena };
    struct auto_group groups[GROUPS] = { 0 };
    struct exec_result results[GROUPS];
    int n = 0;

    for (; n < GROUPS && sql[n]; n++) {
        results[n] = exec_run(w->db, sql[n]);
        groups[n] = (struct auto_group){ .sql = sql[n], .result = &results[n] };
    }
    for (int i = 0; i < n; i++)
        groups[i].vote = 1.0 / n;
    auto_choice_make(c, &q, groups, n);
    for (int i = 0; i < n; i++)
        exec_result_release(&results[i]);
}

static double feature(const struct auto_choice *c, int group, const char *name)
{
    json_t *all = auto_choice_features(c, group);
    double x = json_real_value(json_object_get(all, name));

    json_decref(all);
    return x;
}

static const struct {
    const char *question, *sql[GROUPS], *name;
    double x[2]; /* of the first two statements */
} features[] = {
    { "Who is older than 25?",
      { "SELECT name FROM singer WHERE age > 25", "SELECT name FROM singer" },
      "number_ignored",
      { 0, 1 } },
    { "Singers of 30 or 40 years",
      { "SELECT name FROM singer", "SELECT name FROM singer WHERE age IN (30, '40')" },
      "number_ignored",
      { 2, 0 } },
    { "Who sang \"Rain\"?",
      { "SELECT title FROM song WHERE title = 'rain'", "SELECT title FROM song" },
      "quote_ignored",
      { 0, 1 } },
    { "Singers from Norway",
      { "SELECT name FROM singer WHERE country = 'Norway'", "SELECT name FROM singer" },
      "value_ignored",
      { 0, 1 } },
    { "Singers from Norway",
      { "SELECT name FROM singer", "SELECT name FROM singer WHERE country = 'Norway'",
        "SELECT age FROM singer WHERE country = 'norway'" },
      "value_ignored",
      { 1, 0 } },
    { "Singers from Peru",
      { "SELECT name FROM singer WHERE country = 'Peru'", "SELECT name FROM singer WHERE birth_place = 'Peru'" },
      "value_absent",
      { 1, 0 } },
    { "Songs released in 2019",
      { "SELECT title FROM song WHERE sales > 2019", "SELECT title FROM song WHERE released LIKE '2019%'" },
      "time_unmet",
      { 1, 0 } },
    { "Songs of last year",
      { "SELECT title FROM song WHERE strftime('%Y', released) = strftime('%Y', 'now')", "SELECT title FROM song" },
      "time_unmet",
      { 0, 1 } },
    { "Songs with 2019 sales",
      { "SELECT title FROM song WHERE sales = 2019", "SELECT title FROM song WHERE released LIKE '2019%'" },
      "time_unmet",
      { 0, 0 } },
    { "Songs longer than 190 seconds",
      { "SELECT title FROM song WHERE sales > 190", "SELECT title FROM song WHERE seconds > 190" },
      "unit_unmet",
      { 1, 0 } },
    { "Singers whose songs are longer than 190 seconds on average",
      { "SELECT singer_id FROM song GROUP BY 1 HAVING avg(seconds) > 190",
        "SELECT singer_id FROM song GROUP BY 1 HAVING count(*) > 190",
        "SELECT singer_id FROM song GROUP BY 1 HAVING sum(sales) BETWEEN 190 AND 200" },
      "unit_unmet",
      { 0, 0 } },
    { "Songs of more than 190 kg",
      { "SELECT title FROM song WHERE sales > 190", "SELECT title FROM song WHERE seconds > 190" },
      "unit_unmet",
      { 0, 0 } },
    { "Countries",
      { "SELECT DISTINCT country FROM singer", "SELECT country FROM singer" },
      "distinct_unsaid",
      { 1, 0 } },
    { "Different countries",
      { "SELECT DISTINCT country FROM singer", "SELECT count(DISTINCT country) FROM singer" },
      "distinct_unsaid",
      { 0, 0 } },
    { "Age of singers", { "SELECT avg(age) FROM singer", "SELECT age FROM singer" }, "average_unsaid", { 1, 0 } },
    { "Average age of singers",
      { "SELECT avg(age) FROM singer", "SELECT age FROM singer" },
      "average_unsaid",
      { 0, 0 } },
    { "Name and birth place of singers",
      { "SELECT name FROM singer", "SELECT name, birth_place FROM singer" },
      "named_ignored",
      { 1, 0 } },
    { "Names of singers", { "SELECT name FROM singer", "SELECT country FROM singer" }, "unnamed", { 0, 1 } },
    { "Names of singers", { "SELECT name, age FROM singer", "SELECT name FROM singer" }, "output_unsaid", { 0.5, 0 } },
    { "Names of singers", { "SELECT * FROM singer", "SELECT name, age FROM singer" }, "extra_outputs", { 3, 0 } },
    { "Names of singers",
      { "SELECT name FROM singer ORDER BY nosuch()", "SELECT name FROM singer" },
      "fails",
      { 1, 0 } },
};

static void test_features(void **state)
{
    for (int i = 0; i < ARRAY_LEN(features); i++) {
        struct auto_choice c;
        make(&c, *state, features[i].question, features[i].sql);
        for (int g = 0; g < 2; g++) {
            double x = feature(&c, g, features[i].name);
            if (fabs(x - features[i].x[g]) > 1e-6)
                fail_msg("%s, %s: %s is %g, expected %g", features[i].question, features[i].sql[g], features[i].name, x,
                         features[i].x[g]);
        }
        auto_choice_release(&c);
    }
}

/* The first statement is right. */
static void test_known_choices(void **state)
{
    static const struct {
        const char *question, *sql[GROUPS], *why;
    } cases[] = {
        { "Which singers are from Norway?",
          { "SELECT name FROM singer WHERE country = 'Norway'", "SELECT name FROM singer WHERE country = 'norway'",
            "SELECT name FROM singer" },
          "ignores the value \"Norway\"" },
        { "Titles of songs with more than 6 sales",
          { "SELECT title FROM song WHERE sales > 6", "SELECT title FROM song" },
          "ignores the number 6" },
        { "Titles of songs that were released in 2019",
          { "SELECT title FROM song WHERE released LIKE '2019%'", "SELECT title FROM song WHERE sales > 2019" },
          "the next one has no condition on a date or year" },
        { "Songs longer than 190 seconds",
          { "SELECT title FROM song WHERE seconds > 190", "SELECT title FROM song WHERE sales > 190" },
          "the next one compares 190 with a column of another unit" },
        { "List the age of each singer.", { "SELECT age FROM singer", "SELECT name FROM singer" }, "name" },
        { "Name of each singer", { "SELECT name FROM singer", "SELECT * FROM singer" }, "more columns" },
        { "Name of each singer", { "SELECT name FROM singer", "SELECT nosuch FROM singer" }, "does not run" },
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct auto_choice c;
        double sum;
        make(&c, *state, cases[i].question, cases[i].sql);
        if (c.best != 0)
            fail_msg("%s: chose %s", cases[i].question, cases[i].sql[c.best]);
        if (!strstr(auto_choice_why(&c), cases[i].why))
            fail_msg("%s: expected \"%s\" in \"%s\"", cases[i].question, cases[i].why, auto_choice_why(&c));
        sum = c.p_none;
        for (int g = 0; g < c.n; g++)
            sum += c.p[g];
        assert_true(fabs(sum - 1) < 1e-9 && c.p[0] > c.p[1] && c.p_none > 0);
        auto_choice_release(&c);
    }
}

static void test_one_group(void **state)
{
    static const char *const sql[GROUPS] = { "SELECT name FROM singer" };
    struct auto_choice c;

    make(&c, *state, "Names", sql);
    assert_int_equal(c.best, 0);
    assert_int_equal(c.second, -1);
    assert_string_equal(auto_choice_why(&c), "All candidates return the same rows.");
    auto_choice_release(&c);
}

/* Texts that cannot be read leave the features of the votes alone, and nothing is written beyond an end. */
static void test_hostile(void **state)
{
    static const char *const sql[GROUPS] = { "SELECT 'a\xff' FROM", "\"",
                                             "SELECT name FROM singer WHERE name = '\xff'" };
    char *longest = xmalloc(100001);
    struct auto_choice c;

    memset(longest, 's', 100000);
    longest[100000] = 0;
    const char *const questions[] = { "", "\xff\xfe", "\"unclosed 1e999 'quote", longest };
    for (int i = 0; i < ARRAY_LEN(questions); i++) {
        make(&c, *state, questions[i], sql);
        for (int g = 0; g < c.n; g++)
            assert_true(c.p[g] >= 0 && c.p[g] <= 1);
        auto_choice_release(&c);
    }
    free(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_features, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_known_choices, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_one_group, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_hostile, set_up, exec_world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
