/* Part of selective.h: findings and scored statements met by id, and what is told of them. */
#include "data/score/selective.h"

#include "data/report/report.h"
#include "data/util/log.h"
#include "data/util/records.h"
#include "data/util/strings.h"

#include <math.h>
#include <stdlib.h>

struct selective_finding {
    double score;
    bool flagged;
};

struct selective_join {
    const struct selective_request *q;
    struct strings ids, met; /* of findings, of statements */
    struct selective_finding *findings;
    double *score;
    bool *flagged, *right;
    int findings_cap, scores_cap, flagged_cap, n, left_out;
};

static int add_finding(void *user, json_t *record, const char *where, struct error *err)
{
    struct selective_join *j = user;
    char number[RECORD_ID_TEXT];
    struct selective_finding f = { 0 };
    int n = j->ids.n;

    if (json_object_get(record, "error"))
        return 0;
    if (record_get_real(record, "score", 0, 1, &f.score, where, err))
        return -1;
    if (isnan(j->q->threshold) && json_get_bool(record, "ambiguous", &f.flagged, where, err))
        return -1;
    f.flagged = isnan(j->q->threshold) ? f.flagged : f.score >= j->q->threshold;
    GROW(j->findings, n, j->findings_cap);
    if (strings_add(&j->ids, record_id_text(record, number)) != n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": a finding of this id came before", where);
    j->findings[n] = f;
    return 0;
}

/* true, or 1 */
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
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": %s has no finding of \"%.100s\"", where,
                         j->q->findings, id);
    if (strings_add(&j->met, id) != n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": \"%.100s\" came before", where, id);
    if (read_right(j, record, &right, where, err))
        return -1;
    GROW(j->score, n, j->scores_cap);
    GROW(j->flagged, n, j->flagged_cap);
    j->right = xrealloc(j->right, (size_t)j->flagged_cap * sizeof *j->right);
    j->score[n] = j->findings[at].score;
    j->flagged[n] = j->findings[at].flagged;
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
    printf("%d questions, %d right\n%-10s%-11s%-8s%-10s%s\n", s->n, s->right, "coverage", "answered", "right",
           "accuracy", "chance that skipping at random does as well");
    for (int i = 0; i < SELECTIVE_ROWS; i++)
        print_point(&s->rows[i]);
    printf("without those that are flagged:\n");
    print_point(&s->flagged);
    printf("mean error over all coverages (AURC) %.4f; of a random order %.4f, of the best %.4f\n", s->area, s->random,
           s->best);
}

static json_t *point_json(const struct selective_point *p)
{
    return json_pack("{s:f, s:i, s:i, s:o, s:f}", "coverage", p->coverage, "answered", p->answered, "right", p->right,
                     "accuracy", json_finite(p->accuracy), "p", p->p);
}

static int print_json(const struct selective *s, struct error *err)
{
    json_t *rows = json_array();

    for (int i = 0; i < SELECTIVE_ROWS; i++)
        json_array_append_new(rows, point_json(&s->rows[i]));
    json_t *o = json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "questions", s->n, "right", s->right, "rows", rows,
                          "unflagged", point_json(&s->flagged), "aurc", json_finite(s->area), "random",
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
        { "by the detector", s->coverage, s->error, s->points, NULL, NULL },
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
             s->n, s->right, s->flagged.answered, s->flagged.right, s->flagged.p, s->area, s->random, s->best);
    report_text(&r, text);
    report_curves(&r, "Share of wrong statements among the questions that are answered", "coverage", curves,
                  ARRAY_LEN(curves));
    return report_close(&r, err);
}

static int tell(const struct selective_join *j, struct error *err)
{
    struct selective s;

    if (j->left_out)
        log_warn("%s: %d records with an error are left out", j->q->scored, j->left_out);
    if (!j->n)
        return error_set(err, EXIT_CODE_DATA, "%s: holds no statement that was scored", j->q->scored);
    selective_measure(&s, j->score, j->flagged, j->right, j->n);
    int rc = j->q->report ? write_report(&s, j->q->report, err) : 0;
    if (rc == 0 && j->q->json)
        rc = print_json(&s, err);
    else if (rc == 0)
        print(&s);
    selective_release(&s);
    return rc;
}

int selective_run(const struct selective_request *q, struct error *err)
{
    struct selective_join j = { .q = q };
    int rc = records_each_as_is(q->findings, RECORDS_AUTO, add_finding, &j, err) ||
                     records_each_as_is(q->scored, RECORDS_AUTO, add_statement, &j, err) || tell(&j, err)
                 ? -1
                 : 0;

    strings_release(&j.ids);
    strings_release(&j.met);
    free(j.findings);
    free(j.score);
    free(j.flagged);
    free(j.right);
    return rc;
}
