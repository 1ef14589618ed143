/*
 * Sampling of tokens: temperature, top-k, top-p, min-p and typical-p, then one random grain.
 *
 * Probabilities are integers: grains of 2^-40 of the likeliest choice. Their sums are exact in any order, so that all
 * devices keep the same choices and draw the same token. Top-k, top-p and typical-p keep all choices within a distance
 * from a centre, and reach() finds this distance without sorting the vocabulary.
 */
#include "kernels/cpu/choices.h"
#include "kernels/cpu/vmath.h"
#include "kernels/draw_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Choices of a row with their non-negative distance from the likeliest one (or from the typical one) and their weights.
 * A weight is the probability in grains, or 1. */
struct weighed {
    uint32_t distance; /* the bits of a float, which have the same order */
    uint64_t weight;
};

/* A row that is sampled: its choices, the distance of each below the likeliest, and its grains, 0 once cut off. */
struct draw_row {
    struct choices ch;
    float *below;
    uint64_t *grains;
    struct weighed *scratch;
};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Moves choices up to `middle` to the front; returns their number, and their weight in *sum. */
static int64_t part(struct weighed *list, int64_t n, uint32_t middle, uint64_t *sum)
{
    int64_t near = 0;

    *sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (list[i].distance <= middle) {
            struct weighed w = list[i];
            list[i] = list[near];
            list[near++] = w;
            *sum += w.weight;
        }
    return near;
}

static uint32_t farthest(const struct weighed *list, int64_t n)
{
    uint32_t most = 0;

    for (int64_t i = 0; i < n; i++)
        most = list[i].distance > most ? list[i].distance : most;
    return most;
}

/* Returns the largest distance in the list such that all nearer choices weigh less than `limit`. */
static float reach(struct weighed *list, int64_t n, uint64_t limit)
{
    /* A bisection over the bits of distances.  Each step splits the rest of the list, and goes on with the side that
     * holds the answer. */
    uint32_t low = 0, high = farthest(list, n);

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t sum;
        int64_t near = part(list, n, middle, &sum);
        /* The near half weighs too little: all of it is within reach, and the search goes on behind it. */
        if (sum < limit) {
            limit -= sum;
            list += near;
            n -= near;
            low = middle + 1;
        } else {
            n = near;
            high = middle;
        }
    }
    return float_of(low);
}

static void cut(struct draw_row *d, float most)
{
    for (int64_t i = 0; i < d->ch.n; i++)
        if (!(d->below[i] <= most))
            d->grains[i] = 0;
}

static uint64_t sum_of(const struct draw_row *d)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < d->ch.n; i++)
        sum += d->grains[i];
    return sum;
}

static void cut_top_k(struct draw_row *d, int64_t k)
{
    for (int64_t i = 0; i < d->ch.n; i++)
        d->scratch[i] = (struct weighed){ bits_of(d->below[i]), 1 };
    cut(d, reach(d->scratch, d->ch.n, (uint64_t)k));
}

/* Keeps the choices nearest to `centre` that together hold the share.  Around the likeliest one the set is minimal:
 * without its least probable choices it would not hold the share. */
static void cut_share(struct draw_row *d, float centre, float share)
{
    /* Only choices of at least `least` grains can matter: all smaller ones together weigh less than the rest that
     * the share leaves. */
    uint64_t sum = sum_of(d), limit = draw_share(sum, share),
             least = centre > 0 ? 1 : (sum - limit) / (uint64_t)d->ch.n;
    int64_t n = 0;

    for (int64_t i = 0; i < d->ch.n; i++)
        if (d->grains[i] && d->grains[i] >= least)
            d->scratch[n++] = (struct weighed){ bits_of(fabsf(d->below[i] - centre)), d->grains[i] };
    float most = reach(d->scratch, n, limit);
    for (int64_t i = 0; i < d->ch.n; i++)
        if (!(fabsf(d->below[i] - centre) <= most))
            d->grains[i] = 0;
}

/* Returns the mean distance.  -log p of a token minus the entropy is its distance minus this mean. */
static float typical_distance(const struct draw_row *d)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < d->ch.n; i++)
        if (d->grains[i])
            sum += draw_grains(vexp(-d->below[i]) * d->below[i]);
    return (float)((double)sum / (double)sum_of(d));
}

CPU_CLONES static void distances(float *below, uint64_t *grains, const float *x, int64_t n, float most, float scale)
{
    for (int64_t i = 0; i < n; i++) {
        /* The likeliest choice has distance 0 even where its logit is infinite. NaN and -INFINITY have weight 0. */
        float d = x[i] == most ? 0 : (most - x[i]) * scale;
        below[i] = d >= 0 ? d : INFINITY;
        grains[i] = draw_grains(vexp(-below[i]));
    }
}

static int64_t drawn(const struct draw_row *d, uint64_t grain)
{
    int64_t i = 0;

    while (grain >= d->grains[i])
        grain -= d->grains[i++];
    return i;
}

static void draw_row_init(struct draw_row *d, const struct choices *ch, float most, float scale)
{
    float buf[ROW_BLOCK];
    size_t n = (size_t)ch->n;

    d->ch = *ch;
    d->below = xmalloc(n * sizeof *d->below);
    d->grains = xmalloc(n * sizeof *d->grains);
    d->scratch = xmalloc(n * sizeof *d->scratch);
    for (int64_t at = 0; at < ch->n; at += ROW_BLOCK) {
        int64_t run = run_length(at, ch->n);
        distances(d->below + at, d->grains + at, choices_in(buf, ch, at, run), run, most, scale);
    }
}

static void draw_row_release(struct draw_row *d)
{
    free(d->below);
    free(d->grains);
    free(d->scratch);
}

/* The position of a row. */
struct draw_place {
    const struct decode_state *s;
    int64_t request, row; /* of the state */
    int32_t step, limit;
};

static int64_t draw(const struct choices *ch, float most, const struct draw_settings *set, const struct draw_place *p)
{
    struct draw_row d;
    const int32_t *key = (const int32_t *)p->s->key->data + 2 * p->request;

    /* The filters follow each other in the order of transformers, each on the choices that the last one left. */
    draw_row_init(&d, ch, most, 1 / set->temperature);
    if (set->top_k)
        cut_top_k(&d, set->top_k);
    if (set->top_p < 1)
        cut_share(&d, 0, set->top_p);
    if (set->min_p > 0)
        cut(&d, -logf(set->min_p));
    if (set->typical_p < 1)
        cut_share(&d, typical_distance(&d), set->typical_p);
    uint32_t row = (uint32_t)(p->row % p->s->width);
    int64_t at = drawn(&d, draw_grain(sum_of(&d), set->seed, key, row, (uint32_t)p->step));
    draw_row_release(&d);
    return at;
}

static int64_t likeliest(const struct choices *ch, float most)
{
    int64_t i = 0;

    while (ch->x[choice_id(ch, i)] != most)
        i++;
    return i;
}

static int32_t *words(const struct tensor *t, int64_t at)
{
    return (int32_t *)t->data + at;
}

static float *numbers(const struct tensor *t, int64_t at)
{
    return (float *)t->data + at;
}

static bool ends(const struct tensor *stops, int32_t id)
{
    for (int64_t i = 0; i < tensor_size(stops); i++)
        if (*words(stops, i) == id)
            return true;
    return false;
}

/* Appends the sampled token to the row; -1: no token was allowed. */
static void say(const struct draw_place *p, int32_t id, float logp, const struct draw_settings *set)
{
    const struct decode_state *s = p->s;
    int64_t log = p->row * tensor_cols(s->said) + p->step;
    bool stop = ends(set->stops, id);

    *words(s->said, log) = id;
    *words(s->parent, log) = (int32_t)(p->row % s->width);
    *numbers(s->logp, log) = logp;
    *numbers(s->score, p->row) += logp;
    if (id >= 0)
        *words(s->token, p->row) = id;
    if (!stop && id >= 0 && p->step + 1 < p->limit)
        return;
    *words(s->end_step, p->row) = p->step;
    *words(s->end_row, p->row) = (int32_t)(p->row % s->width);
    *words(s->end_token, p->row) = id;
    *words(s->end_stop, p->row) = stop;
    *numbers(s->end_logp, p->row) = logp;
    *numbers(s->end_score, p->row) = *numbers(s->score, p->row);
}

static void step_row(const struct draw_place *p, const struct choices *ch, const struct choices *all,
                     const struct draw_settings *set)
{
    float most = choices_most(ch), top = choices_most(all);

    if (most == -INFINITY) {
        say(p, -1, 0, set);
        return;
    }
    int64_t at = set->temperature > 0 ? draw(ch, most, set, p) : likeliest(ch, most);
    int32_t id = choice_id(ch, at);
    *words(p->s->state, p->row) = choice_state(ch, at);
    say(p, id, choice_logp(all->x[id], top, choices_log_excess(all, top)), set);
}

static bool all_ended(const struct decode_state *s, int64_t request)
{
    for (int64_t i = 0; i < s->width; i++)
        if (*words(s->end_step, request * s->width + i) < 0)
            return false;
    return true;
}

void cpu_draw(struct ctx *c, const struct decode_state *s, const struct decode_step *step, const struct tensor *logits,
              const struct automaton *a, const struct draw_settings *set)
{
    int64_t n = tensor_size(step->request);

    (void)c;
#pragma omp parallel for schedule(dynamic) if (tensor_size(logits) > PARALLEL_MIN)
    for (int64_t t = 0; t < n * s->width; t++) {
        int64_t i = t / s->width, r = *words(step->request, i), row = r * s->width + t % s->width;
        if (r < 0 || *words(s->end_step, row) >= 0)
            continue;
        struct draw_place p = { s, r, row, *words(step->step, i), *words(step->limit, i) };
        int64_t from = logit_row(s, step, t);
        struct choices all = choices_of(NULL, STATE_FREE, logits, from);
        struct choices ch = choices_of(a, *words(s->state, row), logits, from);
        step_row(&p, &ch, &all, set);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t r = *words(step->request, i);
        if (r >= 0)
            *words(s->done, r) = all_ended(s, r);
    }
}
