/*
 * Inputs and outputs of LogicalBeam's models.
 */
#include "tests/support/infilling_gold.h"
#include "tests/support/support.h"

#include "data/prompt/parser_text.h"

#include <stdlib.h>
#include <string.h>

static void queries_are_normalised_as_published(void **state)
{
    static const char *const cases[][2] = {
        { "SELECT  Name ,\tAge FROM Singer", "select name, age from singer" },
        { "SELECT T1.Name FROM t WHERE City = 'New York City' AND x = \"Paris\"",
          "select t1.name from t where city = 'New york City' and x = \"Paris\"" },
        { "SELECT count ( * ) ,b", "select count ( * ) ,b" },
        { "WHERE x LIKE '%Abc%' OR It's", "where x like '%abc%' or It's" },
        { " , ", "," },
        { "", "" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = parser_normal_query(cases[i][0]);
        assert_string_equal(got, cases[i][1]);
        free(got);
    }
}

static void check(char *got, const char *wanted)
{
    assert_string_equal(got, wanted);
    free(got);
}

static void strings_are_the_published_ones(void **state)
{
    const struct parser_question q = { "Who , if any,  sings ?", "Choir_1", "singer : name, age" };
    static const char sql[] = "SELECT Name FROM Singer WHERE Age!=3";
    struct template_names names;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(template_names_of_text(&names, q.schema, &err), 0);
    check(parser_input(PARSER_SEQ2SEQ, PARSER_T2S, &q, NULL),
          "semantic parse: Who, if any, sings ? | Choir_1 | singer : name, age");
    check(parser_input(PARSER_SEQ2SEQ, PARSER_DIRECT, &q, NULL),
          "semantic parse: Who, if any, sings ? | Choir_1 | singer : name, age");
    check(parser_input(PARSER_SEQ2SEQ, PARSER_TEMPLATE, &q, NULL),
          "template generation: Who, if any, sings ? | Choir_1 | singer : name, age");
    check(parser_input(PARSER_SEQ2SEQ, PARSER_FILL, &q, "select column from table"),
          "template fill: Who , if any,  sings ? | Choir_1 | singer : name, age @ select column from table");
    check(parser_target(PARSER_SEQ2SEQ, PARSER_T2S, "Choir_1", sql, &names),
          "Choir_1 | select name from singer where age!=3");
    check(parser_target(PARSER_SEQ2SEQ, PARSER_TEMPLATE, "Choir_1", sql, &names),
          "Choir_1 | 0 joins @ 1 selects @ select column from table where column !=3");
    check(parser_target(PARSER_SEQ2SEQ, PARSER_DIRECT, "Choir_1", sql, &names),
          "Choir_1 | 0 joins @ 1 selects @ select name from singer where age!=3");
    check(parser_target(PARSER_CHAT, PARSER_FILL, "Choir_1", sql, &names), "select name from singer where age!=3");
    check(parser_target(PARSER_CHAT, PARSER_DIRECT, "Choir_1", sql, &names),
          "0 joins @ 1 selects @ select name from singer where age!=3");
    check(parser_input(PARSER_CHAT, PARSER_FILL, &q, "select column from table"),
          "Database Choir_1: singer : name, age\nQuestion: Who , if any,  sings ?\nTemplate: select column from table\n"
          "Write the SQL statement of this template that answers the question.");
    template_names_release(&names);
}

static void plans_are_read_with_and_without_a_name(void **state)
{
    static const char *const good[] = { "choir_1 | 1 joins @ 2 selects @ select column",
                                        "1 joins @ 2 selects @ select column",
                                        "|1 joins @ 2 selects @  select column" };
    static const char *const bad[] = { "",
                                       "choir",
                                       "choir | select column",
                                       "choir | one joins @ 2 selects @ x",
                                       "1 joins @ 2 selects",
                                       "choir | 1 joins @ 0 selects @ x",
                                       "99999999999 joins @ 1 selects @ x",
                                       "@ @ @",
                                       "|||",
                                       "1 joins | 2 selects @ x" };
    struct error err = { 0 };
    const char *template;
    struct sql_plan plan;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(parser_read_template(&plan, &template, good[i], &err), 0);
        assert_true(plan.joins == 1 && plan.selects == 2);
        assert_string_equal(template, "select column");
    }
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(parser_read_template(&plan, &template, bad[i], &err), -1);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, "plan", "joins @");
    }
    assert_string_equal(parser_behind_name("select a || b"), "select a || b"); /* no name of a database */
    assert_string_equal(parser_behind_name("choir |select a || b"), "select a || b");
}

static void statements_are_kept_once_and_by_template(void **state)
{
    static const char *const texts[] = { "choir | SELECT name FROM singer;",
                                         "select  name from singer",
                                         "choir | ",
                                         "choir | 0 joins @ 1 selects @ select age from singer",
                                         "select count ( * ) from singer",
                                         "select wage from singer" };
    struct template_names names;
    struct strings out = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(template_names_of_text(&names, "singer : name, age", &err), 0);
    parser_read_sql(&out, texts, ARRAY_LEN(texts), NULL, NULL);
    assert_int_equal(out.n, 4);
    assert_string_equal(out.items[2], "select count(*) from singer");
    strings_release(&out);
    parser_read_sql(&out, texts, ARRAY_LEN(texts), &names, "select column from table");
    assert_int_equal(out.n, 2);
    assert_string_equal(out.items[0], "select name from singer");
    assert_string_equal(out.items[1], "select age from singer");
    strings_release(&out);
    const char *numbers[] = { "select name from singer where age > 3.5", "select name from singer where age > '3.5'" };
    parser_read_sql(&out, numbers, 2, &names, "select column from table where column > number");
    parser_read_sql(&out, numbers, 2, &names, "select column from table where column > 3.5");
    assert_int_equal(out.n, 1); /* either reading of the fraction; the string is another template */
    assert_string_equal(out.items[0], numbers[0]);
    strings_release(&out);
    template_names_release(&names);
}

/* The published filter of a case's completions, whose texts equal their ids. */
static int check_kept(struct infilling_case *c)
{
    const json_t *answer;
    const char *texts[16];
    struct template_names names;
    struct strings out = { 0 };
    struct error err = { 0 };
    size_t i;

    json_array_foreach(c->answers, i, answer)
    {
        const json_t *list = json_object_get(answer, "ids");
        int32_t ids[128];
        for (size_t k = 0; k < json_array_size(list); k++)
            ids[k] = (int32_t)json_integer_value(json_array_get(list, k));
        texts[i] = json_string_value(json_object_get(answer, "text"));
        check(infilling_gold_decode(c, ids, (int)json_array_size(list)), texts[i]);
    }
    assert_int_equal(template_names_of_text(&names, c->schema, &err), 0);
    parser_read_sql(&out, texts, (int)json_array_size(c->answers), &names, c->template);
    assert_int_equal(out.n, json_array_size(c->kept));
    for (int n = 0; n < out.n; n++)
        assert_string_equal(out.items[n], json_string_value(json_array_get(c->kept, (size_t)n)));
    int kept = out.n;
    strings_release(&out);
    template_names_release(&names);
    return kept;
}

static void answers_are_kept_as_published(void **state)
{
    struct infilling_gold gold;
    int kept = 0;

    (void)state;
    infilling_gold_read(&gold);
    for (int i = 0; i < gold.n_cases; i++)
        kept += check_kept(gold.cases + i);
    assert_true(kept >= 35);
    infilling_gold_release(&gold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_are_normalised_as_published),
        cmocka_unit_test(strings_are_the_published_ones),
        cmocka_unit_test(plans_are_read_with_and_without_a_name),
        cmocka_unit_test(statements_are_kept_once_and_by_template),
        cmocka_unit_test(answers_are_kept_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
