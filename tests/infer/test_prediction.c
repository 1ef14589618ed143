/* A prediction as a line of JSON and as text for people. */
#include "infer/detect/detector.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct prediction_element elements[] = { { "singer", NULL, "singer", 0.5 }, { "singer", "name", "name", 0.25 } };

static void check(const struct prediction *f, const char *line, const char *text)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    json_t *o = prediction_json(f, RELEVANCE_ALL);
    char *dumped = json_dumps(o, JSON_COMPACT);

    prediction_print(out, o);
    fclose(out);
    assert_string_equal(dumped, line);
    assert_string_equal(printed, text);
    free(printed);
    free(dumped);
    json_decref(o);
}

static void test_forms(void **state)
{
    json_t *id = json_string("q1");
    struct prediction f = { .id = id, .db_id = "music", .question = "Whose \"name\"?", .score = 0.25 };

    (void)state;
    check(
        &f,
        "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\",\"score\":0.25,\"ambiguous\":false,"
        "\"type\":null,\"alternatives\":[],\"ambiguities\":[],\"sentence\":\"No ambiguity found: the chance of one is 25 %.\","
        "\"relevance\":[]}",
        "Whose \"name\"?\n    [music] No ambiguity found: the chance of one is 25 %.\n\n");
    f.schema_only = true;
    check(
        &f,
        "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\",\"score\":0.25,\"ambiguous\":false,"
        "\"type\":null,\"alternatives\":[],\"ambiguities\":[],\"sentence\":\"No ambiguity with the schema found: the chance of one is 25 %. "
        "The question's wording was not examined.\",\"relevance\":[]}",
        "Whose \"name\"?\n    [music] No ambiguity with the schema found: the chance of one is 25 %. The question's "
        "wording was not examined.\n\n");
    f.ambiguous = true;
    f.score = 0.75;
    f.elements = elements;
    f.n_elements = 2;
    check(
        &f,
        "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\",\"score\":0.75,\"ambiguous\":true,"
        "\"type\":null,\"alternatives\":[],\"ambiguities\":[],\"sentence\":\"This question is ambiguous for this schema (75 %).\","
        "\"relevance\":[{\"table\":\"singer\",\"column\":null,\"text\":\"singer\",\"relevance\":0.5},"
        "{\"table\":\"singer\",\"column\":\"name\",\"text\":\"name\",\"relevance\":0.25}]}",
        "Whose \"name\"?\n    [music] This question is ambiguous for this schema (75 %).\n\n");
    f.n_read = 189;
    f.n_question = 240;
    f.named = true;
    f.pairs[0] = (struct prediction_pair){ SIA_TABLE, { "singer", "band" }, 0.75, 0, 0 };
    f.pairs[1] = (struct prediction_pair){ SIA_COLUMN, { "band.name", "band.title" }, 0.5, 7, 11 };
    f.n_pairs = 2;
    f.n_elements = 0;
    f.n_schema = 2000;
    check(
        &f,
        "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\","
        "\"question_cut\":{\"kept\":189,\"total\":240},\"schema_cut\":{\"kept\":0,\"total\":2000},\"score\":0.75,\"ambiguous\":true,"
        "\"type\":\"T\",\"alternatives\":[\"singer\",\"band\"],"
        "\"ambiguities\":[{\"type\":\"T\",\"alternatives\":[\"singer\",\"band\"],\"score\":0.75,\"words\":null},"
        "{\"type\":\"C\",\"alternatives\":[\"band.name\",\"band.title\"],\"score\":0.5,\"words\":\"name\",\"start\":7,"
        "\"end\":11}],"
        "\"sentence\":\"This question may mean the table singer or band (75 %). \\\"name\\\" may mean the column band.name "
        "or band.title (50 %).\",\"relevance\":[]}",
        "Whose \"name\"?\n    [music] This question may mean the table singer or band (75 %). \"name\" may mean the column "
        "band.name or band.title (50 %).\n"
        "    The first 189 of the question's 240 tokens were read.\n"
        "    The 0 of the schema's 2000 tables and columns that the question may be about were read.\n\n");
    json_decref(id);
}

/* The sentence of a refusal replaces the detector's own.  Named alternatives say more than the class ambiguous. */
static void test_class(void **state)
{
    json_t *id = json_integer(1);
    struct prediction f = { .id = id, .db_id = "music", .question = "Why?", .score = 0.25, .triaged = true };
    const char *ambiguous = "This question is ambiguous for this schema (75 %).",
               *refused = "The database seems to have no answer to this question. It asks for knowledge that is not "
                          "stored: \"Why\". (75 %)";
    const struct triage_question why = { .text = f.question };

    (void)state;
    f.class = TRIAGE_UNANSWERABLE;
    f.kind = KIND_KNOWLEDGE;
    f.classes[TRIAGE_UNANSWERABLE] = 0.5;
    f.classes[TRIAGE_IMPROPER] = 0.25;
    triage_read(&f.signs, &why, &(struct triage_names){ 0 });
    json_t *o = prediction_json(&f, RELEVANCE_NONE);
    char *text = json_dumps(o, JSON_COMPACT);
    assert_string_equal(
        text,
        "{\"id\":1,\"db_id\":\"music\",\"question\":\"Why?\",\"triage\":{\"class\":\"unanswerable\",\"kind\":\"knowledge\",\"classes\":{"
        "\"answerable\":0.0,\"ambiguous\":0.0,\"unanswerable\":0.5,\"improper\":0.25},\"words\":[{\"text\":\"Why\","
        "\"start\":0,\"end\":3,\"reason\":\"knowledge\"}],\"sentence\":\"The database seems to have no answer to this "
        "question. It asks for knowledge that is not stored: \\\"Why\\\". (75 %)\"},\"score\":0.25,\"ambiguous\":false,"
        "\"type\":null,\"alternatives\":[],\"ambiguities\":[],\"sentence\":\"The database seems to have no answer to this "
        "question. It asks for knowledge that is not stored: \\\"Why\\\". (75 %)\"}");
    free(text);
    json_decref(o);
    f.ambiguous = true;
    f.score = 0.75;
    o = prediction_json(&f, RELEVANCE_NONE);
    assert_string_equal(json_string_value(json_object_get(o, "sentence")), refused);
    json_decref(o);
    f.class = TRIAGE_AMBIGUOUS;
    o = prediction_json(&f, RELEVANCE_NONE);
    assert_string_equal(json_string_value(json_object_get(o, "sentence")), ambiguous);
    json_decref(o);
    f.ambiguous = false;
    f.class = TRIAGE_ANSWERABLE;
    o = prediction_json(&f, RELEVANCE_NONE);
    assert_string_equal(json_string_value(json_object_get(o, "sentence")),
                        "No ambiguity found: the chance of one is 75 %.");
    json_decref(o);
    json_decref(id);
}

/* A message that was cut inside a character is written without its bytes. */
static void test_failed_record(void **state)
{
    json_t *id = json_integer(7);
    struct prediction f = { .error = "line 2: no gr\xc3" };

    (void)state;
    check(&f, "{\"id\":null,\"error\":\"line 2: no gr\"}", "error: line 2: no gr\n\n");
    f.id = id;
    f.error = "line 3";
    check(&f, "{\"id\":7,\"error\":\"line 3\"}", "error: line 3\n\n");
    json_decref(id);
}

/* The most relevant elements come first, and of equal ones the first in the schema. */
static void test_relevance(void **state)
{
    struct prediction_element six[6] = { { "a", NULL, "a", 0.1 }, { "a", "b", "b", 0.7 }, { "a", "c", "c", 0.2 },
                                         { "d", NULL, "d", 0.7 }, { "d", "e", "e", 0.9 }, { "d", "f", "f", 0.05 } };
    const char *const expected[] = { "e", "b", "d", "c", "a" };
    json_t *id = json_integer(1);
    struct prediction f = { .id = id, .db_id = "x", .question = "y", .elements = six, .n_elements = 6 };
    json_t *none = prediction_json(&f, RELEVANCE_NONE), *top = prediction_json(&f, RELEVANCE_TOP);
    const json_t *list = json_object_get(top, "relevance");

    (void)state;
    assert_null(json_object_get(none, "relevance"));
    assert_int_equal(json_array_size(list), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "text")), expected[i]);
    json_decref(none);
    json_decref(top);
    f.n_elements = 2;
    top = prediction_json(&f, RELEVANCE_TOP);
    assert_int_equal(json_array_size(json_object_get(top, "relevance")), 2);
    json_decref(top);
    json_decref(id);
}

static void check_row(json_t *line, const char *row)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);

    assert_non_null(line);
    prediction_print_row(out, line);
    fclose(out);
    assert_string_equal(printed, row);
    free(printed);
    json_decref(line);
}

/* A comma, a quote and a line break are kept in quotes; absent fields are empty cells. */
static void test_rows(void **state)
{
    (void)state;
    check_row(json_pack("{s:s, s:s, s:s, s:f, s:b, s:n, s:[s,s], s:{s:s}, s:s}", "id", "q,1", "db_id", "x", "question",
                        "Whose \"name\"\nis it?", "score", 1.0 / 3, "ambiguous", 1, "type", "alternatives", "t.a",
                        "t.b", "triage", "class", "improper", "sentence", "s"),
              "\"q,1\",x,\"Whose \"\"name\"\"\nis it?\",0.333333333,true,,,t.a,t.b,improper,s,\n");
    check_row(json_pack("{s:i, s:s}", "id", 7, "error", "line 3: no"), "7,,,,,,,,,,,line 3: no\n");
    assert_int_equal(strspn(prediction_table_head, "abcdefghijklmnopqrstuvwxyz_12,"),
                     strlen(prediction_table_head) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms), cmocka_unit_test(test_class),
                                        cmocka_unit_test(test_failed_record), cmocka_unit_test(test_relevance),
                                        cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
