#include "data/db/equivalence.h"

#include "data/db/result_match.h"

#include <stdlib.h>
#include <string.h>

void equivalence_open(struct equivalence *w, struct exec_db *db, const char *const *sql, int n, uint64_t seed)
{
    *w = (struct equivalence){ .db = db, .n = n, .seed = seed, .sql = xcalloc((size_t)n + 1, sizeof *w->sql) };
    memcpy(w->sql, sql, (size_t)n * sizeof *sql);
}

void equivalence_release(struct equivalence *w)
{
    for (int k = 0; k < PERTURB_COPIES; k++)
        exec_close(w->copies[k]);
    perturb_close(w->perturb);
    free(w->broken);
    free(w->sql);
    *w = (struct equivalence){ 0 };
}

/* Returns copy k, or NULL if it cannot be made. */
static struct exec_db *copy_of(struct equivalence *w, int k)
{
    struct error why = { 0 };

    if (w->copies[k] || w->broken)
        return w->copies[k];
    if (!w->perturb)
        w->perturb = perturb_open(w->db, w->sql, w->n, w->seed, &why);
    if (w->perturb) {
        char *script = perturb_script(w->perturb, k);
        w->copies[k] = exec_open_script(script, &exec_limits_preview, &why);
        free(script);
    }
    if (!w->copies[k]) {
        error_prefix(&why, "no perturbed copy can be made");
        w->broken = xstrdup(why.text);
    }
    return w->copies[k];
}

void equivalence_run(struct exec_signature *t, const struct equivalence *w, const char *sql, bool ordered)
{
    *t = (struct exec_signature){ .sql = sql, .ordered = ordered };
    t->result = exec_run(w->db, sql);
}

void exec_signature_release(struct exec_signature *t)
{
    exec_result_release(&t->result);
    for (int k = 0; k < t->asked; k++)
        exec_result_release(&t->copies[k]);
    t->asked = 0;
}

/* Returns the result on copy k; the earlier results must exist. */
static const struct exec_result *result_on(struct equivalence *w, struct exec_signature *t, int k)
{
    if (t->asked == k)
        t->copies[t->asked++] = exec_run(w->copies[k], t->sql);
    return &t->copies[k];
}

static bool same_rows(const struct exec_result *a, const struct exec_result *b, bool ordered)
{
    return a->status == EXEC_OK && b->status == EXEC_OK && match_rows(a, b, ordered);
}

/* Returns whether the results vary: one has rows, and another one differs. */
static bool varies(const struct exec_signature *t)
{
    const struct exec_result *first = NULL;

    for (int k = 0; k < PERTURB_COPIES; k++) {
        const struct exec_result *r = &t->copies[k];
        if (r->status != EXEC_OK)
            continue;
        if (first && (first->n || r->n) && !match_rows(first, r, true))
            return true;
        if (!first)
            first = r;
    }
    return false;
}

enum verdict equivalence_compare(struct equivalence *w, struct exec_signature *a, struct exec_signature *b, int *copy)
{
    bool ordered = a->ordered || b->ordered;

    if (!same_rows(&a->result, &b->result, ordered))
        return VERDICT_DIFFERENT;
    for (int k = 0; k < PERTURB_COPIES; k++) {
        if (!copy_of(w, k))
            return VERDICT_UNPROVEN;
        const struct exec_result *x = result_on(w, a, k), *y = result_on(w, b, k);
        bool both_fail = x->status != EXEC_OK && x->status == y->status;
        if (!both_fail && !same_rows(x, y, ordered)) {
            *copy = k;
            return VERDICT_TOLD_APART;
        }
    }
    return varies(a) ? VERDICT_SAME : VERDICT_UNPROVEN;
}

bool exec_signature_gives(const struct exec_signature *t, const struct exec_signature *gold)
{
    return same_rows(&t->result, &gold->result, gold->ordered);
}
