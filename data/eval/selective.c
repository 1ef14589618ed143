#include "data/eval/selective.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/records.h"
#include "data/base/report.h"
#include "data/base/risk_coverage.h"
#include "data/base/stats.h"
#include "data/base/strings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct selective {
    struct risk_row rows[RISK_ROWS];
    struct risk_row unflagged; /* answers all unflagged questions */
    struct risk_curve curve;
    double random, best; /* AURC of a random order, which is the error rate, and of the right statements first */
    int n, right;
};

/* p-value of skipping as many questions at random (Fisher's exact test, one-sided). */
static double p_value(const struct selective *s, const struct risk_row *r)
{
    return stats_fisher(s->right - r->right, s->n - r->answered, s->right, s->n);
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
    risk_sort(r, n);
    risk_rows(s->rows, r, n);
    s->unflagged = risk_row_of(kept, kept_right, n);
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

/* Reads a line of `ambit-infer detect` (score, ambiguous), or of `ambit-infer tag` (problem, status). */
static int read_prediction(const struct selective_join *j, struct selective_prediction *f, const json_t *record,
                           const char *where, struct error *err)
{
    bool tagged = json_object_get(record, "status") != NULL, by_field = isnan(j->q->threshold);

    if (record_get_real(record, tagged ? "problem" : "score", 0, 1, &f->score, where, err))
        return -1;
    if (by_field && tagged) {
        const json_t *status = json_get_array(record, "status", where, err);
        f->flagged = json_array_size(status) > 0;
        return status ? 0 : -1;
    }
    if (by_field)
        return json_get_bool(record, "ambiguous", &f->flagged, where, err);
    f->flagged = f->score >= j->q->threshold;
    return 0;
}

static int add_prediction(void *user, json_t *record, const char *where, struct error *err)
{
    struct selective_join *j = user;
    char number[RECORD_ID_TEXT];
    struct selective_prediction f = { 0 };
    int n = j->ids.n;

    if (json_object_get(record, "error"))
        return 0;
    if (read_prediction(j, &f, record, where, err))
        return -1;
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

static void print_row(const struct selective *s, const struct risk_row *r)
{
    char p[32];

    snprintf(p, sizeof p, "%.4g", p_value(s, r));
    risk_print_row(r, p);
}

static void print(const struct selective *s)
{
    printf("%d questions, %d correct\n", s->n, s->right);
    risk_print_titles("p-value of skipping at random");
    for (int i = 0; i < RISK_ROWS; i++)
        print_row(s, &s->rows[i]);
    printf("unflagged:\n");
    print_row(s, &s->unflagged);
    printf("AURC %.4f; random order %.4f, best order %.4f\n", s->curve.area, s->random, s->best);
}

static json_t *row_json(const struct selective *s, const struct risk_row *r)
{
    json_t *o = risk_row_json(r);

    json_object_set_new(o, "p", json_real(p_value(s, r)));
    return o;
}

static int print_json(const struct selective *s, struct error *err)
{
    json_t *rows = json_array();

    for (int i = 0; i < RISK_ROWS; i++)
        json_array_append_new(rows, row_json(s, &s->rows[i]));
    json_t *o = json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "questions", s->n, "correct", s->right, "rows", rows,
                          "unflagged", row_json(s, &s->unflagged), "aurc", json_finite(s->curve.area), "random",
                          json_finite(s->random), "best", json_finite(s->best));
    int rc = json_write_file("-", o, err);
    json_decref(o);
    return rc;
}

/* Compares the questions that the detector does not flag with all. */
static void tell_verdict(const struct selective *s, char text[256])
{
    const struct risk_row *kept = &s->unflagged;

    if (!s->n || !kept->answered)
        snprintf(text, 256, "The detector flags all %d questions: no statement remains.", s->n);
    else
        snprintf(
            text, 256,
            "Of the %d questions that the detector does not flag, %.1f %% have a right statement; of all %d, %.1f %% "
            "have one (one-sided Fisher p %.2g).",
            kept->answered, 100 * kept->accuracy, s->n, 100.0 * s->right / s->n, p_value(s, kept));
}

static int write_report(const struct selective *s, const char *path, struct error *err)
{
    const double ends[] = { 0, 1 }, all[] = { s->random, s->random };
    const double at[] = { s->unflagged.coverage, s->unflagged.coverage },
                 point[] = { 1 - s->unflagged.accuracy, s->random };
    const struct curve curves[] = {
        { "by the detector", s->curve.coverage, s->curve.risk, s->curve.points, NULL, NULL },
        { "a random order", ends, all, 2, NULL, NULL },
        { "without the flagged", at, point, isnan(s->unflagged.accuracy) ? 0 : 2, NULL, NULL },
    };
    char text[256];
    struct report r;

    tell_verdict(s, text);
    if (report_open(&r, path, "Statements behind a detector", text, err))
        return -1;
    snprintf(text, sizeof text, "AURC %.4f, of a random order %.4f, of the best order %.4f.", s->curve.area, s->random,
             s->best);
    report_text(&r, text);
    report_curves(&r, "Share of wrong statements among the questions that are answered", "coverage", "share wrong",
                  curves, ARRAY_LEN(curves));
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

int selective_run(const struct selective_request *q, struct error *err)
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
