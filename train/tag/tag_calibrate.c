/* Part of tag_trainer.h: the temperature of probabilities and the threshold of spans, from validation records. */
#include "data/util/log.h"
#include "train/tag/tag_trainer_impl.h"

#include <math.h>
#include <stdlib.h>

static const double temperatures[] = { 0.5, 0.7, 0.85, 1, 1.25, 1.6, 2, 2.5, 3.2, 4 };
static const double thresholds[] = { 0, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95 };
static const double ALIKE = 0.01; /* figures that differ by less */
static const double LEAST = 1e-6; /* of a probability, that one mistake does not decide */

/* Mean of -log of what was said of whether the question has a problem. */
static int problem_nll(struct tag_trainer *t, int n, double *nll, struct error *err)
{
    struct tag_answer *answers = xcalloc((size_t)n + 1, sizeof *answers);
    int rc = tag_answers(t, FOLD_VALID, n, answers, err);

    *nll = 0;
    for (int i = 0; i < n; i++) {
        bool problem = span_record_is_problem(t->data.folds[FOLD_VALID].list[i].record);
        double p = fmin(fmax(answers[i].problem, LEAST), 1 - LEAST);
        *nll -= log(problem ? p : 1 - p) / n;
        tag_answer_release(&answers[i]);
    }
    free(answers);
    return rc;
}

/* The highest of those whose figures are like the best one's: tables not seen yet have more false alarms than these. */
static int choose_threshold(struct tag_trainer *t, struct error *err)
{
    double figures[ARRAY_LEN(thresholds)], best = -INFINITY;
    int rc = 0;

    for (int i = 0; i < ARRAY_LEN(thresholds) && rc == 0; i++) {
        struct validation v = { 0 };
        t->tagger.settings.threshold = thresholds[i];
        rc = tag_validate(t, &v, err);
        figures[i] = v.figure;
        best = fmax(best, v.figure);
    }
    for (int i = 0; i < ARRAY_LEN(thresholds) && rc == 0; i++)
        if (figures[i] >= best - ALIKE)
            t->model.spec.threshold = thresholds[i];
    return rc;
}

int tag_calibrate(struct tag_trainer *t, int n, struct error *err)
{
    struct dte_decode_settings *s = &t->tagger.settings;
    double least = INFINITY;
    int rc = 0;

    s->threshold = 0;
    for (int i = 0; i < ARRAY_LEN(temperatures) && rc == 0; i++) {
        double nll;
        s->temperature = temperatures[i];
        rc = problem_nll(t, n, &nll, err);
        if (rc == 0 && nll < least) {
            least = nll;
            t->model.spec.temperature = temperatures[i];
        }
    }
    s->temperature = t->model.spec.temperature;
    rc = rc ? rc : choose_threshold(t, err);
    s->threshold = t->model.spec.threshold;
    if (rc == 0)
        log_info("calibrated on %d validation records: temperature %g, threshold %g", n, s->temperature, s->threshold);
    return rc;
}
