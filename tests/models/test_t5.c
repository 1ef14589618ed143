/* Compares small T5s with transformers (gold/make_t5.py): logits, loss and all gradients. Also tests padding,
 * recomputed blocks, and buckets of relative positions. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "kernels/workspace.h"
#include "models/lm/llama_model.h"
#include "models/lm/lm_batch.h"
#include "models/net/t5.h"
#include "tests/support/digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 97, HOST_BYTES = 16 << 20, SEQUENCES = 5, LONGEST = 64 };
static const int32_t sources[SEQUENCES] = { 31, 1, 64, 2, 17 }, answers[SEQUENCES] = { 9, 40, 3, 1, 16 };
static const char *const tags[] = { "t5", "v1.1", "flan" };

/* A model of the gold file, and its sequences. */
struct world {
    json_t *gold;
    const json_t *of; /* its record */
    struct safetensors file;
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct t5_batch batch;
};

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* make_t5.py's weight() */
static float weight(const char *name, const char *formula, int64_t i)
{
    float x = formula_value(formula, i);

    if (ends_in(name, "norm.weight"))
        return 1 + x / 2;
    if (strstr(name, "bias"))
        return 2 * x;
    if (strstr(name, "shared") || strstr(name, "lm_head"))
        return x / 2;
    return ends_in(name, ".q.weight") || ends_in(name, ".wo.weight") ? x / 8 : x / 4;
}

/* Keys and values are one matrix here: the first rows have the formula of k, the others that of v. */
static void fill_param(struct world *w, struct param *p)
{
    int64_t n = tensor_size(p->t);
    float *x = xmalloc((size_t)n * sizeof *x);
    const char *kv = strstr(p->name, ".kv.");
    char part[2][256];

    snprintf(part[0], sizeof part[0], "%s", p->name);
    for (int i = 0; i < 2 && kv; i++)
        snprintf(part[i], sizeof part[i], "%.*s.%c.weight", (int)(kv - p->name), p->name, "kv"[i]);
    for (int64_t i = 0; i < n; i++)
        x[i] = kv && i >= n / 2 ? weight(p->name, part[1], i - n / 2) : weight(p->name, part[0], i);
    param_upload(p, &w->device, x);
    free(x);
}

static void fill(struct world *w)
{
    params_init(&w->model.params, &w->device, 0);
    for (int i = 0; i < w->model.params.n; i++)
        fill_param(w, &w->model.params.list[i]);
}

static void add_sequences(struct world *w, const char *tag)
{
    char source[64], answer[64];
    int64_t at[2] = { 0, 0 };

    snprintf(source, sizeof source, "%s source", tag);
    snprintf(answer, sizeof answer, "%s answer", tag);
    for (int s = 0; s < SEQUENCES; s++) {
        int32_t ids[2 * LONGEST];
        uint8_t mask[2 * LONGEST] = { 0 };
        int32_t n = 0;
        for (; n < sources[s]; n++)
            ids[n] = (int32_t)(formula_word(source, at[0]++) % VOCAB);
        for (; n < sources[s] + answers[s]; n++) {
            mask[n] = 1;
            ids[n] = (int32_t)(formula_word(answer, at[1]++) % VOCAB);
        }
        t5_batch_add(&w->batch, &w->model.t5.config, ids, mask, n);
    }
}

static const json_t *case_of(const json_t *gold, const char *tag)
{
    const json_t *list = json_object_get(gold, "models");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(list, i), "tag")), tag))
            return json_array_get(list, i);
    fail_msg("no model %s", tag);
    return NULL;
}

static json_t *read_gold(void)
{
    struct error err;
    json_t *gold = json_read_file("tests/gold/t5.json", &err);

    if (!gold)
        fail_msg("%s", err.text);
    return gold;
}

static void world_open(struct world *w, const char *tag, const char *config, enum dtype dtype)
{
    struct t5_config c;
    struct error err;

    *w = (struct world){ .gold = read_gold() };
    w->of = case_of(w->gold, tag);
    c.tied = json_is_true(json_object_get(w->of, "tied"));
    test_device_open(&w->device);
    if (safetensors_open(&w->file, "tests/gold/t5.safetensors", &err) ||
        workspace_init(&w->work, &w->device, HOST_BYTES, &err) ||
        t5_config_parse(&c, json_object_get(w->of, config), tag, &err) ||
        t5_model_init(&w->model, &w->device, &c, dtype, OPTIMIZER_ADAMW, 0, &err))
        fail_msg("%s", err.text);
    w->model.t5.config.dropout = 0;
    fill(w);
    add_sequences(w, tag);
}

static void world_close(struct world *w)
{
    t5_batch_release(&w->batch);
    workspace_release(&w->work);
    llama_model_release(&w->model);
    device_close(&w->device);
    safetensors_close(&w->file);
    json_decref(w->gold);
}

struct pass {
    struct world *w;
    struct tensor *y;
    int64_t rows; /* over which the loss is averaged */
};

static void run_logits(struct ctx *c, void *arg)
{
    struct pass *p = arg;
    p->y = t5_batch_logits(c, &p->w->model.t5, &p->w->batch);
}

static void run_loss(struct ctx *c, void *arg)
{
    struct pass *p = arg;
    struct tensor *mean = batch_f32(c, &(float){ 1.0f / (float)p->rows }, 1, 1, F32);

    p->y = op_sum(c, t5_batch_nll(c, &p->w->model.t5, &p->w->batch), mean);
    if (c->recording)
        tape_backward(c, p->y);
}

static double loss_of(struct world *w, bool backward)
{
    struct pass p = { .w = w };
    struct error err;
    float loss;

    for (int s = 0; s < SEQUENCES; s++)
        p.rows += answers[s];
    w->work.ctx.recording = w->work.ctx.training = backward;
    assert_int_equal(workspace_run(&w->work, run_loss, &p, &err), 0);
    w->work.ctx.recording = w->work.ctx.training = false;
    device_download(&w->device, &loss, p.y);
    return (double)loss;
}

static double logits_error(struct world *w, const char *tag)
{
    struct pass p = { .w = w };
    struct error err;
    char key[64];

    assert_int_equal(workspace_run(&w->work, run_logits, &p, &err), 0);
    snprintf(key, sizeof key, "%s/logits", tag);
    return gold_error(&w->file, key, tag, &w->device, p.y);
}

/* Largest gradient error. Each gradient of the gold file belongs to a parameter. */
static double gradient_error(struct world *w, const char *tag, const char **where)
{
    const struct params *p = &w->model.params;
    double most = 0;
    int known = 0;
    char key[256];

    for (int i = 0; i < w->file.n; i++)
        known += !strncmp(w->file.entries[i].name, tag, strlen(tag)) && w->file.entries[i].name[strlen(tag)] == '/';
    assert_int_equal(known, p->n + 1);
    for (int i = 0; i < p->n; i++) {
        snprintf(key, sizeof key, "%s/%s", tag, p->list[i].name);
        double error = gold_error(&w->file, key, p->list[i].name, &w->device, p->list[i].t->grad);
        if (!(error <= most)) {
            most = error;
            *where = p->list[i].name;
        }
    }
    return most;
}

static void test_gold(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(tags); i++) {
        struct world w;
        const char *where = "";
        world_open(&w, tags[i], i % 2 ? "config4" : "config", F32);
        double want = json_real_value(json_object_get(w.of, "loss")), logits = logits_error(&w, tags[i]);
        double loss = fabs(loss_of(&w, true) - want) / want, gradients = gradient_error(&w, tags[i], &where);
        print_message("%s on %s: logits %.1e, loss %.1e, gradients %.1e (%s)\n", tags[i], test_device_name(), logits,
                      loss, gradients, where);
        assert_true(logits <= 1e-4 && loss <= 1e-4 && gradients <= 1e-4);
        world_close(&w);
    }
}

/* Inputs and outputs of attention and feed-forward are rounded to 8 bits; the residual stream is not. */
static void test_bf16(void **state)
{
    (void)state;
    for (int i = strcmp(test_device_name(), "simt") ? 0 : ARRAY_LEN(tags) - 1; i < ARRAY_LEN(tags); i++) {
        struct world w;
        world_open(&w, tags[i], "config", BF16);
        double want = json_real_value(json_object_get(w.of, "loss")), logits = logits_error(&w, tags[i]);
        double loss = fabs(loss_of(&w, false) - want) / want;
        print_message("%s bf16 on %s: logits %.1e, loss %.1e\n", tags[i], test_device_name(), logits, loss);
        assert_true(logits <= 12.0 / 256 && loss <= 1.0 / 256);
        world_close(&w);
    }
}

/* The gradients of all parameters, one after another. */
static float *all_gradients(struct world *w, int64_t *n)
{
    const struct params *p = &w->model.params;
    float *all = NULL;

    *n = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t k = tensor_size(p->list[i].t->grad);
        float *x = tensor_floats(&w->device, p->list[i].t->grad);
        all = xrealloc(all, (size_t)(*n + k) * sizeof *all);
        memcpy(all + *n, x, (size_t)k * sizeof *all);
        *n += k;
        free(x);
    }
    return all;
}

static void test_padded(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, "flan", "config", F32);
    double plain = loss_of(&w, true);
    int64_t n, tokens = w.batch.source.n_tokens;
    float *want = all_gradients(&w, &n);
    fill(&w);
    t5_batch_pad(&w.batch);
    assert_true(w.batch.source.n_tokens > tokens && w.batch.source.n_seqs == w.batch.answer.n_seqs);
    double padded = loss_of(&w, true);
    float *got = all_gradients(&w, &n);
    print_message("padded: loss %.1e, gradients %.1e apart\n", fabs(padded - plain),
                  largest_difference(got, want, n) / largest(want, n));
    assert_true(fabs(padded - plain) <= 1e-6 * plain);
    assert_true(largest_difference(got, want, n) <= 1e-5 * largest(want, n));
    free(got);
    free(want);
    world_close(&w);
}

/* Gradients with dropout, from the same random numbers each time. */
static float *noisy_gradients(struct world *w, bool checkpointed, double *loss, int64_t *n)
{
    fill(w);
    w->model.t5.checkpointed = checkpointed;
    w->model.t5.config.dropout = 0.25f;
    workspace_seed(&w->work, 11, 3);
    *loss = loss_of(w, true);
    return all_gradients(w, n);
}

static void check_checkpointed(const char *tag, enum dtype dtype)
{
    struct world w;
    double plain, loss[2];
    int64_t n;

    world_open(&w, tag, "config", dtype);
    plain = loss_of(&w, false);
    float *want = noisy_gradients(&w, false, &loss[0], &n), *got = noisy_gradients(&w, true, &loss[1], &n);
    assert_true(loss[0] == loss[1] && loss[0] != plain);
    assert_memory_equal(got, want, (size_t)n * sizeof *got);
    assert_true(largest(got, n) > 0);
    free(got);
    free(want);
    world_close(&w);
}

static void test_checkpointed(void **state)
{
    (void)state;
    check_checkpointed("flan", BF16);
    if (strcmp(test_device_name(), "simt"))
        check_checkpointed("t5", F32);
}

static void test_buckets(void **state)
{
    json_t *gold = read_gold(), *of;
    size_t i, k;

    (void)state;
    json_array_foreach(json_object_get(gold, "buckets"), i, of)
    {
        struct t5_config c = { .buckets = (int)json_integer_value(json_object_get(of, "buckets")),
                               .max_distance = (int)json_integer_value(json_object_get(of, "max_distance")) };
        bool causal = json_is_true(json_object_get(of, "causal"));
        json_t *v;
        json_array_foreach(json_object_get(of, "of"), k, v)
        {
            int most = c.max_distance, ahead = (int)k - 2 * most, got = t5_bucket(&c, ahead, causal);
            int near = ahead < -most ? -most : ahead > most ? most : ahead; /* index of the bias table */
            if (got != json_integer_value(v) || got != t5_bucket(&c, near, causal))
                fail_msg("%d of %d buckets up to %d: %d, expected %lld", ahead, c.buckets, c.max_distance, got,
                         (long long)json_integer_value(v));
        }
    }
    json_decref(gold);
}

/* Values of the parameter with this tensor. */
static float *values_of(struct world *w, const struct tensor *t)
{
    float *x = xmalloc((size_t)tensor_size(t) * sizeof *x);
    const struct params *p = &w->model.params;
    int i = 0;

    while (i < p->n && p->list[i].t != t)
        i++;
    assert_true(i < p->n);
    param_download(p->list + i, &w->device, x);
    return x;
}

/* Queries are the scaled keys, and outputs the transposed values. */
static void check_start(struct world *w, const struct t5_attention *a)
{
    int64_t C = a->o->shape[0], inner = a->o->shape[1];
    float *q = values_of(w, a->q), *kv = values_of(w, a->kv), *o = values_of(w, a->o);
    float scale = sqrtf((float)w->model.t5.config.d_kv);

    for (int64_t i = 0; i < inner; i++)
        for (int64_t c = 0; c < C; c++) {
            assert_float_equal(q[i * C + c] * scale, kv[i * C + c], 1e-6f);
            assert_float_equal(o[c * inner + i], kv[(inner + i) * C + c], 0);
        }
    free(q);
    free(kv);
    free(o);
}

/* In each head, the bucket of its neighbour is larger, or none is. */
static void check_bias(struct world *w, const struct t5_stack *s, bool causal, const int neighbours[4])
{
    const struct t5_config *g = &w->model.t5.config;
    float *bias = values_of(w, s->bias);

    for (int h = 0; h < g->heads; h++) {
        int ahead = neighbours[h % 4], out = t5_bucket(g, ahead, causal);
        for (int b = 0; b < g->buckets; b++)
            assert_int_equal(bias[b * g->heads + h] > 4, ahead && b == out);
    }
    free(bias);
}

/* First weights for copying, also if the model and its heads differ in channels. */
static void test_start(void **state)
{
    struct world w;
    (void)state;

    for (int i = 0; i < ARRAY_LEN(tags); i++) {
        world_open(&w, tags[i], "config", F32);
        params_init(&w.model.params, &w.device, 7);
        t5_start_copying(&w.model.t5, &w.model.params, &w.device);
        check_bias(&w, &w.model.t5.encoder, false, (int[]){ 0, -1, -2, 1 });
        check_bias(&w, &w.model.t5.decoder, true, (int[]){ 0, -1, -2, -3 });
        for (int k = 0; k < w.model.t5.encoder.n; k++)
            check_start(&w, &w.model.t5.encoder.layers[k].self);
        for (int k = 0; k < w.model.t5.decoder.n; k++) {
            check_start(&w, &w.model.t5.decoder.layers[k].self);
            check_start(&w, &w.model.t5.decoder.layers[k].cross);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),         cmocka_unit_test(test_bf16),    cmocka_unit_test(test_padded),
        cmocka_unit_test(test_checkpointed), cmocka_unit_test(test_buckets), cmocka_unit_test(test_start),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
