/*
 * The start of requests, the next tokens of rows, runs of forced tokens, and the maximum of a row.
 */
#include "kernels/cpu/row.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

static int32_t *words(const struct tensor *t)
{
    return t->data;
}

static void start_row(const struct decode_state *s, const struct decode_start *start, int64_t i, int64_t row)
{
    int64_t keys = tensor_cols(s->table), longest = tensor_cols(start->rows);

    words(s->token)[row] = words(start->token)[i];
    words(s->state)[row] = words(start->state)[i];
    memcpy(words(s->table) + row * keys, words(start->rows) + i * longest,
           (size_t)words(start->length)[i] * sizeof(int32_t));
    words(s->end_step)[row] = -1;
    ((float *)s->end_score->data)[row] = NO_ANSWER;
}

void cpu_decode_start(struct ctx *c, const struct decode_state *s, const struct decode_start *start, bool beams)
{
    float *score = s->score->data;

    (void)c;
    for (int64_t i = 0; i < tensor_size(start->request); i++) {
        int64_t r = words(start->request)[i];
        if (r < 0)
            continue;
        memcpy(words(s->key) + 2 * r, words(start->key) + 2 * i, 2 * sizeof(int32_t));
        words(s->done)[r] = 0;
        for (int64_t row = r * s->width; row < (r + 1) * s->width; row++) {
            start_row(s, start, i, row);
            score[row] = beams && row > r * s->width ? -INFINITY : 0;
        }
    }
}

/* Returns the token `ahead` places after a row's newest one, along edges that have no alternative. */
static int32_t token_ahead(const struct decode_state *s, const struct automaton *a, int64_t row, int32_t ahead)
{
    int32_t token = words(s->token)[row], state = words(s->state)[row];

    for (int32_t i = 0; i < ahead; i++) {
        int32_t edge = state < 0 ? 0 : words(a->first)[state];
        if (state < 0 || edge == words(a->first)[state + 1])
            return 0;
        token = words(a->token)[edge];
        state = words(a->next)[edge];
    }
    return token;
}

void cpu_next_tokens(struct ctx *c, struct tensor *y, const struct decode_state *s, const struct decode_read *read,
                     const struct automaton *a)
{
    int64_t keys = tensor_cols(s->table);

    (void)c;
    for (int64_t t = 0; t < tensor_size(y); t++) {
        int64_t row = words(read->row)[t];
        words(y)[t] = row < 0 ? 0 : token_ahead(s, a, row, words(read->ahead)[t]);
        if (row >= 0)
            words(s->table)[row * keys + words(read->place)[t]] = words(read->cache_row)[t];
    }
}

/* Returns the number of forced tokens after a state, at most `most`.  A token to a state without edges is not
 * counted. */
static int32_t forced_run(const struct automaton *a, int32_t state, int32_t most)
{
    const int32_t *first = words(a->first);

    for (int32_t n = 0; n < most; n++) {
        if (state < 0 || first[state + 1] != first[state] + 1)
            return n;
        state = words(a->next)[first[state]];
        if (first[state] == first[state + 1])
            return n;
    }
    return most;
}

void cpu_forced_runs(struct ctx *c, const struct decode_state *s, const struct tensor *request,
                     const struct automaton *a, bool beams, int most)
{
    const float *score = s->score->data;

    (void)c;
    for (int64_t i = 0; i < tensor_size(request); i++) {
        int64_t r = words(request)[i];
        int32_t run = most;
        if (r < 0)
            continue;
        for (int64_t row = r * s->width; row < (r + 1) * s->width; row++)
            if (score[row] > -INFINITY && (beams || words(s->end_step)[row] < 0))
                run = forced_run(a, words(s->state)[row], run);
        words(s->run)[r] = words(s->done)[r] ? 0 : run;
    }
}

/* A block is searched again only if it holds a new maximum, while it is in the L1 cache. */
static int32_t argmax_row(const struct tensor *x, int64_t at, int64_t cols)
{
    float buf[ROW_BLOCK], most = -INFINITY;
    int64_t best = 0;

    for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
        int64_t run = run_length(j, cols), i = 0;
        const float *in = row_in(buf, x, at + j, run);
        float here = row_most(in, run);
        if (!(here > most))
            continue;
        while (in[i] != here)
            i++;
        most = here;
        best = j + i;
    }
    return (int32_t)best;
}

void cpu_argmax(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    (void)c;
    int64_t rows = tensor_size(y), cols = tensor_cols(x);
    int32_t *out = y->data;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++)
        out[t] = argmax_row(x, t * cols, cols);
}
