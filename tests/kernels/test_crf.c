/* The CRF against published numbers, pytorch-crf in double (gold/make_dte.py), and a sum over every tagging with the
 * marginals of each tag and each pair of tags.  Viterbi; a span never begins with an inside tag. */
#include "kernels/rng.h"
#include "tests/support/digest.h"
#include "tests/support/guard.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS = 3, TOKENS = 7, MOST = 6, TIMES = 8 };
static const float emissions[TOKENS * TAGS] = { .5f, -1,  .3f, .2f, .9f, -.6f, -.3f, .4f,  1.1f, .7f, -.2f,
                                                .1f, .5f, -1,  .3f, .2f, .9f,  -.6f, -.3f, .4f,  1.1f };
static const float chain[(TAGS + 2) * TAGS] = { .2f,  -.4f, .1f,  0,   .3f,  -.2f, -.1f, .25f,
                                                .15f, .1f,  -.2f, .3f, .05f, 0,    -.15f };
static const int32_t lengths[] = { 4, 0, 3 }, gold[TOKENS] = { 0, 1, 1, 2, 0, 1, 1 };
static const int32_t likeliest[TOKENS] = { 2, 1, 2, 0, 2, 1, 2 };

struct given {
    struct test_step s;
    struct tensor *e, *allowed;
    struct seqs seqs;
    struct crf m;
};

static struct given *given_new(const float *e, int64_t tokens, const float *weights, int64_t tags,
                               const int32_t *sequence_lengths, int64_t n)
{
    struct given *g = xcalloc(1, sizeof *g);

    test_step_open(&g->s);
    g->e = test_input(&g->s, e, tokens, tags, false);
    g->m.weights = test_input(&g->s, weights, tags + 2, tags, true);
    g->seqs = batch_seqs(&g->s.ctx, sequence_lengths, n);
    return g;
}

static void given_free(struct given *g)
{
    test_step_close(&g->s);
    free(g);
}

static void only(struct given *g, const int32_t *tags, int64_t n)
{
    int32_t bits[TOKENS];
    for (int64_t i = 0; i < n; i++)
        bits[i] = (int32_t)(1u << tags[i]);
    g->allowed = batch_i32(&g->s.ctx, bits, n);
}

static void near(const float *got, const double *wanted, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 4e-6))
            fail_msg("number %lld: expected %.15g, got %.9g", (long long)i, wanted[i], (double)got[i]);
}

static void published(void **state)
{
    (void)state;
    struct given *g = given_new(emissions, TOKENS, chain, TAGS, lengths, 3);
    float *z = test_values(&g->s, op_crf_log_z(&g->s.ctx, g->e, NULL, &g->seqs, &g->m));
    only(g, gold, TOKENS);
    float *score = test_values(&g->s, op_crf_log_z(&g->s.ctx, g->e, g->allowed, &g->seqs, &g->m));
    float *nll = test_values(&g->s, op_crf_nll(&g->s.ctx, g->e, g->allowed, &g->seqs, &g->m));
    int32_t best[TOKENS];
    device_download(&g->s.device, best, op_viterbi(&g->s.ctx, g->e, NULL, &g->seqs, &g->m));

    near(z, (double[]){ 5.925831635762814, 0, 4.453739968072259 }, 3);
    near(score, (double[]){ 1.55, 0, 1.8 }, 3);
    near(nll, (double[]){ 4.375831635762813, 0, 2.653739968072259 }, 3);
    assert_memory_equal(best, likeliest, sizeof best);
    free(z);
    free(score);
    free(nll);
    given_free(g);
}

/* The published sequences many times over: none touches another's tags, nor memory behind the last. */
static void together(void **state)
{
    float e[TIMES * TOKENS * TAGS];
    int32_t all[TIMES * ARRAY_LEN(lengths)], best[TIMES * TOKENS];

    (void)state;
    for (int i = 0; i < TIMES; i++) {
        memcpy(e + i * TOKENS * TAGS, emissions, sizeof emissions);
        memcpy(all + i * ARRAY_LEN(lengths), lengths, sizeof lengths);
    }
    struct given *g = given_new(e, TIMES * TOKENS, chain, TAGS, all, ARRAY_LEN(all));
    struct device *d = &g->s.device;
    size_t from = g->s.step.used, bytes = 1 << 16;
    unsigned char *copy = xmalloc(from + bytes);
    memset(copy, GUARD_PATTERN, bytes);
    d->driver->upload(d, (char *)g->s.step.base + from, copy, bytes);
    guard_start(&g->s.step, false);
    struct tensor *y = op_viterbi(&g->s.ctx, g->e, NULL, &g->seqs, &g->m);
    guard_stop();
    d->driver->download(d, copy, g->s.step.base, from + bytes);
    assert_int_equal(guard_find_damage(copy, GUARD_PATTERN), -1);
    device_download(d, best, y);
    for (int i = 0; i < TIMES; i++)
        assert_memory_equal(best + i * TOKENS, likeliest, sizeof likeliest);
    free(copy);
    given_free(g);
}

/* Compares our numbers with the file's array of that name. */
static void as_gold(const struct safetensors *file, const char *name, const float *got, int64_t n)
{
    float *want = gold_numbers(file, name, n);
    double error = largest_difference(got, want, n) / largest(want, n);

    print_message("%s: %.2e\n", name, error);
    assert_true(error <= 1e-5);
    free(want);
}

/* Sequences of many lengths, which pytorch-crf takes padded. */
static void other_library(void **state)
{
    enum { K = 10, T = 71, N = 4 };
    static const int32_t each[N] = { 40, 1, 23, 7 };
    float e[T * K], w[(K + 2) * K], tagged[T];
    static const float one = 1;
    int32_t bits[T], best[T];
    struct safetensors file;
    struct error err;

    (void)state;
    assert_int_equal(safetensors_open(&file, "tests/gold/dte/numbers.safetensors", &err), 0);
    for (int i = 0; i < ARRAY_LEN(e); i++)
        e[i] = 3 * formula_value("chain emissions", i);
    for (int i = 0; i < ARRAY_LEN(w); i++)
        w[i] = formula_value("chain weights", i);
    for (int i = 0; i < T; i++)
        bits[i] = 1 << (int)(64 * formula_value("chain tags", i) + 64) % K;
    struct given *g = given_new(e, T, w, K, each, N);
    struct ctx *c = &g->s.ctx;
    g->allowed = batch_i32(c, bits, T);
    struct tensor *y = op_crf_nll(c, g->e, g->allowed, &g->seqs, &g->m);
    device_download(&g->s.device, best, op_viterbi(c, g->e, NULL, &g->seqs, &g->m));
    tape_backward(c, op_sum(c, y, batch_f32(c, &one, 1, 1, F32)));
    float *nll = test_values(&g->s, y), *de = test_values(&g->s, g->e->grad),
          *dw = test_values(&g->s, g->m.weights->grad);
    for (int i = 0; i < T; i++)
        tagged[i] = (float)best[i];
    as_gold(&file, "chain/nll", nll, N);
    as_gold(&file, "chain/emissions", de, T * K);
    as_gold(&file, "chain/weights", dw, (K + 2) * K);
    as_gold(&file, "chain/best", tagged, T);
    free(nll);
    free(de);
    free(dw);
    given_free(g);
    safetensors_close(&file);
}

/* One sequence of random numbers, and all its allowed taggings. */
struct trial {
    int64_t n, tags;
    float e[MOST * TAGS], w[(TAGS + 2) * TAGS];
    int32_t allowed[MOST], barred[TAGS + 2], best[MOST];
    double z, most;
    double tag[MOST * TAGS], weights[(TAGS + 2) * TAGS]; /* how likely a token's tag is; how often a weight counts */
};

static bool may(const struct trial *t, int64_t row, int64_t tag)
{
    return !((uint32_t)t->barred[row] >> tag & 1);
}

/* -INFINITY when it is impossible. */
static double score_of(const struct trial *t, const int32_t *y)
{
    double score = 0;

    for (int64_t i = 0; i < t->n; i++) {
        int64_t row = i ? y[i - 1] : t->tags;
        if (!may(t, row, y[i]) || !((uint32_t)t->allowed[i] >> y[i] & 1))
            return -INFINITY;
        score += (double)t->e[i * t->tags + y[i]] + (double)t->w[row * t->tags + y[i]];
    }
    int32_t last = y[t->n - 1];
    return may(t, t->tags + 1, last) ? score + (double)t->w[(t->tags + 1) * t->tags + last] : -INFINITY;
}

/* Adds a tagging's share to all sums. */
static void add_tagging(struct trial *t, const int32_t *y, double share)
{
    t->z += share;
    for (int64_t i = 0; i < t->n; i++) {
        t->tag[i * t->tags + y[i]] += share;
        t->weights[(i ? y[i - 1] : t->tags) * t->tags + y[i]] += share;
    }
    t->weights[(t->tags + 1) * t->tags + y[t->n - 1]] += share;
}

static void count_all(struct trial *t)
{
    int32_t y[MOST];
    int64_t all = 1;

    for (int64_t i = 0; i < t->n; i++)
        all *= t->tags;
    t->z = 0;
    t->most = -INFINITY;
    memset(t->tag, 0, sizeof t->tag);
    memset(t->weights, 0, sizeof t->weights);
    for (int64_t k = 0; k < all; k++) {
        int64_t rest = k;
        for (int64_t i = 0; i < t->n; i++, rest /= t->tags)
            y[i] = (int32_t)(rest % t->tags);
        double score = score_of(t, y);
        add_tagging(t, y, exp(score));
        if (score > t->most) {
            t->most = score;
            memcpy(t->best, y, sizeof y);
        }
    }
    if (t->most == -INFINITY)
        memset(t->best, 0, sizeof t->best);
    for (int i = 0; i < ARRAY_LEN(t->tag); i++)
        t->tag[i] /= t->z > 0 ? t->z : 1;
    for (int i = 0; i < ARRAY_LEN(t->weights); i++)
        t->weights[i] /= t->z > 0 ? t->z : 1;
}

static void draw_trial(struct trial *t, struct rng *r)
{
    t->n = 1 + (int64_t)rng_below(r, MOST);
    t->tags = 1 + (int64_t)rng_below(r, TAGS);
    for (int64_t i = 0; i < ARRAY_LEN(t->e); i++)
        t->e[i] = 4 * rng_uniform(r) - 2;
    for (int64_t i = 0; i < ARRAY_LEN(t->w); i++)
        t->w[i] = 4 * rng_uniform(r) - 2;
    for (int i = 0; i < MOST; i++)
        t->allowed[i] = rng_below(r, 4) ? -1 : (int32_t)rng_below(r, 8);
    for (int i = 0; i < TAGS + 2; i++)
        t->barred[i] = (int32_t)(rng_below(r, 8) & rng_below(r, 8));
}

static void check_trial(const struct trial *t)
{
    int32_t length = (int32_t)t->n, best[MOST];
    struct given *g = given_new(t->e, t->n, t->w, t->tags, &length, 1);
    struct ctx *c = &g->s.ctx;

    g->allowed = batch_i32(c, t->allowed, t->n);
    g->m.forbidden = batch_i32(c, t->barred, t->tags + 2);
    struct tensor *y = op_crf_log_z(c, g->e, g->allowed, &g->seqs, &g->m);
    float *z = test_values(&g->s, y);
    device_download(&g->s.device, best, op_viterbi(c, g->e, g->allowed, &g->seqs, &g->m));
    if (t->most > -INFINITY)
        near(z, (double[]){ log(t->z) }, 1);
    else
        assert_true(*z == -INFINITY);
    assert_memory_equal(best, t->best, (size_t)t->n * sizeof *best);
    tape_backward(c, y);
    float *de = test_values(&g->s, g->e->grad), *dw = test_values(&g->s, g->m.weights->grad);
    near(de, t->tag, t->n * t->tags);
    near(dw, t->weights, (t->tags + 2) * t->tags);
    free(z);
    free(de);
    free(dw);
    given_free(g);
}

/* Numbers so far above their neighbours that as a factor's largest they would leave nothing of them. */
static void neighbours(void **state)
{
    struct trial t = { .n = 2, .tags = 2, .e = { .5f, -1, 150, 149.5f }, .allowed = { -1, -1 } };
    const float w[] = { .2f, -.4f, .1f, .3f, 0, .25f, -150, -150.5f };

    (void)state;
    memcpy(t.w, w, sizeof w);
    for (int side = 0; side < 2; side++) {
        count_all(&t);
        check_trial(&t);
        for (int i = 0; i < 2; i++) {
            t.e[2 + i] = -t.e[2 + i];
            t.w[6 + i] = -t.w[6 + i];
        }
    }
}

static void one_by_one(void **state)
{
    struct rng r = { 11, 0 };
    struct trial t;
    int impossible = 0;

    (void)state;
    for (int k = 0; k < 400; k++) {
        draw_trial(&t, &r);
        count_all(&t);
        check_trial(&t);
        impossible += t.most == -INFINITY;
    }
    assert_in_range(impossible, 5, 200);
}

/* Tags of which every second one, from 3 on, only stands behind itself or the one before it. */
static void inside(void **state)
{
    enum { K = 10, T = 600, LONG = 60, N = T / LONG };
    struct rng r = { 5, 0 };
    float e[T * K], w[(K + 2) * K];
    int32_t each[N], barred[K + 2] = { 0 }, best[T], broken = 0;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(e); i++)
        e[i] = 8 * rng_uniform(&r) - (i % K < 3 ? 4 : 2); /* what is barred is likely */
    for (int i = 0; i < ARRAY_LEN(w); i++)
        w[i] = 8 * rng_uniform(&r) - 4;
    for (int i = 0; i < N; i++)
        each[i] = LONG;
    for (int j = 3; j < K; j += 2)
        for (int i = 0; i <= K; i++)
            barred[i] |= i == j || i == j - 1 ? 0 : 1 << j;
    struct given *g = given_new(e, T, w, K, each, N);
    for (int bound = 0; bound < 2; bound++) {
        g->m.forbidden = bound ? batch_i32(&g->s.ctx, barred, K + 2) : NULL;
        device_download(&g->s.device, best, op_viterbi(&g->s.ctx, g->e, NULL, &g->seqs, &g->m));
        broken = 0;
        for (int t = 0; t < T; t++)
            broken += barred[t % LONG ? best[t - 1] : K] >> best[t] & 1;
        assert_true(bound ? broken == 0 : broken > T / 10);
    }
    given_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published), cmocka_unit_test(other_library), cmocka_unit_test(inside),
        cmocka_unit_test(together),  cmocka_unit_test(neighbours),    cmocka_unit_test(one_by_one),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
