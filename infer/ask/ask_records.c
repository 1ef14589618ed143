/* Part of ask.h: records in, a line for each out. */
#include "data/util/log.h"
#include "data/util/records.h"
#include "data/util/stop.h"
#include "infer/ask/asker.h"
#include "infer/clarify/clarify_simulate.h"

#include <stdlib.h>

struct ask_run {
    const struct ask_request *q;
    struct asker asker;
    struct session *session;
    struct simulator simulator;
    struct clarify_settings settings; /* of simulated dialogues */
    struct clarify_case *current;
    struct out_file out;
    struct ask_counts *counts;
};

/* Once, where there is need and a way. */
static int regenerate(struct ask_run *r, const char *where, struct error *err)
{
    struct error why = { 0 };

    if (!asker_may_regenerate(&r->asker, r->session))
        return 0;
    json_t *record = asker_regenerate(&r->asker, r->session, where, &why);
    if (!record && why.code) {
        *err = why;
        return -1;
    }
    if (!record)
        return 0;
    session_release(r->session);
    r->counts->regenerated++;
    int rc = session_start(r->session, &r->asker.context, record, NULL, where, err);
    json_decref(record);
    return rc;
}

/* The record's answers, one after the other, as far as questions are open. */
static int answer_all(struct ask_run *r, const json_t *record, const char *where, struct error *err)
{
    json_t *answers = json_object_get(record, "answers");
    const char *kind;

    if (answers && !json_get_array(record, "answers", where, err))
        return -1;
    for (size_t i = 0; i < json_array_size(answers); i++) {
        if (r->session->why != STOP_NOT)
            return error_set(err, EXIT_CODE_DATA, "%s: answers[%zu]: no question is open any more (%s)", where, i,
                             stop_reason_name(r->session->why));
        struct error why = { 0 };
        if (session_said(r->session, json_array_get(answers, i), &kind, where, &why))
            return error_set(err, EXIT_CODE_DATA, "answers[%zu]: %s", i, why.text);
        if (regenerate(r, where, err))
            return -1;
    }
    return regenerate(r, where, err);
}

static int hold_session(struct ask_run *r, const struct asked *k, const json_t *record, json_t **line,
                        const char *where, struct error *err)
{
    struct session *s = k->origin ? r->session : NULL;

    if (s && (asker_start(&r->asker, s, k, NULL, where, err) || answer_all(r, record, where, err)))
        return -1;
    *line = asker_line(&r->asker, k, s, false);
    r->counts->asked += json_is_object(json_object_get(*line, "ask"));
    if (s && s->why != STOP_NOT)
        json_object_del(*line, "session");
    return *line ? 0 : error_set(err, EXIT_CODE_DATA, "%s: the line cannot be written as JSON", where);
}

/* Dialogues about each gold statement, none of which asks anything where the question is gated. */
static int simulate_record(struct ask_run *r, const struct asked *k, json_t **line, const char *where,
                           struct error *err)
{
    struct schema_catalog *schemas = &r->asker.context.schemas;
    const struct schema *s = schema_catalog_of(schemas, k->record, where, err);
    const char *db_id = json_string_value(json_object_get(k->record, "db_id"));
    int64_t max_turns = r->q->clarify.max_turns;

    if (k->origin == FROM_NOWHERE)
        return error_set(err, EXIT_CODE_DATA, "%s: --simulate: the record has no candidates", where);
    clarify_settings_init(&r->settings, &r->q->clarify);
    if (!s || schema_catalog_connect(&r->settings.db, schemas, db_id, err))
        return -1;
    r->settings.rules.max_turns = k->gated ? 0 : (int)max_turns;
    int rc = clarify_case_read(r->current, k->record, s, &r->settings, &r->asker.context.scratch, where, err);
    *line = asker_line(&r->asker, k, NULL, false);
    json_object_del(*line, "stop");
    if (rc == 0)
        rc = simulator_record(&r->simulator, r->current, k->record, r->counts->records, &r->asker.context.scratch,
                              *line, where, err);
    clarify_case_release(r->current);
    r->settings.rules.max_turns = (int)max_turns;
    return rc;
}

static int answer_record(struct ask_run *r, json_t *record, json_t **line, const char *where, struct error *err)
{
    struct asked k;
    int rc = asker_know(&r->asker, &k, record, where, err);

    if (rc == 0) {
        r->counts->gated += k.gated;
        rc = r->q->clarify.simulate ? simulate_record(r, &k, line, where, err)
                                    : hold_session(r, &k, record, line, where, err);
    }
    session_release(r->session);
    *r->session = (struct session){ 0 };
    schema_catalog_turn(&r->asker.context.schemas);
    asked_release(&k);
    return rc;
}

/* record is NULL where it could not be read, as bad says. */
static int write_record(struct ask_run *r, json_t *record, struct record_reader *in, struct error *bad,
                        struct error *err)
{
    json_t *line = NULL, *id = json_object_get(record, "id");

    r->counts->records++;
    if (!record || answer_record(r, record, &line, record_reader_where(in), bad)) {
        r->counts->failed++;
        json_decref(line);
        line = json_pack("{s:o, s:o}", "id", id ? json_incref(id) : json_integer(record_reader_number(in)), "error",
                         json_message(bad->text));
    }
    int rc = json_write_line(&r->out, line, err);
    json_decref(line);
    return rc;
}

static int write_all(struct ask_run *r, struct record_reader *in, struct error *err)
{
    int rc = 1;

    while (rc > 0 && !stop_requested()) {
        struct error bad = { 0 };
        json_t *record = NULL;
        rc = record_reader_next(in, &record, &bad);
        if (rc < 0 && record_reader_failed(in)) {
            *err = bad;
            return -1;
        }
        if (rc)
            rc = write_record(r, record, in, &bad, err) ? -1 : 1;
        json_decref(record);
    }
    return stop_requested() ? error_set(err, stop_exit_code(), "interrupted") : rc;
}

static int run(struct ask_run *r, const char *input, struct error *err)
{
    const struct ask_request *q = r->q;
    struct record_reader *in = q->question
                                   ? record_reader_open_question(q->question, err)
                                   : record_reader_open_range(input, q->clarify.form, &q->clarify.shard.range, err);
    int rc = !in || asker_open(&r->asker, q, err) || out_file_open(&r->out, q->clarify.out, err) ? -1 : 0;

    if (rc == 0)
        rc = write_all(r, in, err);
    if (rc == 0 && q->clarify.simulate)
        rc = simulator_finish(&r->simulator, &r->out, err);
    if (rc == 0)
        rc = out_file_commit(&r->out, err);
    record_reader_close(in);
    return rc;
}

int ask_records(const struct ask_request *q, const char *input, struct ask_counts *counts, struct error *err)
{
    struct ask_run *r = xcalloc(1, sizeof *r);

    *r = (struct ask_run){
        .q = q, .counts = counts, .session = xcalloc(1, sizeof *r->session), .current = xcalloc(1, sizeof *r->current)
    };
    r->simulator = (struct simulator){ .request = &q->clarify, .settings = &r->settings, .transcripts = json_array() };
    r->simulator.rng.seed = (uint64_t)q->clarify.seed;
    clarify_settings_init(&r->settings, &q->clarify);
    stop_install();
    int rc = run(r, input, err);
    out_file_abort(&r->out);
    simulator_release(&r->simulator);
    asker_close(&r->asker);
    free(r->session);
    free(r->current);
    free(r);
    return rc;
}
