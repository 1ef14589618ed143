/* Functions and joins of a statement, wherever they stand. */
#include "tests/support/support.h"

#include "data/sql/sql_count.h"

static const struct {
    const char *sql;
    int functions, joins;
} cases[] = {
    { "SELECT a FROM t", 0, 0 },
    { "SELECT count(*), max(lower(a)) FROM t", 3, 0 },
    { "SELECT a FROM t JOIN u ON t.id = u.id LEFT JOIN v USING (id)", 0, 2 },
    { "SELECT a FROM t, u, v WHERE t.id = u.id", 0, 2 },
    { "SELECT a FROM (t JOIN u) JOIN (SELECT 1 FROM v, w)", 0, 3 },
    { "SELECT a FROM t JOIN u ON abs(t.x) = u.x", 1, 1 },
    { "SELECT a FROM t WHERE x IN (SELECT min(x) FROM u JOIN v) AND y NOT IN (1, abs(2))", 2, 1 },
    { "SELECT a FROM t WHERE x IN u", 0, 0 },
    { "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u, v) AND x BETWEEN abs(1) AND (SELECT max(x) FROM w)", 2, 1 },
    { "SELECT a FROM t GROUP BY upper(a) HAVING count(*) > 2 ORDER BY sum(b) DESC, avg(b) LIMIT abs(3) OFFSET abs(1)",
      6, 0 },
    { "SELECT max(a) FROM t UNION SELECT min(a) FROM u JOIN v EXCEPT SELECT a FROM w, x ORDER BY abs(1)", 3, 2 },
    { "WITH c AS (SELECT count(*) AS n FROM t JOIN u), d(n) AS (SELECT 1) SELECT n FROM c JOIN d", 1, 2 },
    { "SELECT sum(a) FILTER (WHERE abs(b) > 1) OVER (PARTITION BY lower(c) ORDER BY upper(d)) FROM t", 4, 0 },
    { "SELECT row_number() OVER w FROM t WINDOW w AS (PARTITION BY abs(a) ORDER BY abs(b))", 3, 0 },
    { "SELECT CASE abs(a) WHEN abs(1) THEN abs(2) ELSE abs(3) END, CAST(abs(a) AS TEXT), -abs(a) FROM t", 6, 0 },
    { "SELECT a FROM t WHERE a LIKE lower('x') ESCAPE upper('y') COLLATE NOCASE", 2, 0 },
    { "VALUES (abs(1), 2), (3, max(4, 5))", 2, 0 },
    { "SELECT value FROM t, json_each(lower(t.a))", 1, 1 },
    { "SELECT 'count(*) JOIN', \"sum(\" FROM t -- max(a) JOIN u", 0, 0 },
};

static void test_counts(void **state)
{
    struct arena arena;
    struct error err;

    (void)state;
    assert_int_equal(arena_init(&arena, 1 << 20, &err), 0);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        arena_reset(&arena, 0);
        const struct sql_query *q = sql_parse(&arena, cases[i].sql, &err);
        if (!q)
            fail_msg("%s: %s", cases[i].sql, err.text);
        struct sql_counts n = sql_count(q);
        if (n.functions != cases[i].functions || n.joins != cases[i].joins)
            fail_msg("%s: expected %d functions and %d joins, got %d and %d", cases[i].sql, cases[i].functions,
                     cases[i].joins, n.functions, n.joins);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
