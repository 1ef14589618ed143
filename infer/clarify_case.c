#include "infer/clarify_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-3; /* how far written probabilities may be from a sum of 1 */

struct candidate {
    const char *sql;
    double p;
    const struct form *form;
    int number;
};

static int read_number(const json_t *item, const char *field, double *out, const char *where, struct error *err)
{
    bool p = strcmp(field, "p") == 0;
    return json_get_real(item, field, p ? 0 : -1e6, p ? 1 : 1e6, out, where, err);
}

/* All have the same of the two fields. */
static int read_candidates(struct candidate *list, const json_t *items, const char *field, const char *where,
                           struct error *err)
{
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        char place[300];
        snprintf(place, sizeof place, "%s: candidates[%zu]", where, i);
        list[i] = (struct candidate){ .sql = json_get_string(item, "sql", place, err), .number = (int)i };
        if (!list[i].sql || read_number(item, field, &list[i].p, place, err))
            return -1;
    }
    return 0;
}

/* Log probabilities become shares of what the reserve leaves. */
static void soften(struct candidate *list, int n, double share)
{
    double most = list[0].p, sum = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, list[i].p);
    for (int i = 0; i < n; i++)
        sum += list[i].p = exp(list[i].p - most);
    for (int i = 0; i < n; i++)
        list[i].p *= share / sum;
}

static int normalise(struct candidate *list, int n, double share, const char *where, struct error *err)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += list[i].p;
    if (!(fabs(sum - share) <= rounding) || sum <= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: their \"p\" sum to %g, wanted %g", where, sum, share);
    for (int i = 0; i < n; i++)
        list[i].p *= share / sum;
    return 0;
}

static int read_probabilities(struct clarify_case *c, struct candidate *list, const json_t *record, const char *where,
                              struct error *err)
{
    const json_t *items = json_object_get(record, "candidates");
    int n = (int)json_array_size(items);
    bool logprob = json_object_get(json_array_get(items, 0), "logprob");

    if (json_object_get(record, "reserve") && json_get_real(record, "reserve", 0, 1, &c->prior.reserve, where, err))
        return -1;
    if (read_candidates(list, items, logprob ? "logprob" : "p", where, err))
        return -1;
    if (!logprob)
        return normalise(list, n, 1 - c->prior.reserve, where, err);
    soften(list, n, 1 - c->prior.reserve);
    return 0;
}

static void leave_out(struct clarify_case *c, const struct candidate *candidate, const struct error *why)
{
    c->prior.reserve += candidate->p;
    json_array_append_new(c->left_out, json_pack("{s:i, s:s, s:o}", "candidate", candidate->number, "sql",
                                                 candidate->sql, "error", json_message(why->text)));
}

/* The form of each; those without one are left out, and n is how many stay. */
static int read_forms(struct clarify_case *c, struct candidate *list, int n, struct arena *scratch)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        struct error why = { 0 };
        struct sql_uses uses;
        arena_reset(scratch, 0);
        struct sql_query *q = sql_parse(scratch, list[i].sql, &why);
        if (q && sql_resolve(scratch, q, c->schema, &uses, &why) == 0)
            list[i].form = form_of_query(&c->store, q, c->schema, &why);
        if (list[i].form)
            list[kept++] = list[i];
        else
            leave_out(c, &list[i], &why);
    }
    return kept;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return x->number - y->number;
}

/* Those of one form add up, under the text of the most probable. */
static int merge(struct clarify_case *c, struct candidate *list, int n)
{
    struct strings seen = { 0 };

    if (n)
        qsort(list, (size_t)n, sizeof *list, compare_candidates);
    for (int i = 0; i < n; i++) {
        int before = seen.n, k = strings_add(&seen, list[i].form->text);
        if (k < before)
            list[k].p += list[i].p;
        else
            list[k] = list[i];
    }
    int left = seen.n;
    c->merged = n - left;
    strings_release(&seen);
    if (left)
        qsort(list, (size_t)left, sizeof *list, compare_candidates);
    return left;
}

static int check_count(const json_t *record, int *n, const char *where, struct error *err)
{
    const json_t *items = json_get_array(record, "candidates", where, err);
    size_t size = json_array_size(items);

    if (!items)
        return -1;
    if (size < 1 || size > BELIEF_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: %zu, 1 to %d wanted", where, size, BELIEF_MAX);
    *n = (int)size;
    return 0;
}

int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err)
{
    struct candidate list[BELIEF_MAX] = { 0 };
    int n = 0;

    memset(c, 0, sizeof *c);
    c->schema = schema;
    c->left_out = json_array();
    if (check_count(record, &n, where, err) || read_probabilities(c, list, record, where, err))
        return -1;
    n = merge(c, list, read_forms(c, list, n, scratch));
    for (int i = 0; i < n; i++) {
        c->forms[i] = list[i].form;
        c->sql[i] = list[i].sql;
        c->p[i] = list[i].p;
    }
    c->prior = (struct belief){ c->p, n, fmin(1, c->prior.reserve) };
    if (n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: none can be read; the first: %s", where,
                         json_string_value(json_object_get(json_array_get(c->left_out, 0), "error")));
    if (settings->rules.strategy == STRATEGY_OPTIMAL && belief_live(&c->prior) > OPTIMAL_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: candidates: %d different ones, the strategy optimal takes at most %d", where,
                         belief_live(&c->prior), OPTIMAL_MAX);
    if (hints_read(&c->hints, record, schema, where, err))
        return -1;
    slots_extract(&c->slots, c->forms, n, schema);
    variables_build(&c->variables, &c->slots, &c->prior, settings->noise);
    dialogue_init(&c->dialogue, &settings->rules, c->variables.splits, c->variables.n, &c->prior);
    return 0;
}

void clarify_case_release(struct clarify_case *c)
{
    if (c->dialogue.views)
        dialogue_release(&c->dialogue);
    variables_release(&c->variables);
    slots_release(&c->slots);
    form_store_release(&c->store);
    hints_release(&c->hints);
    strings_release(&c->words);
    json_decref(c->left_out);
    c->left_out = NULL;
}
