/* A prediction as a line of JSON and as text for people. */
#include "infer/detect/detector.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

static struct prediction_element elements[] = { { "singer", NULL, "singer", 0.5 }, { "singer", "name", "name", 0.25 } };

static void check(const struct prediction *f, const char *line, const char *text)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    json_t *o = prediction_json(f, true);
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
    check(&f,
          "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\",\"score\":0.25,\"ambiguous\":false,"
          "\"type\":null,\"alternatives\":[],\"sentence\":\"No ambiguity found: the chance of one is 25 %.\","
          "\"relevance\":[]}",
          "Whose \"name\"?\n    [music] No ambiguity found: the chance of one is 25 %.\n\n");
    f.schema_only = true;
    check(
        &f,
        "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\",\"score\":0.25,\"ambiguous\":false,"
        "\"type\":null,\"alternatives\":[],\"sentence\":\"No ambiguity with the schema found: the chance of one is 25 %. "
        "The question's wording was not examined.\",\"relevance\":[]}",
        "Whose \"name\"?\n    [music] No ambiguity with the schema found: the chance of one is 25 %. The question's "
        "wording was not examined.\n\n");
    f.ambiguous = true;
    f.score = 0.75;
    f.elements = elements;
    f.n_elements = 2;
    check(&f,
          "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\",\"score\":0.75,\"ambiguous\":true,"
          "\"type\":null,\"alternatives\":[],\"sentence\":\"This question is ambiguous for this schema (75 %).\","
          "\"relevance\":[{\"table\":\"singer\",\"column\":null,\"text\":\"singer\",\"relevance\":0.5},"
          "{\"table\":\"singer\",\"column\":\"name\",\"text\":\"name\",\"relevance\":0.25}]}",
          "Whose \"name\"?\n    [music] This question is ambiguous for this schema (75 %).\n\n");
    f.n_read = 189;
    f.n_question = 240;
    f.named = true;
    f.type = SIA_TABLE;
    f.alternatives[0] = "singer";
    f.alternatives[1] = "band";
    f.n_elements = 0;
    f.n_schema = 2000;
    check(
        &f,
        "{\"id\":\"q1\",\"db_id\":\"music\",\"question\":\"Whose \\\"name\\\"?\","
        "\"question_cut\":{\"kept\":189,\"total\":240},\"schema_cut\":{\"kept\":0,\"total\":2000},\"score\":0.75,\"ambiguous\":true,"
        "\"type\":\"T\",\"alternatives\":[\"singer\",\"band\"],"
        "\"sentence\":\"This question may mean the table singer or band (75 %).\",\"relevance\":[]}",
        "Whose \"name\"?\n    [music] This question may mean the table singer or band (75 %).\n"
        "    The first 189 of the question's 240 tokens were read.\n"
        "    The 0 of the schema's 2000 tables and columns that the question may be about were read.\n\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms), cmocka_unit_test(test_failed_record) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
