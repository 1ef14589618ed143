/* The k best tokens of rows, with and without an automaton, beside a plain sort in double. */
#include "tests/support/support.h"

#include "tests/support/decode_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 2, ACTIVE = 3, ROWS = ACTIVE * WIDTH, STATES = 3, JUNK = 7654321 };

static const int32_t active[ACTIVE] = { 1, -1, 0 };

/* How the numbers of a row lie. */
enum numbers {
    DISTINCT,
    COARSE /* few values */,
    EQUAL,
    ZEROS /* and -0 */,
    ASCENDING,
    BROKEN /* NaN and infinities among them */,
    RARE /* three of them */,
    STAIRS /* a step of one bit for each warp */,
    CROWN /* a few far above many equal ones */
};

struct table_case {
    int64_t vocab;
    int k;
    enum numbers numbers;
    int every; /* the automaton's states allow every so manieth token; 0: no automaton */
    enum normalise normalise;
};

static float number(const struct table_case *t, int64_t i)
{
    int64_t j = i % t->vocab;

    if (t->numbers == EQUAL)
        return -2.5f;
    if (t->numbers == ASCENDING)
        return (float)j / 64 - 9;
    if (t->numbers == COARSE) {
        float x = floorf(2 * decode_logit("candidates", i)) / 2;
        return x == 0 && i % 2 ? -0.0f : x;
    }
    if (t->numbers == RARE)
        return j % 1000 == 17 && j < 3000 ? (float)j / 1000 : -INFINITY;
    if (t->numbers == STAIRS)
        return j < 1024 && j % 128 == 0 ? 1 + ldexpf((float)(1024 - j), -30) : -1;
    if (t->numbers == CROWN)
        return j % 211 == 5 && j < 19 * 211 ? 60 : -2.5f;
    if (t->numbers == ZEROS)
        return i % 3 ? 0.0f : -0.0f;
    if (t->numbers == BROKEN && decode_logit("broken", i) > 4)
        return i % 3 ? NAN : -INFINITY;
    return decode_logit("candidates", i);
}

/* State 0 allows nothing, state s tokens s, s + every, ..., leading to token % STATES. */
static struct automaton automaton_of(struct ctx *c, const struct table_case *t)
{
    int32_t *first = xcalloc((size_t)(STATES + 1 + 2 * STATES * (t->vocab + 1)), sizeof *first), n = 0;
    int32_t *token = first + STATES + 1, *next = token + STATES * (t->vocab + 1);

    for (int s = 1; s < STATES; s++) {
        for (int64_t i = s; i < t->vocab; i += t->every) {
            next[n] = (int32_t)(i % STATES);
            token[n++] = (int32_t)i;
        }
        first[s + 1] = n;
    }
    struct automaton a = { batch_i32(c, first, STATES + 1), batch_i32(c, token, n), batch_i32(c, next, n) };
    free(first);
    return a;
}

static bool may_follow(const struct table_case *t, int state, int64_t token)
{
    return !t->every || state < 0 || (state > 0 && token >= state && (token - state) % t->every == 0);
}

struct scored {
    double x;
    int32_t id;
};

static int before(const void *x, const void *y)
{
    const struct scored *a = x, *b = y;
    if (a->x != b->x)
        return a->x > b->x ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Lists the allowed tokens above -infinity, the likeliest first, and returns their number.  *lse is over all normalised
 * tokens. */
static int64_t reference(const struct table_case *t, const float *x, int state, struct scored *list, double *lse)
{
    double sum = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < t->vocab; i++) {
        bool may = may_follow(t, state, i), number = x[i] > -INFINITY;
        if (number && (may || t->normalise == NORMALISE_FULL))
            sum += exp((double)x[i]);
        if (number && may)
            list[n++] = (struct scored){ (double)x[i], (int32_t)i };
    }
    qsort(list, (size_t)n, sizeof *list, before);
    *lse = log(sum);
    return n;
}

static void check_row(const struct table_case *t, const float *x, int state, const float *value, const int32_t *id,
                      const int32_t *next)
{
    struct scored *list = xcalloc((size_t)t->vocab + 1, sizeof *list);
    double lse;
    int64_t n = reference(t, x, state, list, &lse);

    for (int i = 0; i < t->k; i++) {
        if (i >= n) {
            assert_int_equal(id[i], -1);
            assert_true(value[i] == -INFINITY);
            continue;
        }
        if (id[i] != list[i].id || !(fabs((double)value[i] - (list[i].x - lse)) < 2e-6 * (1 + fabs(list[i].x - lse))))
            fail_msg(
                "%lld words, %d best, numbers %d, every %d, state %d: number %d is %d of %.9g, expected %d of %.9g",
                (long long)t->vocab, t->k, (int)t->numbers, t->every, state, i, id[i], (double)value[i], list[i].id,
                list[i].x - lse);
        assert_int_equal(next[i], state < 0 || !t->every ? STATE_FREE : id[i] % STATES);
    }
    free(list);
}

static void check_bits(struct decode_world *w, const struct candidates *a, const struct candidates *b)
{
    const struct tensor *pairs[][2] = { { a->value, b->value }, { a->id, b->id }, { a->state, b->state } };

    for (int i = 0; i < ARRAY_LEN(pairs); i++) {
        int32_t *x = decode_world_words(w, pairs[i][0]), *y = decode_world_words(w, pairs[i][1]);
        for (int t = 0; t < ROWS; t++)
            if (active[t / WIDTH] >= 0)
                assert_memory_equal(x + t * a->k, y + t * a->k, (size_t)a->k * sizeof *x);
        free(x);
        free(y);
    }
}

static void check_all(struct decode_world *w, const struct table_case *t, const float *x, const int32_t *states,
                      const struct candidates *best)
{
    float *value = test_values(&w->step, best->value);
    int32_t *id = decode_world_words(w, best->id), *next = decode_world_words(w, best->state);

    for (int i = 0; i < ROWS; i++) {
        int from = i * t->k;
        if (active[i / WIDTH] == 1 && i % WIDTH == 1) { /* holds nothing */
            assert_true(value[from] == -INFINITY);
            assert_int_equal(id[from], -1);
        } else if (active[i / WIDTH] >= 0) {
            int state = states[active[i / WIDTH] * WIDTH + i % WIDTH];
            check_row(t, x + i * t->vocab, state, value + from, id + from, next + from);
        }
    }
    free(value);
    free(id);
    free(next);
}

static void run_case(const struct table_case *t)
{
    static const int32_t states[2 * WIDTH] = { 1, STATE_FREE, 2, 0 };
    static const float scores[2 * WIDTH] = { -1, 0, -3, -INFINITY };
    static const int32_t done[2] = { 0, 0 };
    struct decode_world w;
    int64_t n = ROWS * t->vocab;
    float *x = xmalloc((size_t)n * sizeof *x);

    decode_world_open(&w, 2, WIDTH, 1, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    for (int64_t i = 0; i < n; i++)
        x[i] = number(t, i);
    device_upload(&w.step.device, w.s.state, states);
    device_upload(&w.step.device, w.s.score, scores);
    device_upload(&w.step.device, w.s.done, done);
    struct decode_step at = decode_world_step(&w, active, ACTIVE, 0, 1);
    struct tensor *logits = batch_f32(c, x, ROWS, t->vocab, F32);
    struct automaton a = { 0 };
    if (t->every)
        a = automaton_of(c, t);
    const struct automaton *given = t->every ? &a : NULL;
    struct candidates best = op_candidates(c, &w.s, &at, logits, given, t->k, t->normalise);
    struct candidates again = op_candidates(c, &w.s, &at, logits, given, t->k, t->normalise);
    check_all(&w, t, x, states, &best);
    check_bits(&w, &best, &again);
    free(x);
    decode_world_close(&w);
}

/* Row lengths around the limit of small blocks, the threads of a block, and the size of its sort. */
static void test_candidates(void **state)
{
    static const struct table_case cases[] = {
        { 1, 1, DISTINCT, 0, NORMALISE_FULL },       { 3, 20, DISTINCT, 0, NORMALISE_FULL },
        { 255, 256, DISTINCT, 0, NORMALISE_FULL },   { 1001, 20, DISTINCT, 0, NORMALISE_FULL },
        { 1001, 192, COARSE, 0, NORMALISE_FULL },    { 4099, 20, DISTINCT, 0, NORMALISE_FULL },
        { 20011, 256, DISTINCT, 0, NORMALISE_FULL }, { 20011, 7, COARSE, 0, NORMALISE_FULL },
        { 5003, 5, EQUAL, 0, NORMALISE_FULL },       { 300, 5, ZEROS, 0, NORMALISE_FULL },
        { 5003, 64, ASCENDING, 0, NORMALISE_FULL },  { 5003, 64, BROKEN, 0, NORMALISE_FULL },
        { 700, 10, BROKEN, 0, NORMALISE_FULL },      { 1001, 20, DISTINCT, 7, NORMALISE_FULL },
        { 1001, 20, DISTINCT, 200, NORMALISE_FULL }, { 1001, 20, DISTINCT, 7, NORMALISE_ALLOWED },
        { 20011, 20, DISTINCT, 3, NORMALISE_FULL },  { 20011, 192, DISTINCT, 3, NORMALISE_ALLOWED },
        { 20011, 192, COARSE, 2, NORMALISE_FULL },   { 5003, 20, BROKEN, 2, NORMALISE_ALLOWED },
        { 20011, 1, DISTINCT, 0, NORMALISE_FULL },   { 256, 256, DISTINCT, 0, NORMALISE_FULL },
        { 3001, 20, RARE, 0, NORMALISE_FULL },       { 5003, 20, RARE, 0, NORMALISE_FULL },
        { 31, 20, DISTINCT, 0, NORMALISE_FULL },     { 127, 20, DISTINCT, 0, NORMALISE_FULL },
        { 4096, 20, DISTINCT, 0, NORMALISE_FULL },   { 8192, 20, COARSE, 0, NORMALISE_FULL },
        { 8193, 20, ASCENDING, 0, NORMALISE_FULL },  { 8193, 20, ASCENDING, 2, NORMALISE_FULL },
        { 8195, 256, EQUAL, 2, NORMALISE_ALLOWED },  { 12290, 192, EQUAL, 0, NORMALISE_FULL },
        { 513, 20, EQUAL, 0, NORMALISE_FULL },       { 512, 20, EQUAL, 0, NORMALISE_FULL },
        { 4096, 8, STAIRS, 0, NORMALISE_FULL },      { 4096, 20, CROWN, 0, NORMALISE_FULL }
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        run_case(&cases[i]);
}

/* Where a step goes by logits that were read ahead: those of the row that a row was then. */
static void test_ahead(void **state)
{
    enum { VOCAB = 10, FIRST = 4 };
    static const int32_t parent[2 * WIDTH * 2] = { WIDTH, JUNK, -1, JUNK, 1, JUNK, 0, JUNK };
    static const int32_t first[ACTIVE] = { 0, 0, FIRST }, reads[ACTIVE] = { 2, 0, 2 },
                         want[ROWS] = { 3, 1, 0, 0, 5, 5 };
    float x[VOCAB * VOCAB] = { 0 };
    struct decode_world w;

    (void)state;
    for (int i = 0; i < VOCAB; i++)
        x[i * VOCAB + i] = 1;
    decode_world_open(&w, 2, WIDTH, 2, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    decode_world_start(&w, active, ACTIVE, STATE_FREE, false);
    device_upload(&w.step.device, w.s.parent, parent);
    struct decode_step at = decode_world_step(&w, active, ACTIVE, 1, 2);
    at.first = batch_i32(c, first, ACTIVE);
    at.reads = batch_i32(c, reads, ACTIVE);
    at.ahead = 1;
    struct candidates best = op_candidates(c, &w.s, &at, batch_f32(c, x, VOCAB, VOCAB, F32), NULL, 1, NORMALISE_FULL);
    int32_t *id = decode_world_words(&w, best.id);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(id[i], active[i / WIDTH] < 0 ? -1 : want[i]);
    free(id);
    decode_world_close(&w);
}

/* The first two of three are kept, at their step, of rows of requests that are not done. */
static void test_keep(void **state)
{
    static const int32_t done[2] = { 0, 1 };
    struct decode_world w;
    float x[ROWS * 5];

    (void)state;
    decode_world_open(&w, 2, WIDTH, 4, 2, JUNK);
    struct ctx *c = &w.step.ctx;
    for (int i = 0; i < ARRAY_LEN(x); i++)
        x[i] = decode_logit("keep", i);
    decode_world_start(&w, active, ACTIVE, STATE_FREE, false);
    device_upload(&w.step.device, w.s.done, done);
    struct decode_step at = decode_world_step(&w, active, ACTIVE, 2, 4);
    struct candidates best = op_candidates(c, &w.s, &at, batch_f32(c, x, ROWS, 5, F32), NULL, 3, NORMALISE_FULL);
    op_keep_candidates(c, &w.s, &at, &best);
    int32_t *id = decode_world_words(&w, best.id), *kept = decode_world_words(&w, w.s.best_id);
    float *value = test_values(&w.step, best.value), *logp = test_values(&w.step, w.s.best_logp);
    for (int row = 0; row < 2 * WIDTH; row++)
        for (int i = 0; i < 8; i++) {
            int from = (4 + row) * 3 + i - 4; /* request 0 is the third of the step */
            bool here = row < WIDTH && i / 2 == 2;
            assert_int_equal(kept[row * 8 + i], here ? id[from] : JUNK);
            assert_true(logp[row * 8 + i] == (here ? value[from] : (float)JUNK));
        }
    free(id);
    free(kept);
    free(value);
    free(logp);
    decode_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_candidates), cmocka_unit_test(test_ahead),
                                        cmocka_unit_test(test_keep) };
    return test_devices(tests, ARRAY_LEN(tests));
}
