#include "infer/clarify/simulate.h"

#include "data/clarify/candidate_list.h"

#include <stdlib.h>
#include <string.h>

static const struct slot *slot_named(const struct slots *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0)
            return &s->list[i];
    return NULL;
}

static bool same_value(const struct slot *s, int a, int b)
{
    const char *x = s->values[a], *y = s->values[b];
    return x == y || (x && y && strcmp(x, y) == 0);
}

/* The value of a candidate that has at the variable's slots what the gold statement, number n, has there. */
static int value_like_gold(const struct slots *with_gold, const struct variable *v, const struct split *split, int n)
{
    const struct slot *slot = v->slot ? slot_named(with_gold, v->slot->name) : NULL;
    const struct slot *second = v->second ? slot_named(with_gold, v->second->name) : slot;

    if (!slot || !second)
        return -1;
    for (int i = 0; i < n; i++)
        if (same_value(slot, i, n) && same_value(second, i, n))
            return split->value[i];
    return -1;
}

static int first_of(const bool *is, int n)
{
    for (int i = 0; i < n; i++)
        if (is[i])
            return i;
    return -1;
}

/* Candidates of the gold's form, else those that the record marks: all of them are the gold, the first stands for it.
 */
static void find_by_text(struct truth *t, const struct clarify_case *c, const json_t *record, size_t gold,
                         const struct form *form)
{
    for (int i = 0; i < c->n_candidates; i++)
        if (strcmp(c->candidates[i].form->text, form->text) == 0)
            t->same[c->candidates[i].owner] = true;
    t->candidate = first_of(t->same, c->prior.n);
    for (int i = 0; i < c->n_candidates; i++)
        if (candidate_is_marked(record, c->candidates[i].number, gold))
            t->same[c->candidates[i].owner] = true;
    if (t->candidate < 0)
        t->candidate = first_of(t->same, c->prior.n);
}

static int find_by_results(struct truth *t, struct clarify_case *c, const char *sql, const struct form *form,
                           struct error *err)
{
    struct testimony gold;
    int rc = 0, copy;

    witness_ask(&gold, &c->witness, sql, clarify_is_ordered(form));
    if (gold.result.status != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "does not run: %s", gold.result.message);
    for (int i = 0; i < c->prior.n && rc == 0; i++)
        if (c->testimony[i]) {
            t->same[i] = t->same[i] || witness_compare(&c->witness, c->testimony[i], &gold, &copy) == VERDICT_SAME;
            t->gives[i] = testimony_gives(c->testimony[i], &gold);
        }
    if (t->candidate < 0)
        t->candidate = first_of(t->same, c->prior.n);
    testimony_release(&gold);
    return rc;
}

/* Of a gold that is no candidate: what candidates say that are like it there. */
static void compare_values(struct truth *t, const struct clarify_case *c, const struct form *form)
{
    const struct form *forms[BELIEF_MAX + 1];
    struct slots with_gold;
    int n = c->prior.n;

    memcpy(forms, c->forms, (size_t)n * sizeof *forms);
    forms[n] = form;
    slots_extract(&with_gold, forms, n + 1, c->schema);
    for (int v = 0; v < c->variables.n; v++)
        t->values[v] = value_like_gold(&with_gold, &c->variables.list[v], &c->variables.splits[v], n);
    slots_release(&with_gold);
}

int truth_read(struct truth *t, struct clarify_case *c, const json_t *record, size_t gold, struct arena *scratch,
               struct error *err)
{
    const char *sql = json_string_value(json_array_get(json_object_get(record, "gold"), gold));

    *t = (struct truth){ .candidate = -1 };
    if (!sql)
        return error_set(err, EXIT_CODE_DATA, "not a string");
    const struct form *form = form_of_text(&c->store, sql, c->schema, scratch, err);
    if (!form)
        return -1;
    t->same = xcalloc((size_t)c->prior.n, sizeof *t->same);
    t->gives = xcalloc((size_t)c->prior.n, sizeof *t->gives);
    t->values = xcalloc((size_t)c->variables.n, sizeof *t->values);
    find_by_text(t, c, record, gold, form);
    if (c->witness.db && find_by_results(t, c, sql, form, err))
        return -1;
    for (int v = 0; v < c->variables.n && t->candidate >= 0; v++)
        t->values[v] = c->variables.splits[v].value[t->candidate];
    if (t->candidate < 0)
        compare_values(t, c, form);
    return 0;
}

void truth_release(struct truth *t)
{
    free(t->same);
    free(t->gives);
    free(t->values);
    *t = (struct truth){ 0 };
}

/* The option that a user without slips takes; -1 for none of these. */
static int honest_option(const struct question_view *view, const struct truth *t, const struct dialogue *d)
{
    int value = t->values[view->variable], option = value < 0 ? -1 : question_view_option(view, value);
    double mass[BELIEF_MAX];

    if (value < 0 || option >= 0 || !view->other)
        return option;
    belief_masses(mass, &d->now, &d->variables[view->variable]);
    return mass[value] > 0 ? view->n_shown : -1;
}

static struct answer answer_of(const struct user *u, struct rng *rng, const struct question_view *view, int honest)
{
    int n = view->split.n_values;

    if ((double)rng_uniform(rng) < u->unknown)
        return (struct answer){ .kind = ANSWER_UNKNOWN };
    if ((double)rng_uniform(rng) >= u->noise)
        return (struct answer){ honest < 0 ? ANSWER_NONE : ANSWER_VALUE, honest };
    int slip = (int)rng_below(rng, (uint32_t)(honest < 0 ? n : n - 1));
    return (struct answer){ ANSWER_VALUE, honest >= 0 && slip >= honest ? slip + 1 : slip };
}

static json_t *turn_json(struct clarify_case *c, const struct question_view *view, struct answer a)
{
    json_t *o = clarify_question_json(c, view);
    json_t *chosen = json_array_get(json_object_get(o, "options"), a.kind == ANSWER_VALUE ? (size_t)a.value : SIZE_MAX);

    json_object_set_new(o, "answer", json_string(answer_kind_name(a.kind)));
    if (chosen)
        json_object_set(o, "chosen", json_object_get(chosen, "text"));
    json_object_set_new(o, "eig", json_real(view->gain));
    return o;
}

/* One question; false when the answer contradicts what was said. */
static bool take_turn(struct outcome *o, struct clarify_case *c, const struct truth *t,
                      const struct question_view *view, struct answer a)
{
    struct dialogue *d = &c->dialogue;
    int before = belief_best(&d->now);

    if (dialogue_answer(d, view, a)) {
        o->contradicted = true;
        return false;
    }
    int best = belief_best(&d->now);
    o->turns++;
    o->useless += best == before;
    o->right[o->turns] = t->same[best] && d->now.reserve <= d->now.p[best];
    o->gives[o->turns] = t->gives[best] && d->now.reserve <= d->now.p[best];
    return true;
}

void simulate(struct outcome *o, struct clarify_case *c, const struct truth *t, const struct user *u, json_t *turns)
{
    struct rng rng = { .seed = u->seed };
    struct dialogue *d = &c->dialogue;
    struct question_view view;
    enum stop_reason why;

    *o = (struct outcome){ .covered = t->candidate >= 0, .executed = c->witness.db };
    o->reachable = first_of(t->gives, c->prior.n) >= 0;
    o->right[0] = t->same[belief_best(&d->now)];
    o->gives[0] = t->gives[belief_best(&d->now)];
    while ((why = dialogue_next(d, &view)) == STOP_NOT) {
        struct answer a = answer_of(u, &rng, &view, honest_option(&view, t, d));
        if (turns)
            json_array_append_new(turns, turn_json(c, &view, a));
        if (!take_turn(o, c, t, &view, a))
            break;
    }
    o->handed_over = why == STOP_HAND_OVER;
    o->confidence = d->now.p[belief_best(&d->now)];
    for (int k = o->turns + 1; k <= DIALOGUE_MAX_TURNS; k++) {
        o->right[k] = o->right[o->turns];
        o->gives[k] = o->gives[o->turns];
    }
}
