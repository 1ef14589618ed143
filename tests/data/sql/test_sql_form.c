/* Tests of canonical forms. Statements of the same meaning share a form; others do not. SQLite runs all pairs on a
 * small database: rows are equal for the former and different for the latter. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/sql/sql_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] =
    "CREATE TABLE dept (id INTEGER PRIMARY KEY, name TEXT, city TEXT, budget REAL);"
    "CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT, dept_id INTEGER, salary INTEGER, hired INTEGER, boss "
    "INTEGER);"
    "CREATE TABLE task (id INTEGER PRIMARY KEY, emp_id INTEGER, title TEXT, hours INTEGER);"
    "INSERT INTO dept VALUES (1, 'sales', 'Oslo', 10.5), (2, 'lab', 'Rome', 20), (3, 'empty', 'Oslo', 30);"
    "INSERT INTO emp VALUES (1, 'Ann', 1, 100, 2019, NULL), (2, 'Bob', 1, 200, 2020, 1), (3, 'Cid', 2, 300, 2021, 1),"
    " (4, 'Dan', 2, 200, 2022, 3), (5, 'Eve', NULL, 50, 2020, 3), (6, 'Ann', 2, 2, 2023, 2);"
    "INSERT INTO task VALUES (1, 1, 'dig', 3), (2, 1, 'plan', 5), (3, 3, 'dig', 8), (4, 4, 'test', 1), (5, 9, 'rest', "
    "2);"
    "CREATE TABLE museum (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, opened TEXT, version NUMERIC, size REAL);"
    "CREATE TABLE \"odd one\" (\"x, y\" TEXT, x, y, \"a.b\" BLOB);"
    "CREATE TABLE o (\"x, o.y\", x, y); INSERT INTO o VALUES (1, 2, 3);"
    "CREATE VIEW seen AS SELECT id, name, opened FROM museum;"
    "INSERT INTO museum VALUES (1, 'ANN', '2013', '1.2.3', 1), (2, 'bob', '2008', '1.2.4', 2), (3, 'Cid', '2015', "
    "1.2, 3), (4, 'ann', '2013.0', 7, 0.5);"
    "INSERT INTO \"odd one\" VALUES ('p', 'q', 'r', '2013'), ('p', 'q', 's', 2013);";

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct sql_world), script);
}

static const char *const equal[][2] = {
    { "SELECT name FROM emp", "select NAME from EMP" },
    { "SELECT name FROM emp", "SELECT T1.name FROM emp AS T1" },
    { "SELECT name AS who FROM emp", "SELECT emp.name FROM emp" },
    { "SELECT * FROM dept", "SELECT id, name, city, budget FROM dept" },
    { "SELECT t.* FROM dept AS t JOIN emp e ON e.dept_id = t.id",
      "SELECT d.id, d.name, d.city, d.budget FROM emp JOIN dept d ON d.id = emp.dept_id" },
    { "SELECT name FROM emp WHERE salary > 100 AND hired = 2020",
      "SELECT name FROM emp WHERE hired = 2020 AND salary > 100" },
    { "SELECT name FROM emp WHERE salary = 50 OR hired = 2019",
      "SELECT name FROM emp WHERE hired = 2019 OR salary = 50" },
    { "SELECT name FROM emp WHERE (((salary > 100)))", "SELECT name FROM emp WHERE salary > 100" },
    { "SELECT name FROM emp WHERE name IN ('Ann', 'Bob')", "SELECT name FROM emp WHERE name IN ('Bob', 'Ann', 'Bob')" },
    { "SELECT name FROM emp WHERE name = 'Ann' OR name = 'Bob'", "SELECT name FROM emp WHERE name IN ('Bob', 'Ann')" },
    { "SELECT name FROM emp WHERE hired IN (2020)", "SELECT name FROM emp WHERE hired = 2020" },
    { "SELECT name FROM emp WHERE hired BETWEEN 2020 AND 2021",
      "SELECT name FROM emp WHERE hired <= 2021 AND hired >= 2020" },
    { "SELECT name FROM emp WHERE hired NOT BETWEEN 2020 AND 2021",
      "SELECT name FROM emp WHERE hired > 2021 OR hired < 2020" },
    { "SELECT name FROM emp WHERE name = \"Ann\"", "SELECT name FROM emp WHERE name = 'Ann'" },
    { "SELECT name FROM emp WHERE salary > 100.0", "SELECT name FROM emp WHERE salary > 1e2" },
    { "SELECT name FROM emp WHERE salary = '200'", "SELECT name FROM emp WHERE salary = 0200" },
    { "SELECT name FROM emp WHERE name <> 'Ann'", "SELECT name FROM emp WHERE name != 'Ann'" },
    { "SELECT name FROM emp WHERE NOT salary > 100", "SELECT name FROM emp WHERE salary <= 100" },
    { "SELECT name FROM emp WHERE 100 < salary", "SELECT name FROM emp WHERE salary > 100" },
    { "SELECT name FROM emp WHERE NOT name LIKE 'A%'", "SELECT name FROM emp WHERE name NOT LIKE 'A%'" },
    { "SELECT e.name FROM emp e JOIN dept d ON e.dept_id = d.id",
      "SELECT e.name FROM emp e, dept d WHERE d.id = e.dept_id" },
    { "SELECT e.name FROM emp e INNER JOIN dept d ON e.dept_id = d.id WHERE city = 'Oslo'",
      "SELECT e.name FROM dept d CROSS JOIN emp e ON d.city = 'Oslo' WHERE e.dept_id = d.id" },
    { "SELECT title FROM (emp JOIN dept ON dept_id = dept.id) JOIN task ON emp_id = emp.id",
      "SELECT title FROM task, emp, dept WHERE emp_id = emp.id AND dept_id = dept.id" },
    { "SELECT hours FROM task JOIN dept USING (id)", "SELECT hours FROM dept JOIN task ON task.id = dept.id" },
    { "SELECT d.name FROM dept d LEFT JOIN emp e ON e.dept_id = d.id",
      "SELECT dept.name FROM dept LEFT OUTER JOIN emp ON dept.id = emp.dept_id" },
    { "SELECT city, count(*) FROM dept GROUP BY city", "SELECT city, count(1) FROM dept GROUP BY 1" },
    { "SELECT count(*) FROM emp GROUP BY dept_id, hired", "SELECT count(*) FROM emp GROUP BY hired, dept_id" },
    { "SELECT name, salary AS s FROM emp ORDER BY s", "SELECT name, salary FROM emp ORDER BY 2 ASC" },
    { "SELECT name FROM emp ORDER BY id LIMIT 2", "SELECT name FROM emp ORDER BY emp.id LIMIT 2 OFFSET 0" },
    { "SELECT name FROM emp UNION SELECT name FROM dept", "SELECT name FROM dept UNION SELECT name FROM emp" },
    { "SELECT name FROM emp WHERE dept_id IN (SELECT id FROM dept WHERE city = 'Oslo')",
      "SELECT e.name FROM emp e WHERE e.dept_id IN (SELECT d.id FROM dept d WHERE d.city = \"Oslo\")" },
    { "WITH x AS (SELECT id AS k FROM dept) SELECT count(*) FROM x",
      "SELECT count(*) FROM (SELECT id FROM dept) AS t" },
    { "SELECT a.name FROM emp a JOIN emp b ON a.boss = b.id", "SELECT x.name FROM emp x JOIN emp y ON y.id = x.boss" },
    { "SELECT n FROM (SELECT name AS n FROM emp)", "SELECT t.m FROM (SELECT emp.name AS m FROM emp) AS t" },
    { "SELECT name AS n FROM emp UNION ALL SELECT name FROM dept ORDER BY n",
      "SELECT name FROM dept UNION ALL SELECT name FROM emp ORDER BY 1" },
    { "SELECT name FROM emp WHERE NOT EXISTS (SELECT 1 FROM task WHERE emp_id = emp.id)",
      "SELECT e.name FROM emp e WHERE NOT (EXISTS (SELECT 1 FROM task t WHERE e.id = t.emp_id))" },
    { "SELECT e.salary AS s FROM emp e LEFT JOIN task t ON t.hours = s",
      "SELECT emp.salary FROM emp LEFT JOIN task ON hours = emp.salary" },
    { "SELECT id FROM museum WHERE version = '7'", "SELECT id FROM museum WHERE version = 7.0" },
    { "SELECT id FROM museum WHERE size IN (1, 2)", "SELECT id FROM museum WHERE size = 1.0 OR size = '2.0'" },
    { "SELECT id FROM museum WHERE opened = '2013' AND name = 'ann'",
      "SELECT id FROM museum WHERE 'ann' = name AND '2013' = opened" },
    { "SELECT m.id FROM museum m JOIN emp e ON m.name = e.name COLLATE BINARY",
      "SELECT m.id FROM emp e JOIN museum m ON e.name COLLATE BINARY = m.name" },
    { "SELECT m.id FROM museum m JOIN museum o ON m.name = o.name AND m.id < o.id",
      "SELECT m.id FROM museum m, museum o WHERE o.id > m.id AND o.name = m.name" },
    { "SELECT x FROM \"odd one\" WHERE \"a.b\" = 2013", "SELECT x FROM \"odd one\" WHERE 2013.0 = \"a.b\"" },
    { "SELECT p.id FROM (SELECT id FROM dept) p, (SELECT id FROM emp) q WHERE p.id = q.id",
      "SELECT d.id FROM (SELECT id FROM emp) e JOIN (SELECT id FROM dept) d ON e.id = d.id" },
    { "SELECT name FROM emp WHERE NOT NOT salary > 100", "SELECT name FROM emp WHERE salary > 100" },
    { "SELECT name FROM emp WHERE NOT NOT boss", "SELECT name FROM emp WHERE boss" },
    { "SELECT id, title FROM task ORDER BY +2, 0x1", "SELECT id, title FROM task ORDER BY title, id" },
};

static const char *const different[][2] = {
    { "SELECT e.id AS s, e.boss, t.title FROM emp e LEFT JOIN task t ON t.hours = s",
      "SELECT e.id, e.boss AS s, t.title FROM emp e LEFT JOIN task t ON t.hours = s" },
    { "SELECT name FROM emp", "SELECT name FROM dept" },
    { "SELECT name, id FROM emp", "SELECT id, name FROM emp" },
    { "SELECT name FROM emp", "SELECT DISTINCT name FROM emp" },
    { "SELECT name FROM emp WHERE salary > 200", "SELECT name FROM emp WHERE salary >= 200" },
    { "SELECT name FROM emp WHERE salary > 200", "SELECT name FROM emp WHERE salary < 200" },
    { "SELECT name FROM emp WHERE name = 'Ann'", "SELECT name FROM emp WHERE name = 'ann'" },
    { "SELECT name FROM emp WHERE hired = 2020", "SELECT name FROM emp WHERE hired = 2021" },
    { "SELECT name FROM emp WHERE salary = 200 AND hired = 2020",
      "SELECT name FROM emp WHERE salary = 200 OR hired = 2020" },
    { "SELECT name FROM emp WHERE salary = 200 OR hired = 2020 AND id > 2",
      "SELECT name FROM emp WHERE (salary = 200 OR hired = 2020) AND id > 2" },
    { "SELECT name FROM emp WHERE name IN ('Ann', 'Bob')", "SELECT name FROM emp WHERE name NOT IN ('Ann', 'Bob')" },
    { "SELECT name FROM emp WHERE hired BETWEEN 2020 AND 2021",
      "SELECT name FROM emp WHERE hired NOT BETWEEN 2020 AND 2021" },
    { "SELECT name FROM emp WHERE id < boss", "SELECT name FROM emp WHERE boss < id" },
    { "SELECT name FROM emp WHERE boss IS NULL", "SELECT name FROM emp WHERE boss IS NOT NULL" },
    { "SELECT name FROM emp WHERE name LIKE 'A%'", "SELECT name FROM emp WHERE name LIKE '%A'" },
    { "SELECT salary / 3 FROM emp", "SELECT salary / 3.0 FROM emp" },
    { "SELECT salary - id FROM emp", "SELECT id - salary FROM emp" },
    { "SELECT count(boss) FROM emp", "SELECT count(*) FROM emp" },
    { "SELECT count(name) FROM emp", "SELECT count(DISTINCT name) FROM emp" },
    { "SELECT min(salary) FROM emp", "SELECT max(salary) FROM emp" },
    { "SELECT d.name FROM dept d JOIN emp e ON e.dept_id = d.id",
      "SELECT d.name FROM dept d LEFT JOIN emp e ON e.dept_id = d.id" },
    { "SELECT e.name FROM emp e LEFT JOIN dept d ON e.dept_id = d.id AND d.city = 'Oslo'",
      "SELECT e.name FROM emp e LEFT JOIN dept d ON e.dept_id = d.id WHERE d.city = 'Oslo'" },
    { "SELECT e.name FROM emp e LEFT JOIN dept d ON e.dept_id = d.id",
      "SELECT e.name FROM emp e RIGHT JOIN dept d ON e.dept_id = d.id" },
    { "SELECT a.name FROM emp a JOIN emp b ON a.boss = b.id", "SELECT b.name FROM emp a JOIN emp b ON a.boss = b.id" },
    { "SELECT name FROM emp JOIN task ON emp_id = emp.id", "SELECT name FROM emp JOIN task ON emp.id = task.id" },
    { "SELECT count(*) FROM emp GROUP BY hired", "SELECT count(*) FROM emp GROUP BY dept_id" },
    { "SELECT city FROM dept GROUP BY city HAVING count(*) > 1",
      "SELECT city FROM dept GROUP BY city HAVING count(*) >= 1" },
    { "SELECT name FROM emp ORDER BY id", "SELECT name FROM emp ORDER BY id DESC" },
    { "SELECT name FROM emp ORDER BY salary, id", "SELECT name FROM emp ORDER BY id, salary" },
    { "SELECT name FROM emp ORDER BY id LIMIT 2", "SELECT name FROM emp ORDER BY id LIMIT 3" },
    { "SELECT name FROM emp ORDER BY id LIMIT 2", "SELECT name FROM emp ORDER BY id LIMIT 2 OFFSET 1" },
    { "SELECT dept_id FROM emp UNION SELECT id FROM dept", "SELECT dept_id FROM emp UNION ALL SELECT id FROM dept" },
    { "SELECT id FROM dept EXCEPT SELECT dept_id FROM emp", "SELECT dept_id FROM emp EXCEPT SELECT id FROM dept" },
    { "SELECT name FROM emp WHERE id IN (SELECT emp_id FROM task)",
      "SELECT name FROM emp WHERE id IN (SELECT id FROM task)" },
    { "SELECT (SELECT max(hours) FROM task) FROM dept", "SELECT (SELECT min(hours) FROM task) FROM dept" },
    { "SELECT a AS x, b AS y FROM (SELECT 1 AS a, 9 AS b) UNION ALL SELECT 2, 8 ORDER BY x",
      "SELECT a AS y, b AS x FROM (SELECT 1 AS a, 9 AS b) UNION ALL SELECT 2, 8 ORDER BY x" },
    { "SELECT CASE WHEN id > 2 THEN 1 ELSE 0 END FROM emp", "SELECT CASE WHEN id > 2 THEN 0 ELSE 1 END FROM emp" },
    { "SELECT id FROM emp WHERE EXISTS (SELECT 1 FROM task WHERE emp_id = emp.id)",
      "SELECT id FROM emp WHERE EXISTS (SELECT 1 FROM task WHERE emp_id = task.id)" },
    { "SELECT id FROM museum WHERE opened = 2013", "SELECT id FROM museum WHERE opened = 2013.0" },
    { "SELECT id FROM museum WHERE opened IN (2013, 2015)", "SELECT id FROM museum WHERE opened IN (2013.0, 2015)" },
    { "SELECT id FROM museum WHERE CAST(id + 2012 AS TEXT) = 2013",
      "SELECT id FROM museum WHERE CAST(id + 2012 AS TEXT) = 2013.0" },
    { "SELECT id FROM emp WHERE salary LIKE 100", "SELECT id FROM emp WHERE salary LIKE 100.0" },
    { "SELECT id FROM seen WHERE opened = 2013", "SELECT id FROM seen WHERE opened = 2013.0" },
    { "SELECT id FROM museum WHERE +version = '7'", "SELECT id FROM museum WHERE +version = 7" },
    { "SELECT name FROM museum WHERE lower(name) IN (name)", "SELECT name FROM museum WHERE lower(name) = name" },
    { "SELECT e.boss FROM seen s JOIN emp e ON s.name = e.name",
      "SELECT e.boss FROM seen s JOIN emp e ON e.name = s.name" },
    { "SELECT m.id FROM (SELECT lower(name) AS n FROM emp) d JOIN museum m ON d.n = m.name",
      "SELECT m.id FROM (SELECT lower(name) AS n FROM emp) d JOIN museum m ON m.name = d.n" },
    { "SELECT y FROM \"odd one\" WHERE \"a.b\" = 2013", "SELECT y FROM \"odd one\" WHERE \"a.b\" = '2013'" },
    { "SELECT id FROM museum WHERE version = '1.2.3'", "SELECT id FROM museum WHERE version = '1.2.4'" },
    { "SELECT opened FROM museum WHERE version = '1.2.3'", "SELECT opened FROM museum WHERE version = 1.2" },
    { "SELECT e.id FROM museum m JOIN emp e ON m.name = e.name",
      "SELECT e.id FROM museum m JOIN emp e ON e.name = m.name" },
    { "SELECT m.id FROM museum m JOIN emp e USING (name)", "SELECT m.id FROM emp e JOIN museum m USING (name)" },
    { "SELECT id FROM museum WHERE opened IN (CAST(version + 2012 AS TEXT))",
      "SELECT id FROM museum WHERE opened = CAST(version + 2012 AS TEXT) OR id = 4" },
    { "SELECT id IS TRUE FROM emp", "SELECT id IS 1 FROM emp" },
    { "SELECT (id < salary) < 5 FROM emp", "SELECT id < (salary < 5) FROM emp" },
    { "SELECT t.id FROM dept d RIGHT JOIN task t USING (id) JOIN emp e USING (id)",
      "SELECT t.id FROM dept d RIGHT JOIN task t ON d.id = t.id JOIN emp e ON d.id = e.id" },
    { "SELECT NOT NOT salary FROM emp", "SELECT salary FROM emp" },
    { "SELECT id FROM emp WHERE (NOT NOT salary) = 1", "SELECT id FROM emp WHERE salary = 1" },
    { "SELECT 3 AND 3", "VALUES (3)" },
    { "SELECT \"x, o.y\" FROM o", "SELECT x, y FROM o" },
    { "SELECT p.id FROM (SELECT id FROM dept) p, (SELECT id + 1 AS id FROM emp) q",
      "SELECT q.id FROM (SELECT id + 1 AS id FROM emp) q, (SELECT id FROM dept) p" },
    { "VALUES (3), (4)", "SELECT 3, 4" },
    { "SELECT title, id FROM task ORDER BY TRUE, 2", "SELECT title, id FROM task ORDER BY +1, 2" },
    { "SELECT d.id FROM dept d FULL JOIN task t USING (id)", "SELECT id FROM dept d FULL JOIN task t USING (id)" },
    { "SELECT hours FROM task ORDER BY hours LIMIT - (-4)", "SELECT hours FROM task ORDER BY hours" },
    { "SELECT name FROM museum ORDER BY 1 COLLATE BINARY, id", "SELECT name FROM museum ORDER BY 1, id" },
    { "SELECT id, salary AS id FROM emp ORDER BY id", "SELECT id, salary FROM emp ORDER BY id" },
    { "SELECT e.name FROM emp e WHERE id < 4 UNION SELECT m.name FROM museum m",
      "SELECT m.name FROM museum m UNION SELECT e.name FROM emp e WHERE id < 4" },
    { "SELECT size FROM museum UNION SELECT id FROM dept", "SELECT id FROM dept UNION SELECT size FROM museum" },
    { "SELECT name FROM museum UNION ALL SELECT name FROM emp ORDER BY 1",
      "SELECT name FROM emp UNION ALL SELECT name FROM museum ORDER BY 1" },
    { "SELECT name FROM dept UNION ALL SELECT name FROM emp LIMIT 2",
      "SELECT name FROM emp UNION ALL SELECT name FROM dept LIMIT 2" },
    { "SELECT name FROM dept, task WHERE dept.id < 3 LIMIT 2",
      "SELECT name FROM task, dept WHERE dept.id < 3 LIMIT 2" },
};

static int compare_lines(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Returns the rows as lines, sorted unless the statement orders them. */
static char *rows_of(sqlite3 *db, const char *sql)
{
    char *lines[200], *all = NULL;
    size_t size;
    int n = 0;
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while (sqlite3_step(s) == SQLITE_ROW && n < 200) {
        FILE *line = open_memstream(&lines[n++], &size);
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const unsigned char *cell = sqlite3_column_text(s, i);
            fprintf(line, "%s|", cell ? (const char *)cell : "NULL");
        }
        fclose(line);
    }
    sqlite3_finalize(s);
    if (!strstr(sql, "ORDER BY"))
        qsort(lines, (size_t)n, sizeof *lines, compare_lines);
    FILE *out = open_memstream(&all, &size);
    for (int i = 0; i < n; i++) {
        fprintf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    fclose(out);
    return all;
}

static void compare_pair(struct sql_world *w, const char *const pair[2], bool same)
{
    struct form_store store = { 0 };
    const struct form *a = sql_world_form(w, &store, pair[0]), *b = sql_world_form(w, &store, pair[1]);
    char *left = rows_of(w->db, pair[0]), *right = rows_of(w->db, pair[1]);
    if ((strcmp(a->text, b->text) == 0) != same)
        fail_msg("%s\n%s\nbecome\n%s\n%s", pair[0], pair[1], a->text, b->text);
    if ((strcmp(left, right) == 0) != same)
        fail_msg("SQLite: %s\n%s\ngives\n%s%s", pair[0], pair[1], left, right);
    free(left);
    free(right);
    form_store_release(&store);
}

static void equivalent_statements_merge(void **state)
{
    assert_in_range(ARRAY_LEN(equal), 30, 100);
    for (int i = 0; i < ARRAY_LEN(equal); i++)
        compare_pair(*state, equal[i], true);
}

static void nearly_equal_statements_do_not(void **state)
{
    assert_in_range(ARRAY_LEN(different), 30, 100);
    for (int i = 0; i < ARRAY_LEN(different); i++)
        compare_pair(*state, different[i], false);
}

/* Each statement has its own form, which differs from the forms of all statements of other pairs. */
static void forms_are_apart(void **state)
{
    struct sql_world *w = *state;
    struct form_store store = { 0 };
    const char *texts[2 * ARRAY_LEN(different)];
    int n = 0;
    for (int i = 0; i < ARRAY_LEN(different); i++)
        for (int side = 0; side < 2; side++)
            texts[n++] = sql_world_form(w, &store, different[i][side])->text;
    for (int i = 0; i < ARRAY_LEN(different); i++)
        for (int side = 0; side < 2; side++)
            assert_string_equal(sql_world_form(w, &store, different[i][side])->text, texts[2 * i + side]);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const char *a = different[i / 2][i % 2], *b = different[j / 2][j % 2];
            if ((strcmp(a, b) == 0) != (strcmp(texts[i], texts[j]) == 0))
                fail_msg("%s and %s: %s", a, b, texts[i]);
        }
    form_store_release(&store);
}

/* The parts of terms from which clarifying questions are made. */
static void terms_name_their_subject(void **state)
{
    struct sql_world *w = *state;
    struct form_store store = { 0 };
    const struct form *form =
        sql_world_form(w, &store,
                       "SELECT count(DISTINCT e.name), city FROM emp e JOIN dept d ON e.dept_id = d.id "
                       "WHERE 2020 < hired GROUP BY city ORDER BY avg(salary) DESC LIMIT 3");
    const struct form_term *count = &form->lists[FORM_SELECT].items[0], *edge = form->lists[FORM_JOIN].items,
                           *hired = form->lists[FORM_WHERE].items, *order = form->lists[FORM_ORDER].items;
    assert_string_equal(count->function, "count distinct");
    assert_string_equal(count->head, "emp.name");
    assert_string_equal(edge->head, "dept,emp");
    assert_string_equal(edge->value, "dept.id = emp.dept_id");
    assert_string_equal(hired->head, "emp.hired");
    assert_string_equal(hired->op, ">");
    assert_string_equal(hired->value, "2020");
    assert_true(hired->constant);
    assert_string_equal(w->schemas.schemas->columns[hired->column].name, "hired");
    assert_string_equal(order->function, "avg");
    assert_string_equal(order->op, "desc");
    assert_string_equal(form->limit, "3");
    form_store_release(&store);
}

/* Each CTE of the chain refers to the previous one twice, so a naive expansion would take 2^30 steps. */
static void hostile_statements_are_refused(void **state)
{
    struct sql_world *w = *state;
    struct form_store store = { 0 };
    struct error err = { 0 };
    char sql[4000] = "WITH t0 AS (SELECT 1 AS x)";
    for (int i = 1; i <= 30; i++)
        snprintf(sql + strlen(sql), sizeof sql - strlen(sql), ", t%d AS (SELECT a.x FROM t%d AS a, t%d AS b)", i, i - 1,
                 i - 1);
    snprintf(sql + strlen(sql), sizeof sql - strlen(sql), " SELECT x FROM t30");
    assert_null(form_of_text(&store, sql, w->schemas.schemas, &w->arena, &err));
    assert_error(err, "too large");
    form_store_release(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equivalent_statements_merge),
        cmocka_unit_test(nearly_equal_statements_do_not),
        cmocka_unit_test(forms_are_apart),
        cmocka_unit_test(terms_name_their_subject),
        cmocka_unit_test(hostile_statements_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
