#include "train/lm/lm_export.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "kernels/workspace.h"
#include "models/hf/hf_weights.h"
#include "models/io/safetensors.h"
#include "models/lm/llama_model.h"
#include "models/lm/lm_batch.h"
#include "train/lm/lm_trainer.h"
#include "train/run/run_request.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A low-rank adapter as llama.cpp loads it: GGUF version 3 of general.type "adapter".
 *
 * Names, shapes and the order of rows are those of llama.cpp's converter: blk.N.attn_q.weight.lora_a [r, in] and
 * .lora_b [out, r]. For the architecture llama, the rows of query and key are interleaved, since their rotary pairs lie
 * half a head apart here. The file has one alpha for all pairs, and scales each pair by alpha over its rank.
 */

/* Numbers of the format: types of values and tensors, and where data may begin. */
enum { VERSION = 3, VALUE_U32 = 4, VALUE_F32 = 6, VALUE_STRING = 8, TENSOR_F32 = 0, ALIGN = 32, QUANTIZATION = 2 };

enum { N_VALUES = 6, NAME = 128 };

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
    if (strcmp(llama_config_gguf(c), "llama"))
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
    put_text(w, "general.architecture", llama_config_gguf(&w->m->net.config));
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

/* Writes m's adapter as F32. -1 with EXIT_CODE_USAGE for an adapter that GGUF cannot hold: a whole head, a pair on a
 * tied head, or pairs without a common alpha. -1 with EXIT_CODE_FAILURE if it cannot be written. */
static int save_gguf(const struct llama_model *m, const char *path, struct error *err)
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

#define HEAD "lm_head.weight"

#define EMBEDDING "model.embed_tokens.weight"

static bool wants(const struct lm_export *e, const char *format)
{
    return !strcmp(e->request->format, format);
}

/* The folder of a file, if it also holds a config.json, as a finished run of all weights does. The caller frees it.
 * NULL: none. */
static char *whole_folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    char path[4096];
    int n = slash ? (int)(slash - file) : 1;

    snprintf(path, sizeof path, "%.*s/config.json", n, slash ? file : ".");
    if (access(path, F_OK) != 0)
        return NULL;
    path[n] = '\0';
    return xstrdup(path);
}

/* Checks that the base has the weights that the run was trained on. */
static int check_base(const struct lm_export *e, const char *base, struct error *err)
{
    const char *wanted = json_get_string(e->meta, "base_hash", e->file->path, err);
    uint64_t hash;
    char found[20];

    if (!wanted)
        return -1;
    if (access(e->base, F_OK) != 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: the run's base is not there; --base tells where it is",
                         e->base);
    if (hf_weights_hash(e->base, &hash, err))
        return -1;
    snprintf(found, sizeof found, "%016" PRIx64, hash);
    if (strcmp(found, wanted))
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: its weights have the hash %s; %s was trained on %s, whose weights have %s", e->base,
                         found, e->file->path, base, wanted);
    return 0;
}

/* Finds the folder of config and tokenizer and, for an adapter, of the base's weights. */
static int find_base(struct lm_export *e, struct error *err)
{
    const char *base = json_get_string(e->meta, "base", e->file->path, err), *given = e->request->base;

    if (!base)
        return -1;
    bool scratch = !strcmp(base, "from scratch");
    if (e->full && !given && (e->base = whole_folder_of(e->file->path)) != NULL)
        return 0;
    if (scratch && !given)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: a model from scratch has no config.json before its run is finished, expected --base, a "
                         "folder with its config and tokenizer",
                         e->file->path);
    e->base = xstrdup(given ? given : base);
    return scratch ? 0 : check_base(e, base, err);
}

/* Writing over the base would destroy it. */
static int check_out(const struct lm_export *e, struct error *err)
{
    if (!same_path(e->request->out, e->base))
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "out: expected another folder than the folder that is read, got %s",
                     e->request->out);
}

static int check_format(const struct lm_export *e, struct error *err)
{
    if (wants(e, "hf"))
        return error_set(err, EXIT_CODE_USAGE, "format: %s is of a language model: expected %s, got hf", e->file->path,
                         e->full ? "merged" : "peft, merged or gguf-adapter");
    if (e->full && !wants(e, "merged"))
        return error_set(err, EXIT_CODE_USAGE,
                         "format: %s has every weight trained and no adapter: expected merged, got %s", e->file->path,
                         e->request->format);
    if (e->request->verify && wants(e, "gguf-adapter"))
        return error_set(err, EXIT_CODE_USAGE,
                         "verify: expected peft or merged, got gguf-adapter, which is not run here");
    return 0;
}

/* Loads the base's weights. A head of its own starts as a copy of the embedding table. */
static int load_base(struct llama_model *m, const struct lm_export *e, bool own_head, struct error *err)
{
    if (!own_head)
        return llama_model_load(m, e->base, err);
    struct params stored = params_without_state(&m->params);
    struct param *head = params_find(&stored, HEAD);
    *head = stored.list[--stored.n];
    int rc = hf_weights_load(&stored, m->device, e->base, &hf_llama_rules, HF_WHOLE, NULL, err);
    params_release(&stored);
    if (rc)
        return -1;
    float *words = xmalloc((size_t)tensor_size(m->net.word) * sizeof *words);
    param_download(params_find(&m->params, EMBEDDING), m->device, words);
    param_upload(params_find(&m->params, HEAD), m->device, words);
    free(words);
    return 0;
}

static int read_config(struct lm_export_config *c, const struct lm_export *e, const char *dir, struct error *err)
{
    *c = (struct lm_export_config){ 0 };
    if (e->run.seq2seq ? t5_config_read(&c->t5, dir, err) : llama_config_read(&c->llama, dir, err))
        return -1;
    c->dtype = e->run.seq2seq ? c->t5.dtype : c->llama.dtype;
    c->layers = e->run.seq2seq ? c->t5.encoder_layers + c->t5.decoder_layers : c->llama.layers;
    return 0;
}

/* In F32, the type of training. */
static int load_adapter(struct llama_model *m, const struct lm_export *e, struct error *err)
{
    struct adapter_plan plan = { .config = &m->lora, .merge = true };
    struct checkpoint c = { .params = &m->adapters, .device = m->device };

    return lm_lora_config(&m->lora, &e->run.settings, e->base, err) || llama_model_add_adapter(m, &plan, err)
               ? -1
               : checkpoint_load(e->file, &c, err);
}

/* Opens the trained model: base in dtype (as in llama_request) and adapter in F32. own_head: a head tied to the
 * embedding table becomes a matrix of its own. */
static int open_trained(struct llama_model *m, const struct lm_export *e, const char *dtype, bool own_head,
                        struct error *err)
{
    const struct llama_request r = { .dir = e->base, .dtype = dtype };
    struct lm_export_config c;

    *m = (struct llama_model){ 0 };
    if (read_config(&c, e, e->base, err))
        return -1;
    c.llama.tied = c.llama.tied && !own_head;
    enum dtype type = llama_request_dtype(&r, c.dtype);
    if (e->run.seq2seq ? t5_model_init(m, e->device, &c.t5, type, OPTIMIZER_NONE, 0, err)
                       : llama_model_init(m, e->device, &c.llama, type, OPTIMIZER_NONE, 0, err))
        return -1;
    struct checkpoint all = { .params = &m->params, .device = m->device };
    if (e->full)
        return checkpoint_load(e->file, &all, err);
    return load_base(m, e, own_head, err) || load_adapter(m, e, err) ? -1 : 0;
}

/* ---- verification ---- */

enum { HOST_BYTES = 64 << 20, LINEAR_MAPS = 7 /* of a block */ };

static const char *const texts[] = {
    "How many singers are there in each concert?",
    "SELECT name FROM singer WHERE age > 30 ORDER BY age DESC",
    "1. The names of all singers and of all concerts.\n2. The names of all singers.",
};

/* Logits of the texts: argument of a step_fn, then a copy in host memory. */
struct logits {
    const struct llama_model *m;
    struct lm_batch batch;
    struct tensor *found;
    float *x;
    int64_t n;
};

static void run(struct ctx *c, void *arg)
{
    struct logits *l = arg;
    l->found = lm_batch_logits(c, l->m, 0, &l->batch);
}

/* A decoder predicts the whole text, an encoder-decoder its second half. */
static void add_texts(struct logits *l)
{
    for (int i = 0; i < ARRAY_LEN(texts); i++) {
        struct ids ids = { 0 };
        tokenizer_encode(l->m->tokenizer, texts[i], strlen(texts[i]), 0, &ids, NULL);
        int64_t read = l->m->seq2seq ? ids.count / 2 : 0;
        uint8_t *answer = xcalloc((size_t)ids.count + 1, 1);
        memset(answer + read, 1, (size_t)(ids.count - read));
        struct llama_text text = { ids.items, answer, ids.count };
        lm_batch_add(&l->batch, l->m, &text, 1, false);
        free(answer);
        ids_release(&ids);
    }
}

static int compute(struct logits *l, const struct llama_model *m, struct error *err)
{
    struct workspace w;

    *l = (struct logits){ .m = m };
    if (workspace_init(&w, m->device, HOST_BYTES, err))
        return -1;
    add_texts(l);
    int rc = workspace_run(&w, run, l, err);
    if (rc == 0) {
        l->n = tensor_size(l->found);
        l->x = xmalloc(tensor_bytes(l->found));
        device_download(m->device, l->x, l->found);
    }
    workspace_release(&w);
    lm_batch_release(&l->batch);
    return rc;
}

static int trained_logits(struct logits *l, const struct lm_export *e, struct error *err)
{
    const struct llama_request text = { .dir = e->base };
    struct llama_model m;
    int rc = open_trained(&m, e, "f32", false, err);

    if (rc == 0)
        rc = llama_model_open_text(&m, &text, err) || compute(l, &m, err) ? -1 : 0;
    llama_model_release(&m);
    return rc;
}

static int written_logits(struct logits *l, const struct lm_export *e, struct error *err)
{
    bool merged = !strcmp(e->request->format, "merged");
    const struct llama_request q = { .dir = merged ? e->request->to : e->base,
                                     .adapter = merged ? NULL : e->request->to,
                                     .dtype = "f32",
                                     .seq2seq = true };
    struct llama_model m;

    if (llama_model_open(&m, e->device, &q, err))
        return -1;
    int rc = compute(l, &m, err);
    llama_model_release(&m);
    return rc;
}

/* Tolerance, as a fraction of the largest logit. A weight in bf16 has an RMS error of 2^-10. Errors of a network's
 * linear maps add up like random ones. The tolerance is four standard deviations. */
static int allowed(const struct lm_export *e, double *share, struct error *err)
{
    struct lm_export_config c;

    *share = 1e-4;
    if (strcmp(e->request->format, "merged"))
        return 0;
    if (read_config(&c, e, e->request->to, err))
        return -1;
    if (c.dtype == BF16)
        *share = 0x1p-8 * sqrt(LINEAR_MAPS * c.layers);
    return 0;
}

static int compare(const struct lm_export *e, const struct logits *a, const struct logits *b, struct error *err)
{
    double largest = 0, most = 0, share;

    if (allowed(e, &share, err))
        return -1;
    CHECK(a->n == b->n, "%lld and %lld logits", (long long)a->n, (long long)b->n);
    for (int64_t i = 0; i < a->n; i++) {
        double d = fabs((double)a->x[i] - (double)b->x[i]);
        largest = d <= largest ? largest : isnan(d) ? HUGE_VAL : d;
        most = fmax(most, fabs((double)a->x[i]));
    }
    if (!(largest <= share * most))
        return error_set(err, EXIT_CODE_FAILURE,
                         "%s: logits beside the trained model's: expected differences of at most %.3g, got %.3g",
                         e->request->out, share * most, largest);
    log_info("%s: verified, %lld logits of up to %.3g, largest difference %.3g", e->request->out, (long long)a->n, most,
             largest);
    return 0;
}

/* Loads the exported model (peft or merged) and compares its logits on fixed texts with those of the trained model,
 * both in F32. Logs the largest difference. -1 with EXIT_CODE_FAILURE if rounding cannot explain it. */
static int verify_export(const struct lm_export *e, struct error *err)
{
    struct logits trained = { 0 }, written = { 0 };
    int rc = trained_logits(&trained, e, err);

    if (rc == 0)
        rc = written_logits(&written, e, err);
    if (rc == 0)
        rc = compare(e, &trained, &written, err);
    free(trained.x);
    free(written.x);
    return rc;
}

/* ---- the export ---- */

static int write_merged(struct llama_model *m, const struct lm_export *e, struct error *err)
{
    if (!e->full && llama_model_merge(m, e->file->path, err))
        return -1;
    return llama_folder_save(m, e->base, true, e->request->to, err);
}

/* Type of a merged model: the base's own, but F32 for a base in F16, which bf16 would round once more. */
static int merged_type(const struct lm_export *e, const char **dtype, struct error *err)
{
    struct safetensors s;

    *dtype = e->full ? e->run.settings.compute : "auto";
    if (e->full)
        return 0;
    if (safetensors_open(&s, e->base, err))
        return -1;
    for (int i = 0; i < s.n; i++)
        if (s.entries[i].dtype == ST_F16)
            *dtype = "f32";
    safetensors_close(&s);
    return 0;
}

static int export_merged(const struct lm_export *e, struct error *err)
{
    struct lm_export_config config;
    struct llama_model m = { 0 };
    const char *dtype;

    if (read_config(&config, e, e->base, err) || merged_type(e, &dtype, err))
        return -1;
    bool own_head = config.llama.tied && !e->full && e->run.settings.head == HEAD_LORA;
    int rc = open_trained(&m, e, dtype, own_head, err) || write_merged(&m, e, err) ? -1 : 0;
    llama_model_release(&m);
    return rc;
}

static int export_adapter(const struct lm_export *e, struct error *err)
{
    struct llama_model m;
    int rc = open_trained(&m, e, "auto", false, err);

    if (rc == 0)
        rc = wants(e, "peft") ? lora_save(&m.adapters, m.device, &m.lora, e->request->to, F32, err)
                              : save_gguf(&m, e->request->to, err);
    llama_model_release(&m);
    return rc;
}

static int write_form(const struct lm_export *e, struct error *err)
{
    return wants(e, "merged") ? export_merged(e, err) : export_adapter(e, err);
}

/* Commands whose runs can be exported. The first one is the default. */
static const struct exported {
    const char *kind;
    const struct lm_request *defaults;
    const struct option *table;
} forms[] = { { "infill", &lm_request_defaults, lm_request_table },
              { "seq2seq", &seq2seq_request_defaults, seq2seq_request_table },
              { "reward", &reward_request_defaults, reward_request_table } };

static const struct exported *exported_of(const char *kind)
{
    for (int i = 0; i < ARRAY_LEN(forms) && kind; i++)
        if (strcmp(forms[i].kind, kind) == 0)
            return &forms[i];
    return &forms[0];
}

int lm_export(const struct lm_export_request *q, const struct hdf5_reader *file, const json_t *meta, struct error *err)
{
    const struct exported *form = exported_of(json_string_value(json_object_get(meta, "kind")));
    struct lm_export e = { .request = q, .file = file, .meta = meta, .run = *form->defaults };
    struct device device;

    if (run_meta_settings(meta, form->table, &e.run, offsetof(struct lm_request, settings), file->path, err) ||
        device_open(&device, "cpu", err))
        return -1;
    e.device = &device;
    e.full = e.run.settings.method == METHOD_FULL;
    int rc = check_format(&e, err) || find_base(&e, err) || check_out(&e, err) || write_form(&e, err) ? -1 : 0;
    if (rc == 0)
        log_info("%s: %s", q->out, e.full ? "every weight, as trained" : q->format);
    if (rc == 0 && q->verify)
        rc = verify_export(&e, err);
    free(e.base);
    device_close(&device);
    return rc;
}
