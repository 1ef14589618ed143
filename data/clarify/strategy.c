#include "data/clarify/strategy.h"

#include <math.h>
#include <string.h>

static const double tie = 1e-12; /* scores nearer than that are equal */

static const char *const names[] = { "random", "max-probability", "min-probability", "info-gain", "eig", "path" };

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

static bool splits_belief(const struct belief *b, const struct split *s)
{
    double mass[BELIEF_MAX];
    return belief_masses(mass, b, s) > 1;
}

/* Scores: the highest is asked. */

static double score_max(const struct belief *b, const struct split *splits, int n, int i)
{
    double mass[BELIEF_MAX], most = 0;

    (void)n;
    belief_masses(mass, b, &splits[i]);
    for (int k = 0; k < splits[i].n_values; k++)
        most = fmax(most, mass[k]);
    return most;
}

static double score_min(const struct belief *b, const struct split *splits, int n, int i)
{
    double mass[BELIEF_MAX], least = 1;

    (void)n;
    belief_masses(mass, b, &splits[i]);
    for (int k = 0; k < splits[i].n_values; k++)
        if (mass[k] > 0)
            least = fmin(least, mass[k]);
    return -least;
}

static double score_info_gain(const struct belief *b, const struct split *splits, int n, int i)
{
    double mass[BELIEF_MAX] = { 0 };
    int live = belief_live(b);

    (void)n;
    for (int c = 0; c < b->n; c++)
        if (b->p[c] > 0)
            mass[splits[i].value[c]] += 1.0 / live;
    return entropy_of(mass, splits[i].n_values);
}

static double score_eig(const struct belief *b, const struct split *splits, int n, int i)
{
    (void)n;
    return belief_gain_supported(b, &splits[i]);
}

double strategy_node_score(const struct belief *b, const struct split *s, const bool *through)
{
    double mass[BELIEF_MAX] = { 0 }, total = 0;

    for (int c = 0; c < b->n; c++)
        if (through[c]) {
            mass[s->value[c]] += b->p[c];
            total += b->p[c];
        }
    for (int k = 0; k < s->n_values; k++)
        mass[k] /= total;
    return total * entropy_of(mass, s->n_values);
}

/* Split i's node on the way to the best candidate is reached by those who agree with it on all splits before. */
static double score_path(const struct belief *b, const struct split *splits, int n, int i)
{
    bool through[BELIEF_MAX];
    int best = belief_best(b);

    (void)n;
    for (int c = 0; c < b->n; c++) {
        through[c] = true;
        for (int before = 0; before < i; before++)
            through[c] = through[c] && splits[before].value[c] == splits[before].value[best];
    }
    return strategy_node_score(b, &splits[i], through);
}

typedef double score_fn(const struct belief *b, const struct split *splits, int n, int i);
static score_fn *const scores[STRATEGIES] = {
    [STRATEGY_MAX_PROBABILITY] = score_max, [STRATEGY_MIN_PROBABILITY] = score_min,
    [STRATEGY_INFO_GAIN] = score_info_gain, [STRATEGY_EIG] = score_eig,
    [STRATEGY_PATH] = score_path,
};

static int choose_random(const struct belief *b, const struct split *splits, int n, struct rng *rng)
{
    int chosen = -1;
    uint32_t seen = 0;

    for (int i = 0; i < n; i++)
        if (splits_belief(b, &splits[i]) && rng_below(rng, ++seen) == 0)
            chosen = i;
    return chosen;
}

static int choose_best(score_fn *score, const struct belief *b, const struct split *splits, int n)
{
    double best = 0;
    int chosen = -1;

    for (int i = 0; i < n; i++) {
        if (!splits_belief(b, &splits[i]))
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

int strategy_choose(enum strategy strategy, const struct belief *b, const struct split *splits, int n, struct rng *rng)
{
    if (strategy == STRATEGY_RANDOM)
        return choose_random(b, splits, n, rng);
    return choose_best(scores[strategy], b, splits, n);
}

/* Keeps the candidates with this value and makes them sum to 1; returns the mass that they had. */
static double filter(struct belief *kept, const struct belief *b, const struct split *s, int value)
{
    double mass = 0;

    for (int i = 0; i < b->n; i++)
        mass += kept->p[i] = s->value[i] == value ? b->p[i] : 0;
    for (int i = 0; mass > 0 && i < b->n; i++)
        kept->p[i] /= mass;
    kept->reserve = 0;
    return mass;
}

double strategy_questions(enum strategy strategy, const struct belief *b, const struct split *splits, int n)
{
    struct rng rng = { 0 };
    int i = strategy_choose(strategy, b, splits, n, &rng);

    if (i < 0)
        return 0;
    double questions = 1;
    struct belief kept = belief_copy(b);
    for (int k = 0; k < splits[i].n_values; k++) {
        double mass = filter(&kept, b, &splits[i], k);
        if (mass > 0)
            questions += mass / (1 - b->reserve) * strategy_questions(strategy, &kept, splits, n);
    }
    belief_release(&kept);
    return questions;
}
