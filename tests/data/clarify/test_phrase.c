/* Statements in words: a gold of each, and distinct options in every question. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/clarify/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] =
    "CREATE TABLE dept (id INT, name TEXT, city TEXT);"
    "CREATE TABLE emp (id INT, name TEXT, salary REAL, bonus REAL, dept_id INT, boss INT, hired TEXT, note TEXT);"
    "CREATE TABLE \"with space\" (order_id INT, quantity INT, unit_price REAL);"
    "CREATE TABLE loan (id INT, reloan INT, length INT, loan TEXT);"
    "CREATE TABLE loan_item (loan_id INT, quantity INT);"
    "CREATE TABLE wide (a INT, b INT, c INT, d INT, e INT, f INT, g INT, h INT, i INT, j INT, k INT, l INT, m INT);";

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct sql_world), script);
}

static const struct {
    const char *sql, *words;
} golds[] = {
    { "SELECT SUM(quantity*unit_price) FROM \"with space\"",
      "show the sum of (quantity times unit price); read from with space" },
    { "SELECT AVG(q) FROM (SELECT SUM(quantity) AS q FROM \"with space\" GROUP BY order_id)",
      "show the average of (the sum of quantity of with space for each order id of with space); taken from a list of "
      "(the sum of quantity of with space; one row for each order id of with space)" },
    { "SELECT 100.0*COUNT(*)/10 FROM emp", "show 100.0 times the number of rows divided by 10; read from emp" },
    /* a table's name in a longer word, in a value, as a column's, and in another table's */
    { "SELECT reloan*2 FROM loan", "show reloan times 2; read from loan" },
    { "SELECT length || 'loan' FROM loan", "show length followed by 'loan'; read from loan" },
    { "SELECT length(loan)*2 FROM loan", "show the length of loan of loan times 2" },
    { "SELECT i.quantity FROM loan n CROSS JOIN loan_item i", "show quantity of loan item; read from loan" },
    { "SELECT n.length*i.quantity FROM loan n JOIN loan_item i ON n.id=i.loan_id",
      "show length of loan times quantity of loan item" },
    { "SELECT a.length*b.length FROM loan a JOIN loan b",
      "show length of the first loan times length of the second loan" },
    { "SELECT length*2 FROM loan WHERE length > (SELECT avg(m.length) FROM loan m WHERE m.id = loan.id)",
      "show length times 2; only where length of loan is more than (the average of length of loan; only where id of loan is id of the loan in question)" },
    { "SELECT salary*12 FROM emp", "show salary times 12; read from emp" },
    { "SELECT (salary+bonus)*12 FROM emp", "show (salary plus bonus) times 12; read from emp" },
    { "SELECT salary+bonus*12 FROM emp", "show salary plus (bonus times 12); read from emp" },
    { "SELECT salary-(bonus-1) FROM emp", "show salary minus (bonus minus 1); read from emp" },
    { "SELECT e.salary*d.id FROM emp e JOIN dept d ON e.dept_id=d.id", "show salary of emp times id of dept" },
    { "SELECT -salary, salary % 10 FROM emp", "show minus salary of emp, the remainder of salary divided by 10" },
    { "SELECT name || ' ' || note FROM emp", "show name followed by ' ' followed by note; read from emp" },
    { "SELECT 'x', 5, NULL FROM emp", "show 'x', 5, nothing; read from emp" },
    { "SELECT count(note), count(DISTINCT note), total(salary) FROM emp",
      "show the number of values of note of emp, the number of different values of note of emp, the sum of salary of "
      "emp" },
    { "SELECT max(salary-bonus), max(salary,bonus) FROM emp",
      "show the largest value of (salary minus bonus), the largest of salary of emp and bonus of emp" },
    { "SELECT count(*) FILTER (WHERE salary > 1), sum(salary) FILTER (WHERE bonus > 1) FROM emp",
      "show the number of rows where salary of emp is more than 1, the sum of salary of emp among rows where bonus of "
      "emp is more than 1" },
    { "SELECT sum(CASE WHEN salary > 10 THEN 1 ELSE 0 END), sum(salary > 10) FROM emp",
      "show the number of rows where salary of emp is more than 10" },
    { "SELECT sum(CASE WHEN salary > 10 THEN 2 ELSE 0 END) FROM emp",
      "show the sum of (2 if salary is more than 10, otherwise 0); read from emp" },
    { "SELECT CASE dept_id WHEN 1 THEN 'a' END FROM emp",
      "show ('a' if dept id is 1, otherwise nothing); read from emp" },
    { "SELECT round(avg(salary),2), abs(bonus), lower(name), length(name) FROM emp",
      "show (the average of salary of emp) rounded to 2 decimal places, the absolute value of bonus of emp, name of emp "
      "in small letters, the length of name of emp" },
    { "SELECT strftime('%Y',hired), substr(hired,1,4), substr(hired,-2), CAST(hired AS INTEGER) FROM emp",
      "show the year of hired of emp, the first 4 characters of hired of emp, the last 2 characters of hired of emp, "
      "hired of emp as a whole number" },
    { "SELECT date('now'), current_date, coalesce(note,'x') FROM emp",
      "show the date of now, today's date, note of emp ('x' where it is not filled in)" },
    /* no certain words */
    { "SELECT hex(name), id & 3, strftime('%s',hired) FROM emp",
      "show \"HEX(name)\", \"id & 3\", \"STRFTIME('%s', hired)\"; read from emp" },
    { "SELECT sum(salary) OVER (ORDER BY hired ROWS 3 PRECEDING) FROM emp",
      "show \"SUM(salary) OVER (ORDER BY hired ROWS 3 PRECEDING)\"; read from emp" },
    { "SELECT id FROM emp WHERE note = NULL", "show id of emp; only where \"note = NULL\"" },
    { "SELECT id FROM emp WHERE note LIKE 'a\\%' ESCAPE '\\'",
      "show id of emp; only where \"note LIKE 'a\\%' ESCAPE '\\'\"" },
    /* windows */
    { "SELECT rank() OVER (PARTITION BY dept_id ORDER BY salary DESC) FROM emp",
      "show the rank among those of the same dept id of emp in order of salary of emp (the largest first)" },
    { "SELECT sum(salary) OVER (), avg(salary) OVER w FROM emp WINDOW w AS (ORDER BY hired)",
      "show the sum of salary of emp among all rows, the average of salary of emp up to each row in order of hired of emp "
      "(the smallest first)" },
    /* names that lead elsewhere */
    { "SELECT e.name, b.name FROM emp e JOIN emp b ON e.boss=b.id",
      "show name of the first emp, name of the second emp" },
    { "SELECT name FROM emp e WHERE salary > (SELECT avg(salary) FROM emp x WHERE x.dept_id=e.dept_id)",
      "show name of emp; only where salary of emp is more than (the average of salary of emp; only where dept id of emp "
      "is dept id of the emp in question)" },
    { "WITH t AS (SELECT salary+1 AS x FROM emp) SELECT a.x, b.x FROM t a, t b",
      "show salary plus 1 in the first list, salary plus 1 in the second list" },
    { "SELECT n FROM (SELECT name AS n FROM emp UNION SELECT city FROM dept)",
      "show name of emp or city of dept; taken from a list of (name of emp; put together with: show city of dept; keep "
      "rows that are in either result, each once)" },
    { "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c LIMIT 3",
      "show 1 or \"n\" plus 1; taken from a list of (1; put together with: show \"n\" plus 1; keep all rows of both "
      "results, repeats included); only the first 3" },
    { "SELECT salary AS s FROM emp ORDER BY s*2 DESC NULLS LAST",
      "show salary of emp; sorted by salary times 2, the largest first, empty ones behind all" },
    { "SELECT name FROM emp UNION SELECT city FROM dept ORDER BY 1",
      "show name of emp; put together with: show city of dept; keep rows that are in either result, each once; sorted by "
      "name of emp or city of dept, the smallest first" },
    /* conditions */
    { "SELECT id FROM emp WHERE note LIKE '%a%b%' OR note GLOB 'a*'",
      "show id of emp; only where note of emp starts with 'a' or note of emp looks like '%a%b%'" },
    { "SELECT id FROM emp WHERE NOT (salary > 3 AND bonus > 4)",
      "show id of emp; only where it is not so that (salary of emp is more than 3 and bonus of emp is more than 4)" },
    { "SELECT id FROM emp WHERE (salary > 3 OR bonus > 4) AND note",
      "show id of emp; only where (salary of emp is more than 3 or bonus of emp is more than 4) and note of emp is true" },
    { "SELECT id FROM emp WHERE EXISTS (SELECT 1 FROM dept WHERE dept.id=emp.dept_id AND city='x')",
      "show id of emp; only where there is a row of dept where city of dept is 'x' and id of dept is dept id of emp" },
    { "SELECT id FROM emp WHERE id IN (1,2,3,4,5,6,7,8,9,10,11,12,13)",
      "show id of emp; only where id of emp is one of 1, 2, 3 and 10 more" },
    { "SELECT name, count(*) FROM emp GROUP BY strftime('%m',hired) HAVING count(*) > 1",
      "show name of emp, the number of rows; one row for each month of hired of emp; only if the number of rows is more "
      "than 1" },
    /* long lists */
    { "SELECT * FROM wide", "show all 13 columns of wide: a, b, c and 10 more" },
    { "SELECT *, name FROM wide, dept LIMIT -1 OFFSET 2",
      "show (all 13 columns of wide: a, b, c and 10 more), (all 3 columns of dept: id, name, city), name of dept; all but the first 2" },
    { "SELECT b,a,c,d,e,f,g,h,i,j,k,l,m FROM wide", "show b of wide, a of wide, c of wide and 10 more" },
};

static void test_expressions(void **state)
{
    struct sql_world *w = *state;
    for (int i = 0; i < ARRAY_LEN(golds); i++) {
        struct form_store store = { 0 };
        struct strings pool = { 0 };
        const struct form *form = sql_world_form(w, &store, golds[i].sql);
        struct phrase_context p = { .schema = w->schemas.schemas, .pool = &pool, .store = &store };
        const char *words = phrase_query(&p, form);
        if (strcmp(words, golds[i].words) != 0)
            fail_msg("%s\n%s\nis not\n%s", golds[i].sql, words, golds[i].words);
        form_store_release(&store);
        strings_release(&pool);
    }
}

/* Equally probable candidates. */
struct made {
    struct form_store store;
    const struct form *forms[2];
    double p[2];
    struct slots slots;
    struct attributes attributes;
    struct dialogue dialogue;
    struct strings pool;
    int questions;
};

static void check_options(const struct question *q)
{
    for (int k = 0; k < q->n; k++) {
        if (strstr(q->options[k], "(reading ") || strstr(q->options[k], "(null)"))
            fail_msg("%s | %s", q->text, q->options[k]);
        for (int j = 0; j < k; j++)
            if (strcmp(q->options[k], q->options[j]) == 0)
                fail_msg("%s | %s, twice", q->text, q->options[k]);
    }
}

/* All questions about the two statements. */
static void check_questions(struct made *m, const struct schema *s)
{
    struct posterior prior = { m->p, 2, 0 };
    m->p[0] = m->p[1] = 0.5;
    slots_extract(&m->slots, m->forms, 2, s);
    attributes_build(&m->attributes, &m->slots, &prior, 0);
    dialogue_init(&m->dialogue, &dialogue_rules_default, m->attributes.splits, m->attributes.n, &prior);
    struct question_context a = {
        { .schema = s, .pool = &m->pool, .store = &m->store }, &m->attributes, m->forms, &m->dialogue.now, NULL, false
    };
    for (int v = 0; v < m->attributes.n; v++) {
        struct question_view view;
        struct question q;
        assert_true(dialogue_view(&m->dialogue, v, &view));
        question_write(&q, &a, &view);
        check_options(&q);
        m->questions++;
    }
    dialogue_release(&m->dialogue);
    attributes_release(&m->attributes);
    slots_release(&m->slots);
    strings_release(&m->pool);
}

static const char *const alike[][2] = {
    { "SELECT salary*12 FROM emp", "SELECT quantity*12 FROM \"with space\"" },
    { "SELECT name || 'x' FROM emp", "SELECT name || 'x' FROM dept" },
    { "SELECT total(salary) FROM emp", "SELECT sum(salary) FROM emp" },
    { "SELECT count(*) FROM emp", "SELECT count(*) FROM dept" },
    { "SELECT count(*) FILTER (WHERE id > 1) FROM emp", "SELECT count(CASE WHEN id > 1 THEN 1 END) FROM emp" },
    { "SELECT e.name FROM emp e JOIN emp b ON e.boss=b.id", "SELECT b.name FROM emp e JOIN emp b ON e.boss=b.id" },
    { "SELECT a.x FROM (SELECT id+1 AS x FROM emp) a, (SELECT id+1 AS x FROM emp) b",
      "SELECT b.x FROM (SELECT id+1 AS x FROM emp) a, (SELECT id+1 AS x FROM emp) b" },
    { "SELECT id FROM emp WHERE id IN (1,2,3,4,5,6,7,8,9,10,11,12,13)",
      "SELECT id FROM emp WHERE id IN (1,2,3,4,5,6,7,8,9,10,11,12,14)" },
    { "SELECT a,b,c,d,e,f,g,h,i,j,k,l FROM wide, dept", "SELECT a,b,c,d,e,f,g,h,i,j,k,m FROM wide, dept" },
    { "SELECT a,b,c,d,e,f,g,h,i,j,k,l,m FROM wide", "SELECT a,b,c,d,e,f,g,h,i,j,k,m,l FROM wide" },
    { "SELECT id FROM emp WHERE note LIKE 'a%'", "SELECT id FROM emp WHERE note GLOB 'a*'" },
    { "SELECT e.name FROM emp e LEFT JOIN dept d ON e.dept_id=d.id",
      "SELECT e.name FROM emp e LEFT JOIN dept d ON e.boss=d.id" },
    { "SELECT e.name FROM emp e JOIN dept d ON e.dept_id=d.id", "SELECT e.name FROM emp e JOIN dept d ON e.boss=d.id" },
    { "SELECT e.name FROM emp e RIGHT JOIN dept d ON e.boss=d.id",
      "SELECT e.name FROM emp e FULL JOIN dept d ON e.boss=d.id" },
    { "SELECT CAST(name AS REAL) FROM emp", "SELECT CAST(name AS NUMERIC) FROM emp" },
    { "SELECT salary FROM emp", "SELECT +salary FROM emp" },
    { "SELECT id FROM emp WHERE salary = 1", "SELECT id FROM emp WHERE salary IS 1" },
    { "SELECT sum(salary) FROM emp", "SELECT sum(salary) FROM (SELECT salary FROM emp LIMIT 3)" },
    { "SELECT name FROM emp UNION SELECT name FROM dept UNION ALL SELECT city FROM dept",
      "SELECT name FROM emp UNION SELECT name FROM dept EXCEPT SELECT city FROM dept" },
};

static void test_distinct_options_of_pairs(void **state)
{
    struct sql_world *w = *state;
    for (int i = 0; i < ARRAY_LEN(alike); i++) {
        struct made m = { 0 };
        for (int side = 0; side < 2; side++)
            m.forms[side] = sql_world_form(w, &m.store, alike[i][side]);
        check_questions(&m, w->schemas.schemas);
        form_store_release(&m.store);
    }
}

/* Every two consecutive golds of a database. */
static void test_distinct_options_of_golds(void **state)
{
    struct sql_world *w = *state;
    struct schema_set schemas;
    struct error err = { 0 };
    int questions = 0;
    if (!test_shared("data/spider/dev.json"))
        skip();
    assert_int_equal(schema_set_open(&schemas, test_shared("data/spider/tables.json"), &err), 0);
    json_t *records = json_read_file(test_shared("data/spider/dev.json"), &err);
    assert_non_null(records);
    for (size_t i = 0; i + 1 < json_array_size(records); i++) {
        const json_t *pair[] = { json_array_get(records, i), json_array_get(records, i + 1) };
        const char *db_id = json_string_value(json_object_get(pair[0], "db_id"));
        struct made m = { 0 };
        for (int side = 0; side < 2; side++)
            m.forms[side] = form_of_text(&m.store, json_string_value(json_object_get(pair[side], "query")),
                                         schema_find(&schemas, db_id), &w->arena, &err);
        if (m.forms[0] && m.forms[1] && strcmp(m.forms[0]->text, m.forms[1]->text) != 0)
            check_questions(&m, schema_find(&schemas, db_id));
        questions += m.questions;
        form_store_release(&m.store);
    }
    assert_in_range(questions, 900, 10000);
    json_decref(records);
    schema_set_close(&schemas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_distinct_options_of_pairs),
        cmocka_unit_test(test_distinct_options_of_golds),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
