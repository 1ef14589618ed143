/* Parameters from and to Hugging Face's tensors: prefix, stacked query/key/value, old names, mismatches. */
#include "kernels/device.h"
#include "models/hf/hf_weights.h"
#include "models/io/safetensors.h"
#include "models/net/bert.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { C = 4, INNER = 8, MAX_TENSORS = 64 };

static char *dir, file[128];

struct model {
    struct device device;
    struct arena host, data;
    struct params params;
    struct bert bert;
};

static void model_open(struct model *m, enum dtype dtype, bool pooler, bool classifier)
{
    const struct bert_config config = { .vocab_size = 10,
                                        .hidden_size = C,
                                        .layers = 2,
                                        .heads = 2,
                                        .intermediate_size = INNER,
                                        .max_positions = 6,
                                        .type_vocab_size = 2,
                                        .layer_norm_eps = 1e-12f };
    struct error err;

    *m = (struct model){ 0 };
    assert_int_equal(device_open(&m->device, "cpu", &err), 0);
    assert_int_equal(arena_init(&m->host, 1 << 18, &err), 0);
    assert_int_equal(arena_init(&m->data, 1 << 18, &err), 0);
    struct param_arenas a = { &m->host, &m->data, OPTIMIZER_NONE };
    bert_init(&m->bert, &config, "bert.", dtype, &m->params, &a);
    if (pooler) {
        param_new(&m->params, &a, dtype, 2, (int64_t[]){ C, C }, 0.02f, 0, "bert.pooler.dense.weight");
        param_new(&m->params, &a, F32, 1, (int64_t[]){ C }, 0, 0, "bert.pooler.dense.bias");
    }
    if (classifier) {
        param_new(&m->params, &a, dtype, 2, (int64_t[]){ 1, C }, 0.02f, 0, "classifier.weight");
        param_new(&m->params, &a, F32, 1, (int64_t[]){ 1 }, 0, 0, "classifier.bias");
        param_new(&m->params, &a, F32, 1, (int64_t[]){ 3 }, 0, 0,
                  "classifier.gat.0.bias"); /* not in Hugging Face's model */
    }
    params_init(&m->params, &m->device, 1);
}

static void model_close(struct model *m)
{
    params_release(&m->params);
    arena_release(&m->data);
    arena_release(&m->host);
    device_close(&m->device);
}

static int setup(void **state)
{
    (void)state;
    dir = test_dir_new();
    snprintf(file, sizeof file, "%s/model.safetensors", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_dir_remove(dir);
    return 0;
}

/* Element i of a tensor: exact in bf16, different between tensors. */
static float element(const char *name, int64_t i)
{
    unsigned h = (unsigned)i * 5;
    for (; *name; name++)
        h = h * 31 + (unsigned char)*name;
    return (float)(h % 200) - 100;
}

/* Tensors to write. Names are those of a whole classifier, and tests change them. */
struct wanted_file {
    struct safetensors_spec specs[MAX_TENSORS];
    char names[MAX_TENSORS][192];
    int n;
};

static void want(struct wanted_file *f, const char *name, int64_t rows, int64_t cols)
{
    assert_true(f->n < MAX_TENSORS);
    snprintf(f->names[f->n], sizeof f->names[0], "%s", name);
    f->specs[f->n] = (struct safetensors_spec){ f->names[f->n], cols ? 2 : 1, { rows, cols } };
    f->n++;
}

static void want_norm(struct wanted_file *f, const char *prefix, const char *at, bool old)
{
    char name[192];
    snprintf(name, sizeof name, "%s%s.LayerNorm.%s", prefix, at, old ? "gamma" : "weight");
    want(f, name, C, 0);
    snprintf(name, sizeof name, "%s%s.LayerNorm.%s", prefix, at, old ? "beta" : "bias");
    want(f, name, C, 0);
}

static void want_linear(struct wanted_file *f, const char *prefix, const char *at, int64_t out, int64_t in)
{
    char name[192];
    snprintf(name, sizeof name, "%s%s.weight", prefix, at);
    want(f, name, out, in);
    snprintf(name, sizeof name, "%s%s.bias", prefix, at);
    want(f, name, out, 0);
}

static void want_bert(struct wanted_file *f, const char *prefix, bool old)
{
    static const char *const tables[] = { "word", "position", "token_type" };
    static const int rows[] = { 10, 6, 2 };
    static const char *const qkv[] = { "query", "key", "value" };
    char name[64], at[64];

    *f = (struct wanted_file){ 0 };
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%sembeddings.%s_embeddings.weight", prefix, tables[i]);
        want(f, name, rows[i], C);
    }
    want_norm(f, prefix, "embeddings", old);
    for (int l = 0; l < 2; l++) {
        snprintf(at, sizeof at, "%sencoder.layer.%d.", prefix, l);
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "attention.self.%s", qkv[i]);
            want_linear(f, at, name, C, C);
        }
        want_linear(f, at, "attention.output.dense", C, C);
        want_norm(f, at, "attention.output", old);
        want_linear(f, at, "intermediate.dense", INNER, C);
        want_linear(f, at, "output.dense", C, INNER);
        want_norm(f, at, "output", old);
    }
}

static void write_wanted(const struct wanted_file *f, enum safetensors_dtype dtype)
{
    struct error err = { 0 };
    struct safetensors_writer *w = safetensors_create(file, f->specs, f->n, dtype, &err);

    assert_non_null(w);
    for (int i = 0; i < f->n; i++) {
        int64_t n = f->specs[i].shape[0] * (f->specs[i].ndim == 2 ? f->specs[i].shape[1] : 1);
        for (int64_t j = 0; j < n; j++) {
            float x = element(f->names[i], j);
            assert_int_equal(safetensors_put(w, i, &x, j, 1, &err), 0);
        }
    }
    assert_int_equal(safetensors_finish(w, 0, &err), 0);
}

static void check_values(struct model *m, const char *param, int64_t from, const char *tensor, int64_t n)
{
    const struct param *p = params_find(&m->params, param);
    float values[256];

    assert_non_null(p);
    assert_true(tensor_size(p->t) <= ARRAY_LEN(values) && from + n <= tensor_size(p->t));
    param_download(p, &m->device, values);
    for (int64_t i = 0; i < n; i++)
        if (values[from + i] != element(tensor, i))
            fail_msg("%s[%d] is %g, wanted %g", param, (int)(from + i), (double)values[from + i],
                     (double)element(tensor, i));
}

static int load(struct model *m, enum hf_extent extent, int *kept, struct error *err)
{
    return hf_weights_load(&m->params, &m->device, dir, &hf_bert_rules, extent, kept, err);
}

static const char QKV[] = "bert.encoder.layer.1.attention.self.qkv";

/* An old file of a bare encoder: no prefix, gamma and beta, an unused pooler and position ids. */
static void test_bare_old_encoder(void **state)
{
    struct wanted_file f;
    struct error err = { 0 };
    struct model m;
    int kept = -1;
    char name[192];
    (void)state;

    model_open(&m, F32, false, true);
    want_bert(&f, "", true);
    want_linear(&f, "", "pooler.dense", C, C);
    want(&f, "embeddings.position_ids", 1, 6);
    want_linear(&f, "", "cls.predictions.transform.dense", C, C);
    write_wanted(&f, ST_F32);
    if (load(&m, HF_ENCODER, &kept, &err))
        fail_msg("%s", err.text);
    assert_int_equal(kept, 2); /* the classifier */
    check_values(&m, "bert.embeddings.LayerNorm.weight", 0, "embeddings.LayerNorm.gamma", C);
    check_values(&m, "bert.encoder.layer.0.output.LayerNorm.bias", 0, "encoder.layer.0.output.LayerNorm.beta", C);
    snprintf(name, sizeof name, "%s.weight", QKV);
    check_values(&m, name, 0, "encoder.layer.1.attention.self.query.weight", C * C);
    check_values(&m, name, C * C, "encoder.layer.1.attention.self.key.weight", C * C);
    check_values(&m, name, 2 * C * C, "encoder.layer.1.attention.self.value.weight", C * C);
    snprintf(name, sizeof name, "%s.bias", QKV);
    check_values(&m, name, 2 * C, "encoder.layer.1.attention.self.value.bias", C);
    assert_int_equal(load(&m, HF_WHOLE, NULL, &err), -1);
    assert_non_null(strstr(err.text, "2 missing (classifier.weight, classifier.bias)"));
    model_close(&m);
}

/* A classifier's file is loaded into a model with another head: the encoder is loaded, the head keeps its values. */
static void test_encoder_of_a_classifier(void **state)
{
    struct wanted_file f;
    struct error err = { 0 };
    struct model m;
    float before[C], after[C];
    int kept;
    (void)state;

    model_open(&m, BF16, true, true);
    want_bert(&f, "bert.", false);
    want(&f, "classifier.weight", 5, C);
    want(&f, "classifier.bias", 5, 0);
    write_wanted(&f, ST_BF16);
    param_download(params_find(&m.params, "classifier.weight"), &m.device, before);
    if (load(&m, HF_ENCODER, &kept, &err))
        fail_msg("%s", err.text);
    assert_int_equal(kept, 4); /* pooler and classifier */
    param_download(params_find(&m.params, "classifier.weight"), &m.device, after);
    assert_memory_equal(before, after, sizeof before);
    check_values(&m, "bert.encoder.layer.0.output.dense.weight", 0, "bert.encoder.layer.0.output.dense.weight",
                 C * INNER);
    assert_int_equal(load(&m, HF_WHOLE, NULL, &err), -1);
    assert_non_null(strstr(err.text, "2 missing (bert.pooler.dense.weight, bert.pooler.dense.bias)"));
    assert_non_null(
        strstr(err.text, "2 of the wrong shape (classifier.weight: expected floats [1, 4], got BF16 [5, 4]"));
    model_close(&m);
}

static void test_three_lists(void **state)
{
    struct wanted_file f;
    struct error err = { 0 };
    struct model m;
    float before[3 * C], after[3 * C];
    char name[192];
    (void)state;

    model_open(&m, F32, false, false);
    want_bert(&f, "bert.", false);
    f.specs[0].shape[0] = 11;                                                           /* vocabulary */
    snprintf(f.names[1], sizeof f.names[1], "bert.embeddings.place_embeddings.weight"); /* missing and unexpected */
    write_wanted(&f, ST_F32);
    snprintf(name, sizeof name, "%s.bias", QKV);
    param_download(params_find(&m.params, name), &m.device, before);
    assert_int_equal(load(&m, HF_ENCODER, NULL, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_non_null(strstr(err.text,
                           "model.safetensors: 1 missing (bert.embeddings.position_embeddings.weight); 1 "
                           "unexpected (bert.embeddings.place_embeddings.weight); 1 of the wrong shape "
                           "(bert.embeddings.word_embeddings.weight: expected floats [10, 4], got F32 [11, 4])"));
    param_download(params_find(&m.params, name), &m.device, after);
    assert_memory_equal(before, after, sizeof before); /* nothing was changed */
    model_close(&m);
}

struct loading {
    struct model *m;
    struct error err;
    int rc;
};

static void load_encoder(void *arg)
{
    struct loading *l = arg;
    l->rc = load(l->m, HF_ENCODER, NULL, &l->err);
}

/* A warning names other heads and layers than the network's, but not the heads that every encoder has. */
static void test_unused_are_named(void **state)
{
    struct wanted_file f;
    struct model m;
    struct loading l = { .m = &m };
    (void)state;

    model_open(&m, F32, false, false);
    want_bert(&f, "bert.", false);
    want(&f, "bert.encoder.layer.7.output.dense.weight", C, INNER);
    want(&f, "crf.transitions", 3, 3);
    want(&f, "cls.predictions.bias", 10, 0);
    want(&f, "bert.pooler.dense.bias", C, 0);
    write_wanted(&f, ST_F32);
    char *said = test_said(load_encoder, &l);
    assert_int_equal(l.rc, 0);
    assert_non_null(strstr(said, "2 tensors are not used: bert.encoder.layer.7.output.dense.weight, crf.transitions"));
    free(said);
    model_close(&m);
}

/* An unused tensor of a layer that the network has is an error, because the file's model computes something else. */
static void test_unused_of_a_layer(void **state)
{
    static const char *const names[] = { "bert.encoder.layer.1.attention.self.query.scale",
                                         "bert.encoder.layer.0.output.adapter.weight",
                                         "bert.embeddings.LayerNorm.scale" };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(names); i++) {
        struct wanted_file f;
        struct error err = { 0 };
        struct model m;
        model_open(&m, F32, false, false);
        want_bert(&f, "bert.", false);
        want(&f, names[i], C, 0);
        write_wanted(&f, ST_F32);
        assert_int_equal(load(&m, HF_ENCODER, NULL, &err), -1);
        assert_error(err, "1 unexpected", names[i]);
        model_close(&m);
    }
}

static void test_saved_and_loaded(void **state)
{
    struct safetensors s;
    struct error err = { 0 };
    struct model a, b;
    float x[256], y[256];
    (void)state;

    model_open(&a, F32, true, true);
    model_open(&b, F32, true, true);
    params_init(&b.params, &b.device, 2);
    if (hf_weights_save(&a.params, &a.device, dir, &hf_bert_rules, F32, &err) || load(&b, HF_WHOLE, NULL, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < a.params.n; i++) {
        if (!strcmp(a.params.list[i].name, "classifier.gat.0.bias"))
            continue;
        param_download(&a.params.list[i], &a.device, x);
        param_download(&b.params.list[i], &b.device, y);
        assert_memory_equal(x, y, (size_t)tensor_size(a.params.list[i].t) * sizeof *x);
    }
    assert_int_equal(safetensors_open(&s, dir, &err), 0);
    assert_int_equal(s.n, 5 + 2 * 16 + 4);
    assert_non_null(safetensors_find(&s, "bert.encoder.layer.1.attention.self.key.weight"));
    assert_non_null(safetensors_find(&s, "classifier.bias"));
    assert_null(safetensors_find(&s, "classifier.gat.0.bias"));
    safetensors_close(&s);
    if (hf_weights_save(&a.params, &a.device, dir, &hf_bert_rules, BF16, &err) || load(&b, HF_WHOLE, NULL, &err))
        fail_msg("%s", err.text);
    model_close(&a);
    model_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bare_old_encoder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encoder_of_a_classifier, setup, teardown),
        cmocka_unit_test_setup_teardown(test_three_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unused_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unused_of_a_layer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_saved_and_loaded, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
