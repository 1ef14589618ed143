#include "models/lm/llama_model.h"

#include "data/base/json.h"
#include "data/base/whole_file.h"
#include "models/hf/hf_weights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 8 << 20 }; /* headers of the parameters */

/* The network to declare: one of the two. */
struct net_config {
    const struct llama_config *llama;
    const struct t5_config *t5;
};

static int declare_net(struct llama_model *m, struct net_config config, enum optimizer optimizer, struct error *err)
{
    if (arena_init(&m->host, HOST_BYTES, err))
        return -1;
    struct param_arenas arenas = { &m->host, &m->data, optimizer };
    m->seq2seq = config.t5 != NULL;
    if (config.t5) {
        t5_init(&m->t5, config.t5, m->dtype, optimizer == OPTIMIZER_NONE, &m->params, &arenas);
        return 0;
    }
    llama_init(&m->net, config.llama, m->dtype, optimizer == OPTIMIZER_NONE, &m->params, &arenas);
    m->n_modules = llama_modules(&m->net, &m->host, &m->modules);
    return 0;
}

static int init_dry(struct llama_model *m, struct device *device, struct net_config config, enum dtype dtype,
                    enum optimizer optimizer, struct error *err)
{
    *m = (struct llama_model){ .device = device, .dtype = dtype, .dry = true };
    arena_measure(&m->data);
    arena_measure(&m->adapter_data);
    return declare_net(m, config, optimizer, err);
}

static int init(struct llama_model *m, struct device *device, struct net_config config, enum dtype dtype,
                enum optimizer optimizer, size_t extra, struct error *err)
{
    struct llama_model measured;

    *m = (struct llama_model){ .device = device, .dtype = dtype };
    if (init_dry(&measured, device, config, dtype, optimizer, err))
        return -1;
    size_t bytes = measured.data.peak + extra;
    llama_model_release(&measured);
    if (device->free_memory && bytes > device->free_memory)
        return error_set(err, EXIT_CODE_MEMORY, "the weights need %zu MiB, %s has %zu MiB free", bytes >> 20,
                         device->description, device->free_memory >> 20);
    if (device_arena(device, &m->data, bytes, err) || declare_net(m, config, optimizer, err)) {
        llama_model_release(m);
        return -1;
    }
    if (m->seq2seq)
        t5_upload_constants(&m->t5, device);
    else
        llama_upload_constants(&m->net, device);
    return 0;
}

int llama_model_init_dry(struct llama_model *m, struct device *device, const struct llama_config *config,
                         enum dtype dtype, enum optimizer optimizer, struct error *err)
{
    return init_dry(m, device, (struct net_config){ .llama = config }, dtype, optimizer, err);
}

int llama_model_init(struct llama_model *m, struct device *device, const struct llama_config *config, enum dtype dtype,
                     enum optimizer optimizer, size_t extra, struct error *err)
{
    return init(m, device, (struct net_config){ .llama = config }, dtype, optimizer, extra, err);
}

int t5_model_init_dry(struct llama_model *m, struct device *device, const struct t5_config *config, enum dtype dtype,
                      enum optimizer optimizer, struct error *err)
{
    return init_dry(m, device, (struct net_config){ .t5 = config }, dtype, optimizer, err);
}

int t5_model_init(struct llama_model *m, struct device *device, const struct t5_config *config, enum dtype dtype,
                  enum optimizer optimizer, size_t extra, struct error *err)
{
    return init(m, device, (struct net_config){ .t5 = config }, dtype, optimizer, extra, err);
}

enum dtype llama_request_dtype(const struct llama_request *q, enum dtype stored)
{
    if (!q->dtype || !strcmp(q->dtype, "auto"))
        return stored;
    return strcmp(q->dtype, "bf16") ? F32 : BF16;
}

int llama_model_load(struct llama_model *m, const char *dir, struct error *err)
{
    const struct hf_rules *rules = m->seq2seq ? &hf_t5_rules : &hf_llama_rules;
    return hf_weights_load(&m->params, m->device, dir, rules, HF_WHOLE, NULL, err);
}

int llama_model_open_text(struct llama_model *m, const struct llama_request *q, struct error *err)
{
    m->tokenizer = tokenizer_open(q->dir, err);
    if (!m->tokenizer)
        return -1;
    int rows = m->seq2seq ? m->t5.config.vocab_size : m->net.config.vocab_size;
    if (tokenizer_vocab_size(m->tokenizer) > rows)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: the tokenizer has ids up to %d, but the model has %d embeddings", q->dir,
                         tokenizer_vocab_size(m->tokenizer) - 1, rows);
    m->eos = tokenizer_special(m->tokenizer, SPECIAL_EOS);
    if (m->seq2seq) {
        m->eos = m->eos >= 0 ? m->eos : m->t5.config.stops[0];
        return 0;
    }
    if (chat_open(&m->chat, q->dir, q->chat_template, m->tokenizer, q->chat_template ? err : NULL)) {
        m->chat.template = NULL;
        return q->chat_template ? -1 : 0;
    }
    return 0;
}

/* The maps that an adapter may sit on, and the arenas of its parameters. */
struct adapter_place {
    struct lora_module *modules;
    struct arena *host, *data;
    struct params *params;
};

/* An adapter that will be merged is F32 for all types of the network, so that an F32 file loses nothing. */
static int declare(const struct llama_model *m, const struct adapter_plan *plan, const struct adapter_place *at,
                   struct error *err)
{
    struct param_arenas arenas = { at->host, at->data, plan->optimizer };
    return lora_declare(plan->config, at->params, &arenas, plan->merge ? F32 : m->dtype, at->modules, m->n_modules,
                        err);
}

static int measure_adapter(const struct llama_model *m, const struct adapter_plan *plan, const struct adapter_place *at,
                           size_t *bytes, struct error *err)
{
    struct params measured = { 0 };
    size_t mark = arena_mark(at->host);
    struct arena data;

    arena_measure(&data);
    int rc = declare(m, plan, &(struct adapter_place){ at->modules, at->host, &data, &measured }, err);
    params_release(&measured);
    arena_reset(at->host, mark);
    *bytes = data.peak;
    return rc;
}

static int place_adapter(const struct llama_model *m, const struct adapter_plan *plan, const struct adapter_place *at,
                         struct error *err)
{
    size_t bytes;

    if (!m->dry &&
        (measure_adapter(m, plan, at, &bytes, err) || device_arena(m->device, at->data, bytes + plan->extra, err)))
        return -1;
    return declare(m, plan, at, err);
}

int llama_model_add_adapter(struct llama_model *m, const struct adapter_plan *plan, struct error *err)
{
    struct adapter_place at = { m->modules, &m->host, &m->adapter_data, &m->adapters };
    return place_adapter(m, plan, &at, err);
}

/* Bytes of the matrices that an encoder-decoder multiplies by: all but an embedding table that is not the head. */
static size_t t5_frozen(const struct llama_model *m)
{
    size_t bytes = 0;

    for (int i = 0; i < m->params.n; i++) {
        const struct tensor *w = m->params.list[i].t;
        if (w->ndim == 2 && w->frozen && (w != m->t5.shared || w == m->t5.head))
            bytes += tensor_bytes(w);
    }
    return bytes;
}

size_t llama_model_packed(const struct llama_model *m, bool training)
{
    size_t bytes = m->seq2seq ? t5_frozen(m) : 0;

    for (int i = 0; i < m->n_modules; i++) {
        const struct tensor *w = *m->modules[i].w;
        bytes += w->frozen ? tensor_bytes(w) : 0;
    }
    return m->device->packs[m->dtype] ? bytes * (training ? 2 : 1) : 0;
}

/* Replaces the base's head by a trained one, in the network's type. */
static void put_head(struct llama_model *m)
{
    const struct param *trained = params_find(&m->adapters, "lm_head.weight");

    if (!trained)
        return;
    float *values = xmalloc((size_t)tensor_size(trained->t) * sizeof *values);
    param_download(trained, m->device, values);
    struct param *base = params_find(&m->params, "lm_head.weight");
    param_upload(base, m->device, values);
    m->net.head.w = base->t;
    free(values);
}

int llama_model_merge(struct llama_model *m, const char *adapter, struct error *err)
{
    if (m->net.config.tied && (m->net.head.lora.a || m->lora.full_head))
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: an adapter on lm_head cannot be merged, since the head is tied to the embedding table",
                         adapter);
    if (lora_merge(&m->adapters, m->device, m->modules, m->n_modules, err))
        return -1;
    put_head(m);
    return 0;
}

static int open_adapter(struct llama_model *m, const struct llama_request *q, struct error *err)
{
    struct adapter_plan plan = { .config = &m->lora, .merge = q->merge };

    m->adapter = xstrdup(q->adapter);
    m->merged = q->merge;
    if (lora_config_read(&m->lora, q->adapter, err) || llama_model_add_adapter(m, &plan, err))
        return -1;
    if (q->dry)
        return 0;
    if (lora_load(&m->adapters, m->device, m->modules, m->n_modules, q->adapter, err))
        return -1;
    return q->merge ? llama_model_merge(m, q->adapter, err) : 0;
}

static int init_from(struct llama_model *m, struct device *device, const struct llama_request *q, struct error *err)
{
    struct net_config config = { 0 };
    struct llama_config llama;
    struct t5_config t5;
    enum dtype stored;

    if (q->seq2seq && t5_config_is(q->dir)) {
        if (q->adapter || q->chat_template)
            return error_set(err, EXIT_CODE_DATA, "%s: an encoder-decoder takes neither an adapter nor a chat template",
                             q->dir);
        if (t5_config_read(&t5, q->dir, err))
            return -1;
        config.t5 = &t5;
        stored = t5.dtype;
    } else {
        if (llama_config_read(&llama, q->dir, err))
            return -1;
        config.llama = &llama;
        stored = llama.dtype;
    }
    enum dtype dtype = llama_request_dtype(q, stored);
    return q->dry ? init_dry(m, device, config, dtype, false, err) : init(m, device, config, dtype, false, 0, err);
}

int llama_model_open(struct llama_model *m, struct device *device, const struct llama_request *q, struct error *err)
{
    *m = (struct llama_model){ 0 };
    if (init_from(m, device, q, err))
        return -1;
    if (llama_model_open_text(m, q, err) || (!q->dry && llama_model_load(m, q->dir, err)) ||
        (q->adapter && open_adapter(m, q, err))) {
        llama_model_release(m);
        return -1;
    }
    return 0;
}

/* Copies the network without its adapter; weights are shared. */
static void share_net(const struct llama_model *m, struct llama_adapter *a)
{
    size_t bytes = (size_t)m->net.config.layers * sizeof *m->net.layers;

    a->net = m->net;
    a->net.layers = memcpy(arena_alloc(&a->host, bytes), m->net.layers, bytes);
    llama_modules(&a->net, &a->host, &a->modules);
    for (int i = 0; i < m->n_modules; i++)
        *a->modules[i].lora = (struct lora){ 0 };
}

static int load_other(const struct llama_model *m, struct llama_adapter *a, const char *dir, struct error *err)
{
    struct adapter_plan plan = { .config = &a->config };
    struct adapter_place at = { a->modules, &a->host, &a->data, &a->params };

    if (m->dry)
        arena_measure(&a->data);
    if (lora_config_read(&a->config, dir, err))
        return -1;
    if (a->config.full_head)
        return error_set(
            err, EXIT_CODE_CHECKPOINT,
            "modules_to_save: expected no lm_head in an adapter of single texts; give the adapter with --adapter");
    if (place_adapter(m, &plan, &at, err))
        return -1;
    a->dir = xstrdup(dir);
    return m->dry ? 0 : lora_load(&a->params, m->device, a->modules, m->n_modules, dir, err);
}

static void release_other(const struct llama_model *m, struct llama_adapter *a)
{
    lora_config_release(&a->config);
    params_release(&a->params);
    arena_release(&a->host);
    if (a->data.base && !m->dry)
        device_arena_release(m->device, &a->data);
    free(a->dir);
    *a = (struct llama_adapter){ 0 };
}

/* Tells the model's maps about the newest adapter. */
static void make_known(struct llama_model *m, const struct llama_adapter *a)
{
    for (int i = 0; i < m->n_modules; i++) {
        struct lora *known = m->other_loras + (size_t)i * LORA_OTHERS;
        known[m->n_others] = *a->modules[i].lora;
        m->modules[i].lora->others = known;
        m->modules[i].lora->n_others = m->n_others + 1;
    }
    m->n_others++;
}

static int add_other(struct llama_model *m, const char *dir, struct error *err)
{
    if (m->seq2seq)
        return error_set(err, EXIT_CODE_CHECKPOINT, "an encoder-decoder takes no adapter");
    if (m->merged)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s is merged into the weights and cannot be replaced", m->adapter);
    if (m->lora.full_head)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s has its own lm_head and cannot be replaced", m->adapter);
    if (m->n_others == LORA_OTHERS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at most %d adapters besides that of the command line",
                         LORA_OTHERS);
    if (!m->others) {
        m->others = xcalloc(LORA_OTHERS, sizeof *m->others);
        m->other_loras = xcalloc((size_t)m->n_modules * LORA_OTHERS, sizeof *m->other_loras);
    }
    struct llama_adapter *a = &m->others[m->n_others];
    if (arena_init(&a->host, HOST_BYTES, err))
        return -1;
    share_net(m, a);
    if (dir && load_other(m, a, dir, err)) {
        release_other(m, a);
        return -1;
    }
    make_known(m, a);
    return m->n_others;
}

static bool same_folder(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int llama_model_adapter(struct llama_model *m, const char *dir, struct error *err)
{
    if (same_folder(dir, m->adapter))
        return 0;
    for (int i = 0; i < m->n_others; i++)
        if (same_folder(dir, m->others[i].dir))
            return i + 1;
    return add_other(m, dir, err);
}

const struct llama *llama_model_net(const struct llama_model *m, int adapter)
{
    return adapter ? &m->others[adapter - 1].net : &m->net;
}

size_t llama_model_adapter_bytes(const struct llama_model *m)
{
    size_t bytes = m->adapter_data.peak;

    for (int i = 0; i < m->n_others; i++)
        bytes += m->others[i].data.peak;
    return bytes;
}

void llama_model_release(struct llama_model *m)
{
    for (int i = 0; i < m->n_others; i++)
        release_other(m, &m->others[i]);
    free(m->others);
    free(m->other_loras);
    free(m->adapter);
    tokenizer_close(m->tokenizer);
    chat_release(&m->chat);
    lora_config_release(&m->lora);
    params_release(&m->params);
    params_release(&m->adapters);
    arena_release(&m->host);
    if (m->data.base && !m->dry)
        device_arena_release(m->device, &m->data);
    if (m->adapter_data.base && !m->dry)
        device_arena_release(m->device, &m->adapter_data);
    *m = (struct llama_model){ 0 };
}

#define MAX_TEXT_FILE (INT64_C(1) << 30) /* bytes of a copied file */

/* The tokenizer in all forms that tools read (llama.cpp reads tokenizer.model), and the chat template. */
static const char *const text_files[] = { "tokenizer.json",
                                          "tokenizer_config.json",
                                          "tokenizer.model",
                                          "spiece.model",
                                          "sentencepiece.bpe.model",
                                          "vocab.json",
                                          "vocab.txt",
                                          "merges.txt",
                                          "added_tokens.json",
                                          "special_tokens_map.json",
                                          "chat_template.jinja",
                                          "chat_template.json" };

static const char *const config_files[] = { "config.json", "generation_config.json" };

static int copy_bytes(FILE *in, struct out_file *out, const char *path, struct error *err)
{
    char buffer[1 << 16];
    size_t n;

    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        if (fwrite(buffer, 1, n, out->f) != n)
            return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", out->path, strerror(errno));
    return ferror(in) ? error_set(err, EXIT_CODE_CHECKPOINT, "%s: cannot read: %s", path, strerror(errno)) : 0;
}

/* Copies a file if it exists. */
static int copy_file(const char *from, const char *to, const char *name, struct error *err)
{
    char source[4096], target[4096];
    struct out_file out = { 0 };

    snprintf(source, sizeof source, "%s/%s", from, name);
    snprintf(target, sizeof target, "%s/%s", to, name);
    if (access(source, F_OK) && errno == ENOENT)
        return 0;
    FILE *in = whole_file_open(source, MAX_TEXT_FILE, err);
    if (!in) {
        if (err)
            err->code = EXIT_CODE_CHECKPOINT;
        return -1;
    }
    int rc = out_file_open(&out, target, err);
    if (rc == 0 && (rc = copy_bytes(in, &out, source, err)) == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    fclose(in);
    return rc;
}

static int copy_files(const char *from, const char *to, const char *const *names, int n, struct error *err)
{
    for (int i = 0; i < n; i++)
        if (copy_file(from, to, names[i], err))
            return -1;
    return 0;
}

/* Corrects the copied config.json if it ties a head that is a matrix of its own. */
static int untie_config(const char *dir, struct error *err)
{
    struct llama_config said;
    char *path = path_in(dir, "config.json");
    json_t *config = json_read_file(path, err);
    int rc = config ? llama_config_parse(&said, config, path, err) : -1;

    if (rc == 0 && said.tied) {
        json_object_set_new(config, "tie_word_embeddings", json_false());
        rc = json_write_file(path, config, err);
    }
    json_decref(config);
    free(path);
    return rc;
}

static int copy_config(const struct llama_model *m, const char *from, const char *dir, struct error *err)
{
    if (copy_files(from, dir, config_files, ARRAY_LEN(config_files), err))
        return -1;
    return m->seq2seq || m->net.config.tied ? 0 : untie_config(dir, err);
}

static int write_config(const struct llama_model *m, const char *dir, struct error *err)
{
    return m->seq2seq ? t5_config_write(&m->t5.config, dir, m->dtype, err)
                      : llama_config_write(&m->net.config, dir, m->dtype, err);
}

int llama_folder_save(const struct llama_model *m, const char *from, bool same_config, const char *dir,
                      struct error *err)
{
    if (make_dirs(dir, err) || copy_files(from, dir, text_files, ARRAY_LEN(text_files), err) ||
        (same_config ? copy_config(m, from, dir, err) : write_config(m, dir, err)))
        return -1;
    const struct hf_rules *rules = m->seq2seq ? &hf_t5_rules : &hf_llama_rules;
    return hf_weights_save(&m->params, m->device, dir, rules, m->dtype, err);
}
