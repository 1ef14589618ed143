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

void cpu_next_tokens(struct ctx *c, struct tensor *y, const struct decode_state *s, const struct decode_step *step,
                     const struct tensor *cache_rows)
{
    int64_t keys = tensor_cols(s->table);

    (void)c;
    for (int64_t t = 0; t < tensor_size(y); t++) {
        int64_t i = t / s->width, r = words(step->request)[i], row = r * s->width + t % s->width;
        words(y)[t] = r < 0 ? 0 : words(s->token)[row];
        if (r >= 0)
            words(s->table)[row * keys + words(step->place)[i]] = words(cache_rows)[t];
    }
}
