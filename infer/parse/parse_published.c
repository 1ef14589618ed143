/* Part of parse_stages.h: statements found by the published rules, one search after another. */
#include "data/util/stop.h"
#include "infer/parse/parse_stages_impl.h"
#include "infer/parse/published.h"
#include "models/lm/lm_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stage whose model is driven by hand. */
struct published_stage {
    struct parse_stage stage;
    struct llama_model *model;
    struct workspace *work;
};

static void take(struct parse_case *c, struct parse_template *t, const struct published_answers *found)
{
    for (int i = 0; i < found->n; i++)
        parse_list_add(&t->fills, c, found->items[i].text, t->logp + found->items[i].score);
    if (!t->fills.n)
        t->error = xstrdup("no beam ended in a statement of the template");
}

/* begin: NULL where a template is filled.  A prompt that cannot be read is the template's error. */
static int answer(struct published_stage *s, struct parse_case *c, struct parse_template *t, const char *begin,
                  struct error *err)
{
    const struct ask *a = parse_stage_add(&s->stage, c, t);
    struct published_answers found = { 0 };
    struct lm_text prompt;
    int rc = 0;

    lm_text_read(&prompt, s->model, a->prompt, LM_OPEN, "prompt");
    const struct published_question q = { .prompt = prompt.ids.items,
                                          .n_prompt = prompt.ids.count,
                                          .schema = c->schema_text,
                                          .template = begin ? NULL : t->text,
                                          .begin = begin };
    if (prompt.error)
        t->error = xstrdup(prompt.error);
    else if ((rc = published_answer(&found, s->model, s->work, &q, err)) == 0)
        take(c, t, &found);
    published_answers_release(&found);
    lm_text_release(&prompt);
    return rc;
}

/* A statement for each plan near the model's own, whose text begins with it. */
static int answer_plans(struct published_stage *s, struct parse_case *c, struct error *err)
{
    struct sql_plan plans[SQL_PLANS];
    int n = sql_plan_neighbours(c->plan, plans), rc = 0;
    const char *bar, *name = parse_stage_name(&s->stage, c, &bar);

    for (int i = 0; i < n && rc == 0; i++) {
        char *plan = sql_plan_text(plans[i]), *begin = NULL;
        CHECK(asprintf(&begin, "%s%s%s", name, bar, plan) >= 0, "no memory for a plan");
        parse_case_add_template(c, s->stage.f->q, plans[i], NULL, 0);
        rc = answer(s, c, &c->templates[c->n_templates - 1], begin, err);
        free(begin);
        free(plan);
    }
    return rc;
}

/* A template that came before is filled as before. */
static bool repeat(struct parse_case *c, struct parse_template *t)
{
    const struct parse_template *first = c->templates;

    while (strcmp(first->text, t->text) != 0)
        first++;
    for (int i = 0; i < first->fills.n && first < t; i++)
        parse_list_add(&t->fills, c, first->fills.items[i].sql, first->fills.items[i].logp - first->logp + t->logp);
    if (first < t && first->error)
        t->error = xstrdup(first->error);
    return first < t;
}

static int answer_templates(struct published_stage *s, struct parse_case *c, struct error *err)
{
    int rc = 0;

    for (int i = 0; i < c->n_templates && rc == 0; i++)
        if (!repeat(c, &c->templates[i]))
            rc = answer(s, c, &c->templates[i], NULL, err);
    return rc;
}

int parse_published(struct parse_stages *f, struct error *err)
{
    bool single = f->q->strategy == PARSE_SINGLE_STAGE;
    struct answerer *model = single ? f->q->models.templates : f->q->models.fill;
    struct published_stage s;
    int rc = parse_stage_open(&s.stage, f, model, single ? PARSER_DIRECT : PARSER_FILL, SEARCH_BEAMS, 1, err);

    if (rc == 0)
        answerer_lend(model, &s.model, &s.work);
    for (int64_t i = 0; i < f->n && rc == 0; i++) {
        struct parse_case *c = &f->cases[i];
        if (!c->error)
            rc = stop_requested() ? 1 : (single ? answer_plans : answer_templates)(&s, c, err);
    }
    parse_stage_close(&s.stage);
    return rc;
}
