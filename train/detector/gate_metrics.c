#include "train/detector/gate_metrics.h"

#include "data/base/visible.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1000 };
static const double LEVEL = 0.95;

/* The selected predictions, as probabilities. */
struct chosen {
    double *p;
    uint8_t *label;
    int *group;
    int n, positives, named;
};

enum { ANY_GROUP = -1 };

/* part: a folder of a mixture; NULL: any. */
static struct chosen choose(const struct gate_model *m, const struct gate_answers *a, int kind, int group,
                            const char *part)
{
    size_t n = (size_t)a->n;
    struct chosen c = { .p = xmalloc(n * sizeof *c.p), .label = xmalloc(n), .group = xmalloc(n * sizeof *c.group) };

    for (int i = 0; i < a->n; i++) {
        if ((kind != GATE_TYPES && a->type[i] != kind) || (group != ANY_GROUP && a->group[i] != group))
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

static struct gate_metrics measure(const struct gate_model *m, const struct chosen *c)
{
    struct scored s = { c->p, c->label, c->n };
    struct gate_metrics r = { .n = c->n };

    r.prevalence = c->n ? (double)c->positives / c->n : 0;
    r.named = c->positives ? (double)c->named / c->positives : 0;
    r.ap = stats_average_precision(s);
    r.auc = stats_auc(s);
    r.confusion = stats_confusion(s, m->threshold);
    r.best_threshold = stats_best_f1(s, &r.best_f1);
    r.brier = stats_brier(s);
    r.reliability = stats_reliability(s);
    r.ap_interval = r.auc_interval = r.f1_interval = (struct interval){ NAN, NAN };
    return r;
}

static struct gate_metrics measure_with_intervals(const struct gate_model *m, const struct gate_answers *a, int kind,
                                                  const char *part, uint64_t seed)
{
    struct chosen c = choose(m, a, kind, ANY_GROUP, part);
    struct scored s = { c.p, c.label, c.n };
    struct bootstrap how = { c.group, a->n_groups, ROUNDS, LEVEL, seed };
    struct gate_metrics r = measure(m, &c);

    r.ap_interval = stats_bootstrap(s, stats_measure_ap, NULL, &how);
    r.auc_interval = stats_bootstrap(s, stats_measure_auc, NULL, &how);
    r.f1_interval = stats_bootstrap(s, stats_measure_f1, &m->threshold, &how);
    release(&c);
    return r;
}

/* Metrics of one ambiguity type (gate_type), or of all with GATE_TYPES. */
static struct gate_metrics gate_measure(const struct gate_model *m, const struct gate_answers *a, int kind,
                                        uint64_t seed)
{
    return measure_with_intervals(m, a, kind, NULL, seed);
}

/* Metrics of one folder of a mixture. */
static struct gate_metrics measure_mixture_part(const struct gate_model *m, const struct gate_answers *a,
                                                const char *part, uint64_t seed)
{
    return measure_with_intervals(m, a, GATE_TYPES, part, seed);
}

struct gate_metrics gate_measure_group(const struct gate_model *m, const struct gate_answers *a, int group)
{
    struct chosen c = choose(m, a, GATE_TYPES, group, NULL);
    struct gate_metrics r = measure(m, &c);

    release(&c);
    return r;
}

static json_t *interval(struct interval x)
{
    return json_pack("[o, o]", json_finite(x.low), json_finite(x.high));
}

json_t *gate_metrics_json(const struct gate_metrics *m)
{
    struct confusion always_yes = stats_always_yes(m->confusion);
    json_t *o = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "questions", m->n,
                          "prevalence", json_finite(m->prevalence), "ap", json_finite(m->ap), "ap_interval",
                          interval(m->ap_interval), "auc", json_finite(m->auc), "auc_interval",
                          interval(m->auc_interval), "f1_interval", interval(m->f1_interval), "always_yes_f1",
                          json_finite(stats_metric(always_yes, STATS_F1)), "always_yes_accuracy",
                          json_finite(stats_metric(always_yes, STATS_ACCURACY)), "best_f1", json_finite(m->best_f1),
                          "best_threshold", json_finite(m->best_threshold), "both_named", json_finite(m->named),
                          "brier", json_finite(m->brier), "ece", json_finite(stats_ece(&m->reliability)));

    for (int k = 0; k < STATS_METRICS; k++)
        json_object_set_new(o, stats_metric_names[k].field,
                            json_finite(stats_metric(m->confusion, (enum stats_metric)k)));
    return o;
}

/* ---- tables ---- */

enum { NAME_WIDTH = 15, NUMBER_WIDTH = 15 };

const char *const gate_columns[GATE_COLUMNS] = { "type", "questions",     "ambiguous",  "AP",   "AUC",
                                                 "F1",   "always-yes F1", "both named", "Brier" };

static void number(char *cell, double x)
{
    if (isfinite(x))
        snprintf(cell, GATE_CELL, "%.3f", x);
    else
        snprintf(cell, GATE_CELL, "-");
}

void gate_row_fill(struct gate_row *row, const char *name, const struct gate_metrics *m)
{
    snprintf(row->cells[0], GATE_CELL, "%s", name);
    snprintf(row->cells[1], GATE_CELL, "%d", m->n);
    const double values[] = { m->prevalence,
                              m->ap,
                              m->auc,
                              stats_metric(m->confusion, STATS_F1),
                              stats_metric(stats_always_yes(m->confusion), STATS_F1),
                              m->named,
                              m->brier };
    for (int i = 0; i < ARRAY_LEN(values); i++)
        number(row->cells[2 + i], values[i]);
}

void gate_rows_print(const char *first, const struct gate_row *rows, int n)
{
    int width = NAME_WIDTH;

    for (int i = 0; i < n; i++)
        width = (int)strlen(rows[i].cells[0]) + 1 > width ? (int)strlen(rows[i].cells[0]) + 1 : width;
    for (int i = -1; i < n; i++) {
        visible_printf(stdout, "%-*s", width, i < 0 ? first : rows[i].cells[0]);
        for (int k = 1; k < GATE_COLUMNS; k++)
            printf("%-*s", NUMBER_WIDTH, i < 0 ? gate_columns[k] : rows[i].cells[k]);
        putchar('\n');
    }
}

/* There is no interval for a single database. */
static void bounds(char *cell, struct interval x)
{
    if (isnan(x.low))
        snprintf(cell, GATE_CELL, "[-]");
    else
        snprintf(cell, GATE_CELL, "[%.4f, %.4f]", x.low, x.high);
}

/* Prints one line: AP and AUC with intervals, and the calibration error. */
static void print_summary(const struct gate_metrics *m)
{
    char ap[GATE_CELL], auc[GATE_CELL];

    bounds(ap, m->ap_interval);
    bounds(auc, m->auc_interval);
    printf("AP %.4f %s, AUC %.4f %s, 95 %% over databases; ECE %.4f\n", m->ap, ap, m->auc, auc,
           stats_ece(&m->reliability));
}

/* ---- test metrics ---- */

void gate_test_metrics_init(struct gate_test_metrics *f, const struct gate_model *m, const struct gate_answers *a,
                            const struct gate_answers *hard_negatives, const struct mixture *mixture, uint64_t seed)
{
    *f = (struct gate_test_metrics){ .threshold = m->threshold, .temperature = m->temperature, .mixture = mixture };
    f->all = gate_measure(m, a, GATE_TYPES, seed);
    gate_row_fill(&f->rows[GATE_TYPES], "all", &f->all);
    for (int k = 0; k < GATE_TYPES; k++) {
        f->types[k] = gate_measure(m, a, k, seed);
        gate_row_fill(&f->rows[k], gate_type_name(k), &f->types[k]);
    }
    for (int i = 0; mixture && i < mixture->n; i++) {
        f->parts[i] = measure_mixture_part(m, a, mixture->parts[i].name, seed);
        gate_row_fill(&f->rows[GATE_TYPES + 1 + i], mixture->parts[i].name, &f->parts[i]);
    }
    f->relevance_ap = stats_average_precision(gate_answers_relevance(a));
    f->relevance_auc = stats_auc(gate_answers_relevance(a));
    if (hard_negatives)
        f->hard_negatives = gate_measure(m, hard_negatives, GATE_TYPES, seed);
}

void gate_test_metrics_probe(struct gate_test_metrics *f, const struct dataset *d, enum probe_set set)
{
    f->probe_set = set;
    probe_run(&f->probes, d, set);
}

int gate_test_metrics_rows(const struct gate_test_metrics *f, struct gate_row shown[GATE_ROWS])
{
    int n = 0;

    for (int i = 0; i <= GATE_TYPES; i++)
        if (i == GATE_TYPES || f->types[i].n)
            shown[n++] = f->rows[i];
    for (int i = 0; f->mixture && i < f->mixture->n; i++)
        shown[n++] = f->rows[GATE_TYPES + 1 + i];
    return n;
}

void gate_test_metrics_print(const struct gate_test_metrics *f)
{
    struct gate_row shown[GATE_ROWS];
    int n = gate_test_metrics_rows(f, shown);

    gate_rows_print(gate_columns[0], shown, n);
    print_summary(&f->all);
    if (f->hard_negatives.n)
        printf("hard negatives: %d questions, none ambiguous, %lld called so\n", f->hard_negatives.n,
               (long long)f->hard_negatives.confusion.fp);
    if (f->probes.n)
        probe_print(&f->probes, f->probe_set, stdout);
    if (isfinite(f->relevance_ap))
        printf("relevance of elements: AP %.4f, AUC %.4f\n", f->relevance_ap, f->relevance_auc);
}

/* JSON names, in the order of enum probe. */
static const char *const probe_names[PROBES] = { "question_only", "schema_only", "always_yes", "and_comma_rule",
                                                 "name_similarity" };

static json_t *probes_json(const struct probe_report *p)
{
    json_t *o = json_object();

    for (int i = 0; p->n && i < PROBES; i++)
        json_object_set_new(o, probe_names[i],
                            json_pack("{s:o, s:o, s:o}", "ap", json_finite(p->ap[i]), "auc", json_finite(p->auc[i]),
                                      "f1", json_finite(p->f1[i])));
    return o;
}

json_t *gate_test_metrics_json(const struct gate_test_metrics *f, const char *name)
{
    json_t *kinds = json_object(), *parts = f->mixture ? json_object() : NULL;

    for (int i = 0; parts && i < f->mixture->n; i++)
        json_object_set_new(parts, f->mixture->parts[i].name, gate_metrics_json(&f->parts[i]));
    for (int k = 0; k < GATE_TYPES; k++)
        if (k < SIA_TYPES || f->types[k].n)
            json_object_set_new(kinds, gate_type_name(k), gate_metrics_json(&f->types[k]));
    return json_pack("{s:o, s:o, s:o*, s:o, s:o, s:{s:o, s:o}, s:f, s:f}", name, gate_metrics_json(&f->all), "types",
                     kinds, "folders", parts, "hard_negatives", gate_metrics_json(&f->hard_negatives), "probes",
                     probes_json(&f->probes), "relevance", "ap", json_finite(f->relevance_ap), "auc",
                     json_finite(f->relevance_auc), "threshold", f->threshold, "temperature", f->temperature);
}
