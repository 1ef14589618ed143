#include "infer/clarify/clarify.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "infer/clarify/evidence_files.h"
#include "infer/clarify/recall.h"
#include "infer/clarify/simulate.h"
#include "infer/clarify/wordings.h"

#include <math.h>
#include <stdlib.h>

enum { ARENA_BYTES = 256 << 20 }; /* for the trees of a record's statements; unused pages are never touched */

struct clarifier {
    struct schema_catalog schemas;
    struct evidence_files evidence_files;
    struct clarify_settings settings;
    struct arena scratch;
    struct clarify_counts *counts;
    struct clarify_case *current;
    const struct clarify_request *request;
    struct simulator simulator;
    struct wordings wordings;
    struct choice_memory memory;
};

const struct clarify_request clarify_request_default = { .out = "-",
                                                         .strategy = STRATEGY_EIG,
                                                         .noise = 0.05,
                                                         .confidence = 2,
                                                         .auto_choice = NAN,
                                                         .min_gain = 0.05,
                                                         .max_turns = 3,
                                                         .seed = 1,
                                                         .device = "auto",
                                                         .lm = ENDPOINT_DEFAULTS("lm") };

void clarify_settings_init(struct clarify_settings *s, const struct clarify_request *q)
{
    *s = (struct clarify_settings){ .rules = dialogue_rules_default, .noise = q->noise };
    s->rules.strategy = q->strategy;
    s->rules.max_turns = (int)q->max_turns;
    s->auto_choice = !isnan(q->auto_choice);
    s->rules.confidence = s->auto_choice ? q->auto_choice : q->confidence;
    s->rules.ask_first = s->auto_choice;
    s->rules.min_gain = q->min_gain;
    s->rules.second = q->second_cost;
    s->rules.repeat = q->repeat;
    s->rules.fallback = true;
    s->rules.seed = (uint64_t)q->seed;
}

static int simulate_record(struct clarifier *c, const json_t *record, json_t *out, const char *where, struct error *err)
{
    const struct simulation *own = &c->simulator.by[c->settings.rules.strategy];
    int n = own->n,
        rc = simulator_record(&c->simulator, c->current, record, c->counts->records, &c->scratch, out, where, err);

    for (; n < own->n; n++)
        c->counts->asked += own->list[n].turns;
    c->counts->gold_errors = own->gold_errors;
    return rc;
}

/* Reads a record joined with the evidence files.  Golds and their labels stay those of the record. */
static int read_case(struct clarifier *c, json_t *record, const struct schema *schema, const char *where,
                     struct error *err)
{
    json_t *joined = evidence_files_join(&c->evidence_files, record, schema, where, err);
    int rc = joined ? clarify_case_read(c->current, joined, schema, &c->settings, &c->scratch, where, err) : -1;

    json_decref(joined);
    return rc;
}

static int read_record(struct clarifier *c, json_t *record, json_t *out, const char *where, struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    const char *question = db_id ? json_get_string(record, "question", where, err) : NULL;
    const struct schema *schema = question ? schema_catalog_of(&c->schemas, record, where, err) : NULL;

    if (!schema || schema_catalog_connect(&c->settings.db, &c->schemas, db_id, err) ||
        read_case(c, record, schema, where, err))
        return -1;
    c->current->evidence.samples = schema_catalog_samples(&c->schemas, db_id);
    if (c->request->write_wordings)
        return 0;
    if (!c->request->simulate)
        recall_apply(c->current);
    json_object_set(out, "id", json_object_get(record, "id"));
    json_object_set_new(out, "db_id", json_string(db_id));
    json_object_set_new(out, "question", json_string(question));
    if (c->request->simulate ? simulate_record(c, record, out, where, err) : clarify_case_json(c->current, out, err))
        return -1;
    c->counts->asked += json_is_object(json_object_get(out, "ask"));
    c->counts->rejected += (int64_t)json_array_size(c->current->rejected);
    return 0;
}

/* Writes the prompts of a record's questions.  A record with an error has none. */
static int write_prompts(struct clarifier *c, json_t *json, const struct record_reader *in, struct out_file *out,
                         struct error *err)
{
    json_t *unused = json_object();

    if (!json || read_record(c, json, unused, record_reader_where(in), err) ||
        wordings_prompts(&c->wordings, c->current, json, out, err)) {
        c->counts->failed++;
        log_error("%s", err->text);
        *err = (struct error){ 0 };
    }
    json_decref(unused);
    return 0;
}

/* json is NULL if the record could not be read; err has the error. */
static int write_line(struct clarifier *c, json_t *json, const struct record_reader *in, struct out_file *out,
                      struct error *err)
{
    json_t *o = json_object(), *id = json_object_get(json, "id");

    if (!json || read_record(c, json, o, record_reader_where(in), err)) {
        c->counts->failed++;
        json_decref(o);
        o = json_pack("{s:o, s:o}", "id", id ? json_incref(id) : json_integer(record_reader_number(in)), "error",
                      json_message(err->text));
        *err = (struct error){ 0 };
    }
    int rc = json_write_line(out, o, err);
    json_decref(o);
    return rc;
}

static int write_record(struct clarifier *c, json_t *json, const struct record_reader *in, struct out_file *out,
                        struct error *err)
{
    c->counts->records++;
    schema_catalog_name(&c->schemas, json);
    int rc = c->request->write_wordings ? write_prompts(c, json, in, out, err) : write_line(c, json, in, out, err);
    clarify_case_release(c->current);
    schema_catalog_turn(&c->schemas);
    return rc;
}

static int write_all(struct clarifier *c, struct record_reader *in, struct out_file *out, struct error *err)
{
    struct progress progress;
    int rc = 1;

    progress_start(&progress, "clarifying", "records",
                   record_file_total(c->request->candidates, c->request->format_in, &c->request->shard.range));
    while (!stop_requested()) {
        json_t *json = NULL;
        rc = record_reader_next(in, &json, err);
        if (rc == 0 || (rc < 0 && record_reader_failed(in)))
            break;
        rc = write_record(c, json, in, out, err);
        json_decref(json);
        if (rc)
            break;
        progress_update(&progress, c->counts->records, (double)c->counts->records, NULL);
        rc = 1;
    }
    progress_end(&progress);
    return rc;
}

int clarify(const struct clarify_request *q, struct clarify_counts *counts, struct error *err)
{
    struct clarifier c = { .counts = counts, .request = q, .current = xcalloc(1, sizeof *c.current) };
    struct out_file out = { 0 };
    struct record_reader *in = NULL;
    int rc = -1;

    stop_install();
    clarify_settings_init(&c.settings, q);
    c.simulator = (struct simulator){ .request = q, .settings = &c.settings, .transcripts = json_array() };
    c.simulator.rng.seed = (uint64_t)q->seed;
    if (evidence_files_open(&c.evidence_files, q->predictions, q->spans, err) ||
        arena_init(&c.scratch, ARENA_BYTES, err) || schema_catalog_open(&c.schemas, q->schema, q->db, err) ||
        !(in = record_reader_open_range(q->candidates, q->format_in, &q->shard.range, err)) ||
        wordings_open(&c.wordings, q->wordings, &q->wording_model, err) ||
        (q->memory && choice_memory_open(&c.memory, q->memory, err)) ||
        out_file_open(&out, q->write_wordings ? q->write_wordings : q->out, err))
        goto out;
    c.settings.wordings = wordings_or_none(&c.wordings);
    c.settings.judge = wordings_judge(&c.wordings);
    c.settings.memory = q->memory ? &c.memory : NULL;
    rc = write_all(&c, in, &out, err);
    if (rc == 0 && q->simulate)
        rc = simulator_finish(&c.simulator, &out, err);
    if (rc == 0)
        rc = out_file_commit(&out, err);
    if (rc == 0) {
        evidence_files_warn(&c.evidence_files);
        wordings_tell(&c.wordings);
    }
out:
    out_file_abort(&out);
    if (in)
        record_reader_close(in);
    simulator_release(&c.simulator);
    schema_catalog_close(&c.schemas);
    evidence_files_close(&c.evidence_files);
    wordings_close(&c.wordings);
    choice_memory_close(&c.memory);
    arena_release(&c.scratch);
    free(c.current);
    return rc;
}
