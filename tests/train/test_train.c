/* Stopped, killed and resumed runs end with the bits of an uninterrupted run. */
#include "tests/train/train_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the first checkpoint to the last, `by` checkpoints at a time. */
static void check_steps(struct gate_request q, int by)
{
    clean();
    q.out = whole;
    assert_int_equal(train(&q), 0);
    int saves = shared->saves, steps = shared->steps;
    assert_true(saves >= steps && steps > 4);
    assert_int_equal(train(&(struct gate_request){
                         .data = q.data, .out = q.out, .device = "cpu", .seed = q.seed, .settings = q.settings }),
                     EXIT_CODE_USAGE);
    assert_said("--resume");

    q.out = stopped;
    q.resume = true;
    shared->end_after = by;
    for (int i = 0; i < saves / by; i++)
        assert_int_equal(train(&q), KILLED);
    assert_int_equal(train(&q), 0);
    assert_true(shared->steps < by);
    assert_same_model("whole", "stopped");
}

static void test_element(void **state)
{
    (void)state;
    check_steps(request(NULL), 1);
}

static void test_joint(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    q.settings.embedder = EMBEDDER_JOINT;
    q.settings.compute = GATE_BF16;
    q.settings.relevance_epochs = 0;
    q.settings.train.eval_every = 2;
    q.settings.train.patience = 3;
    check_steps(q, 2);
}

/* One stage, in which the relevance head is trained on states of a frozen encoder. */
static void test_stock(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    q.settings.embedder = EMBEDDER_STOCK;
    check_steps(q, 3);
    char *metrics = test_read(path_of("whole", "metrics.jsonl"));
    assert_non_null(strstr(metrics, "\"classifier\""));
    assert_null(strstr(metrics, "\"relevance\""));
    free(metrics);
}

static void test_schema(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    q.settings.encode = ENCODE_SCHEMA;
    q.settings.schedule = GATE_COSINE;
    q.settings.hard_negatives = 0.5;
    q.settings.max_train = 40;
    check_steps(q, 2);
}

/* A kill just before a checkpoint only loses steps. The same with missing or damaged cached states. */
static void test_kills(void **state)
{
    struct gate_request q = request(NULL);
    static const char *const between[] = { "true", "rm -r", "truncate -s -3" }; /* done to each file of cached states */
    char command[9000];

    (void)state;
    clean();
    q.settings.train.save_every = 3;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    q.resume = true;
    q.out = stopped;
    for (int k = 0; k < ARRAY_LEN(between); k++) {
        *shared = (struct shared){ .end_before = 2 };
        assert_int_equal(train(&q), KILLED);
        *shared = (struct shared){ .end_after = 2 };
        assert_int_equal(train(&q), KILLED);
        snprintf(command, sizeof command, "%s '%s'/states/*/*", between[k], q.out);
        assert_int_equal(test_run(command, NULL), 0);
        *shared = (struct shared){ .end_before = 1 };
        assert_int_equal(train(&q), KILLED);
        *shared = (struct shared){ 0 };
        assert_int_equal(train(&q), 0);
        assert_same_model("whole", "stopped");
        snprintf(command, sizeof command, "rm -r '%s'", q.out);
        assert_int_equal(test_run(command, NULL), 0);
    }
}

/* SIGTERM before the first step: the step is finished and saved. */
static void test_signal(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.settings.train.save_every = 0;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    int steps = shared->steps, at = 0;
    q.out = stopped;
    for (q.resume = true; at + 2 < steps; at += 2) {
        char name[64];
        shared->signal_step = 2;
        assert_int_equal(train(&q), EXIT_CODE_SIGTERM);
        assert_int_equal(shared->steps, 2);
        snprintf(name, sizeof name, "stopped/checkpoint-%d", at + 2);
        assert_int_equal(access(test_file(work, name, NULL), F_OK), 0);
    }
    shared->signal_step = 0;
    assert_int_equal(train(&q), 0);
    assert_int_equal(shared->steps, steps - at);
    assert_same_model("whole", "stopped");
}

/* Runs a process that gets SIGTERM in its n-th evaluation of a split. */
static void stop_at_eval(const struct gate_request *q, int n)
{
    shared->signal_eval = n;
    assert_int_equal(train(q), EXIT_CODE_SIGTERM);
    assert_int_equal(shared->evals, n);
    assert_int_not_equal(access(path_of("stopped", CHECKPOINT_FILE), F_OK), 0);
}

/* SIGTERM in every validation and final evaluation. The run stops there, and later repeats that evaluation. */
static void check_signals_in_evals(struct gate_request q)
{
    enum { LAST = 4 }; /* both slices of the validation and test splits, of which one each is empty */

    clean();
    q.settings.train.save_every = 0;
    q.out = whole;
    assert_int_equal(train(&q), 0);
    int steps = shared->steps, validations = shared->evals - LAST, done = 0;
    assert_true(validations > 1);
    q.out = stopped;
    q.resume = true;
    for (int i = 0; i < validations; i++) {
        stop_at_eval(&q, i ? 2 : 1);
        done += shared->steps;
    }
    assert_int_equal(done, steps);
    for (int i = 0; i < LAST; i++) {
        stop_at_eval(&q, i ? i + 1 : 2);
        assert_int_equal(shared->steps, 0);
    }
    shared->signal_eval = 0;
    assert_int_equal(train(&q), 0);
    assert_same_model("whole", "stopped");
}

static void test_signals_in_evals(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    check_signals_in_evals(q);
    q.settings.encode = ENCODE_SCHEMA;
    q.settings.train.eval_every = 2;
    q.settings.train.patience = 2;
    check_signals_in_evals(q);
}

/* The number that follows a name in the text. */
static double number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

/* The loss of fewer than ten steps is reported once, at the end. */
static void test_few_steps(void **state)
{
    struct gate_request q = request(NULL);

    (void)state;
    clean();
    q.out = run;
    q.settings.encode = ENCODE_SCHEMA;
    assert_int_equal(train(&q), 0);
    assert_true(shared->steps < 10);
    char *metrics = test_read(path_of("run", "metrics.jsonl")), *loss = strstr(metrics, "\"loss\"");
    assert_non_null(loss);
    assert_null(strstr(loss + 1, "\"loss\""));
    assert_true(number_after(loss, "\"examples_per_second\":") > 0);
    assert_true(number_after(loss, "\"seconds\":") > 0);
    assert_true(number_after(loss, "\"memory_mib\":") > number_after(loss, "\"device_memory_mib\":"));
    assert_true(number_after(loss, "\"device_memory_mib\":") >= 1);
    free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_element),          cmocka_unit_test(test_joint),     cmocka_unit_test(test_stock),
        cmocka_unit_test(test_schema),           cmocka_unit_test(test_kills),     cmocka_unit_test(test_signal),
        cmocka_unit_test(test_signals_in_evals), cmocka_unit_test(test_few_steps),
    };
    return cmocka_run_group_tests(tests, train_runs_set_up, train_runs_tear_down);
}
