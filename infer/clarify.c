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
};

static void settle(struct clarifier *c, const struct clarify_request *q)
{
    c->settings = (struct clarify_settings){ dialogue_rules_default, q->noise };
    c->settings.rules.strategy = strategy_of_name(q->strategy);
    c->settings.rules.max_turns = (int)q->max_turns;
    c->settings.rules.last_resort = true;
}

static int read_record(struct clarifier *c, const json_t *record, json_t *out, const char *where, struct error *err)
{
    const char *id = json_get_string(record, "id", where, err);
    const char *db_id = id ? json_get_string(record, "db_id", where, err) : NULL;
    const char *question = db_id ? json_get_string(record, "question", where, err) : NULL;
    const struct schema *schema = question ? schema_shelf_find(&c->schemas, db_id, where, err) : NULL;

    if (!schema || clarify_case_read(c->at_hand, record, schema, &c->settings, &c->scratch, where, err))
        return -1;
    json_object_set_new(out, "id", json_string(id));
    json_object_set_new(out, "db_id", json_string(db_id));
    json_object_set_new(out, "question", json_string(question));
    if (clarify_case_json(c->at_hand, out, err))
        return -1;
    c->counts->asked += !json_is_null(json_object_get(out, "ask"));
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

int clarify(const struct clarify_request *q, struct clarify_counts *counts, struct error *err)
{
    struct clarifier c = { .counts = counts, .at_hand = xcalloc(1, sizeof *c.at_hand) };
    struct out_file out = { 0 };
    struct json_reader *in = NULL;
    int rc = -1;

    stop_install();
    settle(&c, q);
    if (arena_init(&c.scratch, ARENA_BYTES, err) || schema_shelf_open(&c.schemas, q->schema, q->db, err) ||
        !(in = json_reader_open(q->candidates, err)) || out_file_open(&out, q->out, err))
        goto out;
    rc = write_all(&c, in, &out, err);
    if (rc == 0)
        rc = out_file_commit(&out, err);
out:
    out_file_abort(&out);
    if (in)
        json_reader_close(in);
    schema_shelf_close(&c.schemas);
    arena_release(&c.scratch);
    free(c.at_hand);
    return rc;
}
