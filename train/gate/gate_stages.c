/* Part of gate_trainer.h: what a stage trains on, in which order, how fast. */
#include "data/util/log.h"
#include "train/gate/gate_trainer_impl.h"
#include "train/gate/state_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gate_stage_name(enum gate_stage s)
{
    static const char *const names[] = { "relevance", "classifier", "joint" };
    return names[s];
}

bool gate_in_stage(const struct gate_trainer *t, enum gate_stage s)
{
    return t->run.state.stage < t->run.n_stages && t->kinds[t->run.state.stage] == s;
}

enum gate_stage gate_stage(const struct gate_trainer *t)
{
    return t->kinds[t->run.state.stage];
}

static void add_stage(struct gate_trainer *t, enum gate_stage kind, int64_t epochs)
{
    const char *name = gate_stage_name(kind);

    t->kinds[t->run.n_stages] = kind;
    t->stages[t->run.n_stages++] = (struct stage){ name, name, epochs };
}

static bool teaches_relevance(const struct gate_fold *train)
{
    for (int i = 0; i < train->n; i++)
        if (train->list[i].knows_relevance)
            return true;
    return false;
}

/* Without SQL nobody can tell an encoder what is relevant: it learns from the answers themselves, not before them. */
void gate_plan_stages(struct gate_trainer *t)
{
    const struct gate_settings *set = t->set;
    bool element = t->model.net.config.encode == ENCODE_ELEMENT;
    bool relevance = teaches_relevance(&t->data.folds[FOLD_TRAIN]);
    bool taught = relevance || t->linker;
    bool joint = !element || set->embedder == EMBEDDER_JOINT || (set->embedder == EMBEDDER_LINKER && !taught);

    t->run.stages = t->stages;
    t->stock = element && set->embedder == EMBEDDER_STOCK && !t->model.net.config.embedder;
    if (!taught)
        log_info("no training question has SQL: the relevance of elements is not taught%s",
                 element && joint ? ", and the encoder learns beside the classifier" : "");
    else if (element && !t->stock && !t->linker && set->relevance_epochs > 0)
        add_stage(t, STAGE_RELEVANCE, set->relevance_epochs);
    if (set->epochs > 0)
        add_stage(t, joint ? STAGE_JOINT : STAGE_FROZEN, set->epochs);
}

/* Every relevant element of every training question. */
static void collect_slots(struct gate_trainer *t, const int *examples, int n)
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

static bool is_label(const struct gate_trainer *t, int i)
{
    return t->labels && t->data.folds[FOLD_TRAIN].list[i].record->slice == EXAMPLE_OWN;
}

/* Behind the n examples of the folder the labels, again and again, until they are their share of all. */
static int add_labels(const struct gate_trainer *t, struct rng *rng, int **list, int n)
{
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN];
    int *labels = xmalloc((size_t)train->n * sizeof *labels), n_labels = 0;
    double share = t->set->labels_share;

    for (int i = 0; i < train->n; i++)
        if (is_label(t, i))
            labels[n_labels++] = i;
    rng_shuffle(rng, labels, n_labels, sizeof *labels);
    int wanted = n_labels ? (int)(share / (1 - share) * n) : 0;
    *list = xrealloc(*list, ((size_t)n + (size_t)wanted) * sizeof **list);
    for (int k = 0; k < wanted; k++)
        (*list)[n++] = labels[k % n_labels];
    free(labels);
    return n;
}

/* Crossed questions, the chosen share of the presence slice, and labels beside them, cut to max_train after a seeded
 * shuffle; the caller frees. */
static int choose_examples(const struct gate_trainer *t, int **out)
{
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN];
    struct rng rng = { .seed = t->run.set.seed ^ UINT64_C(0x73616d706c65) };
    int n = 0;

    *out = xmalloc((size_t)train->n * sizeof **out);
    for (int i = 0; i < train->n; i++)
        if (!is_label(t, i) &&
            (train->list[i].record->slice != EXAMPLE_PRESENCE || rng_uniform(&rng) < (float)t->set->presence))
            (*out)[n++] = i;
    n = add_labels(t, &rng, out, n);
    rng_shuffle(&rng, *out, n, sizeof **out);
    return t->set->max_train && t->set->max_train < n ? (int)t->set->max_train : n;
}

static int64_t question_tokens(const struct gate_trainer *t, const struct gate_item *item)
{
    const struct token_table *element = &item->schema->element;
    bool whole = t->model.net.config.encode == ENCODE_SCHEMA;

    return (int64_t)item->n_question * (whole ? 1 : element->n) + element->start[element->n];
}

static int64_t slot_tokens(const struct gate_item *item, int node)
{
    const struct token_table *element = &item->schema->element;
    return item->n_question + element->start[node + 1] - element->start[node];
}

static void count_tokens(struct gate_trainer *t, enum gate_stage stage)
{
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN];
    int n = stage == STAGE_RELEVANCE ? t->n_slots : train->n;

    t->tokens = xrealloc(t->tokens, (size_t)(n + 1) * sizeof *t->tokens);
    for (int i = 0; i < n; i++)
        t->tokens[i] = stage == STAGE_RELEVANCE ? slot_tokens(&train->list[t->slots[i].example].item, t->slots[i].node)
                                                : question_tokens(t, &train->list[i].item);
    t->run.sampler.tokens = t->tokens;
}

/* -1 when there is nothing to draw from. */
static int make_sampler(struct gate_trainer *t, enum gate_stage stage, struct error *err)
{
    int *pool, n = choose_examples(t, &pool);
    uint64_t seed = t->run.set.seed + UINT64_C(0x10001) * (uint64_t)(t->run.state.stage + 1);

    sampler_release(&t->run.sampler);
    if (!n) {
        free(pool);
        return error_set(err, EXIT_CODE_DATA,
                         "no record to train on: all are of the presence slice, and presence is 0");
    }
    if (stage != STAGE_RELEVANCE) {
        sampler_init(&t->run.sampler, seed, pool, n, (int)t->set->batch);
    } else {
        collect_slots(t, pool, n);
        pool = xrealloc(pool, (size_t)t->n_slots * sizeof *pool);
        for (int i = 0; i < t->n_slots; i++)
            pool[i] = i;
        int pairs = (int)(t->set->relevance_batch / (1 + t->set->negatives));
        sampler_init(&t->run.sampler, seed, pool, t->n_slots, pairs > 0 ? pairs : 1);
    }
    free(pool);
    count_tokens(t, stage);
    return t->run.sampler.n ? 0 : error_set(err, EXIT_CODE_DATA, "no training record's SQL touches any table");
}

static bool in_encoder(const struct param *p)
{
    return bert_owns(p->name);
}

static bool in_relevance(const struct param *p)
{
    return strncmp(p->name, "bert.pooler.", 12) == 0 || strncmp(p->name, "head.", 5) == 0 ||
           strcmp(p->name, "classifier.weight") == 0 || strcmp(p->name, "classifier.bias") == 0;
}

bool gate_reads(const struct param *p)
{
    return in_encoder(p) || in_relevance(p);
}

/* Which parameters a stage trains, and how fast beside the schedule's rate. */
static void choose_params(struct gate_trainer *t, enum gate_stage stage)
{
    const struct gate_settings *set = t->set;

    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        bool reader = gate_reads(p), head = t->stock && in_relevance(p);
        p->t->needs_grad = p->t->grad && (stage == STAGE_JOINT || reader == (stage == STAGE_RELEVANCE) ||
                                          head); /* an embedder has none */
        p->lr_scale = stage == STAGE_JOINT && !reader ? (float)(set->head_lr / set->lr) : 1.0f;
    }
}

/* Gradients are zero between steps, whatever the memory held; a new stage starts without moments too. */
static void zero_state(struct gate_trainer *t, bool fresh)
{
    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        struct tensor *all[] = { p->t->grad, p->state[0], p->state[1] };
        for (int k = 0; p->t->grad && k < (fresh ? ARRAY_LEN(all) : 1); k++)
            t->run.device.driver->kernels->fill(&t->run.work.ctx, all[k], 0.0f);
    }
}

static void set_schedule(struct gate_trainer *t, enum gate_stage stage)
{
    const struct gate_settings *set = t->set;
    double lr = stage == STAGE_RELEVANCE ? set->relevance_lr : stage == STAGE_JOINT ? set->lr : set->head_lr;
    int64_t total = run_stage_steps(&t->run);
    struct schedule schedule = { .lr = (float)lr,
                                 .warmup = (int64_t)(set->warmup * (double)total),
                                 .total = total,
                                 .form = set->schedule == GATE_COSINE ? SCHEDULE_COSINE : SCHEDULE_LINEAR };

    run_plan(&t->run, schedule, set->decay, set->clip);
}

int gate_enter_stage(void *trainer, bool fresh, struct error *err)
{
    struct gate_trainer *t = trainer;
    enum gate_stage stage = gate_stage(t);

    if (make_sampler(t, stage, err))
        return -1;
    choose_params(t, stage);
    set_schedule(t, stage);
    zero_state(t, fresh);
    if (fresh)
        workspace_seed(&t->run.work, t->run.set.seed + (uint64_t)t->run.state.stage, 0);
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

int gate_prepare(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN], *valid = &t->data.folds[FOLD_VALID];
    char path[4096];

    if (!gate_in_stage(t, STAGE_FROZEN))
        return 0;
    snprintf(path, sizeof path, "%s%s", t->states ? t->states : t->run.set.out, t->states ? "" : "/states");
    state_cache_close(t->cache);
    state_cache_close(t->valid_cache);
    t->valid_cache = NULL;
    int *examples, n = choose_examples(t, &examples);
    t->cache = state_cache_open(path, &t->scorer, train, &t->appender, examples, n, err);
    examples = xrealloc(examples, (size_t)valid->n * sizeof *examples);
    n = validation_examples(valid, examples);
    if (t->cache)
        t->valid_cache = state_cache_open(path, &t->scorer, valid, NULL, examples, n, err);
    free(examples);
    return t->valid_cache ? 0 : -1;
}
