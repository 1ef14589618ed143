#include "kernels/cpu/choices.h"

#include "kernels/cpu/vmath.h"

#include <math.h>

enum { LANES = 16 };

int64_t logit_row(const struct decode_state *s, const struct decode_step *step, int64_t t)
{
    if (!step->first)
        return t;
    const int32_t *parent = s->parent->data, *first = step->first->data, *reads = step->reads->data;
    int64_t i = t / s->width, row = t % s->width, steps = tensor_cols(s->said);
    int64_t from = (int64_t)((const int32_t *)step->request->data)[i] * s->width;
    for (int k = 1; k <= step->ahead; k++) {
        int32_t of = parent[(from + row) * steps + ((const int32_t *)step->step->data)[i] - k];
        row = of >= 0 && of < s->width ? of : 0; /* a sample that has ended has no parent */
    }
    return first[i] + row * reads[i] + step->ahead;
}

struct choices choices_of(const struct automaton *a, int32_t state, const struct tensor *logits, int64_t t)
{
    int64_t vocab = tensor_cols(logits);
    const float *x = (const float *)logits->data + t * vocab;

    if (!a || state < 0)
        return (struct choices){ x, NULL, NULL, vocab };
    const int32_t *first = a->first->data, *token = a->token->data, *next = a->next->data;
    int64_t from = first[state];
    return (struct choices){ x, token + from, next + from, first[state + 1] - from };
}

const float *choices_in(float *buf, const struct choices *ch, int64_t at, int64_t n)
{
    if (!ch->token)
        return ch->x + at;
    for (int64_t i = 0; i < n; i++)
        buf[i] = ch->x[ch->token[at + i]];
    return buf;
}

float choices_most(const struct choices *ch)
{
    float buf[ROW_BLOCK], most = -INFINITY;

    for (int64_t at = 0; at < ch->n; at += ROW_BLOCK) {
        int64_t run = run_length(at, ch->n);
        float here = row_most(choices_in(buf, ch, at, run), run);
        most = here > most ? here : most;
    }
    return most;
}

static inline float exp_below(float x, float most)
{
    float d = x == most ? 0 : x - most;
    return d <= 0 ? vexp(d) : 0;
}

CPU_CLONES static float exp_below_sum(const float *x, int64_t n, float most)
{
    float lane[LANES] = { 0 }, sum = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += exp_below(x[i + k], most);
    for (; i < n; i++)
        sum += exp_below(x[i], most);
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

float choices_log_excess(const struct choices *ch, float most)
{
    float buf[ROW_BLOCK];
    double sum = 0;

    for (int64_t at = 0; at < ch->n; at += ROW_BLOCK) {
        int64_t run = run_length(at, ch->n);
        sum += (double)exp_below_sum(choices_in(buf, ch, at, run), run, most);
    }
    return (float)log(sum);
}
