/* Compares small language models with transformers and peft (gold/make_llama.py, gold/make_gemma.py): logits, loss
 * and all gradients. Also tests merged adapters and recomputed blocks. */
#include "tests/support/support.h"

#include "tests/support/digest.h"
#include "tests/support/lm_gold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* simt is slow: it runs one model of each kind of head and rotation. */
static bool is_slow(const char *tag)
{
    return !strcmp(test_device_name(), "simt") && strcmp(tag, "llama") && strcmp(tag, "tied") && strcmp(tag, "gemma2");
}

/* One comparison, and its largest error. */
struct comparison {
    struct safetensors file;
    struct lm_gold g;
    struct llama_batch batch;
    const char *kind; /* base or lora */
    double most;
    const char *where;
};

static void open_comparison(struct comparison *t, const json_t *gold, const char *tag, enum lm_part part,
                            enum dtype dtype)
{
    const json_t *record = lm_gold_case(gold, tag);
    const char *file = json_string_value(json_object_get(record, "file"));
    char path[64];
    struct error err;

    snprintf(path, sizeof path, "tests/gold/%s", file ? file : "llama.safetensors");
    *t = (struct comparison){ .kind = part == LM_ADAPTER ? "lora" : "base", .where = "" };
    assert_int_equal(safetensors_open(&t->file, path, &err), 0);
    lm_gold_open(&t->g, record, part, dtype);
    lm_gold_batch(&t->batch, tag);
}

static void close_comparison(struct comparison *t)
{
    llama_batch_release(&t->batch);
    lm_gold_close(&t->g);
    safetensors_close(&t->file);
}

static void note(struct comparison *t, const char *where, double error)
{
    if (error > t->most || isnan(error)) {
        t->most = error;
        t->where = where;
    }
}

struct logits_step {
    struct comparison *t;
    struct tensor *y;
};

static void run_logits(struct ctx *c, void *arg)
{
    struct logits_step *s = arg;
    s->y = lm_gold_logits(c, &s->t->g.model.net, &s->t->batch);
}

static double logits_error(struct comparison *t)
{
    struct logits_step s = { t, NULL };
    struct error err;
    char key[64], name[64];

    assert_int_equal(workspace_run(&t->g.work, run_logits, &s, &err), 0);
    snprintf(key, sizeof key, "%s/%s/logits", t->g.tag, t->kind);
    snprintf(name, sizeof name, "%s %s", t->g.tag, t->kind);
    return gold_error(&t->file, key, name, &t->g.device, s.y);
}

static int keys_of(const struct comparison *t)
{
    char start[64];
    int n = 0, length = snprintf(start, sizeof start, "%s/%s/", t->g.tag, t->kind);

    for (int i = 0; i < t->file.n; i++)
        n += !strncmp(t->file.entries[i].name, start, (size_t)length);
    return n;
}

static void note_gradients(struct comparison *t, const struct params *p)
{
    for (int i = 0; i < p->n; i++) {
        char key[256];
        snprintf(key, sizeof key, "%s/%s/%s", t->g.tag, t->kind, p->list[i].name);
        note(t, p->list[i].name, gold_error(&t->file, key, p->list[i].name, &t->g.device, p->list[i].t->grad));
    }
    assert_int_equal(keys_of(t), p->n + 1);
}

static void compare(const json_t *gold, const char *tag, enum lm_part part, double limit)
{
    struct comparison t;
    const char *field = part == LM_ADAPTER ? "adapter_loss" : "loss";

    open_comparison(&t, gold, tag, part, F32);
    double want = json_real_value(json_object_get(lm_gold_case(gold, tag), field));
    double logits = logits_error(&t), loss = fabs(lm_gold_backward(&t.g, &t.batch) - want) / want;
    note_gradients(&t, part == LM_ADAPTER ? &t.g.model.adapters : &t.g.model.params);
    print_message("%s %s on %s: logits %.1e, loss %.1e, gradients %.1e (%s)\n", tag, t.kind, test_device_name(), logits,
                  loss, t.most, t.where);
    assert_true(logits <= limit && loss <= limit && t.most <= limit);
    close_comparison(&t);
}

static void compare_all(enum lm_part part)
{
    json_t *gold = lm_gold_read();
    const char *tag;

    for (int i = 0; (tag = lm_gold_tag(gold, i)); i++)
        if (!is_slow(tag))
            compare(gold, tag, part, 1e-4);
    json_decref(gold);
}

static void test_full(void **state)
{
    (void)state;
    compare_all(LM_FULL);
}

static void test_adapter(void **state)
{
    (void)state;
    compare_all(LM_ADAPTER);
}

/* All values between the maps are rounded to 8 bits, and so are the sums of blocks. */
static void test_bf16(void **state)
{
    json_t *gold = lm_gold_read();
    const char *tag;

    (void)state;
    for (int i = 0; (tag = lm_gold_tag(gold, i)); i++) {
        struct comparison t;
        if (is_slow(tag))
            continue;
        open_comparison(&t, gold, tag, LM_ADAPTER, BF16);
        double want = json_real_value(json_object_get(lm_gold_case(gold, tag), "adapter_loss"));
        double logits = logits_error(&t), loss = fabs(lm_gold_backward(&t.g, &t.batch) - want) / want;
        print_message("%s bf16 on %s: logits %.1e, loss %.1e\n", tag, test_device_name(), logits, loss);
        assert_true(logits <= 12.0 / 256 && loss <= 1.0 / 256);
        close_comparison(&t);
    }
    json_decref(gold);
}

static void check_merged(const json_t *gold, const char *tag)
{
    struct comparison t;
    struct error err;

    open_comparison(&t, gold, tag, LM_ADAPTER, F32);
    struct llama_model *m = &t.g.model;
    assert_int_equal(lora_merge(&m->adapters, &t.g.device, m->modules, m->n_modules, &err), 0);
    double error = logits_error(&t);
    print_message("%s merged on %s: logits %.1e\n", tag, test_device_name(), error);
    assert_true(error <= 1e-4);
    close_comparison(&t);
}

static void test_merged(void **state)
{
    json_t *gold = lm_gold_read();
    const char *tag;

    (void)state;
    for (int i = 0; (tag = lm_gold_tag(gold, i)); i++)
        if (!is_slow(tag) && strcmp(tag, "tied"))
            check_merged(gold, tag);
    json_decref(gold);
}

/* Gradients of all parameters as one array. */
static float *all_gradients(struct lm_gold *g, const struct params *p, int64_t *n)
{
    float *all = NULL;

    *n = 0;
    for (int i = 0; i < p->n; i++) {
        const struct tensor *t = p->list[i].t->grad;
        float *x = tensor_floats(&g->device, t);
        int64_t k = tensor_size(t);
        all = xrealloc(all, (size_t)(*n + k) * sizeof *all);
        memcpy(all + *n, x, (size_t)k * sizeof *all);
        *n += k;
        free(x);
    }
    return all;
}

/* Loss and gradients of one backward with noise and dropout, from the same random numbers each time. */
static float *noisy_gradients(struct comparison *t, bool checkpointed, double *loss, int64_t *n)
{
    struct params *p = t->g.model.adapters.n ? &t->g.model.adapters : &t->g.model.params;

    lm_gold_fill(&t->g, p);
    t->g.model.net.checkpointed = checkpointed;
    t->g.model.net.neftune = 5;
    workspace_seed(&t->g.work, 11, 3);
    *loss = lm_gold_backward(&t->g, &t->batch);
    return all_gradients(&t->g, p, n);
}

static void check_checkpointed(const json_t *gold, const char *tag, enum lm_part part, enum dtype dtype)
{
    struct comparison t;
    double loss[2];
    int64_t n, also;

    open_comparison(&t, gold, tag, part, dtype);
    for (int i = 0; i < t.g.model.n_modules; i++)
        t.g.model.modules[i].lora->dropout = 0.25f;
    float *want = noisy_gradients(&t, false, &loss[0], &n);
    size_t plain = t.g.work.step.peak;
    float *got = noisy_gradients(&t, true, &loss[1], &also);
    assert_int_equal(n, also);
    assert_true(loss[0] == loss[1]);
    assert_memory_equal(got, want, (size_t)n * sizeof *got);
    assert_true(largest(got, n) > 0);
    print_message("%s %s: %zu kB a step\n", tag, dtype_name(dtype), plain >> 10);
    free(got);
    free(want);
    close_comparison(&t);
}

static void test_checkpointed(void **state)
{
    json_t *gold = lm_gold_read();

    (void)state;
    check_checkpointed(gold, "llama", LM_ADAPTER, F32);
    check_checkpointed(gold, "llama", LM_ADAPTER, BF16);
    if (!is_slow("qwen3"))
        check_checkpointed(gold, "qwen3", LM_FULL, F32);
    check_checkpointed(gold, "gemma2", LM_FULL, F32);
    json_decref(gold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),   cmocka_unit_test(test_adapter),      cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_merged), cmocka_unit_test(test_checkpointed),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
