#include "data/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scored_example {
    double score;
    int label;
};

static int falling(const void *a, const void *b)
{
    double x = ((const struct scored_example *)a)->score, y = ((const struct scored_example *)b)->score;
    return (x < y) - (x > y);
}

/* The examples from the highest score down.  The caller frees. */
static struct scored_example *sorted(struct scored s)
{
    struct scored_example *p = xmalloc((size_t)s.n * sizeof *p);
    for (int i = 0; i < s.n; i++) {
        CHECK(!isnan(s.score[i]) && s.label[i] <= 1, "example %d: score %g, label %d", i, s.score[i], s.label[i]);
        p[i] = (struct scored_example){ s.score[i], s.label[i] };
    }
    qsort(p, (size_t)s.n, sizeof *p, falling);
    return p;
}

/* Moves *i behind the examples that share its score; counts them by label. */
static void take_ties(const struct scored_example *p, int n, int *i, int64_t *positives, int64_t *negatives)
{
    double score = p[*i].score;
    *positives = *negatives = 0;
    for (; *i < n && p[*i].score == score; ++*i) {
        *positives += p[*i].label;
        *negatives += !p[*i].label;
    }
}

static int64_t positives_of(struct scored s)
{
    int64_t n = 0;
    for (int i = 0; i < s.n; i++)
        n += s.label[i];
    return n;
}

double stats_average_precision(struct scored s)
{
    int64_t all = positives_of(s), tp = 0, fp = 0, more, less;
    double area = 0;
    if (all == 0)
        return NAN;
    struct scored_example *p = sorted(s);
    for (int i = 0; i < s.n;) {
        take_ties(p, s.n, &i, &more, &less);
        tp += more;
        fp += less;
        area += (double)more / (double)all * ((double)tp / (double)(tp + fp));
    }
    free(p);
    return area;
}

double stats_auc(struct scored s)
{
    int64_t all = positives_of(s), none = s.n - all, above = 0, more, less;
    double wins = 0;
    if (all == 0 || none == 0)
        return NAN;
    struct scored_example *p = sorted(s);
    for (int i = 0; i < s.n;) {
        take_ties(p, s.n, &i, &more, &less);
        wins += (double)less * ((double)above + 0.5 * (double)more);
        above += more;
    }
    free(p);
    return wins / ((double)all * (double)none);
}

struct confusion stats_confusion(struct scored s, double threshold)
{
    struct confusion c = { 0 };
    for (int i = 0; i < s.n; i++) {
        bool yes = s.score[i] >= threshold;
        c.tp += yes && s.label[i];
        c.fp += yes && !s.label[i];
        c.fn += !yes && s.label[i];
        c.tn += !yes && !s.label[i];
    }
    return c;
}

static double ratio(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

struct decision stats_decision(struct confusion c)
{
    return (struct decision){ .accuracy = ratio(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn),
                              .precision = ratio(c.tp, c.tp + c.fp),
                              .recall = ratio(c.tp, c.tp + c.fn),
                              .f1 = ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn) };
}

double stats_macro_f1(struct confusion c)
{
    struct confusion no = { .tp = c.tn, .tn = c.tp, .fp = c.fn, .fn = c.fp };

    return (stats_decision(c).f1 + stats_decision(no).f1) / 2;
}

struct confusion stats_always_yes(struct confusion c)
{
    return (struct confusion){ .tp = c.tp + c.fn, .fp = c.fp + c.tn };
}

/* The best F1 of a threshold above `least`. */
static double best_f1_above(struct scored s, double least, double *f1)
{
    int64_t tp = 0, fp = 0, more, less, all = positives_of(s);
    double threshold = isfinite(least) ? nextafter(least, HUGE_VAL) : 0, best = -1;
    struct scored_example *p = sorted(s);
    for (int i = 0; i < s.n && p[i].score > least;) {
        double score = p[i].score;
        take_ties(p, s.n, &i, &more, &less);
        tp += more;
        fp += less;
        double here = ratio(2 * tp, tp + fp + all), below = fmax(i < s.n ? p[i].score : -HUGE_VAL, least);
        if (here >= best) {
            best = here;
            threshold = isfinite(below) ? score / 2 + below / 2 : score;
            if (threshold <= below) /* neighbours with no number between */
                threshold = score;
        }
    }
    free(p);
    if (f1)
        *f1 = s.n ? fmax(best, 0) : NAN;
    return threshold;
}

double stats_best_f1(struct scored s, double *f1)
{
    return best_f1_above(s, -HUGE_VAL, f1);
}

double stats_best_f1_quiet(struct scored s, struct scored quiet, double most, double *f1)
{
    int allowed = (int)floor(most * quiet.n);
    if (allowed >= quiet.n)
        return stats_best_f1(s, f1);
    struct scored_example *p = sorted(quiet);
    double least = p[allowed].score;
    free(p);
    return best_f1_above(s, least, f1);
}

double stats_brier(struct scored s)
{
    double sum = 0;
    for (int i = 0; i < s.n; i++)
        sum += (s.score[i] - s.label[i]) * (s.score[i] - s.label[i]);
    return s.n ? sum / s.n : NAN;
}

struct reliability stats_reliability(struct scored s)
{
    struct reliability r = { 0 };
    for (int i = 0; i < s.n; i++) {
        CHECK(s.score[i] >= 0 && s.score[i] <= 1, "example %d: %g is no probability", i, s.score[i]);
        int b = (int)fmin(s.score[i] * STATS_BINS, STATS_BINS - 1);
        r.n[b]++;
        r.confidence[b] += s.score[i];
        r.accuracy[b] += s.label[i];
    }
    for (int b = 0; b < STATS_BINS; b++)
        if (r.n[b]) {
            r.confidence[b] /= r.n[b];
            r.accuracy[b] /= r.n[b];
        }
    return r;
}

double stats_ece(const struct reliability *r)
{
    double sum = 0;
    int n = 0;
    for (int b = 0; b < STATS_BINS; b++) {
        n += r->n[b];
        sum += r->n[b] * fabs(r->accuracy[b] - r->confidence[b]);
    }
    return n ? sum / n : NAN;
}

double stats_softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

double stats_nll(struct scored logits, double temperature)
{
    double sum = 0;
    for (int i = 0; i < logits.n; i++) {
        double z = logits.score[i] / temperature;
        sum += stats_softplus(logits.label[i] ? -z : z);
    }
    return logits.n ? sum / logits.n : NAN;
}

/* Golden section over log t: the likelihood is convex in 1/t, so it has one valley in log t too. */
double stats_fit_temperature(struct scored logits)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = log(0.05), high = log(20);
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = stats_nll(logits, exp(a)), at_b = stats_nll(logits, exp(b));
    if (logits.n == 0)
        return 1;
    while (high - low > 1e-7) {
        if (at_a <= at_b) {
            high = b;
            b = a, at_b = at_a;
            a = high - golden * (high - low);
            at_a = stats_nll(logits, exp(a));
        } else {
            low = a;
            a = b, at_a = at_b;
            b = low + golden * (high - low);
            at_b = stats_nll(logits, exp(b));
        }
    }
    return exp((low + high) / 2);
}
