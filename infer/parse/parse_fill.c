/* Part of parse_stages.h: templates become statements. */
#include "data/corpora/ambiqt_text.h"
#include "data/exec/db_path.h"
#include "infer/parse/parse_stages_impl.h"
#include "models/constraint/constraint_form.h"

#include <stdio.h>
#include <stdlib.h>

/* The values of a case's database stay at hand until another schema is asked about; NULL without databases. */
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

/* What a template's slots stand in begins with what the model repeats. */
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
        if (constraint_form_keep_spelt(a->constraint, answerer_open(s->model, &why)->tokenizer, &why)) {
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

int parse_fill(struct parse_stages *f, struct error *err)
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
