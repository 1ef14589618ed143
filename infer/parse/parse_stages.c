#include "infer/parse/parse_stages_impl.h"

#include "data/sql/sql.h"
#include "data/sql/sql_check.h"
#include "data/util/json.h"
#include "data/util/stop.h"

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

int parse_stage_open(struct parse_stage *s, struct parse_stages *f, struct answerer *model, enum parser_model role,
                     enum parse_search search, int answers, struct error *err)
{
    *s = (struct parse_stage){ .f = f, .model = model, .role = role };
    const struct llama_model *m = answerer_open(model, err);
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

struct ask *parse_stage_add(struct parse_stage *s, struct parse_case *c, struct parse_template *t)
{
    bool original = c->template_schema && s->role == PARSER_TEMPLATE;
    return add(s, c, t, original ? c->template_schema : c->schema_text);
}

struct ask *parse_stage_show(struct parse_stage *s, struct parse_case *c, const char *schema)
{
    return add(s, c, NULL, schema);
}

void parse_stage_drop(struct parse_stage *s)
{
    ask_release(&s->asks[--s->n]);
}

int parse_stage_run(struct parse_stage *s, struct error *err)
{
    return answerer_ask(s->model, s->asks, s->n, err);
}

void parse_stage_close(struct parse_stage *s)
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
        parse_case_note(c, "answer", a->text, output_lacks(a->text, "SQL statement"));
    text_items_release(&sql);
    free(answer);
}

const char *parse_stage_name(const struct parse_stage *s, const struct parse_case *c, const char **bar)
{
    *bar = s->form == PARSER_CHAT ? "" : " | ";
    return s->form == PARSER_CHAT ? "" : c->db_id;
}

void parse_case_note(struct parse_case *c, const char *field, const char *text, const char *why)
{
    json_array_append_new(c->errors, json_pack("{s:s, s:o}", field, text, "error", json_message(why)));
}

/* Templates are not asked for where the record has its own. */
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

/* The text-to-SQL model's own beams or draws.  A prompt that it cannot read ends the case. */
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

/* Where the model's own plan cannot be read, that of the likeliest plain statement is as good as any. */
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

/* One prompt for each plan near the model's own, which the answer begins with. */
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

/* Templates, or of PARSER_DIRECT statements, for each of the plans. */
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

/* Templates without a plan given: a beam of them. */
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

/* What does not run on the record's database, or without one cannot mean anything on its schema. */
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

/* What a model is asked beside the question, a plan or a template, is short. */
static int measure(struct parse_stages *f, struct answerer *model, struct error *err)
{
    enum parse_search search = f->q->strategy == PARSE_SAMPLE ? SEARCH_DRAWS : SEARCH_BEAMS;
    struct parse_stage s;
    int rc = parse_stage_open(&s, f, model, PARSER_T2S, search, (int)f->q->beams, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        if (!f->cases[i].error)
            parse_stage_add(&s, &f->cases[i], NULL);
    rc = rc ? rc : answerer_measure(model, s.asks, s.n, err);
    parse_stage_close(&s);
    return rc;
}

int parse_stages_measure(struct parse_stages *f, struct error *err)
{
    const struct parse_models *m = &f->q->models;
    struct answerer *templates = parse_is_plain(f->q) ? m->sql : m->templates,
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
