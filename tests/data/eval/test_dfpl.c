/* Published prediction files: a small one by hand, and the one at hand with all that it says of itself. */
#include "tests/support/support.h"

#include "data/db/db_cache.h"
#include "data/eval/dfpl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char small[] =
    "{\"results\": [{\"db_file\": \"data/x/Shop/shop.sqlite\", \"db_dump\": \"CREATE TABLE t (a TEXT);\\nINSERT INTO "
    "\\\"t\\\" (a,b) VALUES ('x',1),('y',2);\", \"question\": \"Which?\", \"is_ambiguous\": true, \"ambig_type\": "
    "\"vague\", \"gold_queries\": [\"SELECT a FROM t\", \"SELECT b FROM t\"], \"interpretations\": "
    "[{\"interpretation\": "
    "\"A\", \"sql_queries\": [\"SELECT a FROM t\", \"SELECT c FROM t\"], \"metrics\": {\"recall\": 0.5, \"precision\": "
    "0.5, \"f1_score\": 0.5, \"num_queries\": 2, \"num_unique_queries\": 2, \"execution_errors\": [{\"query\": "
    "\"SELECT "
    "c FROM t\"}], \"all_found\": false}}, {\"interpretation\": \"None\"}], \"num_unique_execution_results\": 2, "
    "\"interpretation_level_metrics\": {\"recall\": 0.5, \"precision\": 0.5, \"f1_score\": 0.5, \"all_found\": false, "
    "\"one_found\": true}, \"matched_gold_sql\": 1}]}";

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

struct totals {
    struct dfpl_stored stored;
    double recall, precision, f1, one_found, all_found;
    int ambiguous;
};

static void score_example(struct totals *sum, struct db_cache *databases, const struct dfpl_example *e)
{
    struct trial t;
    struct error err;
    struct exec_db *db = db_cache_dump(databases, e->dump, &err);
    if (!db)
        fail_msg("%s: %s", e->db_file, err.text);
    struct trial_text all = trial_texts_part(&e->sql, 0, e->sql.n);
    trial_run(&t, TRIAL_PUBLISHED, db, trial_texts_part(&e->golds, 0, e->golds.n), all);
    dfpl_stored_compare(&sum->stored, e, &t);
    struct trial_score s = trial_score_covered(&t, all);
    if (e->ambiguous) {
        sum->recall += s.recall;
        sum->precision += s.precision;
        sum->f1 += s.f1;
        sum->one_found += s.one_found;
        sum->all_found += s.all_found;
        sum->ambiguous++;
    }
    trial_release(&t);
}

static struct totals score_file(const char *path)
{
    struct totals sum = { 0 };
    struct db_cache databases;
    struct dfpl_file f;
    struct error err;

    if (dfpl_read(&f, path, &err))
        fail_msg("%s", err.text);
    db_cache_init(&databases);
    for (int i = 0; i < f.n; i++)
        score_example(&sum, &databases, &f.items[i]);
    db_cache_release(&databases);
    dfpl_release(&f);
    return sum;
}

static void small_file(void **state)
{
    struct totals sum = score_file(test_file(*state, "small.json", small));
    assert_int_equal(sum.ambiguous, 1);
    assert_int_equal(sum.stored.metrics, 2);
    assert_int_equal(sum.stored.differ, 0);
    assert_int_equal(sum.stored.groups_differ + sum.stored.matched_differ, 0);
}

/* Any stored number that is not ours is counted. */
static void stored_metrics_that_differ(void **state)
{
    static const char *const changes[][2] = {
        { "\"recall\": 0.5, \"precision\": 0.5, \"f1_score\": 0.5, \"num",
          "\"recall\": 0.6, \"precision\": 0.5, \"f1_score\": 0.5, \"num" },
        { "\"f1_score\": 0.5, \"all_found\"", "\"f1_score\": 0.4, \"all_found\"" },
        { "\"num_queries\": 2", "\"num_queries\": 3" },
        { "\"num_unique_queries\": 2", "\"num_unique_queries\": 1" },
        { "{\"query\": \"SELECT c FROM t\"}", "{\"query\": \"SELECT a FROM t\"}" },
        { "{\"query\": \"SELECT c FROM t\"}", "" },
        { "\"all_found\": false, \"one_found\": true", "\"all_found\": false, \"one_found\": false" },
        { "\"all_found\": false, \"one_found\": true", "\"all_found\": true, \"one_found\": true" },
    };
    for (int i = 0; i < ARRAY_LEN(changes); i++) {
        const char *at = strstr(small, changes[i][0]);
        char *text = NULL;
        assert_non_null(at);
        assert_true(asprintf(&text, "%.*s%s%s", (int)(at - small), small, changes[i][1], at + strlen(changes[i][0])) >
                    0);
        struct totals sum = score_file(test_file(*state, "changed.json", text));
        if (sum.stored.differ != 1)
            fail_msg("change %d: %d sets of metrics differ", i, sum.stored.differ);
        free(text);
    }
}

static void bad_files(void **state)
{
    static const char *const cases[][3] = {
        { "[]", "got an array", "results" },
        { "{\"results\": []}", "\"results\" is empty", "" },
        { "{\"results\": [7]}", "example 1: expected an object", "db_file" },
        { "{\"results\": [{\"db_file\": \"x\", \"db_dump\": 3}]}", "example 1: field \"db_dump\": expected a string",
          "got an integer" },
        { "{\"results\": [{\"db_file\": \"x\", \"db_dump\": \"\", \"question\": \"q\", \"is_ambiguous\": 1}]}",
          "is_ambiguous", "true or false" },
        { "{\"results\": [{\"db_file\": \"x\", \"db_dump\": \"\", \"question\": \"q\", \"is_ambiguous\": true, "
          "\"gold_queries\": [null], \"interpretations\": []}]}",
          "gold_queries", "expected a string" },
        { "{\"results\": [{\"db_file\": \"x\", \"db_dump\": \"\", \"question\": \"q\", \"is_ambiguous\": true, "
          "\"gold_queries\": [\"\"], \"interpretations\": [{\"interpretation\": \"a\", \"sql_queries\": {}}]}]}",
          "example 1, interpretation 1", "sql_queries" },
        { "{\"results\": [{", "line 1", "" },
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct dfpl_file f;
        struct error err = { 0 };
        assert_int_equal(dfpl_read(&f, test_file(*state, "bad.json", cases[i][0]), &err), -1);
        assert_error(err, "bad.json", cases[i][1], cases[i][2]);
        dfpl_release(&f);
    }
}

static void assert_rounds_to(double value, double n, double four_digits)
{
    if (value / n < four_digits - 0.00005 || value / n >= four_digits + 0.00005)
        fail_msg("%g, expected %.4f", value / n, four_digits);
}

/* The whole of a published file: its means, and 0 mismatches in 2107 sets of metrics. */
static void published_file(void **state)
{
    const char *path = test_shared("data/dfpl/gemma2_ambrosia_resplit_validation.json");
    (void)state;
    if (!path)
        skip();
    struct totals sum = score_file(path);
    assert_int_equal(sum.ambiguous, 120);
    assert_rounds_to(sum.recall, 120, .3347);
    assert_rounds_to(sum.precision, 120, .3668);
    assert_rounds_to(sum.f1, 120, .3229);
    assert_rounds_to(sum.one_found, 120, .7000);
    assert_rounds_to(sum.all_found, 120, .0167);
    assert_int_equal(sum.stored.metrics, 2107);
    assert_int_equal(sum.stored.differ, 0);
    assert_int_equal(sum.stored.matched, 396);
    assert_int_equal(sum.stored.matched_differ, 0);
    assert_int_equal(sum.stored.groups, 396);
    assert_int_equal(sum.stored.groups_differ, 1); /* whose grouping followed the order of a Python set */
}

static json_t *rewritten(const char *text, int64_t number, bool published, struct error *err)
{
    json_t *row = json_loads(text, 0, NULL);

    assert_non_null(row);
    json_t *record = dfpl_rewritten_record(row, number, published, "file: line 3", err);
    json_decref(row);
    return record;
}

#define ROW(queries, pairs)                                                                                            \
    "{\"db_file\": \"data/AmbiQT/db-content/database_syn_eval/pets_1_column_pets_pet_age/pets_1_column_pets_pet_age."  \
    "sqlite\", \"db_dump\": \"\", \"question\": \"How old?\", \"is_ambiguous\": true, \"gold_queries\": " queries      \
    ", \"interpretations\": " pairs "}"
#define TWO_QUERIES "[\"select age_in_years from pets\", \"select years from pets\"]"

/* The golds in words of stage 0, as the authors' program writes them. */
static void rewritten_golds_are_records(void **state)
{
    struct error err = { 0 };
    (void)state;

    json_t *record =
        rewritten(ROW(TWO_QUERIES, "[[\"What is the age_in_years?\", true], [\"Which years?\", true]]"), 3, true, &err);
    json_t *wanted =
        json_pack("{s:i, s:s, s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "id", 3, "db_id", "pets_1_column_pets_pet_age",
                  "source_db", "pets_1", "question", "How old?", "golds", "sql", "select age_in_years from pets",
                  "text", "What is the age in years?", "sql", "select years from pets", "text", "Which years?");
    assert_non_null(record);
    assert_true(json_equal(record, wanted));
    json_decref(record);
    json_decref(wanted);
}

static void bad_rewritten_golds(void **state)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        { ROW(TWO_QUERIES, "[[\"A?\", true], [\"B?\", false]]"), "gold 2: its SQL rejects the text \"B?\"" },
        { ROW(TWO_QUERIES, "[[\"A?\", true]]"), "expected an interpretation for each of 2 gold queries, got 1" },
        { ROW(TWO_QUERIES, "[[\"A?\", true], \"B?\"]"),
          "\"interpretations\": entry 2: expected [text, true or false]" },
        { ROW(TWO_QUERIES, "[[\"A?\", 1], [\"B?\", true]]"), "\"interpretations\": entry 1: expected [text, true" },
        { ROW(TWO_QUERIES, "\"A?\""), "\"interpretations\": expected an array, got a string" },
        { ROW("[\"select 1\", 2]", "[[\"A?\", true], [\"B?\", true]]"), "\"gold_queries\": entry 2 is no string" },
        { ROW("[]", "[]"), "each of 0 gold queries" },
        { "{\"db_file\": 5, \"gold_queries\": [], \"interpretations\": []}", "\"db_file\": expected a string" },
        { "{\"db_file\": \"a\", \"gold_queries\": [], \"interpretations\": []}", "\"question\" is missing" },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        assert_null(rewritten(cases[i].row, 3, false, &err));
        assert_int_equal(err.code, EXIT_CODE_DATA);
        if (!strstr(err.text, cases[i].message) || strncmp(err.text, "file: line 3: ", 14))
            fail_msg("%s\nexpected: %s", err.text, cases[i].message);
    }
    struct error err = { 0 };
    const char *good = ROW(TWO_QUERIES, "[[\"A?\", true], [\"B?\", true]]");
    assert_null(rewritten(good, 2, true, &err));
    assert_non_null(strstr(err.text, "skips the first 2 records"));
    json_decref(rewritten(good, 2, false, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stored_metrics_that_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_files, set_up, tear_down),
        cmocka_unit_test(published_file),
        cmocka_unit_test(rewritten_golds_are_records),
        cmocka_unit_test(bad_rewritten_golds),
    };
    return cmocka_run_group_tests_name("dfpl", tests, NULL, NULL);
}
