/* Tests questions of Spider, BIRD and AMBROSIA, and the schema edits that delete or replace a column. */
#include "tests/support/ambiguate_run.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* The records of one type for one line of questions. Schemas and values come from the databases of the folder. */
static json_t *make(const char *dir, const char *kinds, const char *line, const char *more)
{
    char arguments[512];

    test_file(dir, "q.jsonl", line);
    snprintf(arguments, sizeof arguments, "--kinds %s --questions $/q.jsonl --db $ %s", kinds, more);
    return ambiguate_run(dir, arguments, 0, NULL);
}

static void assert_fields(const json_t *records, size_t i, const char *const (*fields)[2])
{
    for (; (*fields)[0]; fields++) {
        json_t *value = json_object_get(json_array_get(records, i), (*fields)[0]);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : xstrdup("none");
        if (strcmp(text, (*fields)[1]) != 0)
            fail_msg("%s: %s, expected %s", (*fields)[0], text, (*fields)[1]);
        free(text);
    }
}
#define FIELDS(...) ((const char *const[][2]){ __VA_ARGS__, { NULL, NULL } })

static void bird_questions_are_read(void **state)
{
    json_t *r = make(*state, "C",
                     "{\"question_id\": 7, \"db_id\": \"harbour_0\", \"question\": \"Which colours?\", \"evidence\": "
                     "\"colour = paint\", \"SQL\": \"SELECT colour FROM Boat\", \"difficulty\": \"simple\"}\n",
                     "");
    assert_int_equal(json_array_size(r), 1);
    assert_fields(r, 0,
                  FIELDS({ "corpus", "\"bird\"" }, { "question_id", "7" }, { "evidence", "\"colour = paint\"" },
                         { "orig_query", "\"select colour from boat\"" }, { "db_id", "\"harbour_0\"" }));
    assert_non_null(strstr(ambiguate_field(r, 0, "schema_with_content"), "wage ("));
    json_decref(r);
}

/* AmbiQT's generator sees neither "boat.colour" nor names in quotes. */
static void columns_of_other_corpora_are_found_by_parsing(void **state)
{
    json_t *r = make(*state, "C",
                     "{\"db_id\": \"harbour_0\", \"question\": \"q\", \"SQL\": \"SELECT Boat.colour FROM Boat WHERE "
                     "Boat.age > 3 AND Boat.`Colour` != 'colour'\"}\n",
                     "--synonyms $/two_col_synonyms.json --materialise $/made");
    assert_int_equal(json_array_size(r), 1);
    assert_fields(
        r, 0,
        FIELDS({ "materialise_error", "none" }, { "extra_map", "{\"boat\":{\"colour\":[\"hue\",\"paint\"]}}" },
               { "query2", "\"select boat.paint from boat where boat.age > 3 and boat.`paint` != 'colour'\"" }));
    json_decref(r);
}

#define PREFIXED "SELECT Boat.colour FROM Boat WHERE (Boat.age>3 OR Boat.age=1) UNION SELECT colour FROM Boat"

/* AmbiQT's generator leaves "boat.colour" as it is, which its published records show; other corpora are full of it. */
static void tables_are_renamed_before_dots_except_in_spider(void **state)
{
    static const char spider[] = "{\"db_id\": \"harbour_0\", \"question\": \"q\", \"query\": \"" PREFIXED "\"}\n";
    static const char bird[] = "{\"db_id\": \"harbour_0\", \"question\": \"q\", \"SQL\": \"" PREFIXED "\"}\n";
    json_t *r = make(*state, "T", spider, "--table-synonyms $/tables_synonyms.json");
    assert_fields(r, 0,
                  FIELDS({ "query1", "\"select boat.colour from ship where (boat.age>3 or boat.age=1) union select "
                                     "colour from boat\"" }));
    json_decref(r);
    r = make(*state, "T", bird, "--table-synonyms $/tables_synonyms.json --materialise $/made");
    assert_fields(r, 0,
                  FIELDS({ "materialise_error", "none" },
                         { "query1", "\"select ship.colour from ship where (ship.age>3 or ship.age=1) union select "
                                     "colour from ship\"" }));
    json_decref(r);
}

static const char attachment[] =
    "{\"db\": \"harbour_0\", \"question\": \"Red and blue old boats\", \"ambig_type\": \"attachment\", "
    "\"gold_queries\": [\"SELECT boat_id\\r\\nFROM Boat\", \"SELECT 2\"], \"gold_interpretations\": [{\"questions\": "
    "[\"One\"]}, {\"questions\": [\"Two\"]}]}\n"
    "{\"db\": \"harbour_0\", \"question\": \"Colours\", \"ambig_type\": \"vague\", \"gold_queries\": [\"SELECT "
    "Boat.colour\\r\\nFROM Boat\"]}\n";

static void ambrosia_questions_are_read(void **state)
{
    json_t *r = make(*state, "A,D", attachment, "");
    assert_int_equal(json_array_size(r), 2);
    assert_fields(r, 0,
                  FIELDS({ "type", "\"D\"" }, { "corpus", "\"ambrosia\"" }, { "ambig_type", "\"vague\"" },
                         { "orig_query", "\"select boat.colour from boat\"" }, { "question", "\"Colours\"" }));
    assert_fields(r, 1,
                  FIELDS({ "type", "\"A\"" }, { "ambig_type", "\"attachment\"" }, { "orig_query", "none" },
                         { "question", "\"Red and blue old boats Show them in one table.\"" },
                         { "query1", "\"SELECT boat_id\\r\\nFROM Boat\"" }, { "query2", "\"SELECT 2\"" },
                         { "interpretations", "[\"One Show them in one table.\",\"Two Show them in one table.\"]" }));
    assert_non_null(strstr(ambiguate_field(r, 1, "schema_without_content"), "colour"));
    json_decref(r);
}

static void invalid_questions_are_rejected(void **state)
{
    static const char *const cases[][2] = {
        { "{\"db_id\": \"harbour_0\", \"question\": \"q\"}",
          "q.jsonl: line 1: no gold SQL: expected field \"query\" (Spider), \"SQL\" (BIRD) or \"gold_queries\" (AMBROSIA)" },
        { "{\"db_id\": \"harbour_0\", \"question\": \"q\", \"SQL\": 3}",
          "field \"SQL\": expected a string, got an integer" },
        { "{\"db_id\": \"harbour_0\", \"SQL\": \"select 1\"}", "field \"question\" is missing" },
        { "{\"db\": \"harbour_0\", \"question\": \"q\", \"gold_queries\": []}", "field \"gold_queries\" is empty" },
        { "{\"db\": \"harbour_0\", \"question\": \"q\", \"gold_queries\": [1]}", "entry 1 is not a string" },
        { "{\"db_id\": \"sea\", \"question\": \"q\", \"SQL\": \"select 1\"}", "question 1: .*no database sea" },
    };

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *said;
        test_file(*state, "q.jsonl", cases[i][0]);
        ambiguate_run(*state, "--kinds C,A --questions $/q.jsonl --db $", 3, &said);
        const char *wanted = cases[i][1], *gap = strstr(wanted, ".*");
        char *first = gap ? strndup(wanted, (size_t)(gap - wanted)) : xstrdup(wanted);
        if (!strstr(said, first) || (gap && !strstr(said, gap + 2)))
            fail_msg("%s: said %s", cases[i][0], said);
        free(first);
        free(said);
    }
}

struct edit {
    const char *question, *sql, *table_column; /* of the only record, or NULL: none */
};

/* The tables and columns that the records of a type name in a field. */
static void check_edits(const char *dir, const char *kind, const char *field, const struct edit *edits, int n)
{
    for (int i = 0; i < n; i++) {
        json_t *r = make(dir, kind, ambiguate_question(edits[i].question, edits[i].sql), "");
        char *text = json_dumps(json_object_get(json_array_get(r, 0), field), JSON_COMPACT);
        if (json_array_size(r) != (edits[i].table_column != NULL) ||
            (text && strncmp(text, edits[i].table_column, strlen(edits[i].table_column)) != 0))
            fail_msg("%s %s: %zu records: %s", kind, edits[i].sql, json_array_size(r), text ? text : "none");
        free(text);
        json_decref(r);
    }
}

static void columns_are_deleted(void **state)
{
    static const struct edit edits[] = {
        { "Which colours?", "SELECT colour FROM Boat", "{\"boat\":\"colour\"}" },
        { "How long are red ones?", "SELECT length FROM Boat WHERE colour = 'red'", NULL }, /* no word of theirs */
        { "Ranks of the crew on boats by age", "SELECT rank FROM crew ORDER BY wage", "{\"crew\":\"rank\"}" },
        { "Which boat ids?", "SELECT boat_id FROM Boat", NULL },               /* a key */
        { "Which colours?", "SELECT * FROM Boat", NULL },                      /* a star names no column */
        { "Which colours?", "SELECT colour AS c FROM Boat ORDER BY c", NULL }, /* an alias of its own */
        { "Which colours?", "SELECT mast FROM Boat", NULL },                   /* does not resolve */
        { "Average wages", "SELECT avg(T1.wage) FROM crew AS T1", "{\"crew\":\"wage\"}" },
    };
    check_edits(*state, "D", "deleted_map", edits, ARRAY_LEN(edits));
}

static void columns_are_replaced_by_two(void **state)
{
    static const struct edit edits[] = {
        { "Which colours?", "SELECT colour FROM Boat", "{\"boat\":{\"colour\":[\"" },
        { "Which boat ids?", "SELECT boat_id FROM Boat", NULL },
        { "Which colours?", "SELECT * FROM Boat", NULL },
        { "The primary, former, official or original rank?", "SELECT rank FROM crew", NULL }, /* it would be clear */
    };
    check_edits(*state, "R", "extra_map", edits, ARRAY_LEN(edits));
}

static void interpretations_name_the_new_columns_everywhere(void **state)
{
    json_t *r =
        make(*state, "R",
             ambiguate_question("What is the highest wage?",
                                "SELECT max(T1.wage), \"wage\" FROM crew AS T1 WHERE T1.wage > (SELECT avg(wage) "
                                "FROM crew) AND rank != 'wage' ORDER BY T1.WAGE"),
             "--materialise $/made");
    char wanted[512];

    assert_int_equal(json_array_size(r), 1);
    const json_t *names =
        json_object_get(json_object_get(json_object_get(json_array_get(r, 0), "extra_map"), "crew"), "wage");
    for (size_t k = 0; k < 2; k++) {
        const char *name = json_string_value(json_array_get(names, k));
        snprintf(
            wanted, sizeof wanted,
            "select max(t1.%s), \"%s\" from crew as t1 where t1.%s > (select avg(%s) from crew) and rank != 'wage' "
            "order by t1.%s",
            name, name, name, name, name);
        assert_string_equal(ambiguate_field(r, 0, k ? "query2" : "query1"), wanted);
        assert_non_null(strstr(ambiguate_field(r, 0, "schema_without_content"), name));
    }
    assert_fields(r, 0, FIELDS({ "materialise_error", "none" }, { "synonym_source", "\"modifier\"" }));
    assert_null(strstr(ambiguate_field(r, 0, "schema_without_content"), " wage "));
    json_decref(r);
}

/* C and R duplicate the same column: their records must not share a database. */
static void databases_have_the_edited_schema(void **state)
{
    static const char question[] = "Which colours?";
    char path[512];
    sqlite3 *db;
    json_t *r = make(*state, "C,D,R", ambiguate_question(question, "SELECT colour FROM Boat"), "--materialise $/made");

    assert_int_equal(json_array_size(r), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_fields(r, i, FIELDS({ "materialise_error", "none" }));
        snprintf(path, sizeof path, "%s/made/%s", (char *)*state, ambiguate_field(r, i, "db_file"));
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "select colour from boat", NULL, NULL, NULL), SQLITE_ERROR);
        assert_int_equal(sqlite3_exec(db, "select length, age from boat", NULL, NULL, NULL), SQLITE_OK);
        for (int k = 0; k < 2 && i != 1; k++)
            assert_int_equal(sqlite3_exec(db, ambiguate_field(r, i, k ? "query2" : "query1"), NULL, NULL, NULL),
                             SQLITE_OK);
        sqlite3_close(db);
    }
    assert_null(ambiguate_field(r, 1, "query1"));
    json_decref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bird_questions_are_read, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(columns_of_other_corpora_are_found_by_parsing, ambiguate_set_up,
                                        ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(tables_are_renamed_before_dots_except_in_spider, ambiguate_set_up,
                                        ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(ambrosia_questions_are_read, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(invalid_questions_are_rejected, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(columns_are_deleted, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(columns_are_replaced_by_two, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(interpretations_name_the_new_columns_everywhere, ambiguate_set_up,
                                        ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(databases_have_the_edited_schema, ambiguate_set_up, ambiguate_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
