#include "infer/lm/complete_server.h"

#include "data/base/build.h"
#include "data/base/journal.h"
#include "data/base/record_reader.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "infer/lm/completer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 512 /* records in memory */ };

/* A record of the window. */
struct server_record {
    json_t *id;
    struct ask ask; /* the prompt is NULL after an error */
    char *error;    /* of the record, or NULL */
    uint64_t key;   /* hash of everything that its line depends on */
};

struct server_run {
    const struct complete_request *q;
    struct complete_counts *counts;
    struct completer completer;
    struct record_reader *in;
    struct journal journal;
    uint64_t key; /* hash of everything that all lines depend on */
    struct server_record window[WINDOW];
    int n;
};

/* Sets the prompt of a record, or its error. */
static void read_prompt(struct server_record *s, json_t *record, const char *where)
{
    json_t *messages = json_object_get(record, "messages"), *prompt = json_object_get(record, "prompt");
    bool good = messages ? json_array_size(messages) > 0 : json_is_string(prompt);
    const char *wrong = json_object_get(record, "adapter") ? "adapter: a server takes no adapter"
                        : !good ? "expected \"prompt\", a text, or \"messages\", a list of them"
                                : NULL;

    if (wrong)
        CHECK(asprintf(&s->error, "%s: %s", where, wrong) >= 0, "no memory for a message");
    else
        s->ask = (struct ask){ .prompt = json_incref(record), .by_id = true };
}

/* Reads records until the window is full or the input pauses.  Returns their number, or -1 with err. */
static int read_window(struct server_run *r, struct error *err)
{
    r->n = 0;
    while (r->n < WINDOW && (!r->n || record_reader_ready(r->in))) {
        json_t *record = NULL;
        struct error bad = { 0 };
        int rc = record_reader_next(r->in, &record, &bad);
        if (rc == 0)
            break;
        if (rc < 0 && record_reader_failed(r->in)) {
            *err = bad;
            return -1;
        }
        struct server_record *s = &r->window[r->n++];
        json_t *id = json_object_get(record, "id");
        *s = (struct server_record){ .id = id ? json_incref(id) : json_integer(record_reader_number(r->in)) };
        if (record)
            read_prompt(s, record, record_reader_where(r->in));
        else
            s->error = xstrdup(bad.text);
        char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
        s->key = hash_text(hash_text(r->key, text), s->error);
        free(text);
        json_decref(record);
    }
    return r->n;
}

static void release_window(struct server_run *r)
{
    for (int i = 0; i < r->n; i++) {
        json_decref(r->window[i].id);
        ask_release(&r->window[i].ask);
        free(r->window[i].error);
    }
    r->n = 0;
}

static json_t *text_json(const struct complete_request *q, const struct asked_text *t)
{
    json_t *o = json_pack("{s:s}", "text", t->text);

    if (q->n && !isnan(t->logp))
        json_object_set_new(o, "logprob", json_real(t->logp));
    json_object_set_new(o, "finish", json_string(t->stopped ? "stop" : "length"));
    return o;
}

static json_t *line_json(const struct complete_request *q, const struct server_record *s)
{
    json_t *o = json_pack("{s:O}", "id", s->id), *texts = json_array();
    const char *error = s->error ? s->error : s->ask.error;

    for (int i = 0; i < s->ask.n; i++)
        json_array_append_new(texts, text_json(q, &s->ask.texts[i]));
    if (error)
        json_object_set_new(o, "error", json_message(error));
    else if (q->n)
        json_object_set(o, "texts", texts);
    else
        json_object_update(o, json_array_get(texts, 0));
    json_decref(texts);
    return o;
}

static int write_line(struct server_run *r, const struct server_record *s, struct error *err)
{
    json_t *o = line_json(r->q, s);
    bool failed = s->error || s->ask.error;

    r->counts->records++;
    r->counts->failed += failed;
    int rc = journal_write(&r->journal, s->key, failed ? "1" : "0", o, err);
    json_decref(o);
    return rc;
}

/* Counts the lines of an earlier run.  Returns their number. */
static int count_lines(struct server_run *r)
{
    const char *note;
    int n = 0;

    for (; n < r->n && (note = journal_next(&r->journal, r->window[n].key)); n++)
        r->counts->failed += *note == '1';
    r->counts->records += n;
    r->counts->resumed += n;
    return n;
}

/* Asks about the records from `from` on, or counts the requests. */
static int ask_window(struct server_run *r, int from, struct error *err)
{
    struct ask *asks = xcalloc((size_t)r->n + 1, sizeof *asks);
    int64_t n = 0, k = 0;

    for (int i = from; i < r->n; i++)
        if (!r->window[i].error)
            asks[n++] = r->window[i].ask;
    int rc = (r->q->model.dry ? completer_measure : completer_ask)(&r->completer, asks, n, err);
    for (int i = from; i < r->n; i++)
        if (!r->window[i].error)
            r->window[i].ask = asks[k++];
    free(asks);
    return rc;
}

static int run_window(struct server_run *r, struct error *err)
{
    int from = r->q->model.dry ? 0 : count_lines(r), rc = ask_window(r, from, err);

    for (int i = from; i < r->n && rc == 0 && !r->q->model.dry; i++)
        rc = write_line(r, &r->window[i], err);
    return rc || r->q->model.dry ? rc : journal_flush(&r->journal, err);
}

static int run(struct server_run *r, const char *input, struct error *err)
{
    const struct complete_request *q = r->q;
    int n = 1, rc = 0;

    if (!(r->in = record_reader_open_range(input, q->format_in, &q->shard.range, err)))
        return -1;
    if (!q->model.dry && journal_open(&r->journal, q->out, q->resume, err))
        return -1;
    r->journal.digits = 9;
    while (rc == 0 && n > 0 && !stop_requested()) {
        n = read_window(r, err);
        rc = n > 0 ? run_window(r, err) : n;
        release_window(r);
    }
    if (rc || stop_requested())
        return -1;
    return q->model.dry ? 0 : journal_commit(&r->journal, q->out, err);
}

static struct engine_settings settings_of(const struct complete_request *q)
{
    return (struct engine_settings){ .max_new = q->max_new,
                                     .answers = q->n ? (int)q->n : 1,
                                     .keep = q->n > 0,
                                     .draw = { .temperature = (float)q->temperature,
                                               .top_k = (int)q->top_k,
                                               .top_p = (float)q->top_p,
                                               .typical_p = (float)q->typical_p,
                                               .min_p = (float)q->min_p,
                                               .seed = (uint64_t)q->seed } };
}

int complete_on_server(const struct complete_request *q, struct endpoint *server, const char *input,
                       struct complete_counts *counts, struct error *err)
{
    struct server_run *r = xcalloc(1, sizeof *r);

    r->q = q;
    r->counts = counts;
    r->completer = (struct completer){ .server = server, .set = settings_of(q), .stop = q->stop };
    r->key = hash_text(hash_text(completer_key(&r->completer), build_version()), q->stop);
    stop_install_waiting();
    int rc = run(r, input, err);
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    journal_close(&r->journal, rc != 0, err);
    record_reader_close(r->in);
    free(r);
    return rc;
}
