#include "data/base/stats.h"

#include "kernels/rng.h"

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

/* The examples by descending score.  The caller frees the array. */
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

/* Advances *i past the examples with the same score and counts them by label. */
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

static int64_t total(struct confusion c)
{
    return c.tp + c.fp + c.fn + c.tn;
}

/* Exchanges the roles of "yes" and "no". */
static struct confusion exchanged(struct confusion c)
{
    return (struct confusion){ .tp = c.tn, .tn = c.tp, .fp = c.fn, .fn = c.fp };
}

static double f1_of(struct confusion c)
{
    return ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn);
}

#define METRIC_NAME(constant, field, title, definition, value) { field, title },
const struct stats_metric_name stats_metric_names[STATS_METRICS] = { STATS_METRIC_LIST(METRIC_NAME) };

#define METRIC_CASE(constant, field, title, definition, value)                                                         \
    case STATS_##constant:                                                                                             \
        return value;
double stats_metric(struct confusion c, enum stats_metric metric)
{
    switch (metric) {
        STATS_METRIC_LIST(METRIC_CASE)
    default:
        CHECK(false, "metric %d of %d", (int)metric, STATS_METRICS);
    }
}

struct confusion stats_always_yes(struct confusion c)
{
    return (struct confusion){ .tp = c.tp + c.fn, .fp = c.fp + c.tn };
}

/* The threshold above min with the best F1. */
static double best_f1_above(struct scored s, double min, double *f1)
{
    int64_t tp = 0, fp = 0, more, less, all = positives_of(s);
    double threshold = isfinite(min) ? nextafter(min, HUGE_VAL) : 0, best = -1;
    struct scored_example *p = sorted(s);
    for (int i = 0; i < s.n && p[i].score > min;) {
        double score = p[i].score;
        take_ties(p, s.n, &i, &more, &less);
        tp += more;
        fp += less;
        double here = ratio(2 * tp, tp + fp + all), below = fmax(i < s.n ? p[i].score : -HUGE_VAL, min);
        if (here >= best) {
            best = here;
            threshold = isfinite(below) ? score / 2 + below / 2 : score;
            if (threshold <= below) /* there is no number between neighbouring doubles */
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

double stats_best_f1_quiet(struct scored s, struct scored quiet, double max_share, double *f1)
{
    int allowed = (int)floor(max_share * quiet.n);
    if (allowed >= quiet.n)
        return stats_best_f1(s, f1);
    struct scored_example *p = sorted(quiet);
    double min = p[allowed].score;
    free(p);
    return best_f1_above(s, min, f1);
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

/* Golden-section search over log t.  The likelihood is convex in 1/t, so it has one minimum in log t as well. */
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

/* Binomial and hypergeometric distributions. */

enum { HALVINGS = 60 };

/* P(X <= k), summed from k down. k is at most the mean, so the terms decrease. */
static double at_most(int64_t k, int64_t n, double p)
{
    double x = (double)k, m = (double)n;
    double term = exp(lgamma(m + 1) - lgamma(x + 1) - lgamma(m - x + 1) + x * log(p) + (m - x) * log1p(-p)), sum = term;

    for (; x > 0 && term > sum * 1e-17; x--) {
        term *= x * (1 - p) / ((m - x + 1) * p);
        sum += term;
    }
    return sum;
}

double stats_binomial_upper(int64_t k, int64_t n, double alpha)
{
    double low = n ? (double)k / (double)n : 1, high = 1;

    CHECK(k >= 0 && k <= n && alpha > 0 && alpha < 1, "%lld of %lld at %g", (long long)k, (long long)n, alpha);
    if (k == n)
        return 1;
    for (int i = 0; i < HALVINGS; i++) {
        double p = (low + high) / 2;
        *(at_most(k, n, p) >= alpha ? &low : &high) = p;
    }
    return high;
}

static double log_choose(int64_t n, int64_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double stats_fisher(int64_t k, int64_t drawn, int64_t marked, int64_t n)
{
    double sum = 0;

    CHECK(k >= 0 && drawn >= 0 && drawn <= n && marked >= 0 && marked <= n, "%lld of %lld, %lld of %lld", (long long)k,
          (long long)drawn, (long long)marked, (long long)n);
    for (int64_t i = k; i >= 0 && drawn - i <= n - marked; i--)
        if (i <= drawn && i <= marked)
            sum += exp(log_choose(marked, i) + log_choose(n - marked, drawn - i) - log_choose(n, drawn));
    return fmin(sum, 1);
}

/* Bootstrap. */

/* Examples by group: group g has order[first[g]] to order[first[g + 1] - 1]. */
struct group_index {
    int *order, *first, n;
};

static struct group_index gather(int n, const struct bootstrap *how)
{
    struct group_index g = { .n = how->group ? how->n_groups : n };
    g.order = xmalloc((size_t)n * sizeof *g.order);
    g.first = xcalloc((size_t)g.n + 1, sizeof *g.first);
    for (int i = 0; i < n; i++) {
        int which = how->group ? how->group[i] : i;
        CHECK(which >= 0 && which < g.n, "example %d is in group %d of %d", i, which, g.n);
        g.first[which + 1]++;
    }
    for (int k = 0; k < g.n; k++)
        g.first[k + 1] += g.first[k];
    int *next = xmalloc((size_t)g.n * sizeof *next);
    for (int k = 0; k < g.n; k++)
        next[k] = g.first[k];
    for (int i = 0; i < n; i++)
        g.order[next[how->group ? how->group[i] : i]++] = i;
    free(next);
    return g;
}

/* Number of groups with examples. */
static int count_filled(const struct group_index *g)
{
    int filled = 0;

    for (int k = 0; k < g->n; k++)
        filled += g->first[k + 1] > g->first[k];
    return filled;
}

/* A resample grows, since groups differ in size. */
struct resample {
    double *score;
    uint8_t *label;
    int n, cap;
};

static void add(struct resample *to, double score, uint8_t label)
{
    if (to->n == to->cap) {
        to->cap = to->cap ? 2 * to->cap : 1024;
        to->score = xrealloc(to->score, (size_t)to->cap * sizeof *to->score);
        to->label = xrealloc(to->label, (size_t)to->cap);
    }
    to->score[to->n] = score;
    to->label[to->n++] = label;
}

static void draw(struct resample *to, struct scored from, const struct group_index *g, struct rng *rng)
{
    to->n = 0;
    for (int k = 0; k < g->n; k++) {
        uint32_t which = rng_below(rng, (uint32_t)g->n);
        for (int i = g->first[which]; i < g->first[which + 1]; i++)
            add(to, from.score[g->order[i]], from.label[g->order[i]]);
    }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile q by linear interpolation between the two nearest ranks. */
static double quantile(const double *x, int n, double q)
{
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return x[low] + (at - low) * (x[high] - x[low]);
}

struct interval stats_bootstrap(struct scored s, double (*measure)(struct scored s, const void *arg), const void *arg,
                                const struct bootstrap *how)
{
    struct interval out = { NAN, NAN };
    struct rng rng = { .seed = how->seed };
    struct resample sample = { 0 };
    int n = 0;

    if (s.n == 0)
        return out;
    struct group_index g = gather(s.n, how);
    double *value = xmalloc((size_t)how->rounds * sizeof *value);
    int rounds = count_filled(&g) > 1 ? how->rounds : 0;
    for (int i = 0; i < rounds; i++) {
        draw(&sample, s, &g, &rng);
        double v = measure((struct scored){ sample.score, sample.label, sample.n }, arg);
        if (!isnan(v))
            value[n++] = v;
    }
    qsort(value, (size_t)n, sizeof *value, rising);
    if (n > 0)
        out = (struct interval){ quantile(value, n, (1 - how->level) / 2), quantile(value, n, (1 + how->level) / 2) };
    free(value);
    free(sample.score);
    free(sample.label);
    free(g.order);
    free(g.first);
    return out;
}

double stats_measure_ap(struct scored s, const void *arg)
{
    (void)arg;
    return stats_average_precision(s);
}

double stats_measure_auc(struct scored s, const void *arg)
{
    (void)arg;
    return stats_auc(s);
}

double stats_measure_f1(struct scored s, const void *threshold)
{
    return f1_of(stats_confusion(s, *(const double *)threshold));
}
