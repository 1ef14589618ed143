/* Tests AmbiQT's four types on a hand-made harbour: interpretations, fields, schema texts, synonyms. */
#include "tests/support/ambiguate_run.h"
#include "tests/support/support.h"

#include "data/corpora/ambiqt_text.h"
#include "data/schema/schema_build.h"
#include "data/synth/synonym_finder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES "--schema $/tables.json --synonyms $/two_col_synonyms.json --table-synonyms $/tables_synonyms.json "

/* The records of one question and type. */
static json_t *ask(const char *dir, const char *kind, const char *sql, const char *more)
{
    char arguments[1024];

    test_file(dir, "q.jsonl", ambiguate_question("Which?", sql));
    snprintf(arguments, sizeof arguments, "--kinds %s --questions $/q.jsonl " FILES "%s", kind, more);
    return ambiguate_run(dir, arguments, 0, NULL);
}

struct wanted {
    const char *kind, *sql;
    int n;                     /* records */
    const char *one, *another; /* readings of the last */
};

static const struct wanted wanted[] = {
    { "C", "SELECT colour FROM Boat;", 1, "select hue from boat", "select paint from boat" },
    { "C", "SELECT  colour , length FROM Boat WHERE length > 9 AND colour != 'Colour'", 2,
      "select colour, size from boat where size > 9 and colour != 'Colour'",
      "select colour, extent from boat where extent > 9 and colour != 'Colour'" },
    { "C", "SELECT max( T1.length ) FROM Boat AS T1 JOIN crew AS T2 ON T1.boat_id = T2.boat_id WHERE T1.length > 3", 1,
      "select max(t1.size) from boat as t1 join crew as t2 on t1.boat_id = t2.boat_id where t1.size > 3",
      "select max(t1.extent) from boat as t1 join crew as t2 on t1.boat_id = t2.boat_id where t1.extent > 3" },
    { "C", "SELECT age FROM Boat", 0, NULL, NULL },
    { "C", "SELECT age FROM Boat WHERE colour = 'red'", 0, NULL, NULL },
    { "C", "SELECT T10.colour FROM Boat AS T10 WHERE T10.colour = 'red'", 0, NULL, NULL },
    { "T", "SELECT count(*) FROM Boat", 0, NULL, NULL },
    { "T", "SELECT boat.age FROM Boat WHERE age > (SELECT avg(age) FROM boat)", 1,
      "select boat.age from ship where age > (select avg(age) from ship)",
      "select boat.age from sailingvessel where age > (select avg(age) from sailingvessel)" },
    { "T", "SELECT rank FROM crew WHERE boat_id IN (SELECT boat_id FROM Boat WHERE age > 9)", 2,
      "select rank from staff where boat_id in (select boat_id from boat where age > 9)",
      "select rank from team where boat_id in (select boat_id from boat where age > 9)" },
    { "J", "SELECT colour FROM Boat", 0, NULL, NULL },
    { "J", "SELECT boat_id, colour FROM Boat", 0, NULL, NULL },
    { "J", "SELECT rank, max(wage) FROM crew GROUP BY rank", 2, "select rank, max(wage) from crew group by rank",
      "select t1.rank, max(t2.wage) from crew as t1 join crew_wage as t2 on t1.crew_id = t2.crew_id group by t1.rank" },
    { "J", "SELECT colour, age FROM Boat WHERE age > (SELECT avg(age) FROM Boat)", 2,
      "select colour, age from boat where age > (select avg(age) from boat)",
      "select t1.colour, t2.age from boat as t1 join boat_age as t2 on t1.boat_id = t2.boat_id where t2.age > "
      "(select avg(t2.age) from boat as t1 join boat_age as t2 on t1.boat_id = t2.boat_id)" },
    { "J", "SELECT T1.colour, T1.age FROM Boat AS T1 JOIN crew AS T2 ON T1.boat_id = T2.boat_id", 0, NULL, NULL },
    { "P", "SELECT count(*) FROM Boat", 0, NULL, NULL },
    { "P", "SELECT DISTINCT colour, max(age) FROM Boat GROUP BY colour", 0, NULL, NULL },
    { "P", "SELECT max(age) FROM Boat WHERE age > 1 GROUP BY colour HAVING count(*) > 2", 0, NULL, NULL },
    { "P", "SELECT rank, max(wage) FROM crew GROUP BY rank HAVING avg(wage) > 5", 1,
      "select rank, max(wage) from crew group by rank having avg(wage) > 5",
      "select rank, max_wage from crew_wage where avg_wage > 5" },
    { "P",
      "SELECT T1.colour, sum(T2.wage), count(*) FROM Boat AS T1 JOIN crew AS T2 ON T1.boat_id = T2.boat_id WHERE "
      "T2.rank = 'Cook' GROUP BY T1.colour",
      1,
      "select t1.colour, sum(t2.wage), count(*) from boat as t1 join crew as t2 on t1.boat_id = t2.boat_id where "
      "t2.rank = 'Cook' group by t1.colour",
      "select colour, sum_wage, number from boat_crew_wage where rank = 'Cook' group by colour" },
};

static void interpretations_follow_the_rules(void **state)
{
    for (int i = 0; i < ARRAY_LEN(wanted); i++) {
        const struct wanted *w = &wanted[i];
        json_t *records = ask(*state, w->kind, w->sql, "");
        if ((int)json_array_size(records) != w->n)
            fail_msg("%s: %s: %zu records, expected %d", w->kind, w->sql, json_array_size(records), w->n);
        if (w->n > 0) {
            assert_string_equal(ambiguate_field(records, (size_t)w->n - 1, "query1"), w->one);
            assert_string_equal(ambiguate_field(records, (size_t)w->n - 1, "query2"), w->another);
        }
        json_decref(records);
    }
}

/* The field of the only record, as JSON. */
static void assert_field(const json_t *records, const char *field, const char *json)
{
    json_t *value = json_object_get(json_array_get(records, 0), field), *want = json_loads(json, JSON_DECODE_ANY, NULL);

    assert_non_null(want);
    if (!json_equal(value, want)) {
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        fail_msg("%s: %s, expected %s", field, text ? text : "none", json);
    }
    json_decref(want);
}

static void fields_are_the_published_ones(void **state)
{
    json_t *r = ask(*state, "C", "SELECT colour FROM Boat", "");
    assert_field(r, "extra_map", "{\"boat\": {\"colour\": [\"hue\", \"paint\"]}}");
    assert_field(r, "orig_example_idx", "0");
    assert_field(r, "synonym_source", "\"file\"");
    assert_field(r, "orig_query", "\"select colour from boat\"");
    assert_field(r, "type", "\"C\"");
    json_decref(r);
    r = ask(*state, "T", "SELECT age FROM Boat WHERE age > 1", "");
    assert_field(r, "extra_table_map", "{\"boat\": [\"ship\", \"SailingVessel\"]}");
    json_decref(r);
    r = ask(*state, "J", "SELECT colour, max(age) FROM Boat", "");
    assert_field(r, "split_map", "{\"boat\": \"colour\"}");
    assert_field(r, "primary_key", "{\"boat\": \"boat_id\"}");
    json_decref(r);
    r = ask(*state, "P",
            "SELECT T1.colour, sum(T2.wage) FROM Boat AS T1 JOIN crew AS T2 ON T1.boat_id = T2.boat_id WHERE T2.rank = "
            "'Cook' AND count(*) > 1",
            "");
    assert_field(r, "all_cols",
                 "[\"colour\", \"rank\", \"number\", \"sum_wage\", \"avg_wage\", \"min_wage\", \"max_wage\"]");
    assert_field(r, "all_raw_cols", "[\"colour\", \"rank\", \"number\", \"wage\"]");
    assert_field(r, "new_table_name", "\"boat_crew_wage\"");
    assert_field(r, "tables_with_pkeys", "[[\"boat\", \"boat_id\"], [\"crew\", \"crew_id\"]]");
    json_decref(r);
    r = ask(*state, "P", "SELECT rank, sum(wage) FROM crew GROUP BY rank", "--aggregates train");
    assert_field(r, "split_map", "{\"crew\": [\"max_wage\", \"min_wage\", \"avg_wage\", \"total_wage\"]}");
    assert_field(r, "query2", "\"select rank, total_wage from crew_wage group by rank\"");
    json_decref(r);
}

static void tokens_and_parse_are_taken_over(void **state)
{
    test_file(*state, "q.json",
              "[{\"db_id\": \"harbour_0\", \"question\": \"Colours?\", \"query\": \"SELECT colour FROM Boat\","
              " \"question_toks\": [\"Colours\", \"?\"], \"sql\": {\"limit\": null}}]");
    json_t *r = ambiguate_run(*state, "--kinds C --questions $/q.json " FILES, 0, NULL);
    assert_field(r, "question_toks", "[\"Colours\", \"?\"]");
    assert_field(r, "sql", "{\"limit\": null}");
    json_decref(r);
}

/* The tables of a schema text between " | ", each with the columns between ", "; sorted, so that shuffles compare. */
static json_t *tables_of(const char *text)
{
    json_t *tables = json_object();
    char *copy = xstrdup(text), *outer = NULL, *inner = NULL;

    for (char *p = strtok_r(copy, "|", &outer); p; p = strtok_r(NULL, "|", &outer)) {
        char name[64] = "";
        assert_int_equal(sscanf(p, " %63s : ", name), 1);
        json_t *columns = json_object();
        for (char *c = strtok_r(strstr(p, " : ") + 3, ", ", &inner); c; c = strtok_r(NULL, ", ", &inner))
            json_object_set_new(columns, c, json_true());
        json_object_set_new(tables, name, columns);
    }
    free(copy);
    return tables;
}

static void assert_schema(const json_t *records, const char *json)
{
    json_t *got = tables_of(ambiguate_field(records, 0, "schema_without_content"));
    json_t *want = json_loads(json, 0, NULL);
    const char *table;
    json_t *columns;
    size_t i;
    json_t *column;

    assert_non_null(want);
    assert_int_equal(json_object_size(got), json_object_size(want));
    json_object_foreach(want, table, columns)
    {
        assert_int_equal(json_object_size(json_object_get(got, table)), json_array_size(columns));
        json_array_foreach(columns, i, column)
            assert_non_null(json_object_get(json_object_get(got, table), json_string_value(column)));
    }
    json_decref(got);
    json_decref(want);
}

#define BOAT "\"boat\": [\"boat_id\", \"colour\", \"length\", \"age\"]"
#define CREW "\"crew\": [\"crew_id\", \"wage\", \"rank\", \"boat_id\", \"leader\"]"

static void schema_texts_hold_both_alternatives(void **state)
{
    json_t *r = ask(*state, "C", "SELECT colour FROM Boat", "");
    assert_schema(r, "{\"boat\": [\"boat_id\", \"hue\", \"paint\", \"length\", \"age\"], " CREW "}");
    json_decref(r);
    r = ask(*state, "T", "SELECT age FROM Boat WHERE age > 1", "");
    assert_schema(r, "{\"ship\": [\"boat_id\", \"colour\", \"length\", \"age\"], \"SailingVessel\": [\"boat_id\", "
                     "\"colour\", \"length\", \"age\"], " CREW "}");
    json_decref(r);
    r = ask(*state, "J", "SELECT colour, max(age) FROM Boat", "");
    assert_schema(r, "{" BOAT ", \"boat_colour\": [\"boat_id\", \"colour\"], " CREW "}");
    assert_non_null(strstr(ambiguate_field(r, 0, "schema_without_content"), " | boat_colour : ")); /* behind boat */
    json_decref(r);
    r = ask(*state, "P", "SELECT rank, max(wage), count(*) FROM crew GROUP BY rank", "");
    assert_schema(r, "{" BOAT ", " CREW ", \"crew_wage\": [\"rank\", \"number\", \"sum_wage\", \"avg_wage\", "
                     "\"min_wage\", \"max_wage\"]}");
    json_decref(r);
}

static void values_are_sampled_from_the_database(void **state)
{
    json_t *r = ask(*state, "C", "SELECT colour FROM Boat", "--db $");
    const char *text = ambiguate_field(r, 0, "schema_with_content");
    const char *hue = strstr(text, "hue ("), *paint = strstr(text, "paint (");

    assert_non_null(hue);
    assert_non_null(paint);
    hue += strlen("hue (");
    paint += strlen("paint (");
    assert_int_equal(strncmp(hue, paint, strcspn(hue, ")")), 0); /* both show the same */
    assert_int_equal(*hue, '"');
    assert_non_null(strstr(text, "leader (1, 4)")); /* three at most: all of them */
    json_decref(r);
}

static void seeds_decide_every_byte(void **state)
{
    char *texts[3];
    static const char *const seeds[] = { "--seed 1 --db $", "--seed 1 --db $", "--seed 2 --db $" };

    for (int i = 0; i < 3; i++) {
        json_decref(ask(*state, "T", "SELECT age FROM Boat WHERE age > 1", seeds[i]));
        texts[i] = test_read(test_file(*state, "out.jsonl", NULL));
    }
    assert_string_equal(texts[0], texts[1]);
    assert_string_not_equal(texts[0], texts[2]);
    for (int i = 0; i < 3; i++)
        free(texts[i]);
}

static void published_schema_strings_stay(void **state)
{
    test_file(*state, "published.jsonl",
              "{\"db_id\": \"harbour_0\", \"question\": \"Which?\", \"query1\": \"select hue from boat\", \"query2\": "
              "\"select paint from boat\", \"schema_without_content\": \"boat :  paint ,hue)-( | \"}\n");
    json_t *r = ask(*state, "C", "SELECT colour FROM Boat", "--schema-strings $/published.jsonl");
    assert_string_equal(ambiguate_field(r, 0, "schema_without_content"), "boat :  paint ,hue)-( | ");
    json_decref(r);
    r = ask(*state, "C", "SELECT colour FROM Boat WHERE age = 1", "--schema-strings $/published.jsonl");
    assert_schema(r, "{\"boat\": [\"boat_id\", \"hue\", \"paint\", \"length\", \"age\"], " CREW "}");
    json_decref(r);
}

static void bad_input_is_rejected(void **state)
{
    static const struct {
        const char *arguments;
        int code;
        const char *says;
    } cases[] = {
        { "--questions $/dev.json", 2, "--spider DIR" },
        { "--spider $ --kinds C,X", 2, "--kinds: expected letters of C, T, J, P, D, R and A" },
        { "--spider $ --kinds C,", 2, "--kinds: expected letters" },
        { "--spider $ --materialise $/m", 2, "--materialise requires --db" },
        { "--spider $ --questions $/none.json", 3, "none.json" },
        { "--spider $ --questions $/stranger.json", 3,
          "stranger.json: record 1: field \"db_id\": expected a database with a schema, got \"sea\"" },
        { "--spider $ --questions $/half.json", 3, "record 1: no gold SQL: expected field \"query\"" },
        { "--spider $ --synonyms $/half.json", 3, "half.json: expected an object of databases" },
        { "--spider $ --schema-strings $/half.json", 3, "half.json: record 1: expected strings" },
    };

    test_file(*state, "stranger.json", "[{\"db_id\": \"sea\", \"question\": \"a\", \"query\": \"b\"}]");
    test_file(*state, "half.json", "[{\"db_id\": \"harbour_0\", \"question\": \"a\"}]");
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *said;
        ambiguate_run(*state, cases[i].arguments, cases[i].code, &said);
        if (!strstr(said, cases[i].says))
            fail_msg("%s: said %s", cases[i].arguments, said);
        free(said);
    }
}

static void records_without_a_database_say_so(void **state)
{
    char *said, *empty = path_in(*state, "empty");

    assert_int_equal(mkdir(empty, 0700), 0);
    free(empty);
    ambiguate_run(*state, "--spider $ --kinds J --db $/empty --materialise $/made", 7, &said);
    assert_non_null(strstr(said, "J: 4 records, 4 without a database"));
    json_t *r = ambiguate_read(test_file(*state, "out.jsonl", NULL));
    assert_int_equal(json_array_size(r), 4);
    assert_non_null(strstr(ambiguate_field(r, 0, "error"), "no database harbour_0"));
    assert_null(json_object_get(json_array_get(r, 0), "db_file"));
    assert_non_null(strstr(ambiguate_field(r, 0, "schema_with_content"), "colour ()"));
    json_decref(r);
    free(said);
}

/* Two names for each table and column of a little schema, and their sources. */
static void names_are_made_where_there_is_no_dictionary(void **state)
{
    static const struct {
        const char *column, *names[2];
        enum synonym_source source;
    } cases[] = {
        { "salary", { "wage", "pay" }, SYNONYM_WORDNET },
        { "qty", { "quantity", "worker_qty" }, SYNONYM_MORPHOLOGY },
        { "annual_salary", { "annual_wage", "annual_pay" }, SYNONYM_MORPHOLOGY },
        { "zzz", { "worker_zzz", "zzz_of_worker" }, SYNONYM_MORPHOLOGY },
        { NULL, { NULL, NULL }, SYNONYM_NONE },
    };
    struct synonym_finder finder = { 0 };
    struct schema_build b;
    struct schema s;

    schema_build_init(&b, "firm");
    schema_build_table(&b, "worker", NULL);
    for (int i = 0; cases[i].column; i++)
        schema_build_column(&b, 0, cases[i].column, NULL, COLUMN_TEXT);
    schema_build_finish(&b, &s);
    for (int i = 0; cases[i].column; i++) {
        struct synonym_pair pair;
        assert_true(synonym_finder_find(&finder, &pair, &s, "worker", cases[i].column));
        assert_string_equal(pair.names[0], cases[i].names[0]);
        assert_string_equal(pair.names[1], cases[i].names[1]);
        assert_int_equal(pair.source, cases[i].source);
    }
    synonym_finder_release(&finder);
    schema_release(&s);
    (void)state;
}

static void text_takes_the_normal_form(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { ";", "" },
        { " SELECT  Count ( * ) FROM a ; ", "select count(*) from a ;" },
        { "SELECT \"A b\" ,`C` FROM T WHERE x = 'It''S (A )'", "select \"A b\",`C` from t where x = 'It''S (A)'" },
        { "select a,b from ``T``", "select a,b from `T`" },
        { "select min (x), sum( y ) from t where z in (1 , 2) ;", "select min(x), sum(y) from t where z in (1, 2)" },
    };

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = ambiqt_normalize(cases[i][0]);
        assert_string_equal(got, cases[i][1]);
        free(got);
    }
    assert_string_equal(ambiqt_without_alias("t1.x"), "x");
    assert_string_equal(ambiqt_without_alias("t10.x"), "t10.x");
    assert_string_equal(ambiqt_without_alias("t1."), "t1.");
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(interpretations_follow_the_rules, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(fields_are_the_published_ones, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(tokens_and_parse_are_taken_over, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(schema_texts_hold_both_alternatives, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(values_are_sampled_from_the_database, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(seeds_decide_every_byte, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(published_schema_strings_stay, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(bad_input_is_rejected, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test_setup_teardown(records_without_a_database_say_so, ambiguate_set_up, ambiguate_tear_down),
        cmocka_unit_test(names_are_made_where_there_is_no_dictionary),
        cmocka_unit_test(text_takes_the_normal_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
