/* Part of lm_trainer.h: model, adapter and data, before the first step. */
#include "data/util/json.h"
#include "data/util/log.h"
#include "models/checkpoint/model_folder.h"
#include "models/hf/hf_weights.h"
#include "models/net/llama_start.h"
#include "models/net/t5_start.h"
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
    enum optimizer adamw = t->set->moments == MOMENTS_BYTES ? OPTIMIZER_ADAMW_BYTES : OPTIMIZER_ADAMW;

    return run_optimizer(&t->run, t->set->optimizer == LM_ADAFACTOR ? OPTIMIZER_ADAFACTOR : adamw);
}

/* The folder whose tokenizer, and but for a model from scratch weights, the run starts with. */
static const char *start_folder(const struct lm_request *q)
{
    return q->base ? q->base : q->tokenizer;
}

static int check_select(const struct lm_request *q, struct error *err)
{
    static const char *const names[] = { "loss", "recall", "template", "exact-match", "execution" };
    enum lm_select select = q->settings.select;

    if (select != SELECT_LOSS && !q->valid)
        return error_set(err, EXIT_CODE_USAGE, "select: %s: expected --valid", names[select]);
    if (select == SELECT_EXACT && !q->schema)
        return error_set(err, EXIT_CODE_USAGE, "select: exact-match: expected --schema");
    if ((select == SELECT_EXECUTION || select == SELECT_RECALL) && !q->db)
        return error_set(err, EXIT_CODE_USAGE, "select: %s: expected --db", names[select]);
    if (select == SELECT_RECALL && !q->sqls && !q->sql_model)
        return error_set(err, EXIT_CODE_USAGE,
                         "select: recall: expected --sqls, the SQL of readings, or --sql-model, which writes it");
    if (select != SELECT_RECALL && (q->sqls || q->sql_model))
        return error_set(err, EXIT_CODE_USAGE, "--%s: expected select: recall, got %s", q->sqls ? "sqls" : "sql-model",
                         names[select]);
    return 0;
}

static int check_moments(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (s->moments == MOMENTS_F32)
        return 0;
    if (s->optimizer != LM_ADAMW)
        return error_set(err, EXIT_CODE_USAGE, "moments: 8bit: expected --optimizer adamw, got adafactor");
    if (q->shard_optimizer)
        return error_set(err, EXIT_CODE_USAGE, "moments: 8bit: expected no --shard-optimizer, which cuts f32 alone");
    return 0;
}

int lm_check_request(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (!q->base == !q->tokenizer)
        return error_set(err, EXIT_CODE_USAGE,
                         "expected either --base, a model to start from, or --tokenizer, for one from scratch");
    if (!q->base && s->method != METHOD_FULL)
        return error_set(err, EXIT_CODE_USAGE, "method: expected full for a model from scratch, got lora");
    if (check_select(q, err) || check_moments(q, err))
        return -1;
    int64_t groups = q->seq2seq ? 1 : s->groups;
    if (!q->base && (s->heads % groups || s->hidden % s->heads || s->hidden / s->heads % 8))
        return error_set(err, EXIT_CODE_USAGE,
                         "heads: expected heads of a multiple of 8 channels in equal groups, got %lld of %lld channels "
                         "together in %lld groups",
                         (long long)s->heads, (long long)s->hidden, (long long)groups);
    return 0;
}

/* A Llama of the request's sizes over the tokenizer's vocabulary, embeddings and head tied. */
static void scratch_llama(struct llama_config *c, const struct lm_settings *s, const struct tokenizer *t)
{
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
}

/* A T5 likewise.  Answers begin with the token of padding, as T5's do, or another that no text has. */
static int scratch_t5(struct t5_config *c, const struct lm_settings *s, const struct tokenizer *t, const char *dir,
                      struct error *err)
{
    int32_t eos = tokenizer_special(t, SPECIAL_EOS), pad = tokenizer_special(t, SPECIAL_PAD);
    int32_t bos = tokenizer_special(t, SPECIAL_BOS);

    if (eos < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: names no token that ends a text", dir);
    *c = (struct t5_config){ .vocab_size = tokenizer_vocab_size(t),
                             .d_model = (int)s->hidden,
                             .d_kv = (int)(s->hidden / s->heads),
                             .d_ff = (int)s->intermediate,
                             .encoder_layers = (int)s->layers,
                             .decoder_layers = (int)s->layers,
                             .heads = (int)s->heads,
                             .buckets = 32,
                             .max_distance = 128,
                             .gated = s->feed_forward == FEED_GATED_GELU,
                             .scaled = true,
                             .tied = true,
                             .layer_norm_eps = 1e-6f,
                             .dropout = (float)s->dropout,
                             .initializer_factor = 1,
                             .dtype = F32,
                             .start = pad >= 0   ? pad
                                      : bos >= 0 ? bos
                                                 : eos,
                             .stops = { eos },
                             .n_stops = 1 };
    return 0;
}

static int scratch_config(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;
    struct tokenizer *words = tokenizer_open(q->tokenizer, err);
    int rc = 0;

    if (!words)
        return model_folder_explain(q->tokenizer, "tokenizer.json", err);
    if (q->seq2seq)
        rc = scratch_t5(&t->t5_config, t->set, words, q->tokenizer, err);
    else
        scratch_llama(&t->config, t->set, words);
    tokenizer_close(words);
    return rc;
}

static int read_config(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;

    if (!q->base)
        return scratch_config(t, err);
    return q->seq2seq ? t5_config_read(&t->t5_config, q->base, err) : llama_config_read(&t->config, q->base, err);
}

static int declare_t5(struct lm_trainer *t, bool dry, enum dtype dtype, struct error *err)
{
    struct device *d = &t->run.device;

    t->run.params = &t->model.params;
    return dry ? t5_model_init_dry(&t->model, d, &t->t5_config, dtype, optimizer_of(t), err)
               : t5_model_init(&t->model, d, &t->t5_config, dtype, optimizer_of(t), RUN_BYTES, err);
}

/* The network and its adapter, their values undefined yet. */
static int declare(struct lm_trainer *t, bool dry, struct error *err)
{
    const struct llama_config *config = &t->config;
    const struct lm_request *q = t->request;
    struct llama_request r = { .dir = start_folder(q), .dtype = t->set->compute };
    enum dtype dtype = llama_request_dtype(&r, q->seq2seq ? t->t5_config.dtype : config->dtype);
    bool full = is_full(t);
    enum optimizer optimizer = full ? optimizer_of(t) : OPTIMIZER_NONE;

    if (q->seq2seq)
        return declare_t5(t, dry, dtype, err);
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
    int64_t positions = q->seq2seq ? INT64_MAX : t->model.net.config.max_positions; /* T5's are relative */
    int64_t length = t->set->length < positions ? t->set->length : positions;

    if (lm_data_read(&t->train, q->data, &t->model, length, t->keep_records, err) ||
        (q->valid && lm_data_read(&t->valid, q->valid, &t->model, length, true, err)))
        return -1;
    if (t->set->max_valid)
        lm_data_cut(&t->valid, t->set->max_valid);
    log_info("%d records of %lld tokens, %lld of them to predict; %d to validate on", t->train.n,
             (long long)t->train.tokens, (long long)t->train.targets, t->valid.n);
    lm_data_show(&t->train, t->model.tokenizer, q->show_samples);
    if (t->set->select == SELECT_RECALL)
        return lm_recall_open(&t->recall, q, &t->valid, &t->run.device, err);
    return lm_judge_open(&t->judge, q, &t->valid, err);
}

/* The order of the training data, and all that makes up data_hash. */
static void set_order(struct lm_trainer *t)
{
    const uint64_t hashes[] = { t->train.hash, t->valid.hash };
    int *all = xmalloc((size_t)t->train.n * sizeof *all);

    for (int i = 0; i < t->train.n; i++)
        all[i] = i;
    sampler_init(&t->run.sampler, (uint64_t)t->request->seed, all, t->train.n, (int)t->set->batch);
    if (t->set->share_prefix) {
        lm_data_sort(&t->train);
        t->run.sampler.prefixes = &t->train.prefixes;
    } else if (t->set->group_by_length)
        t->run.sampler.length = t->train.lengths;
    t->run.sampler.tokens = t->train.lengths;
    t->run.data_hash = hash_bytes(HASH_START, hashes, sizeof hashes);
    free(all);
}

static bool *checkpointed(struct llama_model *m)
{
    return m->seq2seq ? &m->t5.checkpointed : &m->net.checkpointed;
}

/* What the estimate needs beside the steps. */
static void count_memory(struct lm_trainer *t)
{
    struct run *r = &t->run;
    long long tokens = (long long)t->set->tokens, longest = (long long)t->train.longest;

    r->copied_bytes = llama_model_packed(&t->model, true);
    r->model_bytes = t->model.data.peak + t->model.adapter_data.peak + r->copied_bytes + t->recall.model_bytes;
    r->recompute = checkpointed(&t->model);
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

    if (read_config(t, err) || declare(t, true, err) || llama_model_open_text(&t->model, &r, err) || read_data(t, err))
        return -1;
    set_order(t);
    if (t->set->share_prefix)
        lm_foretell(t);
    count_memory(t);
    return 0;
}

/* The model with memory; the tokenizer moves over. */
static int declare_again(struct lm_trainer *t, struct error *err)
{
    struct llama_model dry = t->model;

    t->model = (struct llama_model){ 0 };
    int rc = declare(t, false, err);
    if (rc == 0) {
        t->model.tokenizer = dry.tokenizer;
        t->model.chat = dry.chat;
        t->model.eos = dry.eos;
        *checkpointed(&t->model) = *checkpointed(&dry);
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
    if (!q->base) {
        if (t->set->start == START_COPYING && t->model.seq2seq)
            t5_start_copying(&t->model.t5, t->run.params, &t->run.device);
        else if (t->set->start == START_COPYING)
            llama_start_copying(&t->model.net, t->run.params, &t->run.device);
        return 0;
    }
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

    if (declare_again(t, err) || fill_weights(t, err) || lm_recall_start(&t->recall, &t->run.device, err))
        return -1;
    workspace_seed(&t->run.work, t->run.set.seed, 0);
    plan_steps(t);
    return 0;
}

void lm_close(void *trainer)
{
    struct lm_trainer *t = trainer;

    lm_batch_release(&t->batch);
    lm_judge_release(&t->judge);
    lm_recall_release(&t->recall);
    lm_data_release(&t->train);
    lm_data_release(&t->valid);
    llama_model_release(&t->model);
}
