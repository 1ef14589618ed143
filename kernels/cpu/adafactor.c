/*
 * Adafactor (Shazeer and Stern 2018) with a given learning rate: second moments of matrices are kept as one number for
 * each row and for each column.
 *
 * The update goes into the gradient's memory, because it is divided by its own root mean square before it is applied.
 * Tensors that are not matrices keep a second moment for each number.
 */
#include "kernels/cpu/optim.h"
#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of columns that are summed together. */
enum { STRIPE = 256 };

/* The factors common to all elements of a step.  They are computed in f64, and the states are f32. */
struct adafactor_factors {
    const struct adafactor *rules;
    double scale, keep; /* scale of the gradient; decay b of the states */
    float lr;
};

/* sums[j] += g[j]^2 */
CPU_CLONES static void add_squares(double *restrict sums, const float *restrict g, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        sums[j] += (double)g[j] * g[j];
}

static float moved(const struct adafactor_factors *s, float state, double mean)
{
    return (float)(s->keep * state + (1 - s->keep) * (s->scale * s->scale * mean + s->rules->eps));
}

static void move_rows(const struct update_row *r, const struct adafactor_factors *s)
{
#pragma omp parallel for schedule(static) if (r->n > PARALLEL_MIN)
    for (int64_t i = 0; i < r->rows; i++)
        r->state[0][i] = moved(s, r->state[0][i], sum_of_squares(r->g + i * r->cols, r->cols) / (double)r->cols);
}

static void move_columns(const struct update_row *r, const struct adafactor_factors *s)
{
#pragma omp parallel for schedule(static) if (r->n > PARALLEL_MIN)
    for (int64_t at = 0; at < r->cols; at += STRIPE) {
        double sums[STRIPE] = { 0 };
        int64_t n = r->cols - at < STRIPE ? r->cols - at : STRIPE;
        for (int64_t i = 0; i < r->rows; i++)
            add_squares(sums, r->g + i * r->cols + at, n);
        for (int64_t j = 0; j < n; j++)
            r->state[1][at + j] = moved(s, r->state[1][at + j], sums[j] / (double)r->rows);
    }
}

/* g = g factor / sqrt(v) */
CPU_CLONES static void divide_run(float *restrict g, const float *restrict v, float factor, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        g[j] = g[j] * factor / sqrtf(v[j]);
}

/* u in place of g; returns the sum of u^2. */
static double factored_update(const struct update_row *r, const struct adafactor_factors *s)
{
    /* v of row i and column j is state[0][i] state[1][j] / mean(state[0]). The factor of the row is taken out of the
     * inner loop. */
    double mean = 0, sum = 0, *sums = xmalloc((size_t)(r->rows + 1) * sizeof *sums);

    move_rows(r, s);
    move_columns(r, s);
    for (int64_t i = 0; i < r->rows; i++)
        mean += r->state[0][i] / (double)r->rows;
#pragma omp parallel for schedule(static) if (r->n > PARALLEL_MIN)
    for (int64_t i = 0; i < r->rows; i++) {
        float *g = r->g + i * r->cols;
        divide_run(g, r->state[1], (float)(s->scale * sqrt(mean / r->state[0][i])), r->cols);
        sums[i] = sum_of_squares(g, r->cols);
    }
    for (int64_t i = 0; i < r->rows; i++)
        sum += sums[i];
    free(sums);
    return sum;
}

static double whole_update(const struct update_row *r, const struct adafactor_factors *s)
{
    for (int64_t i = 0; i < r->n; i++)
        r->state[0][i] = moved(s, r->state[0][i], (double)r->g[i] * r->g[i]);
    divide_run(r->g, r->state[0], (float)s->scale, r->n);
    return sum_of_squares(r->g, r->n);
}

CPU_CLONES static void subtract_run(float *restrict w, float *restrict u, float keep, float rate, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        w[i] = keep * w[i] - rate * u[i];
        u[i] = 0;
    }
}

static void update_row(const struct update_row *r, const struct adafactor_factors *s)
{
    double sum = r->rows ? factored_update(r, s) : whole_update(r, s), lr = (double)s->lr * r->lr_scale;
    /* Updates whose root mean square exceeds the threshold are scaled down to it. */
    double excess = r->n ? sqrt(sum / (double)r->n) / s->rules->threshold : 0;
    float keep = (float)(1 - lr * r->decay), rate = (float)(lr / (excess > 1 ? excess : 1));
    struct tensor half = { .dtype = BF16, .ndim = 1, .shape = { r->n }, .data = r->half };

#pragma omp parallel for schedule(static) if (r->n > PARALLEL_MIN)
    for (int64_t at = 0; at < r->n; at += ROW_BLOCK) {
        int64_t run = run_length(at, r->n);
        subtract_run(r->w + at, r->g + at, keep, rate, run);
        if (r->half)
            row_store((struct destination){ &half, false }, at, r->w + at, run);
    }
}

void cpu_adafactor(struct ctx *c, struct tensor *norm, struct tensor *lr, struct tensor *rng,
                   const struct update_table *t)
{
    const struct adafactor *rules = &t->rules->adafactor;
    float size = gradient_norm(t);
    int32_t *state = rng->data;

    (void)c;
    *(float *)norm->data = size;
    *(float *)lr->data = (float)rate_at(&t->rules->schedule, state[2]);
    state[2]++;
    const struct adafactor_factors step = { .rules = rules,
                                            .scale = (double)clip_scale(rules->clip, size),
                                            .keep = 1 - pow(state[2], -(double)rules->decay_rate),
                                            .lr = *(float *)lr->data };
    for (int i = 0; i < t->n; i++) {
        const struct update_row *r = &t->rows[i];
        if (r->first < r->end)
            update_row(r, &step);
        else /* another rank updates it */
            memset(r->g, 0, (size_t)r->n * sizeof *r->g);
    }
}
