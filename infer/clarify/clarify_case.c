#include "infer/clarify/clarify_case.h"

#include "data/clarify/candidate_list.h"
#include "infer/clarify/clarify_case_impl.h"

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

/* Those that can be read, the most probable first; -1 when the record's list cannot be read. */
static int read_list(struct clarify_case *c, const json_t *record, struct arena *scratch, const char *where,
                     struct error *err)
{
    struct candidate list[BELIEF_MAX];
    struct candidate_list read;
    int n = candidate_list_read(&read, record, where, err) ? -1 : read.n;

    for (int i = 0; i < n; i++)
        list[i] = (struct candidate){ .sql = read.sql[i], .p = read.p[i], .number = i };
    c->prior.reserve = read.reserve;
    c->weights = read.weights;
    candidate_list_release(&read);
    if (n < 0)
        return -1;
    n = read_forms(c, list, n, scratch);
    if (n)
        qsort(list, (size_t)n, sizeof *list, compare_candidates);
    for (int i = 0; i < n; i++) {
        c->forms[i] = list[i].form;
        c->sql[i] = list[i].sql;
        c->p[i] = list[i].p;
        c->candidates[i] = (struct clarify_candidate){ list[i].form, list[i].number, i };
    }
    c->n_candidates = n;
    c->prior = (struct belief){ c->p, n, fmin(1, c->prior.reserve) };
    return 0;
}

/* What the hints say was left open is asked about first. */
static void support_variables(struct clarify_case *c)
{
    const struct question_context context = clarify_question_context(c);
    struct question_view view;

    for (int v = 0; v < c->variables.n && c->hints.n_spans + c->hints.n_found; v++)
        if (dialogue_view(&c->dialogue, v, &view))
            c->variables.splits[v].support = question_support(&context, &view);
}

int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err)
{
    memset(c, 0, sizeof *c);
    c->schema = schema;
    c->left_out = json_array();
    c->told_apart = json_array();
    if (read_list(c, record, scratch, where, err))
        return -1;
    clarify_merge_forms(c);
    if (c->prior.n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: none can be read; the first: %s", where,
                         json_string_value(json_object_get(json_array_get(c->left_out, 0), "error")));
    if (settings->db)
        clarify_merge_results(c, settings->db, settings->rules.seed);
    if (hints_read(&c->hints, record, schema, where, err))
        return -1;
    slots_extract(&c->slots, c->forms, c->prior.n, schema);
    variables_build(&c->variables, &c->slots, &c->prior, settings->noise);
    dialogue_init(&c->dialogue, &settings->rules, c->variables.splits, c->variables.n, &c->prior);
    support_variables(c);
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
    clarify_forget_results(c);
    free(c->not_compared);
    json_decref(c->left_out);
    json_decref(c->told_apart);
    c->left_out = c->told_apart = NULL;
    c->not_compared = NULL;
    c->prior.n = 0;
}
