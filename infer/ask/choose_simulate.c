#include "infer/ask/choose_simulate.h"

#include "data/clarify/evidence.h"
#include "data/eval/score.h"
#include "data/sql/sql.h"
#include "infer/clarify/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One dialogue. */
struct held {
    struct pipeline *pipeline;
    struct session *session;
    const struct asked *asked;
    const json_t *used; /* [golds] names of the elements that each gold statement uses, as keys */
    size_t meant;       /* number of the meant gold statement */
    struct simulated_user user;
    struct choose_dialogue out;
    json_t *turns;
};

/* Names of the tables and columns that a statement uses, as keys of an object.  Returns NULL with EXIT_CODE_DATA. */
static json_t *used_elements(const char *sql, const struct schema *s, struct arena *trees, struct error *err)
{
    struct sql_uses uses;
    struct strings pool = { 0 };
    json_t *names = json_object();
    struct sql_query *q = sql_parse(trees, sql, err);
    bool good = q && sql_resolve(trees, q, s, &uses, err) == 0;

    for (int i = 0; good && i < uses.n; i++) {
        const struct sql_use *u = &uses.list[i];
        if (u->table >= 0)
            json_object_set_new(names, evidence_element_name(s, u->table, &pool), json_true());
        if (u->column >= 0)
            json_object_set_new(names, evidence_element_name(s, s->n_tables + u->column, &pool), json_true());
    }
    strings_release(&pool);
    arena_reset(trees, 0);
    if (good)
        return names;
    json_decref(names);
    return NULL;
}

/* Whether the gold statement uses all elements that the user has chosen. */
static bool fits(const json_t *used, const json_t *elements)
{
    for (size_t i = 0; i < json_array_size(elements); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(elements, i), "element"));
        if (name && !json_object_get(used, name))
            return false;
    }
    return true;
}

/* Whether the elements fit the meant gold statement alone. */
static bool is_reached(const struct held *h, const json_t *elements)
{
    for (size_t i = 0; i < json_array_size(h->used); i++)
        if (fits(json_array_get(h->used, i), elements) != (i == h->meant))
            return false;
    return true;
}

/* Judges the elements that the dialogue has chosen so far. */
static int judge(struct held *h, const char *where, struct error *err)
{
    struct choose_outcome o;
    int rc = choose_outcome(&o, h->session, where, err);

    h->out.reached[h->out.questions] = rc == 0 && is_reached(h, json_object_get(o.rewrite, "elements"));
    choose_outcome_release(&o);
    return rc;
}

/* Option whose element the meant statement uses; -1: none.  *several: more than one. */
static int honest_option(const struct held *h, const json_t *ask, bool *several)
{
    const json_t *options = json_object_get(ask, "options"), *used = json_array_get(h->used, h->meant);
    int found = -1, n = 0;

    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(options, i), "element"));
        if (name && json_object_get(used, name)) {
            found = (int)i;
            n++;
        }
    }
    *several = n > 1;
    return found;
}

/* The user's answer to the open question, whose JSON becomes a turn.  Takes the JSON. */
static struct answer reply(const struct held *h, json_t *ask, struct rng *rng)
{
    bool several;
    int honest = honest_option(h, ask, &several);
    struct answer a = simulated_answer(&h->user, rng, &h->session->view, honest);

    if (several)
        a = (struct answer){ .kind = ANSWER_UNKNOWN };
    json_object_set_new(ask, "answer", json_string(answer_kind_name(a.kind)));
    if (a.kind == ANSWER_VALUE)
        json_object_set(ask, "chosen",
                        json_object_get(json_array_get(json_object_get(ask, "options"), (size_t)a.value), "element"));
    json_array_append_new(h->turns, ask);
    return a;
}

/* Asks and answers until no question about any choice is left. */
static int hold(struct held *h, const char *where, struct error *err)
{
    struct session *s = h->session;
    struct rng rng = { .seed = h->user.seed };
    int rc = pipeline_start(h->pipeline, s, h->asked, NULL, where, err) || judge(h, where, err) ? -1 : 0;

    while (rc == 0 && s->why == STOP_NOT && h->out.questions < DIALOGUE_MAX_TURNS) {
        json_t *ask = clarify_question_json(&s->current, &s->view);
        choose_name_options(ask, s);
        if (session_answer(s, reply(h, ask, &rng)))
            break;
        session_next(s);
        h->out.questions++;
        rc = judge(h, where, err) || pipeline_next_choice(h->pipeline, s, where, err) < 0 ? -1 : 0;
    }
    return rc;
}

static void keep(struct choose_simulation *x, const struct choose_dialogue *d)
{
    GROW(x->list, x->n, x->cap);
    x->list[x->n] = *d;
    for (int i = d->questions + 1; i <= DIALOGUE_MAX_TURNS; i++)
        x->list[x->n].reached[i] = d->reached[d->questions];
    x->n++;
}

/* Holds the dialogue about one gold statement and appends its JSON to the list. */
static int hold_one(struct choose_simulation *x, struct held *h, size_t gold, json_t *list, const char *where,
                    struct error *err)
{
    const json_t *record = h->asked->record;
    const char *database = json_string_value(json_object_get(record, "source_db"));
    int rc = 0;

    if (!database)
        database = json_string_value(json_object_get(record, "db_id"));
    h->out = (struct choose_dialogue){ .golds = (int)json_array_size(h->used),
                                       .database = strings_add(&x->databases, database) };
    h->meant = gold;
    h->turns = json_array();
    if (h->asked->origin == FROM_ELEMENTS)
        rc = hold(h, where, err);
    else
        h->out.reached[0] = h->out.golds == 1;
    session_release(h->session);
    *h->session = (struct session){ 0 };
    json_array_append_new(list, json_pack("{s:I, s:b, s:i, s:o}", "gold", (json_int_t)gold, "reached",
                                          h->out.reached[h->out.questions], "questions", h->out.questions, "turns",
                                          h->turns));
    if (rc == 0)
        keep(x, &h->out);
    return rc;
}

/* Reads the elements of all gold statements.  A record with one that cannot be read has no dialogues. */
static json_t *read_golds(struct choose_simulation *x, struct pipeline *a, const json_t *record, json_t *list,
                          const char *where, struct error *err)
{
    const struct schema *s = schema_catalog_of(&a->context.schemas, record, where, err);
    const json_t *golds = s ? json_get_array(record, "gold", where, err) : NULL;
    json_t *used = golds ? json_array() : NULL;

    for (size_t i = 0; i < json_array_size(golds); i++) {
        const char *sql = json_string_value(json_array_get(golds, i));
        struct error bad = { .text = "not a string" };
        json_t *names = sql ? used_elements(sql, s, &a->trees, &bad) : NULL;
        if (names) {
            json_array_append_new(used, names);
            continue;
        }
        x->gold_errors++;
        json_array_append_new(list, json_pack("{s:I, s:o}", "gold", (json_int_t)i, "error", json_message(bad.text)));
    }
    return used;
}

int choose_simulate(struct choose_simulation *x, struct pipeline *a, struct session *s, const struct asked *k,
                    int64_t number, json_t *line, const char *where, struct error *err)
{
    json_t *list = json_array(), *used = read_golds(x, a, k->record, list, where, err);
    size_t n = json_array_size(json_object_get(k->record, "gold"));
    struct held h = { .pipeline = a, .session = s, .asked = k, .used = used };
    int rc = used ? 0 : -1;

    json_object_set_new(line, "dialogues", list);
    for (size_t i = 0; i < n && json_array_size(used) == n && rc == 0; i++) {
        h.user = simulated_user_of(&a->q->clarify, number, i);
        rc = hold_one(x, &h, i, list, where, err);
    }
    json_decref(used);
    return rc;
}

/* Metrics. */

/* The mean of values of n dialogues, with an interval over databases. */
static json_t *mean_json(const struct choose_simulation *x, const double *values, const int *group, int n)
{
    struct score_mean m = score_mean(values, n, group, x->databases.n);

    return json_pack("{s:o, s:o, s:i}", "mean", clarify_rounded(m.mean), "interval", score_interval_json(m.interval),
                     "n", n);
}

/* A row about the dialogues with this number of gold statements; 0: all. */
static json_t *row_json(const struct choose_simulation *x, int golds, int max_turns)
{
    double *values = xcalloc((size_t)x->n + 1, sizeof *values);
    int *group = xcalloc((size_t)x->n + 1, sizeof *group), *in = xcalloc((size_t)x->n + 1, sizeof *in), n = 0;
    json_t *reached = json_array();

    for (int i = 0; i < x->n; i++)
        if (!golds || x->list[i].golds == golds) {
            group[n] = x->list[i].database;
            in[n++] = i;
        }
    for (int turns = 0; turns <= max_turns && n; turns++) {
        for (int i = 0; i < n; i++)
            values[i] = x->list[in[i]].reached[turns];
        json_array_append_new(reached, mean_json(x, values, group, n));
    }
    for (int i = 0; i < n; i++)
        values[i] = x->list[in[i]].questions;
    json_t *row = json_pack("{s:i, s:o, s:o}", "dialogues", n, "reached", reached, "questions",
                            n ? mean_json(x, values, group, n) : json_null());
    if (golds)
        json_object_set_new(row, "golds", json_integer(golds));
    free(values);
    free(group);
    free(in);
    return row;
}

/* The smallest number of gold statements above `after`, or 0. */
static int next_golds(const struct choose_simulation *x, int after)
{
    int next = 0;

    for (int i = 0; i < x->n; i++)
        if (x->list[i].golds > after && (!next || x->list[i].golds < next))
            next = x->list[i].golds;
    return next;
}

int choose_simulation_write(const struct choose_simulation *x, const struct clarify_request *q, struct out_file *out,
                            struct error *err)
{
    json_t *metrics = row_json(x, 0, (int)q->max_turns), *rows = json_array();

    for (int golds = 0; (golds = next_golds(x, golds));)
        json_array_append_new(rows, row_json(x, golds, (int)q->max_turns));
    json_object_set_new(metrics, "databases", json_integer(x->databases.n));
    json_object_set_new(metrics, "gold_errors", json_integer(x->gold_errors));
    json_object_set_new(metrics, "by_golds", rows);
    json_t *o = json_pack("{s:s, s:f, s:f, s:I, s:o}", "subject", "elements", "user_noise", q->user_noise,
                          "user_unknown", q->user_unknown, "max_turns", (json_int_t)q->max_turns, "metrics", metrics);
    int rc = json_write_line(out, o, err);
    json_decref(o);
    return rc;
}

void choose_simulation_release(struct choose_simulation *x)
{
    free(x->list);
    strings_release(&x->databases);
    *x = (struct choose_simulation){ 0 };
}
