#include "train/lm/lm_trainer.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/report.h"
#include "data/base/stop.h"
#include "kernels/batch.h"
#include "models/hf/hf_weights.h"
#include "models/io/model_folder.h"
#include "models/lm/llama_model.h"
#include "models/net/llama.h"
#include "models/net/t5.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the adapter ---- */

enum { MAX_TARGETS = 8 };

static const struct {
    const char *word, *module;
} targets[] = {
    { "q", "q_proj" },       { "k", "k_proj" },   { "v", "v_proj" },       { "o", "o_proj" },
    { "gate", "gate_proj" }, { "up", "up_proj" }, { "down", "down_proj" },
};

static const char *module_of(const char *word, size_t n)
{
    for (int i = 0; i < ARRAY_LEN(targets); i++)
        if (strlen(targets[i].word) == n && !strncmp(word, targets[i].word, n))
            return targets[i].module;
    return NULL;
}

/* Converts "q,v" to module names. Returns their number. */
static int read_targets(const char *text, const char **modules, struct error *err)
{
    int n = 0;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        const char *module = module_of(at, length);
        for (int i = 0; i < n && module; i++)
            if (modules[i] == module)
                module = NULL;
        if (!module)
            return error_set(err, EXIT_CODE_USAGE,
                             "target-modules: expected q, k, v, o, gate, up, down, each once, got '%.*s'",
                             length > 40 ? 40 : (int)length, at);
        modules[n++] = module;
        at += length + (at[length] == ',');
    }
    return n;
}

int lm_lora_config(struct lora_config *c, const struct lm_settings *s, const char *base, struct error *err)
{
    const char *modules[MAX_TARGETS];
    int n = read_targets(s->targets, modules, err);

    if (n < 0)
        return -1;
    if (n == 0 && s->head == HEAD_NONE)
        return error_set(err, EXIT_CODE_USAGE, "target-modules: none, and head: none; there is nothing to train");
    if (s->head == HEAD_LORA)
        modules[n++] = "lm_head";
    lora_config_init(c, (int)s->rank, (float)s->alpha, modules, n);
    c->dropout = (float)s->lora_dropout;
    c->rslora = s->rslora;
    c->full_head = s->head == HEAD_FULL;
    if (base)
        c->base = xstrdup(base);
    return 0;
}

/* Declares the trained adapter on t->model, with `extra` bytes of memory beside it. -1 as lm_lora_config, for a
 * whole head that is tied to the embedding table, and with EXIT_CODE_MEMORY. */
static int add_adapter(struct lm_trainer *t, enum optimizer optimizer, size_t extra, struct error *err)
{
    struct llama_model *m = &t->model;

    if (lm_lora_config(&m->lora, t->set, t->request->base, err))
        return -1;
    if (m->lora.full_head && m->net.config.tied)
        return error_set(err, EXIT_CODE_USAGE,
                         "head: this model's head is its embedding table, expected lora or none, got full");
    struct adapter_plan plan = { .config = &m->lora, .optimizer = optimizer, .extra = extra };
    return llama_model_add_adapter(m, &plan, err);
}

/* ---- a step ---- */

enum { SITES = 1 << 12 /* random ops of a micro-batch, so that each has random numbers of its own */ };

/* Argument of a step_fn: one micro-batch. */
struct micro {
    struct lm_trainer *t;
    int number;
    float scale; /* 1 / target tokens of the whole batch */
    bool update; /* compute gradients too */
    struct tensor *nll;
};

static void run_micro(struct ctx *c, void *arg)
{
    struct micro *m = arg;

    if (m->update) { /* kept on the device, because captured launches may not depend on the micro-batch */
        int32_t first = m->number * SITES;
        struct tensor *site = batch_i32(c, &first, 1);
        RUN(c, set_site, c->rng, site);
    }
    m->nll = lm_batch_nll(c, &m->t->model, 0, &m->t->batch);
    if (!m->update)
        return;
    struct tensor *loss = op_sum(c, m->nll, batch_f32(c, &m->scale, 1, 1, F32));
    tape_backward(c, loss);
    RUN(c, accumulate, ((struct destination){ m->t->run.loss_total, true }), loss);
}

static struct llama_text text_of(const struct lm_data *d, const int *examples, int i)
{
    return lm_data_text(d, examples ? examples[i] : i);
}

/* Tokens of a text after the prefix that it shares with the text before it. */
static int64_t new_tokens(const struct lm_trainer *t, const struct lm_data *d, const int *examples, int i, int from)
{
    struct llama_text text = text_of(d, examples, i);

    if (i == from || !t->set->share_prefix)
        return text.n;
    struct llama_text before = text_of(d, examples, i - 1);
    return text.n - llama_text_common(&before, &text);
}

/* End of the micro-batch that starts with text `from`, which has at least one text. examples NULL: all in order. */
static int end_of_micro(const struct lm_trainer *t, const struct lm_data *d, const int *examples, int from, int n)
{
    int64_t tokens = 0;
    int i = from;

    for (; i < n; i++) {
        tokens += new_tokens(t, d, examples, i, from);
        if (i > from && tokens > t->set->train.tokens)
            break;
    }
    return i;
}

static int fill_micro(struct lm_trainer *t, const struct lm_data *d, const int *examples, int from, int n)
{
    int end = end_of_micro(t, d, examples, from, n), count = end - from;
    struct llama_text *texts = xmalloc((size_t)count * sizeof *texts);

    for (int i = 0; i < count; i++)
        texts[i] = text_of(d, examples, from + i);
    lm_batch_clear(&t->batch);
    lm_batch_add(&t->batch, &t->model, texts, count, t->set->share_prefix);
    free(texts);
    t->micro_tokens = lm_batch_tokens(&t->batch);
    if (t->run.work.ctx.buckets)
        lm_batch_pad(&t->batch, &t->model);
    return end;
}

static int64_t batch_targets(const struct lm_data *d, const int *examples, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += d->items[examples[i]].targets;
    return sum;
}

static int train_batch(void *trainer, struct error *err)
{
    struct lm_trainer *t = trainer;
    struct batch_partition b = run_batch(&t->run);
    struct micro m = { .t = t, .scale = 1.0f / (float)batch_targets(&t->train, b.examples, b.n), .update = true };

    for (int at = b.first; at < b.end; m.number++) {
        at = fill_micro(t, &t->train, b.examples, at, b.end);
        if (workspace_step(&t->run.work, run_micro, &m, err))
            return -1;
        t->run.state.units += t->micro_tokens;
    }
    return 0;
}

/* Sizes of a decoder's batch: tokens, target rows, sequences, sequences with a shared prefix, copied keys. */
static struct extent extent_of(const struct lm_batch *b)
{
    const struct t5_batch *p = &b->pairs;
    struct extent e = { { b->texts.n_tokens, b->texts.n_rows, b->texts.n_seqs } };

    if (p->source.n_seqs)
        return (struct extent){ { p->source.n_tokens, p->answer.n_tokens, p->source.n_seqs } };
    for (int64_t i = 0; i < b->texts.n_seqs; i++)
        e.size[3] += b->texts.prefix[i] >= 0;
    e.size[4] = b->texts.n_copies;
    return e;
}

static void measure_batch(void *trainer, struct measurement *measured)
{
    struct lm_trainer *t = trainer;
    struct micro m = { .t = t, .update = true };
    struct batch_partition b = run_batch(&t->run);

    for (int at = b.first; at < b.end;) {
        at = fill_micro(t, &t->train, b.examples, at, b.end);
        struct extent e = extent_of(&t->batch);
        measurement_add(measured, &e, run_micro, &m);
    }
}

/* Computes prefix_gain. */
static void measure_sharing(struct lm_trainer *t)
{
    struct sampler *s = &t->run.sampler;
    int64_t shared = 0;
    const int *examples;

    for (int64_t batch = 0; batch < sampler_batches(s); batch++) {
        int n = sampler_batch(s, 0, batch, &examples);
        for (int at = 0; at < n; shared += t->micro_tokens)
            at = fill_micro(t, &t->train, examples, at, n);
    }
    t->prefix_gain = (double)t->train.tokens / (double)shared;
    log_info("sharing prefixes: %lld tokens of a pass become %lld, %.2f times fewer", (long long)t->train.tokens,
             (long long)shared, t->prefix_gain);
}

static void add_losses(struct lm_trainer *t, const struct tensor *nll, double *sum)
{
    int64_t n = tensor_size(nll);
    float *values = xmalloc((size_t)n * sizeof *values);

    device_download(&t->run.device, values, nll);
    for (int64_t i = 0; i < n; i++)
        *sum += (double)values[i];
    free(values);
}

/* Mean negative log-likelihood of the validation targets. 1 when a signal asked to stop. */
static int valid_loss(struct lm_trainer *t, double *loss, struct error *err)
{
    struct micro m = { .t = t };
    double sum = 0;

    for (int at = 0; at < t->valid.n;) {
        at = fill_micro(t, &t->valid, NULL, at, t->valid.n);
        if (stop_requested())
            return 1;
        if (workspace_step(&t->run.work, run_micro, &m, err))
            return -1;
        add_losses(t, m.nll, &sum);
    }
    *loss = sum / (double)t->valid.targets;
    return 0;
}

/* ---- opening ---- */

static bool is_full(const struct lm_trainer *t)
{
    return t->set->method == METHOD_FULL;
}

static enum optimizer optimizer_of(const struct lm_trainer *t)
{
    enum optimizer adamw = t->set->moments == MOMENTS_BYTES ? OPTIMIZER_ADAMW_BYTES : OPTIMIZER_ADAMW;

    return run_optimizer(&t->run, t->set->optimizer == LM_ADAFACTOR ? OPTIMIZER_ADAFACTOR : adamw);
}

/* Folder of the tokenizer and, except for a new model, of the weights. */
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

/* -1 with EXIT_CODE_USAGE for settings that contradict each other. */
static int check_request(const struct lm_request *q, struct error *err)
{
    const struct lm_settings *s = &q->settings;

    if (!q->base == !q->tokenizer)
        return error_set(err, EXIT_CODE_USAGE,
                         "expected either --base, a model to start from, or --tokenizer, for one from scratch");
    if (!q->base && s->method != METHOD_FULL)
        return error_set(err, EXIT_CODE_USAGE, "method: expected full for a model from scratch, got lora");
    if (check_select(q, err) || check_moments(q, err))
        return -1;
    int64_t kv_heads = q->seq2seq ? 1 : s->kv_heads;
    if (!q->base && (s->heads % kv_heads || s->hidden % s->heads || s->hidden / s->heads % 8))
        return error_set(err, EXIT_CODE_USAGE,
                         "heads: expected heads of a multiple of 8 channels in equal groups, got %lld of %lld channels "
                         "together in %lld groups",
                         (long long)s->heads, (long long)s->hidden, (long long)kv_heads);
    return 0;
}

/* A new Llama with the tokenizer's vocabulary and tied embeddings. */
static void scratch_llama(struct llama_config *c, const struct lm_settings *s, const struct tokenizer *t)
{
    *c = (struct llama_config){ .kind = LLAMA,
                                .vocab_size = tokenizer_vocab_size(t),
                                .hidden_size = (int)s->hidden,
                                .intermediate_size = (int)s->intermediate,
                                .layers = (int)s->layers,
                                .heads = (int)s->heads,
                                .groups = (int)s->kv_heads,
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

/* A new T5. Its decoder starts with the padding token, or with another one that no text contains. */
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

/* Declares network and adapter; their values are undefined. */
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
    return full ? 0 : add_adapter(t, optimizer_of(t), RUN_BYTES, err);
}

static int read_data(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;
    int64_t positions = q->seq2seq ? INT64_MAX : t->model.net.config.max_positions; /* T5 has relative positions */
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

/* Sets the order of the training data, and data_hash. */
static void set_order(struct lm_trainer *t)
{
    const uint64_t hashes[] = { t->train.hash, t->valid.hash };
    int *all = xmalloc((size_t)t->train.n * sizeof *all);

    for (int i = 0; i < t->train.n; i++)
        all[i] = i;
    sampler_init(&t->run.sampler, (uint64_t)t->request->seed, all, t->train.n, (int)t->set->train.batch);
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

/* Memory beside the steps, and the advice for less of it. */
static void count_memory(struct lm_trainer *t)
{
    struct run *r = &t->run;
    long long tokens = (long long)t->set->train.tokens, longest = (long long)t->train.longest;

    r->copied_bytes = llama_model_packed(&t->model, true);
    r->model_bytes = t->model.data.peak + t->model.adapter_data.peak + r->copied_bytes + t->recall.writer.model_bytes;
    r->recompute = checkpointed(&t->model);
    if (tokens > longest)
        snprintf(r->hint, sizeof r->hint, "--tokens below %lld makes smaller micro-batches", tokens);
    else
        snprintf(r->hint, sizeof r->hint, "--length below %lld leaves the longest texts out", longest);
}

/* Reads the data and measures the memory, without taking any on the device. */
int lm_open(void *trainer, struct error *err)
{
    struct lm_trainer *t = trainer;
    const struct lm_request *q = t->request;
    struct llama_request r = { .dir = start_folder(q), .chat_template = q->chat_template };

    if (read_config(t, err) || declare(t, true, err) || llama_model_open_text(&t->model, &r, err) || read_data(t, err))
        return -1;
    set_order(t);
    if (t->set->share_prefix)
        measure_sharing(t);
    count_memory(t);
    return 0;
}

/* Declares the model again, with memory. The tokenizer moves over. */
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
        if (t->set->initialisation == INITIALISATION_COPY && t->model.seq2seq)
            t5_start_copying(&t->model.t5, t->run.params, &t->run.device);
        else if (t->set->initialisation == INITIALISATION_COPY)
            llama_start_copying(&t->model.net, t->run.params, &t->run.device);
        return 0;
    }
    if (llama_model_load(&t->model, q->base, err) || hf_weights_hash(q->base, &t->base_hash, err))
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
    struct schedule schedule = { .lr = (float)s->train.lr,
                                 .warmup = (int64_t)ceil(s->train.warmup * (double)total),
                                 .total = total,
                                 .form = forms[s->schedule] };

    run_plan(&t->run, schedule, s->train.decay, s->train.clip);
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

/* ---- validation ---- */

enum { BATCH = 64 };

/* Texts of all generated completions. The caller frees them. */
static char **texts_of(struct lm_trainer *t, const struct engine_completion *list)
{
    char **texts = xcalloc((size_t)t->valid.n + 1, sizeof *texts);

    for (int i = 0; i < t->valid.n; i++)
        texts[i] =
            tokenizer_decode(t->model.tokenizer, list[i].out.items, list[i].out.count, TOKENIZER_SKIP_SPECIALS, NULL);
    return texts;
}

/* 1 when a signal asked to stop. */
static int mean_score(struct lm_trainer *t, const struct engine_completion *list, double *share, struct error *err)
{
    char **texts = texts_of(t, list);
    int rc = 0;

    *share = 0;
    if (t->set->select == SELECT_RECALL)
        rc = lm_recall_mean(&t->recall, &t->valid, texts, share, err);
    for (int i = 0; i < t->valid.n; i++) {
        if (t->set->select != SELECT_RECALL)
            *share += (double)lm_judge_correct(&t->judge, t->valid.items[i].record, texts[i]) / t->valid.n;
        free(texts[i]);
    }
    free(texts);
    return rc;
}

static int run_engine(struct lm_trainer *t, struct engine_request *list, struct error *err)
{
    const struct engine_settings set = { .max_new = t->set->max_new,
                                         .answers = 1,
                                         .beams = 1,
                                         .draw = { .top_p = 1, .typical_p = 1 },
                                         .batch = BATCH,
                                         .step_tokens = t->set->train.tokens,
                                         .stop = stop_requested };
    struct engine e;

    engine_init(&e, &t->model, &t->run.work, &set);
    int rc = engine_run(&e, list, t->valid.n, NULL, NULL, err);
    engine_release(&e);
    return rc;
}

/* Generates completions of the validation prompts and scores them by `select`: mean recall, or accuracy. 1 when a
 * signal asked to stop. */
static int valid_completions(struct lm_trainer *t, double *share, struct error *err)
{
    size_t n = (size_t)t->valid.n;
    struct engine_request *list = xcalloc(n + 1, sizeof *list);
    struct engine_completion *answers = xcalloc(n + 1, sizeof *answers);

    for (int i = 0; i < t->valid.n; i++) {
        const struct lm_text *p = &t->valid.items[i].text;
        list[i] = engine_ask(&t->model, p->ids.items, lm_text_prompt_length(p));
        list[i].answers = &answers[i];
    }
    int rc = run_engine(t, list, err);
    if (rc == 0)
        rc = mean_score(t, answers, share, err);
    for (int i = 0; i < t->valid.n; i++)
        engine_completion_release(&answers[i]);
    free(answers);
    free(list);
    return rc;
}

/* ---- report.html ---- */

enum { ROWS = 6, COLUMNS = 2, CELL = 64 };

static void fill_table(const struct lm_trainer *t, char cells[ROWS][COLUMNS][CELL])
{
    const struct lm_data *d = &t->train;
    const struct {
        const char *name;
        long long value;
    } rows[ROWS] = {
        { "records", d->n },
        { "tokens", d->tokens },
        { "tokens to predict", d->targets },
        { "to validate on", t->valid.n },
        { "steps", t->run.state.step },
        { "best step", t->run.state.best_step },
    };

    for (int i = 0; i < ROWS; i++) {
        snprintf(cells[i][0], CELL, "%s", rows[i].name);
        snprintf(cells[i][1], CELL, "%lld", rows[i].value);
    }
}

static void add_table(struct report *r, const struct lm_trainer *t)
{
    static const char *const columns[COLUMNS] = { "what", "number" };
    char cells[ROWS][COLUMNS][CELL];
    const char *list[ROWS * COLUMNS];

    fill_table(t, cells);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        list[i] = cells[i / COLUMNS][i % COLUMNS];
    report_table(r, "the run", columns, COLUMNS, list, ROWS);
}

static void add_curve(struct report *r, const char *metrics, const char *title, const char *name)
{
    struct series s = { 0 };

    if (series_read(&s, metrics, "train", name, NULL) == 0 && s.n) {
        struct curve curve = { .name = name, .x = s.step, .y = s.value, .n = s.n };
        report_curves(r, title, "step", title, &curve, 1);
    }
    series_release(&s);
}

void lm_verdict(char *text, size_t size, const char *metrics, const char *metric, const char *what, int64_t best)
{
    char change[REPORT_CHANGE];
    struct series s = { 0 };
    int k;

    if (series_read(&s, metrics, "train", metric, NULL) || !s.n)
        snprintf(text, size, "The run has no %s.", what);
    else {
        for (k = s.n - 1; k > 0 && (int64_t)s.step[k] != best; k--)
            continue;
        snprintf(text, size, "The %s %s, from step %.0f to step %.0f, which is kept.", what,
                 report_change(change, s.value[0], s.value[k]), s.step[0], s.step[k]);
    }
    series_release(&s);
}

/* The metric that selects the best step, or the training loss without validation. */
static void tell_verdict(const struct lm_trainer *t, const char *metrics, char *text, size_t size)
{
    const char *selected = lm_metrics[t->set->select];
    const struct run_state *state = &t->run.state;
    char what[CELL] = "validation loss";

    if (selected)
        snprintf(what, sizeof what, "validation score %s", selected);
    if (t->valid.n)
        lm_verdict(text, size, metrics, selected ? selected : "valid_loss", what, state->best_step);
    else
        lm_verdict(text, size, metrics, "loss", "loss", state->step);
}

static int write_report(const struct lm_trainer *t, struct error *err)
{
    char path[4096], metrics[4096], verdict[256];
    struct report r;

    snprintf(path, sizeof path, "%s/report.html", t->run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->run.set.out);
    tell_verdict(t, metrics, verdict, sizeof verdict);
    if (report_open(&r, path, t->request->seq2seq ? "sequence-to-sequence model" : "infilling model", verdict, err))
        return -1;
    add_table(&r, t);
    add_curve(&r, metrics, "loss", "loss");
    add_curve(&r, metrics, "validation loss", "valid_loss");
    if (lm_metrics[t->set->select])
        add_curve(&r, metrics, "what it writes", lm_metrics[t->set->select]);
    add_curve(&r, metrics, "norm of the gradient", "grad_norm");
    return report_close(&r, err);
}

/* ---- the trainer ---- */

static int step_metrics(void *trainer, struct metric list[TRAINER_METRICS])
{
    struct lm_trainer *t = trainer;
    float norm;

    device_download(&t->run.device, &norm, t->run.optim.norm);
    list[0] = (struct metric){ "grad_norm", sqrt((double)norm) };
    list[1] = (struct metric){ "tokens", (double)t->run.state.units };
    list[2] = (struct metric){ "prefix_gain", t->prefix_gain };
    return t->set->share_prefix ? 3 : 2;
}

#define TIE 1e-5 /* Equal accuracies are compared by loss. One text in 1,000 makes a far larger difference. */

const char *const lm_metrics[] = {
    [SELECT_LOSS] = NULL,
    [SELECT_RECALL] = "valid_recall",
    [SELECT_TEMPLATE] = "valid_template_match",
    [SELECT_EXACT] = "valid_exact_match",
    [SELECT_EXECUTION] = "valid_execution_match",
};

static int validate(void *trainer, struct validation *v, struct error *err)
{
    struct lm_trainer *t = trainer;
    const char *name = lm_metrics[t->set->select];
    double loss, share = NAN;

    if (!t->valid.n)
        return 0;
    int rc = valid_loss(t, &loss, err);
    if (rc == 0 && name)
        rc = valid_completions(t, &share, err);
    if (rc)
        return rc;
    v->final = true;
    v->list[v->n++] = (struct metric){ "valid_loss", loss };
    v->score = name ? share - TIE * loss : -loss;
    int n = snprintf(v->text, sizeof v->text, "loss %.4f", loss);
    if (name) {
        v->list[v->n++] = (struct metric){ name, share };
        snprintf(v->text + n, sizeof v->text - (size_t)n, ", %s %.4f", name + strlen("valid_"), share);
    }
    return 0;
}

void lm_describe(const void *trainer, json_t *meta)
{
    const struct lm_trainer *t = trainer;
    char hash[20];

    snprintf(hash, sizeof hash, "%016" PRIx64, t->base_hash);
    json_object_set_new(meta, "base", json_string(t->request->base ? t->request->base : "from scratch"));
    json_object_set_new(meta, "base_hash", json_string(hash));
    json_object_set_new(meta, "chat_template",
                        json_string(t->model.chat.template ? chat_name(&t->model.chat) : "none"));
}

/* Weights have the type of computation. */
int lm_write_forms(struct lm_trainer *t, struct error *err)
{
    const struct lm_request *q = t->request;

    if (t->run.params == &t->model.adapters)
        return lora_save(t->run.params, &t->run.device, &t->model.lora, q->out, t->model.dtype, err);
    return llama_folder_save(&t->model, q->base ? q->base : q->tokenizer, q->base != NULL, q->out, err);
}

static int finish(void *trainer, struct error *err)
{
    return write_report(trainer, err) ? -1 : lm_write_forms(trainer, err);
}

static const char *const same[] = { "base_hash", "chat_template", NULL };

/* clang-format off */
#define LANGUAGE_MODEL(kind_) \
    { .kind = (kind_), .part = "micro-batch", .unit = "tokens", .lowest = -HUGE_VAL, .same = same, .open = lm_open, \
      .start = lm_start, .close = lm_close, .step = train_batch, .measure = measure_batch, .metrics = step_metrics, \
      .validate = validate, .describe = lm_describe, .finish = finish }
/* clang-format on */

static const struct trainer decoder = LANGUAGE_MODEL("infill"), encoder_decoder = LANGUAGE_MODEL("seq2seq");

void lm_trainer_init(struct lm_trainer *t, const struct lm_request *q)
{
    *t = (struct lm_trainer){ .request = q, .set = &q->settings };
    t->stage = (struct stage){ "train", "training", q->settings.train.epochs };
    t->run = (struct run){
        .trainer = q->seq2seq ? &encoder_decoder : &decoder, .self = t, .stages = &t->stage, .n_stages = 1
    };
    t->run.set = RUN_SETTINGS(q, q->seq2seq ? seq2seq_request_table : lm_request_table);
}

int lm_train(const struct lm_request *q, struct error *err)
{
    struct lm_trainer t;

    if (check_request(q, err))
        return -1;
    lm_trainer_init(&t, q);
    return run_train(&t.run, err);
}
