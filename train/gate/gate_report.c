#include "train/gate/gate_report.h"

#include "data/report/report.h"
#include "data/util/json.h"
#include "train/gate/gate_findings.h"

#include <stdio.h>

static int write_json(const struct gate_trainer *t, const struct gate_findings *f, struct error *err)
{
    char path[4096];
    json_t *o = gate_findings_json(f, "crossed");

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

static int write_page(const struct gate_trainer *t, const struct gate_findings *f, struct error *err)
{
    char path[4096], metrics[4096];
    const char *cells[GATE_ROWS * GATE_COLUMNS];
    struct gate_row rows[GATE_ROWS];
    struct report r;
    int n = gate_findings_rows(f, rows);

    for (int i = 0; i < n * GATE_COLUMNS; i++)
        cells[i] = rows[i / GATE_COLUMNS].cells[i % GATE_COLUMNS];
    snprintf(path, sizeof path, "%s/report.html", t->run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->run.set.out);
    if (report_open(&r, path, "GATekeeper", err))
        return -1;
    report_heading(&r, "Test questions, crossed slice");
    report_table(&r, "by kind", gate_columns, GATE_COLUMNS, cells, n);
    report_confusion(&r, "decisions at the stored threshold", f->all.confusion);
    report_reliability(&r, "reliability", &f->all.reliability);
    report_heading(&r, "Training");
    add_curves(&r, metrics, "loss", "loss");
    add_curves(&r, metrics, "validation average precision", "valid_ap");
    return report_close(&r, err);
}

static int find(struct gate_trainer *t, struct gate_findings *f, struct error *err)
{
    struct gate_answers a, presence;
    int rc = gate_eval(t, FOLD_TEST, false, &a, err);

    if (rc)
        return rc;
    if ((rc = gate_eval(t, FOLD_TEST, true, &presence, err)) == 0) {
        gate_findings_init(f, &t->model, &a, &presence, t->run.set.seed);
        gate_answers_release(&presence);
    }
    gate_answers_release(&a);
    return rc;
}

int gate_report(struct gate_trainer *t, struct error *err)
{
    struct gate_findings f;
    int rc = find(t, &f, err);

    if (rc)
        return rc;
    gate_findings_probe(&f, &t->records, PROBE_CROSSED);
    gate_findings_print(&f);
    return write_json(t, &f, err) || write_page(t, &f, err) ? -1 : 0;
}
