#include "train/gate/gate_measure.h"

#include <stdlib.h>

enum { ROUNDS = 1000 };
static const double LEVEL = 0.95;

/* The answers that count, as probabilities. */
struct chosen {
    double *p;
    uint8_t *label;
    int *group;
    int n, positives, named;
};

static struct chosen choose(const struct gate_model *m, const struct gate_answers *a, int kind)
{
    size_t n = (size_t)a->n;
    struct chosen c = { .p = xmalloc(n * sizeof *c.p), .label = xmalloc(n), .group = xmalloc(n * sizeof *c.group) };

    for (int i = 0; i < a->n; i++) {
        if (kind != SIA_KINDS && a->kind[i] != kind)
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

struct gate_measures gate_measure(const struct gate_model *m, const struct gate_answers *a, int kind, uint64_t seed)
{
    struct chosen c = choose(m, a, kind);
    struct scored s = { c.p, c.label, c.n };
    struct bootstrap how = { c.group, a->n_groups, ROUNDS, LEVEL, seed };
    struct gate_measures r = { .n = c.n };

    r.prevalence = c.n ? (double)c.positives / c.n : 0;
    r.named = c.positives ? (double)c.named / c.positives : 0;
    r.ap = stats_average_precision(s);
    r.auc = stats_auc(s);
    r.ap_interval = stats_bootstrap(s, stats_measure_ap, NULL, &how);
    r.auc_interval = stats_bootstrap(s, stats_measure_auc, NULL, &how);
    r.f1_interval = stats_bootstrap(s, stats_measure_f1, &m->threshold, &how);
    r.confusion = stats_confusion(s, m->threshold);
    r.decision = stats_decision(r.confusion);
    r.always_yes = stats_decision(stats_always_yes(r.confusion));
    r.brier = stats_brier(s);
    r.reliability = stats_reliability(s);
    release(&c);
    return r;
}
