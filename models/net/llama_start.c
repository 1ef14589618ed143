#include "models/net/llama_start.h"

#include "models/net/start_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 6      /* by how much the wanted neighbour's score is above the next one's, at the start */
#define SAME 12     /* the score of a token that is the same, likewise */
#define FAST 0.1    /* radians a position of the pairs that tell neighbours apart */
#define QUIET 0.125 /* what was drawn where it would drown what is meant: embeddings in the other half, outputs */
#define SAID 3      /* what is copied, in embeddings */

/* Sizes: channels, those of a head, half of each; heads of a group; the deviation of embeddings. */
struct circuit {
    const struct llama *m;
    struct params *params;
    struct device *device;
    int C, D, half_C, half_D, per_group;
    float spread;
};

/* Channel of a head's slow k-th of half_D: the second half of each half, as pairs turn together. */
static int slow(const struct circuit *s, int k)
{
    int quarter = s->half_D / 2;
    return k < quarter ? s->half_D - quarter + k : s->D - quarter + (k - quarter);
}

/* How many of them there are; odd ones are left. */
static int n_slow(const struct circuit *s)
{
    return 2 * (s->half_D / 2);
}

/* The channel of embeddings that the k-th slow channel of a group reads; the first one is the same for all tokens. */
static int read_by(const struct circuit *s, int group, int k)
{
    return 1 + (group * s->half_D + k) % (s->half_C - 1);
}

/* The channel that the k-th slow channel of the first layer's head writes. */
static int written_by(const struct circuit *s, int head, int k)
{
    return s->half_C + (head * s->half_D + k) % (s->C - s->half_C);
}

/* All of one length, so that keys of one vector are, too, when they are normalised. */
static void start_embedding(const struct circuit *s)
{
    float *x = start_values(s->params, s->m->word, s->device);

    for (int64_t i = 0; i < s->m->word->shape[0]; i++) {
        float *row = x + i * s->C;
        double squares = 0;
        for (int c = 0; c < s->C; c++) {
            row[c] *= c < s->half_C ? 1 : (float)QUIET;
            squares += c ? (double)row[c] * row[c] : 0;
        }
        float scale = s->spread * (float)sqrt((s->half_C - 1) / squares);
        for (int c = 0; c < s->C; c++)
            row[c] = c ? scale * row[c] : s->spread;
    }
    start_upload(s->params, s->m->word, s->device, x);
}

/* Keys are one vector; queries are it, turned back by as many positions as the head looks back. */
static void start_neighbours(const struct circuit *s, const struct llama_layer *l)
{
    float *q = xcalloc((size_t)tensor_size(l->q.w), sizeof *q), *k = xcalloc((size_t)tensor_size(l->k.w), sizeof *k);
    float *freqs = xmalloc((size_t)s->half_D * sizeof *freqs);
    double apart = 0;

    llama_rope_freqs(&s->m->config, freqs);
    for (int p = 0; p < s->half_D && freqs[p] >= (float)FAST; p++)
        apart += 1 - cos((double)freqs[p]);
    /* the constant channel of a normalised embedding is the root of 2, in both */
    float size = (float)sqrt(NEAR * sqrt((double)s->D) / apart / 2);
    for (int h = 0; h < s->m->config.heads; h++)
        for (int p = 0; p < s->half_D && freqs[p] >= (float)FAST; p++) {
            float back = (float)(1 + h % s->per_group) * freqs[p];
            q[(int64_t)(h * s->D + p) * s->C] = size * cosf(back);
            q[(int64_t)(h * s->D + s->half_D + p) * s->C] = -size * sinf(back);
        }
    for (int g = 0; g < s->m->config.groups; g++)
        for (int p = 0; p < s->half_D && freqs[p] >= (float)FAST; p++)
            k[(int64_t)(g * s->D + p) * s->C] = size;
    free(freqs);
    start_upload(s->params, l->q.w, s->device, q);
    start_upload(s->params, l->k.w, s->device, k);
}

/* The map behind the heads as it was drawn, but smaller; the caller frees. */
static float *quiet_output(const struct circuit *s, const struct llama_layer *l)
{
    float *o = start_values(s->params, l->o.w, s->device);

    for (int64_t i = 0; i < tensor_size(l->o.w); i++)
        o[i] *= (float)QUIET;
    return o;
}

/* Values are embeddings, each head's channels of the other half take them. */
static void start_telling(const struct circuit *s, const struct llama_layer *l)
{
    float *v = start_values(s->params, l->v.w, s->device), *o = quiet_output(s, l);

    for (int g = 0; g < s->m->config.groups; g++)
        for (int k = 0; k < n_slow(s); k++)
            v[(int64_t)(g * s->D + slow(s, k)) * s->C + read_by(s, g, k)] += 1;
    for (int h = 0; h < s->m->config.heads; h++)
        for (int k = 0; k < n_slow(s); k++)
            o[(int64_t)written_by(s, h, k) * s->C + h * s->D + slow(s, k)] += s->spread;
    start_upload(s->params, l->v.w, s->device, v);
    start_upload(s->params, l->o.w, s->device, o);
}

/* The first head of each group: its keys are what was told of the token before, its queries the token itself. */
static void start_finding(const struct circuit *s, const struct llama_layer *l)
{
    float *q = start_values(s->params, l->q.w, s->device), *k = start_values(s->params, l->k.w, s->device);
    float size = (float)sqrt(SAME * sqrt((double)s->D) / n_slow(s));

    for (int g = 0; g < s->m->config.groups; g++)
        for (int i = 0; i < n_slow(s); i++) {
            int head = g * s->per_group;
            q[(int64_t)(head * s->D + slow(s, i)) * s->C + read_by(s, g, i)] += size;
            k[(int64_t)(g * s->D + slow(s, i)) * s->C + written_by(s, head, i)] += size;
        }
    start_upload(s->params, l->q.w, s->device, q);
    start_upload(s->params, l->k.w, s->device, k);
}

/* Groups share the embedding's channels, and each says its own. */
static void start_saying(const struct circuit *s, const struct llama_layer *l)
{
    float *v = start_values(s->params, l->v.w, s->device), *o = quiet_output(s, l);

    for (int g = 0; g < s->m->config.groups; g++)
        for (int i = 0; i < s->D; i++) {
            int channel = 1 + (g * s->D + i) % (s->half_C - 1), head = g * s->per_group;
            v[(int64_t)(g * s->D + i) * s->C + channel] += 1;
            o[(int64_t)channel * s->C + head * s->D + i] += SAID * s->spread;
        }
    start_upload(s->params, l->v.w, s->device, v);
    start_upload(s->params, l->o.w, s->device, o);
}

void llama_start_copying(const struct llama *m, struct params *p, struct device *d)
{
    const struct llama_config *g = &m->config;
    const struct circuit s = { .m = m,
                               .params = p,
                               .device = d,
                               .C = g->hidden_size,
                               .D = g->head_dim,
                               .half_C = g->hidden_size / 2,
                               .half_D = g->head_dim / 2,
                               .per_group = g->heads / g->groups,
                               .spread = 1 / sqrtf((float)g->hidden_size) };

    CHECK(s.half_C > 1, "%d channels", g->hidden_size);
    CHECK(g->heads * g->head_dim == g->hidden_size, "%d heads of %d in %d channels", g->heads, g->head_dim,
          g->hidden_size);
    start_embedding(&s);
    start_neighbours(&s, &m->layers[0]);
    start_telling(&s, &m->layers[0]);
    if (g->layers < 2)
        return;
    start_finding(&s, &m->layers[1]);
    start_saying(&s, &m->layers[1]);
}
