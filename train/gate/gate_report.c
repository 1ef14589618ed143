#include "train/gate/gate_report.h"

#include "data/contrast/probe.h"
#include "data/report/report.h"
#include "data/util/json.h"
#include "train/gate/gate_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 9, CELL = 32, ROWS = SIA_KINDS + 1 };

static const char *const columns[COLUMNS] = { "kind", "questions",     "ambiguous",  "AP",   "AUC",
                                              "F1",   "always-yes F1", "both named", "Brier" };

/* Everything the report tells. */
struct findings {
    struct gate_measures all, kinds[SIA_KINDS], presence;
    struct probe_report probes; /* n is 0 where the data set has no crossed slice */
    double relevance_ap, relevance_auc;
    char cells[ROWS][COLUMNS][CELL];
};

static void number(char *cell, double x)
{
    if (isfinite(x))
        snprintf(cell, CELL, "%.3f", x);
    else
        snprintf(cell, CELL, "-");
}

/* Of questions about one database no interval can be had. */
static void bounds(char *cell, struct interval x)
{
    if (isnan(x.low))
        snprintf(cell, CELL, "[-]");
    else
        snprintf(cell, CELL, "[%.4f, %.4f]", x.low, x.high);
}

static void fill_row(char row[COLUMNS][CELL], const char *name, const struct gate_measures *m)
{
    snprintf(row[0], CELL, "%s", name);
    snprintf(row[1], CELL, "%d", m->n);
    const double values[] = { m->prevalence, m->ap, m->auc, m->decision.f1, m->always_yes.f1, m->named, m->brier };
    for (int i = 0; i < ARRAY_LEN(values); i++)
        number(row[2 + i], values[i]);
}

static void print_table(struct findings *f)
{
    for (int k = 0; k < COLUMNS; k++)
        printf("%-15s", columns[k]);
    printf("\n");
    for (int i = 0; i < ROWS; i++) {
        if (i < SIA_KINDS && !f->kinds[i].n)
            continue;
        for (int k = 0; k < COLUMNS; k++)
            printf("%-15s", f->cells[i][k]);
        printf("\n");
    }
    char ap[CELL], auc[CELL];
    bounds(ap, f->all.ap_interval);
    bounds(auc, f->all.auc_interval);
    printf("AP %.4f %s, AUC %.4f %s, 95 %% over databases; ECE %.4f\n", f->all.ap, ap, f->all.auc, auc,
           stats_ece(&f->all.reliability));
    if (f->presence.n)
        printf("presence slice: %d questions, none ambiguous, %lld called so\n", f->presence.n,
               (long long)f->presence.confusion.fp);
    if (f->probes.n)
        probe_print(&f->probes, PROBE_CROSSED, stdout);
    if (isfinite(f->relevance_ap))
        printf("relevance of elements: AP %.4f, AUC %.4f\n", f->relevance_ap, f->relevance_auc);
}

/* Names of the probes in the order of enum probe. */
static const char *const probe_names[PROBES] = { "question_only", "schema_only", "always_yes", "and_comma_rule",
                                                 "name_similarity" };

static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *interval(struct interval x)
{
    return json_pack("[o, o]", real(x.low), real(x.high));
}

static json_t *measures_to_json(const struct gate_measures *m)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "questions",
                     m->n, "prevalence", real(m->prevalence), "ap", real(m->ap), "ap_interval",
                     interval(m->ap_interval), "auc", real(m->auc), "auc_interval", interval(m->auc_interval),
                     "accuracy", real(m->decision.accuracy), "precision", real(m->decision.precision), "recall",
                     real(m->decision.recall), "f1", real(m->decision.f1), "f1_interval", interval(m->f1_interval),
                     "always_yes_f1", real(m->always_yes.f1), "always_yes_accuracy", real(m->always_yes.accuracy),
                     "both_named", real(m->named), "brier", real(m->brier), "ece", real(stats_ece(&m->reliability)));
}

static json_t *probes_to_json(const struct probe_report *p)
{
    json_t *o = json_object();

    for (int i = 0; p->n && i < PROBES; i++)
        json_object_set_new(
            o, probe_names[i],
            json_pack("{s:o, s:o, s:o}", "ap", real(p->ap[i]), "auc", real(p->auc[i]), "f1", real(p->f1[i])));
    return o;
}

static int write_json(const struct gate_trainer *t, const struct findings *f, struct error *err)
{
    char path[4096];
    json_t *kinds = json_object();

    for (int k = 0; k < SIA_KINDS; k++)
        json_object_set_new(kinds, sia_kind_letter((enum sia_kind)k), measures_to_json(&f->kinds[k]));
    json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:f, s:f}", "crossed", measures_to_json(&f->all), "kinds",
                          kinds, "presence", measures_to_json(&f->presence), "probes", probes_to_json(&f->probes),
                          "relevance", "ap", real(f->relevance_ap), "auc", real(f->relevance_auc), "threshold",
                          t->model.threshold, "temperature", t->model.temperature);
    snprintf(path, sizeof path, "%s/test.json", t->run.set.out);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    return rc;
}

static void add_curves(struct report *r, const char *metrics, const char *title, const char *name)
{
    static const enum gate_stage stages[] = { STAGE_RELEVANCE, STAGE_FROZEN, STAGE_JOINT };
    struct series series[ARRAY_LEN(stages)] = { 0 };
    struct curve curves[ARRAY_LEN(stages)];
    int n = 0;

    for (int i = 0; i < ARRAY_LEN(stages); i++) {
        const char *stage = gate_stage_name(stages[i]);
        if (series_read(&series[i], metrics, stage, name, NULL) == 0 && series[i].n)
            curves[n++] = (struct curve){ stage, series[i].step, series[i].value, series[i].n, NULL, NULL };
    }
    if (n)
        report_curves(r, title, "step", curves, n);
    for (int i = 0; i < ARRAY_LEN(stages); i++)
        series_release(&series[i]);
}

static int write_page(const struct gate_trainer *t, const struct findings *f, struct error *err)
{
    char path[4096], metrics[4096];
    const char *cells[ROWS * COLUMNS];
    struct report r;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        cells[i] = f->cells[i / COLUMNS][i % COLUMNS];
    snprintf(path, sizeof path, "%s/report.html", t->run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->run.set.out);
    if (report_open(&r, path, "GATekeeper", err))
        return -1;
    report_heading(&r, "Test questions, crossed slice");
    report_table(&r, "by kind", columns, COLUMNS, cells, ROWS);
    report_confusion(&r, "decisions at the stored threshold", f->all.confusion);
    report_reliability(&r, "reliability", &f->all.reliability);
    report_heading(&r, "Training");
    add_curves(&r, metrics, "loss", "loss");
    add_curves(&r, metrics, "validation average precision", "valid_ap");
    return report_close(&r, err);
}

static int find(struct gate_trainer *t, struct findings *f, struct error *err)
{
    struct gate_answers a;
    int rc = gate_eval(t, FOLD_TEST, false, &a, err);

    if (rc)
        return rc;
    f->all = gate_measure(&t->model, &a, SIA_KINDS, t->run.set.seed);
    fill_row(f->cells[SIA_KINDS], "all", &f->all);
    for (int k = 0; k < SIA_KINDS; k++) {
        f->kinds[k] = gate_measure(&t->model, &a, k, t->run.set.seed);
        fill_row(f->cells[k], sia_kind_letter((enum sia_kind)k), &f->kinds[k]);
    }
    f->relevance_ap = stats_average_precision(gate_answers_relevance(&a));
    f->relevance_auc = stats_auc(gate_answers_relevance(&a));
    gate_answers_release(&a);
    if ((rc = gate_eval(t, FOLD_TEST, true, &a, err)) != 0)
        return rc;
    f->presence = gate_measure(&t->model, &a, SIA_KINDS, t->run.set.seed);
    gate_answers_release(&a);
    return 0;
}

int gate_report(struct gate_trainer *t, struct error *err)
{
    struct findings f = { 0 };
    int rc = find(t, &f, err);

    if (rc)
        return rc;
    probe_run(&f.probes, &t->records, PROBE_CROSSED);
    print_table(&f);
    return write_json(t, &f, err) || write_page(t, &f, err) ? -1 : 0;
}
