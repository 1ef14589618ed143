#include "data/clarify/posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double contradiction = 1e-6;

const char *answer_kind_name(enum answer_kind k)
{
    static const char *const names[] = { "value", "unknown", "either", "none" };
    return names[k];
}

struct posterior posterior_copy(const struct posterior *b)
{
    struct posterior copy = *b;
    copy.p = xmalloc((size_t)b->n * sizeof *copy.p);
    memcpy(copy.p, b->p, (size_t)b->n * sizeof *copy.p);
    return copy;
}

void posterior_release(struct posterior *b)
{
    free(b->p);
    *b = (struct posterior){ 0 };
}

/* Number of candidates with a probability above zero. */
static int posterior_live(const struct posterior *b)
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

double posterior_entropy(const struct posterior *b)
{
    return entropy_of(b->p, b->n) + part(b->p_none);
}

int posterior_best(const struct posterior *b)
{
    int best = 0;

    for (int i = 1; i < b->n; i++)
        if (b->p[i] > b->p[best])
            best = i;
    return best;
}

int posterior_masses(double *mass, const struct posterior *b, const struct split *s)
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

/* Probability of an answer, from the mass of the candidates that give it. */
static double answer_mass(const struct split *s, double total, double mass)
{
    return mass * split_likelihood(s, 0, 0) + (total - mass) * split_likelihood(s, 0, 1);
}

static double gain_of(const double *mass, double p_none, const struct split *s)
{
    double total = 1 - p_none, astray = p_none / (s->n_values + 1), h = part(astray);

    for (int k = 0; k < s->n_values; k++)
        h += part(answer_mass(s, total, mass[k]) + astray);
    double slip = split_likelihood(s, 0, 1), row = part(1 - s->noise) + (s->n_values - 1) * part(slip);
    return h - total * row - p_none * log2(s->n_values + 1);
}

double posterior_gain(const struct posterior *b, const struct split *s)
{
    double mass[POSTERIOR_MAX];
    return posterior_masses(mass, b, s) < 2 ? 0 : gain_of(mass, b->p_none, s);
}

double posterior_gain_supported(const struct posterior *b, const struct split *s)
{
    double mass[POSTERIOR_MAX], gain = posterior_gain(b, s);
    int live = posterior_masses(mass, b, s);

    if (live < 2 || s->support <= 0)
        return gain;
    for (int k = 0; k < s->n_values; k++)
        mass[k] = mass[k] > 0 ? (1 - b->p_none) / live : 0;
    return gain + s->support * (gain_of(mass, b->p_none, s) - gain);
}

double posterior_gain_of_best(const struct posterior *b, const struct split *s)
{
    double after = 0;

    for (int k = 0; k < s->n_values; k++) {
        double best = 0;
        for (int i = 0; i < b->n; i++)
            best = fmax(best, b->p[i] * split_likelihood(s, s->value[i], k));
        after += best;
    }
    return after - b->p[posterior_best(b)];
}

static void weigh(struct posterior *b, const struct split *s, int option, double evidence)
{
    for (int i = 0; i < b->n; i++)
        b->p[i] = b->p[i] * split_likelihood(s, s->value[i], option) / evidence;
    b->p_none = b->p_none / (s->n_values + 1) / evidence;
}

static int update_value(struct posterior *b, const struct split *s, int option)
{
    double evidence = 0;

    for (int i = 0; i < b->n; i++)
        evidence += b->p[i] * split_likelihood(s, s->value[i], option);
    evidence += b->p_none / (s->n_values + 1);
    if (evidence < contradiction)
        return -1;
    weigh(b, s, option, evidence);
    return 0;
}

static void update_none(struct posterior *b, const struct split *s)
{
    double kept = 0, slip = s->n_values < 2 ? s->noise : split_likelihood(s, 0, 1);

    for (int i = 0; i < b->n; i++)
        kept += b->p[i] *= slip;
    b->p_none = 1 - kept;
}

int posterior_update(struct posterior *b, const struct split *s, struct answer a)
{
    if (a.kind == ANSWER_VALUE)
        return update_value(b, s, a.value);
    if (a.kind == ANSWER_NONE)
        update_none(b, s);
    return 0;
}

static const double tie = 1e-12; /* tolerance of equal scores */

static const char *const names[STRATEGIES] = {
    "random", "max-probability", "min-probability", "info-gain-values", "info-gain-candidates", "eig", "path"
};

const char *strategy_name(enum strategy s)
{
    return names[s];
}

enum strategy strategy_of_name(const char *name)
{
    int s = 0;
    while (s < STRATEGIES && strcmp(names[s], name) != 0)
        s++;
    return (enum strategy)s;
}

static bool splits_posterior(const struct posterior *b, const struct split *s)
{
    double mass[POSTERIOR_MAX];
    return posterior_masses(mass, b, s) > 1;
}

/* Scores of the strategies; the question with the highest score is asked. */

static double score_max(const struct posterior *b, const struct split *splits, int n, int i)
{
    double mass[POSTERIOR_MAX], most = 0;

    (void)n;
    posterior_masses(mass, b, &splits[i]);
    for (int k = 0; k < splits[i].n_values; k++)
        most = fmax(most, mass[k]);
    return most;
}

static double score_min(const struct posterior *b, const struct split *splits, int n, int i)
{
    double mass[POSTERIOR_MAX], least = 1;

    (void)n;
    posterior_masses(mass, b, &splits[i]);
    for (int k = 0; k < splits[i].n_values; k++)
        if (mass[k] > 0)
            least = fmin(least, mass[k]);
    return -least;
}

static double score_values(const struct posterior *b, const struct split *splits, int n, int i)
{
    double mass[POSTERIOR_MAX];

    (void)n;
    return log2(posterior_masses(mass, b, &splits[i]));
}

static double score_candidates(const struct posterior *b, const struct split *splits, int n, int i)
{
    double mass[POSTERIOR_MAX] = { 0 };
    int live = posterior_live(b);

    (void)n;
    for (int c = 0; c < b->n; c++)
        if (b->p[c] > 0)
            mass[splits[i].value[c]] += 1.0 / live;
    return entropy_of(mass, splits[i].n_values);
}

static double score_eig(const struct posterior *b, const struct split *splits, int n, int i)
{
    (void)n;
    return posterior_gain_supported(b, &splits[i]);
}

double strategy_node_score(const struct posterior *b, const struct split *s, const bool *through)
{
    double mass[POSTERIOR_MAX] = { 0 }, total = 0;

    for (int c = 0; c < b->n; c++)
        if (through[c]) {
            mass[s->value[c]] += b->p[c];
            total += b->p[c];
        }
    for (int k = 0; k < s->n_values; k++)
        mass[k] /= total;
    return total * entropy_of(mass, s->n_values);
}

/* The node of split i on the path to the best candidate holds the candidates that agree with it on all earlier splits.
 */
static double score_path(const struct posterior *b, const struct split *splits, int n, int i)
{
    bool through[POSTERIOR_MAX];
    int best = posterior_best(b);

    (void)n;
    for (int c = 0; c < b->n; c++) {
        through[c] = true;
        for (int before = 0; before < i; before++)
            through[c] = through[c] && splits[before].value[c] == splits[before].value[best];
    }
    return strategy_node_score(b, &splits[i], through);
}

typedef double score_fn(const struct posterior *b, const struct split *splits, int n, int i);

static score_fn *const scores[STRATEGIES] = {
    [STRATEGY_MAX_PROBABILITY] = score_max,
    [STRATEGY_MIN_PROBABILITY] = score_min,
    [STRATEGY_INFO_GAIN_VALUES] = score_values,
    [STRATEGY_INFO_GAIN_CANDIDATES] = score_candidates,
    [STRATEGY_EIG] = score_eig,
    [STRATEGY_PATH] = score_path,
};

static int choose_random(const struct posterior *b, const struct split *splits, int n, struct rng *rng)
{
    int chosen = -1;
    uint32_t seen = 0;

    for (int i = 0; i < n; i++)
        if (splits_posterior(b, &splits[i]) && rng_below(rng, ++seen) == 0)
            chosen = i;
    return chosen;
}

static int choose_best(score_fn *score, const struct posterior *b, const struct split *splits, int n)
{
    double best = 0;
    int chosen = -1;

    for (int i = 0; i < n; i++) {
        if (!splits_posterior(b, &splits[i]))
            continue;
        double s = score(b, splits, n, i);
        bool equal = chosen >= 0 && fabs(s - best) <= tie;
        if (chosen >= 0 && (equal ? splits[i].cost >= splits[chosen].cost : s < best))
            continue;
        best = s;
        chosen = i;
    }
    return chosen;
}

int strategy_choose(enum strategy strategy, const struct posterior *b, const struct split *splits, int n,
                    struct rng *rng)
{
    if (strategy == STRATEGY_RANDOM)
        return choose_random(b, splits, n, rng);
    return choose_best(scores[strategy], b, splits, n);
}

/* Keeps the candidates with this value and normalises them.  Returns their mass before. */
static double filter(struct posterior *kept, const struct posterior *b, const struct split *s, int value)
{
    double mass = 0;

    for (int i = 0; i < b->n; i++)
        mass += kept->p[i] = s->value[i] == value ? b->p[i] : 0;
    for (int i = 0; mass > 0 && i < b->n; i++)
        kept->p[i] /= mass;
    kept->p_none = 0;
    return mass;
}

double strategy_questions(enum strategy strategy, const struct posterior *b, const struct split *splits, int n)
{
    struct rng rng = { 0 };
    int i = strategy_choose(strategy, b, splits, n, &rng);

    if (i < 0)
        return 0;
    double questions = 1;
    struct posterior kept = posterior_copy(b);
    for (int k = 0; k < splits[i].n_values; k++) {
        double mass = filter(&kept, b, &splits[i], k);
        if (mass > 0)
            questions += mass / (1 - b->p_none) * strategy_questions(strategy, &kept, splits, n);
    }
    posterior_release(&kept);
    return questions;
}
