/* Passing records to a function and writing lines: a failed record has a line of its own, a bad file ends the run. */
#include "tests/support/support.h"

#include "data/base/records.h"

#include <stdlib.h>
#include <string.h>

static int add_number(void *user, json_t *record, const char *where, struct error *err)
{
    json_t *n = json_object_get(record, "n");
    if (!json_is_integer(n))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"n\": expected an integer", where);
    *(int64_t *)user += json_integer_value(n);
    return 0;
}

static void each_record_in_order_until_one_fails(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    const char *path = test_file(dir, "in.jsonl", "{\"n\": 1}\n{\"n\": 20}\n{\"n\": \"x\"}\n{\"n\": 300}\n");
    struct error err = { 0 };
    int64_t sum = 0;
    assert_int_equal(records_each(path, RECORDS_AUTO, add_number, &sum, &err), -1);
    assert_int_equal(sum, 21);
    assert_non_null(strstr(err.text, "in.jsonl: line 3: field \"n\""));
    path = test_file(dir, "array.json", "[{\"n\": 4}, {\"n\": 5}]");
    assert_int_equal(records_each(path, RECORDS_AUTO, add_number, &sum, &err), 0);
    assert_int_equal(sum, 30);
    assert_int_equal(records_each(test_file(dir, "none", NULL), RECORDS_AUTO, add_number, &sum, &err), -1);
    test_dir_remove(dir);
}

static int add_twice(void *user, json_t *record, json_t *line, const char *where, struct error *bad)
{
    int64_t n = 0;
    if (add_number(&n, record, where, bad))
        return -1;
    json_object_set_new(line, "twice", json_integer(2 * n));
    *(int64_t *)user += n;
    return 0;
}

static void a_line_for_each_record(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    const char *in =
        test_file(dir, "in.jsonl",
                  "{\"id\": \"a\", \"n\": 1}\n{\"n\": 2, \"db_id\": \"d\"}\n{\"n\":\n{\"id\": 7, \"n\": \"x\"}\n");
    const char *out = test_file(dir, "out.jsonl", NULL);
    const struct record_range all = { 0 };
    struct record_counts counts = { 0 };
    struct error err = { 0 };
    int64_t sum = 0;
    assert_int_equal(records_to_lines(in, RECORDS_AUTO, &all, out, add_twice, &sum, &counts, &err), 0);
    assert_true(sum == 3 && counts.records == 4 && counts.failed == 2);
    static const char good[] = "{\"id\":\"a\",\"db_id\":null,\"twice\":2}\n{\"id\":2,\"db_id\":\"d\",\"twice\":4}\n";
    char *text = test_read(out), *third = strstr(text, "{\"id\":3,\"db_id\":null,\"error\":");
    assert_memory_equal(text, good, sizeof good - 1);
    assert_non_null(third);
    assert_non_null(strstr(third, "{\"id\":7,\"db_id\":null,\"error\":\""));
    free(text);
    assert_int_equal(records_to_lines(in, RECORDS_AUTO, &all, dir, add_twice, &sum, &counts, &err), -1);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_in_order_until_one_fails),
        cmocka_unit_test(a_line_for_each_record),
    };
    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
