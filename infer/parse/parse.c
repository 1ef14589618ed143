#include "infer/parse/parse.h"

#include "data/base/journal.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "data/db/db_path.h"
#include "data/sqlite/database_state.h"
#include "infer/parse/elsewhere.h"

#include <stdio.h>
#include <stdlib.h>

struct parse_run {
    const struct parse_request *q;
    struct parse_counts *counts;
    struct parse_stages stages;
    struct record_reader *in;
    struct journal journal;
    uint64_t key; /* hash of everything that all lines depend on */
    struct progress progress;
    bool measured; /* dry run: the memory was logged */
};

/* Hash of options, schemas and models. */
static uint64_t run_key(const struct parse_run *f)
{
    const struct parse_request *q = f->q;
    bool folder = q->db && db_path_is_folder(q->db);
    const uint64_t numbers[] = { (uint64_t)q->strategy,
                                 (uint64_t)q->prompt,
                                 (uint64_t)q->k,
                                 (uint64_t)q->beams,
                                 q->candidates,
                                 q->published,
                                 (uint64_t)q->template_schema,
                                 engine_settings_key(&q->set),
                                 q->calibration ? hash_file(q->calibration) : 0,
                                 q->answers ? hash_file(q->answers) : 0,
                                 completer_key(q->models.sql),
                                 completer_key(q->models.templates),
                                 completer_key(q->models.fill),
                                 q->schema ? hash_file(q->schema) : 0,
                                 q->db && !folder ? database_hash(q->db) : 0 };
    uint64_t h = hash_text(hash_bytes(HASH_START, numbers, sizeof numbers), q->db);
    return folder ? hash_folder(h, q->db) : h;
}

/* Hash of everything that the line of a case depends on. */
static uint64_t key_of(const struct parse_run *f, const struct parse_case *c)
{
    char *text = c->record ? json_dumps(c->record, JSON_COMPACT) : NULL;
    uint64_t h = hash_text(hash_text(hash_text(f->key, text), c->error), c->schema_text);

    free(text);
    return h;
}

/* Reads the next records.  Returns their number, or -1 with err. */
static int64_t read_window(struct parse_run *f, struct error *err)
{
    struct parse_stages *s = &f->stages;

    parse_stages_clear(s);
    while (s->n < f->q->window && (!s->n || record_reader_ready(f->in))) {
        json_t *record = NULL;
        struct error bad = { 0 };
        int rc = record_reader_next(f->in, &record, &bad);
        if (rc == 0)
            break;
        if (rc < 0 && record_reader_failed(f->in)) {
            *err = bad;
            return -1;
        }
        GROW(s->cases, s->n, s->cap);
        struct parse_case *c = &s->cases[s->n++];
        parse_case_read(c, record, &s->schemas, f->q, record_reader_where(f->in), &bad);
        if (f->q->write || f->q->answers)
            parse_elsewhere_read(s, c);
        c->key = key_of(f, c);
    }
    return s->n;
}

static void count(struct parse_counts *counts, int failed, int statements, int unread)
{
    counts->records++;
    counts->unread += unread;
    counts->failed += failed;
    counts->statements += statements;
}

/* Counts the lines of the window from an earlier run. */
static int64_t count_lines(struct parse_run *f)
{
    struct parse_stages *s = &f->stages;
    int failed = 0, statements = 0, unread = 0;
    const char *text;
    int64_t n = 0;

    for (; n < s->n && (text = journal_next(&f->journal, s->cases[n].key)); n++) {
        sscanf(text, "%d,%d,%d", &failed, &statements, &unread);
        count(f->counts, failed, statements, unread);
    }
    f->counts->resumed += n;
    return n;
}

static int write_case(struct parse_run *f, const struct parse_case *c, struct error *err)
{
    json_t *line = parse_case_json(c, f->q);
    char note[64];

    count(f->counts, c->error != NULL, c->chosen.n, c->unread);
    snprintf(note, sizeof note, "%d,%d,%d", c->error != NULL, c->chosen.n, c->unread);
    int rc = journal_write(&f->journal, c->key, note, line, err);
    json_decref(line);
    return rc;
}

/* Writes the cases of the window without a line from an earlier run. */
static int run_window(struct parse_run *f, struct error *err)
{
    struct parse_stages *s = &f->stages;
    int64_t from = count_lines(f);
    int rc = from < s->n ? parse_stages_run(s, err) : 0;

    for (int64_t i = from; i < s->n && rc == 0; i++)
        rc = write_case(f, &s->cases[i], err);
    return rc ? rc : journal_flush(&f->journal, err);
}

/* Counts the records of a window and logs their errors.  Returns the number without error. */
static int64_t check_cases(struct parse_run *f)
{
    int64_t good = 0;

    for (int64_t i = 0; i < f->stages.n; i++) {
        const struct parse_case *c = &f->stages.cases[i];
        count(f->counts, c->error != NULL, 0, 0);
        good += !c->error;
        if (c->error)
            log_warn("%s", c->error);
    }
    return good;
}

/* Logs the memory for the first window with a usable record.  The requests to a server are counted in all windows. */
static int check_window(struct parse_run *f, struct error *err)
{
    bool measures = check_cases(f) > 0 && !f->measured;

    f->measured = (f->measured || measures) && !f->q->models.sql->server;
    return measures ? parse_stages_measure(&f->stages, err) : 0;
}

static int write_window(struct parse_run *f, struct error *err)
{
    int rc = 0;

    check_cases(f);
    for (int64_t i = 0; i < f->stages.n && rc == 0; i++)
        if (!f->stages.cases[i].error)
            rc = parse_elsewhere_write(&f->stages, &f->stages.cases[i], err);
    return rc;
}

static int each_window(struct parse_run *f, int (*window)(struct parse_run *f, struct error *err), struct error *err)
{
    bool shows = !f->q->models.sql->server; /* a server's client has a line of its own */
    int64_t n = 0;
    int rc = 0;

    if (shows)
        progress_start(&f->progress, "parsing", "records",
                       record_file_total(f->q->input, f->q->format_in, &f->q->shard.range));
    while (rc == 0 && !stop_requested() && (n = read_window(f, err)) > 0) {
        rc = window(f, err);
        if (shows)
            progress_update(&f->progress, f->counts->records, (double)(f->counts->records - f->counts->resumed), NULL);
    }
    rc = n < 0 ? -1 : rc;
    if (shows)
        progress_end(&f->progress);
    return rc >= 0 && stop_requested() ? error_set(err, stop_exit_code(), "interrupted") : rc;
}

static int run(struct parse_run *f, struct error *err)
{
    const struct parse_request *q = f->q;
    int rc = each_window(f, q->dry ? check_window : q->write ? write_window : run_window, err);

    if (rc || q->dry)
        return rc;
    return q->write ? out_file_commit(&f->stages.prompts, err) : journal_commit(&f->journal, q->out, err);
}

static int open_all(struct parse_run *f, struct error *err)
{
    const struct parse_request *q = f->q;

    if (parse_stages_open(&f->stages, q, err) ||
        !(f->in = record_reader_open_range(q->input, q->format_in, &q->shard.range, err)))
        return -1;
    if (q->write)
        return 0;
    if (!q->answers && !q->models.sql->server && !completer_open(q->models.sql, err))
        return -1;
    f->key = run_key(f);
    if (!q->dry && journal_open(&f->journal, q->out, q->resume, err))
        return -1;
    f->journal.digits = 9;
    return 0;
}

int parse(const struct parse_request *q, struct parse_counts *counts, struct error *err)
{
    struct parse_run f = { .q = q, .counts = counts };

    stop_install();
    int rc = open_all(&f, err) ? -1 : run(&f, err);
    journal_close(&f.journal, rc != 0, err);
    parse_stages_release(&f.stages);
    record_reader_close(f.in);
    return rc;
}
