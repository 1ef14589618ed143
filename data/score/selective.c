#include "data/score/selective.h"

#include "data/stats/stats.h"

#include <math.h>
#include <stdlib.h>

static const double coverages[SELECTIVE_ROWS] = { 1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1 };

struct selective_question {
    double score;
    bool right;
};

static int clearest_first(const void *a, const void *b)
{
    double x = ((const struct selective_question *)a)->score, y = ((const struct selective_question *)b)->score;
    return (x > y) - (x < y);
}

static struct selective_point point_of(const struct selective *s, int answered, int right)
{
    return (struct selective_point){ .coverage = s->n ? (double)answered / s->n : 0,
                                     .accuracy = answered ? (double)right / answered : NAN,
                                     .p = stats_fisher(s->right - right, s->n - answered, s->right, s->n),
                                     .answered = answered,
                                     .right = right };
}

/* The first so many, and those of the last one's score. */
static struct selective_point row_of(const struct selective *s, const struct selective_question *r, double coverage)
{
    int n = (int)ceil(coverage * s->n - 1e-9), right = 0;

    while (n > 0 && n < s->n && r[n].score <= r[n - 1].score)
        n++;
    for (int i = 0; i < n; i++)
        right += r[i].right;
    return point_of(s, n, right);
}

/* Each question's error is that of all that are as clear as it or clearer. */
static void draw_curve(struct selective *s, const struct selective_question *r)
{
    double sum = 0;
    int wrong = 0;

    s->coverage = xcalloc((size_t)s->n + 1, sizeof *s->coverage);
    s->error = xcalloc((size_t)s->n + 1, sizeof *s->error);
    for (int i = 0, end; i < s->n; i = end) {
        for (end = i; end < s->n && r[end].score <= r[i].score; end++)
            wrong += !r[end].right;
        s->coverage[s->points] = (double)end / s->n;
        s->error[s->points++] = (double)wrong / end;
        sum += (double)(end - i) * wrong / end;
    }
    s->area = s->n ? sum / s->n : NAN;
}

static double best_area(int n, int right)
{
    double sum = 0;

    for (int i = right + 1; i <= n; i++)
        sum += (double)(i - right) / i;
    return n ? sum / n : NAN;
}

void selective_measure(struct selective *s, const double *score, const bool *flagged, const bool *right, int n)
{
    struct selective_question *r = xcalloc((size_t)n + 1, sizeof *r);
    int kept = 0, kept_right = 0;

    *s = (struct selective){ .n = n };
    for (int i = 0; i < n; i++) {
        r[i] = (struct selective_question){ score[i], right[i] };
        s->right += right[i];
        kept += !flagged[i];
        kept_right += !flagged[i] && right[i];
    }
    qsort(r, (size_t)n, sizeof *r, clearest_first);
    for (int i = 0; i < SELECTIVE_ROWS; i++)
        s->rows[i] = row_of(s, r, coverages[i]);
    s->flagged = point_of(s, kept, kept_right);
    draw_curve(s, r);
    s->random = n ? 1 - (double)s->right / n : NAN;
    s->best = best_area(n, s->right);
    free(r);
}

void selective_release(struct selective *s)
{
    free(s->coverage);
    free(s->error);
    *s = (struct selective){ 0 };
}
