#include "train/gate/gate_trainer.h"

#include "train/gate/gate_step.h"
#include "train/gate/state_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *train_stage_name(enum train_stage s)
{
    static const char *const names[] = { "relevance", "classifier", "joint" };
    return names[s];
}

int64_t trainer_stage_batches(const struct trainer *t)
{
    return sampler_batches(&t->sampler);
}

int64_t trainer_stage_epochs(const struct trainer *t)
{
    return t->stages[t->state.stage] == STAGE_RELEVANCE ? t->set->relevance_epochs : t->set->epochs;
}

/* Every relevant element of every training question. */
static void collect_slots(struct trainer *t, const int *examples, int n)
{
    int cap = 0;

    t->n_slots = 0;
    for (int i = 0; i < n; i++) {
        const struct gate_example *e = &t->data.folds[FOLD_TRAIN].list[examples[i]];
        for (int node = 0; node < e->item.schema->n_nodes; node++) {
            if (!e->relevant[node])
                continue;
            GROW(t->slots, t->n_slots, cap);
            t->slots[t->n_slots++] = (struct relevant_slot){ examples[i], node };
        }
    }
}

/* Crossed questions, the wanted share of the presence slice, cut to max_train after a seeded shuffle. */
static int choose_examples(const struct trainer *t, int *out)
{
    struct rng rng = { .seed = t->seed ^ UINT64_C(0x73616d706c65) };
    int n = 0;

    for (int i = 0; i < t->data.folds[FOLD_TRAIN].n; i++)
        if (t->data.folds[FOLD_TRAIN].list[i].record->slice != EXAMPLE_PRESENCE ||
            rng_uniform(&rng) < (float)t->set->presence)
            out[n++] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(&rng, (uint32_t)i + 1), keep = out[i];
        out[i] = out[j];
        out[j] = keep;
    }
    return t->set->max_train && t->set->max_train < n ? (int)t->set->max_train : n;
}

/* -1 when there is nothing to draw from. */
static int make_sampler(struct trainer *t, enum train_stage stage, struct error *err)
{
    int *pool = xmalloc((size_t)t->data.folds[FOLD_TRAIN].n * sizeof *pool), n = choose_examples(t, pool);
    uint64_t seed = t->seed + UINT64_C(0x10001) * (uint64_t)(t->state.stage + 1);

    sampler_release(&t->sampler);
    if (!n) {
        free(pool);
        return error_set(err, EXIT_CODE_DATA,
                         "no record to train on: all are of the presence slice, and presence is 0");
    }
    if (stage != STAGE_RELEVANCE) {
        sampler_init(&t->sampler, seed, pool, n, (int)t->set->batch);
    } else {
        collect_slots(t, pool, n);
        pool = xrealloc(pool, (size_t)t->n_slots * sizeof *pool);
        for (int i = 0; i < t->n_slots; i++)
            pool[i] = i;
        int pairs = (int)(t->set->relevance_batch / (1 + t->set->negatives));
        sampler_init(&t->sampler, seed, pool, t->n_slots, pairs > 0 ? pairs : 1);
    }
    free(pool);
    return t->sampler.n ? 0 : error_set(err, EXIT_CODE_DATA, "no training record's SQL touches any table");
}

static bool in_encoder(const struct param *p)
{
    return strncmp(p->name, "bert.", 5) == 0;
}

static bool in_relevance(const struct param *p)
{
    return strncmp(p->name, "bert.pooler.", 12) == 0 || strcmp(p->name, "classifier.weight") == 0 ||
           strcmp(p->name, "classifier.bias") == 0;
}

/* Which parameters a stage trains, and how fast beside the schedule's rate. */
static void choose_params(struct trainer *t, enum train_stage stage)
{
    const struct gate_settings *set = t->set;

    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        bool reader = in_encoder(p) || in_relevance(p), head = t->stock && in_relevance(p);
        p->t->needs_grad = stage == STAGE_JOINT || reader == (stage == STAGE_RELEVANCE) || head;
        p->lr_scale = stage == STAGE_JOINT && !reader ? (float)(set->head_lr / set->lr) : 1.0f;
    }
}

/* Gradients are zero between steps, whatever the memory held; a new stage starts without moments too. */
static void zero_state(struct trainer *t, bool moments)
{
    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        struct tensor *all[] = { p->t->grad, p->m, p->v };
        for (int k = 0; k < (moments ? ARRAY_LEN(all) : 1); k++)
            t->device.driver->kernels->fill(&t->work.ctx, all[k], 0.0f);
    }
}

static void set_schedule(struct trainer *t, enum train_stage stage)
{
    const struct gate_settings *set = t->set;
    double lr = stage == STAGE_RELEVANCE ? set->relevance_lr : stage == STAGE_JOINT ? set->lr : set->head_lr;
    int64_t total = trainer_stage_batches(t) * trainer_stage_epochs(t);

    t->optim.schedule = (struct schedule){ .lr = (float)lr,
                                           .warmup = (int64_t)(set->warmup * (double)total),
                                           .total = total,
                                           .cosine = !strcmp(set->schedule, "cosine") };
    t->optim.adamw = (struct adamw){ .beta1 = 0.9f,
                                     .beta2 = 0.999f,
                                     .eps = 1e-8f,
                                     .decay = (float)set->decay,
                                     .lr_scale = 1,
                                     .clip = (float)set->clip };
}

int trainer_enter_stage(struct trainer *t, bool fresh, struct error *err)
{
    enum train_stage stage = t->stages[t->state.stage];

    if (make_sampler(t, stage, err))
        return -1;
    choose_params(t, stage);
    set_schedule(t, stage);
    zero_state(t, fresh);
    if (fresh)
        workspace_seed(&t->work, t->seed + (uint64_t)t->state.stage, 0);
    return 0;
}

/* What validations between two epochs score. */
static int validation_examples(const struct gate_fold *valid, int *out)
{
    int n = 0;

    for (int i = 0; i < valid->n; i++)
        if (valid->list[i].record->slice != EXAMPLE_PRESENCE)
            out[n++] = i;
    return n;
}

int trainer_prepare(struct trainer *t, struct error *err)
{
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN], *valid = &t->data.folds[FOLD_VALID];
    char path[4096];

    if (t->stages[t->state.stage] != STAGE_FROZEN)
        return 0;
    snprintf(path, sizeof path, "%s/states", t->out);
    int *examples = xmalloc((size_t)(train->n > valid->n ? train->n : valid->n) * sizeof *examples);
    state_cache_close(t->cache);
    state_cache_close(t->valid_cache);
    t->valid_cache = NULL;
    t->cache = state_cache_open(path, &t->scorer, train, examples, choose_examples(t, examples), err);
    if (t->cache)
        t->valid_cache = state_cache_open(path, &t->scorer, valid, examples, validation_examples(valid, examples), err);
    free(examples);
    return t->valid_cache ? 0 : -1;
}

int trainer_step(struct trainer *t, struct error *err)
{
    struct train_step step;
    const int *batch;
    int n = sampler_batch(&t->sampler, t->state.epoch, t->state.batch, &batch);

    train_step_init(&step, t, t->stages[t->state.stage], batch, n);
    t->work.ctx.recording = t->work.ctx.training = true;
    int rc = workspace_run(&t->work, train_step_run, &step, err);
    train_step_release(&step);
    t->loss_steps++;
    return rc;
}

size_t trainer_measure(struct trainer *t, int64_t batches)
{
    struct train_state keep = t->state;
    size_t most = 0;

    t->work.ctx.recording = t->work.ctx.training = true;
    for (t->state.batch = 0; t->state.batch < batches && t->state.batch < trainer_stage_batches(t); t->state.batch++) {
        struct train_step step;
        const int *batch;
        int n = sampler_batch(&t->sampler, 0, t->state.batch, &batch);
        train_step_init(&step, t, t->stages[t->state.stage], batch, n);
        size_t bytes = workspace_measure(&t->work, train_step_run, &step);
        most = bytes > most ? bytes : most;
        train_step_release(&step);
    }
    t->state = keep;
    return most;
}
