#include "models/lm/llama_model.h"

#include "models/hf/hf_weights.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 8 << 20 }; /* headers of parameters */

static int declare_net(struct llama_model *m, const struct llama_config *config, bool training, struct error *err)
{
    if (arena_init(&m->host, HOST_BYTES, err))
        return -1;
    struct param_arenas arenas = { &m->host, &m->data, training };
    llama_init(&m->net, config, m->dtype, !training, &m->params, &arenas);
    m->n_modules = llama_modules(&m->net, &m->host, &m->modules);
    return 0;
}

int llama_model_init_dry(struct llama_model *m, struct device *device, const struct llama_config *config,
                         enum dtype dtype, bool training, struct error *err)
{
    *m = (struct llama_model){ .device = device, .dtype = dtype, .dry = true };
    arena_measure(&m->data);
    arena_measure(&m->adapter_data);
    return declare_net(m, config, training, err);
}

int llama_model_init(struct llama_model *m, struct device *device, const struct llama_config *config, enum dtype dtype,
                     bool training, size_t extra, struct error *err)
{
    struct llama_model measured;

    *m = (struct llama_model){ .device = device, .dtype = dtype };
    if (llama_model_init_dry(&measured, device, config, dtype, training, err))
        return -1;
    size_t bytes = measured.data.peak + extra;
    llama_model_release(&measured);
    if (device->free_memory && bytes > device->free_memory)
        return error_set(err, EXIT_CODE_MEMORY, "the weights need %zu MiB, %s has %zu MiB free", bytes >> 20,
                         device->description, device->free_memory >> 20);
    if (device_arena(device, &m->data, bytes, err) || declare_net(m, config, training, err)) {
        llama_model_release(m);
        return -1;
    }
    llama_upload_constants(&m->net, device);
    return 0;
}

enum dtype llama_request_dtype(const struct llama_request *q, const struct llama_config *config)
{
    if (!q->dtype || !strcmp(q->dtype, "auto"))
        return config->dtype;
    return strcmp(q->dtype, "bf16") ? F32 : BF16;
}

int llama_model_load(struct llama_model *m, const char *dir, struct error *err)
{
    return hf_weights_load(&m->params, m->device, dir, &hf_llama_rules, HF_WHOLE, NULL, err);
}

int llama_model_open_text(struct llama_model *m, const struct llama_request *q, struct error *err)
{
    m->tokenizer = tokenizer_open(q->dir, err);
    if (!m->tokenizer)
        return -1;
    if (tokenizer_vocab_size(m->tokenizer) > m->net.config.vocab_size)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: the tokenizer has ids up to %d, the model %d embeddings",
                         q->dir, tokenizer_vocab_size(m->tokenizer) - 1, m->net.config.vocab_size);
    if (chat_open(&m->chat, q->dir, q->chat_template, m->tokenizer, q->chat_template ? err : NULL)) {
        m->chat.template = NULL;
        return q->chat_template ? -1 : 0;
    }
    return 0;
}

/* To merge a file of F32 without loss, the adapter is F32 whatever the network is. */
static int declare(struct llama_model *m, const struct adapter_plan *plan, struct arena *data, struct params *p,
                   struct error *err)
{
    struct param_arenas arenas = { &m->host, data, plan->training };
    return lora_declare(plan->config, p, &arenas, plan->merge ? F32 : m->dtype, m->modules, m->n_modules, err);
}

static int measure_adapter(struct llama_model *m, const struct adapter_plan *plan, size_t *bytes, struct error *err)
{
    struct params measured = { 0 };
    size_t mark = arena_mark(&m->host);
    struct arena data;

    arena_measure(&data);
    int rc = declare(m, plan, &data, &measured, err);
    params_release(&measured);
    arena_reset(&m->host, mark);
    *bytes = data.peak;
    return rc;
}

int llama_model_add_adapter(struct llama_model *m, const struct adapter_plan *plan, struct error *err)
{
    size_t bytes;

    if (!m->dry &&
        (measure_adapter(m, plan, &bytes, err) || device_arena(m->device, &m->adapter_data, bytes + plan->extra, err)))
        return -1;
    return declare(m, plan, &m->adapter_data, &m->adapters, err);
}

size_t llama_model_packed(const struct llama_model *m, bool training)
{
    size_t bytes = 0;

    for (int i = 0; i < m->n_modules; i++) {
        const struct tensor *w = *m->modules[i].w;
        bytes += w->frozen ? tensor_bytes(w) : 0;
    }
    return m->device->packs[m->dtype] ? bytes * (training ? 2 : 1) : 0;
}

/* A trained head takes the place of the base's, in whose type the network computes. */
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
                         "%s: is on lm_head, which is this model's embedding table: it cannot be merged", adapter);
    if (lora_merge(&m->adapters, m->device, m->modules, m->n_modules, err))
        return -1;
    put_head(m);
    return 0;
}

static int open_adapter(struct llama_model *m, const struct llama_request *q, struct error *err)
{
    struct adapter_plan plan = { .config = &m->lora, .merge = q->merge };

    if (lora_config_read(&m->lora, q->adapter, err) || llama_model_add_adapter(m, &plan, err))
        return -1;
    if (q->dry)
        return 0;
    if (lora_load(&m->adapters, m->device, m->modules, m->n_modules, q->adapter, err))
        return -1;
    return q->merge ? llama_model_merge(m, q->adapter, err) : 0;
}

int llama_model_open(struct llama_model *m, struct device *device, const struct llama_request *q, struct error *err)
{
    struct llama_config config;

    *m = (struct llama_model){ 0 };
    if (llama_config_read(&config, q->dir, err))
        return -1;
    enum dtype dtype = llama_request_dtype(q, &config);
    if (q->dry ? llama_model_init_dry(m, device, &config, dtype, false, err)
               : llama_model_init(m, device, &config, dtype, false, 0, err))
        return -1;
    if (llama_model_open_text(m, q, err) || (!q->dry && llama_model_load(m, q->dir, err)) ||
        (q->adapter && open_adapter(m, q, err))) {
        llama_model_release(m);
        return -1;
    }
    return 0;
}

void llama_model_release(struct llama_model *m)
{
    tokenizer_close(m->tokenizer);
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
