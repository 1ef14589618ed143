/* Tests of sql_resolve: the schema elements that a statement uses, their places and clauses, and unknown names. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/sql/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] = "CREATE TABLE a (id INTEGER PRIMARY KEY, x INT, y INT);"
                             "CREATE TABLE b (id INT, x INT, z INT);"
                             "CREATE TABLE c (z INT, \"odd name\" TEXT); CREATE TABLE d (w INT);"
                             "CREATE TABLE e (k TEXT PRIMARY KEY, q INT) WITHOUT ROWID;"
                             "CREATE TABLE o (\"true\" INT, w INT, \"False\" INT);"
                             "CREATE INDEX bx ON b (x); INSERT INTO b VALUES (1, 2, 3); ANALYZE;";

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct sql_world), script);
}

/* Each use is its clause, depth and element, in text order. "s0 a.x" is a.x in SELECT of the outermost query; "f1 a" is
 * table a in FROM of a sub-query. The letters are s f o w g h r (ORDER) l. */
static const char *const uses[][2] = {
    { "SELECT 1", "" },
    { "SELECT x FROM a", "s0 a.x, f0 a" },
    { "SELECT A.X, t.x FROM a, B AS t", "s0 a.x, s0 b.x, f0 a, f0 b" },
    { "SELECT * FROM a", "s0 a.id, s0 a.x, s0 a.y, f0 a" },
    { "SELECT t.* FROM a, c t", "s0 c, s0 c.z, s0 c.odd name, f0 a, f0 c" },
    { "SELECT count(*) FROM a WHERE y > 1 GROUP BY x HAVING max(id) > 2 ORDER BY min(y) LIMIT 3",
      "f0 a, w0 a.y, g0 a.x, h0 a.id, r0 a.y" },
    { "SELECT max(x) OVER (PARTITION BY y ORDER BY id) FROM a", "s0 a.x, s0 a.y, s0 a.id, f0 a" },
    { "SELECT sum(x) OVER w FROM a WINDOW w AS (ORDER BY y)", "s0 a.x, f0 a, s0 a.y" },
    { "SELECT count(*) FILTER (WHERE x > 1) FROM a", "s0 a.x, f0 a" },
    { "SELECT y FROM a JOIN b ON a.x = b.x", "s0 a.y, f0 a, f0 b, o0 a.x, o0 b.x" },
    { "SELECT x FROM a JOIN b USING (id, x)", "s0 a.x, f0 a, f0 b, o0 a.id, o0 b.id, o0 a.x, o0 b.x" },
    { "SELECT z FROM a NATURAL JOIN b", "s0 b.z, f0 a, o0 a.id, o0 a.x, f0 b, o0 b.id, o0 b.x" },
    { "SELECT x FROM a RIGHT JOIN b USING (x)", "s0 b.x, f0 a, f0 b, o0 a.x, o0 b.x" },
    { "SELECT * FROM b JOIN c USING (z)", "s0 b.id, s0 b.x, s0 b.z, s0 c.odd name, f0 b, f0 c, o0 b.z, o0 c.z" },
    { "SELECT y, z FROM (a JOIN b ON a.id = b.id) JOIN c USING (z)",
      "s0 a.y, s0 b.z, f0 a, f0 b, o0 a.id, o0 b.id, f0 c, o0 b.z, o0 c.z" },
    { "SELECT t.y FROM (a JOIN c) AS t", "s0 a.y, f0 a, f0 c" },
    /* sub-queries: each is one level deeper; correlated columns count where they are written */
    { "SELECT x FROM a WHERE id IN (SELECT z FROM b WHERE b.x = a.y)",
      "s0 a.x, f0 a, w0 a.id, s1 b.z, f1 b, w1 b.x, w1 a.y" },
    { "SELECT (SELECT max(x) FROM b) FROM a ORDER BY (SELECT z FROM c)", "s1 b.x, f1 b, f0 a, s1 c.z, f1 c" },
    { "SELECT x FROM a WHERE EXISTS (SELECT * FROM c WHERE z = y)",
      "s0 a.x, f0 a, s1 c.z, s1 c.odd name, f1 c, w1 c.z, w1 a.y" },
    { "SELECT x FROM a WHERE x IN d", "s0 a.x, f0 a, w0 a.x, f1 d, s1 d.w" },
    { "SELECT 1 FROM a LIMIT (SELECT x FROM b)", "f0 a, s1 b.x, f1 b" },
    /* derived tables: a column passed through also counts as used in the outer query */
    { "SELECT t.q + 1 FROM (SELECT x AS q, y + 1 AS r FROM a) AS t WHERE r > 1", "s0 a.x, s1 a.x, s1 a.y, f1 a" },
    { "SELECT * FROM (SELECT x, count(*) FROM a)", "s0 a.x, s1 a.x, f1 a" },
    /* outputs named true and false have other names outside */
    { "SELECT \"true\", column1, t.column3 FROM (SELECT * FROM o) AS t",
      "s0 o.true, s0 o.False, s1 o.true, s1 o.w, s1 o.False, f1 o" },
    { "WITH t(\"true\") AS (SELECT w FROM o) SELECT \"true\", column1 FROM t", "s1 o.w, f1 o, s0 o.w" },
    { "SELECT t.\"true\" FROM o AS t", "s0 o.true, f0 o" },
    { "SELECT 1 FROM d NATURAL JOIN (SELECT w, \"true\" FROM o) NATURAL JOIN o",
      "f0 d, o0 d.w, o0 o.w, s1 o.w, s1 o.true, f1 o, o0 d.w, f0 o, o0 o.w" },
    { "SELECT u.k FROM (SELECT t.q AS k FROM (SELECT x AS q FROM a) AS t) AS u", "s0 a.x, s1 a.x, s2 a.x, f2 a" },
    { "WITH t(q) AS (SELECT x FROM a) SELECT q FROM t JOIN t AS v USING (q)", "s1 a.x, f1 a, s0 a.x, o0 a.x" },
    { "WITH a AS (SELECT z AS w FROM c) SELECT w FROM a", "s1 c.z, f1 c, s0 c.z" },
    { "WITH RECURSIVE n(i) AS (SELECT x FROM a UNION SELECT i + b.x FROM n, b) SELECT i FROM n",
      "s1 a.x, f1 a, s1 a.x, s1 b.x, f1 b, s0 a.x" },
    { "SELECT 1 FROM a WHERE (WITH t AS (SELECT a.x AS k) SELECT k FROM t) > 1", "f0 a, s2 a.x, s1 a.x" },
    /* an alias or number uses the columns of its result */
    { "SELECT x + y AS s FROM a ORDER BY s", "s0 a.x, s0 a.y, f0 a, r0 a.x, r0 a.y" },
    { "SELECT x AS y FROM a ORDER BY y", "s0 a.x, f0 a, r0 a.x" },
    { "SELECT x AS y FROM a WHERE y > 1", "s0 a.x, f0 a, w0 a.y" },
    { "SELECT x AS s FROM a WHERE s > 1 GROUP BY s HAVING s > 2", "s0 a.x, f0 a, w0 a.x, g0 a.x, h0 a.x" },
    { "SELECT x, y FROM a GROUP BY 2 ORDER BY 1 DESC", "s0 a.x, s0 a.y, f0 a, g0 a.y, r0 a.x" },
    { "SELECT x, y FROM a ORDER BY +2, 0x1", "s0 a.x, s0 a.y, f0 a, r0 a.y, r0 a.x" },
    { "SELECT x FROM a ORDER BY 99999999999", "s0 a.x, f0 a" },
    { "SELECT * FROM c ORDER BY 2", "s0 c.z, s0 c.odd name, f0 c, r0 c.odd name" },
    { "SELECT x FROM a UNION SELECT z FROM b ORDER BY 1", "s0 a.x, f0 a, s0 b.z, f0 b, r0 a.x, r0 b.z" },
    { "SELECT x FROM a UNION SELECT z FROM b ORDER BY z", "s0 a.x, f0 a, s0 b.z, f0 b, r0 a.x, r0 b.z" },
    { "SELECT x FROM a EXCEPT SELECT z FROM b ORDER BY a.x", "s0 a.x, f0 a, s0 b.z, f0 b, r0 a.x, r0 b.z" },
    /* words that are not columns */
    { "SELECT \"x\", \"no\", true, \"odd name\" FROM a, c", "s0 a.x, s0 c.odd name, f0 a, f0 c" },
    { "SELECT rowid, a.oid FROM a", "s0 a, s0 a, f0 a" },
    { "SELECT t.rowid FROM (SELECT 1 AS k) AS t, a", "f0 a" },
    { "SELECT x FROM main.a WHERE main.a.y = 1", "s0 a.x, f0 a, w0 a.y" },
    { "SELECT value FROM a, json_each(a.x)", "f0 a, f0 a.x" },
    { "SELECT name FROM sqlite_schema", "" },
    { "SELECT a.x FROM a UNION SELECT b.x FROM b UNION SELECT 1 FROM c", "s0 a.x, f0 a, s0 b.x, f0 b, f0 c" },
    /* an alias in ON */
    { "SELECT y + 1 AS s FROM a JOIN b ON s = z", "s0 a.y, f0 a, f0 b, o0 a.y, o0 b.z" },
    { "SELECT y AS s FROM a LEFT JOIN b ON b.x = s", "s0 a.y, f0 a, f0 b, o0 b.x, o0 a.y" },
    { "SELECT x AS s FROM a, json_each(s)", "s0 a.x, f0 a, f0 a.x" },
    { "SELECT x AS s FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON s = b.x)",
      "s0 a.x, f0 a, f1 b, f1 c, o1 a.x, o1 b.x" },
    /* columns that * skips */
    { "SELECT root, t.json FROM json_tree('[1]') AS t", "" },
    { "SELECT * FROM json_each WHERE json = '[1, 2]'", "" },
    { "SELECT * FROM json_each('[1]') JOIN (SELECT '[1]' AS json) USING (json)", "" },
    { "SELECT * FROM json_each('[1]') NATURAL JOIN (SELECT x AS root FROM a)", "s0 a.x, s1 a.x, f1 a" },
    { "SELECT tbl, idx, stat FROM sqlite_stat1", "" },
    /* rowid of the only table that has one; rowid in a set operation */
    { "SELECT rowid FROM a, e", "s0 a, f0 a, f0 e" },
    { "SELECT rowid FROM a UNION SELECT z FROM b ORDER BY rowid", "s0 a, f0 a, s0 b.z, f0 b, r0 a, r0 b.z" },
    { "SELECT oid, x FROM a UNION SELECT z, x FROM b ORDER BY a._rowid_",
      "s0 a, s0 a.x, f0 a, s0 b.z, s0 b.x, f0 b, r0 a, r0 b.z" },
    { "SELECT id FROM a UNION SELECT z FROM b ORDER BY rowid", "s0 a.id, f0 a, s0 b.z, f0 b, r0 a.id, r0 b.z" },
    { "SELECT x FROM a UNION SELECT rowid AS k FROM b ORDER BY b.rowid", "s0 a.x, f0 a, s0 b, f0 b, r0 a.x, r0 b" },
    /* unused windows, and the base of the first window */
    { "SELECT x FROM a WINDOW w AS (ORDER BY nosuch)", "s0 a.x, f0 a" },
    { "SELECT x FROM a WINDOW w AS (ORDER BY y)", "s0 a.x, f0 a, s0 a.y" },
    { "SELECT x FROM a WINDOW w AS (v)", "s0 a.x, f0 a" },
    { "SELECT sum(x) OVER w FROM a WINDOW w AS (nosuch ORDER BY y)", "s0 a.x, f0 a, s0 a.y" },
    { "SELECT sum(x) OVER (w) FROM a WINDOW v AS (ORDER BY y), w AS (v), u AS (ORDER BY nosuch)",
      "s0 a.x, f0 a, s0 a.y" },
};

static char *list_uses(const struct schema *s, const struct sql_uses *u)
{
    static const char letters[] = "sfowghrl";
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < u->n; i++) {
        const struct sql_use *use = &u->list[i];
        fprintf(out, "%s%c%d %s%s%s", i ? ", " : "", letters[use->clause], use->depth, s->tables[use->table].name,
                use->column < 0 ? "" : ".", use->column < 0 ? "" : s->columns[use->column].name);
    }
    fclose(out);
    return text;
}

static void uses_by_clause(void **state)
{
    struct sql_world *w = *state;
    for (int i = 0; i < ARRAY_LEN(uses); i++) {
        struct error err = { 0 };
        struct sql_uses u;
        bool good;
        arena_reset(&w->arena, 0);
        struct sql_query *q = sql_parse(&w->arena, uses[i][0], &err);
        if (!q || sql_resolve(&w->arena, q, w->schemas.schemas, &u, &err))
            fail_msg("%s: %s", uses[i][0], err.text);
        char *text = list_uses(w->schemas.schemas, &u), *program = explain(w->db, uses[i][0], &good);
        if (strcmp(text, uses[i][1]) != 0)
            fail_msg("%s\n  %s\nis not\n  %s", uses[i][0], text, uses[i][1]);
        if (!good)
            fail_msg("SQLite refuses %s: %s", uses[i][0], program);
        char *printed = explain(w->db, sql_print(&w->arena, q), &good);
        if (!good || strcmp(program, printed) != 0)
            fail_msg("%s is printed as %s: %s", uses[i][0], sql_print(&w->arena, q), printed);
        free(text);
        free(program);
        free(printed);
    }
}

static void spans_point_at_the_text(void **state)
{
    struct sql_world *w = *state;
    const char *text = "SELECT  a . \"x\" , t.* FROM a JOIN (SELECT b.z FROM b) AS t ON a.id=t.z ORDER BY 1";
    static const char *const at[] = { "a . \"x\"", "t.*", "a", "b.z", "b", "a.id", "t.z", "1" };
    struct sql_uses u;

    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, text, NULL);
    assert_int_equal(sql_resolve(&w->arena, q, w->schemas.schemas, &u, NULL), 0);
    assert_int_equal(u.n, ARRAY_LEN(at));
    for (int i = 0; i < u.n; i++) {
        assert_int_equal(u.list[i].end - u.list[i].begin, strlen(at[i]));
        assert_memory_equal(text + u.list[i].begin, at[i], strlen(at[i]));
    }
}

/* Names that SQLite refuses too, and the error message. */
static const char *const refused[][3] = {
    { "SELECT q FROM a", "line 1, column 8:", "no column q in a" },
    { "SELECT q", "no column q", "without FROM" },
    { "SELECT a.q FROM a", "line 1, column 8: a has no column q", "it has id, x, y" },
    { "SELECT t.x FROM a", "no table or alias t", "there are a" },
    { "SELECT a.x FROM a AS t", "no table or alias a", "t (a)" },
    { "SELECT q.* FROM a", "no table or alias q", "there are a" },
    { "SELECT *", "line 1, column 8:", "without FROM" },
    { "SELECT x FROM q", "column 15: no table q", "has a, b, c, d" },
    { "SELECT t.\"true\" FROM (SELECT * FROM o) AS t", "t has no column true", "it has column1, w, column3" },
    { "SELECT x FROM other.a", "no database other", "main" },
    { "SELECT x FROM q(1)", "line 1, column 15:", "no table-valued function q" },
    { "SELECT x FROM a, b", "line 1, column 8: column x is ambiguous", "a.x or b.x" },
    { "SELECT x FROM a JOIN b USING (id)", "ambiguous", "a.x or b.x" },
    { "SELECT a.x FROM a, a", "ambiguous", "a.x or a.x" },
    { "SELECT x FROM a JOIN b USING (z)", "line 1, column 31:", "both sides" },
    { "SELECT `no such` FROM a", "no column no such", "in a" },
    { "SELECT [no such] FROM a", "no column no such", "in a" },
    { "SELECT true.x FROM a", "no table or alias true", "a" },
    { "SELECT x FROM a WHERE id IN (SELECT q FROM b)", "line 1, column 37:", "no column q in b, a" },
    { "SELECT x FROM a, (SELECT a.y) AS t", "no table or alias a", "none" },
    { "SELECT (SELECT max(z) FROM c GROUP BY y) FROM a", "line 1, column 39:", "no column y in c" },
    { "SELECT (SELECT z FROM c ORDER BY y) FROM a", "line 1, column 34:", "no column y in c" },
    { "SELECT x AS s, s + 1 FROM a", "line 1, column 16:", "no column s" },
    { "SELECT x FROM a GROUP BY 2", "column 26: expected a column from 1 to 1", "got 2" },
    { "SELECT x FROM a ORDER BY -1", "column 26: expected a column from 1 to 1", "a number below 1" },
    { "SELECT x FROM a ORDER BY 0", "a column from 1 to 1", "a number below 1" },
    { "SELECT x FROM a ORDER BY q", "no column q", "a" },
    { "SELECT x FROM a UNION SELECT z FROM c ORDER BY y", "expected a column of the set operation, got y",
      "line 1, column 48:" },
    { "SELECT x FROM a UNION SELECT x, z FROM b", "expected SELECTs of 1 columns", "got 2" },
    { "VALUES (1, 2), (3)", "expected a row of 2 values", "got 1" },
    { "SELECT x FROM a LIMIT x", "line 1, column 23:", "no column x" },
    { "SELECT y FROM a NATURAL JOIN b ON 1", "line 1, column 30:", "cannot be used with ON or USING" },
    { "SELECT sum(x) OVER w FROM a", "line 1, column 20:", "no window w" },
    { "WITH t(p, q) AS (SELECT x FROM a) SELECT p FROM t", "t: expected 2 columns in the SELECT", "got 1" },
    { "WITH t AS (SELECT * FROM t) SELECT * FROM t", "line 1, column 6:", "t refers to itself" },
    { "WITH t AS (SELECT * FROM u), u AS (SELECT * FROM t) SELECT * FROM t", "t refers to itself", "line 1, column" },
    { "SELECT rowid FROM a, b", "no column rowid", "a, b" },
    { "SELECT rowid FROM e", "no column rowid", "e" },
    { "SELECT e.rowid FROM a, e", "e has no column rowid", "k, q" },
    { "SELECT x FROM a UNION SELECT z FROM b ORDER BY rowid",
      "line 1, column 48:", "expected a column of the set operation, got rowid" },
    { "SELECT json FROM json_each('[1]'), (SELECT 1 AS json)", "ambiguous", "json_each.json" },
    { "SELECT t.json FROM (SELECT * FROM json_each('[1]')) AS t", "no column json", "path" },
    { "SELECT 1 AS s FROM a, (SELECT 1 FROM b JOIN c ON s = b.x)", "no column s", "b, c" },
    { "SELECT sum(x) OVER w FROM a WINDOW w AS (ORDER BY nosuch)", "line 1, column 51:", "no column nosuch" },
    { "SELECT sum(x) OVER (w) FROM a WINDOW v AS (ORDER BY nosuch), w AS (v)",
      "line 1, column 53:", "no column nosuch" },
    { "SELECT x FROM a WINDOW v AS (ORDER BY x), w AS (nosuch)", "line 1, column 49:", "no window nosuch" },
    { "SELECT t.q FROM (SELECT 1 AS k) AS t, a", "t has no column q", "k" },
    { "SELECT x FROM a, json_each(q)", "no column q", "a, json_each" },
    { "SELECT x FROM a WHERE x IN q", "no table q", "a, b, c, d" },
};

static void unknown_names_are_explained(void **state)
{
    struct sql_world *w = *state;
    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        struct error err = { 0 };
        struct sql_uses u;
        bool good;
        arena_reset(&w->arena, 0);
        struct sql_query *q = sql_parse(&w->arena, refused[i][0], &err);
        if (!q)
            fail_msg("%s: %s", refused[i][0], err.text);
        if (sql_resolve(&w->arena, q, w->schemas.schemas, &u, &err) == 0)
            fail_msg("resolved: %s", refused[i][0]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, "SQL at line", refused[i][1], refused[i][2]);
        free(explain(w->db, refused[i][0], &good));
        if (good)
            fail_msg("SQLite takes %s", refused[i][0]);
    }
}

/* SQLite invents a third name here. */
static void truth_beside_its_own_name_is_refused(void **state)
{
    struct sql_world *w = *state;
    struct error err = { 0 };
    struct sql_uses u;

    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, "SELECT * FROM (SELECT \"true\", w AS column1 FROM o)", NULL);
    assert_int_equal(sql_resolve(&w->arena, q, w->schemas.schemas, &u, &err), -1);
    assert_error(err, "SQLite calls column true column1", "add an alias");
}

/* Two gold queries of Spider have such a tail. SQLite parses it, and then refuses to run the statement. */
static void tails_inside_set_operations(void **state)
{
    struct sql_world *w = *state;
    const char *text = "SELECT x FROM a ORDER BY y LIMIT 3 INTERSECT SELECT z FROM b ORDER BY z";
    struct sql_uses u;

    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, text, NULL);
    assert_int_equal(sql_resolve(&w->arena, q, w->schemas.schemas, &u, NULL), 0);
    assert_string_equal(sql_print(&w->arena, q), text);
    char *list = list_uses(w->schemas.schemas, &u);
    assert_string_equal(list, "s0 a.x, f0 a, r0 a.y, s0 b.z, f0 b, r0 a.x, r0 b.z");
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_by_clause),
        cmocka_unit_test(spans_point_at_the_text),
        cmocka_unit_test(unknown_names_are_explained),
        cmocka_unit_test(truth_beside_its_own_name_is_refused),
        cmocka_unit_test(tails_inside_set_operations),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
