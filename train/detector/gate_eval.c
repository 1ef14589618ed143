#include "train/detector/gate_eval.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "train/detector/state_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVAL_GROUP = 64,  /* questions scored at once */
    MIN_OF_LABEL = 3, /* min questions of the rarer label, to calibrate */
};
static const double SURE = 1e-12; /* distance of given probabilities from 0 and 1, to keep logits finite */

static void answers_init(struct gate_answers *a, int n, int64_t elements)
{
    size_t m = (size_t)n, e = (size_t)elements;

    *a = (struct gate_answers){ .logit = xcalloc(m, sizeof *a->logit),
                                .score = xcalloc(m, sizeof *a->score),
                                .words = xcalloc(m, sizeof *a->words),
                                .label = xcalloc(m, 1),
                                .named = xcalloc(m, 1),
                                .pair = xcalloc(m, sizeof *a->pair),
                                .type = xcalloc(m, 1),
                                .example = xcalloc(m, sizeof *a->example),
                                .group = xcalloc(m, sizeof *a->group),
                                .relevance = xcalloc(e, sizeof *a->relevance),
                                .relevant = xcalloc(e, 1) };
}

void gate_answers_release(struct gate_answers *a)
{
    free(a->logit);
    free(a->score);
    free(a->words);
    free(a->label);
    free(a->named);
    free(a->pair);
    free(a->type);
    free(a->example);
    free(a->group);
    free(a->groups);
    free(a->relevance);
    free(a->relevant);
    *a = (struct gate_answers){ 0 };
}

struct scored gate_answers_scored(const struct gate_answers *a)
{
    return (struct scored){ a->logit, a->label, a->n };
}

struct gate_part_score gate_answers_of_part(const struct gate_answers *a, const char *part)
{
    double *logit = xmalloc((size_t)a->n * sizeof *logit + 1);
    uint8_t *label = xmalloc((size_t)a->n + 1);
    int n = 0, ambiguous = 0, named = 0;

    for (int i = 0; i < a->n; i++)
        if (a->example[i]->part && strcmp(a->example[i]->part, part) == 0) {
            logit[n] = a->logit[i];
            ambiguous += a->label[i];
            named += a->named[i];
            label[n++] = a->label[i];
        }
    bool both = ambiguous && ambiguous < n;
    struct gate_part_score s = { both ? stats_average_precision((struct scored){ logit, label, n }) : NAN,
                                 both ? (double)named / ambiguous : NAN };
    free(logit);
    free(label);
    return s;
}

struct scored gate_answers_relevance(const struct gate_answers *a)
{
    return (struct scored){ a->relevance, a->relevant, (int)a->n_elements };
}

/* The number of a source database. Neighbours mostly share one, so the search starts with the newest. */
static int group_of(struct gate_answers *a, const char *name)
{
    for (int i = a->n_groups - 1; i >= 0; i--)
        if (!strcmp(a->groups[i], name))
            return i;
    a->groups = xrealloc(a->groups, ((size_t)a->n_groups + 1) * sizeof *a->groups);
    a->groups[a->n_groups] = name;
    return a->n_groups++;
}

int gate_type(const struct example *e)
{
    bool known = e->type != SIA_TYPES || e->linguistic != LINGUISTIC_NONE;
    return known ? ambiguity_type_of(e->type, e->linguistic) : GATE_TYPES;
}

const char *gate_type_name(int kind)
{
    return kind == GATE_TYPES ? "-" : ambiguity_types[kind].name;
}

static void add_answer(struct gate_answers *a, const struct example *e, double score, double words, bool named)
{
    a->score[a->n] = a->logit[a->n] = score;
    a->words[a->n] = words;
    a->label[a->n] = e->ambiguous;
    a->named[a->n] = e->ambiguous && named;
    a->type[a->n] = (uint8_t)gate_type(e);
    a->example[a->n] = e;
    a->group[a->n++] = group_of(a, e->source_db);
}

/* Sets the pair of the newest prediction. */
static void add_pair(struct gate_answers *a, const struct schema_input *in, int pair)
{
    if (pair >= 0)
        a->pair[a->n - 1] = (struct gate_pair){ in->schema, in->pairs[pair].u, in->pairs[pair].v };
}

static void add_relevance(struct gate_answers *a, const struct gate_example *e, const float *relevance)
{
    for (int i = 0; e->knows_relevance && i < e->item.schema->n_nodes; i++) {
        a->relevance[a->n_elements] = (double)relevance[i];
        a->relevant[a->n_elements++] = e->relevant[i];
    }
}

/* Source of states: the scorer, or the cache of a split. */
struct states_source {
    struct gate_scorer *scorer;
    struct state_cache *cache;
    const struct gate_split *split;
};

static int score_cached(const struct states_source *s, const struct gate_example *const *list,
                        const struct gate_item *items, int n, struct gate_result *results, float *relevance,
                        struct error *err)
{
    int numbers[EVAL_GROUP];

    for (int i = 0; i < n; i++)
        numbers[i] = (int)(list[i] - s->split->list);
    const float *states = state_cache_gather(s->cache, numbers, n);
    bool told = gatekeeper_says_word(&s->scorer->model->net.config); /* then the states contain the relevance */
    return (!told && gate_relevance(s->scorer, states, gate_nodes(items, n), relevance, err)) ||
                   gate_classify(s->scorer, items, n, states, results, NULL, err)
               ? -1
               : 0;
}

static int score_some(const struct states_source *s, const struct gate_example *const *list, int n,
                      struct gate_answers *a, struct error *err)
{
    struct gate_item items[EVAL_GROUP] = { 0 };
    struct gate_result results[EVAL_GROUP];
    int rc = -1;

    for (int i = 0; i < n; i++)
        items[i] = list[i]->item;
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)s->scorer->model->net.config.bert.hidden_size;
    float *relevance = xcalloc(nodes, sizeof *relevance), *states = xmalloc(nodes * width * sizeof *states);
    const float *r = relevance;
    if (s->cache ? score_cached(s, list, items, n, results, relevance, err)
                 : gate_encode(s->scorer, items, n, states, relevance, err) ||
                       gate_classify(s->scorer, items, n, states, results, NULL, err))
        goto out;
    for (int i = 0; i < n; i++) {
        double words = results[i].type == LINGUISTIC_NONE ? -HUGE_VAL : (double)results[i].linguistic;
        add_answer(a, list[i]->record, (double)results[i].score, words,
                   list[i]->pair >= 0 && gate_form_meant(&list[i]->forms[0], list[i], results[i].pair));
        add_pair(a, items[i].schema, results[i].pair);
        add_relevance(a, list[i], r);
        r += items[i].schema->n_nodes;
    }
    rc = 0;
out:
    free(relevance);
    free(states);
    return rc;
}

static const struct gate_example **choose(const struct gate_split *split, bool hard_negatives, int *n,
                                          int64_t *elements)
{
    const struct gate_example **list = xcalloc((size_t)split->n, sizeof *list);

    *n = 0;
    *elements = 0;
    for (int i = 0; i < split->n; i++)
        if ((split->list[i].record->slice == EXAMPLE_HARD_NEGATIVE) == hard_negatives) {
            list[(*n)++] = &split->list[i];
            *elements += split->list[i].knows_relevance ? split->list[i].item.schema->n_nodes : 0;
        }
    return list;
}

static void join(const struct gate_model *m, struct gate_answers *a)
{
    for (int i = 0; i < a->n; i++)
        a->logit[i] = gate_join_logits(m, a->score[i], a->words[i]);
}

static int score_all(const struct states_source *s, bool hard_negatives, const char *doing, struct gate_answers *a,
                     struct error *err)
{
    struct progress progress;
    int64_t elements;
    int n, rc = stop_requested() ? 1 : 0;
    const struct gate_example **list = choose(s->split, hard_negatives, &n, &elements);

    answers_init(a, n, elements);
    if (n)
        progress_start(&progress, doing, "questions", n);
    for (int i = 0; rc == 0 && i < n; i += EVAL_GROUP) {
        int some = n - i < EVAL_GROUP ? n - i : EVAL_GROUP;
        rc = score_some(s, list + i, some, a, err);
        progress_update(&progress, i + some, i + some, NULL);
        if (rc == 0 && i + some < n && stop_requested())
            rc = 1;
    }
    if (n)
        progress_end(&progress);
    free(list);
    if (rc)
        gate_answers_release(a);
    else
        join(s->scorer->model, a);
    return rc;
}

/* Opens the cache of shared states for all questions of a slice. */
static struct state_cache *open_cache(struct gate_trainer *t, const struct gate_split *split, bool hard_negatives,
                                      struct error *err)
{
    int *examples = xmalloc((size_t)split->n * sizeof *examples), n = 0;

    for (int i = 0; i < split->n; i++)
        if ((split->list[i].record->slice == EXAMPLE_HARD_NEGATIVE) == hard_negatives)
            examples[n++] = i;
    struct state_cache *cache = state_cache_open(t->states, &t->scorer, split, NULL, examples, n, err);
    free(examples);
    return cache;
}

int gate_eval(struct gate_trainer *t, enum data_split split, bool hard_negatives, struct gate_answers *a,
              struct error *err)
{
    bool shared = t->states && t->run.n_stages && t->kinds[t->run.n_stages - 1] == STAGE_FROZEN &&
                  !gatekeeper_says_word(&t->model.net.config); /* evaluation needs relevance too */
    bool training = gate_in_stage(t, STAGE_FROZEN) && split == SPLIT_VALID && !hard_negatives;
    struct state_cache *own = NULL;

    if (shared && !training && !(own = open_cache(t, &t->data.splits[split], hard_negatives, err)))
        return -1;
    struct states_source s = { &t->scorer, training ? t->valid_cache : own, &t->data.splits[split] };
    int rc = score_all(&s, hard_negatives, split == SPLIT_TEST ? "testing" : "validating", a, err);
    state_cache_close(own);
    return rc;
}

int gate_eval_split(struct gate_scorer *scorer, const struct gate_split *split, bool hard_negatives,
                    struct gate_answers *a, struct error *err)
{
    struct states_source s = { scorer, NULL, split };
    return score_all(&s, hard_negatives, "testing", a, err);
}

void gate_answers_given(struct gate_answers *a, const struct example *const *list, const double *probability,
                        const bool *named, int n)
{
    answers_init(a, n, 0);
    for (int i = 0; i < n; i++) {
        double p = fmin(fmax(probability[i], SURE), 1 - SURE);
        add_answer(a, list[i], log(p / (1 - p)), -HUGE_VAL, named[i]);
    }
}

/* Number of questions with the rarer label. */
static int rarer_label(const struct gate_answers *a)
{
    int ambiguous = 0;

    for (int i = 0; i < a->n; i++)
        ambiguous += a->label[i];
    return ambiguous < a->n - ambiguous ? ambiguous : a->n - ambiguous;
}

/* Fits the temperature of linguistic scores (words), or of all others; 1 if a label is missing. */
static double fit_temperature(const struct gate_answers *a, bool words)
{
    double *logit = xmalloc((size_t)a->n * sizeof *logit + 1);
    uint8_t *label = xmalloc((size_t)a->n + 1);
    int n = 0, ambiguous = 0;

    for (int i = 0; i < a->n; i++)
        if ((a->type[i] < GATE_TYPES && ambiguity_types[a->type[i]].head == AMBIGUITY_HEAD_WORDS &&
             isfinite(a->words[i])) == words) {
            label[n] = a->label[i];
            ambiguous += label[n];
            logit[n++] = words ? a->words[i] : a->score[i];
        }
    double temperature = ambiguous && ambiguous < n ? stats_fit_temperature((struct scored){ logit, label, n }) : 1;
    free(logit);
    free(label);
    return temperature;
}

static bool of_part(const struct gate_answers *a, int i, const char *part)
{
    const char *own = a->example[i]->part;
    return own == part || (own && part && strcmp(own, part) == 0);
}

/* True if no earlier prediction is of the same folder. */
static bool first_of_part(const struct gate_answers *a, int i)
{
    for (int k = 0; k < i; k++)
        if (of_part(a, k, a->example[i]->part))
            return false;
    return true;
}

/* As stats_best_f1_quiet, for the hard negatives of one folder. */
static double threshold_of_part(struct scored s, const struct gate_answers *quiet, const char *part, double alarms,
                                double *f1)
{
    double *logit = xmalloc((size_t)quiet->n * sizeof *logit + 1);
    uint8_t *label = xcalloc((size_t)quiet->n + 1, 1);
    int n = 0;

    for (int i = 0; i < quiet->n; i++)
        if (of_part(quiet, i, part))
            logit[n++] = quiet->logit[i];
    double threshold = stats_best_f1_quiet(s, (struct scored){ logit, label, n }, alarms, f1);
    free(logit);
    free(label);
    return threshold;
}

/* The max of all folders' thresholds, so that a folder with many easy hard negatives does not hide false alarms in
 * another one. */
static double quiet_threshold(struct scored s, const struct gate_answers *quiet, double alarms, double *f1)
{
    double best = stats_best_f1_quiet(s, gate_answers_scored(quiet), alarms, f1), of;

    for (int i = 0; i < quiet->n; i++) {
        if (!first_of_part(quiet, i))
            continue;
        double threshold = threshold_of_part(s, quiet, quiet->example[i]->part, alarms, &of);
        if (threshold > best) {
            best = threshold;
            *f1 = of;
        }
    }
    return best;
}

void gate_calibrate(struct gate_model *m, struct gate_answers *a, struct gate_answers *hard_negatives, double alarms)
{
    if (rarer_label(a) < MIN_OF_LABEL) {
        log_warn("%d validation questions, %d of the rarer label, are too few to choose a threshold by: it is %g", a->n,
                 rarer_label(a), m->threshold);
        return;
    }
    m->temperature = fit_temperature(a, false);
    m->linguistic_temperature = fit_temperature(a, true);
    join(m, a);
    join(m, hard_negatives);
    struct scored s = gate_answers_scored(a), quiet = gate_answers_scored(hard_negatives);
    double f1, best, threshold = quiet_threshold(s, hard_negatives, alarms, &f1);

    stats_best_f1(s, &best);
    m->threshold = 1 / (1 + exp(-threshold / m->temperature));
    if (hard_negatives->n)
        log_info("threshold %.3f: F1 of validation %.3f, of any threshold at best %.3f; %lld of its %d "
                 "hard negatives are called ambiguous",
                 m->threshold, f1, best, (long long)stats_confusion(quiet, threshold).fp, hard_negatives->n);
}
