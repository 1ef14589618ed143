/* ambit-data sql from the outside: one line a record, good or bad, and the exit code. */
#include "tests/support/support.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tables[] =
    "[{\"db_id\": \"d\", \"table_names\": [\"a\"], \"table_names_original\": [\"A\"], \"column_names\": "
    "[[-1, \"*\"], [0, \"x\"]], \"column_names_original\": [[-1, \"*\"], [0, \"X\"]], \"column_types\": [\"text\", "
    "\"number\"], \"primary_keys\": [], \"foreign_keys\": []}]";

static int set_up(void **state)
{
    *state = test_dir_new();
    test_file(*state, "tables.json", tables);
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

/* Runs it on an input; the output file's lines, or NULL when there is none. */
static json_t *run(const char *dir, const char *name, const char *input, int code, char **said)
{
    char command[2048];
    const char *in = test_file(dir, name, input), *out = test_file(dir, "out.jsonl", NULL);

    snprintf(command, sizeof command, "ambit-data sql --schema %s %s -o %s", test_file(dir, "tables.json", NULL), in,
             out);
    int rc = test_run(command, said);
    if (rc != code)
        fail_msg("exit code %d: %s", rc, *said);
    char *text = test_read(out);
    json_t *lines = text ? json_array() : NULL;
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL);
        assert_non_null(o);
        json_array_append_new(lines, o);
    }
    free(text);
    return lines;
}

static const char *field(const json_t *lines, size_t i, const char *name)
{
    return json_string_value(json_object_get(json_array_get(lines, i), name));
}

static void canonical_text_and_uses(void **state)
{
    char *said;
    json_t *lines =
        run(*state, "in.json",
            "[{\"db_id\": \"d\", \"query\": \"select x from a\"}, "
            "{\"id\": \"q2\", \"db_id\": \"d\", \"sql\": [\"select 1\", \"select count(*) from a where x=1\"]}]",
            0, &said);
    json_t *wanted = json_loads(
        "[{\"id\": 1, \"db_id\": \"d\", \"sql\": \"SELECT X FROM A\", \"uses\": [{\"table\": \"A\", \"column\": \"X\", "
        "\"clause\": \"select\", \"depth\": 0, \"begin\": 7, \"end\": 8}, {\"table\": \"A\", \"column\": null, "
        "\"clause\": \"from\", \"depth\": 0, \"begin\": 14, \"end\": 15}]}, {\"id\": \"q2\", \"db_id\": \"d\", "
        "\"sql\": "
        "[\"SELECT 1\", \"SELECT COUNT(*) FROM A WHERE X = 1\"], \"uses\": [[], [{\"table\": \"A\", \"column\": null, "
        "\"clause\": \"from\", \"depth\": 0, \"begin\": 21, \"end\": 22}, {\"table\": \"A\", \"column\": \"X\", "
        "\"clause\": \"where\", \"depth\": 0, \"begin\": 29, \"end\": 30}]]}]",
        0, NULL);
    assert_non_null(wanted);
    assert_true(json_equal(lines, wanted));
    json_decref(lines);
    json_decref(wanted);
    free(said);
}

static void bad_records_do_not_stop_it(void **state)
{
    static const char *const errors[][2] = { { "line 1: SQL at line 1, column 15", "got \"a\"" },
                                             { "line 2", "no schema \"e\"" },
                                             { "line 3", "db_id" },
                                             { "line 4", "in.jsonl" },
                                             { "line 5", "\"query\" or \"sql\"" },
                                             { "line 6: SQL at line 1, column 8", "no column" } };
    char *said;
    json_t *lines =
        run(*state, "in.jsonl",
            "{\"db_id\": \"d\", \"query\": \"select x FORM a\"}\n{\"db_id\": \"e\", \"query\": \"select 1\"}\n"
            "{\"db_id\": 7, \"query\": \"select 1\"}\n{\"db_id\": \n{\"db_id\": \"d\", \"query\": 7}\n"
            "{\"db_id\": \"d\", \"query\": \"select \xc3\xa9 from a\"}\n{\"db_id\": \"d\", \"query\": "
            "\"select 1\"}\n",
            7, &said);
    assert_int_equal(json_array_size(lines), 7);
    for (size_t i = 0; i < 6; i++) {
        const char *e = field(lines, i, "error");
        if (!e || !strstr(e, errors[i][0]) || !strstr(e, errors[i][1]))
            fail_msg("record %zu: %s", i, e ? e : "no error");
        assert_null(field(lines, i, "sql"));
    }
    assert_string_equal(field(lines, 6, "sql"), "SELECT 1");
    assert_non_null(strstr(said, "7 records, 6 failed"));
    json_decref(lines);
    free(said);
}

static void bad_calls(void **state)
{
    char *said;
    char command[1024];
    assert_null(run(*state, "none.json", NULL, EXIT_CODE_DATA, &said));
    assert_non_null(strstr(said, "none.json"));
    free(said);
    assert_int_equal(test_run("ambit-data sql in.json", &said), EXIT_CODE_USAGE);
    assert_non_null(strstr(said, "schema"));
    free(said);
    snprintf(command, sizeof command,
             "echo '{\"db_id\": \"d\", \"query\": \"select x from a\"}' | "
             "ambit-data sql --schema %s -",
             test_file(*state, "tables.json", NULL));
    assert_int_equal(test_run(command, &said), 0);
    assert_non_null(strstr(said, "\"sql\":\"SELECT X FROM A\""));
    free(said);
    snprintf(command, sizeof command, "ambit-data sql --schema %s - < /dev/null", test_file(*state, "bad.json", "[1]"));
    assert_int_equal(test_run(command, &said), EXIT_CODE_DATA);
    assert_non_null(strstr(said, "bad.json: schema 0"));
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(canonical_text_and_uses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_records_do_not_stop_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_calls, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
