/* Part of parse_case.h: what models wrote in several ways, made one list. */
#include "data/score/ambiqt_cases.h"
#include "data/sql_form/sql_form.h"
#include "infer/parse/parse_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_FIRST = 2, MERGED_MAX = 10 }; /* of the collated list: plain statements in front, others behind them */

/* A view of it; its items belong to l. */
static struct ambiqt_list view(const struct parse_list *l)
{
    struct ambiqt_list v = { .items = xcalloc((size_t)l->n + 1, sizeof *v.items), .n = l->n };

    for (int i = 0; i < l->n; i++)
        v.items[i] = l->items[i].sql;
    return v;
}

/* The likeliest way in which models came to a statement of the collated list. */
static double logp_of(const struct parse_case *c, const char *sql)
{
    const struct parse_text *t = parse_list_find(&c->plain, sql);
    double best = t ? t->logp : -1e6;

    for (int i = 0; i < c->n_templates; i++)
        if ((t = parse_list_find(&c->templates[i].fills, sql)) && t->logp > best)
            best = t->logp;
    return best;
}

/* Keeps those whose share of 1 is at least the calibration's threshold, and the likeliest in any case. */
static void keep_likely(struct parse_list *l, const struct calibration *by)
{
    double *raw = xmalloc((size_t)l->n * sizeof *raw + 1), *p = xmalloc((size_t)l->n * sizeof *p + 1), best = 0;
    int *length = xmalloc((size_t)l->n * sizeof *length + 1), n = 0;

    for (int i = 0; i < l->n; i++) {
        raw[i] = l->items[i].logp;
        length[i] = calibration_length(l->items[i].sql);
    }
    calibration_shares(by, p, raw, length, l->n, 1);
    for (int i = 0; i < l->n; i++)
        best = fmax(best, p[i]);
    for (int i = 0; i < l->n; i++)
        if (p[i] >= fmin(by->keep, best))
            l->items[n++] = l->items[i];
        else
            free(l->items[i].sql);
    l->n = n;
    free(length);
    free(p);
    free(raw);
}

static double log_sum(double a, double b)
{
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* Of statements that say the same the first stays, as likely as all of them. */
static void join_alike(struct parse_list *l, const struct schema *s, struct arena *scratch)
{
    const char **said = xcalloc((size_t)l->n + 1, sizeof *said);
    struct form_store store = { 0 };
    int n = 0;

    for (int i = 0; i < l->n; i++) {
        struct parse_text t = l->items[i];
        struct error why = { 0 };
        const struct form *form = form_of_text(&store, t.sql, s, scratch, &why);
        int k = 0;
        said[n] = form ? form->text : t.sql;
        while (strcmp(said[k], said[n]) != 0)
            k++;
        if (k < n) {
            l->items[k].logp = log_sum(l->items[k].logp, t.logp);
            free(t.sql);
        } else
            l->items[n++] = t;
    }
    l->n = n;
    form_store_release(&store);
    free(said);
}

static void cut(struct parse_list *l, int64_t n)
{
    while (l->n > n)
        free(l->items[--l->n].sql);
}

/* Adds the first n of a list. */
static void choose(struct parse_case *c, const struct ambiqt_list *l, int n)
{
    for (int i = 0; i < l->n && i < n; i++)
        parse_list_add_as_is(&c->chosen, c, l->items[i], logp_of(c, l->items[i]));
}

void parse_case_choose(struct parse_case *c, const struct parse_request *q, const struct calibration *select,
                       struct arena *scratch)
{
    bool once = q->strategy == PARSE_LOGICAL_BEAM && !q->published;
    int first = parse_is_plain(q) ? c->plain.n : PLAIN_FIRST;
    struct ambiqt_list lists[SQL_PLANS] = { 0 }, plain = view(&c->plain), merged, collated;

    for (int i = 0; i < c->n_templates; i++)
        lists[i] = view(&c->templates[i].fills);
    ambiqt_merge(&merged, lists, c->n_templates, once ? INT64_MAX : MERGED_MAX);
    if (c->published) {
        ambiqt_collate(&collated, &plain, first, &merged, q->k);
        choose(c, &collated, collated.n);
        ambiqt_list_release(&collated);
    } else {
        choose(c, &plain, first);
        choose(c, &merged, merged.n);
        if (once)
            join_alike(&c->chosen, c->schema, scratch);
        cut(&c->chosen, q->k);
    }
    if (select)
        keep_likely(&c->chosen, select);
    ambiqt_list_release(&merged);
    for (int i = 0; i < c->n_templates; i++)
        free(lists[i].items);
    free(plain.items);
}
