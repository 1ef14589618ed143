#include "models/net/t5_start.h"

#include "models/net/start_values.h"

#include <math.h>
#include <stdlib.h>

enum { TURNS = 4 };
#define NEAR 8 /* more than equal tokens have, whose scores begin at sqrt(d_kv) */

/* The neighbour that a head looks at, by turns; 0: none. */
static const int encoder_turns[TURNS] = { 0, -1, -2, 1 }, decoder_turns[TURNS] = { 0, -1, -2, -3 };

struct start {
    const struct t5_config *config;
    struct params *params;
    struct device *device;
};

static void start_attention(const struct start *s, const struct t5_attention *a)
{
    int64_t inner = a->o->shape[1], C = a->o->shape[0];
    float *kv = start_values(s->params, a->kv, s->device);
    float *q = xmalloc((size_t)(inner * C) * sizeof *q), *o = xmalloc((size_t)(inner * C) * sizeof *o);
    float scale = 1 / sqrtf((float)s->config->d_kv);

    for (int64_t i = 0; i < inner * C; i++)
        q[i] = scale * kv[i];
    for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < inner; i++)
            o[c * inner + i] = kv[(inner + i) * C + c];
    start_upload(s->params, a->q, s->device, q);
    start_upload(s->params, a->o, s->device, o);
    free(kv);
}

static void start_stack(const struct start *s, const struct t5_stack *stack, bool causal)
{
    const int *turns = causal ? decoder_turns : encoder_turns;
    float *bias = start_values(s->params, stack->bias, s->device);

    for (int h = 0; h < s->config->heads; h++)
        if (turns[h % TURNS])
            bias[t5_bucket(s->config, turns[h % TURNS], causal) * s->config->heads + h] += NEAR;
    start_upload(s->params, stack->bias, s->device, bias);
    for (int i = 0; i < stack->n; i++) {
        start_attention(s, &stack->layers[i].self);
        if (causal)
            start_attention(s, &stack->layers[i].cross);
    }
}

void t5_start_copying(const struct t5 *m, struct params *p, struct device *d)
{
    const struct start s = { &m->config, p, d };

    start_stack(&s, &m->encoder, false);
    start_stack(&s, &m->decoder, true);
}
