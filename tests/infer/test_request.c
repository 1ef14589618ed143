/* The JSON arguments of libambit: unknown fields, values of wrong types, and the records of questions. */
#include "infer/api/request.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static void refuse(const char *text, const char *known, const char *said)
{
    struct error err = { 0 };

    assert_null(request_read(text, "settings", known, &err));
    assert_int_equal(err.code, EXIT_CODE_USAGE);
    assert_error(err, "settings: ", said);
}

static void test_fields(void **state)
{
    struct error err = { 0 };

    (void)state;
    for (const char *text = "{\"db\":1,\"threads\":2}";; text = NULL) { /* NULL: an object without fields */
        json_t *o = request_read(text, "settings", "db threads", &err);
        assert_non_null(o);
        assert_int_equal(json_object_size(o), text ? 2 : 0);
        json_decref(o);
        if (!text)
            break;
    }
    refuse("{\"thread\":2}", "db threads", "unknown field \"thread\", expected some of: db threads");
    refuse("{\"threadss\":2}", "db threads", "unknown field \"threadss\"");
    refuse("{\"b\":2}", "db threads", "unknown field \"b\"");
    refuse("{\"db threads\":2}", "db threads", "unknown field \"db threads\"");
    refuse("{\"\":2}", "db threads", "unknown field \"\"");
    refuse("{\"db\":1}", "", "unknown field \"db\"");
    refuse("[1]", "db", "expected an object, got ");
    refuse("{\"db\":1,\"db\":2}", "db", "line 1, column 12: no JSON: duplicate");
    refuse("{\"db\":\n1,,}", "db", "line 2, column ");
    refuse("", "db", "no JSON: ");
}

/* A missing field leaves the value, a wrong one is an error of usage. */
static void test_values(void **state)
{
    json_t *o = json_pack("{s:s, s:i, s:f, s:b, s:n}", "text", "t", "number", 7, "real", 0.5, "yes", 1, "null");
    const char *text = "default";
    struct error err = { 0 };
    int64_t number = 3;
    double real = 0.25;
    bool yes = false;

    (void)state;
    assert_int_equal(request_string(o, "none", &text, &err), 0);
    assert_int_equal(request_int(o, "none", 0, 9, &number, &err), 0);
    assert_int_equal(request_real(o, "none", 0, 1, &real, &err), 0);
    assert_int_equal(request_bool(o, "none", &yes, &err), 0);
    assert_string_equal(text, "default");
    assert_true(number == 3 && real == 0.25 && !yes);
    assert_int_equal(request_string(o, "text", &text, &err), 0);
    assert_int_equal(request_int(o, "number", 7, 7, &number, &err), 0);
    assert_int_equal(request_real(o, "real", 0, 0.5, &real, &err), 0);
    assert_int_equal(request_bool(o, "yes", &yes, &err), 0);
    assert_string_equal(text, "t");
    assert_true(number == 7 && real == 0.5 && yes);
    const int rc[] = { request_int(o, "number", 0, 6, &number, &err), request_int(o, "real", 0, 9, &number, &err),
                       request_real(o, "real", 0.6, 1, &real, &err),  request_real(o, "text", 0, 1, &real, &err),
                       request_bool(o, "number", &yes, &err),         request_string(o, "number", &text, &err),
                       request_string(o, "null", &text, &err) };
    for (int i = 0; i < ARRAY_LEN(rc); i++)
        assert_int_equal(rc[i], -1);
    err = (struct error){ 0 };
    assert_int_equal(request_int(o, "number", 0, 6, &number, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_USAGE);
    assert_error(err, "settings", "number", "6");
    json_decref(o);
}

/* A question without an id gets its place; the caller's own objects stay as they are. */
static void test_records(void **state)
{
    json_t *o = json_loads("{\"questions\":[\"how many?\",{\"id\":\"a\",\"question\":\"who?\"},{\"question\":\"?\"}]}",
                           0, NULL);
    struct error err = { 0 };
    int n = -1;

    (void)state;
    json_t **records = request_records(o, &n, &err);
    assert_non_null(records);
    assert_int_equal(n, 3);
    assert_int_equal(json_integer_value(json_object_get(records[0], "id")), 1);
    assert_string_equal(json_string_value(json_object_get(records[0], "question")), "how many?");
    assert_string_equal(json_string_value(json_object_get(records[1], "id")), "a");
    assert_int_equal(json_integer_value(json_object_get(records[2], "id")), 3);
    assert_null(json_object_get(json_array_get(json_object_get(o, "questions"), 2), "id"));
    request_records_free(records, n);
    json_array_append_new(json_object_get(o, "questions"), json_integer(5));
    assert_null(request_records(o, &n, &err));
    assert_int_equal(err.code, EXIT_CODE_USAGE);
    assert_error(err, "questions[3] is ", "expected a string or an object");
    json_object_set_new(o, "questions", json_string("how many?"));
    assert_null(request_records(o, &n, &err));
    assert_int_equal(n, 0);
    assert_int_equal(err.code, EXIT_CODE_USAGE);
    assert_error(err, "questions");
    json_decref(o);
    o = json_loads("{\"questions\":[]}", 0, NULL);
    records = request_records(o, &n, &err);
    assert_non_null(records);
    assert_int_equal(n, 0);
    request_records_free(records, n);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields), cmocka_unit_test(test_values),
                                        cmocka_unit_test(test_records) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
