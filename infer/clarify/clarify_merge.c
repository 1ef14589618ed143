/* Part of clarify_case.h: candidates that say or give the same become one. */
#include "infer/clarify/clarify_case_impl.h"

#include <stdlib.h>
#include <string.h>

enum { COMPARED = 64 };

/* One that is left, and where it stood. */
struct kept_candidate {
    const struct form *form;
    const char *sql;
    double p;
    struct testimony *testimony;
    int place;
};

static int compare_kept(const void *a, const void *b)
{
    const struct kept_candidate *x = a, *y = b;

    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return x->place - y->place;
}

static void drop(struct testimony *t)
{
    if (t)
        testimony_release(t);
    free(t);
}

/* Candidate i joins candidate group[i], which is itself or one before it. */
static void regroup(struct clarify_case *c, const int *group)
{
    struct kept_candidate list[BELIEF_MAX] = { 0 };
    int place[BELIEF_MAX] = { 0 }, n = 0;

    for (int i = 0; i < c->prior.n; i++) {
        if (group[i] == i) {
            place[i] = n;
            list[n++] = (struct kept_candidate){ c->forms[i], c->sql[i], c->p[i], c->testimony[i], i };
        } else {
            list[place[group[i]]].p += c->p[i];
            drop(c->testimony[i]);
        }
        c->testimony[i] = NULL;
    }
    qsort(list, (size_t)n, sizeof *list, compare_kept);
    for (int i = 0; i < n; i++) {
        place[list[i].place] = i;
        c->forms[i] = list[i].form;
        c->sql[i] = list[i].sql;
        c->p[i] = list[i].p;
        c->testimony[i] = list[i].testimony;
    }
    for (int i = 0; i < c->n_candidates; i++)
        c->candidates[i].owner = place[group[c->candidates[i].owner]];
    c->prior.n = n;
}

void clarify_merge_forms(struct clarify_case *c)
{
    int group[BELIEF_MAX] = { 0 }, first[BELIEF_MAX] = { 0 }, n = c->prior.n;
    struct strings seen = { 0 };

    for (int i = 0; i < n; i++) {
        int before = seen.n, k = strings_add(&seen, c->forms[i]->text);
        if (k == before)
            first[k] = i;
        group[i] = first[k];
    }
    strings_release(&seen);
    if (n)
        regroup(c, group);
    c->merged = n - c->prior.n;
}

bool clarify_is_ordered(const struct form *form)
{
    return form->lists[FORM_ORDER].n > 0;
}

/* The first candidate that gives what candidate i does, or itself. */
static int same_as(const struct clarify_case *c, const int *group, int i)
{
    for (int k = 0; k < i && c->testimony[i]; k++)
        if (group[k] == k && c->testimony[k] && testimony_same(c->testimony[k], c->testimony[i]))
            return k;
    return i;
}

void clarify_merge_results(struct clarify_case *c, struct exec_db *db, uint64_t seed)
{
    int group[BELIEF_MAX] = { 0 }, n = c->prior.n;
    struct error why = { 0 };

    int compared = n < COMPARED ? n : COMPARED;
    if (witness_open(&c->witness, db, c->schema, c->sql, compared, seed, &why)) {
        c->not_compared = xstrdup(why.text);
        witness_release(&c->witness);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (i < compared) {
            c->testimony[i] = xcalloc(1, sizeof *c->testimony[i]);
            witness_ask(c->testimony[i], &c->witness, c->sql[i], clarify_is_ordered(c->forms[i]));
        }
        group[i] = same_as(c, group, i);
    }
    regroup(c, group);
    c->same_results = n - c->prior.n;
}
