/* Adapters that PEFT made (gold/make_lora.py) are read, merged and written again; mismatches are refused. */
#include "models/io/lora.h"

#include "data/base/json.h"
#include "models/io/safetensors.h"
#include "tests/support/digest.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYERS = 2, MODULES = 7 * LAYERS + 1, BYTES = 1 << 20 };

#define GOLD "tests/gold/lora"

/* The linear maps of the small Llama of make_lora.py. */
struct net {
    struct device device;
    struct arena host, data;
    struct params adapters;
    struct lora lora[MODULES];
    struct tensor *w[MODULES];
    struct lora_module modules[MODULES];
    struct lora_config config;
};

static const struct {
    const char *name;
    int64_t out, in;
} maps[] = {
    { "self_attn.q_proj", 16, 16 }, { "self_attn.k_proj", 8, 16 }, { "self_attn.v_proj", 8, 16 },
    { "self_attn.o_proj", 16, 16 }, { "mlp.gate_proj", 24, 16 },   { "mlp.up_proj", 24, 16 },
    { "mlp.down_proj", 16, 24 },
};

static void add_module(struct net *n, int i, const char *name, int64_t out, int64_t in, enum dtype dtype)
{
    char full[128];

    n->w[i] = tensor_alloc(&n->host, &n->data, dtype, 2, (int64_t[]){ out, in });
    n->w[i]->frozen = n->w[i]->is_param = true;
    n->modules[i] = (struct lora_module){ name, out, in, &n->lora[i], &n->w[i], n->w[i], false };
    snprintf(full, sizeof full, "%s.weight", name);
    float *x = xmalloc((size_t)(out * in) * sizeof *x);
    for (int64_t k = 0; k < out * in; k++)
        x[k] = formula_value(full, k);
    struct param p = { .t = n->w[i] };
    param_upload(&p, &n->device, x);
    free(x);
}

static void net_open(struct net *n, enum dtype dtype)
{
    struct error err;

    *n = (struct net){ 0 };
    test_device_open(&n->device);
    assert_int_equal(arena_init(&n->host, BYTES, &err), 0);
    assert_int_equal(device_arena(&n->device, &n->data, BYTES, &err), 0);
    for (int i = 0; i < MODULES - 1; i++) {
        const char *name = arena_printf(&n->host, "model.layers.%d.%s", i / 7, maps[i % 7].name);
        add_module(n, i, name, maps[i % 7].out, maps[i % 7].in, dtype);
    }
    add_module(n, MODULES - 1, "lm_head", 40, 16, dtype);
}

static void net_close(struct net *n)
{
    lora_config_release(&n->config);
    params_release(&n->adapters);
    device_arena_release(&n->device, &n->data);
    arena_release(&n->host);
    device_close(&n->device);
}

static int declare(struct net *n, enum dtype dtype, bool training, struct error *err)
{
    struct param_arenas a = { &n->host, &n->data, training ? OPTIMIZER_ADAMW : OPTIMIZER_NONE };
    return lora_declare(&n->config, &n->adapters, &a, dtype, n->modules, MODULES, err);
}

static int load(struct net *n, const char *dir, struct error *err)
{
    return lora_load(&n->adapters, &n->device, n->modules, MODULES, dir, err);
}

static void must(int rc, const struct error *err)
{
    if (rc)
        fail_msg("%s", err->text);
}

/* Reads a net with an adapter from a folder. */
static void net_read(struct net *n, const char *dir, enum dtype dtype)
{
    struct error err;

    net_open(n, dtype);
    must(lora_config_read(&n->config, dir, &err) || declare(n, F32, false, &err) || load(n, dir, &err), &err);
}

static const struct {
    const char *name;
    int adapters; /* number of A and B pairs */
} folders[] = { { "listed", 6 }, { "regex", 7 }, { "head", 2 }, { "saved", 2 }, { "every", 14 } };

/* Compares every weight with PEFT's, or with its value before. */
static void check_merged(struct net *n, const struct safetensors *gold, const char *folder)
{
    char key[256], full[128];

    for (int i = 0; i < MODULES; i++) {
        int64_t size = tensor_size(n->w[i]);
        float *got = tensor_floats(&n->device, n->w[i]), *want = NULL;
        snprintf(full, sizeof full, "%s.weight", n->modules[i].name);
        snprintf(key, sizeof key, "%s/%s", folder, full);
        if (safetensors_find(gold, key))
            want = gold_numbers(gold, key, size);
        for (int64_t k = 0; k < size; k++) {
            double wanted = (double)(want ? want[k] : formula_value(full, k));
            if (!(fabs((double)got[k] - wanted) <= (want ? 1e-6 * (fabs(wanted) + 1) : 0)))
                fail_msg("%s[%lld] is %.9g, peft has %.9g", key, (long long)k, (double)got[k], wanted);
        }
        assert_null(n->lora[i].a);
        free(want);
        free(got);
    }
}

static void test_merged(void **state)
{
    struct safetensors gold;
    struct error err;
    char dir[128];

    (void)state;
    must(safetensors_open(&gold, GOLD "/merged.safetensors", &err), &err);
    for (int f = 0; f < ARRAY_LEN(folders); f++) {
        struct net n;
        int pairs = 0;
        snprintf(dir, sizeof dir, "%s/%s", GOLD, folders[f].name);
        net_read(&n, dir, F32);
        for (int i = 0; i < MODULES; i++)
            pairs += n.lora[i].a != NULL;
        assert_int_equal(pairs, folders[f].adapters);
        assert_int_equal(n.w[MODULES - 1] != n.modules[MODULES - 1].base, n.config.full_head);
        must(lora_merge(&n.adapters, &n.device, n.modules, MODULES, &err), &err);
        check_merged(&n, &gold, folders[f].name);
        net_close(&n);
    }
    safetensors_close(&gold);
}

/* A bf16 weight is the f32 sum, rounded once. */
static void test_merge_rounds_once(void **state)
{
    struct net exact, half;
    struct error err;

    (void)state;
    net_read(&exact, GOLD "/listed", F32);
    net_read(&half, GOLD "/listed", BF16);
    must(lora_merge(&exact.adapters, &exact.device, exact.modules, MODULES, &err), &err);
    must(lora_merge(&half.adapters, &half.device, half.modules, MODULES, &err), &err);
    for (int i = 0; i < MODULES; i++) {
        float *a = tensor_floats(&exact.device, exact.w[i]), *b = tensor_floats(&half.device, half.w[i]);
        for (int64_t k = 0; k < tensor_size(half.w[i]); k++) /* the values before are exact in bf16 */
            assert_true(b[k] == f32_from_bf16(bf16_from_f32(a[k])));
        free(a);
        free(b);
    }
    net_close(&half);
    net_close(&exact);
}

static void assert_same_params(struct net *a, struct net *b)
{
    assert_int_equal(a->adapters.n, b->adapters.n);
    for (int i = 0; i < a->adapters.n; i++) {
        const struct param *p = &a->adapters.list[i], *q = &b->adapters.list[i];
        assert_string_equal(p->name, q->name);
        float *x = tensor_floats(&a->device, p->t), *y = tensor_floats(&b->device, q->t);
        assert_memory_equal(x, y, tensor_bytes(p->t));
        free(x);
        free(y);
    }
    for (int i = 0; i < MODULES; i++)
        assert_true(a->lora[i].scale == b->lora[i].scale && a->lora[i].dropout == b->lora[i].dropout);
}

/* A folder that was read can be written and read again, with any form of target_modules. */
static void test_round_trip(void **state)
{
    char from[128], *dir = test_dir_new();
    struct error err;

    (void)state;
    for (int f = 0; f < ARRAY_LEN(folders); f++) {
        struct net a, b;
        snprintf(from, sizeof from, "%s/%s", GOLD, folders[f].name);
        const char *to = test_file(dir, folders[f].name, NULL);
        net_read(&a, from, F32);
        must(lora_save(&a.adapters, &a.device, &a.config, to, F32, &err), &err);
        net_read(&b, to, F32);
        assert_same_params(&a, &b);
        assert_int_equal(a.config.full_head, b.config.full_head);
        assert_true(b.config.targets.n > 0 && !b.config.targets.pattern);
        net_close(&a);
        net_close(&b);
    }
    test_dir_remove(dir);
}

/* The fields that PEFT and vLLM require. */
static void test_written_config(void **state)
{
    static const char *const targets[] = { "q_proj", "lm_head" };
    char *dir = test_dir_new();
    struct error err;
    struct net n;

    (void)state;
    net_open(&n, F32);
    lora_config_init(&n.config, 4, 6, targets, 2);
    n.config.dropout = 0.1f;
    n.config.base = xstrdup("org/base");
    must(declare(&n, F32, true, &err) || lora_init_values(&n.adapters, &n.device, n.modules, MODULES, 1, &err) ||
             lora_save(&n.adapters, &n.device, &n.config, dir, BF16, &err),
         &err);
    json_t *o = json_read_file(test_file(dir, "adapter_config.json", NULL), &err);
    json_t *want = json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:[s,s], s:n, s:s, s:b, s:b, s:{}, s:{}, s:n, s:b}",
                             "peft_type", "LORA", "task_type", "CAUSAL_LM", "base_model_name_or_path", "org/base", "r",
                             4, "lora_alpha", 6, "lora_dropout", 0.1, "target_modules", "q_proj", "lm_head",
                             "modules_to_save", "bias", "none", "use_dora", 0, "use_rslora", 0, "rank_pattern",
                             "alpha_pattern", "layers_to_transform", "inference_mode", 1);
    const char *field;
    json_t *value;
    json_object_foreach(want, field, value) if (!json_equal(json_object_get(o, field), value))
        fail_msg("%s is not as wanted", field);
    json_decref(want);
    json_decref(o);
    net_close(&n);
    test_dir_remove(dir);
}

/* Initial values: A in +-1/sqrt(in) and all different, B zero, a trained head equal to the base's, in a master and in
 * bf16. */
static void test_start(void **state)
{
    static const char *const targets[] = { "down_proj" };
    struct error err;
    struct net n;

    (void)state;
    net_open(&n, BF16);
    lora_config_init(&n.config, 8, 8, targets, 1);
    n.config.full_head = true;
    must(declare(&n, BF16, true, &err) || lora_init_values(&n.adapters, &n.device, n.modules, MODULES, 3, &err), &err);
    assert_int_equal(n.adapters.n, 2 * LAYERS + 1);
    for (int i = 0; i < n.adapters.n; i++) {
        struct param *p = &n.adapters.list[i];
        int64_t size = tensor_size(p->t);
        float *x = tensor_floats(&n.device, p->master), *half = tensor_floats(&n.device, p->t);
        double most = largest(x, size), sum = 0;
        for (int64_t k = 0; k < size; k++) {
            sum += (double)x[k] / (double)size;
            assert_true(half[k] == f32_from_bf16(bf16_from_f32(x[k])));
        }
        if (strstr(p->name, "lora_A"))
            assert_true(most < 1 / sqrt(24) && most > 0.95 / sqrt(24) && fabs(sum) < 0.1 / sqrt(24));
        else if (strstr(p->name, "lora_B"))
            assert_true(most == 0);
        else
            assert_true(x[5] == formula_value("lm_head.weight", 5) && x[639] == formula_value("lm_head.weight", 639));
        free(half);
        free(x);
    }
    assert_true(n.w[MODULES - 1] == params_find(&n.adapters, "lm_head.weight")->t);
    net_close(&n);
}

static void test_not_for_this_model(void **state)
{
    static const char *const targets[] = { "wqkv" };
    struct error err;
    struct net n;

    (void)state;
    net_open(&n, F32);
    lora_config_init(&n.config, 8, 8, targets, 1);
    assert_int_equal(declare(&n, F32, false, &err), -1);
    assert_error(err, "target_modules", "expected at least one of the model's 15 linear maps");
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_int_equal(n.adapters.n, 0);
    net_close(&n);
}

/* The weights of one folder with the config of another, and damaged files. */
static void assert_refused(const char *config, const char *weights, const char *const *words)
{
    char path[128];
    struct error err = { 0 };
    struct net n;

    net_open(&n, F32);
    snprintf(path, sizeof path, "%s/%s", GOLD, config);
    must(lora_config_read(&n.config, path, &err) || declare(&n, F32, false, &err) ||
             lora_init_values(&n.adapters, &n.device, n.modules, MODULES, 1, &err),
         &err);
    float *before = tensor_floats(&n.device, n.adapters.list[0].t);
    assert_int_equal(load(&n, weights, &err), -1);
    test_error(&err, __FILE__, __LINE__, words);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    float *after = tensor_floats(&n.device, n.adapters.list[0].t);
    assert_memory_equal(before, after, tensor_bytes(n.adapters.list[0].t));
    free(before);
    free(after);
    net_close(&n);
}
#define ASSERT_REFUSED(config, weights, ...) assert_refused(config, weights, (const char *const[]){ __VA_ARGS__, NULL })

#define LAYER "base_model.model.model.layers."

static void test_other_weights(void **state)
{
    char *dir = test_dir_new();

    (void)state;
    ASSERT_REFUSED("listed", GOLD "/regex", "missing", LAYER "0.self_attn.v_proj.lora_A.weight", "unexpected",
                   LAYER "0.mlp.gate_proj.lora_A.weight", ": expected floats [4, 16], got BF16 [3, 16]");
    ASSERT_REFUSED("regex", GOLD "/saved", "10 missing", "1 unexpected (base_model.model.lm_head.weight)");
    ASSERT_REFUSED("saved", GOLD "/head", "5 missing", "unexpected (base_model.model.lm_head.lora_A.weight");
    ASSERT_REFUSED("listed", dir, "adapter_model.safetensors", "No such file");
    test_file(dir, "adapter_model.bin", "x");
    ASSERT_REFUSED("listed", dir, "adapter_model.bin: pickled weights are not supported", "save_file(torch.load(");
    test_dir_remove(dir);
}

/* Tensors to be written: those of a folder with one change. */
struct changed {
    const char *drop, *add, *spoil, *other; /* a missing tensor, an extra one, one with a NaN, one with other numbers */
    int short_by;                           /* bytes removed from the end of the file */
};

static void write_changed(const char *path, const struct safetensors *s, const struct changed *c)
{
    struct safetensors_spec *specs = xcalloc((size_t)s->n + 1, sizeof *specs);
    struct error err;
    int n = 0;

    for (int i = 0; i < s->n; i++)
        if (!c->drop || strcmp(s->entries[i].name, c->drop)) {
            specs[n] = (struct safetensors_spec){ .name = s->entries[i].name, .ndim = s->entries[i].ndim };
            memcpy(specs[n++].shape, s->entries[i].shape, sizeof specs->shape);
        }
    if (c->add)
        specs[n++] = (struct safetensors_spec){ c->add, 1, { 2 } };
    struct safetensors_writer *w = safetensors_create(path, specs, n, ST_F32, &err);
    assert_non_null(w);
    for (int i = 0; i < n - (c->add != NULL); i++) {
        const struct safetensors_entry *e = safetensors_find(s, specs[i].name);
        float *x = gold_numbers(s, e->name, e->size);
        if (c->spoil && !strcmp(c->spoil, e->name))
            x[e->size - 1] = NAN;
        if (c->other && !strcmp(c->other, e->name))
            x[0] += 0.5f;
        must(safetensors_put(w, i, x, 0, e->size, &err), &err);
        free(x);
    }
    must(safetensors_finish(w, 0, &err), &err);
    free(specs);
}

static void refuse_changed(const char *folder, const struct changed *c, const char *const *words)
{
    char *dir = test_dir_new(), from[128];
    const char *path = test_file(dir, "adapter_model.safetensors", NULL);
    struct safetensors s;
    struct error err;

    snprintf(from, sizeof from, "%s/%s/adapter_model.safetensors", GOLD, folder);
    must(safetensors_open(&s, from, &err), &err);
    write_changed(path, &s, c);
    safetensors_close(&s);
    if (c->short_by) {
        struct stat file;
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(truncate(path, file.st_size - c->short_by), 0);
    }
    assert_refused(folder, dir, words);
    test_dir_remove(dir);
}
static void test_damaged_weights(void **state)
{
    static const char b[] = LAYER "1.self_attn.v_proj.lora_B.weight";
    static const struct changed no_b = { .drop = b },
                                dora = { .add = LAYER "1.self_attn.v_proj.lora_magnitude_vector" },
                                embedding = { .add = LAYER "0.lora_embedding_A" }, nan = { .spoil = b },
                                cut = { .short_by = 8 },
                                base = { .other = "base_model.model.lm_head.base_layer.weight" };

    (void)state;
    refuse_changed("listed", &no_b, (const char *const[]){ "missing", b, NULL });
    refuse_changed("listed", &dora, (const char *const[]){ "unexpected", "lora_magnitude_vector", NULL });
    refuse_changed("listed", &embedding, (const char *const[]){ "unexpected", "lora_embedding_A", NULL });
    refuse_changed("listed", &nan, (const char *const[]){ b, "element 31: expected a finite number, got nan", NULL });
    refuse_changed("listed", &cut, (const char *const[]){ "adapter_model.safetensors", NULL });
    refuse_changed("head", &base, (const char *const[]){ "lm_head.base_layer.weight", "another base", NULL });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),        cmocka_unit_test(test_merge_rounds_once),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_written_config),
        cmocka_unit_test(test_start),         cmocka_unit_test(test_not_for_this_model),
        cmocka_unit_test(test_other_weights), cmocka_unit_test(test_damaged_weights),
    };

    return test_devices(tests, ARRAY_LEN(tests));
}
