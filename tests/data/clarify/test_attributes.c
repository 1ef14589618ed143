/* Slots and attributes of candidate statements. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/clarify/attributes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] = "CREATE TABLE singer (id INT, name TEXT, age INT, country TEXT, total_sales REAL);"
                             "CREATE TABLE artist (id INT, name TEXT, age INT, country TEXT);"
                             "CREATE TABLE song (id INT, singer_id INT, title TEXT, sales REAL);"
                             "CREATE TABLE employees (id INT, name TEXT, hired INT, dept TEXT);";

enum { CANDIDATES = 8 };

struct world {
    struct sql_world sql; /* first */
    struct form_store store;
    const struct form *forms[CANDIDATES];
    double p[CANDIDATES];
    struct slots slots;
    struct attributes attributes;
};

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct world), script);
}

static void read_forms(struct world *w, const char *const *sql, int n)
{
    for (int i = 0; i < n; i++)
        w->forms[i] = sql_world_form(&w->sql, &w->store, sql[i]);
}

/* p may be NULL for equal probabilities. */
static void build(struct world *w, const char *const *sql, const double *p)
{
    int n = 0;
    while (sql[n])
        n++;
    for (int i = 0; i < n; i++)
        w->p[i] = p ? p[i] : 1.0 / n;
    read_forms(w, sql, n);
    slots_extract(&w->slots, w->forms, n, w->sql.schemas.schemas);
    attributes_build(&w->attributes, &w->slots, &(struct posterior){ w->p, n, 0 }, 0);
}

static void release(struct world *w)
{
    attributes_release(&w->attributes);
    slots_release(&w->slots);
    form_store_release(&w->store);
}

/* "name type 0011; ..." for all attributes but the fallback question. */
static void assert_attributes(struct world *w, const char *want)
{
    char got[2000] = "";
    for (int i = 0; i < w->attributes.n - 1; i++) {
        size_t at = strlen(got);
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%s %s ", i ? "; " : "", w->attributes.list[i].name,
                               question_type_name(w->attributes.list[i].type));
        for (int c = 0; c < w->slots.n_candidates && at < sizeof got - 1; c++)
            at += (size_t)snprintf(got + at, sizeof got - at, "%d", w->attributes.splits[i].value[c]);
    }
    if (strcmp(got, want) != 0)
        fail_msg("\n%s\nis not\n%s", got, want);
    assert_int_equal(w->attributes.list[w->attributes.n - 1].type, QUESTION_QUERY);
}

static const struct {
    const char *sql[CANDIDATES];
    const char *attributes;
} cases[] = {
    { { "SELECT * FROM employees WHERE hired > 2020 AND dept = 'sales'",
        "SELECT id, name FROM employees WHERE hired > 2020 AND dept = 'sales'",
        "SELECT * FROM employees WHERE hired > 2021 AND dept = 'sales'",
        "SELECT id, name FROM employees WHERE hired > 2021 AND dept IN ('sales', 'marketing')" },
      "sel.arity output 0101; where[dept].val value 0001; where[hired].val value 0011" },
    /* a renamed table is one question */
    { { "SELECT T1.name, T1.age FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T1.country = 'Cuba'",
        "SELECT T1.name, T1.age FROM artist AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T1.country = 'Cuba'" },
      "sel#1 table 01" },
    { { "SELECT name FROM singer", "SELECT country FROM singer", "SELECT age FROM singer" }, "sel#1 column 012" },
    { { "SELECT max(age) FROM singer", "SELECT min(age) FROM singer", "SELECT age FROM singer" },
      "sel#1.agg aggregate 012" },
    { { "SELECT name FROM singer WHERE age > 20", "SELECT name FROM singer WHERE age >= 20" },
      "where[age].op operator 01" },
    { { "SELECT id FROM singer WHERE name = 'x'", "SELECT id FROM singer WHERE country = 'x'" },
      "where-col[=,'x'] column 01" },
    { { "SELECT id FROM singer", "SELECT id FROM singer WHERE age > 3" }, "where[age] condition 01" },
    { { "SELECT id FROM singer WHERE age > 3 AND name = 'x'", "SELECT id FROM singer WHERE age > 3 OR name = 'x'" },
      "where.logic logic 01" },
    { { "SELECT id FROM singer WHERE age BETWEEN 3 AND 5", "SELECT id FROM singer WHERE age BETWEEN 3 AND 6" },
      "where[age].val value 01" },
    { { "SELECT name FROM singer", "SELECT DISTINCT name FROM singer" }, "sel.distinct distinct 01" },
    { { "SELECT name, id FROM singer", "SELECT id, name FROM singer" }, "sel.order sequence 01" },
    { { "SELECT count(*) FROM singer GROUP BY country", "SELECT count(*) FROM singer GROUP BY age" },
      "group group 01" },
    { { "SELECT name FROM singer ORDER BY age", "SELECT name FROM singer ORDER BY age DESC",
        "SELECT name FROM singer ORDER BY id" },
      "order#1.dir direction 010; order#1.expr sort 001" },
    { { "SELECT name FROM singer ORDER BY age LIMIT 1", "SELECT name FROM singer ORDER BY age LIMIT 3",
        "SELECT name FROM singer ORDER BY age" },
      "limit limit 012" },
    { { "SELECT name FROM singer JOIN song ON singer_id = singer.id",
        "SELECT name FROM singer LEFT JOIN song ON singer_id = singer.id" },
      "join(singer,song) join 01" },
    { { "SELECT sum(sales) FROM song GROUP BY singer_id", "SELECT total_sales FROM singer" },
      "sel#1 stored-aggregate 01" },
    { { "SELECT name FROM singer UNION SELECT name FROM artist",
        "SELECT name FROM singer EXCEPT SELECT name FROM artist",
        "SELECT name FROM singer EXCEPT SELECT country FROM artist" },
      "arm2/sel#1 column 001; setop set 011" },
    { { "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song WHERE sales > 3)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song WHERE sales > 4)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song)",
        "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM song)" },
      "where[id].op operator 0001; where[id]/where[sales] condition 0122" },
    { { "SELECT country FROM singer GROUP BY country HAVING count(*) > 3",
        "SELECT country FROM singer GROUP BY country HAVING count(*) > 4",
        "SELECT country FROM singer GROUP BY country HAVING sum(age) > 4" },
      "having[*] column 001; having[*].val value 011" },
    { { "SELECT x FROM (SELECT max(age) AS x FROM singer)", "SELECT y FROM (SELECT min(age) AS y FROM singer)" },
      "from(1)/sel#1.agg aggregate 01" },
};

static void test_attributes_of_slots(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        build(w, cases[i].sql, NULL);
        assert_attributes(w, cases[i].attributes);
        release(w);
    }
}

/* No two candidates have the same value of every attribute. */
static void test_distinct_candidates(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        build(w, cases[i].sql, NULL);
        for (int a = 0; a < w->slots.n_candidates; a++)
            for (int b = 0; b < a; b++) {
                bool apart = false;
                for (int v = 0; v < w->attributes.n - 1; v++)
                    apart = apart || w->attributes.splits[v].value[a] != w->attributes.splits[v].value[b];
                if (!apart)
                    fail_msg("%s and %s", cases[i].sql[a], cases[i].sql[b]);
            }
        release(w);
    }
}

/* Three conditions of one candidate each have .29 bit alone and more in pairs. */
static void test_pairs_of_attributes(void **state)
{
    struct world *w = *state;
    static const char *const sql[] = { "SELECT id FROM singer WHERE age > 1 AND name = 'x'",
                                       "SELECT id FROM singer WHERE age > 2 AND name = 'x'",
                                       "SELECT id FROM singer WHERE age > 1 AND name = 'y'",
                                       "SELECT country FROM singer WHERE age > 1 AND name = 'x'", NULL };
    static const double p[] = { 0.85, 0.05, 0.05, 0.05 };
    build(w, sql, p);
    assert_attributes(w, "sel#1 column 0001; where[age].val value 0100; where[age].val + where[name].val value 0120; "
                         "where[name].val value 0010");
    double mass[4];
    posterior_masses(mass, &(struct posterior){ w->p, 4, 0 }, &w->attributes.splits[2]);
    assert_true(entropy_of(mass, 3) >= 0.5);
    release(w);
}

/* The least cost of all permutations. */
static double least_by_force(const double *cost, int n, int row, unsigned used)
{
    double least = row == n ? 0 : INFINITY;
    for (int j = 0; row < n && j < n; j++)
        if (!(used >> j & 1))
            least = fmin(least, cost[row * n + j] + least_by_force(cost, n, row + 1, used | 1u << j));
    return least;
}

static void test_least_cost_assignment(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        int n = 1 + round % 7, column_of[7];
        double cost[49], sum = 0;
        unsigned used = 0;
        for (int i = 0; i < n * n; i++) {
            seed = seed * 1664525u + 1013904223u;
            cost[i] = (double)(seed >> 24) / (round % 2 ? 1 : 64);
        }
        assign_least_cost(column_of, cost, n);
        for (int i = 0; i < n; i++) {
            assert_false(used >> column_of[i] & 1);
            used |= 1u << column_of[i];
            sum += cost[i * n + column_of[i]];
        }
        assert_true(fabs(sum - least_by_force(cost, n, 0, 0)) < 1e-9);
    }
}

/* The second statement has the outputs in another order, and one more. */
static void test_alignment(void **state)
{
    struct world *w = *state;
    static const char *const sql[] = { "SELECT name, max(age), country FROM singer",
                                       "SELECT total_sales, country, min(age), name FROM singer" };
    struct alignment a;
    read_forms(w, sql, 2);
    const struct form_list *lists[] = { &w->forms[0]->lists[FORM_SELECT], &w->forms[1]->lists[FORM_SELECT] };
    align_terms(&a, lists, 2, w->sql.schemas.schemas);
    static const char *const want[][2] = {
        { "singer.name", "singer.name" },
        { "max(singer.age)", "min(singer.age)" },
        { "singer.country", "singer.country" },
        { NULL, "singer.total_sales" },
    };
    assert_int_equal(a.n_places, 4);
    for (int k = 0; k < 8; k++)
        if (want[k / 2][k % 2])
            assert_string_equal(a.terms[k]->text, want[k / 2][k % 2]);
        else
            assert_null(a.terms[k]);
    alignment_release(&a);
    form_store_release(&w->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_of_slots), cmocka_unit_test(test_distinct_candidates),
        cmocka_unit_test(test_pairs_of_attributes), cmocka_unit_test(test_least_cost_assignment),
        cmocka_unit_test(test_alignment),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
