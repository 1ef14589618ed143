#include "train/detector/gate_report.h"

#include "data/base/json.h"
#include "data/base/metrics_log.h"
#include "data/base/report.h"
#include "data/base/text_fold.h"
#include "data/base/whole_file.h"
#include "data/schema/schema_drawing.h"
#include "models/gatekeeper/gate_band.h"
#include "train/detector/gate_eval.h"
#include "train/detector/gate_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- mistakes ---- */

enum { WORST = 10, PLACES = 300 /* max bytes of a question or a name */ };

struct mistake {
    int answer;                  /* number of the prediction */
    double probability, how_far; /* distance from the threshold, in logits */
};

static int furthest_first(const void *a, const void *b)
{
    double x = ((const struct mistake *)a)->how_far, y = ((const struct mistake *)b)->how_far;
    return (x < y) - (x > y);
}

/* Returns all wrong predictions, the most confident first. The caller frees. */
static struct mistake *find_mistakes(const struct gate_model *m, const struct gate_answers *a, int *n)
{
    struct mistake *list = xcalloc((size_t)a->n + 1, sizeof *list);
    double threshold = log(fmax(m->threshold, 1e-12) / fmax(1 - m->threshold, 1e-12));

    *n = 0;
    for (int i = 0; i < a->n; i++) {
        double p = gate_probability(m, a->logit[i]);
        if ((p >= m->threshold) != a->label[i])
            list[(*n)++] = (struct mistake){ i, p, fabs((a->logit[i] - m->shift) / m->temperature - threshold) };
    }
    qsort(list, (size_t)*n, sizeof *list, furthest_first);
    return list;
}

static const char *name_of(const struct schema *s, int node, struct strings *text)
{
    if (node < s->n_tables)
        return s->tables[node].name;
    const struct schema_column *c = &s->columns[node - s->n_tables];
    return strings_printf(text, "%s.%s", s->tables[c->table].name, c->name);
}

static const char *either(const char *first, const char *second, struct strings *text)
{
    return text_shorten(text, strings_printf(text, "%s or %s", first, second), PLACES);
}

static const char *gold_of(const struct example *e, struct strings *text)
{
    return e->alternatives[0] ? either(e->alternatives[0], e->alternatives[1], text) : "-";
}

/* NULL if a linguistic type was likelier. */
static const struct gate_pair *pair_of(const struct gate_answers *a, int i)
{
    return a->pair[i].schema && a->logit[i] <= a->score[i] ? &a->pair[i] : NULL;
}

static const char *named_of(const struct gate_pair *p, struct strings *text)
{
    return p ? either(name_of(p->schema, p->u, text), name_of(p->schema, p->v, text), text) : "-";
}

static void mark_gold(uint8_t *marks, const struct schema *s, const struct example *e)
{
    int table, column;

    for (int i = 0; i < 2; i++)
        if (e->alternatives[i] && example_element(s, e->alternatives[i], &table, &column) == 0)
            marks[column < 0 ? table : s->n_tables + column] |= SCHEMA_GOLD;
}

static void draw(FILE *f, const struct schema *s, const struct example *e, const struct gate_pair *p)
{
    uint8_t *marks = xcalloc((size_t)(s->n_tables + s->n_columns) + 1, 1);

    mark_gold(marks, s, e);
    if (p && p->schema == s) {
        marks[p->u] |= SCHEMA_NAMED;
        marks[p->v] |= SCHEMA_NAMED;
    }
    schema_draw(f, s, marks);
    free(marks);
}

static void write_mistake(struct report *r, const struct schema *s, const struct gate_answers *a,
                          const struct mistake *m, int number)
{
    const struct example *e = a->example[m->answer];
    const struct gate_pair *p = pair_of(a, m->answer);
    struct strings text = { 0 };

    FILE *f = report_figure(r, strings_printf(&text, "%d. %s", number, text_shorten(&text, e->question, PLACES)));
    report_text(r, strings_printf(&text, "%s, type %s: %s, score %.3f. By the labels: %s. By the detector: %s.",
                                  text_shorten(&text, e->db_id, PLACES), gate_type_name(gate_type(e)),
                                  e->ambiguous ? "ambiguous" : "clear", m->probability, gold_of(e, &text),
                                  named_of(p, &text)));
    draw(f, s, e, p);
    report_figure_end(r);
    strings_release(&text);
}

/* Lists at most ten questions. Each drawing marks the alternatives of the label and of the detector, even if the
 * detector calls the question clear. */
static void add_mistakes(struct report *r, const struct gate_model *m, const struct schema_set *schemas,
                         const struct gate_answers *a)
{
    int n;
    struct mistake *list = find_mistakes(m, a, &n);

    report_text(r, n ? "Where it was surest and wrong. Framed: the two readings by the labels. Filled: those that the "
                       "detector finds likeliest, also where it calls the question clear."
                     : "No question is decided wrongly.");
    report_style(r, schema_drawing_style);
    for (int i = 0; i < n && i < WORST; i++)
        write_mistake(r, schema_find(schemas, a->example[list[i].answer]->db_id), a, &list[i], i + 1);
    free(list);
}

/* ---- report.html ---- */

enum { RUN_ROWS = 6, SETTINGS_MAX = 1 << 16, VERDICT = 512 };

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
        report_curves(r, title, "step", title, curves, n);
    for (int i = 0; i < ARRAY_LEN(stages); i++)
        series_release(&series[i]);
}

/* Removes settings that do not change the result, so that a resumed run has the same page. */
static void leave_out(char *text)
{
    static const char *const names[] = { "out: ", "resume: ", "force: ", "dry-run: " };
    char *to = text;

    for (char *line = text, *end; *line; line = end) {
        size_t n = strcspn(line, "\n");
        bool kept = true;
        end = line + n + (line[n] == '\n');
        for (int i = 0; i < ARRAY_LEN(names); i++)
            kept = kept && strncmp(line, names[i], strlen(names[i]));
        if (kept)
            for (const char *c = line; c < end; c++)
                *to++ = *c;
    }
    *to = '\0';
}

static void add_settings(struct report *r, const char *folder)
{
    char path[4096], *text;
    struct error why;
    size_t n;

    snprintf(path, sizeof path, "%s/config.yaml", folder);
    if ((text = whole_file_read(path, SETTINGS_MAX, &n, &why)) != NULL) {
        leave_out(text);
        report_folded(r, "all settings", text);
    }
    free(text);
}

static void explain_types(struct report *r)
{
    report_text(
        r, "A question is ambiguous for its schema when it has two readings there. C: two columns fit it. T: two "
           "tables fit it. J: a value is kept in a table and in one that was split off it too. P: an aggregate can "
           "be computed, and is also stored.");
}

/* Adds the table of data, encoder and calibration. */
static void add_run(struct report *r, const struct gate_trainer *t, const struct gate_test_metrics *f)
{
    static const char *const columns[] = { "setting", "value" };
    char seed[32], splits[96], threshold[32], temperature[32];
    const struct gate_data *d = &t->data;

    snprintf(seed, sizeof seed, "%llu", (unsigned long long)t->run.set.seed);
    snprintf(splits, sizeof splits, "%d to train on, %d to choose by, %d to test", d->splits[SPLIT_TRAIN].n,
             d->splits[SPLIT_VALID].n, d->splits[SPLIT_TEST].n);
    snprintf(threshold, sizeof threshold, "%.4f", f->threshold);
    snprintf(temperature, sizeof temperature, "%.4f", f->temperature);
    const char *const cells[2 * RUN_ROWS] = {
        "data",      t->data_folder, "questions",   splits,      "encoder", t->encoder ? t->encoder : "from scratch",
        "threshold", threshold,      "temperature", temperature, "seed",    seed,
    };
    report_table(r, "This run", columns, 2, cells, RUN_ROWS);
    add_settings(r, t->run.set.out);
}

static int likeliest_first(const void *a, const void *b)
{
    double x = **(const double *const *)a, y = **(const double *const *)b;
    return (x < y) - (x > y);
}

/* Adds one point after each distinct score. */
static void add_precision(struct report *r, const struct gate_answers *a)
{
    const double **order = xcalloc((size_t)a->n + 1, sizeof *order);
    double *recall = xcalloc((size_t)a->n + 1, sizeof *recall),
           *precision = xcalloc((size_t)a->n + 1, sizeof *precision);
    int points = 0, yes = 0, found = 0;

    for (int i = 0; i < a->n; i++) {
        order[i] = &a->logit[i];
        yes += a->label[i];
    }
    qsort(order, (size_t)a->n, sizeof(const double *), likeliest_first);
    for (int i = 0; yes && i < a->n; i++) {
        found += a->label[order[i] - a->logit];
        if (i + 1 < a->n && *order[i + 1] >= *order[i])
            continue;
        recall[points] = (double)found / yes;
        precision[points++] = (double)found / (i + 1);
    }
    const double ends[] = { 0, 1 }, all[] = { a->n ? (double)yes / a->n : 0, a->n ? (double)yes / a->n : 0 };
    const struct curve curves[] = { { "this detector", recall, precision, points, NULL, NULL },
                                    { "always yes", ends, all, 2, NULL, NULL } };
    if (points)
        report_curves(r, "precision by recall", "recall", "precision", curves, ARRAY_LEN(curves));
    free(order);
    free(recall);
    free(precision);
}

/* Adds the risk-coverage curve, beside that of a random order. */
static void add_risk(struct report *r, const struct gate_model *m, const struct gate_answers *a)
{
    struct risk_decision *d = gate_decide(m, a->logit, a->label, a->n);
    double random = 0;
    struct risk_curve c;

    for (int i = 0; i < a->n; i++)
        random += !d[i].right;
    random = a->n ? random / a->n : 0;
    risk_curve_init(&c, d, a->n);
    const double ends[] = { 0, 1 }, all[] = { random, random };
    const struct curve curves[] = { { "the surest first", c.coverage, c.risk, c.points, NULL, NULL },
                                    { "a random order", ends, all, 2, NULL, NULL } };
    if (c.points)
        report_curves(r, "wrong among the questions that are answered, were those nearest to the threshold left out",
                      "share that is answered", "share wrong", curves, ARRAY_LEN(curves));
    risk_curve_release(&c);
    free(d);
}

static void add_databases(struct report *r, const struct gate_model *m, const struct gate_answers *a)
{
    double *ap = xcalloc((size_t)a->n_groups + 1, sizeof *ap);

    for (int g = 0; g < a->n_groups; g++) {
        struct gate_metrics of = gate_measure_group(m, a, g);
        ap[g] = of.ap;
    }
    if (a->n_groups)
        report_bars(r, "average precision by database", a->groups, ap, NULL, NULL, a->n_groups);
    free(ap);
}

static void add_table(struct report *r, const struct gate_test_metrics *f)
{
    const char *cells[GATE_ROWS * GATE_COLUMNS];
    struct gate_row rows[GATE_ROWS];
    int n = gate_test_metrics_rows(f, rows);

    for (int i = 0; i < n * GATE_COLUMNS; i++)
        cells[i] = rows[i / GATE_COLUMNS].cells[i % GATE_COLUMNS];
    report_table(r, "by type", gate_columns, GATE_COLUMNS, cells, n);
}

/* Compares the detector with the answer "ambiguous" to every question. */
static void tell_verdict(const struct gate_test_metrics *f, char text[VERDICT])
{
    const struct gate_metrics *m = &f->all;
    int n = 0;

    if (isnan(m->ap)) {
        snprintf(text, VERDICT,
                 "The test split has %d questions, but not both ambiguous and clear ones: there is no result.", m->n);
        return;
    }
    n += snprintf(text, VERDICT, "The detector ranks the %d test questions with an average precision of %.3f", m->n,
                  m->ap);
    if (!isnan(m->ap_interval.low))
        n += snprintf(text + n, (size_t)(VERDICT - n), " [%.3f, %.3f]", m->ap_interval.low, m->ap_interval.high);
    snprintf(text + n, (size_t)(VERDICT - n),
             "; a random order has %.3f. At the stored threshold, its F1 is %.3f, and that of the answer \"ambiguous\" "
             "to every question %.3f. It names both elements of %.0f %% of the ambiguous questions.",
             m->prevalence, stats_metric(m->confusion, STATS_F1),
             stats_metric(stats_always_yes(m->confusion), STATS_F1), 100 * m->named);
}

/* Writes report.html of the test questions without hard negatives. */
static int write_page(const struct gate_trainer *t, const struct gate_test_metrics *f, const struct gate_answers *a,
                      struct error *err)
{
    char path[4096], metrics[4096], verdict[VERDICT];
    struct report r;

    tell_verdict(f, verdict);
    snprintf(path, sizeof path, "%s/report.html", t->run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->run.set.out);
    if (report_open(&r, path, "GATekeeper", verdict, err))
        return -1;
    report_heading(&r, "Test questions, contrast slice");
    explain_types(&r);
    add_table(&r, f);
    add_precision(&r, a);
    add_risk(&r, &t->model, a);
    report_confusion(&r, "decisions at the stored threshold", f->all.confusion);
    report_reliability(&r, "reliability", &f->all.reliability);
    add_databases(&r, &t->model, a);
    add_mistakes(&r, &t->model, &t->records.schemas, a);
    report_heading(&r, "Training");
    add_run(&r, t, f);
    add_curves(&r, metrics, "loss", "loss");
    add_curves(&r, metrics, "validation average precision", "valid_ap");
    return report_close(&r, err);
}

/* ---- the report ---- */

static int write_json(struct gate_trainer *t, const struct gate_test_metrics *f, struct error *err)
{
    char path[4096];
    json_t *o = gate_test_metrics_json(f, "contrast");

    snprintf(path, sizeof path, "%s/test.json", t->run.set.out);
    int rc = json_write_file(path, o, err) ? -1 : run_log_test(&t->run, o, err);
    json_decref(o);
    return rc;
}

/* If it returns 0, the caller releases the predictions. */
static int find(struct gate_trainer *t, struct gate_test_metrics *f, struct gate_answers *a, struct error *err)
{
    struct gate_answers hard_negatives;
    int rc = gate_eval(t, SPLIT_TEST, false, a, err);

    if (rc)
        return rc;
    if ((rc = gate_eval(t, SPLIT_TEST, true, &hard_negatives, err)) == 0) {
        gate_test_metrics_init(f, &t->model, a, &hard_negatives, t->mixture.n ? &t->mixture : NULL, t->run.set.seed);
        gate_answers_release(&hard_negatives);
    } else
        gate_answers_release(a);
    return rc;
}

int gate_report(struct gate_trainer *t, struct error *err)
{
    struct gate_test_metrics f;
    struct gate_answers a;
    int rc = find(t, &f, &a, err);

    if (rc)
        return rc;
    gate_test_metrics_probe(&f, &t->records, PROBE_CONTRAST);
    gate_test_metrics_print(&f);
    rc = write_json(t, &f, err) || write_page(t, &f, &a, err) ? -1 : 0;
    gate_answers_release(&a);
    return rc;
}
