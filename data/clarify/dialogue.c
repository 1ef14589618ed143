#include "data/clarify/dialogue.h"

#include <stdlib.h>
#include <string.h>

const struct dialogue_rules dialogue_rules_default = {
    .strategy = STRATEGY_EIG, .confidence = 2, .min_gain = 0.05, .max_turns = 3, .worth = 1
};

const char *stop_reason_name(enum stop_reason r)
{
    static const char *const names[] = {
        "not", "confident", "settled", "little-gain", "turns", "utility", "escalated"
    };
    return names[r];
}

static void start(struct dialogue *d)
{
    memcpy(d->now.p, d->prior.p, (size_t)d->prior.n * sizeof *d->now.p);
    d->now.p_none = d->prior.p_none;
    d->n_turns = d->n_recalled = 0;
    d->free_choice = false;
    memset(d->asked, 0, (size_t)d->n_attributes * sizeof *d->asked);
    memset(d->closed, 0, (size_t)d->n_attributes * sizeof *d->closed);
}

void dialogue_init(struct dialogue *d, const struct dialogue_rules *rules, const struct split *attributes,
                   int n_attributes, const struct posterior *prior)
{
    size_t n = (size_t)n_attributes;

    *d = (struct dialogue){ .rules = *rules, .attributes = attributes, .n_attributes = n_attributes };
    d->prior = posterior_copy(prior);
    d->now = posterior_copy(prior);
    d->asked = xcalloc(n + 1, sizeof *d->asked);
    d->closed = xcalloc(n + 1, sizeof *d->closed);
    d->views = xcalloc(n + 1, sizeof *d->views);
    d->options = xcalloc((n + 1) * (size_t)(prior->n + 1), sizeof *d->options);
}

void dialogue_release(struct dialogue *d)
{
    posterior_release(&d->prior);
    posterior_release(&d->now);
    free(d->asked);
    free(d->closed);
    free(d->views);
    free(d->options);
    *d = (struct dialogue){ 0 };
}

int question_view_option(const struct question_view *v, int value)
{
    for (int k = 0; k < v->n_shown; k++)
        if (v->shown[k] == value)
            return k;
    return -1;
}

static int heaviest(const double *mass, int n)
{
    int most = 0;

    for (int k = 1; k < n; k++)
        if (mass[k] > mass[most])
            most = k;
    return most;
}

/* Chooses the most probable values, in order.  A repeated question omits improbable ones. */
static void show(struct question_view *v, double *mass, int n, bool again)
{
    double least = again ? mass[heaviest(mass, n)] / 10 : 0;
    int live = 0, shown = 0;

    for (int k = 0; k < n; k++) {
        live += mass[k] > 0;
        shown += mass[k] > 0 && mass[k] >= least;
    }
    shown = shown < DIALOGUE_SHOWN ? shown : DIALOGUE_SHOWN;
    v->other = live > shown;
    for (v->n_shown = 0; v->n_shown < shown; v->n_shown++) {
        int most = heaviest(mass, n);
        v->shown[v->n_shown] = most;
        v->mass[v->n_shown] = mass[most];
        mass[most] = 0;
    }
    v->mass[v->n_shown] = 0;
    for (int k = 0; k < n; k++)
        v->mass[v->n_shown] += mass[k];
}

/* Candidates without mass may have any option, since they have no weight. */
static void number_options(struct dialogue *d, struct question_view *v)
{
    const struct split *full = &d->attributes[v->attribute];
    int *options = d->options + (size_t)v->attribute * (size_t)d->now.n;

    for (int i = 0; i < d->now.n; i++) {
        int option = question_view_option(v, full->value[i]);
        options[i] = option >= 0 ? option : v->other ? v->n_shown : 0;
    }
    v->split = (struct split){ options, v->n_shown + v->other, full->noise, full->cost, full->support };
}

bool dialogue_view(struct dialogue *d, int attribute, struct question_view *view)
{
    double mass[POSTERIOR_MAX];

    *view = (struct question_view){ .attribute = attribute };
    if (posterior_masses(mass, &d->now, &d->attributes[attribute]) < 2)
        return false;
    show(view, mass, d->attributes[attribute].n_values, d->asked[attribute] > 0 && !d->rules.repeat);
    number_options(d, view);
    view->gain = posterior_gain(&d->now, &view->split);
    return true;
}

static bool same_parts(const struct posterior *b, const int *x, const int *y)
{
    int y_of[POSTERIOR_MAX], x_of[POSTERIOR_MAX];

    for (int i = 0; i < b->n; i++)
        y_of[x[i]] = x_of[y[i]] = -1;
    for (int i = 0; i < b->n; i++) {
        if (b->p[i] <= 0)
            continue;
        if ((y_of[x[i]] >= 0 && y_of[x[i]] != y[i]) || (x_of[y[i]] >= 0 && x_of[y[i]] != x[i]))
            return false;
        y_of[x[i]] = y[i];
        x_of[y[i]] = x[i];
    }
    return true;
}

/* Tells whether the user has answered "I don't know" or "either" to a question that divides the candidates alike. */
static bool is_idle(const struct dialogue *d, int attribute)
{
    for (int t = 0; t < d->n_turns; t++) {
        enum answer_kind kind = d->turns[t].answer.kind;
        bool passed = kind == ANSWER_UNKNOWN || kind == ANSWER_EITHER;
        if (passed && same_parts(&d->now, d->attributes[attribute].value, d->attributes[d->turns[t].attribute].value))
            return true;
    }
    return false;
}

/* Tells whether a candidate agrees with all answers. */
static bool is_said(const struct dialogue *d, int candidate)
{
    for (int t = 0; t < d->n_turns; t++) {
        const struct turn *turn = &d->turns[t];
        if (turn->said >= 0 && d->attributes[turn->attribute].value[candidate] != turn->said)
            return false;
    }
    return true;
}

/* Tells whether all candidates that agree with the answers have the same value, and the best candidate is one of them.
 * A question about the attribute would then repeat an earlier one in other words. */
static bool is_settled(const struct dialogue *d, int attribute)
{
    const int *value = d->attributes[attribute].value;
    int best = posterior_best(&d->now);

    if (d->rules.repeat || !d->n_turns || !is_said(d, best))
        return false;
    for (int i = 0; i < d->now.n; i++)
        if (d->now.p[i] > 0 && value[i] != value[best] && is_said(d, i))
            return false;
    return true;
}

/* Collects the views and splits of attributes that may be asked about. */
static int open_views(struct dialogue *d, struct split *splits, int from, int to)
{
    int n = 0;

    for (int v = from; v < to; v++)
        if (!d->closed[v] && !is_idle(d, v) && !is_settled(d, v) && dialogue_view(d, v, &d->views[n])) {
            splits[n] = d->views[n].split;
            n++;
        }
    return n;
}

/* Each turn has random numbers of its own, so that undo and replay ask the same questions. */
static struct rng turn_rng(const struct dialogue *d)
{
    return (struct rng){ .seed = d->rules.seed, .count = (uint64_t)d->n_turns << 32 };
}

static enum stop_reason before_asking(const struct dialogue *d)
{
    double best = d->now.p[posterior_best(&d->now)];

    if (d->now.p_none > best && (d->now.p_none > d->prior.p_none || (d->now.p_none > 0.5 && !d->rules.ask_first)))
        return STOP_ESCALATE;
    if (best >= d->rules.confidence)
        return STOP_CONFIDENT;
    return d->n_turns - d->n_recalled >= d->rules.max_turns ? STOP_TURNS : STOP_NOT;
}

static bool worth_asking(const struct dialogue *d, const struct question_view *v)
{
    double cost = d->rules.second * v->split.cost;
    return cost <= 0 || d->rules.worth * posterior_gain_of_best(&d->now, &v->split) > cost;
}

/* Chooses the best question among attributes [from, to). */
static enum stop_reason choose(struct dialogue *d, struct question_view *view, int from, int to)
{
    struct split *splits = xcalloc((size_t)d->n_attributes + 1, sizeof *splits);
    struct rng rng = turn_rng(d);
    int n = open_views(d, splits, from, to), i = strategy_choose(d->rules.strategy, &d->now, splits, n, &rng);

    free(splits);
    if (i < 0)
        return STOP_SETTLED;
    *view = d->views[i];
    return posterior_gain_supported(&d->now, &view->split) < d->rules.min_gain ? STOP_GAIN : STOP_NOT;
}

/* Hashes the values of each candidate in the answered attributes.  Returns false when the best candidate contradicts
 * an answer. */
static bool hash_answers(uint64_t *said, const struct dialogue *d)
{
    int best = posterior_best(&d->now);

    for (int i = 0; i < d->now.n; i++)
        said[i] = HASH_START;
    for (int t = 0; t < d->n_turns; t++) {
        const struct turn *turn = &d->turns[t];
        const int *value = d->attributes[turn->attribute].value;
        if (!turn->telling || !d->closed[turn->attribute])
            continue;
        if (turn->said >= 0 && value[best] != turn->said)
            return false;
        for (int i = 0; i < d->now.n; i++)
            said[i] = hash_bytes(said[i], &value[i], sizeof value[i]);
    }
    return true;
}

/* Tells whether the answers distinguish everything that the fallback question could, and agree with the best
 * candidate. */
static bool said_already(const struct dialogue *d)
{
    const int *last = d->attributes[d->n_attributes - 1].value;
    uint64_t said[POSTERIOR_MAX];

    if (!hash_answers(said, d))
        return false;
    for (int i = 0; i < d->now.n; i++)
        for (int k = 0; k < i && d->now.p[i] > 0; k++)
            if (d->now.p[k] > 0 && said[i] == said[k] && last[i] != last[k])
                return false;
    return true;
}

enum stop_reason dialogue_next(struct dialogue *d, struct question_view *view)
{
    enum stop_reason why = before_asking(d);
    int own = d->n_attributes - (d->rules.fallback && d->n_attributes > 0);

    if (why == STOP_NOT)
        why = choose(d, view, 0, own);
    if (own < d->n_attributes && (why == STOP_SETTLED || why == STOP_GAIN) && !said_already(d)) {
        enum stop_reason last = choose(d, view, own, d->n_attributes);
        why = last == STOP_SETTLED ? why : last;
    }
    return why == STOP_NOT && !worth_asking(d, view) ? STOP_UTILITY : why;
}

/* After "something else" the rest of a long list may be asked about, a limited number of times. */
static bool may_ask_again(const struct dialogue *d, const struct question_view *v, struct answer a)
{
    bool other = a.kind == ANSWER_VALUE && v->other && a.value == v->n_shown;
    return other && d->asked[v->attribute] * DIALOGUE_SHOWN < d->attributes[v->attribute].n_values - 1;
}

int dialogue_answer(struct dialogue *d, const struct question_view *view, struct answer a)
{
    CHECK(d->n_turns < DIALOGUE_MAX_TURNS, "%d turns", d->n_turns);
    if (posterior_update(&d->now, &view->split, a))
        return -1;
    bool value = a.kind == ANSWER_VALUE && a.value < view->n_shown, telling = value || a.kind == ANSWER_EITHER;
    d->turns[d->n_turns++] = (struct turn){ view->attribute, a, telling, value ? view->shown[a.value] : -1, 0 };
    d->asked[view->attribute]++;
    d->closed[view->attribute] = !d->rules.repeat && !may_ask_again(d, view, a);
    d->free_choice = d->free_choice || a.kind == ANSWER_EITHER;
    return 0;
}

/* Gives an option the probability p, none of the above apart. */
static void set_mass(struct posterior *b, const struct question_view *view, int option, double p)
{
    double total = 1 - b->p_none, mass = view->mass[option];

    for (int i = 0; i < b->n; i++)
        b->p[i] *= view->split.value[i] == option ? p * total / mass : (1 - p) * total / (total - mass);
}

bool dialogue_recall(struct dialogue *d, const struct question_view *view, int option, double p)
{
    int v = view->attribute;

    CHECK(d->n_turns < DIALOGUE_MAX_TURNS && option >= 0 && option < view->n_shown, "option %d of %d", option,
          view->n_shown);
    if (d->closed[v] || is_idle(d, v) || is_settled(d, v) || view->mass[option] <= 0 ||
        view->mass[option] >= 1 - d->now.p_none)
        return false;
    set_mass(&d->now, view, option, p);
    d->turns[d->n_turns++] =
        (struct turn){ v, { ANSWER_VALUE, option }, .telling = true, .said = view->shown[option], .recalled = p };
    d->n_recalled++;
    d->asked[v]++;
    d->closed[v] = !d->rules.repeat;
    return true;
}

/* Repeats a turn that was possible before. */
static bool repeat(struct dialogue *d, const struct turn *t)
{
    struct question_view view;

    if (!dialogue_view(d, t->attribute, &view))
        return false;
    return t->recalled > 0 ? dialogue_recall(d, &view, t->answer.value, t->recalled)
                           : dialogue_answer(d, &view, t->answer) == 0;
}

bool dialogue_undo(struct dialogue *d)
{
    int keep = d->n_turns - 1;

    if (keep < 0)
        return false;
    start(d);
    for (int t = 0; t < keep; t++) {
        const struct turn turn = d->turns[t];
        CHECK(repeat(d, &turn), "turn %d cannot be replayed", t);
    }
    return true;
}
