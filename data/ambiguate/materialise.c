#include "data/ambiguate/materialise_impl.h"

#include "data/exec/db_path.h"
#include "data/exec/result_match.h"
#include "data/score/score.h"
#include "data/sqlite/sqlite_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE_NAME = 180 };

/* A file that SQL did not let us make, and why. */
struct failure {
    const char *file, *why;
};

struct materialiser {
    struct materialise_options options;
    struct strings written, kept; /* files of this run; those that a record has */
    struct failure *failures;
    int n_failures, failures_cap;
    struct strings text;
};

struct materialiser *materialiser_open(const struct materialise_options *o, struct error *err)
{
    if (make_dirs(o->out, err))
        return NULL;
    struct materialiser *m = xcalloc(1, sizeof *m);
    m->options = *o;
    return m;
}

void materialiser_close(struct materialiser *m)
{
    if (!m)
        return;
    strings_release(&m->written);
    strings_release(&m->kept);
    free(m->failures);
    strings_release(&m->text);
    free(m);
}

void materialiser_keep(struct materialiser *m, const char *file)
{
    strings_add(&m->kept, file);
}

void materialiser_prune(struct materialiser *m)
{
    for (int i = 0; i < m->written.n && !m->options.published; i++)
        if (strings_find(&m->kept, m->written.items[i]) < 0)
            unlink(strings_printf(&m->text, "%s/%s", m->options.out, m->written.items[i]));
}

/* A record's database while it is made. */
struct record_database {
    const struct ambiguity *a;
    const struct schema *s;
    const char *schema_text, *source;
};

/* The altered database's name as the infilling paper makes it. */
static char *database_name(const struct ambiqt_record *r)
{
    static const char *const marks[SIA_KINDS] = { "column", "table", "split", "agg" };
    char *name = NULL, *columns = NULL;
    size_t size;
    FILE *f = open_memstream(&columns, &size);

    CHECK(f, "cannot write to memory");
    for (int i = 0; i < r->n_new_columns; i++)
        fprintf(f, "_%s", r->new_columns[i]);
    CHECK(fclose(f) == 0, "cannot write to memory");
    bool pair = r->kind == SIA_COLUMN || r->kind == SIA_JOIN;
    int n =
        asprintf(&name, "%s_%s_%s%s%s%s", r->db_id, marks[r->kind], r->kind == SIA_AGGREGATE ? r->new_table : r->table,
                 pair ? "_" : "", pair ? r->column : "", r->kind == SIA_AGGREGATE ? columns : "");
    CHECK(n >= 0, "cannot format the name of %s", r->db_id);
    free(columns);
    return name;
}

/* A name that a file may have; what is added tells apart what the database's name does not.  m keeps it. */
static const char *file_name(struct materialiser *m, const struct ambiqt_record *r, const char *what, const char *added)
{
    char *name = database_name(r);
    size_t n = strlen(name);
    uint64_t h = hash_bytes(HASH_START, what, strlen(what));
    bool other = n > MAX_FILE_NAME; /* than the database's name */

    h = hash_bytes(h, name, n);
    for (char *p = name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p)) {
            *p = '_';
            other = true;
        }
    const char *kept =
        *what || other ? strings_printf(&m->text, "%.*s-%08x%s.sqlite", (int)MAX_FILE_NAME, name, (unsigned)h, added)
                       : strings_printf(&m->text, "%s%s.sqlite", name, added);
    free(name);
    return kept;
}

/* Alters a copy, or fills an empty database from one. */
static int fill_from(const struct materialiser *m, const struct record_database *w, const char *path, const char *copy,
                     enum second_values second, struct error *err)
{
    bool published = m->options.published;
    struct target t;
    int rc = target_open(&t, path, published, m->options.seed, err);

    if (rc == 0 && published)
        rc = target_run(&t, err, "ATTACH %Q AS source", copy);
    if (rc == 0)
        rc = target_run(&t, err, "BEGIN");
    if (rc == 0)
        rc = published ? materialise_published(&t, w->a, w->schema_text, err)
                       : materialise_alter(&t, w->a, w->s, second, err);
    if (rc == 0)
        rc = target_run(&t, err, "COMMIT");
    target_close(&t);
    return rc;
}

static int fill(const struct materialiser *m, const struct record_database *w, const char *path,
                enum second_values second, struct error *err)
{
    bool published = m->options.published;
    char *copy = NULL;

    CHECK(asprintf(&copy, "%s%s", path, published ? ".source" : "") >= 0, "no memory for a path");
    int rc = sqlite_copy(w->source, copy, err) || fill_from(m, w, path, copy, second, err) ? -1 : 0;
    if (published)
        unlink(copy);
    free(copy);
    return rc;
}

/* Why a file could not be made earlier in this run, or NULL. */
static const char *earlier_failure(const struct materialiser *m, const char *file)
{
    for (int i = 0; i < m->n_failures; i++)
        if (strcmp(m->failures[i].file, file) == 0)
            return m->failures[i].why;
    return NULL;
}

static void remember_failure(struct materialiser *m, const char *file, const char *why)
{
    GROW(m->failures, m->n_failures, m->failures_cap);
    m->failures[m->n_failures++] = (struct failure){ file, strings_keep(&m->text, why) };
}

static int deliver(const struct materialiser *m, const char *made, const char *path, struct error *err)
{
    if (!m->options.force && out_file_may_replace(made, path, err))
        return -1;
    if (rename(made, path))
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
    return 0;
}

/* The file, made unless an earlier record of this run had it made; -1 where it cannot be. */
static int build(struct materialiser *m, const char *file, const struct record_database *w, enum second_values second,
                 struct error *err)
{
    const char *why = earlier_failure(m, file);

    if (why)
        return error_set(err, EXIT_CODE_DATA, "%s", why);
    if (strings_find(&m->written, file) >= 0)
        return 0;
    const char *path = strings_printf(&m->text, "%s/%s", m->options.out, file);
    const char *made = strings_printf(&m->text, "%s.tmp", path);
    unlink(made);
    int rc = fill(m, w, made, second, err);
    if (rc == 0 && (rc = deliver(m, made, path, err)) == 0)
        strings_add(&m->written, file);
    else
        remember_failure(m, file, err->text);
    unlink(made);
    return rc;
}

/* Whether the results are those of the query on the record's own database. */
static int compare_to_query(bool *same, const struct record_database *w, const struct exec_result results[2],
                            struct error *err)
{
    const struct ambiqt_record *r = &w->a->record;
    struct exec_db *db = exec_open(w->source, &exec_limits_default, err);

    if (!db)
        return -1;
    struct exec_result query = exec_run(db, r->original);
    *same = query.status == EXEC_OK && match_rows(&query, &results[0], false) &&
            (r->kind != SIA_JOIN || match_rows(&query, &results[1], false));
    exec_result_release(&query);
    exec_close(db);
    return 0;
}

static int run_both(struct materialised *out, struct exec_db *db, const struct record_database *w, bool compare,
                    struct error *err)
{
    const struct ambiqt_record *r = &w->a->record;
    bool same = true;
    int rc = 0;
    struct exec_result results[2] = { exec_run(db, r->readings[0]), exec_run(db, r->readings[1]) };

    out->state = MATERIALISED_DIFFER;
    for (int k = 1; k >= 0; k--) {
        out->empty[k] = results[k].n == 0;
        if (results[k].status == EXEC_OK)
            continue;
        out->state = MATERIALISED_FAILED;
        snprintf(out->message, sizeof out->message, "reading %d: %s", k + 1, results[k].message);
    }
    if (out->state == MATERIALISED_DIFFER) {
        out->same_in_order = match_exactly(&results[0], &results[1]);
        if (match_rows(&results[0], &results[1], false))
            out->state = MATERIALISED_COINCIDE;
        rc = compare ? compare_to_query(&same, w, results, err) : 0;
        out->other_rows = !same;
    }
    exec_result_release(&results[0]);
    exec_result_release(&results[1]);
    return rc;
}

/* A column was deleted: the query must not run any more. */
static void run_without(struct materialised *out, struct exec_db *db, const struct ambiqt_record *r)
{
    struct exec_result result = exec_run(db, r->original);

    out->state = result.status == EXEC_OK ? MATERIALISED_FAILED : MATERIALISED_DIFFER;
    snprintf(out->message, sizeof out->message, "the query runs without %s.%s", r->table, r->column);
    exec_result_release(&result);
}

/* What tells the database apart from others of the same name: those of one query, or with other columns. */
static const char *told_apart_by(const struct ambiguity *a, bool published)
{
    if (a->kind == AMBIGUITY_DELETED)
        return "deleted";
    if (a->kind == AMBIGUITY_REPLACED)
        return a->record.names[0];
    return a->kind == SIA_AGGREGATE && !published ? a->record.original : "";
}

/* Builds the database in one way and runs both readings on it. */
static int try_way(struct materialiser *m, struct materialised *out, const struct record_database *w,
                   enum second_values second, struct error *err)
{
    static const char *const added[SECOND_WAYS] = { "", "-changed" };
    struct exec_limits limits = exec_limits_default;
    const struct ambiqt_record *r = &w->a->record;
    const char *what = told_apart_by(w->a, m->options.published);
    struct error why = { 0 };

    *out = (struct materialised){ .file = file_name(m, r, what, added[second]) };
    limits.python_text = m->options.published;
    const char *path = strings_printf(&m->text, "%s/%s", m->options.out, out->file);
    if (build(m, out->file, w, second, &why)) {
        if (why.code != EXIT_CODE_DATA)
            return error_set(err, why.code, "%s", why.text);
        out->state = MATERIALISED_FAILED;
        snprintf(out->message, sizeof out->message, "%.500s", why.text);
        return 0;
    }
    struct exec_db *db = exec_open(path, &limits, err);
    if (!db)
        return -1;
    int rc = 0;
    if (w->a->kind == AMBIGUITY_DELETED)
        run_without(out, db, r);
    else
        rc = run_both(out, db, w, !m->options.published, err);
    exec_close(db);
    return rc;
}

int materialise(struct materialiser *m, struct materialised *out, const struct ambiguity *a, const struct schema *s,
                const char *schema_text, struct error *err)
{
    bool choice = !m->options.published && a->kind != AMBIGUITY_DELETED &&
                  (a->record.kind == SIA_COLUMN || a->record.kind == SIA_TABLE);
    struct materialised other;

    char *source = db_path(m->options.db, a->record.db_id, err);
    if (!source)
        return -1;
    const struct record_database w = { a, s, schema_text, source };
    int rc = try_way(m, out, &w, SECOND_OF_OTHER_ROWS, err);
    bool good = out->state == MATERIALISED_DIFFER && !out->empty[0] && !out->empty[1];
    if (rc == 0 && choice && !good) {
        rc = try_way(m, &other, &w, SECOND_CHANGED, err);
        bool better = rc == 0 && other.state == MATERIALISED_DIFFER &&
                      (out->state != MATERIALISED_DIFFER || (!other.empty[0] && !other.empty[1]));
        bool runs = rc == 0 && other.state != MATERIALISED_FAILED && out->state == MATERIALISED_FAILED;
        if (better || runs)
            *out = other;
    }
    free(source);
    return rc;
}
