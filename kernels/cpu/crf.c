/*
 * A linear-chain conditional random field: log of the partition function, its gradient, and the best tagging
 * (Viterbi).
 *
 * The forward and backward recursions run on probabilities in place of their logarithms.
 * A step is a product of a vector and a small matrix, and takes the exponentials of the emissions alone. Weights and
 * emissions are reduced by their maxima first, and alpha is scaled to sum 1 at each token. log Z adds the maxima and
 * the logarithms of the scales up in f64.
 *
 * Sequences are independent, so that each is one task. The gradient of the weights has a part for each sequence, which
 * the op adds up in order.
 */
#include "kernels/cpu/row.h"
#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = CRF_TAGS_MAX, PARALLEL_TOKENS = 256 }; /* loops over WIDE vectorise; tags from K on have weight 0 */

/* The weights as factors: exp of each weight less the maximum of its kind, 0 for forbidden transitions. */
struct factors {
    int64_t tags;
    float trans[WIDE][WIDE], back[WIDE][WIDE], start[1][WIDE], end[1][WIDE]; /* back: trans transposed */
    double most_trans, most_start, most_end;
};

static bool barred(const struct crf *m, int64_t from, int64_t tag)
{
    return m->forbidden && (uint32_t)((const int32_t *)m->forbidden->data)[from] >> tag & 1;
}

/* Computes n rows of factors from the weights from `row` on; returns the maximum weight. */
static double take_factors(float (*out)[WIDE], const struct crf *m, int64_t row, int64_t n)
{
    int64_t tags = tensor_cols(m->weights);
    const float *w = m->weights->data;
    float most = -INFINITY;

    for (int64_t i = row; i < row + n; i++)
        for (int64_t j = 0; j < tags; j++)
            most = barred(m, i, j) ? most : fmaxf(most, w[i * tags + j]);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t i = row; i < row + n; i++)
        for (int64_t j = 0; j < tags; j++)
            if (!barred(m, i, j))
                out[i - row][j] = vexp(w[i * tags + j] - most);
    return most;
}

static void factors_init(struct factors *f, const struct crf *m)
{
    *f = (struct factors){ .tags = tensor_cols(m->weights) };
    f->most_trans = take_factors(f->trans, m, 0, f->tags);
    f->most_start = take_factors(f->start, m, f->tags, 1);
    f->most_end = take_factors(f->end, m, f->tags + 1, 1);
    for (int64_t i = 0; i < f->tags; i++)
        for (int64_t j = 0; j < f->tags; j++)
            f->back[j][i] = f->trans[i][j];
}

/* Sets out to exp of a token's emissions less the maximum of the allowed ones, which is returned. */
static inline float emit(float out[WIDE], const float *e, int64_t tags, uint32_t may)
{
    float most = -INFINITY;

    memset(out, 0, WIDE * sizeof *out);
    for (int64_t j = 0; j < tags; j++)
        most = may >> j & 1 ? fmaxf(most, e[j]) : most;
    for (int64_t j = 0; j < tags; j++)
        out[j] = may >> j & 1 ? vexp(e[j] - most) : 0.0f;
    return most;
}

static inline uint32_t allowed_at(const int32_t *allowed, int64_t token)
{
    return allowed ? (uint32_t)allowed[token] : UINT32_MAX;
}

/* to[j] = sum over i of from[i] w[i][j] */
static inline void times(float to[restrict WIDE], const float from[restrict WIDE], const float (*restrict w)[WIDE],
                         int64_t tags)
{
    memset(to, 0, WIDE * sizeof *to);
    for (int64_t i = 0; i < tags; i++)
        for (int j = 0; j < WIDE; j++)
            to[j] += from[i] * w[i][j];
}

static inline float sum_products(const float a[WIDE], const float b[WIDE])
{
    float sum = 0;
    for (int j = 0; j < WIDE; j++)
        sum += a[j] * b[j];
    return sum;
}

/* Returns log Z of n tokens.  Rows of alpha sum to 1, and are 0 once no tagging is possible. */
CPU_CLONES static double crf_forward(float *alpha, const float *e, const int32_t *allowed, int64_t n,
                                     const struct factors *f)
{
    int64_t tags = f->tags;
    float at[WIDE] = { 0 }, factor[WIDE], before[WIDE] = { 0 };
    double log_z = f->most_start + f->most_end;

    for (int64_t t = 0; t < n; t++) {
        /* at[j] is the probability of tag j at this token, given the tokens up to here. */
        float most = emit(factor, e + t * tags, tags, allowed_at(allowed, t));
        if (t == 0)
            memcpy(before, f->start[0], sizeof before);
        else
            times(before, at, f->trans, tags);
        float sum = sum_products(before, factor);
        for (int j = 0; j < WIDE; j++)
            /* A sum of 0 means that no tagging is possible. Its logarithm makes log Z -INFINITY, and later rows stay
             * 0. */
            at[j] = sum > 0 ? before[j] * factor[j] / sum : 0.0f;
        memcpy(alpha + t * tags, at, (size_t)tags * sizeof *at);
        log_z += (double)most + log((double)sum) + (t > 0 ? f->most_trans : 0);
    }
    return log_z + log((double)sum_products(at, f->end[0]));
}

/* The inputs and outputs of one sequence's backward; sums NULL: only de is needed. */
struct crf_gradient {
    const float *alpha, *e;
    const int32_t *allowed;
    float *de, *sums, dy;
    bool add;
    int64_t n;
};

static inline void put_emissions(const struct crf_gradient *g, int64_t t, const float alpha[WIDE],
                                 const float beta[WIDE], int64_t tags)
{
    float *de = g->de + t * tags;
    for (int64_t j = 0; j < tags; j++)
        de[j] = (g->add ? de[j] : 0.0f) + g->dy * alpha[j] * beta[j];
}

/* Computes beta of the preceding token, the likelihood of the rest after each tag, so that alpha beta sums to 1.
 * pairs[i][j] is the likelihood of tags i and j at the two tokens without the factor of i -> j. */
static inline void step_back(float beta[WIDE], float (*restrict pairs)[WIDE], const float before[WIDE],
                             const float factor[WIDE], const struct factors *f)
{
    float here[WIDE], sum;

    for (int j = 0; j < WIDE; j++)
        here[j] = factor[j] * beta[j];
    times(beta, here, f->back, f->tags);
    sum = sum_products(before, beta);
    for (int j = 0; j < WIDE; j++) {
        beta[j] /= sum;
        here[j] /= sum;
    }
    for (int64_t i = 0; i < f->tags; i++)
        for (int j = 0; j < WIDE; j++)
            pairs[i][j] += before[i] * here[j];
}

/* Writes the gradient of the weights: rows of transitions, then of the first tag and of the last. */
static void put_sums(const struct crf_gradient *g, float (*pairs)[WIDE], const float first[WIDE],
                     const float last[WIDE], const struct factors *f)
{
    int64_t tags = f->tags;

    for (int64_t i = 0; i < tags; i++)
        for (int64_t j = 0; j < tags; j++)
            g->sums[i * tags + j] = g->dy * pairs[i][j] * f->trans[i][j];
    for (int64_t j = 0; j < tags; j++) {
        g->sums[tags * tags + j] = g->dy * first[j];
        g->sums[(tags + 1) * tags + j] = g->dy * last[j];
    }
}

/* Returns false if no tagging is possible. */
CPU_CLONES static bool crf_backward(const struct crf_gradient *g, const struct factors *f)
{
    int64_t tags = f->tags;
    float pairs[WIDE][WIDE] = { { 0 } }, alpha[WIDE] = { 0 }, beta[WIDE], last[WIDE], factor[WIDE];

    memcpy(alpha, g->alpha + (g->n - 1) * tags, (size_t)tags * sizeof *alpha);
    /* beta starts at the last token with the factor of the end, scaled so that alpha beta sums to 1. */
    float sum = sum_products(alpha, f->end[0]);
    if (!(sum > 0))
        return false;
    for (int j = 0; j < WIDE; j++) {
        beta[j] = f->end[0][j] / sum;
        last[j] = alpha[j] * beta[j];
    }
    /* alpha of each token was kept by the forward; beta is carried from the last token to the first. */
    for (int64_t t = g->n - 1;; t--) {
        if (g->de)
            put_emissions(g, t, alpha, beta, tags);
        if (t == 0)
            break;
        /* Recomputing the factors costs less than keeping [tokens, tags] of them. */
        emit(factor, g->e + t * tags, tags, allowed_at(g->allowed, t));
        memcpy(alpha, g->alpha + (t - 1) * tags, (size_t)tags * sizeof *alpha);
        step_back(beta, pairs, alpha, factor, f);
    }
    for (int j = 0; j < WIDE; j++)
        alpha[j] *= beta[j];
    if (g->sums)
        put_sums(g, pairs, alpha, last, f);
    return true;
}

static const int32_t *from_token(const struct tensor *allowed, int64_t token)
{
    return allowed ? (const int32_t *)allowed->data + token : NULL;
}

void cpu_crf_log_z(struct ctx *c, struct tensor *y, struct tensor *alpha, const struct tensor *e,
                   const struct tensor *allowed, const struct seqs *s, const struct crf *m)
{
    const int32_t *offsets = s->offsets->data;
    float *out = y->data;
    struct factors f;

    (void)c;
    factors_init(&f, m);
#pragma omp parallel for schedule(static) if (tensor_rows(e) > PARALLEL_TOKENS)
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = offsets[i], n = offsets[i + 1] - at;
        out[i] = n == 0 ? 0.0f
                        : (float)crf_forward((float *)alpha->data + at * f.tags, (const float *)e->data + at * f.tags,
                                             from_token(allowed, at), n, &f);
    }
}

void cpu_crf_log_z_backward(struct ctx *c, struct destination de, struct tensor *sums, const struct tensor *dy,
                            const struct tensor *alpha, const struct tensor *e, const struct tensor *allowed,
                            const struct seqs *s, const struct crf *m)
{
    const int32_t *offsets = s->offsets->data;
    struct factors f;

    (void)c;
    factors_init(&f, m);
    int64_t width = (f.tags + 2) * f.tags;
#pragma omp parallel for schedule(static) if (tensor_rows(e) > PARALLEL_TOKENS)
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = offsets[i] * f.tags;
        struct crf_gradient g = { .alpha = (const float *)alpha->data + at,
                                  .e = (const float *)e->data + at,
                                  .allowed = from_token(allowed, offsets[i]),
                                  .de = de.t ? (float *)de.t->data + at : NULL,
                                  .sums = sums ? (float *)sums->data + i * width : NULL,
                                  .dy = ((const float *)dy->data)[i],
                                  .add = de.add,
                                  .n = offsets[i + 1] - offsets[i] };
        /* A sequence without a possible tagging has no gradient; neither has one without tokens. */
        if (g.n > 0 && crf_backward(&g, &f))
            continue;
        if (g.sums)
            memset(g.sums, 0, (size_t)width * sizeof *g.sums);
        if (g.de && !g.add)
            memset(g.de, 0, (size_t)(g.n * f.tags) * sizeof *g.de);
    }
}

/* Computes the score of the best path to each tag of a token; back is the preceding tag. */
static void best_step(float to[WIDE], int32_t *back, const float from[WIDE], const struct crf *m)
{
    int64_t tags = tensor_cols(m->weights);
    const float *w = m->weights->data;

    for (int64_t j = 0; j < tags; j++) {
        to[j] = -INFINITY;
        back[j] = 0;
        for (int64_t i = 0; i < tags; i++) {
            float score = barred(m, i, j) ? -INFINITY : from[i] + w[i * tags + j];
            if (score > to[j]) {
                to[j] = score;
                back[j] = (int32_t)i;
            }
        }
    }
}

static void best_tags(int32_t *y, int32_t *back, const float *e, const int32_t *allowed, int64_t n, const struct crf *m)
{
    int64_t tags = tensor_cols(m->weights), best = 0;
    const float *w = m->weights->data;
    float at[WIDE] = { 0 }, to[WIDE], most = -INFINITY;

    for (int64_t t = 0; t < n; t++) {
        /* Row `tags` of the weights is that of the first tag, the next row that of the last. */
        for (int64_t j = 0; t == 0 && j < tags; j++)
            to[j] = barred(m, tags, j) ? -INFINITY : w[tags * tags + j];
        if (t > 0)
            best_step(to, back + t * tags, at, m);
        for (int64_t j = 0; j < tags; j++)
            at[j] = allowed_at(allowed, t) >> j & 1 ? to[j] + e[t * tags + j] : -INFINITY;
    }
    for (int64_t j = 0; j < tags; j++) {
        float score = barred(m, tags + 1, j) ? -INFINITY : at[j] + w[(tags + 1) * tags + j];
        if (score > most) {
            most = score;
            best = j;
        }
    }
    /* The path is read backwards through the predecessors that best_step kept. */
    for (int64_t t = n - 1; t >= 0; t--) {
        y[t] = most > -INFINITY ? (int32_t)best : 0;
        best = t > 0 ? back[t * tags + best] : 0;
    }
}

void cpu_viterbi(struct ctx *c, struct tensor *y, struct tensor *back, const struct tensor *e,
                 const struct tensor *allowed, const struct seqs *s, const struct crf *m)
{
    const int32_t *offsets = s->offsets->data;
    int64_t tags = tensor_cols(e);

    (void)c;
#pragma omp parallel for schedule(static) if (tensor_rows(e) > PARALLEL_TOKENS)
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = offsets[i];
        best_tags((int32_t *)y->data + at, (int32_t *)back->data + at * tags, (const float *)e->data + at * tags,
                  from_token(allowed, at), offsets[i + 1] - at, m);
    }
}
