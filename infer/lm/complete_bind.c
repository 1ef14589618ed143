/* Part of complete.h: the constraints on answers. */
#include "data/util/sums.h"
#include "infer/lm/complete_impl.h"

#include <stdlib.h>

int complete_bind_open(struct completion *r, struct error *err)
{
    int32_t stops[ENGINE_MAX_STOPS];

    if (!r->request->constraint)
        return 0;
    if (!engine_stops(&r->model, stops))
        return error_set(err, EXIT_CODE_DATA, "--constraint: the model names no token that ends an answer");
    r->constraints = constraints_open(r->request->constraint, err);
    if (!r->constraints)
        return -1;
    r->compiled = xcalloc((size_t)constraints_count(r->constraints) + 1, sizeof *r->compiled);
    r->bound = xcalloc((size_t)r->cap, sizeof *r->bound);
    return 0;
}

void complete_bind_close(struct completion *r)
{
    if (!r->constraints)
        return;
    for (int i = 0; i < constraints_count(r->constraints) && r->compiled; i++)
        automaton_release(&r->compiled[i]);
    free(r->compiled);
    free(r->bound);
    constraints_close(r->constraints);
}

static int compile(struct completion *r, int number, struct error *err)
{
    int32_t stops[ENGINE_MAX_STOPS];
    int n = engine_stops(&r->model, stops);

    if (r->compiled[number].n_states)
        return 0;
    return constraints_compile(r->constraints, number, r->model.tokenizer, stops, n, &r->compiled[number], err);
}

void complete_bind(struct completion *r, int i, const json_t *record)
{
    struct lm_text *p = &r->window[i];
    struct error err;

    if (!r->constraints || p->error)
        return;
    int number = constraints_find(r->constraints, record, &err);
    if (number < 0 || compile(r, number, &err)) {
        p->error = xstrdup(err.text);
        return;
    }
    r->bound[i] = &r->compiled[number];
    r->keys[i] = sum_text(r->keys[i], "bound") ^ constraints_key(r->constraints, number);
}
