/* Part of lm_trainer.h: model, adapter and data, before the first step. */
#include "data/util/json.h"
#include "data/util/log.h"
#include "models/hf/base_hash.h"
#include "train/lm/lm_adapter.h"
#include "train/lm/lm_trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_full(const struct lm_trainer *t)
{
    return t->set->method == METHOD_FULL;
}

static enum optimizer optimizer_of(const struct lm_trainer *t)
{
    return t->set->optimizer == LM_ADAFACTOR ? OPTIMIZER_ADAFACTOR : OPTIMIZER_ADAMW;
}

/* The folder whose tokenizer, and but for a model from scratch weights, the run starts with. */
static const char *start_folder(const struct lm_request *q)
{
    return q->base ? q->base : q->tokenizer;
}

int lm_check_request(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (!q->base == !q->tokenizer)
        return error_set(err, EXIT_CODE_USAGE,
                         "expected either --base, a model to start from, or --tokenizer, for one from scratch");
    if (!q->base && s->method != METHOD_FULL)
        return error_set(err, EXIT_CODE_USAGE, "method: expected full for a model from scratch, got lora");
    if (s->select == SELECT_RECALL && !q->valid)
        return error_set(err, EXIT_CODE_USAGE, "select: recall: expected --valid");
    if (!q->base && (s->heads % s->groups || s->hidden % s->heads || s->hidden / s->heads % 8))
        return error_set(err, EXIT_CODE_USAGE,
                         "heads: expected heads of a multiple of 8 channels in equal groups, got %lld of %lld channels "
                         "together in %lld groups",
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
static int declare(struct lm_trainer *t, bool dry, struct error *err)
{
    const struct llama_config *config = &t->config;
    const struct lm_request *q = t->request;
    struct llama_request r = { .dir = start_folder(q), .dtype = t->set->compute };
    enum dtype dtype = llama_request_dtype(&r, config->dtype);
    bool full = is_full(t);
    enum optimizer optimizer = full ? optimizer_of(t) : OPTIMIZER_NONE;

    if (dry ? llama_model_init_dry(&t->model, &t->run.device, config, dtype, optimizer, err)
            : llama_model_init(&t->model, &t->run.device, config, dtype, optimizer, full ? RUN_BYTES : 0, err))
        return -1;
    t->model.net.neftune = (float)t->set->neftune;
    t->run.params = full ? &t->model.params : &t->model.adapters;
    return full ? 0 : lm_add_adapter(t, optimizer_of(t), RUN_BYTES, err);
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
    return 0;
}

/* The order of the training data, and all that makes up data_hash. */
static void set_order(struct lm_trainer *t)
{
    const uint64_t hashes[] = { t->train.hash, t->valid.hash };
    int *all = xmalloc((size_t)t->train.n * sizeof *all);

    for (int i = 0; i < t->train.n; i++)
        all[i] = i;
    sampler_init(&t->run.sampler, (uint64_t)t->request->seed, all, t->train.n, (int)t->set->batch);
    if (t->set->share_prefix)
        t->run.sampler.length = t->train.beginnings;
    else if (t->set->group_by_length)
        t->run.sampler.length = t->train.lengths;
    t->run.data_hash = hash_bytes(HASH_START, hashes, sizeof hashes);
    free(all);
}

/* What the estimate needs beside the steps. */
static void count_memory(struct lm_trainer *t)
{
    struct run *r = &t->run;
    long long tokens = (long long)t->set->tokens, longest = (long long)t->train.longest;

    r->copied_bytes = llama_model_packed(&t->model, true);
    r->model_bytes = t->model.data.peak + t->model.adapter_data.peak + r->copied_bytes;
    r->recompute = &t->model.net.checkpointed;
    if (tokens > longest)
        snprintf(r->hint, sizeof r->hint, "--tokens below %lld makes smaller micro-batches", tokens);
    else
        snprintf(r->hint, sizeof r->hint, "--length below %lld leaves the longest texts out", longest);
}

/* Without taking memory: reads the data and learns how much is needed. */
int lm_open(void *trainer, struct error *err)
{
    struct lm_trainer *t = trainer;
    const struct lm_request *q = t->request;
    struct llama_request r = { .dir = start_folder(q), .chat_template = q->chat_template };

    if ((q->base ? llama_config_read(&t->config, q->base, err) : scratch_config(&t->config, q, err)) ||
        declare(t, true, err) || llama_model_open_text(&t->model, &r, err) || read_data(t, err))
        return -1;
    set_order(t);
    count_memory(t);
    return 0;
}

/* The model with memory; the tokenizer moves over. */
static int declare_again(struct lm_trainer *t, struct error *err)
{
    struct llama_model dry = t->model;
    bool checkpointed = dry.net.checkpointed;

    t->model = (struct llama_model){ 0 };
    int rc = declare(t, false, err);
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
    struct param_arenas arenas = { &t->model.host, data, optimizer_of(t) };

    if (run_take(&t->run, &arenas, err))
        return -1;
    params_init(t->run.params, &t->run.device, (uint64_t)q->seed);
    if (!q->base)
        return 0;
    if (llama_model_load(&t->model, q->base, err) || base_hash(q->base, &t->base_hash, err))
        return -1;
    return is_full(t) ? 0
                      : lora_init_values(t->run.params, &t->run.device, t->model.modules, t->model.n_modules,
                                         (uint64_t)q->seed, err);
}

static void plan_steps(struct lm_trainer *t)
{
    const struct lm_settings *s = t->set;
    static const enum schedule_form forms[] = { SCHEDULE_COSINE, SCHEDULE_LINEAR, SCHEDULE_CONSTANT };
    int64_t total = run_stage_steps(&t->run);
    struct schedule schedule = { .lr = (float)s->lr,
                                 .warmup = (int64_t)ceil(s->warmup * (double)total),
                                 .total = total,
                                 .form = forms[s->schedule] };

    run_plan(&t->run, schedule, s->decay, s->clip);
}

int lm_start(void *trainer, struct error *err)
{
    struct lm_trainer *t = trainer;

    if (declare_again(t, err) || fill_weights(t, err))
        return -1;
    workspace_seed(&t->run.work, t->run.set.seed, 0);
    plan_steps(t);
    return 0;
}

void lm_close(void *trainer)
{
    struct lm_trainer *t = trainer;

    llama_batch_release(&t->batch);
    lm_data_release(&t->train);
    lm_data_release(&t->valid);
    llama_model_release(&t->model);
}
