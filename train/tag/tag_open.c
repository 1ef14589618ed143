/* Part of tag_trainer.h: data, model and encoder, before the first step; the order of examples. */
#include "data/util/log.h"
#include "kernels/rng.h"
#include "models/checkpoint/model_folder.h"
#include "models/hf/hf_weights.h"
#include "train/tag/tag_trainer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dte_spec spec_of(const struct tag_settings *s, const struct bert_config *bert)
{
    return (struct dte_spec){
        .config = { .bert = *bert, .hidden = (int)s->hidden, .compat = s->compat, .dropout = (float)s->dropout },
        .dtype = s->compute == TAG_BF16 ? BF16 : F32,
        .temperature = 1
    };
}

/* A vocabulary learnt from the training questions, their columns and values. */
static struct tokenizer *scratch_encoder(const struct tag_trainer *t, struct bert_config *bert, struct error *err)
{
    const struct span_record_list *train = &t->data.folds[FOLD_TRAIN].records;
    const char **texts = NULL;
    int n = 0, cap = 0;

    for (int i = 0; i < train->n; i++) {
        const struct span_record *r = &train->items[i];
        GROW(texts, n, cap);
        texts[n++] = r->question;
        for (int k = 0; k < r->n_columns; k++) {
            GROW(texts, n, cap);
            texts[n++] = r->columns[k].name;
        }
    }
    struct tokenizer *tokenizer = encoder_from_scratch(&t->set->scratch, texts, n, DTE_UNUSED, bert, err);
    free(texts);
    return tokenizer;
}

static int new_model(struct tag_trainer *t, struct error *err)
{
    const struct tag_training *q = t->request;
    struct bert_config bert;
    struct tokenizer *tokenizer =
        q->encoder ? encoder_from_folder(q->encoder, 1, &bert, err) : scratch_encoder(t, &bert, err);
    int kept = 0;

    if (!tokenizer)
        return -1;
    if (bert.kind != CLASSIC_BERT) {
        tokenizer_close(tokenizer);
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: config.json: model_type: expected \"bert\", which a tagger reads by", q->encoder);
    }
    struct dte_spec spec = spec_of(t->set, &bert);
    if (dte_model_init(&t->model, &t->run.device, &spec, run_optimizer(&t->run, OPTIMIZER_ADAMW), tokenizer, err))
        return -1;
    params_init(&t->model.params, &t->run.device, t->run.set.seed);
    if (!q->encoder)
        return 0;
    return hf_weights_load(&t->model.params, &t->run.device, q->encoder, &hf_bert_rules, HF_ENCODER, &kept, err);
}

/* The tagger of --from, whose own sizes go before those of the settings. */
static int trained_model(void *trainer, const struct model_file *f, struct device *device, struct error *err)
{
    struct tag_trainer *t = trainer;
    struct dte_spec spec;

    if (dte_spec_from_json(f->model, &spec, f->reader.path, err))
        return -1;
    struct tokenizer *tokenizer = tokenizer_open_encoder(f->dir, spec.config.bert.vocab_size, err);
    if (!tokenizer || dte_model_init(&t->model, device, &spec, run_optimizer(&t->run, OPTIMIZER_ADAMW), tokenizer, err))
        return -1;
    params_init(&t->model.params, device, t->run.set.seed);
    struct params weights = params_without_state(&t->model.params);
    int rc = model_file_load(f, &weights, device, err);
    params_release(&weights);
    return rc ? -1 : tag_data_replay(&t->data, f->dir, (int)t->set->replay, err);
}

static int open_model(struct tag_trainer *t, struct error *err)
{
    struct run *r = &t->run;
    const char *from = t->request->from;

    if (from ? model_file_read(from, "tag", trained_model, t, &r->device, err) : new_model(t, err))
        return -1;
    struct param_arenas arenas = { &t->model.host, &t->model.data, run_optimizer(&t->run, OPTIMIZER_ADAMW) };
    r->params = &t->model.params;
    r->model_bytes = t->model.data.used;
    r->recompute = &t->model.net.bert.checkpointed;
    snprintf(r->hint, sizeof r->hint, "a smaller batch (now %lld) would fit", (long long)t->set->batch);
    return run_take(r, &arenas, err);
}

static void tell_data(const struct tag_trainer *t)
{
    const struct tag_fold *train = &t->data.folds[FOLD_TRAIN];

    for (enum fold f = 0; f < FOLDS; f++)
        log_info("%s: %d records", fold_name(f), t->data.folds[f].own);
    if (train->records.n > train->own)
        log_info("replay: %d records of %s", train->records.n - train->own, t->request->from);
    if (train->wide)
        log_info("%d training records left out: their columns do not fit into one sequence", train->wide);
    if (!t->data.folds[FOLD_VALID].n)
        log_info("no validation records: temperature and threshold stay those of %s, and the last weights are taken",
                 t->request->from);
}

int tag_open(void *trainer, struct error *err)
{
    struct tag_trainer *t = trainer;

    if (tag_data_read(&t->data, t->request->data, t->request->from != NULL, err) || open_model(t, err) ||
        dte_tagger_init(&t->tagger, &t->model, &t->run.work, t->set->tokens, err) ||
        tag_data_pack(&t->data, &t->tagger.layout, err))
        return -1;
    t->run.data_hash = t->data.hash;
    tell_data(t);
    return 0;
}

void tag_close(void *trainer)
{
    struct tag_trainer *t = trainer;

    free(t->tokens);
    tag_data_release(&t->data);
    dte_model_release(&t->model);
}

/* Places of the training examples, own ones so often that they are a quarter where there is replay. */
static int *make_pool(const struct tag_fold *f, int *n)
{
    int own = 0, *pool;

    while (own < f->n && f->list[own].record < f->records.items + f->own)
        own++;
    int times = own && (f->n - own) / 3 > own ? (f->n - own) / 3 / own : 1;
    pool = xmalloc((size_t)(*n = f->n + own * (times - 1)) * sizeof *pool);
    for (int i = 0; i < *n; i++)
        pool[i] = i < own * times ? i % own : i - own * (times - 1);
    return pool;
}

static void count_tokens(struct tag_trainer *t)
{
    const struct tag_fold *train = &t->data.folds[FOLD_TRAIN];

    t->tokens = xrealloc(t->tokens, (size_t)(train->n + 1) * sizeof *t->tokens);
    for (int i = 0; i < train->n; i++)
        t->tokens[i] = train->list[i].item.windows[0].tokens.count;
    t->run.sampler.tokens = t->tokens;
}

static void make_sampler(struct tag_trainer *t)
{
    int n, *pool = make_pool(&t->data.folds[FOLD_TRAIN], &n);
    struct rng rng = { .seed = t->run.set.seed ^ UINT64_C(0x746167) };

    rng_shuffle(&rng, pool, n, sizeof *pool);
    if (t->set->max_train && t->set->max_train < n)
        n = (int)t->set->max_train;
    sampler_release(&t->run.sampler);
    sampler_init(&t->run.sampler, t->run.set.seed, pool, n, (int)t->set->batch);
    count_tokens(t);
    free(pool);
}

static bool in_encoder(const struct param *p)
{
    return strncmp(p->name, "bert.", 5) == 0;
}

/* Gradients are zero between steps, whatever the memory held; at the beginning there are no moments either. */
static void start_params(struct tag_trainer *t, bool fresh)
{
    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        struct tensor *all[] = { p->t->grad, p->state[0], p->state[1] };
        p->t->needs_grad = !t->set->heads_only || !in_encoder(p);
        p->lr_scale = in_encoder(p) ? 1 : (float)(t->set->head_lr / t->set->lr);
        for (int k = 0; k < (fresh ? ARRAY_LEN(all) : 1); k++)
            t->run.device.driver->kernels->fill(&t->run.work.ctx, all[k], 0.0f);
    }
}

int tag_enter_stage(void *trainer, bool fresh, struct error *err)
{
    struct tag_trainer *t = trainer;
    const struct tag_settings *set = t->set;

    (void)err;
    make_sampler(t);
    int64_t total = run_stage_steps(&t->run);
    struct schedule schedule = {
        .lr = (float)set->lr, .warmup = (int64_t)(set->warmup * (double)total), .total = total, .form = SCHEDULE_LINEAR
    };
    run_plan(&t->run, schedule, set->decay, set->clip);
    start_params(t, fresh);
    if (fresh)
        workspace_seed(&t->run.work, t->run.set.seed, 0);
    return 0;
}
