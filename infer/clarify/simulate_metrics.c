/* Part of simulate.h: how good dialogues were. */
#include "infer/clarify/simulate.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 1000 };

static double mean(struct scored s, const void *arg)
{
    double sum = 0;

    (void)arg;
    for (int i = 0; i < s.n; i++)
        sum += s.score[i];
    return s.n ? sum / s.n : NAN;
}

typedef double measure_fn(const struct outcome *o, int turns);

static double is_right(const struct outcome *o, int turns)
{
    return o->right[turns];
}

static double area(const struct outcome *o, int turns)
{
    double sum = 0;
    for (int k = 0; k <= turns; k++)
        sum += o->right[k];
    return sum / (turns + 1);
}

static double gives(const struct outcome *o, int turns)
{
    return o->executed ? o->gives[turns] : (double)NAN;
}

static double gives_area(const struct outcome *o, int turns)
{
    double sum = 0;
    for (int k = 0; k <= turns; k++)
        sum += gives(o, k);
    return sum / (turns + 1);
}

static double is_reachable(const struct outcome *o, int turns)
{
    (void)turns;
    return o->executed ? o->reachable : (double)NAN;
}

static double questions(const struct outcome *o, int turns)
{
    (void)turns;
    return o->turns;
}

static double is_covered(const struct outcome *o, int turns)
{
    (void)turns;
    return o->covered;
}

static double is_handed_over(const struct outcome *o, int turns)
{
    (void)turns;
    return o->handed_over;
}

static double is_contradicted(const struct outcome *o, int turns)
{
    (void)turns;
    return o->contradicted;
}

static double overhead(const struct outcome *o, int turns)
{
    (void)turns;
    return o->unambiguous ? (double)o->turns : (double)NAN;
}

static json_t *number(double x)
{
    return isnan(x) ? json_null() : json_real(round(x * 1e6) / 1e6);
}

/* Of a dialogue, less that of the other strategy's; NAN when the measure is not known. */
static double measured(measure_fn *measure, int turns, const struct outcome *o, const struct outcome *other)
{
    return measure(o, turns) - (other ? measure(other, turns) : 0);
}

/* The mean over dialogues that have the measure; those of one record are drawn together for the interval. */
static json_t *mean_json(const struct simulation *s, const struct simulation *other, measure_fn *measure, int turns)
{
    double *values = xmalloc((size_t)s->n * sizeof *values + 1);
    uint8_t *labels = xcalloc((size_t)s->n + 1, 1);
    int *group = xmalloc((size_t)s->n * sizeof *group + 1), n = 0, groups = 0, record = -1;

    for (int i = 0; i < s->n; i++) {
        values[n] = measured(measure, turns, &s->list[i], other ? &other->list[i] : NULL);
        if (isnan(values[n]))
            continue;
        groups += s->list[i].record != record;
        record = s->list[i].record;
        group[n++] = groups - 1;
    }
    struct scored all = { values, labels, n };
    struct bootstrap how = { group, groups, ROUNDS, 0.95, 1 };
    struct interval between = n ? stats_bootstrap(all, mean, NULL, &how) : (struct interval){ NAN, NAN };
    json_t *o = json_pack("{s:o, s:o, s:o, s:i}", "mean", number(mean(all, NULL)), "low", number(between.low), "high",
                          number(between.high), "n", n);
    free(values);
    free(labels);
    free(group);
    return o;
}

static json_t *curve_json(const struct simulation *s, const struct simulation *other, measure_fn *measure,
                          int max_turns)
{
    json_t *curve = json_array();

    for (int k = 0; k <= max_turns; k++)
        json_array_append_new(curve, mean_json(s, other, measure, k));
    return curve;
}

static int compare_numbers(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static json_t *percentile_95(const struct simulation *s)
{
    int *turns = xmalloc((size_t)s->n * sizeof *turns + 1), n = 0;

    for (int i = 0; i < s->n; i++)
        turns[n++] = s->list[i].turns;
    if (n)
        qsort(turns, (size_t)n, sizeof *turns, compare_numbers);
    json_t *o = n ? json_integer(turns[(n * 95 + 99) / 100 - 1]) : json_null();
    free(turns);
    return o;
}

/* Of the questions that were asked. */
static json_t *useless_share(const struct simulation *s)
{
    double asked = 0, useless = 0;

    for (int i = 0; i < s->n; i++) {
        asked += s->list[i].turns;
        useless += s->list[i].useless;
    }
    return number(asked > 0 ? useless / asked : NAN);
}

/* The caller frees both arrays. */
static struct scored confidences(const struct simulation *s)
{
    double *confidence = xmalloc((size_t)s->n * sizeof *confidence + 1);
    uint8_t *right = xmalloc((size_t)s->n + 1);
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        confidence[n] = fmin(1, s->list[i].confidence);
        right[n++] = s->list[i].right[s->list[i].turns];
    }
    return (struct scored){ confidence, right, n };
}

static void release_scored(struct scored *s)
{
    free((void *)(uintptr_t)s->score);
    free((void *)(uintptr_t)s->label);
}

struct reliability simulation_reliability(const struct simulation *s)
{
    struct scored all = confidences(s);
    struct reliability bins = stats_reliability(all);

    release_scored(&all);
    return bins;
}

static json_t *calibration(const struct simulation *s)
{
    struct scored all = confidences(s);
    struct reliability bins = stats_reliability(all);
    json_t *list = json_array();

    for (int b = 0; b < STATS_BINS; b++)
        if (bins.n[b])
            json_array_append_new(list, json_pack("{s:i, s:o, s:o}", "n", bins.n[b], "confidence",
                                                  number(bins.confidence[b]), "right", number(bins.accuracy[b])));
    json_t *o = json_pack("{s:o, s:o, s:o}", "ece", number(all.n ? stats_ece(&bins) : NAN), "brier",
                          number(all.n ? stats_brier(all) : NAN), "bins", list);
    release_scored(&all);
    return o;
}

json_t *simulation_metrics(const struct simulation *s, int max_turns)
{
    bool executed = s->n && s->list[0].executed;
    json_t *o = json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "dialogues", s->n,
                          "gold_errors", s->gold_errors, "accuracy", curve_json(s, NULL, is_right, max_turns), "area",
                          mean_json(s, NULL, area, max_turns), "questions", mean_json(s, NULL, questions, 0),
                          "questions_95", percentile_95(s), "coverage", mean_json(s, NULL, is_covered, 0),
                          "handed_over", mean_json(s, NULL, is_handed_over, 0), "contradicted",
                          mean_json(s, NULL, is_contradicted, 0), "useless", useless_share(s), "overhead",
                          mean_json(s, NULL, overhead, 0), "calibration", calibration(s));
    if (executed) {
        json_object_set_new(o, "execution_accuracy", curve_json(s, NULL, gives, max_turns));
        json_object_set_new(o, "execution_area", mean_json(s, NULL, gives_area, max_turns));
        json_object_set_new(o, "execution_coverage", mean_json(s, NULL, is_reachable, 0));
    }
    return o;
}

json_t *simulation_difference(const struct simulation *s, const struct simulation *other, int max_turns)
{
    CHECK(s->n == other->n, "%d and %d dialogues", s->n, other->n);
    json_t *o = json_pack("{s:o, s:o, s:o}", "accuracy", curve_json(s, other, is_right, max_turns), "area",
                          mean_json(s, other, area, max_turns), "questions", mean_json(s, other, questions, 0));
    if (s->n && s->list[0].executed)
        json_object_set_new(o, "execution_area", mean_json(s, other, gives_area, max_turns));
    return o;
}

void simulation_release(struct simulation *s)
{
    free(s->list);
    *s = (struct simulation){ 0 };
}
