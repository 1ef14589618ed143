#include "infer/clarify_case.h"

#include "data/candidate_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
    const char *sql;
    double p;
    const struct form *form;
    int number;
};

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
        list[i].form = form_of_text(&c->store, list[i].sql, c->schema, scratch, &why);
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

/* Returns how many there are; -1 when they cannot be read. */
static int read_list(struct clarify_case *c, struct candidate *list, const json_t *record, const char *where,
                     struct error *err)
{
    struct candidate_list read;
    int n = candidate_list_read(&read, record, where, err) ? -1 : read.n;

    for (int i = 0; i < n; i++)
        list[i] = (struct candidate){ .sql = read.sql[i], .p = read.p[i], .number = i };
    c->prior.reserve = read.reserve;
    candidate_list_release(&read);
    return n;
}

int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err)
{
    struct candidate list[BELIEF_MAX] = { 0 };

    memset(c, 0, sizeof *c);
    c->schema = schema;
    c->left_out = json_array();
    int n = read_list(c, list, record, where, err);
    if (n < 0)
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
