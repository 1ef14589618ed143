#include "infer/tag/tag.h"

#include "data/base/build.h"
#include "data/base/journal.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "data/span/tagging.h"
#include "infer/tag/tagger.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = TAG_GROUP };

/* Contributions of a line to the counts, one bit each. */
enum tag_note { NOTE_CLEAR, NOTE_AMBIGUOUS, NOTE_UNANSWERABLE, NOTE_BOTH, NOTE_FAILED };
static const char *const notes[] = { "clear", "ambiguous", "unanswerable", "both", "failed" };

struct tag_record {
    json_t *json;
    char *error;            /* NULL: the record can be tagged */
    struct span_record own; /* columns of the record, if it has any */
    struct tag_source own_source;
    struct tag_database *database; /* else the database */
    struct tag_matches values;
    uint64_t key; /* hash of everything that its line depends on */
};

struct tag_run {
    const struct tag_request *q;
    struct tagger tagger;
    struct tag_databases databases;
    struct record_reader *in;
    struct journal journal;
    struct progress progress;
    uint64_t key; /* hash of everything that all lines depend on */
    struct tag_record group[GROUP];
    int n;
    struct tag_counts *counts;
};

static int open_out(struct tag_run *t, struct error *err)
{
    static journal_print_fn *const prints[] = {
        [TAG_TEXT] = tag_print_text, [TAG_HTML] = tag_print_html, [TAG_CSV] = tag_print_rows
    };
    const enum tag_format format = t->q->format;

    if (journal_open(&t->journal, t->q->out, t->q->resume, err))
        return -1;
    t->journal.digits = 9;
    if (format != TAG_JSONL)
        t->journal.print = prints[format];
    if (format == TAG_HTML) {
        t->journal.head = tag_html_head;
        t->journal.foot = tag_html_foot;
    }
    if (format == TAG_CSV)
        t->journal.head = tag_table_head;
    return 0;
}

static struct record_reader *open_input(const struct tag_request *q, const char *input, struct error *err)
{
    return q->question ? record_reader_open_question(q->question, err)
                       : record_reader_open_range(input, q->format_in, &q->shard.range, err);
}

static int open_all(struct tag_run *t, const char *input, struct error *err)
{
    const struct tag_request *q = t->q;

    if (tag_databases_open(&t->databases, q->schema, q->db, q->index_mib << 20, err) ||
        tagger_open(&t->tagger, q, err) || !(t->in = open_input(q, input, err)))
        return -1;
    const int64_t numbers[] = { q->format, q->index_mib };
    t->key = hash_bytes(hash_text(HASH_START, build_version()), numbers, sizeof numbers);
    t->key = hash_bytes(t->key, &t->tagger.key, sizeof t->tagger.key);
    return open_out(t, err);
}

static void close_all(struct tag_run *t)
{
    record_reader_close(t->in);
    tag_databases_close(&t->databases);
    if (t->tagger.close)
        t->tagger.close(t->tagger.self);
}

/* Finds the columns or the database of a record.  Returns -1 with err. */
static int read_columns(struct tag_run *t, struct tag_record *r, const char *where, struct error *err)
{
    if (!t->q->db && json_object_get(r->json, "columns"))
        return span_record_init_question(&r->own, json_incref(r->json), where, err);
    const char *db_id = json_get_string(r->json, "db_id", where, err);
    r->database = db_id ? tag_databases_find(&t->databases, db_id, where, err) : NULL;
    return r->database ? 0 : -1;
}

/* Hash of the record or its error, of its database and of the run. */
static uint64_t key_of(const struct tag_run *t, const struct tag_record *r)
{
    char *text = json_dumps(r->json, JSON_COMPACT);
    uint64_t hash = r->database ? r->database->hash : 0;
    uint64_t h = hash_text(hash_text(hash_bytes(t->key, &hash, sizeof hash), text), r->error);

    free(text);
    return h;
}

/* Takes json, which is NULL if it could not be read; bad has the error. */
static void add_record(struct tag_run *t, json_t *json, struct error *bad)
{
    const char *where = record_reader_where(t->in);
    struct tag_record *r = &t->group[t->n++];
    bool good = json != NULL;

    schema_catalog_name(&t->databases.schemas, json);
    *r = (struct tag_record){ .json = good ? json : json_pack("{s:I}", "id", record_reader_number(t->in)) };
    if (!good || !json_get_string(r->json, "question", where, bad) || read_columns(t, r, where, bad))
        r->error = xstrdup(bad->text);
    r->key = key_of(t, r);
}

/* Prepares a question, or sets its error when the database cannot be read. */
static struct tag_question ask(struct tag_run *t, struct tag_record *r)
{
    const char *question = json_string_value(json_object_get(r->json, "question"));
    struct tag_source *source = &r->own_source;
    struct error bad;

    if (r->database)
        source = tag_database_source(&t->databases, r->database, &bad);
    else
        tag_source_of(source, r->own.columns, r->own.n_columns);
    if (source)
        return tag_source_ask(source, question, &r->values);
    r->error = xstrdup(bad.text);
    return (struct tag_question){ 0 };
}

static enum tag_note note_of(const struct tag_answer *a)
{
    int note = NOTE_CLEAR;

    for (int i = 0; i < a->n_spans; i++)
        note |= a->spans[i].label == SPAN_AMB   ? NOTE_AMBIGUOUS
                : a->spans[i].label == SPAN_UNK ? NOTE_UNANSWERABLE
                                                : NOTE_CLEAR;
    return (enum tag_note)note;
}

static void count(struct tag_counts *c, enum tag_note note)
{
    c->records++;
    c->failed += note == NOTE_FAILED;
    c->ambiguous += note == NOTE_AMBIGUOUS || note == NOTE_BOTH;
    c->unanswerable += note == NOTE_UNANSWERABLE || note == NOTE_BOTH;
}

static int write_line(struct tag_run *t, const struct tag_record *r, const struct tag_question *q,
                      const struct tag_answer *a, struct error *err)
{
    const json_t *id = json_object_get(r->json, "id");
    const char *db_id = json_string_value(json_object_get(r->json, "db_id"));
    json_t *line = r->error ? NULL : tag_json(id, db_id, q, a);
    enum tag_note note = line ? note_of(a) : NOTE_FAILED;

    if (!line)
        line = json_pack("{s:O*, s:o}", "id", id, "error",
                         json_message(r->error ? r->error : "a name or a value of its database is no UTF-8"));
    count(t->counts, note);
    int rc = journal_write(&t->journal, r->key, notes[note], line, err);
    json_decref(line);
    return rc;
}

/* Counts the lines of the group from an earlier run. */
static int count_lines(struct tag_run *t)
{
    const char *text;
    int n = 0;

    for (; n < t->n && (text = journal_next(&t->journal, t->group[n].key)); n++)
        for (int k = 0; k < ARRAY_LEN(notes); k++)
            if (strcmp(notes[k], text) == 0)
                count(t->counts, (enum tag_note)k);
    t->counts->resumed += n;
    return n;
}

/* Tags the whole group, so that its lines equal those of an uninterrupted run, and writes those from `from` on. */
static int tag_group(struct tag_run *t, int from, struct error *err)
{
    struct tag_question questions[GROUP] = { 0 };
    struct tag_answer answers[GROUP] = { 0 };
    char *errors[GROUP] = { NULL };
    int of[GROUP] = { 0 }, n = 0, rc;

    for (int i = 0; i < t->n; i++) {
        of[i] = n;
        if (!t->group[i].error)
            questions[n] = ask(t, &t->group[i]);
        n += !t->group[i].error;
    }
    rc = t->tagger.tag(t->tagger.self, answers, errors, questions, n, err);
    for (int i = 0; i < t->n && rc == 0; i++) {
        struct tag_record *r = &t->group[i];
        if (!r->error && errors[of[i]])
            r->error = xstrdup(errors[of[i]]);
        if (i >= from)
            rc = write_line(t, r, &questions[of[i]], &answers[of[i]], err);
    }
    for (int i = 0; i < n; i++) {
        tag_answer_release(&answers[i]);
        free(errors[i]);
    }
    return rc ? -1 : journal_flush(&t->journal, err);
}

static void clear_group(struct tag_run *t)
{
    for (int i = 0; i < t->n; i++) {
        struct tag_record *r = &t->group[i];
        tag_matches_release(&r->values);
        tag_source_close(&r->own_source);
        span_record_release(&r->own);
        free(r->error);
        json_decref(r->json);
    }
    t->n = 0;
    tag_databases_trim(&t->databases);
}

/* Reads until the group is full or the input pauses.  Returns 1 while there may be more. */
static int read_group(struct tag_run *t, struct error *err)
{
    int rc = 1;

    while (rc && t->n < GROUP && (!t->n || record_reader_ready(t->in))) {
        json_t *json = NULL;
        struct error bad = { 0 };
        rc = record_reader_next(t->in, &json, &bad);
        if (rc < 0 && record_reader_failed(t->in)) {
            *err = bad;
            return -1;
        }
        if (rc)
            add_record(t, json, &bad);
    }
    return rc != 0;
}

static int run_groups(struct tag_run *t, struct error *err)
{
    int more = 1, rc = 0;

    while (rc == 0 && more > 0 && !stop_requested()) {
        more = read_group(t, err);
        int from = count_lines(t);
        if (from < t->n)
            rc = tag_group(t, from, err);
        clear_group(t);
        progress_update(&t->progress, t->counts->records, (double)(t->counts->records - t->counts->resumed), NULL);
    }
    return more < 0 ? -1 : rc;
}

static int run(struct tag_run *t, const char *input, struct error *err)
{
    if (open_all(t, input, err))
        return -1;
    progress_start(&t->progress, "tagging", "questions", record_file_total(input, t->q->format_in, &t->q->shard.range));
    int rc = run_groups(t, err);
    progress_end(&t->progress);
    return rc || stop_requested() ? -1 : journal_commit(&t->journal, t->q->out, err);
}

int tag(const struct tag_request *q, const char *input, struct tag_counts *counts, struct error *err)
{
    struct tag_run *t = xcalloc(1, sizeof *t);

    stop_install_waiting();
    t->q = q;
    t->counts = counts;
    int rc = run(t, input, err);
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    journal_close(&t->journal, rc != 0, err);
    close_all(t);
    free(t);
    return rc;
}
