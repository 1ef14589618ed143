#include "models/lm/gguf_adapter.h"

#include "data/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the format: types of values and tensors, and where data may begin. */
enum { VERSION = 3, VALUE_U32 = 4, VALUE_F32 = 6, VALUE_STRING = 8, TENSOR_F32 = 0, ALIGN = 32, QUANTIZATION = 2 };
enum { N_VALUES = 6, NAME = 128 };

static const char *const architectures[] = {
    [LLAMA] = "llama", [QWEN2] = "qwen2", [QWEN3] = "qwen3", [MISTRAL] = "llama", [GEMMA2] = "gemma2"
};

static const struct {
    const char *own, *gguf;
} maps[] = {
    { "self_attn.q_proj", "attn_q" },      { "self_attn.k_proj", "attn_k" }, { "self_attn.v_proj", "attn_v" },
    { "self_attn.o_proj", "attn_output" }, { "mlp.gate_proj", "ffn_gate" },  { "mlp.up_proj", "ffn_up" },
    { "mlp.down_proj", "ffn_down" },
};

/* One file being written. */
struct gguf_writer {
    const struct llama_model *m;
    FILE *f;         /* whether writing failed is asked once, at the commit */
    int64_t at;      /* bytes written */
    uint64_t offset; /* in the data, of the next tensor to be announced */
};

static void put_int(struct gguf_writer *w, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putc((int)(value >> 8 * i & 255), w->f);
    w->at += bytes;
}

static void put_letters(struct gguf_writer *w, const char *s)
{
    fputs(s, w->f);
    w->at += (int64_t)strlen(s);
}

static void pad(struct gguf_writer *w)
{
    while (w->at % ALIGN)
        put_int(w, 0, 1);
}

static void put_string(struct gguf_writer *w, const char *s)
{
    put_int(w, strlen(s), 8);
    put_letters(w, s);
}

static void put_text(struct gguf_writer *w, const char *key, const char *value)
{
    put_string(w, key);
    put_int(w, VALUE_STRING, 4);
    put_string(w, value);
}

static void put_number(struct gguf_writer *w, const char *key, int type, uint32_t bits)
{
    put_string(w, key);
    put_int(w, (uint64_t)type, 4);
    put_int(w, bits, 4);
}

static float shared_alpha(const struct lora_config *c)
{
    return c->rslora ? c->alpha * sqrtf((float)c->r) : c->alpha;
}

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* llama.cpp's name of a linear map's matrix. */
static void map_name(char out[NAME], const char *module)
{
    int layer, at = 0;

    if (sscanf(module, "model.layers.%d.%n", &layer, &at) != 1) {
        snprintf(out, NAME, "output.weight");
        return;
    }
    for (int i = 0; i < ARRAY_LEN(maps); i++)
        if (!strcmp(module + at, maps[i].own)) {
            snprintf(out, NAME, "blk.%d.%s.weight", layer, maps[i].gguf);
            return;
        }
    CHECK(false, "a linear map %s", module);
}

static const struct tensor *half_of(const struct lora_module *m, bool b)
{
    return b ? m->lora->b : m->lora->a;
}

static void put_info(struct gguf_writer *w, const struct lora_module *m, bool b)
{
    const struct tensor *t = half_of(m, b);
    char map[NAME], name[NAME + 8];

    map_name(map, m->name);
    snprintf(name, sizeof name, "%s.lora_%c", map, b ? 'b' : 'a');
    put_string(w, name);
    put_int(w, 2, 4);
    put_int(w, (uint64_t)t->shape[1], 8); /* the dimension that runs fastest comes first */
    put_int(w, (uint64_t)t->shape[0], 8);
    put_int(w, TENSOR_F32, 4);
    put_int(w, w->offset, 8);
    w->offset += (uint64_t)(tensor_size(t) * 4 + ALIGN - 1) / ALIGN * ALIGN;
}

/* Heads whose rows are to be interleaved; 0 for a map whose rows stay. */
static int heads_of(const struct llama_config *c, const char *module)
{
    if (c->kind != LLAMA && c->kind != MISTRAL)
        return 0;
    return text_ends_with(module, ".q_proj") ? c->heads : text_ends_with(module, ".k_proj") ? c->groups : 0;
}

/* Row j of the first half of a head and row j of its second half become rows 2j and 2j + 1. */
static void interleave(float *x, int64_t rows, int64_t cols, int heads)
{
    int64_t each = rows / heads, half = each / 2;
    float *old = xmalloc((size_t)(rows * cols) * sizeof *old);

    memcpy(old, x, (size_t)(rows * cols) * sizeof *old);
    for (int64_t r = 0; r < rows; r++) {
        int64_t head = r / each, j = r % each;
        memcpy(x + (head * each + j % half * 2 + j / half) * cols, old + r * cols, (size_t)cols * sizeof *x);
    }
    free(old);
}

static void put_data(struct gguf_writer *w, const struct lora_module *m, bool b)
{
    const struct tensor *t = half_of(m, b);
    char name[NAME * 2];
    int heads = heads_of(&w->m->net.config, m->name);
    int64_t n = tensor_size(t);
    float *x = xmalloc((size_t)n * sizeof *x);

    snprintf(name, sizeof name, "%s.lora_%c.weight", m->name, b ? 'B' : 'A');
    const struct param *p = params_find(&w->m->adapters, name);
    CHECK(p && p->t == t, "no parameter %s", name);
    param_download(p, w->m->device, x);
    if (b && heads)
        interleave(x, t->shape[0], t->shape[1], heads);
    for (int64_t i = 0; i < n; i++)
        put_int(w, float_bits(x[i]), 4);
    pad(w);
    free(x);
}

static int for_all(struct gguf_writer *w, void (*put)(struct gguf_writer *, const struct lora_module *, bool))
{
    int n = 0;

    for (int i = 0; i < w->m->n_modules; i++)
        if (w->m->modules[i].lora->a) {
            put(w, &w->m->modules[i], false);
            put(w, &w->m->modules[i], true);
            n += 2;
        }
    return n;
}

static void count_only(struct gguf_writer *w, const struct lora_module *m, bool b)
{
    (void)w, (void)m, (void)b;
}

static void put_head(struct gguf_writer *w)
{
    put_letters(w, "GGUF");
    put_int(w, VERSION, 4);
    put_int(w, (uint64_t)for_all(w, count_only), 8);
    put_int(w, N_VALUES, 8);
    put_text(w, "general.architecture", architectures[w->m->net.config.kind]);
    put_text(w, "general.type", "adapter");
    put_text(w, "adapter.type", "lora");
    put_number(w, "adapter.lora.alpha", VALUE_F32, float_bits(shared_alpha(&w->m->lora)));
    put_number(w, "general.file_type", VALUE_U32, 0); /* all F32 */
    put_number(w, "general.quantization_version", VALUE_U32, QUANTIZATION);
}

static int check(const struct llama_model *m, struct error *err)
{
    float alpha = shared_alpha(&m->lora);

    if (m->lora.full_head)
        return error_set(
            err, EXIT_CODE_USAGE,
            "modules_to_save: lm_head is a whole matrix, a GGUF adapter holds pairs; expected a merged model");
    for (int i = 0; i < m->n_modules; i++) {
        const struct lora_module *module = &m->modules[i];
        if (!module->lora->a)
            continue;
        float own = module->lora->scale * (float)module->lora->a->shape[0];
        if (!strcmp(module->name, "lm_head") && m->net.config.tied)
            return error_set(err, EXIT_CODE_USAGE,
                             "lm_head: it is the embedding table in this model, which has no "
                             "output.weight in GGUF; expected a merged model");
        if (!(fabsf(own - alpha) <= 1e-5f * fabsf(alpha)))
            return error_set(err, EXIT_CODE_USAGE, "%s: alpha %g, elsewhere %g: a GGUF adapter has one", module->name,
                             (double)own, (double)alpha);
    }
    return 0;
}

int gguf_adapter_save(const struct llama_model *m, const char *path, struct error *err)
{
    struct gguf_writer w = { .m = m };
    struct out_file out = { 0 };

    if (check(m, err) || out_file_open(&out, path, err))
        return -1;
    w.f = out.f;
    put_head(&w);
    for_all(&w, put_info);
    pad(&w);
    for_all(&w, put_data);
    return out_file_commit(&out, err);
}
