/* Tests records of the resolved query: names that are SQL keywords, quotes, aliases, sub-queries, keys. Rejected
 * records are counted and leave no database behind. */
#include "tests/support/ambiguate_run.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The key of "note" has a NULL; that of "seat" is of two columns; "log" has none. */
static const char script[] =
    "CREATE TABLE \"order\"(id INTEGER PRIMARY KEY, note TEXT, \"order\" INT, client_id INT REFERENCES client(id));"
    "CREATE TABLE client(id INTEGER PRIMARY KEY, name TEXT, age INT, \"two words\" TEXT, \"select\" INT);"
    "CREATE TABLE stock(id INTEGER PRIMARY KEY, count INT, max INT, price INT, name TEXT);"
    "CREATE TABLE seat(hall INT, number INT, colour TEXT, price INT, PRIMARY KEY (hall, number));"
    "CREATE TABLE note(code TEXT PRIMARY KEY, colour TEXT, weight INT);"
    "CREATE TABLE log(day TEXT, colour TEXT, weight INT); CREATE INDEX by_day ON log(day);"
    "CREATE VIEW heavy AS SELECT colour FROM log WHERE weight > 3;"
    "INSERT INTO \"order\" VALUES (1, 'a', 3, 1), (2, 'b', 4, 2), (3, 'order', 5, 1);"
    "INSERT INTO client VALUES (1, 'Udo', 30, 'x', 1), (2, 'Eva', 40, 'y', 2), (3, 'order', 50, 'z', 3);"
    "INSERT INTO stock VALUES (1, 3, 9, 5, 'pen'), (2, 4, 8, 7, 'ink'), (3, 5, 7, 9, 'count');"
    "INSERT INTO seat VALUES (1, 1, 'red', 3), (1, 2, 'blue', 4), (2, 1, 'red', 7);"
    "INSERT INTO note VALUES ('a', 'red', 3), (NULL, 'blue', 4), (NULL, 'green', 5);"
    "INSERT INTO log VALUES ('mon', 'red', 3), ('tue', 'blue', 4);";

static int set_up(void **state)
{
    sqlite3 *db = NULL;

    *state = test_dir_new();
    assert_int_equal(sqlite3_open(test_file(*state, "harbour_0.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, script, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

/* Returns the records of a query of one type, made with some more options.  *said is the program's output, which the
 * caller frees, unless that is NULL. */
static json_t *ask(const char *dir, const char *kind, const char *sql, const char *more, char **said)
{
    char arguments[512];

    test_file(dir, "q.jsonl", ambiguate_question("Which?", sql));
    snprintf(arguments, sizeof arguments, "--kinds %s --questions $/q.jsonl --db $ %s", kind, more);
    return ambiguate_run(dir, arguments, 0, said);
}

struct wanted {
    const char *kind, *sql;
    int n;                     /* records */
    const char *one, *another; /* readings of the last */
};

static void assert_wanted(const char *dir, const struct wanted *w, const char *more)
{
    json_t *records = ask(dir, w->kind, w->sql, more, NULL);

    if ((int)json_array_size(records) != w->n)
        fail_msg("%s: %s: %zu records, expected %d", w->kind, w->sql, json_array_size(records), w->n);
    if (w->n > 0) {
        assert_string_equal(ambiguate_field(records, (size_t)w->n - 1, "query1"), w->one);
        assert_string_equal(ambiguate_field(records, (size_t)w->n - 1, "query2"), w->another);
    }
    json_decref(records);
}

static const struct wanted wanted[] = {
    /* tables */
    { "T", "SELECT name FROM client ORDER BY age DESC LIMIT 1", 1,
      "select name from customer order by age desc limit 1",
      "select name from client_record order by age desc limit 1" },
    { "T", "SELECT \"order\", 'order', note AS \"order\" FROM `order` AS o ORDER BY o.[order]", 1,
      "select \"order\", 'order', note as \"order\" from `order_of_magnitude` as o order by o.[order]",
      "select \"order\", 'order', note as \"order\" from `order_record` as o order by o.[order]" },
    { "T", "SELECT [Order].note, \"ORDER\".* FROM [Order] WHERE `order`.note = 'from order '", 1,
      "select [order_of_magnitude].note, \"order_of_magnitude\".* from [order_of_magnitude] where `order_of_magnitude`.note = 'from order '",
      "select [order_record].note, \"order_record\".* from [order_record] where `order_record`.note = "
      "'from order '" },
    { "T", "SELECT client.name FROM stock AS client", 1, "select client.name from inventory as client",
      "select client.name from stock_record as client" },
    { "T", "WITH client AS (SELECT name FROM stock) SELECT name FROM client", 1,
      "with client as (select name from inventory) select name from client",
      "with client as (select name from stock_record) select name from client" },
    { "T", "SELECT name FROM client WHERE EXISTS (SELECT 1 FROM `order` WHERE client_id = client.id)", 2,
      "select name from customer where exists (select 1 from `order` where client_id = customer.id)",
      "select name from client_record where exists (select 1 from `order` where client_id = client_record.id)" },
    { "T", "SELECT name FROM client WHERE id IN (SELECT client_id FROM \"order\")", 2,
      "select name from customer where id in (select client_id from \"order\")",
      "select name from client_record where id in (select client_id from \"order\")" },
    /* columns */
    { "C", "SELECT \"two words\", name FROM client WHERE name != 'name' AND \"two words\" = \"name\"", 2,
      "select \"two_words\", name from client where name != 'name' and \"two_words\" = \"name\"",
      "select \"two_lyric\", name from client where name != 'name' and \"two_lyric\" = \"name\"" },
    { "C", "SELECT count(count) FROM stock WHERE max > 1 -- the count\n GROUP BY [count]", 1,
      "select count(counting) from stock where max > 1 group by [counting]",
      "select count(numeration) from stock where max > 1 group by [numeration]" },
    { "C", "SELECT max FROM stock AS s, (SELECT max(max) AS top FROM stock) WHERE s.max = top", 1,
      "select maximum from stock as s, (select max(maximum) as top from stock) where s.maximum = top",
      "select soap from stock as s, (select max(soap) as top from stock) where s.soap = top" },
    { "C", "SELECT * FROM stock", 0, NULL, NULL },
    { "C", "SELECT age AS note FROM client ORDER BY note", 0, NULL, NULL },
    { "C", "SELECT colour FROM (SELECT colour AS colour FROM log)", 0, NULL, NULL },
    { "C", "SELECT colour FROM seat NATURAL JOIN log", 0, NULL, NULL },
    { "C", "SELECT weight FROM note JOIN log USING (weight)", 0, NULL, NULL },
    /* split tables */
    { "J", "SELECT count(name), price FROM stock", 2, "select count(name), price from stock",
      "select count(t1.name), t2.price from stock as t1 join stock_price as t2 on t1.id = t2.id" },
    { "J", "SELECT max(max), count FROM stock AS s WHERE s.name = 'count'", 2,
      "select max(max), count from stock as s where s.name = 'count'",
      "select max(t1.max), t2.count from stock as t1 join stock_count as t2 on t1.id = t2.id where t1.name = 'count'" },
    { "J",
      "SELECT name, price FROM stock AS a WHERE price >= (SELECT avg(b.price) FROM stock AS b WHERE b.name = a.name)",
      2,
      "select name, price from stock as a where price >= (select avg(b.price) from stock as b where b.name = a.name)",
      "select t1.name, t2.price from stock as t1 join stock_price as t2 on t1.id = t2.id where t2.price >= (select "
      "avg(t4.price) from stock as t3 join stock_price as t4 on t3.id = t4.id where t3.name = t1.name)" },
    { "J", "SELECT name, price FROM stock WHERE id IN (SELECT t1.id FROM client AS t1)", 2,
      "select name, price from stock where id in (select t1.id from client as t1)",
      "select t2.name, t3.price from stock as t2 join stock_price as t3 on t2.id = t3.id where t2.id in (select t1.id "
      "from client as t1)" },
    { "J", "SELECT\"note\",\"order\"FROM\"order\"WHERE\"note\"='a'", 2,
      "select\"note\",\"order\"from\"order\"where\"note\"='a'",
      "select t1.\"note\",t2.\"order\"from\"order\" as t1 join order_order as t2 on t1.id = t2.id where t1.\"note\"='a'" },
    { "J", "SELECT note, \"order\" FROM \"order\"", 2, "select note, \"order\" from \"order\"",
      "select t1.note, t2.\"order\" from \"order\" as t1 join order_order as t2 on t1.id = t2.id" },
    { "J", "SELECT colour, avg(price) FROM seat GROUP BY colour", 0, NULL, NULL },
    { "J", "SELECT colour, weight FROM log", 0, NULL, NULL },
    { "J", "SELECT colour, weight FROM note", 0, NULL, NULL }, /* rows without a key are lost */
    { "J", "SELECT name, price, * FROM stock", 0, NULL, NULL },
    { "J", "SELECT a.name, b.price FROM stock AS a, stock AS b", 0, NULL, NULL },
    /* stored aggregates */
    { "P", "SELECT name, max(max) FROM stock WHERE name != 'max(max) from' GROUP BY name ORDER BY max(max) LIMIT 2", 1,
      "select name, max(max) from stock where name != 'max(max) from' group by name order by max(max) limit 2",
      "select name, max_max from stock_max where name != 'max(max) from' group by name order by max_max limit 2" },
    { "P",
      "SELECT \"two words\", avg(\"select\") FROM client GROUP BY \"two words\" ORDER BY avg(\"select\") DESC LIMIT 1",
      1,
      "select \"two words\", avg(\"select\") from client group by \"two words\" order by avg(\"select\") desc limit 1",
      "select \"two words\", avg_select from client_select order by avg_select desc limit 1" },
    { "P", "SELECT count(*), sum(o.\"order\") FROM \"order\" AS o", 1,
      "select count(*), sum(o.\"order\") from \"order\" as o", "select number, sum_order from order_order" },
    { "P", "SELECT max(age)FROM\"client\"WHERE\"name\"='Udo'GROUP BY\"name\"LIMIT 1", 1,
      "select max(age)from\"client\"where\"name\"='Udo'group by\"name\"limit 1",
      "select max_age from client_age where name='Udo'group by name limit 1" },
    { "P", "SELECT max(age) FROM client WHERE age > (SELECT avg(age) FROM client)", 0, NULL, NULL },
    { "P", "SELECT sum(number), count(*) FROM seat GROUP BY number", 0, NULL, NULL }, /* two columns "number" */
};

static void names_are_found_by_the_grammar(void **state)
{
    for (int i = 0; i < ARRAY_LEN(wanted); i++)
        assert_wanted(*state, &wanted[i], "");
}

/* A question of the type, and the fault of its records. */
static const struct {
    const char *kind, *sql, *says;
} left_out[] = {
    { "C", "SELECT mast FROM client", "C: 0 records.* 1 left out (query does not parse or resolve 1)" },
    { "C", "SELECT colour FROM seat NATURAL JOIN log", "C: 0 records.* 1 left out (unsupported query form 1)" },
    { "J", "SELECT colour, avg(price) FROM seat GROUP BY colour",
      "J: 0 records.* 2 left out (no key of one column 2)" },
    { "J", "SELECT colour, weight FROM note", "J: 0 records.* 2 left out (rows differ from the query 2)" },
    { "T", "SELECT name AS customer FROM client", "T: 0 records.* 1 left out (name in use 1)" },
    { "P", "SELECT max(age) FROM client WHERE age > (SELECT 1)",
      "P: 0 records.* 1 left out (unsupported query form 1)" },
    { "D", "SELECT \"age\" FROM client", "D: 0 records.* 1 left out (an interpretation fails 1)" }, /* a string then */
};

/* Returns the number of files in the folder of databases. */
static int count_files(const char *dir)
{
    char made[512];
    int n = 0;

    snprintf(made, sizeof made, "%s/made", dir);
    DIR *d = opendir(made);
    assert_non_null(d);
    for (const struct dirent *entry; (entry = readdir(d));)
        n += *entry->d_name != '.';
    closedir(d);
    return n;
}

static void assert_said(const char *said, const char *words)
{
    const char *gap = strstr(words, ".*");

    if (strncmp(said, words, (size_t)(gap - words)) != 0 || !strstr(said, gap + 2))
        fail_msg("said %s", said);
}

static void records_that_fail_are_counted_and_leave_nothing(void **state)
{
    for (int i = 0; i < ARRAY_LEN(left_out); i++)
        for (int made = 0; made < 2; made++) {
            char arguments[512], *said;
            test_file(*state, "q.jsonl", ambiguate_question("Which age?", left_out[i].sql));
            snprintf(arguments, sizeof arguments, "--kinds %s --questions $/q.jsonl --db $ %s", left_out[i].kind,
                     made ? "--materialise $/made" : "");
            json_decref(ambiguate_run(*state, arguments, 0, &said));
            assert_said(said, left_out[i].says);
            free(said);
            if (made)
                assert_int_equal(count_files(*state), 0);
        }
}

/* A word in double quotes that names nothing is a string: no new name may turn it into a column. */
static void strings_stay_strings(void **state)
{
    json_t *records = ask(*state, "C", "SELECT age FROM client WHERE name = \"years\"", "", NULL);

    assert_int_equal(json_array_size(records), 0);
    json_decref(records);
    records = ask(*state, "C", "SELECT age FROM client WHERE name = \"order\"", "--materialise $/made", NULL);
    assert_int_equal(json_array_size(records), 1);
    assert_non_null(strstr(ambiguate_field(records, 0, "query1"), " where name = \"order\""));
    json_decref(records);
}

/* The file of a record stays; the file of the other filling is removed. */
static void only_the_databases_of_records_stay(void **state)
{
    json_t *records = ask(*state, "C", "SELECT age FROM client WHERE age > 45", "--materialise $/made", NULL);

    assert_int_equal(json_array_size(records), 1);
    assert_int_equal(count_files(*state), 1);
    json_decref(records);
}

/* An index keeps ALTER TABLE from dropping the column, and a view names the table. */
static void a_column_of_an_index_is_deleted_beside_a_view(void **state)
{
    test_file(*state, "q.jsonl", ambiguate_question("Which day?", "SELECT day FROM log"));
    json_t *records = ambiguate_run(*state, "--kinds D --questions $/q.jsonl --db $ --materialise $/made", 0, NULL);
    assert_int_equal(json_array_size(records), 1);
    json_decref(records);
}

/* The schema has a column that the database lacks. */
static void queries_run_on_their_database(void **state)
{
    static const char *const kinds[] = { "C", "T", "D" };

    test_file(
        *state, "tables.json",
        "[{\"db_id\": \"harbour_0\", \"table_names\": [\"client\"], \"table_names_original\": [\"client\"], "
        "\"column_names\": [[-1, \"*\"], [0, \"height\"], [0, \"name\"]], \"column_names_original\": [[-1, \"*\"], "
        "[0, \"height\"], [0, \"name\"]], \"column_types\": [\"text\", \"number\", \"text\"], "
        "\"primary_keys\": [], \"foreign_keys\": []}]");
    test_file(*state, "q.jsonl", ambiguate_question("Which height?", "SELECT height FROM client"));
    for (int i = 0; i < ARRAY_LEN(kinds); i++) {
        char arguments[256], *said;
        snprintf(arguments, sizeof arguments, "--kinds %s --questions $/q.jsonl --schema $/tables.json --db $",
                 kinds[i]);
        json_decref(ambiguate_run(*state, arguments, 0, &said));
        if (!strstr(said, ": 0 records, 1 left out (an interpretation fails 1)"))
            fail_msg("said %s", said);
        free(said);
    }
}

/* ALTER TABLE drops no column of an index, nor of a key. */
static void indexed_columns_can_be_deleted(void **state)
{
    test_file(*state, "q.jsonl", ambiguate_question("Which days?", "SELECT day FROM log"));
    json_t *records = ambiguate_run(*state, "--kinds D --questions $/q.jsonl --db $ --materialise $/made", 0, NULL);

    assert_int_equal(json_array_size(records), 1);
    assert_null(ambiguate_field(records, 0, "materialise_error"));
    assert_int_equal(count_files(*state), 1);
    json_decref(records);
}

/* A dictionary selects AmbiQT's own generator unless an option selects the other one. */
static void the_generator_can_be_named(void **state)
{
    static const char options[] = "--table-synonyms $/names.json --generator ";
    const char *sql = "SELECT client.name FROM client";
    char more[128];

    test_file(*state, "names.json", "{\"harbour_0\": {\"client\": [\"buyer\", \"guest\"]}}");
    snprintf(more, sizeof more, "%s%s", options, "resolved");
    json_t *records = ask(*state, "T", sql, more, NULL);
    assert_string_equal(ambiguate_field(records, 0, "query2"), "select guest.name from guest");
    json_decref(records);
    snprintf(more, sizeof more, "%s%s", options, "ambiqt");
    records = ask(*state, "T", "SELECT client.name FROM client WHERE age > 1", more, NULL);
    assert_string_equal(ambiguate_field(records, 0, "query2"), "select client.name from guest where age > 1");
    json_decref(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found_by_the_grammar, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_that_fail_are_counted_and_leave_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strings_stay_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_databases_of_records_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_column_of_an_index_is_deleted_beside_a_view, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queries_run_on_their_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(indexed_columns_can_be_deleted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_generator_can_be_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
