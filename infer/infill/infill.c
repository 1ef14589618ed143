#include "infer/infill/infill.h"

#include "data/exec/db_path.h"
#include "data/sqlite/database_state.h"
#include "data/util/log.h"
#include "data/util/part_file.h"
#include "data/util/stop.h"
#include "data/util/sums.h"
#include "infer/infill/infill_stages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct infill_run {
    const struct infill_request *q;
    struct infill_counts *counts;
    struct infill_stages stages;
    struct record_reader *in;
    struct part_file part;
    json_t *provenance;
    uint64_t key; /* of what all lines are made from */
    struct strings paths;
    uint64_t *files; /* [paths.n] sums of databases */
    int files_cap;
    int64_t number; /* of the window's first record */
    struct progress progress;
};

static json_t *source_json(const char *path, const struct infill_generator *model, const char *without)
{
    return json_string(path ? path : model->generate ? "model" : without);
}

bool infill_rewrites(const struct infill_request *q)
{
    return q->rewrites || q->rewrite.generate || prompt_kind_of(q->write) == PROMPT_REWRITE;
}

static json_t *provenance_json(const struct infill_request *q)
{
    if (infill_rewrites(q))
        return json_pack("{s:o, s:o, s:I, s:s, s:s, s:b}", "rewrites", source_json(q->rewrites, &q->rewrite, "none"),
                         "sql", source_json(q->sqls, &q->sql, "none"), "tries", (json_int_t)q->tries, "prompts",
                         q->prompt.dir ? q->prompt.dir : "built-in", "context", q->prompt.context, "published",
                         (int)q->published);
    json_t *o = json_pack(
        "{s:o, s:o, s:o, s:s, s:s, s:b}", "defaults", source_json(q->e2e ? q->e2e : q->defaults, &q->read, "none"),
        "sql", source_json(q->sqls, &q->sql, "readings"), "infilled", source_json(q->infilled, &q->fill, "none"),
        "prompts", q->prompt.dir ? q->prompt.dir : "built-in", "context", q->prompt.context, "published",
        (int)q->published);
    if (q->corrected || q->correct.generate)
        json_object_set_new(o, "corrected", source_json(q->corrected, &q->correct, "none"));
    return o;
}

/* Of the options, the files of the stages and the models. */
static uint64_t run_key(const struct infill_run *f)
{
    const struct infill_request *q = f->q;
    const char *files[] = { q->defaults, q->sqls, q->infilled, q->e2e, q->corrected, q->rewrites };
    const uint64_t numbers[] = { prompts_hash(&f->stages.prompter.prompts),
                                 (uint64_t)q->prompt.rows,
                                 q->published,
                                 q->read.key,
                                 q->sql.key,
                                 q->fill.key,
                                 q->correct.key,
                                 q->rewrite.key };
    char *text = json_dumps(f->provenance, JSON_COMPACT);
    uint64_t h = hash_bytes(HASH_START, numbers, sizeof numbers);

    for (int i = 0; i < ARRAY_LEN(files); i++) {
        uint64_t file = files[i] ? sum_file(files[i]) : 0;
        h = hash_bytes(h, &file, sizeof file);
    }
    h = sum_text(sum_text(sum_text(h, text), q->db), exec_sqlite_version());
    free(text);
    return h;
}

static uint64_t hash_database(struct infill_run *f, const char *path)
{
    int n = f->paths.n, i = strings_add(&f->paths, path);

    if (i == n) {
        GROW(f->files, i, f->files_cap);
        f->files[i] = database_sum(path);
    }
    return f->files[i];
}

/* Everything that the case's line is made from. */
static uint64_t key_of(struct infill_run *f, const struct infill_case *c)
{
    char *text = c->record ? json_dumps(c->record, JSON_COMPACT) : NULL;
    uint64_t h = sum_text(sum_text(f->key, text), c->error);
    uint64_t file = c->path ? hash_database(f, c->path) : 0;

    free(text);
    return hash_bytes(h, &file, sizeof file);
}

/* The next records: how many, or -1 where the input ends too early. */
static int64_t read_window(struct infill_run *f, struct error *err)
{
    struct infill_stages *s = &f->stages;

    f->number += s->n;
    infill_stages_clear(s);
    while (s->n < f->q->window) {
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
        const struct infill_place place = { f->number + s->n, f->q->db, record_reader_where(f->in),
                                            infill_rewrites(f->q) };
        infill_case_read(&s->cases[s->n], record, &place, &bad);
        s->cases[s->n].key = key_of(f, &s->cases[s->n]);
        s->n++;
    }
    return s->n;
}

/* What a line adds to the counts, and how much the published filter had drawn. */
struct line_note {
    int failed, defaults, added;
    int64_t drawn;
};

static void count(struct infill_counts *counts, const struct line_note *n)
{
    counts->records++;
    counts->failed += n->failed;
    counts->defaults += n->defaults;
    counts->added += n->added;
}

/* Counts the lines that an earlier run has of the window, from its first.  What they say was drawn is drawn again only
 * when none is missing: the window is worked on as a whole, so that its lines are those of a run that nobody stopped.
 */
static int64_t count_lines(struct infill_run *f)
{
    struct infill_stages *s = &f->stages;
    struct line_note note = { 0 };
    const char *text;
    int64_t n = 0;

    for (; n < s->n && (text = part_next(&f->part, s->cases[n].key)); n++) {
        sscanf(text, "%d,%d,%d,%" SCNd64, &note.failed, &note.defaults, &note.added, &note.drawn);
        count(f->counts, &note);
    }
    f->counts->resumed += n;
    if (n == s->n)
        python_random_skip(&s->random, note.drawn);
    return n;
}

static struct line_note note_of(const struct infill_case *c)
{
    struct line_note n = { .failed = infill_case_failed(c), .drawn = c->drawn };

    for (int i = 0; i < c->n_kept && !c->error; i++) {
        n.defaults += !c->readings[c->kept[i]].added;
        n.added += c->readings[c->kept[i]].added;
    }
    return n;
}

static int write_case(struct infill_run *f, struct infill_case *c, struct error *err)
{
    struct exec_db *db = infill_stages_database(&f->stages, c);
    struct line_note note = note_of(c);
    json_t *line;
    char text[96];

    if (db) {
        line = infill_rewrites(f->q) ? infill_rewrite_json(c) : infill_case_json(c, db);
        json_object_set(line, "provenance", f->provenance);
    } else {
        line = infill_case_failed_json(c);
    }
    count(f->counts, &note);
    f->counts->without_sql += c->error || infill_rewrites(f->q) ? 0 : infill_case_without_sql(c);
    snprintf(text, sizeof text, "%d,%d,%d,%" PRId64, note.failed, note.defaults, note.added, note.drawn);
    int rc = part_write(&f->part, c->key, text, line, err);
    json_decref(line);
    return rc;
}

/* What the window's cases became; `from`: those before it have their lines. */
static int write_window(struct infill_run *f, int64_t from, struct error *err)
{
    struct infill_stages *s = &f->stages;
    int rc = 0;

    for (int64_t i = from; i < s->n && rc == 0; i++)
        rc = write_case(f, &s->cases[i], err);
    return rc ? rc : part_flush(&f->part, err);
}

/* The same where prompts are written: they are there already. */
static void count_window(struct infill_run *f)
{
    struct infill_stages *s = &f->stages;

    f->counts->records += s->n;
    f->counts->prompts = s->prompt_ids.n;
    for (int64_t i = 0; i < s->n; i++) {
        const struct infill_case *c = &s->cases[i];
        f->counts->failed += infill_case_failed(c);
        if (infill_case_failed(c))
            log_warn("%s", c->error ? c->error : c->unread);
    }
}

static int run_window(struct infill_run *f, struct error *err)
{
    int64_t from = f->q->write ? 0 : count_lines(f);
    int rc = from < f->stages.n ? infill_stages_run(&f->stages, err) : 0;

    if (rc == 0 && f->q->write)
        count_window(f);
    else if (rc == 0)
        rc = write_window(f, from, err);
    progress_update(&f->progress, f->counts->records, (double)(f->counts->records - f->counts->resumed), NULL);
    return rc;
}

static int run_windows(struct infill_run *f, struct error *err)
{
    int64_t n = 0;
    int rc = 0;

    progress_start(&f->progress,
                   f->q->write             ? "writing prompts"
                   : infill_rewrites(f->q) ? "rewriting"
                                           : "infilling",
                   "records", 0);
    while (rc == 0 && !stop_requested() && (n = read_window(f, err)) > 0)
        rc = run_window(f, err);
    rc = n < 0 ? -1 : rc;
    progress_end(&f->progress);
    if (rc >= 0 && stop_requested())
        return error_set(err, stop_exit_code(), "interrupted");
    if (rc)
        return rc;
    return f->q->write ? out_file_commit(&f->stages.prompts, err) : part_commit(&f->part, f->q->out, err);
}

static int open_all(struct infill_run *f, struct error *err)
{
    const struct infill_request *q = f->q;

    if (db_path_check(q->db, err) || infill_stages_open(&f->stages, q, err) ||
        !(f->in = record_reader_open_range(q->input, q->form, &q->shard.range, err)))
        return -1;
    f->number = q->shard.range.first;
    f->provenance = provenance_json(q);
    f->key = run_key(f);
    return q->write ? 0 : part_open(&f->part, q->out, q->resume, err);
}

int infill(const struct infill_request *q, struct infill_counts *counts, struct error *err)
{
    struct infill_run f = { .q = q, .counts = counts };

    stop_install();
    int rc = open_all(&f, err) ? -1 : run_windows(&f, err);
    part_close(&f.part, rc != 0, err);
    infill_stages_release(&f.stages);
    record_reader_close(f.in);
    json_decref(f.provenance);
    strings_release(&f.paths);
    free(f.files);
    return rc;
}
