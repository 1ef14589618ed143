/* Tests of sql_check: its verdicts must agree with SQLite in both directions. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/sql/sql_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] = "CREATE TABLE t (a INT, b INT, c TEXT); CREATE TABLE u (a INT, x INT);";

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct sql_world), script);
}

/* Returns the error of a statement, from parsing, resolving or checking, or NULL. */
static const char *refused(struct sql_world *w, const char *sql, struct error *err)
{
    const struct schema *s = w->schemas.schemas;
    struct sql_uses uses;

    *err = (struct error){ 0 };
    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, sql, err);
    return q && sql_resolve(&w->arena, q, s, &uses, err) == 0 && sql_check(q, s, err) == 0 ? NULL : err->text;
}

/* Returns whether this version of SQLite accepts the statement. */
static bool hold_against_sqlite(struct sql_world *w, const char *sql)
{
    struct error err;
    bool good;
    char *said = explain(w->db, sql, &good);
    const char *why = refused(w, sql, &err);

    if (good != !why)
        fail_msg("%s\nSQLite: %s\nhere: %s", sql, good ? "takes it" : said, why ? why : "is taken");
    if (why && err.code != EXIT_CODE_DATA)
        fail_msg("%s: %s", sql, why);
    free(said);
    return good;
}

static const char *const statements[] = {
    "SELECT random(*)",
    "SELECT 0x10000000000000000",
    "SELECT a FROM t WHERE a < 0XFFFFFFFFFFFFFFFFF",
    "SELECT 0x0000000000000000ff",
    "SELECT 0xFFFFFFFFFFFFFFFF",
    "SELECT abs(DISTINCT a) FROM t",
    "SELECT a FROM t ORDER BY sum(b)",
    "SELECT a FROM t ORDER BY sum(b)+a LIMIT 1",
    "SELECT a FROM t GROUP BY row_number() OVER ()",
    "SELECT a FROM t GROUP BY sum(a)",
    "SELECT sum(a) AS s FROM t GROUP BY s",
    "SELECT sum(a) FROM t GROUP BY 1",
    "SELECT a FROM t GROUP BY 5",
    "SELECT a FROM t ORDER BY 5",
    "SELECT sum(a) AS s FROM t WHERE s>1",
    "SELECT sum(a) AS s, sum(s) FROM t",
    "SELECT a FROM t HAVING a>1",
    "SELECT a FROM t HAVING sum(a)>1",
    "SELECT sum(a) FROM t HAVING a>1",
    "SELECT (SELECT sum(t.a) FROM u) FROM t HAVING a>1",
    "SELECT count(*) FROM t WHERE sum(a)>1",
    "SELECT (SELECT count(*) FROM u WHERE sum(t.b)>x) FROM t",
    "SELECT (SELECT x FROM u WHERE sum(t.b)>x) FROM t",
    "SELECT (SELECT x FROM u GROUP BY x HAVING sum(t.b)>x) FROM t",
    "SELECT a FROM t WHERE row_number() OVER ()>1",
    "SELECT row_number() OVER () AS r FROM t WHERE r>1",
    "SELECT row_number() OVER () AS r FROM t GROUP BY a HAVING r>1",
    "SELECT sum(a) OVER (ORDER BY row_number() OVER ()) FROM t",
    "SELECT sum(sum(a)) OVER () FROM t",
    "SELECT sum(sum(a)) FROM t",
    "SELECT row_number() FROM t",
    "SELECT row_number() FILTER (WHERE a) OVER () FROM t",
    "SELECT sum(DISTINCT a) OVER () FROM t",
    "SELECT abs(a) OVER () FROM t",
    "SELECT abs(a) FILTER (WHERE a) FROM t",
    "SELECT sum(a) FILTER (WHERE sum(a)) FROM t",
    "SELECT group_concat(DISTINCT a, b) FROM t",
    "SELECT count(DISTINCT) FROM t",
    "SELECT count(DISTINCT *) FROM t",
    "SELECT (1,2)",
    "SELECT (1,2)=(1,2)",
    "SELECT (1,2)=(1,2,3)",
    "SELECT (1,2) IS NULL",
    "SELECT (1,2) IN ((1,2))",
    "SELECT (1,2) IN (SELECT 1,2)",
    "SELECT 1 IN (SELECT 1,2)",
    "SELECT a IN t FROM t",
    "SELECT (a,b,c) IN t FROM t",
    "SELECT (1,2) BETWEEN (1,2) AND (3,4)",
    "SELECT CASE (1,2) WHEN (1,2) THEN 1 END",
    "SELECT (SELECT 1,2)",
    "SELECT (SELECT 1,2)=(1,2)",
    "SELECT abs((1,2))",
    "SELECT a FROM t ORDER BY (1,2)",
    "SELECT a FROM t GROUP BY (a,b)",
    "SELECT a FROM t WHERE (a,b)",
    "SELECT a FROM t WHERE (SELECT 1,2)",
    "SELECT 1 LIMIT (SELECT 1,2)",
    "SELECT 1 LIMIT count(*)",
    "SELECT foo(1)",
    "SELECT max()",
    "SELECT max(*) FROM t",
    "SELECT count() FROM t",
    "SELECT count(a,b) FROM t",
    "SELECT min(a,b) OVER () FROM t",
    "SELECT likelihood(a,2) FROM t",
    "SELECT likelihood(a,0.5) FROM t",
    "SELECT a FROM t WHERE a REGEXP 'x'",
    "SELECT a FROM t WHERE a MATCH 'x'",
    "SELECT sum(a) OVER (ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM t",
    "SELECT sum(a) OVER (RANGE 1 PRECEDING) FROM t",
    "SELECT sum(a) OVER (ORDER BY a,b RANGE 1 PRECEDING) FROM t",
    "SELECT sum(a) OVER (GROUPS 1 PRECEDING) FROM t",
    "SELECT sum(a) OVER w FROM t",
    "SELECT sum(a) OVER (w PARTITION BY a) FROM t WINDOW w AS (ORDER BY b)",
    "SELECT sum(a) OVER (w ORDER BY a) FROM t WINDOW w AS (ORDER BY b)",
    "SELECT sum(a) OVER (w) FROM t WINDOW w AS (ROWS 1 PRECEDING)",
    "SELECT sum(a) OVER w FROM t WINDOW w AS (ROWS 1 PRECEDING)",
    "SELECT * FROM json_each(1,2,3)",
    "SELECT * FROM t JOIN json_each(sum(t.a))",
    "SELECT * FROM t NATURAL JOIN u ON 1",
    "WITH q AS (SELECT foo(1)) SELECT 1",
    "WITH q AS (SELECT foo(1)) SELECT 1 FROM q",
    "SELECT EXISTS(SELECT foo(1))",
    "SELECT EXISTS(SELECT 1,2)",
    "VALUES (1),(2,3)",
    "SELECT 1 UNION VALUES (1,2)",
    "SELECT a FROM t JOIN u ON sum(t.a)=1",
    "SELECT count(*) FROM t JOIN u ON count(*)=1",
    "SELECT a FROM t UNION SELECT a FROM u ORDER BY sum(a)",
    "SELECT a FROM t ORDER BY a UNION SELECT a FROM u",
    "SELECT a FROM t LIMIT 1 UNION SELECT a FROM u",
    "VALUES (1) ORDER BY 1",
    "VALUES (1) LIMIT 1",
    "SELECT count(*) FROM t ORDER BY count(*)",
    "SELECT a FROM t ORDER BY row_number() OVER ()",
    "SELECT sum(row_number() OVER ()) FROM t",
    "SELECT 1 WHERE sum(1)",
    "SELECT sum(1) WHERE 1",
    "SELECT sum((SELECT sum(x) FROM u)) FROM t",
    "SELECT sum((SELECT sum(a) FROM u WHERE x=t.b)) FROM t",
    "SELECT sum((SELECT sum(t.a) FROM u)) FROM t",
    "SELECT a, (SELECT sum(t.a)) FROM t GROUP BY a",
    "SELECT a FROM t WHERE (SELECT sum(t.a) FROM u)>1",
    "SELECT a FROM t WHERE a=(SELECT max(x) FROM u)",
    "SELECT a FROM t GROUP BY (SELECT sum(t.a))",
    "SELECT a FROM t WHERE EXISTS (SELECT sum(t.a))",
    "SELECT lag(a) OVER w, sum(a) FROM t WINDOW w AS (ORDER BY sum(b))",
    "SELECT total(*) FROM t",
    "SELECT a FROM t WHERE (a,b)=(SELECT a,x FROM u)",
    "SELECT a FROM t WHERE (a,b)=(SELECT a FROM u)",
    "SELECT iif((1,2),1,2)",
    "SELECT (a,b)<(1,2) FROM t",
    "SELECT (a,b) IS (1,2) FROM t",
    "SELECT (a,b) IS DISTINCT FROM (1,2) FROM t",
    "SELECT (a,b) LIKE 'x' FROM t",
    "SELECT NOT (a,b) FROM t",
    "SELECT -(SELECT 1,2)",
    "SELECT (1,2) COLLATE nocase = (1,2)",
    "SELECT ((1,2),3)=((1,2),3)",
    "SELECT nth_value(a) OVER () FROM t",
    "SELECT ntile(a) OVER () FROM t",
    "SELECT a FROM t LIMIT a",
    "SELECT CAST((1,2) AS INT)",
    "SELECT 1 FROM t GROUP BY count(*)",
    "SELECT count(*) c FROM t HAVING c>1",
    "SELECT a, count(*) FROM t GROUP BY 2",
    "SELECT sum(a) OVER (PARTITION BY sum(a)) FROM t",
    "SELECT sum(a) FILTER (WHERE row_number() OVER ()) OVER () FROM t",
    "SELECT a FROM t HAVING 1",
    "SELECT DISTINCT sum(a) FROM t HAVING 1",
    "SELECT 1 HAVING 1",
    "SELECT a FROM t WHERE a IN (1,(2,3))",
    "SELECT a FROM t WHERE a IN ((SELECT 1,2))",
    "SELECT a FROM t WHERE a IN ((SELECT 1))",
    "SELECT subtype(1), total_changes()",
    "SELECT count(*) OVER () FROM t HAVING 1",
    "SELECT coalesce(1)",
    "SELECT coalesce()",
    "SELECT json_object(1)",
    "SELECT printf()",
    "SELECT strftime()",
    "SELECT min(a) OVER (), min(1,2) FILTER (WHERE 1) FROM t",
};

static void sqlite_takes_and_refuses_the_same(void **state)
{
    int taken = 0;
    for (int i = 0; i < ARRAY_LEN(statements); i++)
        taken += hold_against_sqlite(*state, statements[i]);
    assert_in_range(taken, 40, ARRAY_LEN(statements) - 60);
}

static const char *const calls[] = { "a",
                                     "1",
                                     "abs(a)",
                                     "abs(a, b)",
                                     "abs()",
                                     "none(a)",
                                     "max(a)",
                                     "max(a, b)",
                                     "max(*)",
                                     "min()",
                                     "sum(a)",
                                     "sum(a, b)",
                                     "sum(DISTINCT a)",
                                     "sum(sum(a))",
                                     "sum(sum(a)) OVER ()",
                                     "count(*)",
                                     "count()",
                                     "count(a, b)",
                                     "count(DISTINCT a)",
                                     "count(DISTINCT a, b)",
                                     "avg(a) OVER ()",
                                     "avg(DISTINCT a) OVER ()",
                                     "abs(a) OVER ()",
                                     "abs(a) FILTER (WHERE 1)",
                                     "sum(a) FILTER (WHERE b)",
                                     "sum(a) FILTER (WHERE sum(b))",
                                     "row_number()",
                                     "row_number() OVER ()",
                                     "row_number() OVER (ORDER BY sum(a))",
                                     "sum(row_number() OVER ())",
                                     "lag(a) OVER ()",
                                     "lag(a, 1, 2, 3) OVER ()",
                                     "ntile(2) FILTER (WHERE a) OVER ()",
                                     "(a, b)",
                                     "(a, b) = (1, 2)",
                                     "(a, b) = (1, 2, 3)",
                                     "(a, b) IN (SELECT 1, 2)",
                                     "a IN (SELECT 1, 2)",
                                     "a IN u",
                                     "(a, b) IN u",
                                     "(a, b) IN ((1, 2), (3, 4))",
                                     "(a, b) IN (1, 2)",
                                     "(SELECT 1, 2)",
                                     "(SELECT sum(x) FROM u)",
                                     "EXISTS (SELECT 1, 2)",
                                     "(a, b) IS NULL",
                                     "CASE (a, b) WHEN (1, 2) THEN 1 END",
                                     "a BETWEEN (1, 2) AND 3",
                                     "CAST((a, b) AS INT)",
                                     "round(a, 1, 2)",
                                     "coalesce(a)",
                                     "coalesce(a, b)",
                                     "iif(a, 1)",
                                     "nullif(a, 1)",
                                     "group_concat(c, ',')",
                                     "group_concat(DISTINCT c, ',')",
                                     "likelihood(a, 0.5)",
                                     "likelihood(a, 5)",
                                     "strftime('%Y', c, 'utc')",
                                     "sum(a) OVER (ORDER BY a, b RANGE 1 PRECEDING)",
                                     "sum(a) OVER (ROWS BETWEEN CURRENT ROW AND 1 PRECEDING)" };
static const char *const places[] = { "SELECT %s FROM t",
                                      "SELECT a FROM t WHERE %s",
                                      "SELECT sum(a) FROM t WHERE %s",
                                      "SELECT a FROM t GROUP BY %s",
                                      "SELECT a FROM t GROUP BY a HAVING %s",
                                      "SELECT a FROM t HAVING %s",
                                      "SELECT a FROM t ORDER BY %s",
                                      "SELECT a FROM t GROUP BY a ORDER BY %s",
                                      "SELECT t.b FROM t JOIN (SELECT x FROM u) ON %s",
                                      "SELECT a + %s FROM t",
                                      "SELECT -%s, 2 FROM t GROUP BY b",
                                      "SELECT abs(%s) FROM t",
                                      "SELECT sum(%s) FROM t",
                                      "SELECT sum(%s) OVER () FROM t",
                                      "SELECT sum(a) OVER (PARTITION BY %s) FROM t",
                                      "SELECT sum(a) OVER (ORDER BY %s) FROM t",
                                      "SELECT x FROM (SELECT %s AS x FROM t)",
                                      "SELECT 1 WHERE 1 IN (SELECT %s FROM t)",
                                      "WITH q AS (SELECT %s FROM t) SELECT * FROM q",
                                      "WITH q AS (SELECT %s FROM t) SELECT 1",
                                      "SELECT b, %s FROM t UNION SELECT a, x FROM u",
                                      "SELECT %s AS z FROM t WHERE z > 1",
                                      "SELECT %s AS z FROM t GROUP BY z",
                                      "SELECT %s AS z FROM t GROUP BY b HAVING z",
                                      "SELECT %s FROM t GROUP BY 1",
                                      "SELECT %s AS z, b FROM t ORDER BY z",
                                      "SELECT CASE WHEN %s THEN 1 ELSE 2 END FROM t" };

/* Places each call in each place. */
static void every_call_in_every_place(void **state)
{
    int taken = 0;
    for (int i = 0; i < ARRAY_LEN(calls); i++)
        for (int k = 0; k < ARRAY_LEN(places); k++) {
            const char *gap = strstr(places[k], "%s");
            char sql[300];
            snprintf(sql, sizeof sql, "%.*s%s%s", (int)(gap - places[k]), places[k], calls[i], gap + 2);
            taken += hold_against_sqlite(*state, sql);
        }
    assert_in_range(taken, 500, ARRAY_LEN(calls) * ARRAY_LEN(places) - 500);
}

static void messages_name_the_place(void **state)
{
    static const char *const rows[][3] = {
        { "SELECT a FROM t\nORDER BY a UNION SELECT a FROM u", "line 2, column 10",
          "ORDER BY after the set operation" },
        { "SELECT a FROM t LIMIT 1 UNION SELECT a FROM u", "line 1, column 23", "LIMIT after the set operation" },
        { "SELECT a,\n  abs(a, b) FROM t", "line 2, column 3", "abs: expected 1 argument, got 2" },
        { "SELECT 'ü', round(a, 1, 2) FROM t", "line 1, column 13", "round: expected 1 to 2 arguments, got 3" },
        { "SELECT none(a) FROM t", "line 1, column 8", "SQLite has no function none" },
        { "SELECT a FROM t WHERE sum(a) > 1", "line 1, column 23", "WHERE: expected no aggregate, got sum" },
        { "SELECT sum(count(a)) FROM t", "line 1, column 12", "sum: expected no aggregate, got count" },
        { "SELECT a FROM t WHERE rank() OVER ()", "line 1, column 23", "WHERE: expected no window function, got rank" },
        { "SELECT a FROM t HAVING a > 1", "line 1, column 24", "HAVING: expected GROUP BY" },
        { "SELECT a FROM t WHERE a IN (SELECT 1, 2)", "line 1, column 29",
          "expected 1 column, got a sub-query with 2" },
        { "SELECT (SELECT 1, 2)", "line 1, column 8", "expected 1 column, got a sub-query with 2" },
        { "VALUES (1, 2), (3)", "line 1, column 16", "expected a row of 2 values, got 1" },
        { "SELECT abs(a) FILTER (WHERE 1) FROM t", "line 1, column 8", "abs with FILTER: expected an aggregate" },
        { "SELECT sum(DISTINCT a) OVER () FROM t", "line 1, column 8", "window function: expected no DISTINCT" },
        { "SELECT count(*) AS n FROM t WHERE n > 1", "line 1, column 35",
          "expected no aggregate, got the alias n of one" },
    };
    for (int i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err;
        assert_false(hold_against_sqlite(*state, rows[i][0]));
        refused(*state, rows[i][0], &err);
        assert_error(err, rows[i][1], rows[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlite_takes_and_refuses_the_same),
        cmocka_unit_test(every_call_in_every_place),
        cmocka_unit_test(messages_name_the_place),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
