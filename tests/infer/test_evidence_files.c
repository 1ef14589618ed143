/* Predictions and tagged words, joined with records of candidates by id. */
#include "data/schema/schema_build.h"
#include "infer/clarify/evidence_files.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define PREDICTION                                                                                                     \
    "{\"id\":7,\"db_id\":\"gym\",\"question\":\"the names?\",\"ambiguous\":true,\"type\":\"C\",\"score\":0.75,"        \
    "\"alternatives\":[\"member.name\",\"coach.name\"]}"
#define SPAN(start, end, text, label, concept)                                                                         \
    "{\"id\":\"7\",\"question\":\"the names?\",\"spans\":[{\"start\":" #start ",\"end\":" #end ",\"text\":\"" text     \
    "\",\"label\":\"" label                                                                                            \
    "\",\"probability\":0.5,\"alternatives\":[{\"concept\":\"" concept "\",\"type\":\"column\"}]}]}"

static struct schema schema;
static char *dir;

static int set_up(void **state)
{
    struct schema_build b;

    (void)state;
    dir = test_dir_new();
    schema_build_init(&b, "gym");
    schema_build_column(&b, schema_build_table(&b, "member", NULL), "name", NULL, COLUMN_TEXT);
    schema_build_column(&b, schema_build_table(&b, "coach", NULL), "name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, &schema);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    schema_release(&schema);
    test_dir_remove(dir);
    return 0;
}

static const char *lines(const char *name, const char *text)
{
    return text ? test_file(dir, name, text) : NULL;
}

static int open_files(struct evidence_files *h, const char *predictions, const char *spans, struct error *err)
{
    return evidence_files_open(h, lines("predictions.jsonl", predictions), lines("spans.jsonl", spans), err);
}

/* Joins the files with a record; NULL with err, also if a file is refused. */
static json_t *join(const char *predictions, const char *spans, const char *record, struct error *err)
{
    json_t *o = json_loads(record, 0, NULL), *joined = NULL;
    struct evidence_files h;

    assert_non_null(o);
    if (open_files(&h, predictions, spans, err) == 0)
        joined = evidence_files_join(&h, o, &schema, "in.jsonl: line 4", err);
    evidence_files_close(&h);
    json_decref(o);
    return joined;
}

static void test_joined(void **state)
{
    static const char record[] = "{\"id\":7,\"db_id\":\"gym\",\"question\":\"the names?\",\"type\":\"T\",\"kept\":1}";
    struct error err = { 0 };

    (void)state;
    json_t *o = join(PREDICTION "\n", SPAN(4, 9, "names", "AMB", "coach.name") "\n", record, &err);
    if (!o)
        fail_msg("%s", err.text);
    assert_string_equal(json_string_value(json_object_get(o, "type")), "C"); /* the line's */
    assert_true(json_real_value(json_object_get(o, "score")) == 0.75);
    assert_int_equal(json_array_size(json_object_get(o, "alternatives")), 2);
    assert_int_equal(json_integer_value(json_object_get(o, "kept")), 1);
    const json_t *span = json_array_get(json_object_get(o, "spans"), 0);
    assert_int_equal(json_integer_value(json_object_get(span, "end")), 9);
    json_decref(o);
    o = join(NULL, NULL, record, &err); /* no files */
    assert_string_equal(json_string_value(json_object_get(o, "type")), "T");
    json_decref(o);
    o = join(PREDICTION "\n", NULL, "{\"id\":\"8\",\"question\":\"the names?\"}", &err); /* of another record */
    assert_int_equal(json_object_size(o), 2);
    json_decref(o);
    o = join("{\"id\":7,\"error\":\"too long\"}\n", NULL, record, &err); /* a line with an error says nothing */
    assert_string_equal(json_string_value(json_object_get(o, "type")), "T");
    json_decref(o);
    o = join("{\"id\":7,\"question\":\"the names?\",\"ambiguous\":false,\"score\":0.1,\"alternatives\":[]}\n", NULL,
             record, &err);
    assert_string_equal(json_string_value(json_object_get(o, "type")), "T");
    json_decref(o);
}

static void refuse(const char *predictions, const char *spans, const char *said)
{
    struct error err = { 0 };

    assert_null(join(predictions, spans, "{\"id\":7,\"db_id\":\"gym\",\"question\":\"the names?\"}", &err));
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, said);
}

/* The message names the file, the line and the field. */
static void test_refused(void **state)
{
    (void)state;
    refuse(PREDICTION "\n" PREDICTION "\n", NULL,
           "predictions.jsonl: line 2: field \"id\": expected each id once, got \"7\"");
    refuse("{\"question\":\"?\"}\n", NULL, "line 1: field \"id\": expected a string or an integer, got nothing");
    refuse("{\"id\":7,\"question\":\"the names?\",\"ambiguous\":true,\"type\":\"X\",\"score\":0,\"alternatives\":[]}\n",
           NULL, "field \"type\": expected null or one of ");
    refuse("{\"id\":7,\"question\":\"the names?\",\"ambiguous\":true,\"score\":1.5,\"alternatives\":[]}\n", NULL,
           "\"score\"");
    refuse("{\"id\":7,\"question\":\"the names?\",\"ambiguous\":true,\"score\":1,\"alternatives\":[1]}\n", NULL,
           "alternatives[0]: expected a string, got ");
    refuse("{\"id\":7,\"question\":\"a name?\",\"ambiguous\":true,\"score\":1,\"alternatives\":[\"member.name\"]}\n",
           NULL, "field \"question\": expected \"the names?\", as in in.jsonl: line 4, got \"a name?\"");
    refuse("{\"id\":7,\"question\":\"the names?\",\"ambiguous\":true,\"score\":1,\"alternatives\":[\"member.age\"]}\n",
           NULL, "member.age");
    refuse(NULL, SPAN(4, 9, "name", "AMB", "coach.name") "\n",
           "spans[0]: field \"text\": expected \"names\", which stands there");
    refuse(NULL, SPAN(4, 11, "names?", "AMB", "coach.name") "\n", "\"end\"");
    refuse(NULL, SPAN(4, 9, "names", "MAYBE", "coach.name") "\n",
           "field \"label\": expected COL, VAL, AMB or UNK, got \"MAYBE\"");
    refuse(NULL, SPAN(4, 9, "names", "AMB", "coach.age") "\n", "coach.age");
}

/* Lines in memory have the same effect as those of files. */
static void test_in_memory(void **state)
{
    json_t *record = json_loads("{\"id\":7,\"question\":\"the names?\"}", 0, NULL);
    json_t *prediction = json_loads(PREDICTION, 0, NULL),
           *span = json_loads(SPAN(0, 3, "the", "UNK", "member.name"), 0, NULL);
    struct error err = { 0 };

    (void)state;
    json_t *joined = evidence_join_lines(record, prediction, span, &schema, "a line", &err);
    json_t *also = join(PREDICTION "\n", SPAN(0, 3, "the", "UNK", "member.name") "\n",
                        "{\"id\":7,\"question\":\"the names?\"}", &err);
    assert_non_null(joined);
    assert_true(json_equal(joined, also));
    assert_int_equal(json_object_size(record), 2); /* the caller's stays */
    json_decref(joined);
    json_decref(also);
    joined = evidence_join_lines(record, NULL, NULL, &schema, "a line", &err);
    assert_true(json_equal(joined, record));
    json_decref(joined);
    json_object_set_new(prediction, "score", json_string("high"));
    assert_null(evidence_join_lines(record, prediction, span, &schema, "a line", &err));
    assert_error(err, "a line", "score");
    json_decref(span);
    json_decref(prediction);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_joined), cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_in_memory) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
