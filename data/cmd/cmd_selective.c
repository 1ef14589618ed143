/* Part of commands.h: ambit-data selective. */
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/records.h"
#include "data/base/report.h"
#include "data/base/risk_coverage.h"
#include "data/base/stats.h"
#include "data/base/strings.h"
#include "data/cmd/commands.h"

#include <math.h>
#include <stdlib.h>

struct selective_request {
    const char *predictions; /* {"id", "score"} of ambit-infer detect: probability of ambiguity */
    const char *scored;      /* {"id", FIELD} of ambit-data score --per-example */
    const char *field;       /* field that is true or 1 if the statement is right */
    const char *report;      /* report.html to write, or NULL */
    double threshold;        /* flag from this score on; NAN: by the field "ambiguous" */
    bool json;
};

enum { SELECTIVE_ROWS = 11 };
struct selective_point {
    double coverage, accuracy; /* NAN if nothing is answered */
    double p;                  /* p-value of skipping as many at random */
    int answered, right;
};
struct selective {
    struct selective_point rows[SELECTIVE_ROWS]; /* coverage 1, .95, .9, .8 ... .1 */
    struct selective_point flagged;              /* answers all unflagged questions */
    struct risk_curve curve;
    double random, best; /* AURC of a random order, which is the error rate, and of the right statements first */
    int n, right;
};

static const double coverages[SELECTIVE_ROWS] = { 1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1 };

static int clearest_first(const void *a, const void *b)
{
    double x = ((const struct risk_decision *)a)->margin, y = ((const struct risk_decision *)b)->margin;
    return (x < y) - (x > y);
}

static struct selective_point point_of(const struct selective *s, int answered, int right)
{
    return (struct selective_point){ .coverage = s->n ? (double)answered / s->n : 0,
                                     .accuracy = answered ? (double)right / answered : NAN,
                                     .p = stats_fisher(s->right - right, s->n - answered, s->right, s->n),
                                     .answered = answered,
                                     .right = right };
}

static double best_area(int n, int right)
{
    double sum = 0;

    for (int i = right + 1; i <= n; i++)
        sum += (double)(i - right) / i;
    return n ? sum / n : NAN;
}

/* Measures n questions by score, flag and correctness. The caller releases the curve. */
static void selective_measure(struct selective *s, const double *score, const bool *flagged, const bool *right, int n)
{
    struct risk_decision *r = xcalloc((size_t)n + 1, sizeof *r);
    int kept = 0, kept_right = 0;

    *s = (struct selective){ .n = n };
    for (int i = 0; i < n; i++) {
        r[i] = (struct risk_decision){ -score[i], right[i] };
        s->right += right[i];
        kept += !flagged[i];
        kept_right += !flagged[i] && right[i];
    }
    qsort(r, (size_t)n, sizeof *r, clearest_first);
    for (int i = 0, row_right; i < SELECTIVE_ROWS; i++) {
        int answered = risk_answered(r, n, coverages[i], &row_right);
        s->rows[i] = point_of(s, answered, row_right);
    }
    s->flagged = point_of(s, kept, kept_right);
    risk_curve_init(&s->curve, r, n);
    s->random = n ? 1 - (double)s->right / n : NAN;
    s->best = best_area(n, s->right);
    free(r);
}

/* Predictions and scored statements joined by id, and the output. */

struct selective_prediction {
    double score;
    bool flagged;
};

struct selective_join {
    const struct selective_request *q;
    struct strings ids, met; /* of predictions, of statements */
    struct selective_prediction *predictions;
    double *score;
    bool *flagged, *right;
    int predictions_cap, scores_cap, flagged_cap, n, left_out;
};

static int add_prediction(void *user, json_t *record, const char *where, struct error *err)
{
    struct selective_join *j = user;
    char number[RECORD_ID_TEXT];
    struct selective_prediction f = { 0 };
    int n = j->ids.n;

    if (json_object_get(record, "error"))
        return 0;
    if (record_get_real(record, "score", 0, 1, &f.score, where, err))
        return -1;
    if (isnan(j->q->threshold) && json_get_bool(record, "ambiguous", &f.flagged, where, err))
        return -1;
    f.flagged = isnan(j->q->threshold) ? f.flagged : f.score >= j->q->threshold;
    GROW(j->predictions, n, j->predictions_cap);
    if (strings_add(&j->ids, record_id_text(record, number)) != n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a new id, got that of an earlier prediction",
                         where);
    j->predictions[n] = f;
    return 0;
}

/* Accepts true and 1. */
static int read_right(const struct selective_join *j, const json_t *record, bool *right, const char *where,
                      struct error *err)
{
    const json_t *v = json_object_get(record, j->q->field);

    if (!json_is_boolean(v) && !json_is_number(v))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%.60s\" is %s, expected true, false or a number", where,
                         j->q->field, v ? json_type_name(v) : "missing");
    *right = json_is_number(v) ? json_number_value(v) >= 1 : json_is_true(v);
    return 0;
}

static int add_statement(void *user, json_t *record, const char *where, struct error *err)
{
    struct selective_join *j = user;
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(record, number);
    int at = strings_find(&j->ids, id), n = j->n;
    bool right = false;

    if (json_object_get(record, "error")) {
        j->left_out++;
        return 0;
    }
    if (at < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": %s has no prediction for \"%.100s\"", where,
                         j->q->predictions, id);
    if (strings_add(&j->met, id) != n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a new id, got \"%.100s\" again", where, id);
    if (read_right(j, record, &right, where, err))
        return -1;
    GROW(j->score, n, j->scores_cap);
    GROW(j->flagged, n, j->flagged_cap);
    j->right = xrealloc(j->right, (size_t)j->flagged_cap * sizeof *j->right);
    j->score[n] = j->predictions[at].score;
    j->flagged[n] = j->predictions[at].flagged;
    j->right[n] = right;
    j->n++;
    return 0;
}

static void print_point(const struct selective_point *p)
{
    printf("%-10.3f%-11d%-8d", p->coverage, p->answered, p->right);
    if (isnan(p->accuracy))
        printf("%-10s", "-");
    else
        printf("%-10.3f", p->accuracy);
    printf("%.4g\n", p->p);
}

static void print(const struct selective *s)
{
    printf("%d questions, %d correct\n%-10s%-11s%-8s%-10s%s\n", s->n, s->right, "coverage", "answered", "correct",
           "accuracy", "p-value of skipping at random");
    for (int i = 0; i < SELECTIVE_ROWS; i++)
        print_point(&s->rows[i]);
    printf("unflagged:\n");
    print_point(&s->flagged);
    printf("AURC %.4f; random order %.4f, best order %.4f\n", s->curve.area, s->random, s->best);
}

static json_t *point_json(const struct selective_point *p)
{
    return json_pack("{s:f, s:i, s:i, s:o, s:f}", "coverage", p->coverage, "answered", p->answered, "correct", p->right,
                     "accuracy", json_finite(p->accuracy), "p", p->p);
}

static int print_json(const struct selective *s, struct error *err)
{
    json_t *rows = json_array();

    for (int i = 0; i < SELECTIVE_ROWS; i++)
        json_array_append_new(rows, point_json(&s->rows[i]));
    json_t *o = json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "questions", s->n, "correct", s->right, "rows", rows,
                          "unflagged", point_json(&s->flagged), "aurc", json_finite(s->curve.area), "random",
                          json_finite(s->random), "best", json_finite(s->best));
    int rc = json_write_file("-", o, err);
    json_decref(o);
    return rc;
}

static int write_report(const struct selective *s, const char *path, struct error *err)
{
    const double ends[] = { 0, 1 }, all[] = { s->random, s->random };
    const double at[] = { s->flagged.coverage, s->flagged.coverage }, point[] = { 1 - s->flagged.accuracy, s->random };
    const struct curve curves[] = {
        { "by the detector", s->curve.coverage, s->curve.risk, s->curve.points, NULL, NULL },
        { "a random order", ends, all, 2, NULL, NULL },
        { "without the flagged", at, point, isnan(s->flagged.accuracy) ? 0 : 2, NULL, NULL },
    };
    char text[256];
    struct report r;

    if (report_open(&r, path, "Statements behind a detector", err))
        return -1;
    snprintf(text, sizeof text,
             "%d questions, %d right statements. Without the flagged: %d answered, %d right, one-sided Fisher p %.4g. "
             "AURC %.4f, of a random order %.4f, of the best %.4f.",
             s->n, s->right, s->flagged.answered, s->flagged.right, s->flagged.p, s->curve.area, s->random, s->best);
    report_text(&r, text);
    report_curves(&r, "Share of wrong statements among the questions that are answered", "coverage", curves,
                  ARRAY_LEN(curves));
    return report_close(&r, err);
}

static int tell(const struct selective_join *j, struct error *err)
{
    struct selective s;

    if (j->left_out)
        log_warn("%s: %d records with an error omitted", j->q->scored, j->left_out);
    if (!j->n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected scored statements, got none", j->q->scored);
    selective_measure(&s, j->score, j->flagged, j->right, j->n);
    int rc = j->q->report ? write_report(&s, j->q->report, err) : 0;
    if (rc == 0 && j->q->json)
        rc = print_json(&s, err);
    else if (rc == 0)
        print(&s);
    risk_curve_release(&s.curve);
    return rc;
}

/* Prints the table or one object. -1 with EXIT_CODE_DATA: a statement without a prediction, or a duplicate id. */
static int selective_run(const struct selective_request *q, struct error *err)
{
    struct selective_join j = { .q = q };
    int rc = records_each_as_is(q->predictions, RECORDS_AUTO, add_prediction, &j, err) ||
                     records_each_as_is(q->scored, RECORDS_AUTO, add_statement, &j, err) || tell(&j, err)
                 ? -1
                 : 0;

    strings_release(&j.ids);
    strings_release(&j.met);
    free(j.predictions);
    free(j.score);
    free(j.flagged);
    free(j.right);
    return rc;
}

static const struct selective_request defaults = { .field = "one_found", .threshold = NAN };

#define AT(field) offsetof(struct selective_request, field)

static const struct option options[] = {
    STRING_OPTION("predictions", AT(predictions), "FILE", "output of `ambit-infer detect`: id and score",
                  .required = true, .group = "input"),
    STRING_OPTION("scored", AT(scored), "FILE", "output of `score --per-example`: id and --field", .required = true),
    STRING_OPTION("field", AT(field), "NAME", "field that is true or 1 if the statement is right"),
    REAL_OPTION("threshold", AT(threshold), "P", 0, 1, "flag from this score on (default: field \"ambiguous\")"),
    FLAG_OPTION("json", AT(json), "print one JSON object", .group = "output"),
    STRING_OPTION("report", AT(report), "FILE.html", "write a page with the risk-coverage curve", .writes = true),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    return selective_run(call->options, err) ? err->code : EXIT_CODE_OK;
}

const struct command command_selective = {
    .name = "selective",
    .summary = "measure the accuracy of unflagged statements, by coverage",
    OPTIONS(options, defaults),
    .details = "Orders questions by ambiguity score, clearest first. Prints the accuracy at several coverages, the "
               "p-value of skipping as many questions at random (Fisher's exact test, one-sided), the same for "
               "unflagged questions, and the area under the risk-coverage curve (AURC) beside that of a random and "
               "of the best order. Guide: docs/guides/score.md.",
    .examples = { "ambit-data selective --predictions detected.jsonl --scored each.jsonl",
                  "ambit-data selective --predictions detected.jsonl --scored each.jsonl --threshold 0.5 --report curve.html" },
    .run = run,
};
