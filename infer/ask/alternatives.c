#include "infer/ask/alternatives.h"

#include "data/clarify/belief.h"
#include "data/clarify/candidate_list.h"
#include "data/clarify/hints.h"
#include "data/rewrite/sql_exchange.h"
#include "data/sql/sql_check.h"
#include "data/sql_form/sql_form.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 32 }; /* candidates, the first of the record, of which another is made */

struct adding {
    const struct schema *s;
    struct exec_db *db;
    struct arena *trees;
    struct hints hints;
    struct candidate_list list;
    struct form_store store;
    struct strings forms; /* of all candidates */
    int *first;           /* [forms.n] the first candidate of each; -1 of one that is new */
    json_t *items;        /* the new list */
    struct alternatives_made *made;
};

/* Runs on the database, or without one would on the schema. */
static bool is_good(struct adding *a, const char *sql)
{
    struct error why;
    struct sql_uses uses;

    if (a->db) {
        struct exec_result r = exec_run(a->db, sql);
        bool good = r.status == EXEC_OK || r.status == EXEC_STOPPED;
        exec_result_release(&r);
        return good;
    }
    struct sql_query *q = sql_parse(a->trees, sql, &why);
    return q && sql_resolve(a->trees, q, a->s, &uses, &why) == 0 && sql_check(q, a->s, &why) == 0;
}

/* The text of its form; NULL where it cannot be read. */
static const char *form_text(struct adding *a, const char *sql)
{
    struct error why;
    const struct form *form = form_of_text(&a->store, sql, a->s, a->trees, &why);
    return form ? form->text : NULL;
}

static const char *other_reading(struct adding *a, const char *sql)
{
    const int *found = a->hints.found;
    struct error why;
    const char *other = sql_exchange(a->trees, sql, a->s, found[0], found[1], &why);

    return other ? other : sql_exchange(a->trees, sql, a->s, found[1], found[0], &why);
}

static void add_item(struct adding *a, const char *sql, double p, json_t *gold)
{
    json_array_append_new(a->items, json_pack("{s:s, s:f, s:O*}", "sql", sql, "p", p, "gold", gold));
}

/* Candidates that say the same are one: the first of them has what all of them have. */
static void give(struct adding *a, int to, int from)
{
    a->list.p[to] += a->list.p[from];
    a->list.p[from] = 0;
}

/* A candidate that is as likely as the finding says gets its share of both. */
static void raise_other(struct adding *a, int i, int other)
{
    double *p = a->list.p, both = p[i] + p[other], share = both * a->hints.score / 2;

    if (other == i || p[other] >= share || p[other] >= p[i])
        return;
    p[other] = share;
    p[i] = both - share;
    a->made->raised++;
}

static void add_other(struct adding *a, int i, const char *sql)
{
    double share = a->list.p[i] * a->hints.score / 2;

    a->list.p[i] -= share;
    add_item(a, sql, share, NULL);
    a->made->added++;
}

/* The other reading of candidate i, if it has one. */
static void look_at(struct adding *a, int i)
{
    const char *sql = a->list.p[i] > 0 ? other_reading(a, a->list.sql[i]) : NULL;
    const char *form = sql ? form_text(a, sql) : NULL;
    int k = form ? strings_find(&a->forms, form) : -1;

    if (k >= 0 && a->first[k] >= 0)
        raise_other(a, i, a->first[k]);
    if (!form || k >= 0 || a->list.n + a->made->added == BELIEF_MAX || !is_good(a, sql))
        return;
    a->first[strings_add(&a->forms, form)] = -1;
    add_other(a, i, sql);
}

static void look_at_all(struct adding *a, const json_t *old)
{
    a->first = xcalloc((size_t)a->list.n + LOOKED_AT, sizeof *a->first);
    for (int i = 0; i < a->list.n; i++) {
        const char *form = form_text(a, a->list.sql[i]);
        int before = a->forms.n;
        int k = form ? strings_add(&a->forms, form) : -1;
        if (k == before)
            a->first[k] = i;
        else if (k >= 0)
            give(a, a->first[k], i);
    }
    for (int i = 0; i < a->list.n && i < LOOKED_AT; i++)
        look_at(a, i);
    for (int i = 0; i < a->list.n; i++)
        add_item(a, a->list.sql[i], a->list.p[i], json_object_get(json_array_get(old, (size_t)i), "gold"));
}

static int add(struct adding *a, json_t *record, const char *where, struct error *err)
{
    json_t *old = json_object_get(record, "candidates");

    if (hints_read(&a->hints, record, a->s, where, err))
        return -1;
    if (a->hints.n_found != 2 || a->hints.kind == SIA_AGGREGATE)
        return 0;
    if (candidate_list_read(&a->list, record, where, err))
        return -1;
    a->items = json_array();
    look_at_all(a, old);
    if (a->made->added + a->made->raised)
        json_object_set(record, "candidates", a->items);
    return 0;
}

int alternatives_add(struct alternatives_made *made, json_t *record, const struct schema *s, struct exec_db *db,
                     struct arena *trees, const char *where, struct error *err)
{
    struct adding a = { .s = s, .db = db, .trees = trees, .made = made };

    *made = (struct alternatives_made){ 0 };
    int rc = add(&a, record, where, err);
    hints_release(&a.hints);
    candidate_list_release(&a.list);
    form_store_release(&a.store);
    strings_release(&a.forms);
    json_decref(a.items);
    free(a.first);
    arena_reset(trees, 0);
    return rc;
}
