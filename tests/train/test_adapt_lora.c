/* LoRA on an encoder's last layers: a step from stored states equals the step from the texts, and a file names its
 * layers. */
#include "tests/support/support.h"

#include "models/gatekeeper/gate_adapter.h"
#include "tests/support/digest.h"
#include "tests/support/gate_world.h"
#include "train/detector/adapt_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 5, GRADIENT_BYTES = 1 << 20 };

/* A detector, and questions with the base's states. */
struct side {
    struct gate_world w;
    struct gate_question asked[QUESTIONS];
    struct gate_item items[QUESTIONS];
    struct gate_example list[QUESTIONS];
    struct example records[QUESTIONS];
    int truth[QUESTIONS], likeliest[QUESTIONS];
    double logit[QUESTIONS];
    struct adapt_questions q;
    struct arena grads;
};

static void open_side(struct side *s, const struct gate_world_settings *kind)
{
    struct gate_result results[QUESTIONS];
    struct error err;

    *s = (struct side){ 0 };
    gate_world_open_on(&s->w, kind, test_device_name());
    for (int i = 0; i < QUESTIONS; i++) {
        struct schema schema;
        gate_world_schema(&schema, 1 + i % 4, (uint64_t)i);
        gate_question_init(&s->asked[i], &s->w, &schema, (uint64_t)i);
        s->items[i] = s->asked[i].item;
        s->records[i].ambiguous = i % 2;
        s->list[i] = (struct gate_example){ .record = &s->records[i], .item = s->items[i] };
        s->truth[i] = -1;
    }
    int64_t numbers = gate_nodes(s->items, QUESTIONS) * (int64_t)s->w.model.net.config.bert.hidden_size;
    float *states = xmalloc((size_t)numbers * sizeof *states), *relevance = xmalloc((size_t)numbers * sizeof *states);
    assert_int_equal(gate_encode(&s->w.scorer, s->items, QUESTIONS, states, relevance, &err), 0);
    assert_int_equal(gate_classify(&s->w.scorer, s->items, QUESTIONS, states, results, NULL, &err), 0);
    for (int i = 0; i < QUESTIONS; i++) {
        s->logit[i] = (double)results[i].score;
        s->likeliest[i] = kind->classifier == CLASSIFIER_PAIR ? results[i].pair : 0;
    }
    free(states);
    free(relevance);
    s->q = (struct adapt_questions){ .list = s->list,
                                     .n = QUESTIONS,
                                     .items = s->items,
                                     .truth = s->truth,
                                     .likeliest = s->likeliest,
                                     .logit = s->logit };
}

static void close_side(struct side *s)
{
    for (int i = 0; i < QUESTIONS; i++)
        gate_question_release(&s->asked[i]);
    if (s->grads.base)
        device_arena_release(&s->w.device, &s->grads);
    gate_world_close(&s->w);
}

/* Random values everywhere, so that no gradient of A is zero. */
static void fill_adapter(struct side *s)
{
    struct params *p = &s->w.model.adapters;

    for (int i = 0; i < p->n; i++) {
        int64_t n = tensor_size(p->list[i].t);
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = formula_value(p->list[i].name, k) / 4;
        param_upload(&p->list[i], &s->w.device, x);
        free(x);
    }
}

static void want_gradients(struct side *s)
{
    struct params *p = &s->w.model.adapters;
    struct error err;

    assert_int_equal(device_arena(&s->w.device, &s->grads, GRADIENT_BYTES, &err), 0);
    for (int i = 0; i < p->n; i++) {
        struct tensor *t = p->list[i].t;
        t->needs_grad = true;
        t->frozen = false;
        t->grad = tensor_alloc(&s->w.model.host, &s->grads, F32, t->ndim, t->shape);
    }
}

/* Gradients of the adapter, then the logits. The caller frees them. */
static float *step(struct side *s, struct adapt_batch *b, int64_t *n)
{
    const struct params *p = &s->w.model.adapters;
    float *all = NULL;
    struct error err;

    *n = 0;
    for (int i = 0; i < p->n; i++)
        s->w.device.driver->kernels->fill(&s->w.work.ctx, p->list[i].t->grad, 0.0f);
    adapt_batch_begin(b, 1);
    assert_int_equal(adapt_batch_step(b, &s->w.scorer, 1.5, true, &err), 0);
    for (int i = 0; i < p->n; i++) {
        int64_t k = tensor_size(p->list[i].t);
        all = xrealloc(all, (size_t)(*n + k + QUESTIONS) * sizeof *all);
        device_download(&s->w.device, all + *n, p->list[i].t->grad);
        assert_true(largest(all + *n, k) > 0);
        *n += k;
    }
    for (int i = 0; i < b->n; i++)
        all[(*n)++] = (float)b->logit[i];
    return all;
}

/* f32: sums of the same numbers, in products of other sizes if texts are read in pieces. The bound is that of
 * gradients in tests/support/op_test.h. */
static void check_step(const struct gate_world_settings *kind, int tokens)
{
    static const int which[QUESTIONS] = { 0, 1, 2, 3, 4 };
    struct adapt_batch b;
    struct side s;
    struct error err;
    int64_t n, also;

    open_side(&s, kind);
    s.w.scorer.max_tokens = tokens;
    assert_int_equal(gate_adapter_declare(&s.w.model, 1, 3, &err), 0);
    assert_int_equal(s.w.model.adapters.n, 4);
    fill_adapter(&s);
    want_gradients(&s);
    assert_int_equal(adapt_batch_init(&b, &s.q, &s.w.scorer, which, QUESTIONS, true, &err), 0);
    assert_true(b.first == 1 && b.below);
    for (int i = 0; i < QUESTIONS; i++)
        b.part[i] = i % 2;
    float *got = step(&s, &b, &n);
    free(b.below);
    b.below = NULL;
    b.first = 0;
    float *want = step(&s, &b, &also);
    assert_int_equal(n, also);
    double error = largest_difference(got, want, n) / largest(want, n);
    print_message("%s, %d tokens at once: kept states against texts: %.2e\n",
                  kind->encode == ENCODE_SCHEMA ? "schema" : "element", tokens, error);
    assert_true(error <= 64 * 0x1p-24);
    free(got);
    free(want);
    adapt_batch_release(&b);
    close_side(&s);
}

/* simt is slow: it runs every third case. */
static void test_step(void **state)
{
    int number = 0;

    (void)state;
    for (int i = 0; i < GATE_WORLD_OWN_KINDS; i++)
        if (gate_world_kinds[i].classifier == CLASSIFIER_PAIR)
            for (int k = 0; k < 2; k++, number++)
                if (number % 3 == 0 || test_all() || strcmp(test_device_name(), "simt"))
                    check_step(&gate_world_kinds[i], k ? 2048 : 40);
}

/* The model's score of its first question. */
static double score(struct side *s)
{
    struct gate_result result;
    struct error err;
    int64_t n = (int64_t)s->items[3].schema->n_nodes * s->w.model.net.config.bert.hidden_size;
    float *states = xmalloc((size_t)n * sizeof *states), *relevance = xmalloc((size_t)n * sizeof *states);

    assert_int_equal(gate_encode(&s->w.scorer, &s->items[3], 1, states, relevance, &err), 0);
    assert_int_equal(gate_classify(&s->w.scorer, &s->items[3], 1, states, &result, NULL, &err), 0);
    free(states);
    free(relevance);
    return (double)result.score;
}

static const struct gate_world_settings kind = { .encode = ENCODE_SCHEMA, .dtype = F32 };

/* Saves an adapter on that many layers to dir, and returns the model's score with it. */
static double save(const char *dir, int layers)
{
    struct gate_adapter a = { .method = ADAPT_LORA, .support = 12, .steps = 3 };
    struct side s;
    struct error err;

    open_side(&s, &kind);
    a.base = gate_model_hash(&s.w.model);
    assert_int_equal(gate_adapter_declare(&s.w.model, layers, 3, &err), 0);
    fill_adapter(&s);
    assert_int_equal(gate_adapter_save(&s.w.model, &a, dir, &err), 0);
    double said = score(&s);
    close_side(&s);
    return said;
}

/* Writes the file again with another "layers"; NULL: without it. */
static void set_layers(const char *dir, json_t *layers)
{
    struct hdf5_reader r;
    struct side s;
    struct error err;

    open_side(&s, &kind);
    assert_int_equal(gate_adapter_apply(&s.w.model, dir, &err), 0);
    assert_int_equal(checkpoint_open(&r, dir, &err), 0);
    struct checkpoint c = { .params = &s.w.model.adapters, .device = &s.w.device, .meta = checkpoint_meta(&r, &err) };
    hdf5_close(&r);
    json_t *o = json_object_get(c.meta, "adapter");
    assert_true(json_is_integer(json_object_get(o, "layers")));
    if (layers)
        json_object_set_new(o, "layers", layers);
    else
        json_object_del(o, "layers");
    assert_int_equal(checkpoint_save(dir, &c, &err), 0);
    json_decref(c.meta);
    close_side(&s);
}

/* Applies the file to a new model and returns its layers and score, or an error. */
static int apply(const char *dir, int *layers, double *said, struct error *err)
{
    struct side s;

    open_side(&s, &kind);
    double before = score(&s);
    int rc = gate_adapter_apply(&s.w.model, dir, err);
    if (rc == 0) {
        *layers = s.w.model.adapter_layers;
        *said = score(&s);
        assert_true(*said != before);
    }
    close_side(&s);
    return rc;
}

static void test_files(void **state)
{
    char *dir = test_dir_new();
    double said = 0;
    struct error err;
    int layers = 0;

    (void)state;
    for (int k = 1; k <= 2; k++) {
        double want = save(dir, k);
        assert_int_equal(apply(dir, &layers, &said, &err), 0);
        assert_true(layers == k && said == want);
    }
    double want = save(dir, 2);
    set_layers(dir, NULL); /* as older files are */
    assert_int_equal(apply(dir, &layers, &said, &err), 0);
    assert_true(layers == 2 && said == want);
    test_dir_remove(dir);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *layers, *said;
    } bad[] = { { "0", "\"layers\": expected 1 to" },
                { "-1", "\"layers\": expected 1 to" },
                { "3", "\"layers\": expected 1 to 2, got 3" },
                { "\"two\"", "\"layers\"" },
                { "1.5", "\"layers\"" },
                { "1", "bert.encoder.layer.0" } };
    char *dir = test_dir_new();
    struct error err;
    double said;
    int layers;

    (void)state;
    test_not_on_simt();
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        save(dir, 2);
        set_layers(dir, json_loads(bad[i].layers, JSON_DECODE_ANY, NULL));
        assert_int_equal(apply(dir, &layers, &said, &err), -1);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
        if (!strstr(err.text, bad[i].said))
            fail_msg("layers %s: %s", bad[i].layers, err.text);
    }
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_step), cmocka_unit_test(test_files),
                                        cmocka_unit_test(test_bad_files) };
    return test_devices(tests, ARRAY_LEN(tests));
}
