/* Part of annotate.h: the filter by results. */
#include "data/score/annotate_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

static bool ends_with_colon(const char *text)
{
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return n && text[n - 1] == ':';
}

static bool runs(struct exec_db *db, const char *text)
{
    struct exec_result r = exec_run(db, text);
    bool ok = r.status == EXEC_OK;
    exec_result_release(&r);
    return ok;
}

static const char *judge_text(struct exec_db *db, const char *text)
{
    if (is_blank(text))
        return "it has no text";
    if (ends_with_colon(text))
        return "it is an introduction";
    return runs(db, text) ? "its text is SQL" : NULL;
}

/* The first of a reading's queries that runs, or NULL. */
static const struct trial_query *meaning(const struct annotation *a, const struct trial *t, int reading)
{
    const struct annotate_reading *r = &a->readings[reading];
    for (int i = 0; i < r->n; i++) {
        const struct trial_query *q = &t->queries[trial_find(t, a->sql.sql[r->first + i])];
        if (q->result.status == EXEC_OK)
            return q;
    }
    return NULL;
}

/* The kept reading that means the same, or -1. */
static int find_same(const struct annotation *a, const struct trial *t, const struct trial_query *q)
{
    for (int i = 0; i < a->n_existing; i++)
        if (trial_alike(t, meaning(a, t, a->existing[i]), q))
            return a->existing[i];
    return -1;
}

static void judge(struct annotation *a, const struct trial *t, struct exec_db *db, int i)
{
    struct annotate_reading *r = &a->readings[i];
    const struct trial_query *q = meaning(a, t, i);

    r->dropped = judge_text(db, r->text);
    if (!r->dropped && !q)
        r->dropped = r->n ? "none of its SQL runs" : "it has no SQL";
    if (r->dropped)
        return;
    r->same_as = find_same(a, t, q);
    if (r->same_as >= 0) {
        r->dropped = "it means the same as another";
        return;
    }
    annotate_keep(a, i);
}

/* The kept reading that means what a gold says, or -1. */
static int find_cover(const struct annotation *a, const struct trial *t, const struct trial_query *gold)
{
    for (int i = 0; i < a->n_existing; i++)
        if (trial_same(t, meaning(a, t, a->existing[i]), gold))
            return a->existing[i];
    return -1;
}

static void cover(struct annotation *a, const struct trial *t)
{
    for (int g = 0; g < a->n_golds; g++)
        for (int k = 0; k < t->n_golds; k++)
            if (strcmp(t->golds[k].sql, a->golds[g].sql) == 0)
                a->golds[g].covered_by = find_cover(a, t, &t->golds[k]);
}

void annotate_honest_filter(struct annotation *a, const struct trial *t, struct exec_db *db)
{
    for (int i = 0; i < a->n_readings; i++)
        judge(a, t, db, i);
}

int annotate_honest(struct annotation *a, struct exec_db *db, struct error *err)
{
    struct trial t;
    int rc = 0;

    annotate_trial(&t, a, TRIAL_STRICT, db);
    annotate_honest_filter(a, &t, db);
    if (t.why)
        rc = error_set(err, EXIT_CODE_DATA, "%s", t.why);
    else
        cover(a, &t);
    trial_release(&t);
    return rc;
}
