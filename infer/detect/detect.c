#include "infer/detect/detect.h"

#include "data/base/build.h"
#include "data/base/journal.h"
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/record_reader.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "data/db/schema_catalog.h"
#include "infer/detect/detector.h"
#include "models/gatekeeper/gate_band.h"

#include <stdlib.h>
#include <string.h>

/* Contribution of a line to the counts. */
enum prediction_note { PREDICTION_CLEAR, PREDICTION_AMBIGUOUS, PREDICTION_UNSURE, PREDICTION_FAILED };
static const char *const notes[] = { "clear", "ambiguous", "unsure", "failed" };

/* A record of the group.  Its question has the same index in the question_group. */
struct detect_record {
    json_t *json;
    uint64_t key; /* hash of everything that its line depends on */
};

struct detect_run {
    const struct detect_request *q;
    struct detector detector;
    struct schema_catalog schemas;
    struct tag_databases values; /* of --db, for a detector with a head for classes */
    struct record_reader *in;
    struct journal journal;
    struct progress progress;
    struct gate_band band; /* interval of unsure scores, if requested */
    uint64_t key;          /* hash of everything that all lines depend on */
    struct detect_record records[DETECTOR_GROUP];
    struct question_group group; /* the questions of the records */
    struct detect_counts *counts;
};

/* Hash of program, device, model and options. */
static uint64_t run_key(const struct detect_run *d)
{
    const struct detect_request *q = d->q;
    const double threshold[] = { d->detector.model.threshold, q->abstain ? d->band.low : -1,
                                 q->abstain ? d->band.high : -1 };
    const int64_t numbers[] = { q->tokens, q->max_question, q->elements, q->relevance, q->format };
    uint64_t h = hash_text(hash_text(HASH_START, build_version()), d->detector.device.driver->name);

    h = hash_bytes(hash_bytes(h, numbers, sizeof numbers), threshold, sizeof threshold);
    h = hash_bytes(h, &d->detector.model.hash, sizeof d->detector.model.hash);
    h = hash_bytes(h, &d->detector.triage.hash, sizeof d->detector.triage.hash);
    h = hash_bytes(h, &d->detector.words.hash, sizeof d->detector.words.hash);
    return q->retriever ? hash_bytes(h, &d->detector.retriever.hash, sizeof d->detector.retriever.hash) : h;
}

static int open_out(struct detect_run *d, struct error *err)
{
    if (journal_open(&d->journal, d->q->out, d->q->resume, err))
        return -1;
    d->journal.digits = 9;
    if (d->q->format == PREDICTION_TEXT)
        d->journal.print = prediction_print;
    if (d->q->format == PREDICTION_CSV) {
        d->journal.print = prediction_print_row;
        d->journal.head = prediction_table_head;
    }
    return 0;
}

static int find_band(struct detect_run *d, struct error *err)
{
    const struct gate_band *b = &d->band;
    struct gate_abstain a;

    if (gate_abstain_read(&a, d->q->abstain, err) || gate_band_find(&d->band, &d->detector.model, &a, err))
        return -1;
    if (a.rate > 0)
        log_info("unsure between %.4f and %.4f: of %d validation questions %d are answered then, %d wrongly, at most "
                 "%.4f with 95 %%",
                 b->low, b->high, b->n, b->answered, b->wrong, b->bound);
    return 0;
}

enum { VALUE_MIB = 512 };

static int open_values(struct detect_run *d, struct error *err)
{
    if (!d->q->db || !d->detector.triage.known)
        return 0;
    d->detector.values = &d->values;
    return tag_databases_open(&d->values, NULL, d->q->db, (int64_t)VALUE_MIB << 20, err);
}

/* The elements whose relevance is reported.  All shards of an input report the same. */
static enum prediction_relevance relevance_of(const struct detect_request *q, const char *input)
{
    if (q->relevance != REPORT_AUTO)
        return q->relevance;
    int64_t total = strcmp(q->out, "-") == 0 ? 0 : record_file_total(input, q->format_in, NULL);
    return total > 0 && total <= FEW_QUESTIONS ? REPORT_ALL : REPORT_TOP;
}

static int open_all(struct detect_run *d, struct error *err)
{
    const struct detect_request *q = d->q;
    const struct detector_settings settings = { q->model,     q->device,   q->tokens,  q->max_question, q->elements,
                                                q->threshold, q->no_graph, q->adapter, q->retriever };

    if (schema_catalog_open(&d->schemas, q->schema, q->db, err) || detector_open(&d->detector, &settings, err) ||
        find_band(d, err) || open_values(d, err))
        return -1;
    d->key = run_key(d);
    question_group_init(&d->group, &d->detector);
    return 0;
}

static void close_all(struct detect_run *d)
{
    record_reader_close(d->in);
    detector_close(&d->detector);
    tag_databases_close(&d->values);
    schema_catalog_close(&d->schemas);
}

static const struct prepared_schema *find_schema(struct detect_run *d, const json_t *record, const char *where,
                                                 struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct schema *s = db_id ? schema_catalog_find(&d->schemas, db_id, where, err) : NULL;
    return s ? detector_prepare(&d->detector, db_id, s, err) : NULL;
}

/* Hash of the database in which words are looked up; 0: none. */
static uint64_t values_hash(struct detect_run *d, const struct group_question *q)
{
    const char *db_id = q->schema && d->detector.values ? q->schema->schema->db_id : NULL;
    struct error bad;
    const struct tag_database *of = db_id ? tag_databases_find(&d->values, db_id, db_id, &bad) : NULL;

    return of ? of->hash : 0;
}

/* Hash of the record or its error, of its schema and values, and of the run. */
static uint64_t key_of(struct detect_run *d, int i)
{
    const struct group_question *q = &d->group.questions[i];
    const json_t *json = d->records[i].json;
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    const uint64_t sources[] = { q->schema ? q->schema->hash : 0, values_hash(d, q) };
    uint64_t h = hash_bytes(d->key, sources, sizeof sources);

    h = hash_text(hash_text(h, text), q->error);
    free(text);
    return h;
}

/* Takes json, which is NULL if it could not be read; bad has the error. */
static void add_record(struct detect_run *d, json_t *json, struct error *bad)
{
    const char *place = record_reader_where(d->in), *question = NULL;
    const struct prepared_schema *p = NULL;

    schema_catalog_name(&d->schemas, json);
    if (json && (question = json_get_string(json, "question", place, bad)))
        p = find_schema(d, json, place, bad);
    if (!json)
        json = json_pack("{s:I}", "id", record_reader_number(d->in));
    d->records[d->group.n].json = json;
    question_group_add(&d->group, question, p, place, bad);
    question_group_context(&d->group, json, place);
}

/* Chooses the parts of wide schemas and computes the keys of the lines. */
static int finish_group(struct detect_run *d, struct error *err)
{
    if (question_group_choose(&d->group, err))
        return -1;
    for (int i = 0; i < d->group.n; i++)
        d->records[i].key = key_of(d, i);
    return 0;
}

static void count(struct detect_counts *counts, enum prediction_note note)
{
    counts->records++;
    counts->failed += note == PREDICTION_FAILED;
    counts->ambiguous += note == PREDICTION_AMBIGUOUS;
    counts->unsure += note == PREDICTION_UNSURE;
}

static enum prediction_note note_of(const char *text)
{
    for (int i = 0; i < ARRAY_LEN(notes); i++)
        if (strcmp(notes[i], text) == 0)
            return (enum prediction_note)i;
    return PREDICTION_FAILED;
}

static enum prediction_note note_of_prediction(const struct detect_run *d, const struct prediction *f)
{
    if (f->error)
        return PREDICTION_FAILED;
    if (d->q->abstain && f->score > d->band.low && f->score < d->band.high)
        return PREDICTION_UNSURE;
    return f->ambiguous ? PREDICTION_AMBIGUOUS : PREDICTION_CLEAR;
}

static int write_line(struct detect_run *d, const struct detect_record *r, struct prediction *f, struct error *err)
{
    static const int reported[] = {
        [REPORT_NONE] = RELEVANCE_NONE, [REPORT_TOP] = RELEVANCE_TOP, [REPORT_ALL] = RELEVANCE_ALL
    };
    enum prediction_note note = note_of_prediction(d, f);
    f->status = d->q->abstain ? notes[note] : NULL;
    json_t *line = prediction_json(f, d->q->format == PREDICTION_JSONL ? reported[d->q->relevance] : RELEVANCE_NONE);

    if (!line)
        return error_set(err, EXIT_CODE_DATA, "record %lld cannot be written as JSON",
                         (long long)d->counts->records + 1);
    count(d->counts, note);
    int rc = journal_write(&d->journal, r->key, notes[note], line, err);
    json_decref(line);
    return rc;
}

/* Writes the lines of the group, from the first one that an earlier run lacks. */
static int write_group(struct detect_run *d, int from, struct error *err)
{
    int rc = 0;

    for (int i = from; rc == 0 && i < d->group.n; i++) {
        const struct detect_record *r = &d->records[i];
        struct prediction f = { .id = json_object_get(r->json, "id") };
        question_group_predict(&d->group, i, &f);
        rc = write_line(d, r, &f, err);
        prediction_release(&f);
    }
    return rc ? -1 : journal_flush(&d->journal, err);
}

/* Counts the lines of the group from an earlier run.  If one is missing, the whole group is scored again, so that its
 * lines equal those of an uninterrupted run. */
static int count_lines(struct detect_run *d)
{
    const char *text;
    int n = 0;

    for (; n < d->group.n && (text = journal_next(&d->journal, d->records[n].key)); n++)
        count(d->counts, note_of(text));
    d->counts->resumed += n;
    return n;
}

static void clear_group(struct detect_run *d)
{
    for (int i = 0; i < d->group.n; i++)
        json_decref(d->records[i].json);
    question_group_release(&d->group);
    schema_catalog_turn(&d->schemas);
}

static bool is_full(const struct detect_run *d)
{
    bool ends = d->group.n && record_reader_place(d->in) % DETECTOR_GROUP == 0; /* independent of the shard */
    return ends || question_group_is_full(&d->group);
}

/* Reads until the group is full or the input pauses.  Returns 1 while there may be more. */
static int read_group(struct detect_run *d, struct error *err)
{
    int rc = 1;

    while (rc && !is_full(d) && (!d->group.n || record_reader_ready(d->in))) {
        json_t *json = NULL;
        struct error bad = { 0 };
        rc = record_reader_next(d->in, &json, &bad);
        if (rc < 0 && record_reader_failed(d->in)) {
            *err = bad;
            return -1;
        }
        if (rc)
            add_record(d, json, &bad);
    }
    return rc != 0;
}

static int run_groups(struct detect_run *d, struct error *err)
{
    int more = 1, rc = 0;

    while (rc == 0 && more > 0 && !stop_requested()) {
        more = read_group(d, err);
        rc = finish_group(d, err);
        int from = rc ? d->group.n : count_lines(d);
        if (from < d->group.n)
            rc = question_group_score(&d->group, err) || write_group(d, from, err);
        clear_group(d);
        progress_update(&d->progress, d->counts->records, (double)(d->counts->records - d->counts->resumed), NULL);
    }
    return more < 0 || rc ? -1 : 0;
}

static struct record_reader *open_in(const struct detect_request *q, const char *input, struct error *err)
{
    return q->question ? record_reader_open_question(q->question, err)
                       : record_reader_open_range(input, q->format_in, &q->shard.range, err);
}

static int run(struct detect_run *d, const char *input, struct error *err)
{
    char text[STEP_COUNTS];
    int64_t total = record_file_total(input, d->q->format_in, &d->q->shard.range);

    if (!(d->in = open_in(d->q, input, err)) || open_out(d, err))
        return -1;
    progress_start(&d->progress, "detecting", "questions", total);
    int rc = run_groups(d, err);
    progress_end(&d->progress);
    if (workspace_tell(&d->detector.work, text))
        log_info("%s", text);
    return rc || stop_requested() ? -1 : journal_commit(&d->journal, d->q->out, err);
}

int detect(const struct detect_request *q, const char *input, struct detect_counts *counts, struct error *err)
{
    struct detect_run *d = xcalloc(1, sizeof *d);
    struct detect_request own = *q;

    stop_install_waiting();
    own.relevance = relevance_of(q, input);
    d->q = &own;
    d->counts = counts;
    int rc = open_all(d, err) ? -1 : run(d, input, err);
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    journal_close(&d->journal, rc != 0, err);
    close_all(d);
    free(d);
    return rc;
}
