/* clarify on databases: candidates are merged by results, golds are recognised by results, and strategies are compared
 * on the same dialogues. */
#include "tests/support/support.h"

#include "data/base/json.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char harbour[] =
    "CREATE TABLE boat(id INTEGER PRIMARY KEY, name TEXT, length REAL, crew INT);"
    "INSERT INTO boat VALUES (1, 'Ann', 12.5, 3), (2, 'Bob', 20, 5), (3, 'Cal', 30.5, 5);"
    "CREATE TABLE broken(id INTEGER PRIMARY KEY, a INT CHECK (a < length(sqlite_source_id())));";

struct fixture {
    char *dir;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    sqlite3 *db;

    f->dir = test_dir_new();
    assert_int_equal(sqlite3_open(test_file(f->dir, "harbour.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, harbour, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    test_dir_remove(f->dir);
    free(f);
    return 0;
}

/* Runs clarify on the records.  Returns its lines, which the caller releases. */
static json_t *clarify(const struct fixture *f, const char *records, const char *options, int code)
{
    struct error err;
    json_t *lines = json_array(), *line;
    char *command = NULL, *output;
    const char *in = test_file(f->dir, "in.jsonl", records), *out = test_file(f->dir, "out.jsonl", NULL);

    CHECK(asprintf(&command, "ambit-infer clarify --candidates %s --db %s -o %s %s", in, f->dir, out, options) >= 0,
          "cannot format a command");
    int got = test_run(command, &output);
    if (got != code)
        fail_msg("%s: exit code %d, expected %d: %s", command, got, code, output);
    free(command);
    free(output);
    struct json_reader *r = json_reader_open(out, &err);
    while (json_reader_next(r, &line, &err) > 0)
        json_array_append_new(lines, line);
    json_reader_close(r);
    return lines;
}

#define RECORD(candidates, gold)                                                                                       \
    "{\"id\":\"r\",\"db_id\":\"harbour\",\"question\":\"Which boats?\",\"candidates\":[" candidates                    \
    "],\"gold\":[" gold "]}\n"
#define SQL(text, p) "{\"sql\":\"" text "\",\"p\":" p "}"

static const json_t *field(const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);
    if (!value)
        fail_msg("no field %s", name);
    return value;
}

static void test_merge_by_results(void **state)
{
    json_t *lines = clarify(*state,
                            RECORD(SQL("SELECT name FROM boat WHERE crew = 5", "0.3") ","     //
                                   SQL("SELECT name FROM boat WHERE length >= 20", "0.4") "," //
                                   SQL("SELECT name FROM boat WHERE crew + 0 = 5", "0.2") "," //
                                   SQL("SELECT name FROM boat WHERE 5 = crew", "0.1"),
                                   ""),
                            "", 0);
    const json_t *line = json_array_get(lines, 0);
    assert_int_equal(json_integer_value(field(line, "merged")), 1);
    assert_int_equal(json_integer_value(field(line, "same_results")), 1);
    assert_int_equal(json_integer_value(field(line, "candidates")), 2);
    assert_string_equal(json_string_value(field(line, "best")), "SELECT name FROM boat WHERE crew = 5");
    const json_t *apart = json_array_get(field(line, "distinguished_by"), 0);
    assert_int_equal(json_integer_value(json_array_get(field(apart, "candidates"), 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(field(apart, "candidates"), 1)), 0);
    assert_string_equal(json_string_value(field(apart, "copy")), "values near the constants");
    assert_float_equal(json_real_value(field(line, "confidence")), 0.6, 1e-9);
    json_decref(lines);
}

static void test_database_without_copy(void **state)
{
    json_t *lines =
        clarify(*state, RECORD(SQL("SELECT id FROM broken", "0.5") "," SQL("SELECT a FROM broken", "0.5"), ""), "", 0);
    const json_t *line = json_array_get(lines, 0);
    assert_non_null(strstr(json_string_value(field(line, "not_compared")), "no perturbed copy can be made"));
    assert_int_equal(json_integer_value(field(line, "candidates")), 2);
    json_decref(lines);
}

/* The gold differs from all candidates as text but has the results of one; its user answers like that one. */
static void test_gold_by_results(void **state)
{
    json_t *lines = clarify(*state,
                            RECORD(SQL("SELECT name FROM boat WHERE length > 12.5", "0.6") "," //
                                   SQL("SELECT name FROM boat WHERE crew = 5", "0.4"),
                                   "\"SELECT name FROM boat WHERE crew * 2 = 10\""),
                            "--simulate --noise 0", 0);
    const json_t *dialogue = json_array_get(field(json_array_get(lines, 0), "dialogues"), 0);
    assert_true(json_is_true(field(dialogue, "covered")));
    assert_true(json_is_true(field(dialogue, "correct")));
    assert_true(json_is_true(field(dialogue, "execution_match")));
    assert_int_equal(json_array_size(field(dialogue, "turns")), 1);
    const json_t *metrics = field(json_array_get(lines, 1), "metrics");
    /* both candidates give its rows on the database itself, one of them means it */
    assert_float_equal(json_number_value(field(json_array_get(field(metrics, "accuracy"), 0), "mean")), 0, 0);
    assert_float_equal(json_number_value(field(json_array_get(field(metrics, "execution_accuracy"), 0), "mean")), 1, 0);
    assert_float_equal(json_number_value(field(json_array_get(field(metrics, "accuracy"), 1), "mean")), 1, 0);
    json_decref(lines);
}

/* A gold that does not run is an error and never counts as right. */
static void test_failing_gold(void **state)
{
    json_t *lines = clarify(*state,
                            RECORD(SQL("SELECT abs(-9223372036854775807 - id) FROM boat", "0.5") "," //
                                   SQL("SELECT name FROM boat", "0.5"),
                                   "\"SELECT abs(-9223372036854775807 - id) FROM boat\", \"SELECT load_extension(name) "
                                   "FROM boat\", \"SELECT name FROM ship\", \"SELECT name FROM boat\""),
                            "--simulate", 0);
    const json_t *dialogues = field(json_array_get(lines, 0), "dialogues");
    assert_int_equal(json_array_size(dialogues), 4);
    static const char *const why[] = { "does not run: integer overflow", "does not run: ", "ship" };
    for (size_t i = 0; i < 3; i++) {
        const json_t *d = json_array_get(dialogues, i);
        assert_non_null(strstr(json_string_value(field(d, "error")), why[i]));
        assert_null(json_object_get(d, "correct"));
    }
    const json_t *metrics = field(json_array_get(lines, 1), "metrics");
    assert_int_equal(json_integer_value(field(metrics, "gold_errors")), 3);
    assert_int_equal(json_integer_value(field(metrics, "dialogues")), 1);
    json_decref(lines);
}

static void test_report(void **state)
{
    const struct fixture *f = *state;
    char options[4200];
    snprintf(options, sizeof options, "--simulate --noise 0 --report %s", test_file(f->dir, "report.html", NULL));
    json_t *lines = clarify(f,
                            RECORD(SQL("SELECT name FROM boat WHERE crew = 5", "0.5") "," //
                                   SQL("SELECT name FROM boat WHERE crew > 2", "0.3") "," //
                                   SQL("SELECT DISTINCT crew FROM boat WHERE crew = 5", "0.2"),
                                   "\"SELECT name FROM boat WHERE crew > 2\", \"SELECT crew FROM boat\""),
                            options, 0);
    assert_int_equal(json_array_size(lines), 1 + 7);
    assert_string_equal(json_string_value(field(json_array_get(lines, 1), "strategy")), "eig");
    const json_t *random = json_array_get(lines, 2);
    assert_string_equal(json_string_value(field(random, "strategy")), "random");
    assert_string_equal(json_string_value(field(field(random, "difference"), "strategy")), "eig");
    json_decref(lines);
    char *page = test_read(test_file(f->dir, "report.html", NULL));
    static const char *const parts[] = { "Accuracy by questions",
                                         "Execution accuracy",
                                         "Area under",
                                         "changed nothing",
                                         "Confidence at the end",
                                         "Transcripts",
                                         "Which boats?",
                                         "info-gain-values",
                                         "info-gain-candidates",
                                         "Meant: SELECT name FROM boat WHERE crew &gt; 2" };
    for (int i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(page, parts[i]))
            fail_msg("the report lacks %s", parts[i]);
    free(page);
}

static void test_report_without_simulation(void **state)
{
    char *output;
    const struct fixture *f = *state;
    char command[4400];
    snprintf(command, sizeof command, "ambit-infer clarify --candidates %s --db %s --report none.html",
             test_file(f->dir, "in.jsonl", "{}"), f->dir);
    assert_int_equal(test_run(command, &output), 2);
    assert_non_null(strstr(output, "--report: expected --simulate as well"));
    free(output);
}

/* Checks that the 95 % interval allows the first strategy to be at least as good as the second. */
static void assert_not_behind(const struct fixture *f, const char *records, const char *first, const char *second)
{
    struct error err;
    char *command = NULL, *output;
    const char *out = test_file(f->dir, "t13.jsonl", NULL);
    json_t *line;
    double high = -2;

    CHECK(asprintf(&command,
                   "ambit-infer clarify --candidates %s --schema %s --simulate --noise 0 --max-turns 1 --strategy %s "
                   "--report %s -o %s",
                   records, test_shared("data/spider/tables.json"), first, test_file(f->dir, "t13.html", NULL),
                   out) >= 0,
          "cannot format a command");
    int code = test_run(command, &output);
    if (code != 0 && code != 7)
        fail_msg("%s: %s", command, output);
    free(command);
    free(output);
    struct json_reader *r = json_reader_open(out, &err);
    while (json_reader_next(r, &line, &err) > 0) {
        const char *name = json_string_value(json_object_get(line, "strategy"));
        if (name && strcmp(name, second) == 0) {
            const json_t *by = json_array_get(field(field(field(line, "difference"), "by"), "accuracy"), 1);
            high = json_number_value(field(by, "high"));
            print_message("%s less %s: %.4f [%.4f, %.4f]\n", first, second, json_number_value(field(by, "mean")),
                          json_number_value(field(by, "low")), high);
        }
        json_decref(line);
    }
    json_reader_close(r);
    assert_true(high >= 0);
}

/* With one question, EIG is not worse than information gain over candidates, and that is not worse than chance. */
static void test_strategies_with_one_question(void **state)
{
    const struct fixture *f = *state;
    static const char *const files[][2] = {
        { "outputs/join-ambiguity/logical-beam.json", "tbl-split.validation.jsonl" },
        { "outputs/precomputed-aggregates/logical-beam.json", "tbl-agg.validation.jsonl" },
    };
    if (!test_shared("data/ambiqt") || !test_shared("data/spider")) {
        print_message("skipped: no data/ambiqt, no data/spider in the shared folder\n");
        skip();
    }
    for (int i = 0; i < ARRAY_LEN(files); i++) {
        char *command = NULL, *output;
        const char *out = test_file(f->dir, "candidates.jsonl", NULL);
        CHECK(asprintf(&command,
                       "ambit-data candidates --from ambiqt-output %s/data/ambiqt/%s --gold %s/data/ambiqt/%s --schema "
                       "%s/data/spider/tables.json -o %s",
                       test_shared(""), files[i][0], test_shared(""), files[i][1], test_shared(""), out) >= 0,
              "cannot format a command");
        int code = test_run(command, &output);
        if (code != 0 && code != 7)
            fail_msg("%s: %s", command, output);
        free(command);
        free(output);
        assert_not_behind(f, out, "eig", "info-gain-candidates");
        assert_not_behind(f, out, "info-gain-candidates", "random");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_by_results),
        cmocka_unit_test(test_database_without_copy),
        cmocka_unit_test(test_gold_by_results),
        cmocka_unit_test(test_failing_gold),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_report_without_simulation),
        cmocka_unit_test(test_strategies_with_one_question),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
