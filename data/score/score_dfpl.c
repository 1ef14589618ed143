/* Part of score.h: the rule of "Disambiguate First, Parse Later" on its prediction files.
 *
 * With `published` everything is as its authors' program has it: an example whose golds fail or coincide counts as
 * zeros, a prediction without rows matches nothing, "order by" anywhere in the gold's text makes the order count.
 * Without: such an example is skipped and told, no rows match no rows, the order counts where the gold orders at its
 * top level, and golds of one text are one gold.  Either way SQL runs read-only and within limits.
 */
#include "data/exec/db_cache.h"
#include "data/exec/db_path.h"
#include "data/score/annotate.h"
#include "data/score/dfpl_stored.h"
#include "data/score/score_tally.h"
#include "data/util/log.h"

#include <stdio.h>
#include <stdlib.h>

struct dfpl_run {
    const struct score_request *q;
    struct dfpl_file file;
    struct db_cache databases;
    struct score_tally tally;
    struct dfpl_stored stored;
    struct python_random random;
    bool held; /* a published file, which holds its databases and its authors' metrics */
};

static bool has_empty_gold(const struct trial *t)
{
    for (int g = 0; g < t->n_golds; g++)
        if (t->golds[g].result.n == 0)
            return true;
    return false;
}

/* What cannot be scored: a zero to the authors, no example to us. */
static void leave_out(struct dfpl_run *run, const struct dfpl_example *e, const char *record, const char *why)
{
    if (run->q->published)
        score_tally_fail(&run->tally, e->ambiguous, e->source, record, why);
    else
        score_tally_skip(&run->tally, record, why);
}

/* The SQL of the readings that the filter keeps; the caller frees. */
static struct trial_texts filtered(struct dfpl_run *run, const struct dfpl_example *e, const struct trial *t)
{
    struct trial_texts kept = { 0 };
    struct annotation a = { .question = e->question, .n_readings = e->n_readings, .sql = e->sql };

    a.readings = xcalloc((size_t)e->n_readings + 1, sizeof *a.readings);
    for (int i = 0; i < e->n_readings; i++)
        a.readings[i] =
            (struct annotate_reading){ e->readings[i].text, e->readings[i].first, e->readings[i].n, NULL, -1 };
    annotate_filter(&a, t, &run->random);
    for (int i = 0; i < a.n_existing; i++)
        for (int k = 0; k < a.readings[a.existing[i]].n; k++) {
            GROW(kept.sql, kept.n, kept.cap);
            kept.sql[kept.n++] = e->sql.sql[a.readings[a.existing[i]].first + k];
        }
    free(a.readings);
    free(a.existing);
    return kept;
}

/* The numbers of some texts among the trial's queries. */
static json_t *numbers_of(const struct trial *t, struct trial_text sql)
{
    json_t *list = json_array();
    for (int i = 0; i < sql.n; i++)
        json_array_append_new(list, json_integer(trial_find(t, sql.sql[i])));
    return list;
}

static int score_trial(struct dfpl_run *run, const struct dfpl_example *e, const struct trial *t, const char *record,
                       struct error *err)
{
    struct trial_texts kept = run->q->filter ? filtered(run, e, t) : (struct trial_texts){ 0 };
    struct trial_text sql =
        run->q->filter ? trial_texts_part(&kept, 0, kept.n) : trial_texts_part(&e->sql, 0, e->sql.n);
    struct trial_score s = trial_score_covered(t, sql);
    json_t *o = json_pack("{s:s, s:s, s:s, s:b}", "record", record, "db_file", e->db_file, "source_db", e->source,
                          "ambiguous", e->ambiguous);

    if (run->q->published && !run->q->filter)
        dfpl_stored_compare(&run->stored, e, t);
    if (t->why) {
        leave_out(run, e, record, t->why);
        json_object_set_new(o, "error", json_message(t->why));
    } else {
        score_tally_add(&run->tally, e->ambiguous, e->source, &s);
        run->tally.empty_golds += has_empty_gold(t);
    }
    if (run->q->filter)
        json_object_set_new(o, "kept", numbers_of(t, sql));
    free(kept.sql);
    return score_tally_write(&run->tally, o, t, &s, err);
}

static struct exec_db *open_database(struct dfpl_run *run, const struct dfpl_example *e, struct error *err)
{
    if (e->dump)
        return db_cache_dump(&run->databases, e->dump, err);
    char *path = db_path(run->q->db, e->db_file, err);
    struct exec_db *db = path ? db_cache_file(&run->databases, path, err) : NULL;
    free(path);
    return db;
}

static int score_example(struct dfpl_run *run, int i, struct error *err)
{
    const struct dfpl_example *e = &run->file.items[i];
    struct error bad = { 0 };
    struct trial t;
    char record[32];

    snprintf(record, sizeof record, "example %d", i + 1);
    struct exec_db *db = e->error ? NULL : open_database(run, e, &bad);
    if (!db) {
        leave_out(run, e, record, e->error ? e->error : bad.text);
        return 0;
    }
    trial_run(&t, run->q->published ? TRIAL_PUBLISHED : TRIAL_CELLS, db, trial_texts_part(&e->golds, 0, e->golds.n),
              trial_texts_part(&e->sql, 0, e->sql.n));
    int rc = score_trial(run, e, &t, record, err);
    trial_release(&t);
    return rc;
}

static json_t *stored_json(const struct dfpl_stored *s)
{
    return json_pack("{s:{s:i, s:i, s:i, s:i, s:i, s:i}}", "stored", "metrics", s->metrics, "metrics_differ", s->differ,
                     "distinct_results", s->groups, "distinct_results_differ", s->groups_differ, "matched", s->matched,
                     "matched_differ", s->matched_differ);
}

static int score_file(struct dfpl_run *run, struct error *err)
{
    struct progress p;

    run->held = !dfpl_is_records(run->q->pred);
    if (run->q->gold || (run->held && run->q->db))
        return error_set(err, EXIT_CODE_USAGE, "--rule dfpl: --%s is not read, the predictions hold their %s",
                         run->q->gold ? "gold" : "db", run->q->gold ? "golds" : "databases");
    if (!run->held && !run->q->db)
        return error_set(err, EXIT_CODE_USAGE, "--rule dfpl: expected --db, %s does not hold its databases",
                         run->q->pred);
    if (db_path_check(run->q->db, err) || dfpl_read(&run->file, run->q->pred, err) ||
        score_tally_init(&run->tally, run->q->per_example, err))
        return -1;
    run->databases.limits.python_text = run->q->published;
    progress_start(&p, "scoring", "examples", run->file.n);
    for (int i = 0; i < run->file.n; i++) {
        if (score_example(run, i, err))
            return -1;
        progress_update(&p, i + 1, i + 1, NULL);
    }
    progress_end(&p);
    return 0;
}

enum exit_code score_dfpl(const struct score_request *q, struct error *err)
{
    struct dfpl_run run = { .q = q };
    enum exit_code code = EXIT_CODE_OK;

    db_cache_init(&run.databases);
    python_random_seed(&run.random, ANNOTATE_SEED);
    if (score_file(&run, err))
        code = err->code;
    else
        code = score_tally_finish(&run.tally, q,
                                  q->published && !q->filter && run.held ? stored_json(&run.stored) : NULL, err);
    score_tally_release(&run.tally);
    db_cache_release(&run.databases);
    dfpl_release(&run.file);
    return code;
}
