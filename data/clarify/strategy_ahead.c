/* Part of strategy.h: strategies that look further than one question. */
#include "data/clarify/strategy_impl.h"

#include <math.h>
#include <stdlib.h>

static double best_gain_but(const struct belief *b, const struct split *splits, int n, int asked)
{
    double best = 0;

    for (int i = 0; i < n; i++)
        if (i != asked)
            best = fmax(best, belief_gain(b, &splits[i]));
    return best;
}

/* The chance of an option, the reserve's answers counted in. */
static double chance(const struct belief *b, const struct split *s, int option)
{
    double p = b->reserve / (s->n_values + 1);

    for (int c = 0; c < b->n; c++)
        p += b->p[c] * split_likelihood(s, s->value[c], option);
    return p;
}

double strategy_two_step(const struct belief *b, const struct split *splits, int n, int i)
{
    double gain = belief_gain(b, &splits[i]), total = gain;

    for (int k = 0; k < splits[i].n_values; k++) {
        struct belief after = belief_copy(b);
        if (belief_update(&after, &splits[i], (struct answer){ ANSWER_VALUE, k }) == 0)
            total += chance(b, &splits[i], k) * best_gain_but(&after, splits, n, i);
        belief_release(&after);
    }
    return total + 1e-6 * gain; /* two questions tell the same in either order: the more telling one first */
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
        double mass = strategy_filter(&kept, b, &splits[i], k);
        if (mass > 0)
            questions += mass / (1 - b->reserve) * strategy_questions(strategy, &kept, splits, n);
    }
    belief_release(&kept);
    return questions;
}

/* Dynamic programming over sets of candidates, a bit each. */
struct search {
    const struct split *splits;
    int n;
    int number[OPTIMAL_MAX]; /* by bit: the candidate */
    double p[OPTIMAL_MAX];
    int live;
    double *known; /* by set: its mass times the questions it needs; negative when not known yet */
};

static double search_cost(struct search *s, unsigned set);

/* The sets that the values of a split leave of a set; how many. */
static int divide(unsigned *parts, const struct search *s, const struct split *split, unsigned set)
{
    int values[OPTIMAL_MAX], n = 0;

    for (int bit = 0; bit < s->live; bit++) {
        if (!(set >> bit & 1))
            continue;
        int value = split->value[s->number[bit]], k = 0;
        while (k < n && values[k] != value)
            k++;
        if (k == n) {
            values[n] = value;
            parts[n++] = 0;
        }
        parts[k] |= 1u << bit;
    }
    return n;
}

/* -1 when the split does not split the set. */
static double cost_of_asking(struct search *s, const struct split *split, unsigned set)
{
    unsigned parts[OPTIMAL_MAX];
    int n = divide(parts, s, split, set);
    double cost = 0;

    if (n < 2)
        return -1;
    for (int bit = 0; bit < s->live; bit++)
        cost += set >> bit & 1 ? s->p[bit] : 0;
    for (int k = 0; k < n; k++)
        cost += search_cost(s, parts[k]);
    return cost;
}

static int search_best(struct search *s, unsigned set, double *least)
{
    int chosen = -1;

    *least = 0;
    for (int i = 0; i < s->n; i++) {
        double cost = cost_of_asking(s, &s->splits[i], set);
        if (cost >= 0 && (chosen < 0 || cost < *least - 1e-12)) {
            *least = cost;
            chosen = i;
        }
    }
    return chosen;
}

static double search_cost(struct search *s, unsigned set)
{
    if (s->known[set] < 0) {
        double least;
        search_best(s, set, &least);
        s->known[set] = least;
    }
    return s->known[set];
}

int strategy_optimal(const struct belief *b, const struct split *splits, int n)
{
    struct search s = { .splits = splits, .n = n };
    double least;

    CHECK(belief_live(b) <= OPTIMAL_MAX, "optimal for %d candidates, at most %d", belief_live(b), OPTIMAL_MAX);
    for (int c = 0; c < b->n; c++)
        if (b->p[c] > 0) {
            s.number[s.live] = c;
            s.p[s.live++] = b->p[c];
        }
    unsigned sets = 1u << s.live;
    s.known = xmalloc(sets * sizeof *s.known);
    for (unsigned set = 0; set < sets; set++)
        s.known[set] = -1;
    int chosen = search_best(&s, sets - 1, &least);
    free(s.known);
    return chosen;
}
