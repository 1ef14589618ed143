/* The ops of the graph classifier and its losses.  tests/support/op_test.h describes the checks. */
#include "tests/support/op_test.h"

#include "tests/support/reference.h"
#include "tests/support/reference_graph.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t clipped(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void one_matrix(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 4);
}

static struct tensor *run_scale(struct ctx *c, struct op_test *t)
{
    return op_scale(c, t->x[0], -1.75f);
}

static void scale(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        y[i] = -1.75 * x[0][i];
}

/* Bits of a GAT variant. */
enum {
    GAT_MEAN = 1,
    GAT_EDGE_BIAS = 2,
    GAT_BIAS = 4,
    GAT_DROPOUT = 8,
    GAT_ACTIVATED = 16, /* by ELU, then dropout */
    GAT_VARIANTS = 32,
    GAT_TYPES = 3,
    GAT_EDGES_MAX = 2049,
    GAT_HUB_EDGES = 31
};

static int gat_heads(const struct op_test *t)
{
    return t->variant & GAT_DROPOUT ? 6 : 3; /* 6: more than one block of random words */
}

/* ints[0]: source, target and type of each edge, three in a row, by target.  Two of five nodes receive nothing, and the
 * next one receives twice as many edges as others; edges may be double.  A single node has one edge: softmax over
 * equals has gradients of zero, which roundoff never meets. At most one edge more than two parts of the CUDA kernels.
 * In large graphs node 0 is the source of GAT_HUB_EDGES, one less than a warp has lanes. */
static void gat_edges(struct op_test *t)
{
    int64_t per = t->rows > 1 ? 3 : 1;
    int32_t *edges = op_ints(t, 3 * per * t->rows, 0, (int32_t)clipped(t->rows, 1, INT32_MAX)), n = 0;
    int hub = t->rows < GAT_HUB_EDGES ? GAT_HUB_EDGES : 0;

    for (int32_t i = 0; i < t->rows; i++)
        for (int k = 0; k < per && i % 5 != 2 && n < GAT_EDGES_MAX; k++, n++) {
            int32_t source = k ? edges[3 * (per * i + k)] : i;
            if (k && hub < GAT_HUB_EDGES)
                source = 0;
            else if (k && source == 0)
                source = (int32_t)t->rows - 1;
            hub += source == 0;
            edges[3 * n] = source;
            edges[3 * n + 1] = i % 5 == 3 && i + 1 < t->rows ? i + 1 : i;
            edges[3 * n + 2] = (i + k) % GAT_TYPES;
        }
    t->n_ints[0] = 3 * (int64_t)n;
}

/*
 * Finite differences must not cross the bend of LeakyReLU.  So the first coordinate of each head decides the sign of
 * every score: it is +-1 in z and large in a_src, and all others together weigh less.  (Large in a_dst, all scores into
 * a node would have one sign, and the gradient of a_dst would vanish.)
 */
static void gat_signs(struct op_test *t, int heads, int64_t dim)
{
    for (int64_t i = 0; i < t->rows * heads; i++)
        t->in[0].value[i * dim] = (i + i / heads / 2) % 2 ? 1 : -1;
    for (int64_t h = 0; h < heads; h++) {
        t->in[1].value[h * dim] = 1;
        t->in[2].value[h * dim] = 0.25;
    }
}

/* Of as many rows as a thousand half of the variants, in which any three of their bits are set in every way. */
static bool gat_large(int variant)
{
    return __builtin_popcount((unsigned)variant) % 2 == 0;
}

static void gat_setup(struct op_test *t)
{
    int heads = gat_heads(t);
    int64_t dim = t->cols;

    if (t->rows > 1000 && !gat_large(t->variant))
        t->rows = 257;

    op_matrix(t, t->rows, heads * dim, 1);
    op_vector(t, heads * dim, 0.3 / (double)dim);
    op_vector(t, heads * dim, 0.3 / (double)dim);
    gat_signs(t, heads, dim);
    if (t->variant & GAT_EDGE_BIAS)
        op_vector(t, GAT_TYPES * heads, 0.1);
    if (t->variant & GAT_BIAS)
        op_vector(t, t->variant & GAT_MEAN ? dim : heads * dim, 1);
    gat_edges(t);
}

/* Sizes for which all heads of a row lie in the registers of a warp on CUDA. */
static void gat_warp_setup(struct op_test *t)
{
    t->cols = t->cols > 1000 ? t->variant & GAT_DROPOUT ? 64 : 128 : t->cols > 100 ? 64 : t->cols > 32 ? 16 : 8;
    gat_setup(t);
}

static struct graph graph_of(struct ctx *c, const struct op_test *t)
{
    int64_t n = t->n_ints[0] / 3;
    struct edge *edges = xmalloc((size_t)n * sizeof *edges);

    for (int64_t e = 0; e < n; e++)
        edges[e] = (struct edge){ t->ints[0][3 * e], t->ints[0][3 * e + 1], t->ints[0][3 * e + 2] };
    struct graph graph = batch_graph(c, edges, n, t->rows);
    free(edges);
    return graph;
}

static struct tensor *run_gat(struct ctx *c, struct op_test *t)
{
    int64_t heads = gat_heads(t);
    struct graph graph = graph_of(c, t);
    int next = 3;
    struct gat g = { .graph = &graph,
                     .a_src = t->x[1],
                     .a_dst = t->x[2],
                     .heads = (int)heads,
                     .mean = t->variant & GAT_MEAN,
                     .slope = 0.2f,
                     .p = t->variant & GAT_DROPOUT ? 0.3f : 0,
                     .act = t->variant & GAT_ACTIVATED ? ACT_ELU : ACT_NONE,
                     .out_p = t->variant & GAT_ACTIVATED ? 0.2f : 0 };
    if (t->variant & GAT_EDGE_BIAS) {
        g.edge_bias = t->x[next++];
        g.edge_bias->ndim = 2;
        g.edge_bias->shape[0] = GAT_TYPES;
        g.edge_bias->shape[1] = heads;
    }
    if (t->variant & GAT_BIAS)
        g.bias = t->x[next];
    return op_gat(c, t->x[0], &g);
}

static void gat(const struct op_test *t, double *const *x, double *y)
{
    int next = 3;
    struct reference_gat g = { .z = x[0],
                               .a_src = x[1],
                               .a_dst = x[2],
                               .edges = t->ints[0],
                               .n_edges = t->n_ints[0] / 3,
                               .nodes = t->rows,
                               .heads = gat_heads(t),
                               .dim = (int)t->cols,
                               .mean = t->variant & GAT_MEAN,
                               .slope = 0.2f,
                               .p = t->variant & GAT_DROPOUT ? 0.3f : 0,
                               .rng = t->rng,
                               .site = t->site };
    g.edge_bias = t->variant & GAT_EDGE_BIAS ? x[next++] : NULL;
    g.bias = t->variant & GAT_BIAS ? x[next] : NULL;
    reference_gat(y, NULL, &g);
    int64_t cols = g.mean ? t->cols : g.heads * t->cols;
    for (int64_t i = 0; i < t->rows * cols && t->variant & GAT_ACTIVATED; i++)
        y[i] =
            reference_activation(y[i], ACT_ELU) * reference_keep(t->rng, t->site + (g.p > 0), i / cols, i % cols, 0.2f);
}

static void propagate_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 2);
    gat_edges(t);
    op_f32(t, t->n_ints[0] / 3, 0, 1);
    op_constant(t);
}

static struct tensor *run_propagate(struct ctx *c, struct op_test *t)
{
    struct graph graph = graph_of(c, t);
    return op_propagate(c, t->x[0], t->x[1], &graph);
}

static void propagate(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t e = 0; e < t->n_ints[0] / 3; e++) {
        const int32_t *edge = t->ints[0] + 3 * e;
        for (int64_t j = 0; j < t->cols; j++)
            y[edge[1] * t->cols + j] += x[1][e] * x[0][edge[0] * t->cols + j];
    }
}

static void segments_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 2);
    op_lengths(t, t->rows, 40);
}

static struct tensor *run_segment_pool(struct ctx *c, struct op_test *t)
{
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    return op_segment_pool(c, t->x[0], &s, (enum pool)t->variant);
}

static void segment_pool(const struct op_test *t, double *const *x, double *y)
{
    const double *row = x[0];

    for (int64_t s = 0; s < t->n_ints[0]; s++)
        for (int32_t k = 0; k < t->ints[0][s]; k++, row += t->cols)
            for (int64_t j = 0; j < t->cols; j++)
                y[s * t->cols + j] += t->variant == POOL_MEAN ? row[j] / t->ints[0][s] : row[j];
}

/* Bits of a variant of segment_score: the pool, and dropout. */
enum { SCORE_POOL = 1, SCORE_DROPOUT = 2, SCORE_VARIANTS = 4 };

static void segment_score_setup(struct op_test *t)
{
    op_f32(t, t->rows, t->cols, 2);
    op_vector(t, t->cols, 1);
    op_vector(t, 1, 1);
    op_lengths(t, t->rows, 40);
    /* The first segment has rows if any has. */
    for (int64_t s = 0; s < t->n_ints[0] && !t->ints[0][0]; s++) {
        t->ints[0][0] = t->ints[0][s];
        t->ints[0][s] = 0;
    }
}

static float score_dropout(const struct op_test *t)
{
    return t->variant & SCORE_DROPOUT ? 0.3f : 0;
}

static struct tensor *run_segment_score(struct ctx *c, struct op_test *t)
{
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    enum pool pool = (enum pool)(t->variant & SCORE_POOL);
    return op_segment_score(c, t->x[0], &s, pool, score_dropout(t), t->x[1], t->x[2]);
}

static void segment_score(const struct op_test *t, double *const *x, double *y)
{
    float p = score_dropout(t);
    int64_t at = 0;

    for (int64_t s = 0; s < t->n_ints[0]; at += t->ints[0][s++]) {
        y[s] = x[2][0];
        for (int64_t j = 0; j < t->cols; j++) {
            double sum = 0, keep = p > 0 ? reference_keep(t->rng, t->site, s, j, p) : 1;
            for (int64_t r = at; r < at + t->ints[0][s]; r++)
                sum += x[0][r * t->cols + j];
            if ((t->variant & SCORE_POOL) == POOL_MEAN && t->ints[0][s])
                sum /= t->ints[0][s];
            y[s] += x[1][j] * keep * sum;
        }
    }
}

static void attention_pool_setup(struct op_test *t)
{
    segments_setup(t);
    op_f32(t, t->rows, 0, 3);
}

static struct tensor *run_attention_pool(struct ctx *c, struct op_test *t)
{
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    return op_attention_pool(c, t->x[0], t->x[1], &s);
}

static void attention_pool(const struct op_test *t, double *const *x, double *y)
{
    int64_t at = 0;

    for (int64_t s = 0; s < t->n_ints[0]; at += t->ints[0][s++]) {
        double sum = 0;
        for (int64_t r = at; r < at + t->ints[0][s]; r++)
            sum += exp(x[1][r]);
        for (int64_t r = at; r < at + t->ints[0][s]; r++)
            for (int64_t j = 0; j < t->cols; j++)
                y[s * t->cols + j] += exp(x[1][r]) / sum * x[0][r * t->cols + j];
    }
}

/* Pairs of `rows` / 2 rows, some of a row with itself; variant 1 has extra columns.  Values are multiples of 1/128, so
 * that finite differences do not cross the bend of |u - v|. */
static int64_t pair_nodes(const struct op_test *t)
{
    return clipped(t->rows / 2, 1, t->rows + 1);
}

static void pair_setup(struct op_test *t)
{
    op_matrix(t, pair_nodes(t), t->cols, 1);
    for (int64_t i = 0; i < t->in[0].n; i++)
        t->in[0].value[i] = nearbyint(128 * t->in[0].value[i]) / 128;
    op_ints(t, t->rows, 0, (int32_t)pair_nodes(t));
    op_ints(t, t->rows, 0, (int32_t)pair_nodes(t));
    if (t->variant) {
        op_matrix(t, t->rows, 7, 1);
        op_constant(t);
    }
}

static struct tensor *run_pair_features(struct ctx *c, struct op_test *t)
{
    struct index u = batch_index(c, t->ints[0], t->rows, pair_nodes(t));
    struct index v = batch_index(c, t->ints[1], t->rows, pair_nodes(t));
    return op_pair_features(c, t->x[0], &u, &v, t->variant ? t->x[1] : NULL);
}

static void pair_features(const struct op_test *t, double *const *x, double *y)
{
    int64_t n = t->cols, more = t->variant ? 7 : 0;

    for (int64_t p = 0; p < t->rows; p++, y += 4 * n + more) {
        const double *a = x[0] + t->ints[0][p] * n, *b = x[0] + t->ints[1][p] * n;
        for (int64_t j = 0; j < n; j++) {
            y[j] = a[j];
            y[n + j] = b[j];
            y[2 * n + j] = fabs(a[j] - b[j]);
            y[3 * n + j] = a[j] * b[j];
        }
        for (int64_t j = 0; j < more; j++)
            y[4 * n + j] = x[1][p * more + j];
    }
}

/* Variant 1: logits so low that the sum of the probabilities is all that counts. */
static void noisy_or_setup(struct op_test *t)
{
    op_f32(t, t->rows, 0, 4);
    for (int64_t i = 0; i < t->rows && t->variant; i++)
        t->in[0].value[i] = (float)(t->in[0].value[i] - 20);
    op_lengths(t, t->rows, 40);
}

static struct tensor *run_noisy_or(struct ctx *c, struct op_test *t)
{
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    return op_noisy_or(c, t->x[0], &s);
}

static void noisy_or(const struct op_test *t, double *const *x, double *y)
{
    const double *logit = x[0];

    for (int64_t s = 0; s < t->n_ints[0]; s++) {
        double none = 0; /* log of the probability that no event happens */
        for (int32_t k = 0; k < t->ints[0][s]; k++)
            none -= log1p(exp(*logit++));
        y[s] = t->ints[0][s] ? log(-expm1(none)) - none : -30;
    }
}

/* Variant 1: logits far from 0 on both sides. */
static void and_logits_setup(struct op_test *t)
{
    double scale = t->variant ? 40 : 4;
    op_f32(t, t->rows, 0, scale);
    op_f32(t, t->rows, 0, scale);
}

static struct tensor *run_and_logits(struct ctx *c, struct op_test *t)
{
    return op_and_logits(c, t->x[0], t->x[1]);
}

static void and_logits(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double a = x[0][i], b = x[1][i], high = fmax(fmax(a, b), 0);
        y[i] = a + b - high - log(exp(-high) + exp(a - high) + exp(b - high));
    }
}

/* Variant 1 has weights. */
static void bce_setup(struct op_test *t)
{
    op_f32(t, t->rows, 0, 6);
    for (int i = 0; i <= t->variant; i++) {
        op_f32(t, t->rows, 0, 1);
        op_constant(t);
        for (int64_t k = 0; k < t->rows; k++)
            t->in[1 + i].value[k] = fabs(t->in[1 + i].value[k]); /* soft targets, some of them hard */
    }
    for (int64_t k = 0; k < t->rows; k += 3)
        t->in[1].value[k] = (double)(k % 2);
}

static struct tensor *run_bce(struct ctx *c, struct op_test *t)
{
    return op_bce(c, t->x[0], t->x[1], t->variant ? t->x[2] : NULL, 2.5f, 0.125f);
}

static void bce(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double loss = 2.5 * x[1][i] * log1p(exp(-x[0][i])) + (1 - x[1][i]) * log1p(exp(x[0][i]));
        *y += 0.125 * (t->variant ? x[2][i] : 1) * loss;
    }
}

/* About a fifth of the rows has no label.  In variant 1 all logits lie far below 0, where exp gives 0; in variant 2 one
 * logit of a row lies far above the others. */
static void cross_entropy_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 3);
    for (int64_t i = 0; t->variant == 1 && i < t->in[0].n; i++)
        t->in[0].value[i] = op_rounded(t->in[0].value[i] - 200, t->dtype);
    for (int64_t r = 0; t->variant == 2 && r < t->rows; r++)
        t->in[0].value[r * t->cols + 900 * (r + 1) % t->cols] = 150;
    int32_t *target = op_ints(t, t->rows, 0, (int32_t)t->cols);
    for (int64_t r = 2; r < t->rows; r += 5)
        target[r] = -1 - target[r];
}

static struct tensor *run_cross_entropy(struct ctx *c, struct op_test *t)
{
    return op_cross_entropy(c, t->x[0], batch_i32(c, t->ints[0], t->rows), 0.25f);
}

static void cross_entropy(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t r = 0; r < t->rows; r++) {
        const double *row = x[0] + r * t->cols;
        double sum = 0;
        for (int64_t j = 0; j < t->cols; j++)
            sum += exp(row[j] - row[0]);
        if (t->ints[0][r] >= 0)
            *y += 0.25 * (log(sum) - (row[t->ints[0][r]] - row[0]));
    }
}

static const struct op_row rows[] = {
    { "scale", one_matrix, run_scale, scale, .variants = 1 },
    { "gat", gat_setup, run_gat, gat, .variants = GAT_VARIANTS },
    { "gat_warp", gat_warp_setup, run_gat, gat, .variants = GAT_VARIANTS },
    { "propagate", propagate_setup, run_propagate, propagate, .variants = 1 },
    { "segment_pool", segments_setup, run_segment_pool, segment_pool, .variants = 2 },
    { "segment_score", segment_score_setup, run_segment_score, segment_score, .variants = SCORE_VARIANTS,
      .f32_only = true },
    { "attention_pool", attention_pool_setup, run_attention_pool, attention_pool, .variants = 1 },
    { "pair_features", pair_setup, run_pair_features, pair_features, .variants = 2 },
    { "noisy_or", noisy_or_setup, run_noisy_or, noisy_or, .variants = 2, .f32_only = true },
    { "and_logits", and_logits_setup, run_and_logits, and_logits, .variants = 2, .f32_only = true, .same_twice = true },
    { "bce", bce_setup, run_bce, bce, .variants = 2, .f32_only = true },
    { "cross_entropy", cross_entropy_setup, run_cross_entropy, cross_entropy, .variants = 3 },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
