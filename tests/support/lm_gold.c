#include "tests/support/lm_gold.h"

#include "data/base/json.h"
#include "kernels/batch.h"
#include "kernels/tape.h"
#include "tests/support/digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VOCAB = 97, HOST_BYTES = 16 << 20, SEQUENCES = 5 };
static const int32_t lengths[SEQUENCES] = { 31, 1, 64, 2, 17 };

static json_t *read_file(const char *path)
{
    struct error err;
    json_t *file = json_read_file(path, &err);

    if (!file)
        fail_msg("%s", err.text);
    return file;
}

json_t *lm_gold_read(void)
{
    json_t *file = read_file("tests/gold/llama.json"), *more = read_file("tests/gold/gemma.json");

    assert_int_equal(json_array_extend(json_object_get(file, "models"), json_object_get(more, "models")), 0);
    json_decref(more);
    return file;
}

const char *lm_gold_tag(const json_t *file, int i)
{
    const json_t *model = json_array_get(json_object_get(file, "models"), (size_t)i);
    return json_string_value(json_object_get(model, "tag"));
}

const json_t *lm_gold_case(const json_t *file, const char *tag)
{
    const json_t *list = json_object_get(file, "models");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(list, i), "tag")), tag))
            return json_array_get(list, i);
    fail_msg("no model %s", tag);
    return NULL;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* make_llama.py's weight(); norms that are stored less one are one more here */
static float weight(const char *name, const char *formula, int64_t i)
{
    float x = formula_value(formula, i);

    if (ends_in(name, "norm.weight"))
        return 1 + x / 2;
    return strstr(name, "embed_tokens") || strstr(name, "lm_head") ? x / 2 : x / 4;
}

void lm_gold_fill(struct lm_gold *g, struct params *p)
{
    bool adapter = p == &g->model.adapters;

    params_init(p, &g->device, 0);
    for (int i = 0; i < p->n; i++) {
        struct param *q = &p->list[i];
        int64_t n = tensor_size(q->t);
        float *x = xmalloc((size_t)n * sizeof *x);
        char formula[256];
        snprintf(formula, sizeof formula, "%s%s", q->name,
                 adapter && !strcmp(q->name, "lm_head.weight") ? " trained" : "");
        for (int64_t k = 0; k < n; k++)
            x[k] = weight(q->name, formula, k);
        param_upload(q, &g->device, x);
        free(x);
    }
}

static void must(int rc, const struct error *err)
{
    if (rc)
        fail_msg("%s", err->text);
}

void lm_gold_open(struct lm_gold *g, const json_t *record, enum lm_part part, enum dtype dtype)
{
    struct llama_config config;
    struct error err;

    *g = (struct lm_gold){ .tag = json_string_value(json_object_get(record, "tag")) };
    test_device_open(&g->device);
    must(workspace_init(&g->work, &g->device, HOST_BYTES, &err), &err);
    must(llama_config_parse(&config, json_object_get(record, "config"), g->tag, &err), &err);
    must(llama_model_init(&g->model, &g->device, &config, dtype, part == LM_FULL ? OPTIMIZER_ADAMW : OPTIMIZER_NONE, 0,
                          &err),
         &err);
    lm_gold_fill(g, &g->model.params);
    if (part != LM_ADAPTER)
        return;
    struct adapter_plan plan = { .config = &g->model.lora, .optimizer = OPTIMIZER_ADAMW };
    must(lora_config_parse(&g->model.lora, json_object_get(record, "adapter"), g->tag, &err), &err);
    must(llama_model_add_adapter(&g->model, &plan, &err), &err);
    lm_gold_fill(g, &g->model.adapters);
}

void lm_gold_close(struct lm_gold *g)
{
    workspace_release(&g->work);
    llama_model_release(&g->model);
    device_close(&g->device);
}

void lm_gold_batch(struct llama_batch *b, const char *tag)
{
    char ids[64], answers[64];
    int64_t at = 0;

    *b = (struct llama_batch){ 0 };
    snprintf(ids, sizeof ids, "%s ids", tag);
    snprintf(answers, sizeof answers, "%s answer", tag);
    for (int s = 0; s < SEQUENCES; s++) {
        int32_t id[64];
        uint8_t answer[64];
        for (int k = 0; k < lengths[s]; k++, at++) {
            id[k] = (int32_t)(formula_word(ids, at) % VOCAB);
            answer[k] = (uint8_t)(formula_word(answers, at) >> 63);
        }
        llama_batch_add(b, id, answer, lengths[s]);
    }
}

struct tensor *lm_gold_logits(struct ctx *c, const struct llama *net, const struct llama_batch *b)
{
    int32_t starts[SEQUENCES] = { 0 };

    for (int s = 1; s < SEQUENCES; s++)
        starts[s] = starts[s - 1] + lengths[s - 1];
    struct llama_input in = { .tokens = batch_index(c, b->ids, b->n_tokens, VOCAB),
                              .positions = batch_i32(c, b->positions, b->n_tokens),
                              .causal = { .qs = batch_seqs(c, b->lengths, b->n_seqs),
                                          .key_start = batch_i32(c, starts, SEQUENCES),
                                          .key_len = batch_i32(c, lengths, SEQUENCES) } };

    in.causal.max_keys = in.causal.qs.max_len;
    return op_linear_logits(c, llama_forward(c, net, &in), net->head.w, &net->head.lora, net->config.logit_cap);
}

struct pass {
    struct lm_gold *g;
    const struct llama_batch *b;
    struct tensor *loss;
};

static void run(struct ctx *c, void *arg)
{
    struct pass *p = arg;

    struct tensor *mean = batch_f32(c, &(float){ 1.0f / (float)p->b->n_rows }, 1, 1, F32);

    p->loss = op_sum(c, llama_batch_nll(c, &p->g->model.net, p->b), mean);
    tape_backward(c, p->loss);
}

double lm_gold_backward(struct lm_gold *g, const struct llama_batch *b)
{
    struct pass p = { g, b, NULL };
    struct error err;
    float loss;

    g->work.ctx.recording = g->work.ctx.training = true;
    must(workspace_run(&g->work, run, &p, &err), &err);
    g->work.ctx.recording = g->work.ctx.training = false;
    device_download(&g->device, &loss, p.loss);
    return (double)loss;
}

float **lm_gold_gradients(const struct lm_gold *g)
{
    float **copy = xcalloc((size_t)g->model.params.n, sizeof *copy);

    for (int i = 0; i < g->model.params.n; i++) {
        copy[i] = xmalloc(tensor_bytes(g->model.params.list[i].t->grad));
        device_download(g->model.device, copy[i], g->model.params.list[i].t->grad);
    }
    return copy;
}

double lm_gold_gradients_apart(const struct lm_gold *g, float *const *before)
{
    double most = 0, scale = 0;

    for (int i = 0; i < g->model.params.n; i++) {
        const struct tensor *t = g->model.params.list[i].t->grad;
        float *now = xmalloc(tensor_bytes(t));
        device_download(g->model.device, now, t);
        for (int64_t k = 0; k < tensor_size(t); k++) {
            most = fmax(most, fabs((double)(now[k] - before[i][k])));
            scale = fmax(scale, fabs((double)before[i][k]));
        }
        free(now);
    }
    assert_true(scale > 0);
    return most / scale;
}

static void link_into(const char *dir, const char *file)
{
    char *from = realpath(file, NULL), to[4096];

    assert_non_null(from);
    snprintf(to, sizeof to, "%s/%s", dir, strrchr(file, '/') + 1);
    assert_int_equal(symlink(from, to), 0);
    free(from);
}

char *lm_gold_base_new(void)
{
    static const char *const files[] = {
        "tests/gold/bpe/llama/tokenizer.json",
        "tests/gold/llama/base/config.json",
        "tests/gold/llama/base/generation_config.json",
        "tests/gold/llama/base/model.safetensors.index.json",
        "tests/gold/llama/base/model-00001-of-00003.safetensors",
        "tests/gold/llama/base/model-00002-of-00003.safetensors",
        "tests/gold/llama/base/model-00003-of-00003.safetensors",
    };
    char *base = test_dir_new();

    for (int i = 0; i < ARRAY_LEN(files); i++)
        link_into(base, files[i]);
    return base;
}
