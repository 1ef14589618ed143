/* Compares encoders of both kinds with transformers (gold/make_bert.py, make_modern.py). Also tests the shortened
 * last layer, recomputed layers, and last layers on given states. */
#include "tests/support/support.h"

#include "kernels/tape.h"
#include "kernels/workspace.h"
#include "models/net/bert.h"
#include "tests/support/digest.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 61, POSITIONS = 130, TYPES = 2, SEQUENCES = 4, TOKENS = 31 + 1 + 127 + 33, HOST_BYTES = 4 << 20 };
static const int32_t lengths[SEQUENCES] = { 31, 1, 127, 33 };

struct size {
    const char *tag;
    int layers, hidden, heads, intermediate;
    int window, global_every; /* 0: a BERT, else a ModernBERT */
};
static const struct size sizes[] = { { "h32", 2, 64, 2, 96, 0, 0 },   { "h64", 3, 64, 1, 160, 0, 0 },
                                     { "h128", 2, 128, 1, 64, 0, 0 }, { "m32", 3, 64, 2, 96, 24, 2 },
                                     { "m64", 2, 64, 1, 160, 10, 3 }, { "whole", 2, 64, 2, 64, 8, 1 } };
enum { CLASSIC = 1, MODERN = 4 }; /* number of sizes of each kind */

static float weight(const char *name, int64_t i)
{
    float x = formula_value(name, i);
    if (text_ends_with(name, "LayerNorm.weight") || text_ends_with(name, "norm.weight"))
        return 1 + x / 4;
    return text_ends_with(name, "bias") || strstr(name, "embeddings") ? x / 4 : x / 8;
}

/* A model in memory with its input on the host. */
struct model {
    struct device device;
    struct arena host, data;
    struct params params;
    struct bert bert;
    struct workspace work;
    int32_t ids[3][TOKENS];
};

static void fill(struct model *m)
{
    for (int i = 0; i < m->params.n; i++) {
        struct param *p = &m->params.list[i];
        int64_t n = tensor_size(p->t);
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = weight(p->name, k);
        param_upload(p, &m->device, x);
        free(x);
    }
}

static void open_model(struct model *m, const struct size *s, enum dtype dtype)
{
    struct bert_config g = { .vocab_size = VOCAB,
                             .hidden_size = s->hidden,
                             .layers = s->layers,
                             .heads = s->heads,
                             .intermediate_size = s->intermediate,
                             .max_positions = POSITIONS,
                             .type_vocab_size = TYPES,
                             .activation = ACT_GELU,
                             .layer_norm_eps = 1e-12f };
    if (s->window) {
        g.kind = MODERN_BERT;
        g.window = s->window;
        g.global_every = s->global_every;
        g.theta = 160000;
        g.local_theta = 10000;
        g.layer_norm_eps = 1e-5f;
    }
    struct param_arenas arenas = { &m->host, &m->data, OPTIMIZER_ADAMW };
    struct error err;

    *m = (struct model){ 0 };
    test_device_open(&m->device);
    assert_int_equal(arena_init(&m->host, HOST_BYTES, &err), 0);
    assert_int_equal(device_arena(&m->device, &m->data, 8 << 20, &err), 0);
    assert_int_equal(workspace_init(&m->work, &m->device, HOST_BYTES, &err), 0);
    bert_init(&m->bert, &g, bert_prefix(&g), dtype, &m->params, &arenas);
    params_init(&m->params, &m->device, 0);
    fill(m);
    for (int s0 = 0, t = 0; s0 < SEQUENCES; s0++)
        for (int i = 0; i < lengths[s0]; i++, t++) {
            m->ids[0][t] = (int32_t)(formula_word("ids", t) % VOCAB);
            m->ids[1][t] = i;
            m->ids[2][t] = i >= lengths[s0] / 2;
        }
}

static void close_model(struct model *m)
{
    workspace_release(&m->work);
    params_release(&m->params);
    device_arena_release(&m->device, &m->data);
    arena_release(&m->host);
    device_close(&m->device);
}

static void zero_gradients(struct model *m, const struct params *p)
{
    for (int i = 0; p && i < p->n; i++)
        m->device.driver->kernels->fill(&m->work.ctx, p->list[i].t->grad, 0.0f);
}

/* One forward, and the backward of the script's loss. */
struct pass {
    struct model *m;
    const struct params *adapters; /* NULL: none is trained */
    bool first_rows;               /* only the first row of each sequence is wanted */
    bool gather;                   /* the same rows, gathered from a whole last layer */
    bool backward;
    int before;         /* > 0: the states before that layer are computed, */
    const float *given; /* or given */
    struct tensor *y;
};

static struct tensor *loss_gradient(struct ctx *c, const struct tensor *y)
{
    int64_t n = tensor_size(y);
    float *x = xmalloc((size_t)n * sizeof *x);

    for (int64_t i = 0; i < n; i++)
        x[i] = formula_value("loss", i);
    struct tensor *t = batch_f32(c, x, y->shape[0], y->shape[1], y->dtype);
    free(x);
    return t;
}

static void run(struct ctx *c, void *arg)
{
    static const int32_t one[SEQUENCES] = { 1, 1, 1, 1 };
    struct pass *p = arg;
    int32_t firsts[SEQUENCES] = { 0 };
    struct bert_input in = { .seqs = batch_seqs(c, lengths, SEQUENCES) };

    bert_input_ids(c, &in, &p->m->bert.config, p->m->ids[0], p->m->ids[1], p->m->ids[2], TOKENS);
    for (int i = 1; i < SEQUENCES; i++)
        firsts[i] = firsts[i - 1] + lengths[i - 1];
    struct index rows = batch_index(c, firsts, SEQUENCES, TOKENS);
    if (p->first_rows) {
        in.rows = &rows;
        in.row_seqs = batch_seqs(c, one, SEQUENCES);
    }
    if (p->given) {
        in.given = batch_f32(c, p->given, TOKENS, p->m->bert.config.hidden_size, p->m->bert.word->dtype);
        in.first = p->before;
    }
    p->y = p->before && !p->given ? bert_states(c, &p->m->bert, &in, p->before) : bert_forward(c, &p->m->bert, &in);
    if (p->gather)
        p->y = op_gather(c, p->y, &rows);
    if (p->backward)
        tape_backward_from(c, p->y, loss_gradient(c, p->y));
}

static void run_pass(struct pass *p)
{
    struct error err;

    zero_gradients(p->m, &p->m->params);
    zero_gradients(p->m, p->adapters);
    p->m->work.ctx.recording = p->backward;
    p->m->work.ctx.training = p->backward;
    assert_int_equal(workspace_run(&p->m->work, run, p, &err), 0);
}

static void check_gold(const struct size *size, enum dtype dtype, double bound)
{
    struct safetensors s;
    struct error err;
    struct model m;
    const char *where = "";
    char key[256];
    double most = 0;

    const char *path = size->window ? "tests/gold/modern.safetensors" : "tests/gold/bert.safetensors";
    assert_int_equal(safetensors_open(&s, path, &err), 0);
    open_model(&m, size, dtype);
    struct pass p = { .m = &m, .backward = true };
    run_pass(&p);
    int64_t n = TOKENS * (int64_t)size->hidden;
    snprintf(key, sizeof key, "%s/hidden", size->tag);
    float *got = tensor_floats(&m.device, p.y), *want = gold_numbers(&s, key, n);
    double states = largest_difference(got, want, n) / largest(want, n);
    for (int i = 0; i < m.params.n; i++) {
        const struct param *q = &m.params.list[i];
        snprintf(key, sizeof key, "%s/%s", size->tag, q->name);
        double error = gold_error(&s, key, q->name, &m.device, q->t->grad);
        if (error > most || isnan(error)) {
            most = error;
            where = q->name;
        }
    }
    print_message("%s %s: states %.2e, gradients %.2e (%s)\n", size->tag, dtype_name(dtype), states, most, where);
    assert_true(states <= bound && most <= bound);
    free(got);
    free(want);
    close_model(&m);
    safetensors_close(&s);
}

static void test_gold_f32(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(sizes); i++)
        check_gold(&sizes[i], F32, 1e-4);
}

/* PyTorch's bf16 passes have errors of 3.0e-2 to 4.4e-2 by the same measure. */
static void test_gold_bf16(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(sizes); i++)
        check_gold(&sizes[i], BF16, 3e-2);
}

/* Output and gradients of all parameters, as one array. */
static float *everything(struct model *m, const struct pass *p, int64_t *n)
{
    float *all = NULL;

    *n = 0;
    for (int i = -1; i < m->params.n; i++) {
        const struct tensor *t = i < 0 ? p->y : m->params.list[i].t->grad;
        float *x = tensor_floats(&m->device, t);
        int64_t k = tensor_size(t);
        all = xrealloc(all, (size_t)(*n + k) * sizeof *all);
        memcpy(all + *n, x, (size_t)k * sizeof *all);
        *n += k;
        free(x);
    }
    return all;
}

/* Sums of the same numbers, in products of other sizes: f32 rounding at most. */
static void test_first_rows(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(sizes); i++) {
        struct model m;
        int64_t n, also;
        open_model(&m, &sizes[i], F32);
        struct pass whole = { .m = &m, .gather = true, .backward = true },
                    rows = { .m = &m, .first_rows = true, .backward = true };
        run_pass(&whole);
        float *want = everything(&m, &whole, &n);
        run_pass(&rows);
        float *got = everything(&m, &rows, &also);
        assert_int_equal(n, also);
        double error = largest_difference(got, want, n) / largest(want, n);
        print_message("%s: first rows alone against the whole layer: %.2e\n", sizes[i].tag, error);
        assert_true(error <= 1e-5);
        free(want);
        free(got);
        close_model(&m);
    }
}

/* Recomputed layers give the same bits with less memory, and so does a second run. */
static void check_checkpointed(const struct size *size, enum dtype dtype)
{
    struct model m;
    int64_t n, also;

    open_model(&m, size, dtype);
    m.bert.config.hidden_dropout = m.bert.config.attention_dropout = m.bert.config.embedding_dropout = 0.2f;
    struct pass p = { .m = &m, .backward = true };
    run_pass(&p);
    size_t plain = m.work.step.peak;
    float *want = everything(&m, &p, &n);
    assert_int_equal(plain, workspace_measure(&m.work, run, &p).step);
    for (int i = 0; i < 2; i++) {
        m.bert.checkpointed = i == 1;
        run_pass(&p);
        float *got = everything(&m, &p, &also);
        assert_int_equal(n, also);
        assert_memory_equal(got, want, (size_t)n * sizeof *got);
        free(got);
    }
    size_t twice = workspace_measure(&m.work, run, &p).step;
    print_message("%s: %zu kB a step, %zu kB checkpointed\n", dtype_name(dtype), plain >> 10, twice >> 10);
    assert_true(twice < plain);
    free(want);
    close_model(&m);
}

static void test_checkpointed(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct size *size = &sizes[i ? MODERN : CLASSIC];
        check_checkpointed(size, F32);
        check_checkpointed(size, BF16);
    }
}

static const char *const lora_targets[] = { "attention.self.qkv", "attention.output.dense", "attn.Wqkv", "attn.Wo" };

/* Adapters with random values on query, key, value and output of each layer. */
static struct lora_module *add_lora(struct model *m, struct params *p, struct arena *data, enum dtype dtype, int *n)
{
    struct param_arenas arenas = { &m->host, data, OPTIMIZER_ADAMW };
    struct lora_config config;
    struct lora_module *modules;
    struct error err;

    *n = bert_modules(&m->bert, bert_prefix(&m->bert.config), &m->host, &modules);
    lora_config_init(&config, 5, 10, lora_targets, ARRAY_LEN(lora_targets));
    assert_int_equal(lora_declare(&config, p, &arenas, dtype, modules, *n, &err), 0);
    lora_config_release(&config);
    for (int i = 0; i < p->n; i++) {
        float *x = xmalloc((size_t)tensor_size(p->list[i].t) * sizeof *x);
        for (int64_t k = 0; k < tensor_size(p->list[i].t); k++)
            x[k] = formula_value(p->list[i].name, k) / 8;
        param_upload(&p->list[i], &m->device, x);
        free(x);
    }
    return modules;
}

/* LoRA beside a map equals LoRA added to its matrix, in whole layers and in the parts of the last one. */
static void test_lora(void **state)
{
    struct error err;

    (void)state;
    test_not_on_simt();
    for (int i = 0; i < 2 * ARRAY_LEN(sizes); i++) {
        struct params adapters = { 0 };
        struct arena data;
        struct model m;
        int n_modules;
        open_model(&m, &sizes[i / 2], F32);
        assert_int_equal(device_arena(&m.device, &data, 1 << 20, &err), 0);
        struct pass p = { .m = &m, .first_rows = i % 2 };
        run_pass(&p);
        int64_t n = tensor_size(p.y);
        float *plain = tensor_floats(&m.device, p.y);
        struct lora_module *modules = add_lora(&m, &adapters, &data, F32, &n_modules);
        assert_int_equal(n_modules, 2 * sizes[i / 2].layers);
        run_pass(&p);
        float *got = tensor_floats(&m.device, p.y);
        assert_int_equal(lora_merge(&adapters, &m.device, modules, n_modules, &err), 0);
        run_pass(&p);
        float *want = tensor_floats(&m.device, p.y);
        double error = largest_difference(got, want, n) / largest(want, n);
        print_message("%s: LoRA beside against within: %.2e\n", sizes[i / 2].tag, error);
        assert_true(error <= 1e-5 && largest_difference(got, plain, n) > 1e-2 * (double)largest(plain, n));
        free(plain);
        free(got);
        free(want);
        params_release(&adapters);
        device_arena_release(&m.device, &data);
        close_model(&m);
    }
}

/* With given states, output and gradients of the later layers are the same bits. The earlier layers have no
 * gradients. */
static void check_given(struct pass whole)
{
    struct model *m = whole.m;
    const struct params *adapters = whole.adapters;
    struct pass below = { .m = m, .before = whole.before };

    run_pass(&below);
    float *states = tensor_floats(&m->device, below.y);
    struct pass rest = whole;
    rest.given = states;
    whole.before = 0;
    float **got = xcalloc((size_t)adapters->n, sizeof *got);
    run_pass(&rest);
    float *y = tensor_floats(&m->device, rest.y);
    for (int i = 0; i < adapters->n; i++)
        got[i] = tensor_floats(&m->device, adapters->list[i].t->grad);
    run_pass(&whole);
    float *want = tensor_floats(&m->device, whole.y);
    assert_memory_equal(y, want, (size_t)tensor_size(whole.y) * sizeof *y);
    free(want);
    for (int i = 0; i < adapters->n; i++) {
        const struct tensor *grad = adapters->list[i].t->grad;
        want = tensor_floats(&m->device, grad);
        bool changes = largest(want, tensor_size(grad)) > 0, behind = i >= 4 * rest.before;
        assert_true(changes);
        for (int64_t k = 0; k < tensor_size(grad); k++)
            if (got[i][k] != (behind ? want[k] : 0))
                fail_msg("%s[%lld]: %g in place of %g", adapters->list[i].name, (long long)k, (double)got[i][k],
                         behind ? (double)want[k] : 0.0);
        free(want);
        free(got[i]);
    }
    free(got);
    free(y);
    free(states);
}

static void test_given(void **state)
{
    struct error err;

    (void)state;
    test_not_on_simt();
    for (int i = 0; i < 4 * ARRAY_LEN(sizes); i++) {
        enum dtype dtype = i % 2 ? BF16 : F32;
        if (i / 2 % 2 == i % 2 && !strcmp(test_device_name(), "simt"))
            continue; /* simt is slow: whole outputs in BF16, first rows in F32 */
        struct params adapters = { 0 };
        struct arena data;
        struct model m;
        int n_modules;
        open_model(&m, &sizes[i / 4], dtype);
        assert_int_equal(device_arena(&m.device, &data, 8 << 20, &err), 0);
        add_lora(&m, &adapters, &data, dtype, &n_modules);
        for (int k = 1; k < sizes[i / 4].layers; k++)
            check_given((struct pass){
                .m = &m, .adapters = &adapters, .first_rows = i / 2 % 2, .backward = true, .before = k });
        params_release(&adapters);
        device_arena_release(&m.device, &data);
        close_model(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold_f32),     cmocka_unit_test(test_gold_bf16), cmocka_unit_test(test_first_rows),
        cmocka_unit_test(test_checkpointed), cmocka_unit_test(test_lora),      cmocka_unit_test(test_given),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
