/* Sampling: the distribution that the warpers of transformers leave (gold/make_decode.py), sampled by its inverse, and
 * rows that end. */
#include "tests/support/support.h"

#include "kernels/rng.h"
#include "tests/support/decode_world.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JUNK = 4321, STEPS = 3, LIMIT_OFF = 1000, SEED = 5 };

static struct draw_settings settings_of(struct ctx *c, const json_t *o)
{
    return (struct draw_settings){ .stops = batch_i32(c, NULL, 0),
                                   .temperature = (float)json_number_value(json_object_get(o, "temperature")),
                                   .top_k = (int)json_integer_value(json_object_get(o, "top_k")),
                                   .top_p = (float)json_number_value(json_object_get(o, "top_p")),
                                   .min_p = (float)json_number_value(json_object_get(o, "min_p")),
                                   .typical_p = (float)json_number_value(json_object_get(o, "typical_p")),
                                   .seed = SEED };
}

/* In [0, 1), by the definition. */
static double uniform(int32_t request, int row, int step)
{
    struct philox counter = { { (uint32_t)step, (uint32_t)row, (uint32_t)request, 77 } };
    return (double)(philox_block(counter, SEED, 0).v[0] >> 8) / (1 << 24);
}

static double log_softmax(const float *x, int64_t n, int64_t at)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] > -INFINITY ? exp((double)x[i]) : 0;
    return (double)x[at] - log(sum);
}

/* The token below which, of those kept, a share u of their probability lies; *margin is how close it was. */
static int32_t inverse(const float *x, const json_t *kept, double temperature, double u, double *margin)
{
    size_t n = json_array_size(kept);
    double sum = 0, below = 0;

    for (size_t i = 0; i < n; i++)
        sum += exp((double)x[json_integer_value(json_array_get(kept, i))] / temperature);
    for (size_t i = 0; i < n; i++) {
        int32_t id = (int32_t)json_integer_value(json_array_get(kept, i));
        double from = below;
        below += exp((double)x[id] / temperature) / sum;
        *margin = fmin(u - from, below - u);
        if (u < below)
            return id;
    }
    return -1;
}

static struct tensor *same_rows(struct ctx *c, const float *x, int64_t rows, int64_t vocab)
{
    float *all = xmalloc((size_t)(rows * vocab) * sizeof *all);

    for (int64_t i = 0; i < rows; i++)
        memcpy(all + i * vocab, x, (size_t)vocab * sizeof *x);
    struct tensor *t = batch_f32(c, all, rows, vocab, F32);
    free(all);
    return t;
}

/* All rows of two requests draw from one row of logits. */
static void check_draws(const json_t *o, const float *x, const json_t *kept, int row, int width)
{
    int64_t vocab = json_integer_value(json_object_get(o, "vocab"));
    const int32_t active[3] = { -1, 1, 0 };
    struct decode_world w;

    decode_world_open(&w, 2, width, STEPS, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    struct draw_settings set = settings_of(c, o);
    decode_world_start(&w, active, 3, STATE_FREE, false);
    struct decode_step at = decode_world_step(&w, active, 3, row % STEPS, LIMIT_OFF);
    op_draw(c, &w.s, &at, same_rows(c, x, 3 * (int64_t)width, vocab), NULL, &set);
    int32_t *said = decode_world_words(&w, w.s.said), *token = decode_world_words(&w, w.s.token);
    float *logp = test_values(&w.step, w.s.logp);
    for (int i = 0; i < 2 * width; i++) {
        double margin = 0, u = uniform(i / width, i % width, row % STEPS);
        int32_t want = inverse(x, kept, (double)set.temperature, u, &margin), got = said[i * STEPS + row % STEPS];
        if (got != want && margin > 2e-6)
            fail_msg("%lld words, row %d, top_k %d, top_p %g, min_p %g, typical_p %g: %d drawn at %.9g, expected %d",
                     (long long)vocab, row, set.top_k, (double)set.top_p, (double)set.min_p, (double)set.typical_p, got,
                     u, want);
        assert_int_equal(token[i], got);
        assert_true(fabs((double)logp[i * STEPS + row % STEPS] - log_softmax(x, vocab, got)) < 2e-5);
    }
    free(said);
    free(token);
    free(logp);
    decode_world_close(&w);
}

static void check_gold(const json_t *o, int row, int width)
{
    int64_t vocab = json_integer_value(json_object_get(o, "vocab"));
    float *x = xmalloc((size_t)vocab * sizeof *x);
    char name[32];

    snprintf(name, sizeof name, "draw %lld", (long long)vocab);
    for (int64_t i = 0; i < vocab; i++)
        x[i] = decode_logit(name, row * vocab + i);
    check_draws(o, x, json_array_get(json_object_get(o, "kept"), (size_t)row), row, width);
    free(x);
}

static void test_gold(void **state)
{
    json_error_t why;
    json_t *gold = json_load_file("tests/gold/decode.json", 0, &why), *cases = json_object_get(gold, "draws");
    bool slow = strcmp(test_device_name(), "simt") == 0;

    (void)state;
    assert_non_null(gold);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *o = json_array_get(cases, i);
        size_t rows = json_array_size(json_object_get(o, "kept"));
        for (size_t row = 0; row < rows; row++)
            check_gold(o, (int)row, slow ? 2 : 64);
    }
    json_decref(gold);
}

/* Few words above many, at distances where a search by halves first looks and just beyond; the last of all among
 * them. */
static void check_top_k(int vocab, int top_k, float others)
{
    float x[300], least = top_k == 1 ? -1 : top_k == 2 ? -1.55f : -2;
    json_t *kept = json_array(), *o = json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "vocab", vocab, "top_k", top_k,
                                                "temperature", 1.0, "top_p", 1.0, "min_p", 0.0, "typical_p", 1.0);

    for (int i = 0; i < vocab; i++) {
        x[i] = i == 5 ? -1.6f : i == 7 ? 0 : i == vocab - 1 ? -1.5f : others;
        if (x[i] > least)
            json_array_append_new(kept, json_integer(i));
    }
    check_draws(o, x, kept, 0, 16);
    json_decref(o);
    json_decref(kept);
}

/* Fewer words than a block has threads, and more; of equals all are kept. */
static void test_top_k(void **state)
{
    (void)state;
    for (int vocab = 200; vocab <= 300; vocab += 100) {
        for (int top_k = 1; top_k <= 3; top_k++) {
            check_top_k(vocab, top_k, -50);
            check_top_k(vocab, top_k, -1.6f);
        }
        check_top_k(vocab, 1, 0);
    }
}

/* More words than a block has threads just where a search by halves looks first, and half as many beyond, of which
 * fifty and the likeliest are kept with them. */
static void test_many_equal(void **state)
{
    enum { VOCAB = 800, EQUAL = 600, BEYOND = 50 };
    float x[VOCAB];
    json_t *kept = json_array(),
           *o = json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "vocab", VOCAB, "top_k", EQUAL + BEYOND, "temperature", 1.0,
                          "top_p", 1.0, "min_p", 0.0, "typical_p", 1.0);

    (void)state;
    for (int i = 0; i < VOCAB; i++) {
        x[i] = i == 0 ? 0 : i % 4 ? -1.5f : -2 - 0x1p-10f * (float)i;
        if (i % 4 || i < 4 * BEYOND)
            json_array_append_new(kept, json_integer(i));
    }
    check_draws(o, x, kept, 0, 16);
    json_decref(o);
    json_decref(kept);
}

/* Words over more parts of a row than one, each a little less likely than the one before, so that all but the first lie
 * in one bin.  The first `n` are kept. */
static void check_crowd(int vocab, int top_k, double top_p, float apart, int n)
{
    float *x = xmalloc((size_t)vocab * sizeof *x);
    json_t *kept = json_array(), *o = json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "vocab", vocab, "top_k", top_k,
                                                "temperature", 1.0, "top_p", top_p, "min_p", 0.0, "typical_p", 1.0);

    for (int i = 0; i < vocab; i++) {
        x[i] = i ? -1.5f - apart * (float)i : 0;
        if (i < n)
            json_array_append_new(kept, json_integer(i));
    }
    check_draws(o, x, kept, 0, 4);
    json_decref(o);
    json_decref(kept);
    free(x);
}

/* The least number of words that weigh half as much as all. */
static int half_of_crowd(int vocab, float apart)
{
    double all = 1, some = 1;
    int n = 1;

    for (int i = 1; i < vocab; i++)
        all += exp(-1.5 - (double)apart * i);
    for (; some < all / 2; n++)
        some += exp(-1.5 - (double)apart * n);
    return n;
}

static void test_crowd(void **state)
{
    enum { PART = 4096, PARTS = 2 * PART + 9 };
    static const int vocab[] = { 1, 31, 127, 1025, PART - 1, PART, PART + 1, 2 * PART, PARTS };
    float apart = 0x1p-23f;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(vocab); i++) {
        int n = vocab[i];
        check_crowd(n, n / 2 + 1, 1, apart, n / 2 + 1);
        check_crowd(n, n, 1, apart, n);
        check_crowd(n, n + 1, 1, apart, n);
        check_crowd(n, 0, 0.5, apart, half_of_crowd(n, apart));
    }
    check_crowd(PARTS, 1, 1, apart, 1);
    check_crowd(PARTS, 2, 1, apart, 2);
    check_crowd(PARTS, PART + 1, 1, apart, PART + 1);
    check_crowd(PARTS, 2, 1, 0, PARTS);
    check_crowd(PARTS, PARTS, 0.5, 0x1p-8f, half_of_crowd(PARTS, 0x1p-8f));
}

enum { BESIDE = 6, BESIDE_WORDS = 2100 };

/* Draws for BESIDE rows; every second one has the other logits. */
static void draw_beside(const float *x, const float *other, int32_t *said)
{
    static const int32_t active[3] = { 0, 1, 2 };
    float *all = xmalloc(BESIDE * BESIDE_WORDS * sizeof *all);
    struct decode_world w;

    for (int i = 0; i < BESIDE; i++)
        memcpy(all + i * BESIDE_WORDS, i % 2 ? other : x, BESIDE_WORDS * sizeof *all);
    decode_world_open(&w, 3, 2, 1, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    struct draw_settings set = { batch_i32(c, NULL, 0), 1, 451, 1, 1, 0, SEED };
    decode_world_start(&w, active, 3, STATE_FREE, false);
    struct decode_step at = decode_world_step(&w, active, 3, 0, STEPS);
    op_draw(c, &w.s, &at, batch_f32(c, all, BESIDE, BESIDE_WORDS, F32), NULL, &set);
    int32_t *token = decode_world_words(&w, w.s.token);
    memcpy(said, token, BESIDE * sizeof *said);
    free(token);
    free(all);
    decode_world_close(&w);
}

/* The token of a row does not depend on the rows beside it: more choices than can be listed, and fewer. */
static void test_beside(void **state)
{
    float many[BESIDE_WORDS], few[BESIDE_WORDS];
    int32_t alone[2][BESIDE], beside[BESIDE];

    (void)state;
    for (int i = 0; i < BESIDE_WORDS; i++) {
        many[i] = i ? -1.5f - 0x1p-23f * (float)i : 0;
        few[i] = i < 900 ? many[i] : -9;
    }
    draw_beside(many, many, alone[0]);
    draw_beside(few, few, alone[1]);
    for (int round = 0; round < 4; round++) {
        draw_beside(many, few, beside);
        for (int i = 0; i < BESIDE; i++)
            assert_int_equal(beside[i], alone[i % 2][i]);
    }
}

/* A choice for the plain definition of the warpers. */
struct choice {
    double p, far; /* probability, and distance from the typical one */
    int id;
    bool kept;
};

static int more_probable(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;
    return a->p > b->p ? -1 : a->p < b->p;
}

static int more_typical(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;
    return a->far < b->far ? -1 : a->far > b->far;
}

static double kept_sum(const struct choice *list, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += list[i].kept ? list[i].p : 0;
    return sum;
}

/* Keeps the first of the list until they hold the share. */
static void keep_share(struct choice *list, int n, double share)
{
    double all = kept_sum(list, n), sum = 0;

    for (int i = 0; i < n; i++) {
        list[i].kept = list[i].kept && sum < share * all;
        sum += list[i].kept ? list[i].p : 0;
    }
}

static void keep_typical(struct choice *list, int n, double share)
{
    double all = kept_sum(list, n), entropy = 0;

    for (int i = 0; i < n; i++)
        entropy -= list[i].kept ? list[i].p / all * log(list[i].p / all) : 0;
    for (int i = 0; i < n; i++)
        list[i].far = fabs(-log(list[i].p / all) - entropy);
    qsort(list, (size_t)n, sizeof *list, more_typical);
    keep_share(list, n, share);
}

/* All warpers together, in transformers' order, beside their definition in double. */
static void check_warpers(int vocab, int top_k, double top_p, double min_p, double typical_p)
{
    float *x = xmalloc((size_t)vocab * sizeof *x);
    bool *is_kept = xcalloc((size_t)vocab, sizeof *is_kept);
    struct choice *list = xcalloc((size_t)vocab, sizeof *list);
    json_t *kept = json_array(),
           *o = json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "vocab", vocab, "top_k", top_k, "temperature", 0.5, "top_p",
                          top_p, "min_p", min_p, "typical_p", typical_p);

    for (int i = 0; i < vocab; i++) {
        x[i] = decode_logit("warpers", i) / 2;
        list[i] = (struct choice){ exp(2 * (double)x[i]), 0, i, true };
    }
    qsort(list, (size_t)vocab, sizeof *list, more_probable);
    for (int i = top_k; i < vocab; i++)
        list[i].kept = false;
    keep_share(list, vocab, top_p);
    for (int i = 0; i < vocab; i++)
        list[i].kept = list[i].kept && list[i].p >= min_p * list[0].p;
    keep_typical(list, vocab, typical_p);
    for (int i = 0; i < vocab; i++)
        is_kept[list[i].id] = list[i].kept;
    for (int i = 0; i < vocab; i++)
        if (is_kept[i])
            json_array_append_new(kept, json_integer(i));
    check_draws(o, x, kept, 0, 16);
    json_decref(o);
    json_decref(kept);
    free(x);
    free(is_kept);
    free(list);
}

static void test_warpers(void **state)
{
    (void)state;
    for (int vocab = 300; vocab <= 4500; vocab += 4200) {
        check_warpers(vocab, 40, 0.8, 0, 1);
        check_warpers(vocab, vocab, 0.8, 0.3, 1);
        check_warpers(vocab, vocab, 1, 0.2, 0.6);
        check_warpers(vocab, 60, 0.9, 0.1, 0.5);
    }
}

/* The likeliest word, and what may follow it, where a row and its edges take several parts. */
static void check_long_rows(float temperature, int every, int likeliest, int other)
{
    enum { VOCAB = 8195, ROWS = 3 };
    static const int32_t active[ROWS] = { 1, -1, 0 };
    int32_t first[3] = { 0, 0, 0 }, token[VOCAB], next[VOCAB];
    float *x = xmalloc(ROWS * VOCAB * sizeof *x);
    struct decode_world w;

    for (int i = 0; i < ROWS * VOCAB; i++)
        x[i] = i % VOCAB == likeliest ? 9 : i % VOCAB == other && temperature == 0 ? 9 : i % 7 ? -(float)(i % 5) : NAN;
    for (int i = likeliest % every; i < VOCAB; i += every) {
        next[first[2]] = i % 2;
        token[first[2]++] = i;
    }
    decode_world_open(&w, 2, 1, STEPS, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    struct automaton a = { batch_i32(c, first, 3), batch_i32(c, token, first[2]), batch_i32(c, next, first[2]) };
    struct draw_settings set = { batch_i32(c, NULL, 0), temperature, 0, 1, 1, 0, SEED };
    decode_world_start(&w, active, ROWS, 1, false);
    struct decode_step at = decode_world_step(&w, active, ROWS, 0, STEPS);
    op_draw(c, &w.s, &at, batch_f32(c, x, ROWS, VOCAB, F32), every > 1 ? &a : NULL, &set);
    int32_t *got = decode_world_words(&w, w.s.token), *after = decode_world_words(&w, w.s.state);
    float *logp = test_values(&w.step, w.s.logp);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(got[i], likeliest);
        assert_int_equal(after[i], every > 1 ? likeliest % 2 : STATE_FREE);
        assert_true(
            fabs((double)logp[i * STEPS] - log_softmax(x + (active[0] == i ? 0 : 2) * VOCAB, VOCAB, likeliest)) < 2e-5);
    }
    free(got);
    free(after);
    free(logp);
    free(x);
    decode_world_close(&w);
}

static void test_long_rows(void **state)
{
    (void)state;
    for (int every = 1; every <= 3; every++) {
        check_long_rows(0, every, 4096, 8190);
        check_long_rows(0, every, 8194, 0x7fffffff);
        check_long_rows(0, every, 4095, 4096);
        check_long_rows(0.05f, every, 0, 1);
        check_long_rows(0.05f, every, 8194, 0);
    }
}

/* Two requests of two rows in the order 1, 0, over five words. */
struct ending {
    struct decode_world w;
    struct draw_settings set;
    struct automaton a;
};

static const int32_t both[2] = { 1, 0 };

/* State 0 allows nothing, 1 words 1 and 3, which lead to 0 and 1. */
static void ending_open(struct ending *e, float temperature)
{
    static const int32_t first[3] = { 0, 0, 2 }, token[2] = { 1, 3 }, next[2] = { 0, 1 }, stops[1] = { 2 };

    decode_world_open(&e->w, 2, 2, STEPS, 0, JUNK);
    struct ctx *c = &e->w.step.ctx;
    e->set = (struct draw_settings){ batch_i32(c, stops, 1), temperature, 0, 1, 1, 0, SEED };
    e->a = (struct automaton){ batch_i32(c, first, 3), batch_i32(c, token, 2), batch_i32(c, next, 2) };
}

static void ending_step(struct ending *e, int step, const float *x, bool constrained)
{
    struct ctx *c = &e->w.step.ctx;
    struct decode_step at = decode_world_step(&e->w, both, 2, step, STEPS);

    op_draw(c, &e->w.s, &at, batch_f32(c, x, 4, 5, F32), constrained ? &e->a : NULL, &e->set);
}

static void check_words(struct ending *e, const struct tensor *t, const int32_t *want)
{
    int32_t *got = decode_world_words(&e->w, t);

    for (int64_t i = 0; i < tensor_size(t); i++)
        if (got[i] != want[i])
            fail_msg("word %lld is %d, expected %d", (long long)i, got[i], want[i]);
    free(got);
}

/* The likeliest of each row, the first of equals and never a NaN, until a stop token or the limit. */
static void test_greedy(void **state)
{
    static const float first[4][5] = {
        { 0, 3, 1, 3, 2 }, { 0, 0, 9, 0, 0 }, { NAN, -1, -3, -1, -2 }, { 5, 4, 3, 2, 1 }
    };
    static const float other[4][5] = { { 0, 0, 9, 0, 0 }, { 9, 0, 0, 0, 0 }, { 0, 0, 0, 0, 9 }, { 0, 1, 2, 1, 0 } };
    struct ending e;

    (void)state;
    ending_open(&e, 0);
    decode_world_start(&e.w, both, 2, STATE_FREE, false);
    ending_step(&e, 0, *first, false);
    check_words(&e, e.w.s.token, (const int32_t[]){ 1, 0, 1, 2 });
    check_words(&e, e.w.s.end_step, (const int32_t[]){ -1, -1, -1, 0 });
    ending_step(&e, 1, *other, false);
    check_words(&e, e.w.s.token, (const int32_t[]){ 4, 2, 2, 2 }); /* the last row is as it was */
    check_words(&e, e.w.s.done, (const int32_t[]){ 0, 1 });
    ending_step(&e, 2, *other, false);
    check_words(&e, e.w.s.done, (const int32_t[]){ 1, 1 });
    check_words(&e, e.w.s.end_step, (const int32_t[]){ 2, 1, 1, 0 });
    check_words(&e, e.w.s.end_stop, (const int32_t[]){ 0, 1, 1, 1 });
    check_words(&e, e.w.s.end_row, (const int32_t[]){ 0, 1, 0, 1 });
    int32_t tokens[STEPS];
    float score;
    double logp;
    assert_int_equal(decode_world_answer(&e.w, 0, 0, tokens, &score, &logp), 3);
    assert_true(tokens[0] == 1 && tokens[1] == 4 && tokens[2] == 4);
    double want = log_softmax(first[2] + 1, 4, 0) + 2 * log_softmax(other[2], 5, 4);
    assert_true(fabs(logp - want) < 1e-5 && fabs((double)score - want) < 1e-5);
    decode_world_close(&e.w);
}

/* Only tokens that the automaton allows are sampled.  If it allows none, the row ends. */
static void test_automaton(void **state)
{
    static const float x[4][5] = {
        { 9, 2, 9, 1, 9 }, { 9, 1, 9, 2, 9 }, { 9, 2, 9, 1, 9 }, { 9, -INFINITY, 9, NAN, 9 }
    };
    struct ending e;

    (void)state;
    for (int i = 0; i < 2; i++) {
        ending_open(&e, i ? 0.01f : 0);
        decode_world_start(&e.w, both, 2, 1, false);
        ending_step(&e, 0, *x, true);
        check_words(&e, e.w.s.state, (const int32_t[]){ 0, 1, 0, 1 });
        check_words(&e, e.w.s.token, (const int32_t[]){ 1, DECODE_START_TOKEN, 1, 3 });
        check_words(&e, e.w.s.end_step, (const int32_t[]){ -1, 0, -1, -1 });
        check_words(&e, e.w.s.end_stop, (const int32_t[]){ JUNK, 0, JUNK, JUNK });
        ending_step(&e, 1, *x, true);
        check_words(&e, e.w.s.end_step, (const int32_t[]){ 1, 0, 1, -1 });
        check_words(&e, e.w.s.done, (const int32_t[]){ 1, 0 });
        int32_t tokens[STEPS];
        float score;
        double logp;
        assert_int_equal(decode_world_answer(&e.w, 0, 0, tokens, &score, &logp), 2);
        assert_true(tokens[0] == 1 && tokens[1] == -1 && fabs(logp - log_softmax(x[2], 5, 1)) < 1e-5);
        decode_world_close(&e.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_gold),       cmocka_unit_test(test_top_k),
                                        cmocka_unit_test(test_many_equal), cmocka_unit_test(test_crowd),
                                        cmocka_unit_test(test_warpers),    cmocka_unit_test(test_beside),
                                        cmocka_unit_test(test_long_rows),  cmocka_unit_test(test_greedy),
                                        cmocka_unit_test(test_automaton) };
    return test_devices(tests, ARRAY_LEN(tests));
}
