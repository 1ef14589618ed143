#include "train/adapt/adapt_calibrate.h"

#include <math.h>

enum { NEWTON = 60 };
static const double LEAST = 0.05; /* of a: the order of scores stays */

static double loss_of(struct scored s, struct adapt_scale k, int i)
{
    double z = k.a * s.score[i] + k.b;
    return stats_softplus(s.label[i] ? -z : z);
}

double adapt_loss(struct scored s, struct adapt_scale k)
{
    double sum = 0;

    for (int i = 0; i < s.n; i++)
        sum += loss_of(s, k, i);
    return s.n ? sum / s.n : 0;
}

static double objective(struct scored s, struct adapt_scale k, double pull, int without)
{
    double sum = pull / 2 * ((k.a - 1) * (k.a - 1) + k.b * k.b);

    for (int i = 0; i < s.n; i++)
        sum += i == without ? 0 : loss_of(s, k, i);
    return sum;
}

/* Newton's step of the convex objective. */
static struct adapt_scale step_of(struct scored s, struct adapt_scale k, double pull, int without)
{
    double ga = pull * (k.a - 1), gb = pull * k.b, haa = pull, hab = 0, hbb = pull;

    for (int i = 0; i < s.n; i++) {
        double x = s.score[i], p = 1 / (1 + exp(-(k.a * x + k.b))), r = p - s.label[i], w = p * (1 - p);
        if (i == without)
            continue;
        ga += r * x;
        gb += r;
        haa += w * x * x;
        hab += w * x;
        hbb += w;
    }
    double det = haa * hbb - hab * hab;
    return (struct adapt_scale){ -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det };
}

struct adapt_scale adapt_scale_fit(struct scored s, double pull, int without)
{
    struct adapt_scale k = { 1, 0 };

    for (int i = 0; i < NEWTON && isfinite(pull); i++) {
        struct adapt_scale step = step_of(s, k, pull, without), next = k;
        double now = objective(s, k, pull, without), t = 1;
        for (; t > 1e-6; t /= 2) {
            next = (struct adapt_scale){ fmax(k.a + t * step.a, LEAST), k.b + t * step.b };
            if (objective(s, next, pull, without) < now)
                break;
        }
        if (t <= 1e-6)
            break;
        k = next;
    }
    return k;
}

struct adapt_scale adapt_calibrate(struct scored s, double *loss)
{
    static const double pulls[] = { INFINITY, 16, 4, 1 };
    struct adapt_scale best = { 1, 0 };

    *loss = INFINITY;
    for (int p = 0; p < ARRAY_LEN(pulls); p++) {
        double sum = 0;
        for (int i = 0; i < s.n; i++)
            sum += loss_of(s, adapt_scale_fit(s, pulls[p], i), i);
        if (sum / s.n >= *loss)
            continue;
        *loss = sum / s.n;
        best = adapt_scale_fit(s, pulls[p], -1);
    }
    return best;
}
