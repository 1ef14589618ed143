/* Compares ten training steps with torch and peft (gold/make_llama.py). The batch is cut into 1, 2, 4 and 8
 * micro-batches, with its texts in other orders. The estimated memory is tested too. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"
#include "train/lm/lm_trainer.h"
#include "train/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, RECORDS = 8 };

static char *work, *base; /* base: a folder of transformers with a tokenizer */

static int set_up(void **state)
{
    (void)state;
    work = test_dir_new();
    base = lm_gold_base_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_dir_remove(work);
    test_dir_remove(base);
    return 0;
}

/* Writes the gold's records to a file, rotated by `first`. */
static const char *write_records(const json_t *gold, int first)
{
    const json_t *list = json_object_get(json_object_get(gold, "training"), "records");
    const char *path = test_file(work, "data.jsonl", NULL);
    struct out_file out;
    struct error err;

    assert_int_equal(out_file_open(&out, path, &err), 0);
    assert_int_equal(json_array_size(list), RECORDS);
    for (int i = 0; i < RECORDS; i++)
        assert_int_equal(json_write_line(&out, json_array_get(list, (size_t)((i + first) % RECORDS)), &err), 0);
    assert_int_equal(out_file_commit(&out, &err), 0);
    return path;
}

static struct lm_request request(const char *data, bool full, int64_t tokens)
{
    struct lm_request q = lm_request_defaults;
    struct lm_settings *s = &q.settings;

    q.base = base;
    q.data = data;
    q.out = work;
    q.device = test_device_name();
    s->method = full ? METHOD_FULL : METHOD_LORA;
    s->head = full ? HEAD_NONE : HEAD_LORA;
    s->compute = "f32";
    s->rank = 4;
    s->alpha = 6;
    s->train.epochs = STEPS;
    s->train.batch = RECORDS;
    s->train.lr = 0.002;
    s->train.warmup = 0.2;
    s->train.decay = 0.01;
    s->train.clip = 0.5;
    s->train.tokens = tokens;
    return q;
}

/* Sets the script's initial values of the adapters. */
static void start(struct lm_trainer *t)
{
    struct lm_gold g = { .device = t->run.device, .model = t->model };

    lm_gold_fill(&g, &g.model.adapters);
}

static void open_run(struct lm_trainer *t, const struct lm_request *q)
{
    struct error err;

    lm_trainer_init(t, q);
    if (run_open(&t->run, &err))
        fail_msg("%s", err.text);
}

static void take_step(struct run *r)
{
    struct error err;

    if (run_step(r, &err))
        fail_msg("%s", err.text);
}

static bool on_simt(void)
{
    return strcmp(test_device_name(), "simt") == 0;
}

/* Number of steps: simt is slow. */
static int steps(void)
{
    return on_simt() ? 4 : STEPS;
}

static void train(double losses[STEPS], const struct lm_request *q)
{
    struct lm_trainer t;
    struct run *r = &t.run;

    open_run(&t, q);
    if (t.set->method == METHOD_LORA)
        start(&t);
    for (; r->state.step < steps(); r->state.step++, r->state.epoch++) {
        float total;
        assert_int_equal(run_batches(r), 1);
        device_upload(&r->device, r->loss_total, &(float){ 0 });
        take_step(r);
        device_download(&r->device, &total, r->loss_total);
        losses[r->state.step] = (double)total;
    }
    if (t.set->train.tokens >= t.train.tokens) /* all steps have the same shapes */
        assert_int_equal(r->work.step.size, r->step_bytes.step);
    run_close(r);
}

/* Largest relative difference. */
static double worst(const double *a, const double *b)
{
    double most = 0;

    for (int i = 0; i < steps(); i++)
        most = fmax(most, fabs(a[i] - b[i]) / b[i]);
    return most;
}

/* Token budgets that cut the eight texts into 1, 2, about 4, and 8 micro-batches. */
static const int64_t budgets[] = { 4096, 160, 80, 1 };

static void check_losses(bool full)
{
    json_t *gold = lm_gold_read();
    const json_t *list = json_object_get(json_object_get(gold, "training"), full ? "full" : "lora");
    double want[STEPS], whole[STEPS] = { 0 }, got[STEPS];
    int budget_count = on_simt() ? 1 : ARRAY_LEN(budgets);

    for (int i = 0; i < STEPS; i++)
        want[i] = json_real_value(json_array_get(list, (size_t)i));
    for (int i = 0; i < budget_count; i++) {
        struct lm_request q = request(write_records(gold, 3 * i), full, budgets[i]);
        train(got, &q);
        if (i == 0)
            memcpy(whole, got, sizeof got);
        print_message("%s, %lld tokens a micro-batch: %.1e from torch, %.1e from one micro-batch\n",
                      full ? "full" : "lora", (long long)budgets[i], worst(got, want), worst(got, whole));
        assert_true(worst(got, want) <= 1e-4);
        assert_true(worst(got, whole) <= 2e-5);
    }
    json_decref(gold);
}

static void test_lora(void **state)
{
    (void)state;
    check_losses(false);
}

static void test_full(void **state)
{
    (void)state;
    check_losses(true);
}

/* Texts of all lengths with completions of all lengths. A longer text rarely has a longer prompt and a longer
 * completion. */
static const char *write_uneven(int n)
{
    const char *path = test_file(work, "uneven.jsonl", NULL);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (int i = 0; i < n; i++)
        fprintf(f,
                "{\"id\":%d,\"prompt\":\"Which of the singers and of their concerts, by the year of birth, are not "
                "there%*s?\",\"completion\":\" %0*d\"}\n",
                i, i * 29 % 61, "", 1 + i * 17 % 53, i);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* The estimated bytes, and those of the largest step. */
static size_t measure(const struct lm_request *q, size_t *real)
{
    struct lm_trainer t;
    struct run *r = &t.run;
    struct error err;
    struct workspace_bytes said;

    open_run(&t, q);
    assert_int_equal(run_measure(r, &said, &err), 0);
    for (r->state.epoch = 0; real && r->state.epoch < q->settings.train.epochs; r->state.epoch++)
        for (r->state.batch = 0; r->state.batch < run_batches(r); r->state.batch++)
            take_step(r);
    if (real)
        *real = workspace_total(r->work.peak);
    run_close(r);
    return workspace_total(said);
}

/* Each epoch packs texts differently. The estimate equals the bytes of the largest step, even if that step comes
 * late. */
static void check_memory(bool shared)
{
    struct lm_request q = request(write_uneven(on_simt() ? 9 : 21), false, 120);
    struct lm_settings *s = &q.settings;
    size_t real;

    s->train.batch = 4;
    s->group_by_length = false;
    s->share_prefix = shared;
    s->train.epochs = 1;
    size_t first = measure(&q, NULL);
    s->train.epochs = on_simt() ? 2 : 6;
    size_t all = measure(&q, &real);
    print_message("%zu bytes in the first epoch, %zu in all, %zu taken\n", first, all, real);
    bool exact = !strcmp(test_device_name(), "cpu"); /* other devices round sizes up */
    assert_true(shared || !exact ? first <= all : first < all);
    assert_int_equal(all, real);
}

static void test_memory(void **state)
{
    (void)state;
    test_not_on_simt();
    check_memory(false);
    check_memory(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lora, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
