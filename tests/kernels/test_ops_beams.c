/* Beam search step by step on tables of logits, beside transformers (gold/make_decode.py): sequences, scores, tables.
 */
#include "tests/support/support.h"

#include "tests/support/decode_world.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 3, ACTIVE = 3, JUNK = 1234567 };

/* One before the other in the step, one of padding between. */
static const int32_t active[ACTIVE] = { 2, -1, 0 };

struct beam_case {
    int vocab, width, steps, n_stops;
    double penalty;
    float bonus; /* on the logits of stop tokens */
    enum early_stopping early;
    bool allowed;
    int32_t stops[8];
    const json_t *answers;
};

static int int_of(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}

static struct beam_case case_of(const json_t *o)
{
    const json_t *stops = json_object_get(o, "stops");
    struct beam_case b = { .vocab = int_of(o, "vocab"),
                           .width = int_of(o, "width"),
                           .steps = int_of(o, "steps"),
                           .n_stops = (int)json_array_size(stops),
                           .penalty = json_number_value(json_object_get(o, "penalty")),
                           .bonus = (float)int_of(o, "bonus"),
                           .early = (enum early_stopping)int_of(o, "early"),
                           .allowed = json_is_true(json_object_get(o, "allowed")),
                           .answers = json_object_get(o, "answers") };

    for (int i = 0; i < b.n_stops; i++)
        b.stops[i] = (int32_t)json_integer_value(json_array_get(stops, (size_t)i));
    return b;
}

/* State f follows token f and allows all t with (f + t) % 3 not 0. */
static struct automaton allowed_tokens(struct ctx *c, int vocab)
{
    int32_t *first = xcalloc((size_t)(vocab + 1 + 2 * vocab * vocab), sizeof *first), n = 0;
    int32_t *token = first + vocab + 1;

    for (int f = 0; f < vocab; f++) {
        for (int t = 0; t < vocab; t++)
            if ((f + t) % 3)
                token[n++] = t;
        first[f + 1] = n;
    }
    struct automaton a = { batch_i32(c, first, vocab + 1), batch_i32(c, token, n), batch_i32(c, token, n) };
    free(first);
    return a;
}

static struct beam_settings settings_of(struct ctx *c, const struct beam_case *b)
{
    float norm[32];

    for (int n = 0; n <= b->steps; n++)
        norm[n] = (float)pow(n, b->penalty);
    return (struct beam_settings){ batch_i32(c, b->stops, b->n_stops), batch_f32(c, norm, 1, b->steps + 1, F32),
                                   (float)b->penalty, b->early };
}

/* Logits that follow from the token that each row read.  Padding and empty rows have some, too. */
static struct tensor *logits_of(struct ctx *c, const struct beam_case *b, const int32_t *read, int step)
{
    int rows = ACTIVE * b->width;
    float *x = xmalloc((size_t)(rows * b->vocab) * sizeof *x);
    char name[32];

    snprintf(name, sizeof name, "beams %d", b->vocab);
    for (int i = 0; i < rows * b->vocab; i++)
        x[i] = decode_logit(name, ((int64_t)step * b->vocab + read[i / b->vocab]) * b->vocab + i % b->vocab);
    for (int i = 0; i < rows * b->n_stops; i++)
        x[i / b->n_stops * b->vocab + b->stops[i % b->n_stops]] += b->bonus;
    struct tensor *t = batch_f32(c, x, rows, b->vocab, F32);
    free(x);
    return t;
}

/* Each row that holds something has the cache rows of the rows that it came from, and its prompt's. */
static void check_tables(struct decode_world *w, int request, int step)
{
    int width = w->s.width, keys = WORLD_PROMPT + w->steps;
    int32_t *table = decode_world_words(w, w->s.table), *parent = decode_world_words(w, w->s.parent);
    float *score = test_values(&w->step, w->s.score);

    for (int i = 0; i < width; i++) {
        int at = request * width + i, row = i;
        if (score[at] == -INFINITY)
            continue;
        for (int k = 0; k < WORLD_PROMPT; k++)
            assert_int_equal(table[at * keys + k], 1000 * request + k);
        for (int k = step; k >= 0; k--) {
            row = parent[(request * width + row) * w->steps + k];
            assert_int_equal(table[at * keys + WORLD_PROMPT + k], decode_world_cache_row(request, row, k));
        }
    }
    free(table);
    free(parent);
    free(score);
}

static bool all_done(struct decode_world *w)
{
    int32_t *done = decode_world_words(w, w->s.done);
    bool all = done[0] && done[2];

    assert_int_equal(done[1], JUNK);
    free(done);
    return all;
}

static void check_answers(struct decode_world *w, const struct beam_case *b, int request, const char *what)
{
    size_t n = json_array_size(b->answers);

    for (int slot = 0; slot < b->width; slot++) {
        int32_t tokens[32];
        float score;
        double sum;
        int length = decode_world_answer(w, request, slot, tokens, &score, &sum);
        if ((size_t)slot >= n) {
            assert_int_equal(length, 0);
            continue;
        }
        const json_t *want = json_array_get(b->answers, (size_t)slot), *ids = json_object_get(want, "tokens");
        double gold = json_number_value(json_object_get(want, "score"));
        if (length != (int)json_array_size(ids) || !(fabs((double)score - gold) <= 4e-6 * (1 + fabs(gold))))
            fail_msg("%s, answer %d: %d tokens of score %.9g, expected %zu of %.9g", what, slot, length, (double)score,
                     json_array_size(ids), gold);
        for (int i = 0; i < length; i++)
            assert_int_equal(tokens[i], json_integer_value(json_array_get(ids, (size_t)i)));
        assert_true(fabs(sum / pow(length, b->penalty) - gold) < 1e-5 * (1 + fabs(gold)));
    }
}

static void run_case(const struct beam_case *b, const char *what)
{
    struct decode_world w;

    decode_world_open(&w, REQUESTS, b->width, b->steps, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    struct automaton a = { 0 };
    struct beam_settings set = settings_of(c, b);
    if (b->allowed)
        a = allowed_tokens(c, b->vocab);
    decode_world_start(&w, active, ACTIVE, b->allowed ? DECODE_START_TOKEN : STATE_FREE, true);
    for (int step = 0; step < b->steps && (step == 0 || !all_done(&w)); step++) {
        struct decode_step at = decode_world_step(&w, active, ACTIVE, step, b->steps);
        int32_t *read = decode_world_next(&w, active, ACTIVE, step);
        for (int i = 0; i < ACTIVE * b->width; i++) /* rows that hold nothing read what they read before, or junk */
            read[i] = read[i] < b->vocab ? read[i] : 0;
        struct tensor *logits = logits_of(c, b, read, step);
        struct candidates best = op_candidates(c, &w.s, &at, logits, b->allowed ? &a : NULL,
                                               beam_candidates(b->width, b->n_stops), NORMALISE_FULL);
        op_beam_step(c, &w.s, &at, &best, &set);
        check_tables(&w, 0, step);
        check_tables(&w, 2, step);
        free(read);
    }
    assert_true(all_done(&w));
    check_answers(&w, b, 0, what);
    check_answers(&w, b, 2, what);
    decode_world_close(&w);
}

/* Elsewhere than on the CPU every third case. */
static void test_gold(void **state)
{
    json_error_t why;
    json_t *gold = json_load_file("tests/gold/decode.json", 0, &why), *cases = json_object_get(gold, "beams");
    size_t each = strcmp(test_device_name(), "simt") == 0 ? 3 : 1;

    (void)state;
    assert_non_null(gold);
    for (size_t i = 0; i < json_array_size(cases); i += each) {
        struct beam_case b = case_of(json_array_get(cases, i));
        char what[160];
        snprintf(what, sizeof what, "case %zu: %d beams of %d words, penalty %g, early %d, %d stops", i, b.width,
                 b.vocab, b.penalty, (int)b.early, b.n_stops);
        run_case(&b, what);
    }
    json_decref(gold);
}

/* Among equal scores the lower row comes first, within a row the likelier token, and an earlier end before a new one.
 */
static void test_equals(void **state)
{
    enum { WIDTH = 3, K = 6 };
    static const int32_t request[1] = { 0 }, stops[1] = { 9 }, filled[WIDTH] = { 0, -1, -1 };
    static const int32_t ids[WIDTH * K] = { 9, 4, 5, -1, -1, -1, 7, 4, 9, -1, -1, -1, 9, 3, -1, -1, -1, -1 };
    static const float values[WIDTH * K] = { -3, -4, -4,        -INFINITY, -INFINITY, -INFINITY,
                                             -2, -3, -5,        -INFINITY, -INFINITY, -INFINITY,
                                             -2, -6, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    static const float scores[WIDTH] = { -1, -2, -2 }, ended[WIDTH] = { -2, NO_ANSWER, NO_ANSWER };
    static const float norm[4] = { 0, 1, 2, 3 };
    struct decode_world w;

    (void)state;
    decode_world_open(&w, 1, WIDTH, 3, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    decode_world_start(&w, request, 1, STATE_FREE, true);
    device_upload(&w.step.device, w.s.score, scores);
    device_upload(&w.step.device, w.s.end_step, filled);
    device_upload(&w.step.device, w.s.end_score, ended);
    struct candidates best = { batch_f32(c, values, WIDTH, K, F32), batch_i32(c, ids, WIDTH * K),
                               batch_i32(c, ids, WIDTH * K), K };
    struct beam_settings set = { batch_i32(c, stops, 1), batch_f32(c, norm, 1, 4, F32), 1, EARLY_FALSE };
    struct decode_step at = decode_world_step(&w, request, 1, 1, 3);
    free(decode_world_next(&w, request, 1, 1));
    op_beam_step(c, &w.s, &at, &best, &set);
    int32_t *token = decode_world_words(&w, w.s.token), *parent = decode_world_words(&w, w.s.parent);
    int32_t *end_row = decode_world_words(&w, w.s.end_row), *end_step = decode_world_words(&w, w.s.end_step);
    assert_true(token[0] == 7 && token[1] == 4 && token[2] == 5);
    assert_true(parent[1] == 1 && parent[4] == 0 && parent[7] == 0);
    assert_true(end_step[0] == 0 && end_step[1] == 1 && end_step[2] == 1 && end_row[1] == 0 && end_row[2] == 2);
    free(token);
    free(parent);
    free(end_row);
    free(end_step);
    decode_world_close(&w);
}

/* A prompt fills its places of its requests' rows, and no more. */
static void test_start(void **state)
{
    enum { WIDTH = 2, KEYS = WORLD_PROMPT + 2 };
    struct decode_world w;

    (void)state;
    decode_world_open(&w, REQUESTS, WIDTH, KEYS - WORLD_PROMPT, 0, JUNK);
    decode_world_start(&w, active, ACTIVE, STATE_FREE, true);
    int32_t *table = decode_world_words(&w, w.s.table);
    for (int i = 0; i < REQUESTS * WIDTH * KEYS; i++) {
        int request = i / (WIDTH * KEYS), place = i % KEYS;
        bool filled = request != 1 && place < WORLD_PROMPT;
        assert_int_equal(table[i], filled ? 1000 * request + place : JUNK);
    }
    free(table);
    decode_world_close(&w);
}

/* Fewer candidates than beams: the rows behind hold nothing, and their places stay; where all end the request is done,
 * though slots are free. */
static void test_few(void **state)
{
    enum { WIDTH = 3, K = 6, N = 2 * WIDTH * K, KEYS = WORLD_PROMPT + 3 };
    static const int32_t request[2] = { 1, 0 }, stops[1] = { 9 };
    static const float norm[4] = { 0, 1, 2, 3 };
    int32_t ids[N];
    float values[N];
    struct decode_world w;

    (void)state;
    for (int i = 0; i < N; i++) {
        ids[i] = i == 0 ? 4 : i == 1 || i == WIDTH * K ? 9 : -1;
        values[i] = ids[i] < 0 ? -INFINITY : (float)(-1 - i % 2);
    }
    decode_world_open(&w, 2, WIDTH, 3, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    decode_world_start(&w, request, 2, STATE_FREE, true);
    struct candidates best = { batch_f32(c, values, 2 * WIDTH, K, F32), batch_i32(c, ids, N), batch_i32(c, ids, N), K };
    struct beam_settings set = { batch_i32(c, stops, 1), batch_f32(c, norm, 1, 4, F32), 1, EARLY_FALSE };
    struct decode_step at = decode_world_step(&w, request, 2, 0, 3);
    free(decode_world_next(&w, request, 2, 0));
    op_beam_step(c, &w.s, &at, &best, &set);
    int32_t *end_step = decode_world_words(&w, w.s.end_step), *done = decode_world_words(&w, w.s.done);
    int32_t *table = decode_world_words(&w, w.s.table), *token = decode_world_words(&w, w.s.token);
    float *score = test_values(&w.step, w.s.score);
    assert_true(token[WIDTH] == 4 && score[WIDTH] == -1 && done[0] && !done[1]);
    for (int i = 0; i < 2 * WIDTH; i++) {
        assert_true(i == WIDTH || score[i] == -INFINITY);
        assert_int_equal(end_step[i], i % WIDTH == 0 ? 0 : -1);
        assert_int_equal(table[i * KEYS + WORLD_PROMPT], decode_world_cache_row(i / WIDTH, i % WIDTH, 0));
    }
    free(end_step);
    free(done);
    free(table);
    free(token);
    free(score);
    decode_world_close(&w);
}

/* Words 7 and 8 follow state 0 one after the other, then there are two; 9 follows state 3 and ends it. */
static struct automaton forced_words(struct ctx *c)
{
    static const int32_t first[] = { 0, 1, 2, 4, 5, 5 }, token[] = { 7, 8, 5, 6, 9 }, next[] = { 1, 2, 4, 4, 4 };

    return (struct automaton){ batch_i32(c, first, ARRAY_LEN(first)), batch_i32(c, token, ARRAY_LEN(token)),
                               batch_i32(c, next, ARRAY_LEN(next)) };
}

/* How many words follow the rows of each request without a choice: rows that hold nothing, or, of draws, have ended do
 * not count. */
static void test_forced_runs(void **state)
{
    enum { WIDTH = 2, N = 7, LISTED = 8 };
    static const int32_t states[N * WIDTH] = { 0, 0, 0, 1, 3, 0, STATE_FREE, 0, 0, 1, 0, 0, 0, 1 };
    static const int32_t request[LISTED] = { 6, 5, -1, 3, 2, 1, 4, 0 }, done[N] = { [5] = 1 };
    static const int32_t want[3][N] = { { 2, 1, 0, 0, 2, 0, 2 }, { 2, 1, 0, 0, 2, 0, 1 }, { 1, 1, 0, 0, 1, 0, 1 } };
    float score[N * WIDTH] = { [4 * WIDTH + 1] = -INFINITY };
    int32_t ended[N * WIDTH], junk[N];
    struct decode_world w;

    (void)state;
    for (int i = 0; i < N * WIDTH; i++) {
        ended[i] = i == 6 * WIDTH + 1 ? 0 : -1;
        junk[i / WIDTH] = JUNK;
    }
    decode_world_open(&w, N, WIDTH, 3, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    struct automaton a = forced_words(c);
    w.s.state = batch_i32(c, states, N * WIDTH);
    w.s.done = batch_i32(c, done, N);
    w.s.end_step = batch_i32(c, ended, N * WIDTH);
    w.s.score = batch_f32(c, score, N * WIDTH, 1, F32);
    for (int i = 0; i < 3; i++) {
        w.s.run = batch_i32(c, junk, N);
        op_forced_runs(c, &w.s, batch_i32(c, request, LISTED), &a, i > 0, i < 2 ? 5 : 1);
        int32_t *run = decode_world_words(&w, w.s.run);
        assert_memory_equal(run, want[i], sizeof want[i]);
        free(run);
    }
    decode_world_close(&w);
}

/* Words ahead of a row's newest, and where they go; 0 where none follows, and for padding. */
static void test_words_ahead(void **state)
{
    enum { N = 6 };
    static const int32_t states[3] = { 0, 3, STATE_FREE }, row[N] = { 0, 0, 0, 1, -1, 2 };
    static const int32_t ahead[N] = { 0, 1, 2, 2, 0, 1 }, place[N] = { 3, 4, 5, 3, 3, 5 },
                         to[N] = { 11, 12, 13, 14, 15, 16 };
    static const int32_t want[N] = { DECODE_START_TOKEN, 7, 8, 0, 0, 0 }, request[3] = { 0, 1, 2 };
    struct decode_world w;

    (void)state;
    decode_world_open(&w, 3, 1, 3, 0, JUNK);
    struct ctx *c = &w.step.ctx;
    struct automaton a = forced_words(c);
    decode_world_start(&w, request, 3, 0, false);
    w.s.state = batch_i32(c, states, 3);
    struct decode_read read = { batch_i32(c, row, N), batch_i32(c, ahead, N), batch_i32(c, place, N),
                                batch_i32(c, to, N) };
    int32_t *got = decode_world_words(&w, op_next_tokens(c, &w.s, &read, &a));
    int32_t *table = decode_world_words(&w, w.s.table);
    assert_memory_equal(got, want, sizeof want);
    for (int i = 0; i < N; i++)
        assert_true(row[i] < 0 || table[row[i] * 6 + place[i]] == to[i]);
    assert_true(table[6 + 4] == JUNK && table[12 + 4] == JUNK);
    free(got);
    free(table);
    decode_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_start),       cmocka_unit_test(test_gold),
                                        cmocka_unit_test(test_equals),      cmocka_unit_test(test_few),
                                        cmocka_unit_test(test_forced_runs), cmocka_unit_test(test_words_ahead) };
    return test_devices(tests, ARRAY_LEN(tests));
}
