#include "tests/support/decode_world.h"

#include "tests/support/digest.h"
#include "tests/support/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_BYTES = 4 << 20 }; /* of the step's arena, whose blocks are guarded */

static struct tensor *words(struct decode_world *w, int64_t rows, int64_t cols, int32_t value)
{
    int32_t *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = value;
    struct tensor *t = tensor_new2(&w->step.ctx, I32, rows, cols);
    device_upload(&w->step.device, t, x);
    free(x);
    return t;
}

static struct tensor *numbers(struct decode_world *w, int64_t rows, int64_t cols, float value)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = value;
    struct tensor *t = batch_f32(&w->step.ctx, x, rows, cols, F32);
    free(x);
    return t;
}

static void guard_world(struct decode_world *w)
{
    const struct arena *a = &w->step.step;
    unsigned char *pattern = xmalloc(WORLD_BYTES);

    memset(pattern, GUARD_PATTERN, WORLD_BYTES);
    w->step.device.driver->upload(&w->step.device, a->base + a->used, pattern, WORLD_BYTES);
    guard_start(a, false);
    free(pattern);
}

void decode_world_open(struct decode_world *w, int requests, int width, int steps, int best, int32_t junk)
{
    int64_t rows = (int64_t)requests * width;

    *w = (struct decode_world){ .requests = requests, .steps = steps };
    test_step_open(&w->step);
    guard_world(w);
    w->step.ctx.recording = w->step.ctx.training = false;
    w->s = (struct decode_state){ .width = width,
                                  .token = words(w, rows, 1, junk),
                                  .state = words(w, rows, 1, junk),
                                  .score = numbers(w, rows, 1, (float)junk),
                                  .table = words(w, rows, WORLD_PROMPT + steps, junk),
                                  .key = words(w, requests, 2, junk),
                                  .said = words(w, rows, steps, junk),
                                  .parent = words(w, rows, steps, junk),
                                  .logp = numbers(w, rows, steps, (float)junk),
                                  .end_step = words(w, rows, 1, junk),
                                  .end_row = words(w, rows, 1, junk),
                                  .end_token = words(w, rows, 1, junk),
                                  .end_stop = words(w, rows, 1, junk),
                                  .end_logp = numbers(w, rows, 1, (float)junk),
                                  .end_score = numbers(w, rows, 1, (float)junk),
                                  .done = words(w, requests, 1, junk) };
    if (best) {
        w->s.best_id = words(w, rows, (int64_t)steps * best, junk);
        w->s.best_logp = numbers(w, rows, (int64_t)steps * best, (float)junk);
    }
}

void decode_world_close(struct decode_world *w)
{
    struct arena *a = &w->step.step;
    unsigned char *copy = xmalloc(a->used);

    guard_stop();
    assert_in_range(a->used, 1, WORLD_BYTES);
    w->step.device.driver->download(&w->step.device, copy, a->base, a->used);
    assert_int_equal(guard_find_damage(copy, GUARD_PATTERN), -1);
    free(copy);
    test_step_close(&w->step);
}

void decode_world_start(struct decode_world *w, const int32_t *request, int n, int32_t state, bool beams)
{
    struct ctx *c = &w->step.ctx;
    size_t count = (size_t)n;
    int32_t *x = xcalloc(count * (5 + WORLD_PROMPT), sizeof *x), *token = x, *states = x + count;
    int32_t *key = x + 2 * count, *length = x + 4 * count, *rows = x + 5 * count;

    for (int i = 0; i < n; i++) {
        token[i] = DECODE_START_TOKEN;
        states[i] = state;
        key[2 * i] = request[i];
        key[2 * i + 1] = 77;
        length[i] = WORLD_PROMPT;
        for (int k = 0; k < WORLD_PROMPT; k++)
            rows[i * WORLD_PROMPT + k] = 1000 * request[i] + k;
    }
    struct tensor *places = tensor_new2(c, I32, n, WORLD_PROMPT);
    device_upload(&w->step.device, places, rows);
    struct decode_start start = { batch_i32(c, request, n), batch_i32(c, token, n),  batch_i32(c, states, n),
                                  batch_i32(c, key, 2 * n), batch_i32(c, length, n), places };
    op_decode_start(c, &w->s, &start, beams);
    free(x);
}

struct decode_step decode_world_step(struct decode_world *w, const int32_t *request, int n, int step, int limit)
{
    struct ctx *c = &w->step.ctx;
    int32_t *x = xmalloc(4 * (size_t)n * sizeof *x);

    for (int i = 0; i < n; i++) {
        x[i] = step;
        x[n + i] = WORLD_PROMPT;
        x[2 * n + i] = WORLD_PROMPT + step;
        x[3 * n + i] = limit;
    }
    struct decode_step s = { .request = batch_i32(c, request, n),
                             .step = batch_i32(c, x, n),
                             .fixed = batch_i32(c, x + n, n),
                             .place = batch_i32(c, x + 2 * n, n),
                             .limit = batch_i32(c, x + 3 * n, n) };
    free(x);
    return s;
}

int32_t decode_world_cache_row(int request, int row, int step)
{
    return 100000 * (1 + request) + 100 * row + step;
}

int32_t *decode_world_next(struct decode_world *w, const int32_t *request, int n, int said)
{
    int width = w->s.width;
    int32_t *rows = xcalloc(4 * (size_t)(n * width), sizeof *rows), *of = rows + n * width, *place = of + n * width;
    int32_t *ahead = place + n * width;
    struct ctx *c = &w->step.ctx;

    for (int t = 0; t < n * width; t++) {
        rows[t] = decode_world_cache_row(request[t / width], t % width, said);
        of[t] = request[t / width] < 0 ? -1 : request[t / width] * width + t % width;
        place[t] = WORLD_PROMPT + said;
    }
    struct decode_read read = { batch_i32(c, of, n * width), batch_i32(c, ahead, n * width),
                                batch_i32(c, place, n * width), batch_i32(c, rows, n * width) };
    struct tensor *ids = op_next_tokens(c, &w->s, &read, NULL);
    device_download(&w->step.device, rows, ids);
    for (int i = 0; i < n * width; i++)
        if (request[i / width] < 0)
            assert_int_equal(rows[i], 0);
    return rows;
}

int32_t *decode_world_words(struct decode_world *w, const struct tensor *t)
{
    int32_t *x = xmalloc(tensor_bytes(t) + 1);
    device_download(&w->step.device, x, t);
    return x;
}

float decode_logit(const char *name, int64_t i)
{
    char part[64];

    snprintf(part, sizeof part, "%s coarse", name);
    float coarse = formula_value(part, i);
    snprintf(part, sizeof part, "%s fine", name);
    return 8 * coarse + formula_value(part, i) / 16;
}

static int32_t word(struct decode_world *w, const struct tensor *t, int64_t at)
{
    int32_t *all = decode_world_words(w, t), value = all[at];
    free(all);
    return value;
}

static float number(struct decode_world *w, const struct tensor *t, int64_t at)
{
    float *all = test_values(&w->step, t), value = all[at];
    free(all);
    return value;
}

int decode_world_answer(struct decode_world *w, int request, int slot, int32_t *tokens, float *score, double *logp)
{
    const struct decode_state *s = &w->s;
    int64_t first = (int64_t)request * s->width, at = first + slot;
    int last = word(w, s->end_step, at);

    if (last < 0)
        return 0;
    int row = word(w, s->end_row, at);
    *score = number(w, s->end_score, at);
    *logp = (double)number(w, s->end_logp, at);
    tokens[last] = word(w, s->end_token, at);
    for (int step = last - 1; step >= 0; step--) {
        int64_t log = (first + row) * w->steps + step;
        tokens[step] = word(w, s->said, log);
        *logp += (double)number(w, s->logp, log);
        row = word(w, s->parent, log);
    }
    return last + 1;
}
