#include "infer/clarify.h"

#include "data/log.h"
#include "data/stop.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 64 << 20 }; /* one statement's tree; only what is used is ever touched */

struct clarifier {
    struct schema_shelf schemas;
    struct clarify_settings settings;
    struct arena scratch;
    struct clarify_counts *counts;
    struct clarify_case *at_hand;
    const struct clarify_request *request;
    struct simulation simulation;
};

void clarify_settle(struct clarify_settings *s, const struct clarify_request *q)
{
    *s = (struct clarify_settings){ dialogue_rules_default, q->noise };
    s->rules.strategy = strategy_of_name(q->strategy);
    s->rules.max_turns = (int)q->max_turns;
    s->rules.tau = q->tau;
    s->rules.min_bits = q->min_bits;
    s->rules.second = q->second_cost;
    s->rules.forget = strcmp(q->memory, "off") == 0;
    s->rules.last_resort = true;
    s->rules.seed = (uint64_t)q->seed;
}

/* Each record and gold statement has its own user, whatever came before. */
static struct user user_of(const struct clarifier *c, size_t gold)
{
    const uint64_t key[] = { (uint64_t)c->request->seed, (uint64_t)c->counts->records, gold };
    return (struct user){ c->request->user_noise, c->request->user_unknown, hash_bytes(HASH_START, key, sizeof key) };
}

static json_t *talk(struct clarifier *c, const json_t *record, const struct truth *t, size_t gold)
{
    struct clarify_case *k = c->at_hand;
    struct user user = user_of(c, gold);
    json_t *turns = json_array();
    struct outcome o;

    dialogue_release(&k->dialogue);
    dialogue_init(&k->dialogue, &c->settings.rules, k->variables.splits, k->variables.n, &k->prior);
    simulate(&o, k, t, &user, turns);
    o.record = (int)c->counts->records;
    o.unambiguous = json_is_false(json_object_get(record, "ambiguous"));
    GROW(c->simulation.list, c->simulation.n, c->simulation.cap);
    c->simulation.list[c->simulation.n++] = o;
    c->counts->asked += o.turns;
    return json_pack("{s:I, s:b, s:b, s:b, s:f, s:s, s:o}", "gold", (json_int_t)gold, "covered", o.covered, "right",
                     o.right[o.turns], "handed_over", o.handed_over, "confidence", o.confidence, "best",
                     k->sql[belief_best(&k->dialogue.now)], "turns", turns);
}

/* A dialogue about each gold statement; one that cannot be read is an error and no dialogue. */
static int simulate_record(struct clarifier *c, const json_t *record, json_t *out, const char *where, struct error *err)
{
    const json_t *golds = json_get_array(record, "gold", where, err);
    json_t *list = json_array(), *gold;
    size_t i;

    json_object_set_new(out, "dialogues", list);
    if (!golds)
        return -1;
    json_array_foreach(golds, i, gold)
    {
        struct truth t = { 0 };
        struct error bad = { 0 };
        const char *sql = json_string_value(gold);
        if (!sql || truth_read(&t, c->at_hand, sql, &c->scratch, &bad)) {
            c->simulation.gold_errors++;
            json_array_append_new(list, json_pack("{s:I, s:o}", "gold", (json_int_t)i, "error",
                                                  json_message(sql ? bad.text : "not a string")));
        } else {
            json_array_append_new(list, talk(c, record, &t, i));
        }
        truth_release(&t);
    }
    c->counts->gold_errors = c->simulation.gold_errors;
    return 0;
}

static int read_record(struct clarifier *c, const json_t *record, json_t *out, const char *where, struct error *err)
{
    const char *id = json_get_string(record, "id", where, err);
    const char *db_id = id ? json_get_string(record, "db_id", where, err) : NULL;
    const char *question = db_id ? json_get_string(record, "question", where, err) : NULL;
    const struct schema *schema = question ? schema_shelf_of(&c->schemas, record, where, err) : NULL;

    if (!schema || clarify_case_read(c->at_hand, record, schema, &c->settings, &c->scratch, where, err))
        return -1;
    c->at_hand->hints.samples = schema_shelf_samples(&c->schemas, db_id);
    json_object_set_new(out, "id", json_string(id));
    json_object_set_new(out, "db_id", json_string(db_id));
    json_object_set_new(out, "question", json_string(question));
    if (c->request->simulate ? simulate_record(c, record, out, where, err) : clarify_case_json(c->at_hand, out, err))
        return -1;
    c->counts->asked += json_is_object(json_object_get(out, "ask"));
    c->counts->left_out += (int64_t)json_array_size(c->at_hand->left_out);
    return 0;
}

/* json is NULL when the line could not be read, as err says. */
static int write_record(struct clarifier *c, const json_t *json, const char *where, struct out_file *out,
                        struct error *err)
{
    json_t *o = json_object();
    int rc = 0;

    c->counts->records++;
    if (!json || read_record(c, json, o, where, err)) {
        c->counts->failed++;
        json_decref(o);
        o = json_pack("{s:O?, s:o}", "id", json_object_get(json, "id"), "error", json_message(err->text));
        *err = (struct error){ 0 };
    }
    clarify_case_release(c->at_hand);
    rc = json_write_line(out, o, err);
    json_decref(o);
    return rc;
}

static int write_all(struct clarifier *c, struct json_reader *in, struct out_file *out, struct error *err)
{
    struct progress progress;
    int rc = 1;

    progress_start(&progress, "clarifying", "records", 0);
    while (!stop_requested()) {
        json_t *json = NULL;
        rc = json_reader_next(in, &json, err);
        if (rc == 0)
            break;
        rc = write_record(c, json, json_reader_where(in), out, err);
        json_decref(json);
        if (rc)
            break;
        progress_update(&progress, c->counts->records, (double)c->counts->records, NULL);
        rc = 1;
    }
    progress_end(&progress);
    return rc;
}

static int write_metrics(struct clarifier *c, struct out_file *out, struct error *err)
{
    json_t *o = json_pack("{s:s, s:f, s:f, s:f, s:i, s:o}", "strategy", strategy_name(c->settings.rules.strategy),
                          "noise", c->settings.noise, "user_noise", c->request->user_noise, "user_unknown",
                          c->request->user_unknown, "max_turns", c->settings.rules.max_turns, "metrics",
                          simulation_metrics(&c->simulation, c->settings.rules.max_turns));
    int rc = json_write_line(out, o, err);
    json_decref(o);
    return rc;
}

int clarify(const struct clarify_request *q, struct clarify_counts *counts, struct error *err)
{
    struct clarifier c = { .counts = counts, .request = q, .at_hand = xcalloc(1, sizeof *c.at_hand) };
    struct out_file out = { 0 };
    struct json_reader *in = NULL;
    int rc = -1;

    stop_install();
    clarify_settle(&c.settings, q);
    if (arena_init(&c.scratch, ARENA_BYTES, err) || schema_shelf_open(&c.schemas, q->schema, q->db, err) ||
        !(in = json_reader_open(q->candidates, err)) || out_file_open(&out, q->out, err))
        goto out;
    rc = write_all(&c, in, &out, err);
    if (rc == 0 && q->simulate)
        rc = write_metrics(&c, &out, err);
    if (rc == 0)
        rc = out_file_commit(&out, err);
out:
    out_file_abort(&out);
    if (in)
        json_reader_close(in);
    simulation_release(&c.simulation);
    schema_shelf_close(&c.schemas);
    arena_release(&c.scratch);
    free(c.at_hand);
    return rc;
}
