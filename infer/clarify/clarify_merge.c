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

/* The place in the record of what candidate i is known by. */
static int number_of(const struct clarify_case *c, int i)
{
    for (int k = 0; k < c->n_candidates; k++)
        if (c->candidates[k].owner == i)
            return c->candidates[k].number;
    return -1;
}

/* Copies speak for themselves; of a pair that nothing could part none does. */
static void tell(struct clarify_case *c, int a, int b, enum verdict verdict, int copy)
{
    json_array_append_new(c->told_apart,
                          json_pack("{s:[i, i], s:s?}", "candidates", number_of(c, a), number_of(c, b), "copy",
                                    verdict == VERDICT_TOLD_APART ? perturb_copy_name(copy) : NULL));
}

/* The first candidate that gives what candidate i does, or itself. */
static int same_as(struct clarify_case *c, const int *group, int i)
{
    int first = -1, first_copy = 0;
    enum verdict first_verdict = VERDICT_DIFFERENT;

    for (int k = 0; k < i && c->testimony[i]; k++) {
        int copy = 0;
        if (group[k] != k || !c->testimony[k])
            continue;
        enum verdict verdict = witness_compare(&c->witness, c->testimony[k], c->testimony[i], &copy);
        if (verdict == VERDICT_SAME)
            return k;
        if (first < 0 && verdict != VERDICT_DIFFERENT) {
            first = k;
            first_verdict = verdict;
            first_copy = copy;
        }
    }
    if (first >= 0 && !c->witness.broken)
        tell(c, first, i, first_verdict, first_copy);
    return i;
}

void clarify_merge_results(struct clarify_case *c, struct exec_db *db, uint64_t seed)
{
    int group[BELIEF_MAX] = { 0 }, n = c->prior.n;
    int compared = n < COMPARED ? n : COMPARED;

    witness_open(&c->witness, db, c->sql, compared, seed);
    for (int i = 0; i < n; i++) {
        if (i < compared) {
            c->testimony[i] = xcalloc(1, sizeof *c->testimony[i]);
            witness_ask(c->testimony[i], &c->witness, c->sql[i], clarify_is_ordered(c->forms[i]));
        }
        group[i] = same_as(c, group, i);
    }
    regroup(c, group);
    c->same_results = n - c->prior.n;
    if (c->witness.broken)
        c->not_compared = xstrdup(c->witness.broken);
}

void clarify_forget_results(struct clarify_case *c)
{
    for (int i = 0; i < c->prior.n; i++) {
        drop(c->testimony[i]);
        c->testimony[i] = NULL;
    }
    witness_release(&c->witness);
}
