/* Part of clarify_case.h: what is known of a case, as JSON. */
#include "infer/clarify/clarify_case.h"

#include <math.h>

enum { AHEAD_MAX = 64 }; /* candidates for which the questions to come are counted */

json_t *clarify_rounded(double x)
{
    return json_real(round(x * 1e6) / 1e6);
}

static json_t *options_json(const struct clarify_case *c, const struct question *q, const struct question_view *view)
{
    json_t *list = json_array();

    for (int i = 0; i < q->n; i++) {
        const char *sql = q->statement[i] >= 0 ? c->sql[q->statement[i]] : NULL;
        double mass = i < view->split.n_values ? view->mass[i] : 0;
        json_array_append_new(list, json_pack("{s:s, s:o, s:s?, s:s*}", "text", q->options[i], "p",
                                              clarify_rounded(mass), "sql", sql, "found", q->found[i]));
    }
    return list;
}

struct question_context clarify_question_context(struct clarify_case *c)
{
    return (struct question_context){ { .schema = c->schema, .pool = &c->words, .store = &c->store },
                                      &c->variables,
                                      c->forms,
                                      &c->dialogue.now,
                                      &c->hints };
}

void clarify_question_write(struct question *q, struct clarify_case *c, const struct question_view *view)
{
    const struct question_context a = clarify_question_context(c);
    question_write(q, &a, view);
}

json_t *clarify_question_json(struct clarify_case *c, const struct question_view *view)
{
    struct question q;

    clarify_question_write(&q, c, view);
    return json_pack("{s:s, s:s, s:o}", "variable", c->variables.list[view->variable].name, "text", q.text, "options",
                     options_json(c, &q, view));
}

static json_t *variable_json(struct clarify_case *c, const struct question_view *view)
{
    const struct variable *v = &c->variables.list[view->variable];
    struct question q;

    clarify_question_write(&q, c, view);
    return json_pack("{s:s, s:s, s:o, s:o*, s:o}", "name", v->name, "face", face_name(v->face), "eig",
                     clarify_rounded(view->gain), "support",
                     view->split.support > 0 ? clarify_rounded(view->split.support) : NULL, "options",
                     options_json(c, &q, view));
}

/* Of all that may be asked about; the last resort stands apart. */
static json_t *variables_json(struct clarify_case *c, json_t **last_resort)
{
    json_t *list = json_array();

    *last_resort = NULL;
    for (int i = 0; i < c->variables.n; i++) {
        struct question_view view;
        if (!dialogue_view(&c->dialogue, i, &view))
            continue;
        json_t *one = variable_json(c, &view);
        if (c->variables.list[i].face == FACE_QUERY)
            *last_resort = one;
        else
            json_array_append_new(list, one);
    }
    return list;
}

/* The last resort is not counted on. */
static json_t *questions_ahead(const struct clarify_case *c)
{
    const struct belief *now = &c->dialogue.now;

    if (now->n > AHEAD_MAX)
        return json_null();
    return clarify_rounded(
        strategy_questions(c->dialogue.rules.strategy, now, c->variables.splits, c->variables.n - 1));
}

int clarify_case_json(struct clarify_case *c, json_t *out, struct error *err)
{
    json_t *last_resort, *variables = variables_json(c, &last_resort);
    struct question_view view;
    enum stop_reason why = dialogue_next(&c->dialogue, &view);
    const char *stop = why == STOP_NOT ? NULL : stop_reason_name(why);
    json_t *ask = why == STOP_NOT ? clarify_question_json(c, &view) : json_null();
    json_t *more = json_pack("{s:o, s:o, s:i, s:s*, s:i, s:i, s:O, s:s*, s:O, s:s, s:o, s:o, s:s?, s:o, s:o}",
                             "entropy", clarify_rounded(belief_entropy(&c->dialogue.now)), "reserve",
                             clarify_rounded(c->dialogue.now.reserve), "candidates", c->prior.n, "weights",
                             candidate_weights_name(c->weights), "merged", c->merged, "same_results", c->same_results,
                             "told_apart", c->told_apart, "not_compared", c->not_compared, "left_out", c->left_out,
                             "best", c->sql[belief_best(&c->dialogue.now)], "confidence",
                             clarify_rounded(c->dialogue.now.p[belief_best(&c->dialogue.now)]), "ask", ask, "stop",
                             stop, "expected_questions", questions_ahead(c), "variables", variables);

    if (!more || (last_resort && json_object_set_new(more, "last_resort", last_resort)) ||
        json_object_update(out, more)) {
        json_decref(more);
        return error_set(err, EXIT_CODE_DATA, "the record cannot be written as JSON");
    }
    json_decref(more);
    return 0;
}
