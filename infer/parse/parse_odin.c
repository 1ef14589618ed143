/* Part of parse_stages.h: statements found by hiding from the model what earlier ones used, after ODIN. */
#include "data/sql/sql.h"
#include "infer/parse/parse_stages_impl.h"

#include <stdlib.h>
#include <string.h>

/* What a case's model was shown and has said. */
struct odin_case {
    struct strings schemas; /* in the order in which they are shown: the whole one first */
    int shown;
    struct strings sqls; /* in normal form */
    char **texts;        /* as they were first said, one for each */
    int cap;
};

/* Shows the rest of the table, or with column >= 0 of the column, unless it has been shown or too many have. */
static void hide(struct odin_case *o, const struct parse_case *c, const char *schema, const struct sql_use *use,
                 int64_t calls)
{
    const char *column = use->column < 0 ? NULL : c->schema->columns[use->column].name;
    char *left = schema_text_without(schema, c->schema->tables[use->table].name, column);

    if (*left && o->schemas.n < calls)
        strings_add(&o->schemas, left);
    free(left);
}

/* Each column that a statement names, keys of its joins aside, then each of its tables, is hidden alone. */
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

/* What the model said of a schema. */
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

/* Shows each case the schemas that it has not been shown yet; how many there were in *n. */
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

/* log p of all statements as answers to the one question about the whole schema. */
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

int parse_odin(struct parse_stages *f, struct error *err)
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
