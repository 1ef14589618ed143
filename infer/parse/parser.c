#include "infer/parse/parser.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/corpora/ambiqt_text.h"
#include "data/db/db_path.h"
#include "data/prompt/prompt.h"
#include "data/prompt/schema_text.h"
#include "data/prompt/template_constraint.h"
#include "data/sql/sql.h"
#include "data/sql/sql_check.h"
#include "data/sql/sql_lex.h"
#include "infer/parse/elsewhere.h"
#include "infer/parse/published.h"
#include "models/engine/constraint_form.h"
#include "models/lm/lm_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_BYTES = 16 << 20 };

static struct engine_settings settings_of(const struct parse_request *q, enum parse_search search, int answers)
{
    struct engine_settings set = q->set;

    set.answers = answers;
    set.beams = search == SEARCH_BEAMS ? (int)(q->beams > answers ? q->beams : answers) : 1;
    if (search != SEARCH_DRAWS)
        set.draw = (struct draw_settings){ .top_p = 1, .typical_p = 1 };
    return set;
}

/* Opens a stage, with its model in memory.  Returns -1 with err.  The caller closes the stage in any case. */
static int parse_stage_open(struct parse_stage *s, struct parse_stages *f, struct completer *model,
                            enum parser_model role, enum parse_search search, int answers, struct error *err)
{
    *s = (struct parse_stage){ .f = f, .model = model, .role = role };
    const struct llama_model *m = completer_open(model, err);
    if (!m)
        return -1;
    bool chat =
        f->q->prompt == PARSE_PROMPT_CHAT || (f->q->prompt == PARSE_PROMPT_AUTO && !m->seq2seq && m->chat.template);
    s->form = chat ? PARSER_CHAT : PARSER_SEQ2SEQ;
    model->set = settings_of(f->q, search, answers);
    return 0;
}

static struct ask *add(struct parse_stage *s, struct parse_case *c, struct parse_template *t, const char *schema)
{
    const struct parser_question q = { c->question, c->db_id, schema };
    char *text = parser_input(s->form, s->role, &q, t ? t->text : NULL);
    json_t *o = json_pack("{s:O}", "id", json_object_get(c->record, "id"));

    if (s->form == PARSER_CHAT)
        json_object_set_new(o, "messages", json_pack("[{s:s, s:s}]", "role", "user", "content", text));
    else
        json_object_set_new(o, "prompt", json_string(text));
    free(text);
    GROW(s->asks, s->n, s->cap_asks);
    GROW(s->asked, s->n, s->cap_asked);
    s->asked[s->n] = (struct parse_asked){ c, t };
    s->asks[s->n] = (struct ask){ .prompt = o };
    return &s->asks[s->n++];
}

/* Adds a prompt.  The caller may set opening or constraint of the returned ask, which is valid until the next call. */
static struct ask *parse_stage_add(struct parse_stage *s, struct parse_case *c, struct parse_template *t)
{
    bool original = c->template_schema && s->role == PARSER_TEMPLATE;
    return add(s, c, t, original ? c->template_schema : c->schema_text);
}

/* Adds a prompt with another text of the schema than the case's. */
static struct ask *parse_stage_show(struct parse_stage *s, struct parse_case *c, const char *schema)
{
    return add(s, c, NULL, schema);
}

/* Removes the latest prompt. */
static void parse_stage_drop(struct parse_stage *s)
{
    ask_release(&s->asks[--s->n]);
}

/* Asks the model for all prompts. */
static int parse_stage_run(struct parse_stage *s, struct error *err)
{
    return completer_ask(s->model, s->asks, s->n, err);
}

static void parse_stage_close(struct parse_stage *s)
{
    for (int64_t i = 0; i < s->n; i++)
        ask_release(&s->asks[i]);
    free(s->asks);
    free(s->asked);
}

void parse_stage_take(const struct parse_stage *s, struct parse_list *l, struct parse_case *c,
                      const struct asked_text *a, double logp)
{
    struct text_items sql = { 0 };

    if (s->form != PARSER_CHAT) {
        parse_list_add(l, c, a->text, logp);
        return;
    }
    char *answer = output_answer(a->text);
    output_sql(&sql, parser_behind_plan(parse_case_behind_name(c, answer)), false);
    if (sql.n)
        parse_list_add(l, c, sql.items[0], logp);
    else
        parse_case_note(c, "completion", a->text, output_lacks(a->text, "SQL statement"));
    text_items_release(&sql);
    free(answer);
}

/* Start of the completion: "db_id | " in the published form, else "". */
static const char *parse_stage_name(const struct parse_stage *s, const struct parse_case *c, const char **bar)
{
    *bar = s->form == PARSER_CHAT ? "" : " | ";
    return s->form == PARSER_CHAT ? "" : c->db_id;
}

/* Schemas that a case's model was shown, and its statements. */
struct odin_case {
    struct strings schemas; /* in the order of the prompts; the whole schema first */
    int shown;
    struct strings sqls; /* in normal form */
    char **texts;        /* first text of each statement */
    int cap;
};

/* Adds a schema without the table, or without the column if column >= 0, unless it is known or there are too many. */
static void hide(struct odin_case *o, const struct parse_case *c, const char *schema, const struct sql_use *use,
                 int64_t calls)
{
    const char *column = use->column < 0 ? NULL : c->schema->columns[use->column].name;
    char *left = schema_text_without(schema, c->schema->tables[use->table].name, column);

    if (*left && o->schemas.n < calls)
        strings_add(&o->schemas, left);
    free(left);
}

/* Hides each column of a statement except its join keys, and then each of its tables, one at a time. */
static void hide_uses(struct parse_stages *f, struct odin_case *o, const struct parse_case *c, const char *schema,
                      const char *sql)
{
    struct error why = { 0 };
    struct sql_uses uses;

    arena_reset(&f->trees, 0);
    struct sql_query *q = sql_parse(&f->trees, sql, &why);
    if (!q || sql_resolve(&f->trees, q, c->schema, &uses, &why))
        return;
    for (int tables = 0; tables < 2; tables++)
        for (int i = 0; i < uses.n; i++) {
            const struct sql_use *u = &uses.list[i];
            if ((u->column < 0) == tables && u->clause != SQL_ON && sql[u->end - 1] != '*')
                hide(o, c, schema, u, f->q->beams);
        }
}

/* Adds the statements for a schema. */
static void take_text(struct parse_stage *s, struct odin_case *o, struct parse_case *c, const char *schema,
                      const struct asked_text *said)
{
    struct parse_list found = { 0 };

    parse_stage_take(s, &found, c, said, 0);
    const char *sql = found.n ? found.items[0].sql : NULL;
    if (sql && strings_find(&o->sqls, sql) < 0) {
        int n = strings_add(&o->sqls, sql);
        GROW(o->texts, n, o->cap);
        o->texts[n] = xstrdup(said->text);
        hide_uses(s->f, o, c, schema, sql);
    }
    parse_list_release(&found);
}

static void take_shown(struct parse_stage *s, struct odin_case *cases, int64_t i)
{
    struct parse_case *c = s->asked[i].about;
    struct odin_case *o = &cases[c - s->f->cases];
    const char *schema = o->schemas.items[o->shown++];

    if (s->asks[i].error && !c->error)
        c->error = xstrdup(s->asks[i].error);
    if (s->asks[i].n)
        take_text(s, o, c, schema, &s->asks[i].texts[0]);
}

/* Prompts for the new schemas of each case.  Writes their number to *n. */
static int show(struct parse_stages *f, struct odin_case *cases, int64_t *n, struct error *err)
{
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, f->q->models.sql, PARSER_T2S, SEARCH_GREEDY, 1, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        for (int k = cases[i].shown; k < cases[i].schemas.n && !f->cases[i].error; k++)
            parse_stage_show(&s, &f->cases[i], cases[i].schemas.items[k]);
    rc = rc ? rc : parse_stage_run(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++)
        take_shown(&s, cases, i);
    *n = s.n;
    parse_stage_close(&s);
    return rc;
}

static void take_weight(const struct parse_stage *s, const struct ask *a, struct parse_case *c)
{
    if (a->n && a->texts[0].stopped)
        parse_stage_take(s, &c->plain, c, &a->texts[0], a->texts[0].logp);
    else
        parse_case_note(c, "sql", json_string_value(json_array_get(json_object_get(a->constraint, "answers"), 0)),
                        a->error ? a->error : "not ended within --max-new tokens");
}

/* Computes log p of all statements given the whole schema. */
static int weigh(struct parse_stages *f, const struct odin_case *cases, struct error *err)
{
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, f->q->models.sql, PARSER_T2S, SEARCH_GREEDY, 1, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        for (int k = 0; k < cases[i].sqls.n && !f->cases[i].error; k++)
            parse_stage_add(&s, &f->cases[i], NULL)->constraint = json_pack("{s:[s]}", "answers", cases[i].texts[k]);
    rc = rc ? rc : parse_stage_run(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++)
        take_weight(&s, &s.asks[i], s.asked[i].about);
    parse_stage_close(&s);
    return rc;
}

/* Sets the plain statements of every case by ODIN, ranked by log p given the whole schema.  Returns 0, 1 after a
 * signal, or -1 with err. */
static int parse_odin(struct parse_stages *f, struct error *err)
{
    struct odin_case *cases = xcalloc((size_t)f->n + 1, sizeof *cases);
    int64_t n = 1;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++)
        if (!f->cases[i].error)
            strings_add(&cases[i].schemas, f->cases[i].schema_text);
    while (rc == 0 && n > 0)
        rc = show(f, cases, &n, err);
    rc = rc ? rc : weigh(f, cases, err);
    for (int64_t i = 0; i < f->n; i++) {
        parse_list_sort(&f->cases[i].plain);
        for (int k = 0; k < cases[i].sqls.n; k++)
            free(cases[i].texts[k]);
        free(cases[i].texts);
        strings_release(&cases[i].sqls);
        strings_release(&cases[i].schemas);
    }
    free(cases);
    return rc;
}

/* Values of a case's database, kept until a case has another schema; NULL without databases. */
static const struct column_values *values_of(struct parse_stages *f, const struct parse_case *c, struct error *err)
{
    if (f->q->db && f->valued != c->schema) {
        char *path = db_path(f->q->db, c->db_id, err);
        column_values_release(&f->values);
        f->valued = NULL;
        if (path && column_values_read(&f->values, c->schema, path, err) == 0)
            f->valued = c->schema;
        free(path);
    }
    return f->valued ? &f->values : NULL;
}

/* The constraint starts with the text that the model repeats. */
static void put_name(json_t *constraint, const char *name, const char *bar)
{
    char *open = text_replace(name, "{", "{{"), *plain = text_replace(open, "}", "}}");
    json_t *alternative;
    size_t i;

    json_array_foreach(json_object_get(constraint, "alternatives"), i, alternative)
    {
        json_t *text = json_sprintf("%s%s%s", plain, bar, json_string_value(json_object_get(alternative, "template")));
        json_object_set_new(alternative, "template", text);
    }
    free(plain);
    free(open);
}

static void bind(struct parse_stage *s, struct ask *a, struct parse_case *c, struct parse_template *t)
{
    struct error why = { 0 };
    const struct column_values *values = values_of(s->f, c, &why);
    const struct template_question q = { c->schema, c->question, values };
    const char *bar, *name = parse_stage_name(s, c, &bar);

    a->constraint = values || !s->f->q->db ? template_constraint(&q, t->text, &why) : NULL;
    if (a->constraint) {
        put_name(a->constraint, name, bar);
        if (constraint_form_keep_spelt(a->constraint, completer_open(s->model, &why)->tokenizer, &why)) {
            json_decref(a->constraint);
            a->constraint = NULL;
        }
    }
    if (!a->constraint)
        t->error = xstrdup(why.text);
}

static void take(const struct parse_stage *s, const struct ask *a, struct parse_case *c, struct parse_template *t,
                 bool bound)
{
    if (a->error && !t->error)
        t->error = xstrdup(a->error);
    for (int i = 0; i < a->n; i++)
        if (!bound)
            parse_stage_take(s, &t->fills, c, &a->texts[i], t->logp + a->texts[i].logp);
        else if (a->texts[i].stopped)
            parse_list_add_as_is(&t->fills, c, a->texts[i].text, t->logp + a->texts[i].logp);
    if (!t->fills.n && !t->error)
        t->error = xstrdup(bound ? "no statement ended within --max-new tokens" : "the model wrote no statement");
}

/* Fills the templates of the window by beams, in PARSE_LOGICAL_BEAM under the template's constraint.  A template
 * without a possible statement, or with too many, gets an error. */
static int parse_fill(struct parse_stages *f, struct error *err)
{
    bool bound = f->q->strategy == PARSE_LOGICAL_BEAM;
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, f->q->models.fill, PARSER_FILL, SEARCH_BEAMS, (int)f->q->beams, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++) {
        struct parse_case *c = &f->cases[i];
        for (int t = 0; t < c->n_templates && !c->error; t++) {
            struct ask *a = parse_stage_add(&s, c, &c->templates[t]);
            if (bound)
                bind(&s, a, c, &c->templates[t]);
            if (bound && !a->constraint)
                parse_stage_drop(&s);
        }
    }
    rc = rc ? rc : parse_stage_run(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++)
        take(&s, &s.asks[i], s.asked[i].about, s.asked[i].of, bound);
    parse_stage_close(&s);
    return rc;
}

/* A stage that runs its model step by step. */
struct published_stage {
    struct parse_stage stage;
    struct llama_model *model;
    struct workspace *work;
};

static void take_published(struct parse_case *c, struct parse_template *t, const struct published_answers *found)
{
    for (int i = 0; i < found->n; i++)
        parse_list_add(&t->fills, c, found->items[i].text, t->logp + found->items[i].score);
    if (!t->fills.n)
        t->error = xstrdup("no beam ended in a statement of the template");
}

/* begin: NULL for a template.  An error of the prompt becomes the template's error. */
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
        take_published(c, t, &found);
    published_answers_release(&found);
    lm_text_release(&prompt);
    return rc;
}

/* Adds a statement for each plan near the predicted one; its text starts with the plan. */
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

/* A repeated template has the statements of the first one. */
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

/* Fills the templates as published, or finds statements for the plans in PARSE_SINGLE_STAGE.  Returns 0, 1 after a
 * signal, or -1 with err. */
static int parse_published(struct parse_stages *f, struct error *err)
{
    bool single = f->q->strategy == PARSE_SINGLE_STAGE;
    struct completer *model = single ? f->q->models.templates : f->q->models.fill;
    struct published_stage s;
    int rc = parse_stage_open(&s.stage, f, model, single ? PARSER_DIRECT : PARSER_FILL, SEARCH_BEAMS, 1, err);

    if (rc == 0)
        completer_lend(model, &s.model, &s.work);
    for (int64_t i = 0; i < f->n && rc == 0; i++) {
        struct parse_case *c = &f->cases[i];
        if (!c->error)
            rc = stop_requested() ? 1 : (single ? answer_plans : answer_templates)(&s, c, err);
    }
    parse_stage_close(&s.stage);
    return rc;
}

/* Tells whether the case needs templates; a record may have its own. */
static bool is_asked(const struct parse_stage *s, const struct parse_case *c)
{
    return !c->error && (s->role == PARSER_T2S || !c->n_templates);
}

/* One prompt for each case. */
static int ask_cases(struct parse_stage *s, struct error *err)
{
    for (int64_t i = 0; i < s->f->n; i++)
        if (is_asked(s, &s->f->cases[i]))
            parse_stage_add(s, &s->f->cases[i], NULL);
    return parse_stage_run(s, err);
}

/* Gets beams or samples of the text-to-SQL model.  An error of the prompt ends the case. */
static int ask_plain(struct parse_stages *f, struct error *err)
{
    const struct parse_request *q = f->q;
    enum parse_search search = q->strategy == PARSE_SAMPLE ? SEARCH_DRAWS : SEARCH_BEAMS;
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, q->models.sql, PARSER_T2S, search, (int)q->beams, err);

    rc = rc ? rc : ask_cases(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++) {
        struct parse_case *c = s.asked[i].about;
        if (s.asks[i].error)
            c->error = xstrdup(s.asks[i].error);
        for (int k = 0; k < s.asks[i].n; k++)
            parse_stage_take(&s, &c->plain, c, &s.asks[i].texts[k], s.asks[i].texts[k].logp);
        if (!c->error && c->plain.n == 0 && parse_is_plain(q))
            c->error = xstrdup("the model wrote no SQL statement");
    }
    parse_stage_close(&s);
    return rc;
}

static void take_template(struct parse_case *c, const struct parse_request *q, const struct asked_text *a)
{
    struct sql_plan plan;
    struct error why = { 0 };
    const char *rest;
    char *text = output_answer(a->text);
    bool read = parser_read_template(&plan, &rest, parse_case_behind_name(c, text), &why) == 0;

    if (read && rest[strspn(rest, " \t\r\n")])
        parse_case_add_template(c, q, plan, rest, a->logp);
    else
        parse_case_note(c, "template", a->text, read ? "expected a template behind the plan, got nothing" : why.text);
    free(text);
}

/* Falls back on the plan of the most probable plain statement if the predicted plan cannot be read. */
static void take_plan(struct parse_case *c, const struct ask *a)
{
    const char *text = a->n ? a->texts[0].text : "", *why = a->error;
    char *answer = output_answer(text);
    struct error unread = { 0 };
    bool read =
        !why && sql_plan_parse(&c->plan, parser_behind_name(parse_case_behind_name(c, answer)), NULL, &unread) == 0;

    free(answer);
    if (read)
        return;
    parse_case_note(c, "plan", text, why ? why : unread.text);
    c->plan = sql_plan_of(c->plain.n ? c->plain.items[0].sql : "");
    c->plan.selects += c->plan.selects == 0;
}

static int ask_plans(struct parse_stages *f, enum parser_model role, struct error *err)
{
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, f->q->models.templates, role, SEARCH_GREEDY, 1, err);

    rc = rc ? rc : ask_cases(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++)
        take_plan(s.asked[i].about, &s.asks[i]);
    parse_stage_close(&s);
    return rc;
}

/* Prompts for each plan near the predicted one; the completion starts with the plan. */
static void add_neighbours(struct parse_stage *s, struct parse_case *c)
{
    struct sql_plan plans[SQL_PLANS];
    int n = sql_plan_neighbours(c->plan, plans);
    const char *bar, *name = parse_stage_name(s, c, &bar);

    if (s->f->q->published)
        name = bar = "";
    for (int i = 0; i < n; i++) {
        struct parse_template *t = NULL;
        char *plan = sql_plan_text(plans[i]);
        if (s->role == PARSER_DIRECT) {
            parse_case_add_template(c, s->f->q, plans[i], NULL, 0);
            t = &c->templates[c->n_templates - 1];
        }
        struct ask *a = parse_stage_add(s, c, t);
        CHECK(asprintf(&a->opening, "%s%s%s", name, bar, plan) >= 0, "no memory for a plan");
        free(plan);
    }
}

/* Gets templates, or with PARSER_DIRECT statements, for each plan. */
static int ask_neighbours(struct parse_stages *f, enum parser_model role, struct error *err)
{
    bool direct = role == PARSER_DIRECT;
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, f->q->models.templates, role, direct ? SEARCH_BEAMS : SEARCH_GREEDY,
                              direct ? (int)f->q->beams : 1, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        if (is_asked(&s, &f->cases[i]))
            add_neighbours(&s, &f->cases[i]);
    rc = rc ? rc : parse_stage_run(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++) {
        struct parse_case *c = s.asked[i].about;
        struct parse_template *t = s.asked[i].of;
        if (s.asks[i].error)
            parse_case_note(c, "plan", s.asks[i].opening, s.asks[i].error);
        for (int k = 0; k < s.asks[i].n; k++)
            if (t)
                parse_stage_take(&s, &t->fills, c, &s.asks[i].texts[k], s.asks[i].texts[k].logp);
            else
                take_template(c, f->q, &s.asks[i].texts[k]);
    }
    parse_stage_close(&s);
    return rc;
}

/* Gets a beam of templates without a given plan. */
static int ask_templates(struct parse_stages *f, struct error *err)
{
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, f->q->models.templates, PARSER_TEMPLATE, SEARCH_BEAMS, SQL_PLANS, err);

    rc = rc ? rc : ask_cases(&s, err);
    for (int64_t i = 0; i < s.n && rc == 0; i++) {
        if (s.asks[i].error)
            parse_case_note(s.asked[i].about, "template", "", s.asks[i].error);
        for (int k = 0; k < s.asks[i].n; k++)
            take_template(s.asked[i].about, f->q, &s.asks[i].texts[k]);
    }
    parse_stage_close(&s);
    return rc;
}

/* Notes the statements that do not run on the database, or without one are invalid on the schema. */
static int check_statement(struct parse_stages *f, const struct parse_case *c, const char *sql, struct error *why)
{
    struct exec_db *db = NULL;
    struct sql_uses uses;

    if (!c->own.n && schema_catalog_connect(&db, &f->schemas, c->db_id, why))
        return -1;
    if (db) {
        struct exec_result r = exec_run(db, sql);
        int rc = r.status == EXEC_OK ? 0 : error_set(why, EXIT_CODE_DATA, "%s", r.message);
        exec_result_release(&r);
        return rc;
    }
    arena_reset(&f->trees, 0);
    struct sql_query *q = sql_parse(&f->trees, sql, why);
    return !q || sql_resolve(&f->trees, q, c->schema, &uses, why) || sql_check(q, c->schema, why) ? -1 : 0;
}

static int finish(struct parse_stages *f)
{
    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct parse_case *c = &f->cases[i];
        if (c->error)
            continue;
        parse_case_choose(c, f->q, f->q->calibration ? &f->select : NULL, &f->trees);
        for (int k = 0; k < c->chosen.n; k++) {
            struct error why = { 0 };
            if (check_statement(f, c, c->chosen.items[k].sql, &why))
                parse_case_note(c, "sql", c->chosen.items[k].sql, why.text);
        }
    }
    return stop_requested() ? 1 : 0;
}

static int ask_all(struct parse_stages *f, struct error *err)
{
    int strategy = f->q->strategy, rc;
    bool single = strategy == PARSE_SINGLE_STAGE;
    enum parser_model role = strategy == PARSE_DIRECT || single ? PARSER_DIRECT : PARSER_TEMPLATE;

    if (f->q->answers) {
        parse_elsewhere_take(f);
        return 0;
    }
    if (f->q->models.sql->server)
        return parse_elsewhere_ask(f, err);
    if (strategy == PARSE_ODIN)
        return parse_odin(f, err);
    if ((rc = ask_plain(f, err)) || parse_is_plain(f->q))
        return rc;
    if (strategy == PARSE_TWO_STAGE)
        rc = ask_templates(f, err);
    else if ((rc = ask_plans(f, role, err)) == 0 && !single)
        rc = ask_neighbours(f, role, err);
    if (rc || !(single || parse_fills(f->q)))
        return rc;
    return (single || f->q->published ? parse_published : parse_fill)(f, err);
}

int parse_stages_run(struct parse_stages *f, struct error *err)
{
    int rc = ask_all(f, err);
    return rc ? rc : finish(f);
}

/* Bytes of a prompt besides the question; plans and templates are short. */
static int measure(struct parse_stages *f, struct completer *model, struct error *err)
{
    enum parse_search search = f->q->strategy == PARSE_SAMPLE ? SEARCH_DRAWS : SEARCH_BEAMS;
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, model, PARSER_T2S, search, (int)f->q->beams, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        if (!f->cases[i].error)
            parse_stage_add(&s, &f->cases[i], NULL);
    rc = rc ? rc : completer_measure(model, s.asks, s.n, err);
    parse_stage_close(&s);
    return rc;
}

int parse_stages_measure(struct parse_stages *f, struct error *err)
{
    const struct parse_models *m = &f->q->models;

    if (m->sql->server)
        return parse_elsewhere_measure(f, err);
    struct completer *templates = parse_is_plain(f->q) ? m->sql : m->templates,
                     *fill = parse_fills(f->q) ? m->fill : m->sql;
    int rc = measure(f, m->sql, err);

    if (rc == 0 && templates != m->sql)
        rc = measure(f, templates, err);
    if (rc == 0 && fill != m->sql && fill != templates)
        rc = measure(f, fill, err);
    return rc;
}

static int read_calibration(struct parse_stages *f, struct error *err)
{
    const char *path = f->q->calibration;

    if (!path)
        return 0;
    if (calibration_read(&f->select, path, err))
        return -1;
    return f->select.keep >= 0 ? 0 : error_set(err, EXIT_CODE_DATA, "%s: field \"keep\" is missing", path);
}

int parse_stages_open(struct parse_stages *f, const struct parse_request *q, struct error *err)
{
    *f = (struct parse_stages){ .q = q };
    if (read_calibration(f, err) || (q->answers && query_answers_open(&f->answers, q->answers, err)) ||
        (q->write && out_file_open(&f->prompts, q->out, err)))
        return -1;
    return schema_catalog_open(&f->schemas, q->schema, q->db, err) || arena_init(&f->trees, TREE_BYTES, err) ? -1 : 0;
}

void parse_stages_clear(struct parse_stages *f)
{
    for (int64_t i = 0; i < f->n; i++)
        parse_case_release(&f->cases[i]);
    f->n = 0;
    f->valued = NULL;
    schema_catalog_turn(&f->schemas);
}

void parse_stages_release(struct parse_stages *f)
{
    parse_stages_clear(f);
    free(f->cases);
    column_values_release(&f->values);
    query_answers_release(&f->answers);
    out_file_abort(&f->prompts);
    strings_release(&f->ids);
    schema_catalog_close(&f->schemas);
    arena_release(&f->trees);
}

enum { AGAIN = 4 /* factor for a repeated search */, BATCH = 32, STEP_TOKENS = 4096 };

static struct engine_settings parser_settings_of(const struct parser_settings *s)
{
    return (
        struct engine_settings){ .max_new = s->max_new,
                                 .beam = { .length_penalty = 1 },
                                 .draw = { .temperature = 1, .top_p = 1, .typical_p = 1, .seed = (uint64_t)s->seed },
                                 .batch = BATCH,
                                 .step_tokens = STEP_TOKENS };
}

int parser_open(struct question_parser *p, const struct parser_settings *s, struct error *err)
{
    *p = (struct question_parser){ .request = { .schema = s->schema,
                                                .db = s->db,
                                                .strategy = s->strategy,
                                                .k = s->k,
                                                .beams = s->beams,
                                                .window = 1,
                                                .set = parser_settings_of(s),
                                                .candidates = true },
                                   .completer = { .model = { .dir = s->model, .dtype = s->dtype, .seq2seq = true },
                                                  .device = s->device,
                                                  .no_graph = s->no_graph,
                                                  .quiet = true } };
    p->completer.server = s->server;
    p->completer.open = &p->open;
    p->request.models = (struct parse_models){ &p->completer, &p->completer, &p->completer };
    if (parse_stages_open(&p->stages, &p->request, err))
        return -1;
    return s->server || completer_open(&p->completer, err) ? 0 : -1;
}

void parser_close(struct question_parser *p)
{
    parse_stages_release(&p->stages);
    completer_close(&p->open);
    *p = (struct question_parser){ 0 };
}

static int64_t most(int64_t n)
{
    return n < BEAMS_MAX ? n : BEAMS_MAX;
}

/* Parses one record as the only case of the window. */
static json_t *parse_one(struct question_parser *p, json_t *record, const char *where, struct error *err)
{
    struct parse_stages *s = &p->stages;

    parse_stages_clear(s);
    GROW(s->cases, s->n, s->cap);
    struct parse_case *c = &s->cases[s->n++];
    parse_case_read(c, json_deep_copy(record), &s->schemas, &p->request, where, NULL);
    int rc = c->error ? 0 : parse_stages_run(s, err);
    if (rc > 0 && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    else if (rc > 0)
        error_set(err, EXIT_CODE_DATA, "%s: no time is left for the parser", where);
    if (rc == 0 && c->error)
        rc = error_set(err, EXIT_CODE_DATA, "%s", c->error);
    json_t *line = rc ? NULL : parse_case_json(c, &p->request);
    parse_stages_clear(s);
    return line;
}

json_t *parser_candidates(struct question_parser *p, json_t *record, bool again, const char *where, struct error *err)
{
    const struct parse_request usual = p->request;

    if (again) {
        p->request.k = most(AGAIN * usual.k);
        p->request.beams = most(AGAIN * usual.beams);
        p->request.set.draw.seed++;
    }
    json_t *line = parse_one(p, record, where, err);
    p->request = usual;
    return line;
}
