#include "data/clarify/belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double contradiction = 1e-6;

const char *answer_kind_name(enum answer_kind k)
{
    static const char *const names[] = { "value", "unknown", "either", "none" };
    return names[k];
}

struct belief belief_copy(const struct belief *b)
{
    struct belief copy = *b;
    copy.p = xmalloc((size_t)b->n * sizeof *copy.p);
    memcpy(copy.p, b->p, (size_t)b->n * sizeof *copy.p);
    return copy;
}

void belief_release(struct belief *b)
{
    free(b->p);
    *b = (struct belief){ 0 };
}

int belief_live(const struct belief *b)
{
    int live = 0;

    for (int i = 0; i < b->n; i++)
        live += b->p[i] > 0;
    return live;
}

static double part(double p)
{
    return p > 0 ? -p * log2(p) : 0;
}

double entropy_of(const double *mass, int n)
{
    double h = 0;

    for (int i = 0; i < n; i++)
        h += part(mass[i]);
    return h;
}

double belief_entropy(const struct belief *b)
{
    return entropy_of(b->p, b->n) + part(b->reserve);
}

int belief_best(const struct belief *b)
{
    int best = 0;

    for (int i = 1; i < b->n; i++)
        if (b->p[i] > b->p[best])
            best = i;
    return best;
}

int belief_masses(double *mass, const struct belief *b, const struct split *s)
{
    int live = 0;

    memset(mass, 0, (size_t)s->n_values * sizeof *mass);
    for (int i = 0; i < b->n; i++)
        mass[s->value[i]] += b->p[i];
    for (int k = 0; k < s->n_values; k++)
        live += mass[k] > 0;
    return live;
}

double split_likelihood(const struct split *s, int value, int option)
{
    if (s->n_values < 2)
        return 1;
    return value == option ? 1 - s->noise : s->noise / (s->n_values - 1);
}

/* What each answer explains of the candidates and of the reserve. */
static double answer_mass(const struct split *s, double total, double mass)
{
    return mass * split_likelihood(s, 0, 0) + (total - mass) * split_likelihood(s, 0, 1);
}

static double gain_of(const double *mass, double reserve, const struct split *s)
{
    double total = 1 - reserve, astray = reserve / (s->n_values + 1), h = part(astray);

    for (int k = 0; k < s->n_values; k++)
        h += part(answer_mass(s, total, mass[k]) + astray);
    double slip = split_likelihood(s, 0, 1), row = part(1 - s->noise) + (s->n_values - 1) * part(slip);
    return h - total * row - reserve * log2(s->n_values + 1);
}

double belief_gain(const struct belief *b, const struct split *s)
{
    double mass[BELIEF_MAX];
    return belief_masses(mass, b, s) < 2 ? 0 : gain_of(mass, b->reserve, s);
}

double belief_gain_supported(const struct belief *b, const struct split *s)
{
    double mass[BELIEF_MAX], gain = belief_gain(b, s);
    int live = belief_masses(mass, b, s);

    if (live < 2 || s->support <= 0)
        return gain;
    for (int k = 0; k < s->n_values; k++)
        mass[k] = mass[k] > 0 ? (1 - b->reserve) / live : 0;
    return gain + s->support * (gain_of(mass, b->reserve, s) - gain);
}

double belief_gain_of_best(const struct belief *b, const struct split *s)
{
    double after = 0;

    for (int k = 0; k < s->n_values; k++) {
        double best = 0;
        for (int i = 0; i < b->n; i++)
            best = fmax(best, b->p[i] * split_likelihood(s, s->value[i], k));
        after += best;
    }
    return after - b->p[belief_best(b)];
}

static void weigh(struct belief *b, const struct split *s, int option, double evidence)
{
    for (int i = 0; i < b->n; i++)
        b->p[i] = b->p[i] * split_likelihood(s, s->value[i], option) / evidence;
    b->reserve = b->reserve / (s->n_values + 1) / evidence;
}

static int update_value(struct belief *b, const struct split *s, int option)
{
    double evidence = 0;

    for (int i = 0; i < b->n; i++)
        evidence += b->p[i] * split_likelihood(s, s->value[i], option);
    evidence += b->reserve / (s->n_values + 1);
    if (evidence < contradiction)
        return -1;
    weigh(b, s, option, evidence);
    return 0;
}

static void update_none(struct belief *b, const struct split *s)
{
    double kept = 0, slip = s->n_values < 2 ? s->noise : split_likelihood(s, 0, 1);

    for (int i = 0; i < b->n; i++)
        kept += b->p[i] *= slip;
    b->reserve = 1 - kept;
}

int belief_update(struct belief *b, const struct split *s, struct answer a)
{
    if (a.kind == ANSWER_VALUE)
        return update_value(b, s, a.value);
    if (a.kind == ANSWER_NONE)
        update_none(b, s);
    return 0;
}
