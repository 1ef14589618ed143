#include "train/gate/gate_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1000 };
static const double LEVEL = 0.95;

/* The answers that count, as probabilities. */
struct chosen {
    double *p;
    uint8_t *label;
    int *group;
    int n, positives, named;
};

enum { ANY_GROUP = -1 };

/* part: of a mixture; NULL for any. */
static struct chosen choose(const struct gate_model *m, const struct gate_answers *a, int kind, int group,
                            const char *part)
{
    size_t n = (size_t)a->n;
    struct chosen c = { .p = xmalloc(n * sizeof *c.p), .label = xmalloc(n), .group = xmalloc(n * sizeof *c.group) };

    for (int i = 0; i < a->n; i++) {
        if ((kind != GATE_KINDS && a->kind[i] != kind) || (group != ANY_GROUP && a->group[i] != group))
            continue;
        if (part && !(a->example[i]->part && strcmp(a->example[i]->part, part) == 0))
            continue;
        c.p[c.n] = gate_probability(m, a->logit[i]);
        c.label[c.n] = a->label[i];
        c.group[c.n++] = a->group[i];
        c.positives += a->label[i];
        c.named += a->named[i];
    }
    return c;
}

static void release(struct chosen *c)
{
    free(c->p);
    free(c->label);
    free(c->group);
}

static struct gate_measures measure(const struct gate_model *m, const struct chosen *c)
{
    struct scored s = { c->p, c->label, c->n };
    struct gate_measures r = { .n = c->n };

    r.prevalence = c->n ? (double)c->positives / c->n : 0;
    r.named = c->positives ? (double)c->named / c->positives : 0;
    r.ap = stats_average_precision(s);
    r.auc = stats_auc(s);
    r.confusion = stats_confusion(s, m->threshold);
    r.decision = stats_decision(r.confusion);
    r.always_yes = stats_decision(stats_always_yes(r.confusion));
    r.best_threshold = stats_best_f1(s, &r.best_f1);
    r.brier = stats_brier(s);
    r.reliability = stats_reliability(s);
    r.ap_interval = r.auc_interval = r.f1_interval = (struct interval){ NAN, NAN };
    return r;
}

static struct gate_measures measure_with_intervals(const struct gate_model *m, const struct gate_answers *a, int kind,
                                                   const char *part, uint64_t seed)
{
    struct chosen c = choose(m, a, kind, ANY_GROUP, part);
    struct scored s = { c.p, c.label, c.n };
    struct bootstrap how = { c.group, a->n_groups, ROUNDS, LEVEL, seed };
    struct gate_measures r = measure(m, &c);

    r.ap_interval = stats_bootstrap(s, stats_measure_ap, NULL, &how);
    r.auc_interval = stats_bootstrap(s, stats_measure_auc, NULL, &how);
    r.f1_interval = stats_bootstrap(s, stats_measure_f1, &m->threshold, &how);
    release(&c);
    return r;
}

struct gate_measures gate_measure(const struct gate_model *m, const struct gate_answers *a, int kind, uint64_t seed)
{
    return measure_with_intervals(m, a, kind, NULL, seed);
}

struct gate_measures gate_measure_part(const struct gate_model *m, const struct gate_answers *a, const char *part,
                                       uint64_t seed)
{
    return measure_with_intervals(m, a, GATE_KINDS, part, seed);
}

struct gate_measures gate_measure_group(const struct gate_model *m, const struct gate_answers *a, int group)
{
    struct chosen c = choose(m, a, GATE_KINDS, group, NULL);
    struct gate_measures r = measure(m, &c);

    release(&c);
    return r;
}

static json_t *interval(struct interval x)
{
    return json_pack("[o, o]", json_finite(x.low), json_finite(x.high));
}

json_t *gate_measures_json(const struct gate_measures *m)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "questions", m->n, "prevalence", json_finite(m->prevalence), "ap", json_finite(m->ap),
                     "ap_interval", interval(m->ap_interval), "auc", json_finite(m->auc), "auc_interval",
                     interval(m->auc_interval), "accuracy", json_finite(m->decision.accuracy), "precision",
                     json_finite(m->decision.precision), "recall", json_finite(m->decision.recall), "f1",
                     json_finite(m->decision.f1), "f1_interval", interval(m->f1_interval), "macro_f1",
                     json_finite(stats_macro_f1(m->confusion)), "always_yes_f1", json_finite(m->always_yes.f1),
                     "best_f1", json_finite(m->best_f1), "best_threshold", json_finite(m->best_threshold),
                     "always_yes_accuracy", json_finite(m->always_yes.accuracy), "both_named", json_finite(m->named),
                     "brier", json_finite(m->brier), "ece", json_finite(stats_ece(&m->reliability)));
}
