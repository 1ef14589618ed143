/* Tests altered databases: values, tables, marks of records, the published form and its filter. */
#include "tests/support/ambiguate_run.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES "--schema $/tables.json --synonyms $/two_col_synonyms.json --table-synonyms $/tables_synonyms.json "

/* The records of a question of one type, with their databases in dir/made. */
static json_t *ask(const char *dir, const char *kind, const char *sql, const char *more)
{
    char arguments[1024];

    test_file(dir, "q.jsonl", ambiguate_question("Which?", sql));
    snprintf(arguments, sizeof arguments,
             "--kinds %s --questions $/q.jsonl --db $ --force --materialise $/made " FILES "%s", kind, more);
    return ambiguate_run(dir, arguments, 0, NULL);
}

/* Returns a query's result on a record's database: cells separated by commas, rows by semicolons. The caller frees it.
 */
static char *run(const char *dir, const json_t *records, size_t i, const char *sql)
{
    char path[4096], *text = NULL;
    size_t size;
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    FILE *f = open_memstream(&text, &size);

    snprintf(path, sizeof path, "%s/made/%s", dir, ambiguate_field(records, i, "db_file"));
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        fail_msg("%s: %s", path, ambiguate_field(records, i, "materialise_error"));
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    for (int row = 0; sqlite3_step(stmt) == SQLITE_ROW; row++)
        for (int c = 0; c < sqlite3_column_count(stmt); c++) {
            const char *cell = (const char *)sqlite3_column_text(stmt, c);
            fprintf(f, "%s%s", c ? "," : row ? ";" : "", cell ? cell : "NULL");
        }
    fclose(f);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return text;
}

static void assert_rows(const char *dir, const json_t *records, size_t i, const char *sql, const char *rows)
{
    char *got = run(dir, records, i, sql);
    assert_string_equal(got, rows);
    free(got);
}

static bool coincides(const json_t *records, size_t i)
{
    return json_is_true(json_object_get(json_array_get(records, i), "coincide"));
}

/* Both interpretations run, and their rows differ if the record says so. */
static void assert_differ(const char *dir, const json_t *records, size_t i)
{
    char *one = run(dir, records, i, ambiguate_field(records, i, "query1"));
    char *other = run(dir, records, i, ambiguate_field(records, i, "query2"));

    assert_string_not_equal(one, "");
    assert_string_not_equal(other, "");
    assert_string_not_equal(one, other);
    assert_false(coincides(records, i));
    free(one);
    free(other);
}

static void second_columns_hold_other_values(void **state)
{
    json_t *r = ask(*state, "C", "SELECT colour, length FROM Boat WHERE length > 9", "");

    assert_int_equal(json_array_size(r), 2);
    assert_differ(*state, r, 0);
    assert_differ(*state, r, 1);
    assert_rows(*state, r, 0, "SELECT hue FROM boat ORDER BY boat_id", "red;blue;red (dark);NULL;green;white;black");
    assert_rows(*state, r, 0, "SELECT count(*) FROM boat WHERE paint IN (SELECT hue FROM boat) OR paint IS NULL", "7");
    json_decref(r);
    r = ask(*state, "C", "SELECT colour FROM Boat WHERE age > 39", ""); /* a single row of its own */
    assert_differ(*state, r, 0);
    json_decref(r);
}

static void second_tables_keep_keys(void **state)
{
    json_t *r = ask(*state, "T", "SELECT count(*) FROM Boat WHERE age > 0", "");
    assert_differ(*state, r, 0);
    assert_rows(*state, r, 0, "SELECT count(*) FROM ship", "7");
    assert_rows(*state, r, 0, "SELECT count(*) FROM SailingVessel WHERE boat_id NOT IN (SELECT boat_id FROM ship)",
                "0");
    json_decref(r);
    r = ask(*state, "T", "SELECT T2.colour, T1.wage FROM crew AS T1 JOIN Boat AS T2 ON T1.boat_id = T2.boat_id", "");
    assert_int_equal(json_array_size(r), 2);
    assert_differ(*state, r, 0);
    assert_differ(*state, r, 1);
    json_decref(r);
}

static void split_tables_are_filled_from_the_parent(void **state)
{
    json_t *r = ask(*state, "J", "SELECT rank, wage FROM crew WHERE wage > 25", "");

    assert_int_equal(json_array_size(r), 2);
    assert_true(coincides(r, 0));
    assert_rows(*state, r, 0, "SELECT * FROM crew_rank ORDER BY crew_id",
                "1,Captain;2,Cook;3,Cook;4,Captain;5,Boy;6,Boy;7,Mate");
    assert_rows(*state, r, 0, ambiguate_field(r, 0, "query2"), "Captain,50;Captain,60;Mate,30");
    json_decref(r);
}

static void aggregates_are_computed(void **state)
{
    json_t *r = ask(*state, "P", "SELECT rank, max(wage), count(*) FROM crew GROUP BY rank", "");
    assert_true(coincides(r, 0));
    assert_rows(*state, r, 0,
                "SELECT rank, sum_wage, avg_wage, min_wage, max_wage, number FROM crew_wage ORDER BY rank",
                "Boy,33,16.5,15,18,2;Captain,110,55.0,50,60,2;Cook,45,22.5,20,25,2;Mate,30,30.0,30,30,1");
    json_decref(r);
    /* rows of several groups fit the condition, each with its own average */
    r = ask(*state, "P", "SELECT avg(wage) FROM crew WHERE boat_id < 6", "");
    assert_differ(*state, r, 0);
    assert_rows(*state, r, 0, ambiguate_field(r, 0, "query2"), "35.0;25.0;37.5");
    json_decref(r);
    r = ask(*state, "P",
            "SELECT count(T2.rank) FROM Boat AS T1 JOIN crew AS T2 ON T1.boat_id = T2.boat_id WHERE "
            "T1.colour = 'red'",
            "");
    assert_rows(*state, r, 0, ambiguate_field(r, 0, "query2"), "2");
    json_decref(r);
    r = ask(*state, "P", "SELECT max(wage) FROM crew WHERE rank = 'Cook'", "--aggregates train");
    assert_rows(*state, r, 0, ambiguate_field(r, 0, "query2"), "25");
    json_decref(r);
}

/* Without a rowid, keys identify the rows, and their order is the order of the rows. */
static void tables_without_rowid_are_altered_too(void **state)
{
    static const char script[] =
        "ALTER TABLE Boat RENAME TO b; ALTER TABLE crew RENAME TO c;"
        "CREATE TABLE Boat (Boat_ID INTEGER, colour TEXT, length REAL, age INTEGER, PRIMARY KEY (Boat_ID, length))"
        " WITHOUT ROWID;"
        "CREATE TABLE crew (crew_id INTEGER, wage INTEGER, rank TEXT COLLATE NOCASE, boat_id INTEGER, leader INTEGER,"
        " PRIMARY KEY (rank, crew_id)) WITHOUT ROWID;"
        "INSERT INTO Boat SELECT * FROM b; INSERT INTO crew SELECT * FROM c; DROP TABLE b; DROP TABLE c;";
    sqlite3 *db = NULL;

    json_t *r = ask(*state, "C", "SELECT colour FROM Boat", "");
    char *hues = run(*state, r, 0, "SELECT hue, paint FROM boat ORDER BY boat_id");
    json_decref(r);
    assert_int_equal(sqlite3_open(test_file(*state, "harbour_0.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, script, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    r = ask(*state, "C", "SELECT colour FROM Boat", "");
    assert_differ(*state, r, 0);
    assert_rows(*state, r, 0, "SELECT hue, paint FROM boat ORDER BY boat_id", hues);
    free(hues);
    json_decref(r);
    r = ask(*state, "C", "SELECT length FROM Boat WHERE age > 1", ""); /* half of the key */
    assert_differ(*state, r, 0);
    json_decref(r);
    r = ask(*state, "T", "SELECT T2.colour, T1.wage FROM crew AS T1 JOIN Boat AS T2 ON T1.boat_id = T2.boat_id", "");
    assert_int_equal(json_array_size(r), 2);
    assert_differ(*state, r, 0);
    assert_differ(*state, r, 1);
    json_decref(r);
}

static void failing_interpretations_are_reported(void **state)
{
    test_file(*state, "two_col_synonyms.json", "{\"harbour_0\": {\"boat\": {\"colour\": [\"hue\", \"index\"]}}}");
    json_t *r = ask(*state, "C", "SELECT colour FROM Boat", "");
    assert_non_null(strstr(ambiguate_field(r, 0, "materialise_error"), "interpretation 2: near \"index\""));
    assert_null(json_object_get(json_array_get(r, 0), "db_file"));
    json_decref(r);
}

static void source_databases_stay_as_they_are(void **state)
{
    const char *path = test_file(*state, "harbour_0.sqlite", NULL);
    char command[4200], *before, *sum;

    snprintf(command, sizeof command, "cksum < %s", path);
    assert_int_equal(test_run(command, &before), 0);
    json_decref(ask(*state, "C,T,J,P", "SELECT colour, max(length) FROM Boat WHERE age > 1", ""));
    json_decref(
        ask(*state, "C,T,J,P", "SELECT colour, max(length) FROM Boat WHERE age > 1", "--published-databases --force"));
    assert_int_equal(test_run(command, &sum), 0);
    assert_string_equal(sum, before);
    free(sum);
    free(before);
}

/* Rows in the -wal file of another program are copied too. */
static void committed_rows_are_copied(void **state)
{
    static const char *const ways[] = { "", "--published-databases" };
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(test_file(*state, "harbour_0.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL; UPDATE Boat SET colour = 'mauve'", NULL, NULL, NULL),
                     SQLITE_OK);
    for (int i = 0; i < ARRAY_LEN(ways); i++) {
        json_t *r = ask(*state, "C", "SELECT colour FROM Boat", ways[i]);
        char *rows = run(*state, r, 0, "SELECT * FROM boat");
        if (!strstr(rows, "mauve"))
            fail_msg("%s: %s", ways[i], rows);
        free(rows);
        json_decref(r);
    }
    sqlite3_close(db);
}

static const char *verdict(const json_t *records, size_t i)
{
    return ambiguate_field(records, i, "published_filter");
}

static void published_databases_are_cut_and_changed(void **state)
{
    json_t *r = ask(*state, "C", "SELECT colour, length FROM Boat", "--published-databases");
    assert_string_equal(verdict(r, 0), "kept");
    assert_string_equal(ambiguate_field(r, 0, "db_file"), "harbour_0_column_boat_colour.sqlite");
    assert_rows(*state, r, 0, "SELECT hue, paint FROM boat",
                "red,red_;blue,blue_;red (dark),red (dark)_;NULL,0;green,green_");
    assert_rows(*state, r, 1, "SELECT size, extent FROM boat", "9.5,10.5;12.0,13.0;7.25,8.25;20.0,21.0;11.0,12.0");
    assert_rows(*state, r, 0, "SELECT count(*) FROM crew", "5");
    json_decref(r);
    r = ask(*state, "T", "SELECT colour FROM Boat WHERE colour = 'red'", "--published-databases");
    assert_string_equal(verdict(r, 0), "empty");
    assert_rows(*state, r, 0, "SELECT * FROM sailingvessel LIMIT 1", "2,red_,10.5,4");
    json_decref(r);
    r = ask(*state, "J", "SELECT rank, wage FROM crew", "--published-databases");
    assert_string_equal(verdict(r, 0), "kept");
    assert_rows(*state, r, 0, "SELECT count(*) FROM crew_rank", "0");
    json_decref(r);
    r = ask(*state, "J", "SELECT rank, wage FROM crew WHERE wage > 900", "--published-databases");
    assert_string_equal(verdict(r, 0), "identical");
    json_decref(r);
    r = ask(*state, "P", "SELECT max(wage) FROM crew WHERE rank = 'Cook'", "--published-databases");
    assert_string_equal(verdict(r, 0), "error");
    json_decref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(second_columns_hold_other_values, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(second_tables_keep_keys, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(split_tables_are_filled_from_the_parent, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(aggregates_are_computed, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(tables_without_rowid_are_altered_too, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(failing_interpretations_are_reported, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(committed_rows_are_copied, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(source_databases_stay_as_they_are, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(published_databases_are_cut_and_changed, ambiguate_set_up, ambiguate_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
