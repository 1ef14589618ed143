#include "data/util/json.h"
#include "data/util/log.h"
#include "models/hf/base_hash.h"
#include "train/lm/lm_adapter.h"
#include "train/lm/lm_trainer.h"

#include <math.h>
#include <string.h>

enum { HOST_BYTES = 256 << 20, EXTRA = 4096 /* the training state that shares the adapter's memory */ };

static bool is_full(const struct lm_trainer *t)
{
    return !strcmp(t->set->method, "full");
}

/* The folder whose tokenizer, and but for a model from scratch weights, the run starts with. */
static const char *start_folder(const struct lm_request *q)
{
    return q->base ? q->base : q->tokenizer;
}

static int check_request(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (!q->base == !q->tokenizer)
        return error_set(err, EXIT_CODE_USAGE,
                         "either --base, a model to start from, or --tokenizer, for one from "
                         "scratch, is wanted");
    if (!q->base && strcmp(s->method, "full"))
        return error_set(err, EXIT_CODE_USAGE, "method: %s, a model from scratch wants full", s->method);
    if (!strcmp(s->select, "recall") && !q->valid)
        return error_set(err, EXIT_CODE_USAGE, "select: recall wants --valid");
    if (!q->base && (s->heads % s->groups || s->hidden % s->heads || s->hidden / s->heads % 8))
        return error_set(err, EXIT_CODE_USAGE,
                         "heads: %lld of %lld channels in %lld groups, heads of a multiple of 8 channels and equal "
                         "groups wanted",
                         (long long)s->heads, (long long)s->hidden, (long long)s->groups);
    return 0;
}

/* A Llama of the request's sizes over the tokenizer's vocabulary, embeddings and head tied. */
static int scratch_config(struct llama_config *c, const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;
    struct tokenizer *t = tokenizer_open(q->tokenizer, err);

    if (!t)
        return -1;
    *c = (struct llama_config){ .kind = LLAMA,
                                .vocab_size = tokenizer_vocab_size(t),
                                .hidden_size = (int)s->hidden,
                                .intermediate_size = (int)s->intermediate,
                                .layers = (int)s->layers,
                                .heads = (int)s->heads,
                                .groups = (int)s->groups,
                                .head_dim = (int)(s->hidden / s->heads),
                                .max_positions = (int)s->positions,
                                .rms_norm_eps = 1e-5f,
                                .initializer_range = 0.02f,
                                .tied = true,
                                .rope = { .theta = 10000 },
                                .dtype = F32 };
    int32_t eos = tokenizer_special(t, SPECIAL_EOS);
    if (eos >= 0)
        c->stops[c->n_stops++] = eos;
    tokenizer_close(t);
    return 0;
}

/* The network and its adapter, their values undefined yet. */
static int declare(struct lm_trainer *t, const struct llama_config *config, bool dry, struct error *err)
{
    const struct lm_request *q = t->request;
    struct llama_request r = { .dir = start_folder(q), .dtype = t->set->compute };
    enum dtype dtype = llama_request_dtype(&r, config);
    bool full = is_full(t);

    if (dry ? llama_model_init_dry(&t->model, &t->device, config, dtype, full, err)
            : llama_model_init(&t->model, &t->device, config, dtype, full, full ? EXTRA : 0, err))
        return -1;
    t->model.net.neftune = (float)t->set->neftune;
    t->trained = full ? &t->model.params : &t->model.adapters;
    return full ? 0 : lm_add_adapter(t, EXTRA, err);
}

static int read_data(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;
    int64_t positions = t->model.net.config.max_positions;
    int64_t length = t->set->length < positions ? t->set->length : positions;

    if (lm_data_read(&t->train, q->data, &t->model, length, false, err) ||
        (q->valid && lm_data_read(&t->valid, q->valid, &t->model, length, true, err)))
        return -1;
    if (t->set->max_valid)
        lm_data_cut(&t->valid, t->set->max_valid);
    log_info("%d conversations of %lld tokens, %lld of them to predict; %d to validate on", t->train.n,
             (long long)t->train.tokens, (long long)t->train.targets, t->valid.n);
    lm_data_show(&t->train, t->model.tokenizer, q->show_samples);
    lm_sampler(t);
    return 0;
}

static int refuse_memory(const struct lm_trainer *t, size_t need, struct error *err)
{
    const struct lm_data *d = &t->train;

    if (t->set->tokens > d->longest)
        return error_set(err, EXIT_CODE_MEMORY,
                         "%zu MiB are needed, %s has %zu MiB free: --tokens below %lld makes smaller micro-batches",
                         need >> 20, t->device.description, t->device.free_memory >> 20, (long long)t->set->tokens);
    return error_set(err, EXIT_CODE_MEMORY,
                     "%zu MiB are needed, %s has %zu MiB free: --length below %lld leaves the longest texts out",
                     need >> 20, t->device.description, t->device.free_memory >> 20, (long long)d->longest);
}

/* Prints what is needed; where it is too much, blocks keep their output only and are computed again in the backward,
 * which changes no number; where even that is too much the run is refused. */
static int fit(struct lm_trainer *t, struct error *err)
{
    size_t packed = llama_model_packed(&t->model, true);
    size_t model = t->model.data.peak + t->model.adapter_data.peak + packed;
    size_t total = t->device.free_memory, step = lm_measure(t);

    if (total && model + step > total) {
        log_info("memory: %zu MiB for a micro-batch are too many, so blocks are computed twice", step >> 20);
        t->model.net.checkpointed = true;
        step = lm_measure(t);
    }
    log_info("memory: %zu MiB of weights, gradients and moments, %zu MiB for a micro-batch, %zu MiB in all, on %s",
             model >> 20, step >> 20, (model + step) >> 20, t->device.description);
    if (packed)
        log_info("memory: %zu MiB of these are copies of frozen weights in the layouts that products read",
                 packed >> 20);
    t->step_bytes = step;
    if (!total || model + step <= total || t->request->dry_run)
        return 0;
    return refuse_memory(t, model + step, err);
}

/* Once without taking memory, to read the data and to learn how much is needed. */
static int open_dry(struct lm_trainer *t, const struct llama_config *config, struct error *err)
{
    const struct lm_request *q = t->request;
    struct llama_request r = { .dir = start_folder(q), .chat_template = q->chat_template };

    if (declare(t, config, true, err) || llama_model_open_text(&t->model, &r, err) || read_data(t, err))
        return -1;
    return fit(t, err);
}

/* The same with memory; the tokenizer moves over. */
static int open_real(struct lm_trainer *t, const struct llama_config *config, struct error *err)
{
    struct llama_model dry = t->model;
    bool checkpointed = dry.net.checkpointed;

    t->model = (struct llama_model){ 0 };
    int rc = declare(t, config, false, err);
    if (rc == 0) {
        t->model.tokenizer = dry.tokenizer;
        t->model.chat = dry.chat;
        t->model.net.checkpointed = checkpointed;
        dry.tokenizer = NULL;
    }
    llama_model_release(&dry);
    return rc;
}

static int fill_weights(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;
    struct arena *data = is_full(t) ? &t->model.data : &t->model.adapter_data;
    struct param_arenas arenas = { &t->model.host, data, true };

    optim_init(&t->optim, &arenas);
    t->loss_total = tensor_alloc(&t->model.host, data, F32, 1, (int64_t[]){ 1 });
    device_upload(&t->device, t->loss_total, &(float){ 0 });
    params_init(t->trained, &t->device, (uint64_t)q->seed);
    if (!q->base)
        return 0;
    if (llama_model_load(&t->model, q->base, err) || base_hash(q->base, &t->base_hash, err))
        return -1;
    return is_full(t)
               ? 0
               : lora_init_values(t->trained, &t->device, t->model.modules, t->model.n_modules, (uint64_t)q->seed, err);
}

static void plan_steps(struct lm_trainer *t)
{
    const struct lm_settings *s = t->set;
    int64_t total = lm_batches(t) * s->epochs;

    t->optim.schedule = (struct schedule){ .lr = (float)s->lr,
                                           .warmup = (int64_t)ceil(s->warmup * (double)total),
                                           .total = total,
                                           .cosine = !strcmp(s->schedule, "cosine") };
    t->optim.adamw = (struct adamw){
        .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = (float)s->decay, .lr_scale = 1, .clip = (float)s->clip
    };
}

int lm_open(struct lm_trainer *t, const struct lm_request *q, struct error *err)
{
    struct llama_config config;

    *t = (struct lm_trainer){ .request = q, .set = &q->settings, .saved_step = -1 };
    t->state.best = -HUGE_VAL;
    if (check_request(q, err) || device_open(&t->device, q->device, err) ||
        workspace_init(&t->work, &t->device, HOST_BYTES, err) ||
        (q->base ? llama_config_read(&config, q->base, err) : scratch_config(&config, q, err)) ||
        open_dry(t, &config, err))
        return -1;
    if (q->dry_run)
        return 0;
    if (open_real(t, &config, err) || fill_weights(t, err) || workspace_reserve(&t->work, t->step_bytes, err))
        return -1;
    workspace_seed(&t->work, (uint64_t)q->seed, 0);
    plan_steps(t);
    return 0;
}

void lm_close(struct lm_trainer *t)
{
    metrics_log_close(&t->metrics);
    sampler_release(&t->sampler);
    llama_batch_release(&t->batch);
    lm_data_release(&t->train);
    lm_data_release(&t->valid);
    llama_model_release(&t->model);
    if (t->work.device)
        workspace_release(&t->work);
    if (t->device.driver)
        device_close(&t->device);
}
