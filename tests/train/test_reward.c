/* Reward training: advantages by formula, completions judged by execution, the gradient of a step as the sum over
 * single completions, and unfinished completions restored from a file. */
#include "tests/support/support.h"

#include "data/eval/annotate.h"
#include "kernels/batch.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"
#include "train/lm/reward_trainer.h"
#include "train/run/run.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 4 };

static char *work, *base; /* base: a folder of transformers with a tokenizer */

static void make_database(void)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(test_file(work, "shop.sqlite", NULL), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE item (name, old, new, kept);"
                                  "INSERT INTO item VALUES ('a', 1, 2, 3), ('b', 4, 5, 6);",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
}

static int set_up(void **state)
{
    (void)state;
    work = test_dir_new();
    base = lm_gold_base_new();
    make_database();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_dir_remove(work);
    test_dir_remove(base);
    return 0;
}

/* --- advantages */

static void check_advantages(const double *reward, int n, bool scaled)
{
    double got[8];
    long double mean = 0, squares = 0;

    for (int i = 0; i < n; i++)
        mean += reward[i];
    mean /= n;
    for (int i = 0; i < n; i++)
        squares += (reward[i] - mean) * (reward[i] - mean);
    assert_true(reward_advantages(got, reward, n, scaled));
    long double scale = scaled ? sqrtl(squares / (n - 1)) + 1e-4L : 1;
    for (int i = 0; i < n; i++)
        assert_true(fabsl(got[i] - (reward[i] - mean) / scale) < 1e-12L);
}

static void test_advantages(void **state)
{
    double got[3];

    (void)state;
    for (int scaled = 0; scaled < 2; scaled++) {
        check_advantages((const double[]){ 1, 0 }, 2, scaled);
        check_advantages((const double[]){ 1, -0.25, 0.5, 0.5, -3 }, 5, scaled);
        check_advantages((const double[]){ 0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.5 }, 8, scaled);
        assert_false(reward_advantages(got, (const double[]){ 0.1, 0.1, 0.1 }, 3, scaled));
        for (int i = 0; i < 3; i++)
            assert_true(got[i] == 0);
    }
}

/* --- the reward of a completion */

#define RECORD(id, covered) "{" SHOP(id, covered)
#define PAIRS(id) "{\"task\": \"pairs\", " SHOP(id, "null")
#define SHOP(id, covered)                                                                                              \
    "\"id\": \"" id "\", \"db_id\": \"shop\", \"question\": \"Which prices " id "?\", \"golds\": ["                    \
    "{\"text\": \"The old price.\", \"sql\": \"SELECT old FROM item\", \"covered_by\": " covered "},"                  \
    "{\"text\": \"The new price.\", \"sql\": \"SELECT new FROM item\", \"covered_by\": null},"                         \
    "{\"text\": \"The kept price.\", \"sql\": \"SELECT kept FROM item\", \"covered_by\": null}],"                      \
    "\"readings\": [{\"text\": \"What is new\", \"sql\": [\"SELECT nothing FROM item\", \"SELECT new FROM item\"]},"   \
    "{\"text\": \"Broken\", \"sql\": \"SELECT nothing FROM item\"}],"                                                  \
    "\"prompt\": \"Prices " id " of items:\", \"completion\": \" The new price.\"}\n"

static struct lm_request request(void)
{
    struct lm_request q = reward_request_defaults;

    q.base = base;
    q.data = test_file(work, "data.jsonl", RECORD("1", "0") RECORD("2", "null") RECORD("3", "0") RECORD("4", "0"));
    q.db = work;
    q.out = work;
    q.device = "cpu";
    q.settings.method = METHOD_FULL;
    q.settings.compute = "f32";
    q.settings.train.batch = RECORDS / 2;
    q.settings.reuse = 2;
    q.settings.answers = 3;
    q.settings.max_new = 12;
    q.settings.train.tokens = 64;
    return q;
}

static struct reward judged(struct reward_judge *j, const json_t *record, const char *text)
{
    struct reward_input in = { record, text };
    struct reward r;
    struct error err;

    if (reward_judge(j, &r, &in, 1, &err))
        fail_msg("%s", err.text);
    return r;
}

/* The value is recall or precision, less a quarter for each wrong interpretation. */
static void expect(struct reward_judge *j, const json_t *record, const char *text, double recall, double precision,
                   int wrong)
{
    struct reward r = judged(j, record, text);

    assert_int_equal(r.wrong, wrong);
    assert_true(fabs(r.recall - recall) < 1e-12);
    assert_true(fabs(r.precision - precision) < 1e-12);
    assert_true(fabs(r.value - ((reward_by_recall(record) ? recall : precision) - 0.25 * wrong)) < 1e-12);
}

static void judge_texts(struct reward_judge *j, json_t *lacking)
{
    json_t *covered = json_deep_copy(lacking), *gold;
    size_t i;

    assert_true(reward_by_recall(lacking));
    expect(j, lacking, "The new price.\nThe kept price.", 1, 1, 0);
    expect(j, lacking, "the NEW  price", 0.5, 1, 0);
    expect(j, lacking, "", 0, 0, 1);
    expect(j, lacking, "<think>The new price.", 0, 0, 1); /* truncated */
    expect(j, lacking, "<think>The old price.</think>\nThe new price.", 0.5, 1, 0);
    expect(j, lacking, ANNOTATE_ALL_COVERED, 0, 0, 0);
    expect(j, lacking, "The new price.\nWhat is new", 0.5, 0.5, 1); /* the same again */
    /* the first is covered; the last does not run */
    expect(j, lacking, "What is new\nThe old price.\nBroken", 0.5, 1 / 3.0, 2);
    expect(j, lacking, "The price that nobody knows.\nThe kept price.", 0.5, 0.5, 1);
    expect(j, lacking, "SELECT new FROM item", 0, 0, 1); /* SQL is no interpretation in words */
    json_array_foreach(json_object_get(covered, "golds"), i, gold)
        json_object_set_new(gold, "covered_by", json_integer(0));
    assert_false(reward_by_recall(covered));
    expect(j, covered, ANNOTATE_ALL_COVERED, 1, 1, 0);
    expect(j, covered, "<think>\nNone.\n</think>\n" ANNOTATE_ALL_COVERED, 1, 1, 0);
    expect(j, covered, "", 0, 0, 1);
    expect(j, covered, "<think>All possible interpretations are covered", 0, 0, 1);
    expect(j, covered, "The new price.", 0, 0, 1);
    json_decref(covered);
}

/* Completions with statements, for a record of three golds and for the same record with the first gold alone. */
static void judge_statements(struct reward_judge *j, json_t *several)
{
    json_t *one = json_deep_copy(several);

    assert_true(reward_by_recall(several));
    expect(j, several, "The new price.\nSELECT new FROM item;\n\nThe kept price.\nSELECT kept FROM item;", 2 / 3.0, 1,
           0);
    expect(j, several, "New words are no matter.\nSELECT old AS o FROM item AS i WHERE i.old > 0;", 1 / 3.0, 1, 0);
    expect(j, several, "SELECT new FROM item;\nAgain\nSELECT new+0 FROM item;\nSELECT lost FROM item;", 1 / 3.0,
           1 / 3.0, 2);
    expect(j, several, "The old price.\nThe new price.\nThe kept price.", 0, 0, 1); /* known words have no effect */
    expect(j, several, "DROP TABLE item; SELECT kept FROM item;", 1 / 3.0, 1, 0);   /* the reader skips changes */
    expect(j, several, "<think>SELECT new FROM item;", 0, 0, 1);
    expect(j, several, ANNOTATE_ALL_COVERED, 0, 0, 1);
    json_array_remove(json_object_get(one, "golds"), 2);
    json_array_remove(json_object_get(one, "golds"), 1);
    assert_false(reward_by_recall(one));
    expect(j, one, "SELECT old FROM item;", 1, 1, 0);
    expect(j, one, "SELECT old FROM item;\nSELECT new FROM item;\nSELECT kept FROM item;", 1, 1 / 3.0, 2);
    expect(j, one, "SELECT new FROM item;", 0, 0, 1);
    json_decref(one);
}

static void open_trainer(struct reward_trainer *t, const struct lm_request *q)
{
    struct error err;

    reward_trainer_init(t, q);
    if (run_open(&t->lm.run, &err))
        fail_msg("%s", err.text);
}

static void test_known_words(void **state)
{
    struct lm_request q = request();
    struct reward_trainer t;

    (void)state;
    q.settings.penalty = 0.25;
    open_trainer(&t, &q);
    judge_texts(&t.judge, t.lm.train.items[0].record);
    run_close(&t.lm.run);
}

static void test_own_sql(void **state)
{
    struct lm_request q = request();
    struct reward_trainer t;

    (void)state;
    q.settings.penalty = 0.25;
    q.data = test_file(work, "pairs.jsonl", PAIRS("1"));
    open_trainer(&t, &q);
    judge_statements(&t.judge, t.lm.train.items[0].record);
    run_close(&t.lm.run);
}

/* IntentRL's rewards have no penalty. */
static void test_no_penalty(void **state)
{
    struct lm_request q = request();
    struct reward_trainer t;

    (void)state;
    open_trainer(&t, &q);
    struct reward r = judged(&t.judge, t.lm.train.items[0].record, "The new price.\nLost.\nWrong.\nThe kept price.");
    assert_true(r.value == 1 && r.wrong == 2);
    run_close(&t.lm.run);
}

/* All records have one task. */
static void test_tasks(void **state)
{
    struct lm_request q = request();
    struct reward_trainer t;
    struct error err;

    (void)state;
    q.data = test_file(work, "mixed.jsonl", PAIRS("1") RECORD("2", "null"));
    reward_trainer_init(&t, &q);
    assert_int_equal(run_open(&t.lm.run, &err), -1);
    assert_error(err, "mixed.jsonl: record of id \"2\"", "\"task\" is \"infill\"", "expected \"pairs\"");
    run_close(&t.lm.run);
    q.data = test_file(work, "mixed.jsonl", "{\"task\": \"sing\"," SHOP("1", "null"));
    reward_trainer_init(&t, &q);
    assert_int_equal(run_open(&t.lm.run, &err), -1);
    assert_error(err, "record of id \"1\"", "\"sing\"", "pairs or e2e");
    run_close(&t.lm.run);
}

/* --- rewards by a program */

enum { LINES = 3 };

/* Runs a command on three completions. err: of a failure; otherwise the rewards are 0.5, 1.5 and 2.5. */
static int run_program(const char *command, struct error *err)
{
    struct reward_judge j = { 0 };
    struct lm_request q = request();
    json_t *record = json_pack("{s:s, s:[s]}", "id", "r \"1\"", "anything", "\n");
    struct reward_input list[LINES] = { { record, "one" }, { record, "two\n\"lines\"" }, { record, "three \xff" } };
    struct reward rewards[LINES];

    q.settings.program = command;
    q.settings.program_timeout = 5;
    q.db = NULL;
    assert_int_equal(reward_judge_open(&j, &q, NULL, err), 0);
    int rc = reward_judge(&j, rewards, list, LINES, err);
    for (int i = 0; i < LINES && rc == 0; i++) {
        assert_true(rewards[i].value == i + 0.5 && isnan(rewards[i].recall) && isnan(rewards[i].precision));
        assert_true(rewards[i].golds == 0 && rewards[i].wrong == 0);
    }
    reward_judge_release(&j);
    json_decref(record);
    return rc;
}

static void refused(const char *command, enum exit_code code, const char *line, const char *why)
{
    struct error err = { 0 };

    assert_int_equal(run_program(command, &err), -1);
    assert_int_equal(err.code, code);
    assert_error(err, "--reward-program: ", line, why);
}

static void test_program(void **state)
{
    struct error err;

    (void)state;
    if (run_program("awk '{ print \"{\\\"reward\\\": \" NR - 0.5 \"}\" }'", &err))
        fail_msg("%s", err.text);
    /* the input: a line for each, with the record and the text */
    if (run_program("i=0; while IFS= read -r line; do case $i-$line in"
                    " '0-{\"record\":{\"id\":\"r \\\"1\\\"\",\"anything\":[\"\\n\"]},\"text\":\"one\"}') ;;"
                    " '1-'*'\"text\":\"two\\n\\\"lines\\\"\"}') ;; '2-'*'\"text\":\"three '*) ;; *) exit 9 ;; esac;"
                    " echo \"{\\\"why\\\": 1, \\\"reward\\\": $i.5}\"; i=$((i + 1)); done; [ $i = 3 ]",
                    &err))
        fail_msg("%s", err.text);
}

#define GOOD "echo '{\"reward\": 0.5}'; "

static void test_bad_program(void **state)
{
    (void)state;
    refused("exit 3", EXIT_CODE_FAILURE, "after line 0 of its output, of 3", "exit status 3");
    refused(GOOD "kill -9 $$", EXIT_CODE_FAILURE, "after line 1 of its output, of 3", "signal 9");
    refused(GOOD "printf '{'; sleep 60", EXIT_CODE_FAILURE, "after line 2 of its output",
            "not finished after 5 seconds");
    refused(GOOD "yes", EXIT_CODE_FAILURE, "output, of 3", "more than 12288 bytes");
    refused("cat >/dev/null", EXIT_CODE_DATA, "line 1 of its output", "a line for each of 3 completions, got 0");
    refused(GOOD GOOD, EXIT_CODE_DATA, "line 3 of its output", "a line for each of 3 completions, got 2");
    refused(GOOD GOOD GOOD GOOD, EXIT_CODE_DATA, "line 4 of its output", "expected the end after 3 lines");
    refused(GOOD "echo hello;" GOOD, EXIT_CODE_DATA, "line 2 of its output", "got hello");
    refused(GOOD "echo 0.5;" GOOD, EXIT_CODE_DATA, "line 2 of its output", "got 0.5");
    refused(GOOD GOOD "echo '{\"reward\": \"high\"}'", EXIT_CODE_DATA, "line 3 of its output", "a number from");
    refused(GOOD "echo '{\"reward\": 1e300}';" GOOD, EXIT_CODE_DATA, "line 2 of its output", "to 1e+06");
    refused(GOOD "echo '{\"reward\": NaN}';" GOOD, EXIT_CODE_DATA, "line 2 of its output", "NaN");
    refused(GOOD "echo;" GOOD, EXIT_CODE_DATA, "line 2 of its output", "a number from");
}

/* --- the gradient of a step */

static void draw(struct reward_trainer *t)
{
    struct error err;

    if (reward_sample(t, &err))
        fail_msg("%s", err.text);
    assert_int_equal(t->n_groups, RECORDS);
    for (int i = 0; i < t->n_groups; i++) { /* as if they had rewards */
        for (int k = 0; k < t->groups[i].n; k++)
            t->groups[i].answers[k].reward = i == 1 ? 0.5 : cos(3 * i + 5 * k);
        reward_group_compare(&t->groups[i], true);
    }
}

static void step(struct reward_trainer *t)
{
    struct run *r = &t->lm.run;
    struct error err;

    r->work.ctx.recording = r->work.ctx.training = true;
    if (reward_step(t, &err))
        fail_msg("%s", err.text);
    r->work.ctx.recording = r->work.ctx.training = false;
}

struct alone {
    struct reward_trainer *t;
    const struct reward_completion *answer;
    float scale;
};

/* The weight of each token's -log p is weight * advantage * ratio; the ratio is 1 except for rounding. */
static void run_alone(struct ctx *c, void *arg)
{
    struct alone *a = arg;
    struct tensor *nll = llama_batch_nll(c, &a->t->lm.model.net, &a->t->lm.batch.texts);
    tape_backward(c, op_sum(c, nll, batch_f32(c, &a->scale, 1, 1, F32)));
}

/* tokens: of all completions of the prompt. */
static void add_alone(struct reward_trainer *t, const struct reward_completion *a, int prompts, int64_t tokens)
{
    struct run *r = &t->lm.run;
    double share = 1.0 / (prompts * (double)tokens);
    struct alone one = { t, a, (float)(share * a->advantage) };
    struct error err;

    llama_batch_clear(&t->lm.batch.texts);
    llama_batch_add(&t->lm.batch.texts, a->ids, a->mask, a->n);
    r->work.ctx.recording = r->work.ctx.training = true;
    if (workspace_run(&r->work, run_alone, &one, &err))
        fail_msg("%s", err.text);
    r->work.ctx.recording = r->work.ctx.training = false;
}

/* Copies all gradients, one after another, and clears them. The caller frees them. */
static float *take_gradients(struct reward_trainer *t, int64_t *n)
{
    struct params *p = t->lm.run.params;
    float *all;

    *n = 0;
    for (int i = 0; i < p->n; i++)
        *n += tensor_size(p->list[i].t);
    all = xcalloc((size_t)*n, sizeof *all);
    for (int64_t i = 0, at = 0; i < p->n; at += tensor_size(p->list[i++].t)) {
        struct tensor *g = p->list[i].t->grad;
        float *zeros = xcalloc((size_t)tensor_size(g), sizeof *zeros);
        device_download(&t->lm.run.device, all + at, g);
        device_upload(&t->lm.run.device, g, zeros);
        free(zeros);
    }
    return all;
}

static double distance(const float *a, const float *b, int64_t n)
{
    double squares = 0, all = 0;

    for (int64_t i = 0; i < n; i++) {
        squares += pow((double)a[i] - (double)b[i], 2);
        all += pow((double)b[i], 2);
    }
    assert_true(all > 0);
    return sqrt(squares / all);
}

static int64_t tokens_of(const struct reward_group *g)
{
    int64_t n = 0;

    for (int k = 0; k < g->n; k++)
        n += g->answers[k].n - g->answers[k].prompt;
    return n;
}

static void test_gradient(void **state)
{
    struct lm_request q = request();
    struct reward_trainer t;
    int64_t n;

    (void)state;
    open_trainer(&t, &q);
    draw(&t);
    t.lm.run.state.batch = 1; /* one of the two sampled batches */
    struct batch_partition b = run_batch(&t.lm.run);
    int examples[] = { b.examples[0], b.examples[1] };
    step(&t);
    float *got = take_gradients(&t, &n);
    for (int i = 0; i < t.n_groups; i++)
        for (int k = 0; k < 3; k++)
            if (t.groups[i].example == examples[0] || t.groups[i].example == examples[1])
                add_alone(&t, &t.groups[i].answers[k], 2, tokens_of(&t.groups[i]));
    float *want = take_gradients(&t, &n);
    print_message("gradients of a step and of its answers alone differ by %.1e\n", distance(got, want, n));
    assert_true(distance(got, want, n) < 2e-5);
    free(got);
    free(want);
    run_close(&t.lm.run);
}

/* --- restoring a checkpoint */

static void same_answer(const struct reward_completion *a, const struct reward_completion *b)
{
    assert_true(a->n == b->n && a->prompt == b->prompt && a->reward == b->reward && a->advantage == b->advantage);
    assert_memory_equal(a->ids, b->ids, (size_t)a->n * sizeof *a->ids);
    assert_memory_equal(a->logp, b->logp, (size_t)(a->n - a->prompt) * sizeof *a->logp);
}

static void test_state(void **state)
{
    struct lm_request q = request();
    struct reward_trainer t, again;
    struct error err;

    (void)state;
    open_trainer(&t, &q);
    draw(&t);
    t.lm.run.state.batch = 1;
    assert_int_equal(reward_save_state(&t, work, &err), 0);
    open_trainer(&again, &q);
    assert_int_equal(reward_load_state(&again, work, &err), 0);
    assert_memory_equal(&again.sums, &t.sums, sizeof t.sums);
    assert_int_equal(again.n_groups, t.n_groups);
    for (int i = 0; i < t.n_groups; i++) {
        assert_int_equal(again.groups[i].example, t.groups[i].example);
        for (int k = 0; k < 3; k++)
            same_answer(&again.groups[i].answers[k], &t.groups[i].answers[k]);
    }
    test_file(work, REWARD_STATE, "{\"sums\": [0, 0, 0, 0, 0], \"groups\": [{\"example\": 9, \"answers\": []}]}");
    assert_int_equal(reward_load_state(&again, work, &err), -1);
    assert_error(err, REWARD_STATE, "example");
    run_close(&again.lm.run);
    run_close(&t.lm.run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advantages),  cmocka_unit_test(test_known_words), cmocka_unit_test(test_own_sql),
        cmocka_unit_test(test_no_penalty),  cmocka_unit_test(test_tasks),       cmocka_unit_test(test_program),
        cmocka_unit_test(test_bad_program), cmocka_unit_test(test_gradient),    cmocka_unit_test(test_state),
    };

    return cmocka_run_group_tests_name("reward", tests, set_up, tear_down);
}
