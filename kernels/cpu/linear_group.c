/*
 * A group of linear maps of one input, as a decoder's step has them (kernels/decoder_types.h).  A norm
 * comes before them, a sum or a glu behind them, and rows may have different adapters.
 *
 * The CPU has no launches to save. The group is computed as the single ops would compute it, with the same
 * roundings, so that prefill and decoding agree in their bits.
 */
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row.h"
#include "kernels/device.h"

#include <stdlib.h>

/* Makes a tensor in memory of the C library; free_matrix frees it. */
static struct tensor matrix_new(enum dtype dtype, int64_t rows, int64_t cols)
{
    struct tensor t = { .dtype = dtype, .ndim = 2, .shape = { rows, cols } };

    t.data = floats_new(rows * cols);
    return t;
}

static void free_matrix(struct tensor *t)
{
    free(t->data);
}

static struct gemm gemm_of(const struct ctx *c, struct destination y, const struct tensor *x,
                           const struct linear_product *p)
{
    return (struct gemm){ .m = x->shape[0],
                          .n = p->w->shape[0],
                          .k = p->w->shape[1],
                          .a = x->data,
                          .b = p->w->data,
                          .dtype = x->dtype,
                          .tb = true,
                          .b_frozen = p->w->frozen,
                          .rows = c->rows,
                          .y = y.t->data,
                          .y_dtype = y.t->dtype,
                          .add = y.add,
                          .bias = y.add || !p->bias ? NULL : p->bias->data };
}

static void multiply(struct ctx *c, struct destination y, const struct tensor *x, const struct linear_product *p)
{
    struct gemm g = gemm_of(c, y, x, p);

    gemm(c->dev->state, &g);
}

/* Returns scale x w^T + bias in F32, or adds x w^T to the addend in place. */
static struct tensor sums_of(struct ctx *c, const struct tensor *x, const struct linear_product *p)
{
    /* The addend is scratch of the group, and may be overwritten. */
    struct tensor sums = p->addend ? *p->addend : matrix_new(F32, p->y.t->shape[0], p->y.t->shape[1]);
    float *value = sums.data;

    if (x)
        multiply(c, (struct destination){ &sums, p->addend != NULL }, x, p);
    int64_t n = p->scale != 1.0f ? tensor_size(&sums) : 0;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t i = 0; i < n; i++)
        value[i] *= p->scale;
    return sums;
}

static void free_sums(struct tensor *sums, const struct linear_product *p)
{
    if (!p->addend)
        free_matrix(sums);
}

/* y's rows (+)= the sums, rounded. */
static void put_sums(struct destination y, const struct tensor *sums)
{
    int64_t cols = tensor_cols(sums);

#pragma omp parallel for schedule(static) if (tensor_size(sums) > PARALLEL_MIN)
    for (int64_t r = 0; r < tensor_rows(sums); r++)
        row_store(y, r * cols, (float *)sums->data + r * cols, cols);
}

/* Returns whether the product is y (+)= x w^T, with a bias only if it does not add. */
static bool is_plain(const struct linear_product *p)
{
    return p->x && p->scale == 1.0f && !p->addend && !(p->bias && p->y.add);
}

static void run_product(struct ctx *c, const struct linear_product *p)
{
    if (is_plain(p)) {
        multiply(c, p->y, p->x, p);
        return;
    }
    struct tensor sums = sums_of(c, p->x, p);
    put_sums(p->y, &sums);
    free_sums(&sums, p);
}

/* Computes one half of a glu.  Without an adapter's output to add, it is rounded where glu's own op would round it.  A
 * row then has the same result with few rows and with many. */
static struct tensor half_of(struct ctx *c, const struct linear_product *p)
{
    const struct tensor *y = p->y.t;

    if (p->addend && p->x)
        return sums_of(c, p->x, p);
    struct tensor half = matrix_new(y->dtype, y->shape[0], y->shape[1]);
    struct destination to = { &half, false };
    if (p->x)
        multiply(c, to, p->x, p);
    else
        put_sums(to, p->addend);
    return half;
}

static void run_glu(struct ctx *c, const struct linear_product *p, enum gate gate)
{
    struct tensor half[2] = { half_of(c, &p[0]), half_of(c, &p[1]) };

    cpu_glu(c, p->y.t, &half[0], &half[1], gate);
    for (int i = 0; i < 2; i++)
        if (!p[i].x || !p[i].addend)
            free_matrix(&half[i]);
}

/* A product of n rows, starting at `from`. */
struct product_part {
    struct linear_product p;
    struct tensor x, addend, y;
};

static const struct tensor *part_of(struct tensor *part, const struct tensor *t, int64_t from, int64_t n)
{
    if (!t)
        return NULL;
    *part = tensor_view(t, from, n);
    return part;
}

/* `normed` or what the product reads by itself. */
static void cut(struct product_part *part, const struct linear_product *p, const struct tensor *normed, int64_t from,
                int64_t n)
{
    part->p = *p;
    part->p.x = part_of(&part->x, normed ? normed : p->x, from, n);
    part->p.addend = part_of(&part->addend, p->addend, from, n);
    part->y = tensor_view(p->y.t, from, n);
    part->p.y.t = &part->y;
}

/* Finds the first run of the product's rows from *from on; returns its length, 0: none. */
static int64_t next_run(const struct linear_group *g, const struct linear_product *p, int64_t *from)
{
    int64_t rows = p->y.t->shape[0], end;

    if (!g->adapter_of)
        return rows - *from;
    /* Bit i of p->rows says that the product serves rows of adapter i. */
    const int32_t *adapter = g->adapter_of->data;
    while (*from < rows && !(p->rows >> adapter[*from] & 1))
        ++*from;
    for (end = *from; end < rows && p->rows >> adapter[end] & 1;)
        end++;
    return end - *from;
}

/* Computes one product, or the two of a glu, for their rows. */
static void run_rows(struct ctx *c, const struct linear_group *g, const struct linear_product *p,
                     const struct tensor *normed)
{
    int64_t n;

    /* A run of rows of one adapter is one product. */
    for (int64_t from = 0; (n = next_run(g, p, &from)) > 0; from += n) {
        struct product_part part[2];
        for (int i = 0; i < (g->glu ? 2 : 1); i++)
            cut(&part[i], &p[i], normed, from, n);
        if (g->glu)
            run_glu(c, (const struct linear_product[]){ part[0].p, part[1].p }, g->gate);
        else
            run_product(c, &part[0].p);
    }
}

static bool all_plain(const struct linear_group *g)
{
    bool plain = !g->adapter_of;

    for (int i = 0; i < g->n; i++)
        plain = plain && is_plain(&g->product[i]);
    return plain;
}

/* Computes all products of a group as one if they need nothing else. */
static void run_together(struct ctx *c, const struct linear_group *g, const struct tensor *normed)
{
    struct gemm list[GROUP_PRODUCTS];
    struct tensor half[GROUP_PRODUCTS];

    for (int i = 0; i < g->n; i++) {
        const struct linear_product *p = &g->product[i];
        struct destination y = p->y;
        if (g->glu) {
            half[i] = matrix_new(p->y.t->dtype, p->y.t->shape[0], p->y.t->shape[1]);
            y = (struct destination){ &half[i], false };
        }
        list[i] = gemm_of(c, y, normed ? normed : p->x, p);
    }
    gemm_group(c->dev->state, list, g->n);
    for (int i = 0; g->glu && i < g->n; i++) {
        if (i % 2)
            cpu_glu(c, g->product[i - 1].y.t, &half[i - 1], &half[i], g->gate);
    }
    for (int i = 0; g->glu && i < g->n; i++)
        free_matrix(&half[i]);
}

void cpu_linear_group(struct ctx *c, struct tensor *y, const struct linear_group *g)
{
    (void)y;
    const struct tensor *x = g->product[0].x;
    struct tensor normed, rstd;

    if (g->norm.w) {
        normed = matrix_new(x->dtype, x->shape[0], x->shape[1]);
        rstd = matrix_new(F32, x->shape[0], 1);
        cpu_rms_norm(c, &normed, &rstd, x, g->norm.w, g->norm.eps);
    }
    if (all_plain(g))
        run_together(c, g, g->norm.w ? &normed : NULL);
    for (int i = 0; i < g->n && !all_plain(g); i += 1 + g->glu)
        run_rows(c, g, &g->product[i], g->norm.w ? &normed : NULL);
    if (g->norm.w) {
        free_matrix(&normed);
        free_matrix(&rstd);
    }
}
