#include "train/gate/gate_eval.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "train/gate/state_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVAL_GROUP = 64,    /* questions scored at once */
    LEAST_OF_LABEL = 3, /* to calibrate by */
};

static void answers_init(struct gate_answers *a, int n, int64_t elements)
{
    size_t m = (size_t)n, e = (size_t)elements;

    *a = (struct gate_answers){ .logit = xcalloc(m, sizeof *a->logit),
                                .label = xcalloc(m, 1),
                                .named = xcalloc(m, 1),
                                .kind = xcalloc(m, 1),
                                .group = xcalloc(m, sizeof *a->group),
                                .relevance = xcalloc(e, sizeof *a->relevance),
                                .relevant = xcalloc(e, 1) };
}

void gate_answers_release(struct gate_answers *a)
{
    free(a->logit);
    free(a->label);
    free(a->named);
    free(a->kind);
    free(a->group);
    free(a->relevance);
    free(a->relevant);
    *a = (struct gate_answers){ 0 };
}

struct scored gate_answers_scored(const struct gate_answers *a)
{
    return (struct scored){ a->logit, a->label, a->n };
}

struct scored gate_answers_relevance(const struct gate_answers *a)
{
    return (struct scored){ a->relevance, a->relevant, (int)a->n_elements };
}

static void add_answer(struct gate_answers *a, const struct gate_example *e, const struct gate_result *r, int group)
{
    a->logit[a->n] = (double)r->score;
    a->label[a->n] = e->record->ambiguous;
    a->named[a->n] = e->record->ambiguous && e->pair >= 0 && r->pair == e->pair;
    a->kind[a->n] = (uint8_t)e->record->kind;
    a->group[a->n] = group;
    a->n++;
}

static void add_relevance(struct gate_answers *a, const struct gate_example *e, const float *relevance)
{
    for (int i = 0; e->knows_relevance && i < e->item.schema->n_nodes; i++) {
        a->relevance[a->n_elements] = (double)relevance[i];
        a->relevant[a->n_elements++] = e->relevant[i];
    }
}

/* Consecutive examples of one source database share a group number; databases are few, so a list is enough. */
struct source_list {
    const char **names;
    int n, cap;
};

static int group_of(struct source_list *g, const char *name)
{
    for (int i = g->n - 1; i >= 0; i--)
        if (!strcmp(g->names[i], name))
            return i;
    GROW(g->names, g->n, g->cap);
    g->names[g->n] = name;
    return g->n++;
}

/* While a frozen encoder's classifier is trained, validation states come from the cache, without relevance. */
static int score_cached(struct gate_trainer *t, const struct gate_example *const *list, const struct gate_item *items,
                        int n, struct gate_result *results, struct error *err)
{
    int numbers[EVAL_GROUP];

    for (int i = 0; i < n; i++)
        numbers[i] = (int)(list[i] - t->data.folds[FOLD_VALID].list);
    return gate_classify(&t->scorer, items, n, state_cache_gather(t->valid_cache, numbers, n), results, err);
}

static int score_some(struct gate_trainer *t, const struct gate_example *const *list, int n, bool cached,
                      struct source_list *groups, struct gate_answers *a, struct error *err)
{
    struct gate_item items[EVAL_GROUP] = { 0 };
    struct gate_result results[EVAL_GROUP];
    int rc = -1;

    for (int i = 0; i < n; i++)
        items[i] = list[i]->item;
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)t->model.net.config.bert.hidden_size;
    float *relevance = xcalloc(nodes, sizeof *relevance), *states = xmalloc(nodes * width * sizeof *states);
    const float *r = relevance;
    if (cached ? score_cached(t, list, items, n, results, err)
               : gate_encode(&t->scorer, items, n, states, relevance, err) ||
                     gate_classify(&t->scorer, items, n, states, results, err))
        goto out;
    for (int i = 0; i < n; i++) {
        add_answer(a, list[i], &results[i], group_of(groups, list[i]->record->source_db));
        add_relevance(a, list[i], r);
        r += items[i].schema->n_nodes;
    }
    rc = 0;
out:
    free(relevance);
    free(states);
    return rc;
}

static const struct gate_example **choose(const struct gate_fold *fold, bool presence, int *n, int64_t *elements)
{
    const struct gate_example **list = xcalloc((size_t)fold->n, sizeof *list);

    *n = 0;
    *elements = 0;
    for (int i = 0; i < fold->n; i++)
        if ((fold->list[i].record->slice == EXAMPLE_PRESENCE) == presence) {
            list[(*n)++] = &fold->list[i];
            *elements += fold->list[i].knows_relevance ? fold->list[i].item.schema->n_nodes : 0;
        }
    return list;
}

int gate_eval(struct gate_trainer *t, enum fold fold, bool presence, struct gate_answers *a, struct error *err)
{
    struct progress progress;
    struct source_list groups = { 0 };
    int64_t elements;
    int n, rc = stop_requested() ? 1 : 0;
    const struct gate_example **list = choose(&t->data.folds[fold], presence, &n, &elements);
    bool cached = gate_in_stage(t, STAGE_FROZEN) && fold == FOLD_VALID && !presence;

    answers_init(a, n, elements);
    progress_start(&progress, fold == FOLD_TEST ? "testing" : "validating", "questions", n);
    for (int i = 0; rc == 0 && i < n; i += EVAL_GROUP) {
        int some = n - i < EVAL_GROUP ? n - i : EVAL_GROUP;
        rc = score_some(t, list + i, some, cached, &groups, a, err);
        progress_update(&progress, i + some, i + some, NULL);
        if (rc == 0 && i + some < n && stop_requested())
            rc = 1;
    }
    progress_end(&progress);
    a->n_groups = groups.n;
    free(groups.names);
    free(list);
    if (rc)
        gate_answers_release(a);
    return rc;
}

/* How many questions of its rarer label the answers have. */
static int rarer_label(const struct gate_answers *a)
{
    int ambiguous = 0;

    for (int i = 0; i < a->n; i++)
        ambiguous += a->label[i];
    return ambiguous < a->n - ambiguous ? ambiguous : a->n - ambiguous;
}

void gate_calibrate(struct gate_model *m, const struct gate_answers *a)
{
    struct scored s = gate_answers_scored(a);

    if (rarer_label(a) < LEAST_OF_LABEL) {
        log_warn("%d validation questions, %d of the rarer label, are too few to choose a threshold by: it is %g", a->n,
                 rarer_label(a), m->threshold);
        return;
    }
    double f1, threshold = stats_best_f1(s, &f1);

    m->temperature = stats_fit_temperature(s);
    m->threshold = 1 / (1 + exp(-threshold / m->temperature));
}
