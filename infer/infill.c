#include "infer/infill.h"

#include "data/annotate_readings.h"
#include "data/db_cache.h"
#include "data/log.h"
#include "data/reading_sql.h"
#include "data/stop.h"
#include "infer/infill_case.h"

#include <stdlib.h>
#include <string.h>

struct infilling {
    const struct infill_request *q;
    struct infill_counts *counts;
    struct infill_case *cases;
    int64_t n, cap;
    struct annotate_readings defaults, infilled; /* of the files */
    struct reading_sql sqls;
    struct prompter prompter;
    struct db_cache databases;
    struct python_random random;
};

/* Conversations to be answered, and whose they are. */
struct asking {
    json_t **messages;
    int64_t *owner, *reading; /* a case; of PROMPT_SQL, its reading too */
    int64_t n, cap;
};

static void ask(struct infilling *f, struct asking *a, int64_t i, int64_t reading, enum prompt_kind kind,
                const char *text, const char *existing)
{
    struct infill_case *c = &f->cases[i];
    struct error err = { 0 };
    const char *database = prompter_database(&f->prompter, c->path, &err);
    const char *slots[] = { database, text, existing };
    json_t *messages = database ? prompter_messages(&f->prompter, kind, slots, NULL) : NULL;

    if (!messages) {
        infill_case_fail(c, &err);
        return;
    }
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 64;
        a->messages = xrealloc(a->messages, (size_t)a->cap * sizeof *a->messages);
        a->owner = xrealloc(a->owner, (size_t)a->cap * sizeof *a->owner);
        a->reading = xrealloc(a->reading, (size_t)a->cap * sizeof *a->reading);
    }
    a->messages[a->n] = messages;
    a->owner[a->n] = i;
    a->reading[a->n++] = reading;
}

static void use_answer(struct infilling *f, struct infill_case *c, int64_t reading, enum prompt_kind kind,
                       const char *answer)
{
    if (kind == PROMPT_SQL) {
        struct infill_reading *r = &c->readings[reading];
        output_sql(&r->sql, answer, f->q->published);
        r->sql_from = "model";
    } else {
        infill_case_add_answer(c, answer, kind == PROMPT_FILL, f->q->published);
    }
}

/* Asks the model all at once, and gives each case its answers. */
static int answer_all(struct infilling *f, struct asking *a, const struct infill_generator *model,
                      enum prompt_kind kind, struct error *err)
{
    char **texts = xcalloc((size_t)a->n + 1, sizeof *texts);
    int rc = a->n ? model->generate(model->self, a->messages, a->n, texts, err) : 0;

    for (int64_t i = 0; i < a->n; i++) {
        struct infill_case *c = &f->cases[a->owner[i]];
        struct error none = { 0 };
        if (rc == 0 && texts[i])
            use_answer(f, c, a->reading[i], kind, texts[i]);
        else if (rc == 0 && error_set(&none, EXIT_CODE_DATA, "the model has no answer to %s", prompt_file(kind)))
            infill_case_fail(c, &none);
        free(texts[i]);
        json_decref(a->messages[i]);
    }
    free(texts);
    free(a->messages);
    free(a->owner);
    free(a->reading);
    return rc;
}

/* Readings of a stage's file, or what a model answered there. */
static int take_from_file(struct infilling *f, struct infill_case *c, const struct annotate_readings *file,
                          const char *path, bool added, struct error *err)
{
    const char *answer = annotate_readings_answer(file, json_object_get(c->record, "id"));
    const json_t *list = answer ? NULL : annotate_readings_find(file, c->db_id, c->question);

    if (answer)
        infill_case_add_answer(c, answer, added, f->q->published);
    else if (!list)
        return error_set(err, EXIT_CODE_DATA, "%s has no readings of this question of %s", path, c->db_id);
    return list && infill_case_add_list(c, list, added, err) ? error_prefix(err, "%s", path) : 0;
}

/* Default readings, or those that infilling adds. */
static int get_readings(struct infilling *f, bool added, struct error *err)
{
    const struct infill_request *q = f->q;
    const char *path = added ? q->infilled : q->defaults;
    const struct infill_generator *model = added ? &q->fill : &q->read;
    struct asking a = { 0 };

    if (!path && !model->generate)
        return 0;
    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        struct error bad = { 0 };
        char *existing = added ? infill_case_existing(c) : NULL;
        if (!c->error && !path)
            ask(f, &a, i, -1, added ? PROMPT_FILL : PROMPT_DEF, c->question, existing);
        else if (!c->error && take_from_file(f, c, added ? &f->infilled : &f->defaults, path, added, &bad))
            infill_case_fail(c, &bad);
        free(existing);
    }
    return path ? 0 : answer_all(f, &a, model, added ? PROMPT_FILL : PROMPT_DEF, err);
}

/* The SQL of readings that have none yet: the file's, or else the model's. */
static int get_sql(struct infilling *f, bool added, struct error *err)
{
    struct asking a = { 0 };

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int k = 0; k < c->n && !c->error; k++) {
            struct infill_reading *r = &c->readings[k];
            const json_t *sql = f->q->sqls ? reading_sql_find(&f->sqls, c->db_id, r->text) : NULL;
            struct error bad = { 0 };
            if (r->added != added || r->sql_from)
                continue;
            if (sql && infill_reading_set_sql(r, sql, "file", &bad))
                infill_case_fail(c, &bad);
            else if (!sql && f->q->sql.generate)
                ask(f, &a, i, k, PROMPT_SQL, r->text, NULL);
        }
    }
    return f->q->sql.generate ? answer_all(f, &a, &f->q->sql, PROMPT_SQL, err) : 0;
}

/* The connection of a case; NULL when it failed. */
static struct exec_db *database_of(struct infilling *f, struct infill_case *c)
{
    struct error err = { 0 };
    struct exec_db *db = c->error ? NULL : db_cache_file(&f->databases, c->path, &err);

    if (!c->error && !db)
        infill_case_fail(c, &err);
    return db;
}

/* The published way draws once, from the default readings. */
static int filter_all(struct infilling *f, bool last)
{
    struct progress p;

    progress_start(&p, last ? "executing all readings" : "executing default readings", "records", f->n);
    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct infill_case *c = &f->cases[i];
        struct exec_db *db = database_of(f, c);
        if (db && last && f->q->published)
            infill_case_keep_added(c);
        else if (db)
            infill_case_filter(c, db, &f->random, f->q->published);
        progress_update(&p, i + 1, (double)i + 1, NULL);
    }
    progress_end(&p);
    return stop_requested() ? 1 : 0;
}

static int read_cases(struct infilling *f, struct error *err)
{
    struct json_reader *in = json_reader_open(f->q->input, err);
    int rc;

    if (!in)
        return -1;
    do {
        json_t *record = NULL;
        struct error bad = { 0 };
        rc = json_reader_next(in, &record, &bad);
        if (rc == 0)
            break;
        GROW(f->cases, f->n, f->cap);
        infill_case_read(&f->cases[f->n], record, f->n, f->q->db, json_reader_where(in), &bad);
        f->n++;
    } while (true);
    json_reader_close(in);
    return 0;
}

static json_t *source_json(const char *path, const struct infill_generator *model, const char *without)
{
    return json_string(path ? path : model->generate ? "model" : without);
}

static json_t *provenance_json(const struct infill_request *q)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:s, s:b}", "defaults", source_json(q->defaults, &q->read, "none"), "sql",
                     source_json(q->sqls, &q->sql, "readings"), "infilled", source_json(q->infilled, &q->fill, "none"),
                     "prompts", q->prompt.dir ? q->prompt.dir : "built-in", "context", q->prompt.context, "published",
                     (int)q->published);
}

static void count_readings(const struct infill_case *c, struct infill_counts *counts)
{
    for (int i = 0; i < c->n_kept; i++) {
        counts->defaults += !c->readings[c->kept[i]].added;
        counts->added += c->readings[c->kept[i]].added;
    }
}

static int write_case(struct infilling *f, struct infill_case *c, json_t *provenance, struct out_file *out,
                      struct error *err)
{
    struct exec_db *db = database_of(f, c);
    json_t *line;

    f->counts->records++;
    if (db) {
        line = infill_case_json(c, db);
        json_object_set(line, "provenance", provenance);
        count_readings(c, f->counts);
    } else {
        line = json_pack("{s:O?, s:O?, s:o}", "id", json_object_get(c->record, "id"), "db_id",
                         json_object_get(c->record, "db_id"), "error", json_message(c->error));
        f->counts->failed++;
    }
    int rc = json_write_line(out, line, err);
    json_decref(line);
    return rc;
}

static int write_cases(struct infilling *f, struct out_file *out, struct error *err)
{
    json_t *provenance = provenance_json(f->q);
    int rc = 0;

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        rc = write_case(f, &f->cases[i], provenance, out, err);
    json_decref(provenance);
    return rc ? rc : out_file_commit(out, err);
}

static int open_files(struct infilling *f, struct error *err)
{
    const struct infill_request *q = f->q;

    return prompter_open(&f->prompter, &q->prompt, err) ||
                   (q->defaults && annotate_readings_open(&f->defaults, q->defaults, err)) ||
                   (q->infilled && annotate_readings_open(&f->infilled, q->infilled, err)) ||
                   (q->sqls && reading_sql_open(&f->sqls, q->sqls, err)) || read_cases(f, err)
               ? -1
               : 0;
}

static int run_stages(struct infilling *f, struct error *err)
{
    int rc;

    if ((rc = get_readings(f, false, err)) || (rc = get_sql(f, false, err)) || (rc = filter_all(f, false)))
        return rc;
    if (!f->q->infilled && !f->q->fill.generate)
        return 0;
    if ((rc = get_readings(f, true, err)) || (rc = get_sql(f, true, err)))
        return rc;
    return filter_all(f, true);
}

static void release(struct infilling *f)
{
    for (int64_t i = 0; i < f->n; i++)
        infill_case_release(&f->cases[i]);
    free(f->cases);
    annotate_readings_release(&f->defaults);
    annotate_readings_release(&f->infilled);
    reading_sql_release(&f->sqls);
    prompter_release(&f->prompter);
    db_cache_release(&f->databases);
}

int infill(const struct infill_request *q, struct infill_counts *counts, struct error *err)
{
    struct infilling f = { .q = q, .counts = counts };
    struct out_file out = { 0 };
    int rc = -1;

    stop_install();
    db_cache_init(&f.databases);
    f.databases.limits.python_text = q->published;
    python_random_seed(&f.random, ANNOTATE_SEED);
    if (open_files(&f, err) == 0 && out_file_open(&out, q->out, err) == 0)
        rc = run_stages(&f, err);
    if (rc == 0)
        rc = write_cases(&f, &out, err);
    out_file_abort(&out);
    release(&f);
    return rc;
}
