/* Part of kernel_rows.h: the decoding ops between logits and tokens.  The t rows are requests of WIDTH rows, c columns.
 */
#include "bench/kernel_rows_impl.h"

#include "kernels/batch.h"

#include <stdlib.h>

/* A request has generated SAID of LIMIT tokens.  The automaton has one state with EDGES edges. */
enum { WIDTH = 10, SAID = 64, LIMIT = 4096, PLACES = 128, EDGES = 1000 };

static struct tensor *words(struct ctx *c, int64_t n, int32_t value, int32_t step)
{
    int32_t *x = xmalloc((size_t)n * sizeof *x);

    for (int64_t i = 0; i < n; i++)
        x[i] = value + (int32_t)i * step;
    struct tensor *t = batch_i32(c, x, n);
    free(x);
    return t;
}

static struct tensor *numbers(struct ctx *c, int64_t rows, int64_t cols, float value)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = value;
    struct tensor *t = batch_f32(c, x, rows, cols, F32);
    free(x);
    return t;
}

static void make_state(struct ctx *c, struct bench *b, int64_t requests)
{
    int64_t n = requests * WIDTH;

    b->decode = (struct decode_state){ .width = WIDTH,
                                       .token = words(c, n, 1, 0),
                                       .state = words(c, n, 0, 0),
                                       .score = numbers(c, n, 1, -1),
                                       .table = tensor_new2(c, I32, n, PLACES),
                                       .key = words(c, 2 * requests, 1, 1),
                                       .said = tensor_new2(c, I32, n, SAID + 1),
                                       .parent = tensor_new2(c, I32, n, SAID + 1),
                                       .logp = tensor_new2(c, F32, n, SAID + 1),
                                       .end_step = words(c, n, -1, 0),
                                       .end_row = words(c, n, 0, 0),
                                       .end_token = words(c, n, 0, 0),
                                       .end_stop = words(c, n, 0, 0),
                                       .end_logp = numbers(c, n, 1, 0),
                                       .end_score = numbers(c, n, 1, NO_ANSWER),
                                       .done = words(c, requests, 0, 0) };
}

/* Logits of n = k candidates a row. */
void make_decode_logits(struct ctx *c, struct bench *b)
{
    int64_t requests = (b->row->t + WIDTH - 1) / WIDTH, edges = EDGES < b->row->c ? EDGES : b->row->c;

    bench_input(c, b, requests * WIDTH, b->row->c, F32);
    make_state(c, b, requests);
    b->at = (struct decode_step){ .request = words(c, requests, 0, 1),
                                  .step = words(c, requests, SAID, 0),
                                  .fixed = words(c, requests, PLACES - SAID - 1, 0),
                                  .place = words(c, requests, PLACES - 1, 0),
                                  .limit = words(c, requests, LIMIT, 0) };
    b->automaton = (struct automaton){ words(c, 2, 0, (int32_t)edges), words(c, edges, 0, (int32_t)(b->row->c / edges)),
                                       words(c, edges, 0, 0) };
}

struct tensor *run_candidates(struct ctx *c, struct bench *b)
{
    return op_candidates(c, &b->decode, &b->at, b->in[0], NULL, (int)b->row->n, NORMALISE_FULL).value;
}

struct tensor *run_allowed_candidates(struct ctx *c, struct bench *b)
{
    return op_candidates(c, &b->decode, &b->at, b->in[0], &b->automaton, (int)b->row->n, NORMALISE_ALLOWED).value;
}

/* All candidates are equal, and no sequence ends. */
void make_beam_step(struct ctx *c, struct bench *b)
{
    make_decode_logits(c, b);
    int64_t rows = tensor_rows(b->in[0]), k = b->row->c;
    b->best =
        (struct candidates){ numbers(c, rows, k, -1), words(c, rows * k, 0, 1), words(c, rows * k, 0, 0), (int)k };
    b->stops = batch_i32(c, NULL, 0);
    b->norm = numbers(c, LIMIT + 1, 1, 1);
}

struct tensor *run_beam_step(struct ctx *c, struct bench *b)
{
    struct beam_settings set = { b->stops, b->norm, 0, EARLY_FALSE };

    op_beam_step(c, &b->decode, &b->at, &b->best, &set);
    return b->decode.score;
}

void make_draw(struct ctx *c, struct bench *b)
{
    make_decode_logits(c, b);
    b->stops = batch_i32(c, NULL, 0);
}

static struct tensor *run_draw(struct ctx *c, struct bench *b, struct draw_settings set)
{
    op_draw(c, &b->decode, &b->at, b->in[0], NULL, &set);
    return b->decode.token;
}

struct tensor *run_top_p(struct ctx *c, struct bench *b)
{
    return run_draw(c, b, (struct draw_settings){ b->stops, 0.05f, 0, 0.95f, 1, 0, 1 });
}

struct tensor *run_top_k_p(struct ctx *c, struct bench *b)
{
    return run_draw(c, b, (struct draw_settings){ b->stops, 0.05f, 50, 0.95f, 1, 0, 1 });
}

struct tensor *run_greedy(struct ctx *c, struct bench *b)
{
    return run_draw(c, b, (struct draw_settings){ b->stops, 0, 0, 1, 1, 0, 1 });
}
