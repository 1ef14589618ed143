/*
 * Optimizers: AdamW, Adafactor, the norm of all gradients, and schedules of the learning rate.
 */
#include "kernels/cpu/row.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* AdamW (Loshchilov and Hutter 2019), the norm of all gradients, and schedules of the learning rate. All tensors are
 * updated by one parallel region over blocks. The norm is summed in f64 over parts that are cut by position. Results
 * therefore do not depend on the number of threads. The update also clears the gradients, which saves a pass over them,
 * and writes the bf16 copy that the forward reads. */
_Static_assert(UPDATE_CHUNK % ROW_BLOCK == 0, "a block belongs to one chunk");
_Static_assert(ROW_BLOCK % MOMENT_BLOCK == 0, "moments are those of one block");

/* Partial sums are cut by position, never by thread, so that the result is the same on any number of threads. */
enum { PARTS = 64 };

CPU_CLONES static double squares_run(const float *x, int64_t n)
{
    /* Eight sums run side by side, so that the loop vectorises; the order of their addition is fixed. */
    double lane[8] = { 0 };
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += (double)x[i + k] * x[i + k];
    for (; i < n; i++)
        lane[0] += (double)x[i] * x[i];
    return lane[0] + lane[4] + lane[1] + lane[5] + lane[2] + lane[6] + lane[3] + lane[7];
}

static double sum_of_squares(const float *x, int64_t n)
{
    return squares_run(x, n);
}

/* sums[i * PARTS + p]: the p-th part of row i.  Threads take turns at the parts of all rows without waiting. */
static void square_parts(double *sums, const struct update_table *t)
{
#pragma omp parallel if (t->elements > PARALLEL_MIN)
    for (int i = 0; i < t->n; i++) {
        const struct update_row *r = &t->rows[i];
        int64_t part = (r->n + PARTS - 1) / PARTS;
#pragma omp for schedule(static) nowait
        for (int p = 0; p < PARTS; p++) {
            int64_t from = p * part, left = r->n - from < part ? r->n - from : part;
            sums[i * PARTS + p] = left > 0 ? squares_run(r->g + from, left) : 0;
        }
    }
}

static float gradient_norm(const struct update_table *t)
{
    double *sums = xmalloc((size_t)t->n * PARTS * sizeof *sums);
    float norm = 0;

    square_parts(sums, t);
    for (int i = 0; i < t->n; i++) {
        double total = 0;
        for (int p = 0; p < PARTS; p++)
            total += sums[i * PARTS + p];
        norm += (float)total;
    }
    free(sums);
    return norm;
}

static double rate_at(const struct schedule *s, int64_t step)
{
    if (step < s->warmup)
        return s->lr * (double)step / (double)s->warmup;
    if (s->form == SCHEDULE_CONSTANT)
        return s->lr;
    if (step >= s->total)
        return 0;
    double u = (double)(step - s->warmup) / (double)(s->total - s->warmup);
    return s->lr * (s->form == SCHEDULE_COSINE ? 0.5 * (1 + cos(3.141592653589793 * u)) : 1 - u);
}

static float clip_scale(float clip, float norm)
{
    double size = sqrt(norm);

    return clip > 0 && size > clip ? (float)(clip / size) : 1;
}

/* The factors common to all elements of one update. */
struct update {
    float beta1, beta2, eps, scale, keep, rate, root;
};

CPU_CLONES static void adamw_run(float *restrict w, float *restrict m, float *restrict v, float *restrict g, int64_t n,
                                 const struct update *u)
{
    for (int64_t i = 0; i < n; i++) {
        float x = u->scale * g[i];
        m[i] = u->beta1 * m[i] + (1 - u->beta1) * x;
        v[i] = u->beta2 * v[i] + (1 - u->beta2) * x * x;
        /* The corrections of the moments' bias are in rate and root. Weight decay does not pass through the moments. */
        w[i] = u->keep * w[i] - u->rate * m[i] / (sqrtf(v[i]) * u->root + u->eps);
        g[i] = 0;
    }
}

static struct update update_of(const struct adamw *a, const struct update_row *r, float norm, float lr, int step)
{
    double rate = (double)lr * r->lr_scale;

    return (struct update){ .beta1 = a->beta1,
                            .beta2 = a->beta2,
                            .eps = a->eps,
                            .scale = clip_scale(a->clip, norm),
                            .keep = (float)(1 - rate * r->decay),
                            .rate = (float)(rate / (1 - pow(a->beta1, step))),
                            .root = (float)(1 / sqrt(1 - pow(a->beta2, step))) };
}

/* The code whose value is nearest to x; of two the one below. */
static inline int moment_code(const float map[MOMENT_CODES], float x)
{
    int code = 0;

    for (int step = MOMENT_CODES / 2; step; step /= 2)
        if (x > 0.5f * (map[code + step - 1] + map[code + step]))
            code += step;
    return code;
}

static void decode(float *x, const float *words, const float *map, int64_t n)
{
    const uint8_t *codes = (const uint8_t *)(words + 1);

    for (int64_t i = 0; i < n; i++)
        x[i] = words[0] * map[codes[i]];
}

static void encode(float *words, const float *x, const float *map, int64_t n)
{
    uint8_t *codes = (uint8_t *)(words + 1);
    /* A block of MOMENT_BLOCK numbers is one word of scale and a byte for each number. */
    float scale = 0;

    for (int64_t i = 0; i < n; i++)
        scale = fmaxf(scale, fabsf(x[i]));
    words[0] = scale;
    for (int64_t i = 0; i < n; i++)
        codes[i] = (uint8_t)(scale > 0 ? moment_code(map, x[i] / scale) : 0);
}

/* Updates 8-bit moments: converts each block to f32 and back. */
static void adamw_bytes(const struct update_row *r, const struct moment_maps *maps, int64_t at, int64_t end,
                        const struct update *u)
{
    float m[MOMENT_BLOCK], v[MOMENT_BLOCK];

    for (; at < end; at += MOMENT_BLOCK) {
        int64_t n = end - at < MOMENT_BLOCK ? end - at : MOMENT_BLOCK, block = at / MOMENT_BLOCK * MOMENT_WORDS;
        decode(m, r->state[0] + block, maps->signed_values, n);
        decode(v, r->state[1] + block, maps->squares, n);
        adamw_run(r->w + at, m, v, r->g + at, n, u);
        encode(r->state[0] + block, m, maps->signed_values, n);
        encode(r->state[1] + block, v, maps->squares, n);
    }
}

/* Blocks are parts of chunks, so each is updated or another rank's as a whole. */
static void update_block(const struct update_row *r, const struct moment_maps *maps, int64_t at, const struct update *u)
{
    struct tensor half = { .dtype = BF16, .ndim = 1, .shape = { r->n }, .data = r->half };
    int64_t run = run_length(at, r->n), own = at - r->first;

    /* Another rank keeps the moments of this block and updates it. The gradient must be cleared here all the same. */
    if (own < 0 || at >= r->end) {
        memset(r->g + at, 0, (size_t)run * sizeof *r->g);
        return;
    }
    if (r->bytes)
        adamw_bytes(r, maps, at, at + run, u);
    else
        adamw_run(r->w + at, r->state[0] + own, r->state[1] + own, r->g + at, run, u);
    if (r->half)
        row_store((struct destination){ &half, false }, at, r->w + at, run);
}

/* Threads take turns at the blocks of all rows without waiting. */
static void update_rows(const struct update_table *t, const struct update *updates)
{
#pragma omp parallel if (t->elements > PARALLEL_MIN)
    for (int i = 0; i < t->n; i++) {
        const struct update_row *r = &t->rows[i];
#pragma omp for schedule(static) nowait
        for (int64_t at = 0; at < r->n; at += ROW_BLOCK)
            update_block(r, &t->rules->maps, at, &updates[i]);
    }
}

void cpu_adamw(struct ctx *c, struct tensor *norm, struct tensor *lr, struct tensor *rng, const struct update_table *t)
{
    struct update *updates = xmalloc((size_t)t->n * sizeof *updates);
    float size = gradient_norm(t), *rate = lr->data;
    int32_t *state = rng->data;

    (void)c;
    *(float *)norm->data = size;
    /* state[2] counts the steps; it lies beside the random numbers, on the device, so that a captured step advances
     * it. */
    *rate = (float)rate_at(&t->rules->schedule, state[2]);
    state[2]++;
    for (int i = 0; i < t->n; i++)
        updates[i] = update_of(&t->rules->adamw, &t->rows[i], size, *rate, state[2]);
    update_rows(t, updates);
    free(updates);
}

/* Adafactor (Shazeer and Stern 2018) with a given learning rate: second moments of matrices are kept as one number for
 * each row and for each column. The update goes into the gradient's memory, because it is divided by its own root mean
 * square before it is applied. Tensors that are not matrices keep a second moment for each number. */

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
