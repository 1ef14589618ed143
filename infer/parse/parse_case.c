#include "infer/parse/parse_case.h"

#include "data/corpora/ambiqt_text.h"
#include "data/prompt/schema_text.h"
#include "data/published/ambiqt_cases.h"
#include "data/sql/sql_form.h"
#include "data/sql/sql_lex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Schema of the record, or NULL. */
static const json_t *own_schema(const json_t *record)
{
    const json_t *own = json_object_get(record, "schema_without_content");
    return own ? own : json_object_get(record, "schema");
}

/* Reads a schema from a string or an entry of a tables.json. */
static int read_own(struct parse_case *c, const json_t *own, struct schema_catalog *schemas, const char *where,
                    struct error *err)
{
    bool known = schemas->db || schemas->tables.n;
    const struct schema *original = known ? schema_catalog_find(schemas, c->db_id, where, NULL) : NULL;
    json_t *list = json_is_string(own) ? NULL : json_pack("[O]", own);
    int rc = list ? schema_set_from_json(&c->own, list, where, err)
                  : schema_of_text(&c->own, c->db_id, json_string_value(own), original, err);

    json_decref(list);
    c->schema = c->own.schemas;
    return rc ? error_prefix(err, "%s", where) : 0;
}

static int read_schema(struct parse_case *c, struct schema_catalog *schemas, const char *where, struct error *err)
{
    const json_t *own = own_schema(c->record);

    if (!own && !schemas->db && !schemas->tables.n)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no schema: expected --schema, --db or the record's own \"schema_without_content\"",
                         where);
    if (own && read_own(c, own, schemas, where, err))
        return -1;
    if (!own && !(c->schema = schema_catalog_find(schemas, c->db_id, where, err)))
        return -1;
    c->schema_text = json_is_string(own) ? xstrdup(json_string_value(own)) : parser_schema(c->schema);
    return template_names_of_text(&c->names, c->schema_text, err);
}

/* Reads the record's own templates; each determines its plan. */
static int read_templates(struct parse_case *c, const struct parse_request *q, const char *where, struct error *err)
{
    const json_t *own = json_object_get(c->record, "template");
    json_t *list = json_is_array(own) ? json_copy((json_t *)own) : own ? json_pack("[O]", own) : json_array(), *v;
    size_t i;
    int rc = 0;

    if (json_array_size(list) > SQL_PLANS)
        rc = error_set(err, EXIT_CODE_DATA, "%s: template: expected at most %d, got %zu", where, SQL_PLANS,
                       json_array_size(list));
    json_array_foreach(list, i, v)
    {
        const char *text = json_string_value(v);
        if (rc == 0 && !text)
            rc = error_set(err, EXIT_CODE_DATA, "%s: template: expected a text or a list of them, got %s", where,
                           json_type_name(v));
        if (rc == 0)
            parse_case_add_template(c, q, sql_plan_of(text), text, 0);
    }
    json_decref(list);
    return rc;
}

/* Finds the schema of the db_id, without regard to the record's own. */
static int read_original(struct parse_case *c, struct schema_catalog *schemas, const char *where, struct error *err)
{
    const struct schema *original = schema_catalog_find(schemas, c->db_id, where, err);

    if (original)
        c->template_schema = parser_schema(original);
    return original ? 0 : -1;
}

static int read_fields(struct parse_case *c, struct schema_catalog *schemas, const struct parse_request *q,
                       const char *where, struct error *err)
{
    if (!(c->question = json_get_string(c->record, "question", where, err)) ||
        !(c->db_id = json_get_string(c->record, "db_id", where, err)))
        return -1;
    if (read_schema(c, schemas, where, err) || (q->template_schema && read_original(c, schemas, where, err)))
        return -1;
    return parse_fills(q) ? read_templates(c, q, where, err) : 0;
}

void parse_case_read(struct parse_case *c, json_t *record, struct schema_catalog *schemas,
                     const struct parse_request *q, const char *where, const struct error *bad)
{
    struct error err = { 0 };

    *c = (struct parse_case){ .record = record,
                              .errors = json_array(),
                              .published = q->published || q->strategy == PARSE_SINGLE_STAGE };
    if (record)
        schema_catalog_name(schemas, record);
    if (!record)
        c->error = xstrdup(bad->text);
    else if (read_fields(c, schemas, q, where, &err))
        c->error = xstrdup(err.text);
}

void parse_case_note(struct parse_case *c, const char *field, const char *text, const char *why)
{
    json_array_append_new(c->errors, json_pack("{s:s, s:o}", field, text, "error", json_message(why)));
}

void parse_list_release(struct parse_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->items[i].sql);
    free(l->items);
}

void parse_case_release(struct parse_case *c)
{
    for (int i = 0; i < c->n_templates; i++) {
        free(c->templates[i].text);
        free(c->templates[i].error);
        parse_list_release(&c->templates[i].fills);
    }
    parse_list_release(&c->plain);
    parse_list_release(&c->chosen);
    template_names_release(&c->names);
    schema_set_close(&c->own);
    json_decref(c->record);
    json_decref(c->errors);
    free(c->schema_text);
    free(c->template_schema);
    free(c->error);
}

/* Returns NULL if the list does not have it. */
static const struct parse_text *parse_list_find(const struct parse_list *l, const char *sql)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->items[i].sql, sql) == 0)
            return &l->items[i];
    return NULL;
}

const char *parse_case_behind_name(const struct parse_case *c, const char *text)
{
    size_t n = strlen(c->db_id);
    const char *bar = strncmp(text, c->db_id, n) == 0 ? text + n + strspn(text + n, " ") : "";

    return *bar == '|' ? bar + 1 + strspn(bar + 1, " ") : text;
}

void parse_list_add_exact(struct parse_list *l, const char *sql, double logp)
{
    if (parse_list_find(l, sql))
        return;
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = (struct parse_text){ xstrdup(sql), logp };
}

void parse_list_add_share(struct parse_list *l, const char *sql, double share)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->items[i].sql, sql) == 0) {
            l->items[i].logp = log(exp(l->items[i].logp) + share);
            return;
        }
    parse_list_add_exact(l, sql, log(share));
}

/* Skips the plan at the start of a text. */
static void add_normal(struct parse_list *l, const char *text, double logp)
{
    char *line = sql_normal_line(parser_behind_plan(text));

    if (*line)
        parse_list_add_exact(l, line, logp);
    free(line);
}

void parse_list_add(struct parse_list *l, const struct parse_case *c, const char *text, double logp)
{
    const char *own = parse_case_behind_name(c, text);
    struct strings sql = { 0 };

    if (!c->published) {
        add_normal(l, own, logp);
        return;
    }
    parser_read_sql(&sql, &own, 1, &c->names, NULL);
    if (sql.n)
        parse_list_add_exact(l, sql.items[0], logp);
    strings_release(&sql);
}

void parse_list_add_as_is(struct parse_list *l, const struct parse_case *c, const char *text, double logp)
{
    parse_list_add_exact(l, parse_case_behind_name(c, text), logp);
}

static int compare_texts(const void *a, const void *b)
{
    const struct parse_text *x = a, *y = b;
    return x->logp != y->logp ? (x->logp < y->logp) - (x->logp > y->logp) : strcmp(x->sql, y->sql);
}

void parse_list_sort(struct parse_list *l)
{
    if (l->n)
        qsort(l->items, (size_t)l->n, sizeof *l->items, compare_texts);
}

void parse_case_add_template(struct parse_case *c, const struct parse_request *q, struct sql_plan plan,
                             const char *text, double logp)
{
    char *own = !text ? NULL : q->published ? ambiqt_single_blanks(text) : ambiqt_normalize(text);
    bool known = false;

    for (int i = 0; i < c->n_templates && own && !q->published && !known; i++)
        known = strcmp(c->templates[i].text, own) == 0;
    if (known)
        free(own);
    else
        c->templates[c->n_templates++] = (struct parse_template){ .plan = plan, .text = own, .logp = logp };
}

static json_t *statements_json(const struct parse_list *l)
{
    json_t *list = json_array();

    for (int i = 0; i < l->n; i++) {
        json_t *o = json_pack("{s:s}", "sql", l->items[i].sql);
        if (!isnan(l->items[i].logp))
            json_object_set_new(o, "logprob", json_real(l->items[i].logp));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *templates_json(const struct parse_case *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n_templates; i++) {
        const struct parse_template *t = &c->templates[i];
        json_t *o = json_pack("{s:i, s:i}", "joins", t->plan.joins, "selects", t->plan.selects);
        if (t->text)
            json_object_update_new(o, json_pack("{s:s, s:f}", "template", t->text, "logprob", t->logp));
        json_object_set_new(o, "sqls", statements_json(&t->fills));
        if (t->error)
            json_object_set_new(o, "error", json_message(t->error));
        json_array_append_new(list, o);
    }
    return list;
}

/* Gold statements of a record: "gold", AmbiQT's two statements, or Spider's query. */
static json_t *gold_json(const json_t *record)
{
    json_t *gold = json_object_get(record, "gold"), *query = json_object_get(record, "query");
    json_t *interpretations =
        json_pack("[O*, O*]", json_object_get(record, "query1"), json_object_get(record, "query2"));

    if (!gold && json_array_size(interpretations))
        return interpretations;
    json_decref(interpretations);
    return gold ? json_incref(gold) : query ? json_pack("[O]", query) : NULL;
}

static json_t *candidates_json(const struct parse_case *c)
{
    json_t *o = json_pack("{s:O, s:s, s:s}", "id", json_object_get(c->record, "id"), "db_id", c->db_id, "question",
                          c->question);
    json_t *gold = gold_json(c->record);

    json_object_set_new(o, "candidates", statements_json(&c->chosen));
    if (gold)
        json_object_set_new(o, "gold", gold);
    if (c->own.n)
        json_object_set_new(o, "schema", schema_to_json(c->schema));
    return o;
}

/* The statements as t2s_outs, with their log p if known. */
static void add_statements(json_t *o, const struct parse_case *c, bool likely)
{
    json_t *texts = json_array(), *logs = json_array();

    for (int i = 0; i < c->chosen.n; i++) {
        json_array_append_new(texts, json_string(c->chosen.items[i].sql));
        if (likely)
            json_array_append_new(logs, json_real(c->chosen.items[i].logp));
    }
    json_object_set_new(o, "t2s_outs", texts);
    if (likely)
        json_object_set(o, "logprobs", logs);
    json_decref(logs);
}

/* The record of a failed case, with the unreadable completions. */
static json_t *failed_json(const struct parse_case *c)
{
    json_t *o = json_pack("{s:O*, s:O*, s:O*, s:o}", "id", json_object_get(c->record, "id"), "db_id",
                          json_object_get(c->record, "db_id"), "question", json_object_get(c->record, "question"),
                          "error", json_message(c->error));

    if (json_array_size(c->errors))
        json_object_set(o, "errors", c->errors);
    return o;
}

json_t *parse_case_json(const struct parse_case *c, const struct parse_request *q)
{
    if (c->error)
        return failed_json(c);
    json_t *o = q->candidates ? candidates_json(c) : json_copy(c->record);
    if (!q->candidates)
        add_statements(o, c, !q->answers && q->strategy != PARSE_LIST);
    if (!q->candidates && c->n_templates)
        json_object_set_new(o, "templates", templates_json(c));
    if (json_array_size(c->errors))
        json_object_set(o, "errors", c->errors);
    return o;
}

enum { PLAIN_FIRST = 2, MERGED_MAX = 10 }; /* plain statements first, then those of templates */

/* A view of l, which owns the items. */
static struct ambiqt_list view(const struct parse_list *l)
{
    struct ambiqt_list v = { .items = xcalloc((size_t)l->n + 1, sizeof *v.items), .n = l->n };

    for (int i = 0; i < l->n; i++)
        v.items[i] = l->items[i].sql;
    return v;
}

/* Highest log p with which a statement of the list was found. */
static double logp_of(const struct parse_case *c, const char *sql)
{
    const struct parse_text *t = parse_list_find(&c->plain, sql);
    double best = t ? t->logp : -1e6;

    for (int i = 0; i < c->n_templates; i++)
        if ((t = parse_list_find(&c->templates[i].fills, sql)) && t->logp > best)
            best = t->logp;
    return best;
}

/* Keeps the statements whose probability reaches the calibration's threshold, and the most probable one. */
static void keep_likely(struct parse_list *l, const struct calibration *by)
{
    double *raw = xmalloc((size_t)l->n * sizeof *raw + 1), *p = xmalloc((size_t)l->n * sizeof *p + 1), best = 0;
    int *length = xmalloc((size_t)l->n * sizeof *length + 1), n = 0;

    for (int i = 0; i < l->n; i++) {
        raw[i] = l->items[i].logp;
        length[i] = calibration_length(l->items[i].sql);
    }
    calibration_shares(by, p, raw, length, l->n, 1);
    for (int i = 0; i < l->n; i++)
        best = fmax(best, p[i]);
    for (int i = 0; i < l->n; i++)
        if (p[i] >= fmin(by->keep, best))
            l->items[n++] = l->items[i];
        else
            free(l->items[i].sql);
    l->n = n;
    free(length);
    free(p);
    free(raw);
}

static double log_sum(double a, double b)
{
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* Merges statements of the same canonical form into the first one; their probabilities add up. */
static void join_alike(struct parse_list *l, const struct schema *s, struct arena *scratch)
{
    const char **said = xcalloc((size_t)l->n + 1, sizeof *said);
    struct form_store store = { 0 };
    int n = 0;

    for (int i = 0; i < l->n; i++) {
        struct parse_text t = l->items[i];
        struct error why = { 0 };
        const struct form *form = form_of_text(&store, t.sql, s, scratch, &why);
        int k = 0;
        said[n] = form ? form->text : t.sql;
        while (strcmp(said[k], said[n]) != 0)
            k++;
        if (k < n) {
            l->items[k].logp = log_sum(l->items[k].logp, t.logp);
            free(t.sql);
        } else
            l->items[n++] = t;
    }
    l->n = n;
    form_store_release(&store);
    free(said);
}

static void cut(struct parse_list *l, int64_t n)
{
    while (l->n > n)
        free(l->items[--l->n].sql);
}

/* Adds the first n of a list. */
static void choose(struct parse_case *c, const struct ambiqt_list *l, int n)
{
    for (int i = 0; i < l->n && i < n; i++)
        parse_list_add_as_is(&c->chosen, c, l->items[i], logp_of(c, l->items[i]));
}

void parse_case_choose(struct parse_case *c, const struct parse_request *q, const struct calibration *select,
                       struct arena *scratch)
{
    bool once = q->strategy == PARSE_LOGICAL_BEAM && !q->published;
    int first = parse_is_plain(q) ? c->plain.n : PLAIN_FIRST;
    struct ambiqt_list lists[SQL_PLANS] = { 0 }, plain = view(&c->plain), merged, collated;

    for (int i = 0; i < c->n_templates; i++)
        lists[i] = view(&c->templates[i].fills);
    ambiqt_merge(&merged, lists, c->n_templates, once ? INT64_MAX : MERGED_MAX);
    if (c->published) {
        ambiqt_collate(&collated, &plain, first, &merged, q->k);
        choose(c, &collated, collated.n);
        ambiqt_list_release(&collated);
    } else {
        choose(c, &plain, first);
        choose(c, &merged, merged.n);
        if (once)
            join_alike(&c->chosen, c->schema, scratch);
        cut(&c->chosen, q->k);
    }
    if (select)
        keep_likely(&c->chosen, select);
    ambiqt_list_release(&merged);
    for (int i = 0; i < c->n_templates; i++)
        free(lists[i].items);
    free(plain.items);
}
