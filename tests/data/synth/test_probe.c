/* Tests the leak probes: the input of each scorer, the rejection of leaks, and the published score of the and/comma
 * rule. */
#include "data/synth/gatekeeper_labels.h"
#include "tests/support/corpus.h"
#include "tests/support/support.h"

#include "data/synth/bag.h"
#include "data/synth/contrast.h"
#include "data/synth/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void the_rule_finds_a_word_or_a_comma(void **state)
{
    (void)state;
    assert_true(probe_and_comma("Names and ages?"));
    assert_true(probe_and_comma("And ages"));
    assert_true(probe_and_comma("names,ages"));
    assert_true(probe_and_comma("names (and)"));
    assert_false(probe_and_comma("The sandy land of Anderson"));
    assert_false(probe_and_comma("and2"));
    assert_false(probe_and_comma(""));
}

static void words_are_learned(void **state)
{
    static const char *const lines[] = { "red boat", "Red; crew", "blue boat", "blue crew, BLUE" };
    static const uint8_t labels[] = { 1, 1, 0, 0 };
    const int order[] = { 0, 1, 2, 3 };
    struct bag_texts t = { 0 };
    struct bag_model m, again;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(lines); i++)
        assert_int_equal(bag_add(&t, lines[i]), i);
    assert_int_equal(t.words.n, 4);
    assert_int_equal(t.first[4] - t.first[3], 2);
    bag_fit(&m, &t, order, labels, 4);
    bag_fit(&again, &t, order, labels, 4);
    assert_memory_equal(m.weight, again.weight, (size_t)(m.n_words + 1) * sizeof *m.weight);
    assert_true(bag_score(&m, &t, 0) > 0.55 && bag_score(&m, &t, 2) < 0.45);
    int unseen = bag_add(&t, "green harbour"), red = bag_add(&t, "a red harbour"), empty = bag_add(&t, "");
    assert_true(bag_score(&m, &t, red) > bag_score(&m, &t, unseen));
    assert_true(bag_score(&m, &t, unseen) == bag_score(&m, &t, empty));
    bag_model_release(&m);
    bag_model_release(&again);
    bag_release(&t);
}

static void similar_names_must_be_mentioned(void **state)
{
    struct error err = { 0 };
    struct schema_set set;

    test_file(
        *state, "tables.json",
        "[{\"db_id\": \"port\", \"table_names\": [\"boat\"], \"table_names_original\": [\"boat\"],"
        "\"column_names\": [[-1, \"*\"], [0, \"sail name\"], [0, \"sail names\"], [0, \"length\"]],"
        "\"column_names_original\": [[-1, \"*\"], [0, \"a\"], [0, \"b\"], [0, \"c\"]],"
        "\"column_types\": [\"text\", \"text\", \"text\", \"text\"], \"primary_keys\": [], \"foreign_keys\": []}]");
    assert_int_equal(schema_set_open(&set, test_file(*state, "tables.json", NULL), &err), 0);
    const struct schema *s = &set.schemas[0];
    double both = probe_name_similarity("Which sail names are there?", s);
    assert_true(both > 0.6 && both < 1);
    assert_true(probe_name_similarity("Which sail is it?", s) < both);
    assert_true(probe_name_similarity("How long are the lengths of boats?", s) < both);
    assert_true(probe_name_similarity("Who won?", s) == 0);
    schema_set_close(&set);
}

static const struct contrast_options options = { .seed = 3, .test_share = 0.2, .valid_share = 0.2 };

/* Keeps only ambiguous contrast examples about boats and unambiguous ones about crews, so that the question reveals the
 * label. */
static void make_leak(struct dataset *d)
{
    for (int f = 0; f < SPLITS; f++) {
        struct example_list *l = &d->splits[f];
        int kept = 0;
        for (int i = 0; i < l->n; i++) {
            bool boat = strstr(l->items[i].question, "boat") != NULL;
            if (l->items[i].slice == EXAMPLE_CONTRAST && l->items[i].ambiguous == boat)
                l->items[kept++] = l->items[i];
        }
        l->n = kept;
    }
}

static void leaks_are_rejected(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    struct probe_report r;

    corpus_write(*state, 10);
    assert_int_equal(contrast_build(&d, &options, *state, *state, &err), 0);
    probe_run(&r, &d, PROBE_CONTRAST);
    assert_int_equal(r.n, 32); /* two databases of four pairs */
    assert_int_equal(r.ambiguous, 16);
    assert_true(r.auc[PROBE_QUESTION] == 0.5 && r.auc[PROBE_SCHEMA] == 0.5 && r.ap[PROBE_ALWAYS] == 0.5);
    assert_int_equal(probe_check(&r, &err), 0);
    probe_run(&r, &d, PROBE_PRESENCE);
    assert_int_equal(r.n, 16 + 32);
    assert_true(r.auc[PROBE_QUESTION] == 0.5);
    probe_run(&r, &d, PROBE_GATEKEEPER);
    assert_int_equal(r.n, 0);
    make_leak(&d);
    probe_run(&r, &d, PROBE_CONTRAST);
    assert_true(r.auc[PROBE_QUESTION] > 0.95);
    assert_int_equal(probe_check(&r, &err), -1);
    assert_error(err, "leak", "question only");
    assert_int_equal(err.code, EXIT_CODE_DATA);
    dataset_release(&d);
}

/* Replaces each $ of the command by dir. */
static int run(const char *dir, const char *format, char **output)
{
    char command[8192];
    size_t n = 0;

    for (; *format; format++)
        if (*format == '$')
            n += (size_t)snprintf(command + n, sizeof command - n, "%s", dir);
        else
            command[n++] = *format;
    command[n] = 0;
    return test_run(command, output);
}

/* The commands' exit codes and output. */
static void commands_build_probe_and_refuse(void **state)
{
    struct error err = { 0 };
    struct dataset d;
    char *output;

    corpus_write(*state, 10);
    assert_int_equal(run(*state, "ambit-data contrast --ambiqt $ --spider $ -o $/out --seed 3", &output), 0);
    assert_non_null(strstr(output, "test   contrast       P"));
    free(output);
    assert_int_equal(run(*state, "ambit-data probe --data $/out", &output), 0);
    assert_non_null(strstr(output, "question only     0.500  0.500"));
    assert_int_equal(dataset_read(&d, test_file(*state, "out", NULL), &err), 0);
    free(output);
    make_leak(&d);
    assert_int_equal(dataset_write(&d, test_file(*state, "leak", NULL), false, &err), 0);
    dataset_release(&d);
    assert_int_equal(run(*state, "ambit-data probe --data $/leak", &output), EXIT_CODE_DATA);
    assert_non_null(strstr(output, "leak: probe \"question only\""));
    free(output);
    assert_int_equal(run(*state, "ambit-data contrast --labels thesis --ambiqt $ --spider $ -o $/old", &output), 0);
    assert_non_null(strstr(output, "train and valid: 4 records, 2 ambiguous, 2 not"));
    free(output);
    assert_int_equal(run(*state, "ambit-data probe --data $/none", &output), EXIT_CODE_DATA);
    assert_non_null(strstr(output, "none/tables.json"));
    free(output);
    assert_int_equal(run(*state, "ambit-data contrast --ambiqt $/none --spider $ -o $/new", &output), EXIT_CODE_DATA);
    assert_null(test_read(test_file(*state, "new/tables.json", NULL)));
    free(output);
    assert_int_equal(run(*state, "ambit-data contrast --labels best --ambiqt $ --spider $ -o $/new", &output),
                     EXIT_CODE_USAGE);
    free(output);
    assert_int_equal(run(*state, "ambit-data contrast --ambiqt $ --spider $ -o $/tables.json", &output),
                     EXIT_CODE_USAGE);
    assert_non_null(strstr(output, "tables.json"));
    free(output);
}

/* Test T2 of the specification on the real corpora. */
static void shared_corpora_give_the_published_figures(void **state)
{
    char *ambiqt = test_shared("data/ambiqt") ? xstrdup(test_shared("data/ambiqt")) : NULL;
    char *spider = test_shared("data/spider") ? xstrdup(test_shared("data/spider")) : NULL;
    const struct contrast_options usual = { 1, 0.2, 0.1 };
    struct gatekeeper_counts counts[2];
    struct error err = { 0 };
    struct probe_report r;
    struct dataset d;

    (void)state;
    if (!ambiqt || !spider) {
        free(ambiqt);
        free(spider);
        skip();
    }
    assert_int_equal(gatekeeper_labels_build(&d, counts, &usual, ambiqt, spider, &err), 0);
    probe_run(&r, &d, PROBE_GATEKEEPER);
    assert_true(fabs(r.f1[PROBE_RULE] - 0.890) <= 0.001);
    assert_true(r.auc[PROBE_QUESTION] > 0.9); /* so these labels train no detector */
    dataset_release(&d);
    assert_int_equal(contrast_build(&d, &usual, ambiqt, spider, &err), 0);
    probe_run(&r, &d, PROBE_CONTRAST);
    assert_true(fabs(r.auc[PROBE_QUESTION] - 0.5) < 1e-9 && fabs(r.auc[PROBE_SCHEMA] - 0.5) < 1e-9);
    dataset_release(&d);
    free(ambiqt);
    free(spider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_finds_a_word_or_a_comma),
        cmocka_unit_test(words_are_learned),
        cmocka_unit_test_setup_teardown(similar_names_must_be_mentioned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaks_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commands_build_probe_and_refuse, set_up, tear_down),
        cmocka_unit_test(shared_corpora_give_the_published_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
