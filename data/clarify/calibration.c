#include "data/clarify/calibration.h"

#include "data/sql/sql_lex.h"

#include <math.h>
#include <stdlib.h>

int calibration_read(struct calibration *c, const char *path, struct error *err)
{
    json_t *o = json_read_file(path, err);
    int rc = o ? 0 : -1;

    if (rc == 0)
        rc = json_get_real(o, "alpha", 0, 1, &c->alpha, path, err);
    if (rc == 0)
        rc =
            json_get_real(o, "temperature", 1.0 / CALIBRATION_COOLEST, CALIBRATION_COOLEST, &c->temperature, path, err);
    if (rc == 0)
        rc = json_get_real(o, "coverage", 0, 1, &c->coverage, path, err);
    c->keep = -1;
    if (rc == 0 && json_object_get(o, "keep"))
        rc = json_get_real(o, "keep", 0, 1, &c->keep, path, err);
    json_decref(o);
    return rc;
}

int calibration_length(const char *sql)
{
    int n;

    free(sql_lex(sql, &n));
    return n > 1 ? n - 1 : 1; /* the last one is the end */
}

static double log_weight(double raw, int length, double alpha, double temperature)
{
    return raw / (alpha > 0 ? pow(length, alpha) : 1) / temperature;
}

void calibration_shares(const struct calibration *c, double *p, const double *raw, const int *length, int n,
                        double share)
{
    double *logs = xmalloc((size_t)n * sizeof *logs + 1);

    for (int i = 0; i < n; i++)
        logs[i] = log_weight(raw[i], length[i], c->alpha, c->temperature);
    shares_of_logs(p, logs, n, share);
    free(logs);
}

void calibration_apply(const struct calibration *c, struct candidate_list *l)
{
    int *length = xmalloc((size_t)l->n * sizeof *length + 1);

    for (int i = 0; i < l->n; i++)
        length[i] = calibration_length(l->sql[i]);
    calibration_shares(c, l->p, l->raw, length, l->n, c->coverage);
    l->reserve = 1 - c->coverage;
    free(length);
}

/* -log of the share of the right ones; weights are taken relative to the largest. */
static double surprise(const struct observation *o, double alpha, double temperature)
{
    double most = -HUGE_VAL, all = 0, right = 0;

    for (int i = 0; i < o->n; i++)
        most = fmax(most, log_weight(o->raw[i], o->length[i], alpha, temperature));
    for (int i = 0; i < o->n; i++) {
        double w = exp(log_weight(o->raw[i], o->length[i], alpha, temperature) - most);
        all += w;
        right += o->right[i] ? w : 0;
    }
    return log(all) - log(fmax(right, 1e-300));
}

double calibration_nll(const struct observation *list, int n, double alpha, double temperature)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += surprise(&list[i], alpha, temperature);
    return sum / n;
}

/* Golden-section search over the logarithm of the temperature. */
static double fit_temperature(const struct observation *list, int n, double alpha)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = -log(CALIBRATION_COOLEST), high = log(CALIBRATION_COOLEST);
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = calibration_nll(list, n, alpha, exp(a)), at_b = calibration_nll(list, n, alpha, exp(b));

    while (high - low > 1e-6) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            at_a = calibration_nll(list, n, alpha, exp(a = high - golden * (high - low)));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            at_b = calibration_nll(list, n, alpha, exp(b = low + golden * (high - low)));
        }
    }
    return exp((low + high) / 2);
}

struct calibration calibration_fit(const struct observation *list, int n)
{
    struct calibration best = { 0, fit_temperature(list, n, 0), 1, -1 },
                       other = { 1, fit_temperature(list, n, 1), 1, -1 };

    return calibration_nll(list, n, 1, other.temperature) < calibration_nll(list, n, 0, best.temperature) ? other
                                                                                                          : best;
}

/* The share of the likeliest candidate that is the gold, 0 without. */
static double share_of_right(const struct calibration *c, const struct observation *o)
{
    double *p = xmalloc((size_t)o->n * sizeof *p + 1), best = 0;

    calibration_shares(c, p, o->raw, o->length, o->n, 1);
    for (int i = 0; i < o->n; i++)
        best = o->right[i] ? fmax(best, p[i]) : best;
    free(p);
    return best;
}

static int compare_shares(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double calibration_keep(const struct calibration *c, const struct observation *list, int n, double share)
{
    double *p = xmalloc((size_t)n * sizeof *p + 1);
    int below = n + 1 - (int)ceil((n + 1) * share - 1e-9); /* how many golds may be at the threshold or under it */

    for (int i = 0; i < n; i++)
        p[i] = share_of_right(c, &list[i]);
    qsort(p, (size_t)n, sizeof *p, compare_shares);
    double keep = below > 0 && n > 0 ? p[below - 1] * (1 - 1e-6) : 0; /* files round it, and what it is compared with */
    free(p);
    return keep;
}
