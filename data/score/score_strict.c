/* Part of score.h: the strict rule, ours and the default.
 *
 * A prediction has a gold's reading when both run on the record's database and give the same rows (match_rows): as many
 * columns in the same order, the rows as a multiset, in order only where the gold orders at its top level (rows that
 * tie there must come as the gold's do); a number is never a text, reals may differ by 1e-9 of their size.  A
 * prediction stands for one gold and a gold for one prediction. A record whose gold fails, or whose golds give the same
 * rows on its database, is skipped and told: it would show nothing.  A record without predictions counts as zeros.
 */
#include "data/exec/db_cache.h"
#include "data/exec/db_path.h"
#include "data/score/score_tally.h"
#include "data/util/log.h"
#include "data/util/records.h"

#include <stdlib.h>

struct strict_run {
    const struct score_request *q;
    struct strings ids; /* of predictions */
    json_t **records;   /* by id */
    int records_cap;
    struct db_cache databases;
    struct score_tally tally;
    struct progress progress;
    int unanswered;
    struct strings golds; /* ids of gold records */
};

static int keep_prediction(struct strict_run *run, json_t *record, const char *where, struct error *err)
{
    char text[RECORD_ID_TEXT];
    struct trial_texts sql = { 0 };
    const char *id = record_id_text(record, text); /* 7 and "7" are one record */
    int rc = trial_texts_add(&sql, json_object_get(record, "sql"), "sql", where, err);

    if (rc == 0 && strings_find(&run->ids, id) >= 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: field \"id\": %s came before", where, id);
    if (rc == 0) {
        int i = strings_add(&run->ids, id);
        GROW(run->records, i, run->records_cap);
        run->records[i] = json_incref(record);
    }
    free(sql.sql);
    return rc;
}

/* Passes each record of a file to `use`; what cannot be read or used is skipped and told.  -1 only where nothing can be
 * read or written at all. */
static int each_record(struct strict_run *run, const char *path,
                       int (*use)(struct strict_run *run, json_t *record, const char *where, struct error *bad),
                       struct error *err)
{
    struct record_reader *r = record_reader_open(path, RECORDS_AUTO, err);
    json_t *record;
    int rc;

    if (!r)
        return -1;
    record_reader_by_place(r); /* so that records without ids meet by their places, whatever the forms of the files */
    do {
        struct error bad = { 0 };
        rc = record_reader_next(r, &record, &bad);
        const char *where = record_reader_where(r);
        if (rc < 0 && record_reader_failed(r)) {
            *err = bad;
            break;
        }
        if (rc && (rc < 0 || use(run, record, where, &bad)))
            score_tally_skip(&run->tally, where, bad.text);
        json_decref(record);
    } while (rc);
    rc = rc < 0 ? -1 : 0;
    record_reader_close(r);
    return rc;
}

struct strict_record {
    const char *id, *db_id;
    json_t *own_id; /* as the gold record has it */
    struct trial_texts golds, sql;
};

static struct exec_db *open_database(struct strict_run *run, const char *db_id, struct error *bad)
{
    char *path = db_path(run->q->db, db_id, bad);
    struct exec_db *db = path ? db_cache_file(&run->databases, path, bad) : NULL;
    free(path);
    return db;
}

static int score_record(struct strict_run *run, const struct strict_record *r, struct exec_db *db, struct error *bad)
{
    struct trial t;

    int k = (int)(r->sql.n < run->q->k ? r->sql.n : run->q->k);
    struct trial_text sql = trial_texts_part(&r->sql, 0, k);
    trial_run(&t, TRIAL_STRICT, db, trial_texts_part(&r->golds, 0, r->golds.n), sql);
    bool ambiguous = t.n_golds > 1;
    struct trial_score s = trial_score_paired(&t, sql);
    json_t *o = json_pack("{s:O, s:s, s:b}", "id", r->own_id, "db_id", r->db_id, "ambiguous", ambiguous);
    int rc = 0;
    if (t.why) {
        rc = error_set(bad, EXIT_CODE_DATA, "%s", t.why);
        json_object_set_new(o, "error", json_message(t.why));
    } else {
        score_tally_add(&run->tally, ambiguous, r->db_id, &s);
        for (int g = 0, empty = 0; g < t.n_golds && !empty; g++)
            run->tally.empty_golds += empty = t.golds[g].result.n == 0;
    }
    if (score_tally_write(&run->tally, o, &t, &s, bad))
        rc = -1;
    trial_release(&t);
    return rc;
}

static int read_gold(struct strict_run *run, struct strict_record *r, const json_t *record, const char *where,
                     struct error *bad)
{
    int before = run->golds.n;
    char text[RECORD_ID_TEXT];

    r->own_id = json_object_get(record, "id");
    r->id = strings_keep(&run->golds, record_id_text(record, text));
    if (run->golds.n == before)
        return error_set(bad, EXIT_CODE_DATA, "%s: field \"id\": %s came before", where, r->id);
    if (!(r->db_id = json_get_string(record, "db_id", where, bad)) ||
        trial_texts_add(&r->golds, json_object_get(record, "sql"), "sql", where, bad))
        return -1;
    int i = strings_find(&run->ids, r->id);
    run->unanswered += i < 0;
    return i < 0 ? 0 : trial_texts_add(&r->sql, json_object_get(run->records[i], "sql"), "sql", where, bad);
}

static int use_gold(struct strict_run *run, json_t *record, const char *where, struct error *bad)
{
    struct strict_record r = { 0 };

    db_path_name(run->q->db, record);
    int rc = read_gold(run, &r, record, where, bad);
    struct exec_db *db = rc ? NULL : open_database(run, r.db_id, bad);

    progress_update(&run->progress, run->golds.n, run->golds.n, NULL);
    rc = db ? score_record(run, &r, db, bad) : -1;
    free(r.golds.sql);
    free(r.sql.sql);
    return rc;
}

/* Predictions whose record no gold has. */
static void tell_strangers(struct strict_run *run)
{
    for (int i = 0; i < run->ids.n; i++)
        if (strings_find(&run->golds, run->ids.items[i]) < 0)
            score_tally_skip(&run->tally, run->ids.items[i], "a prediction without a gold");
}

static int score_files(struct strict_run *run, struct error *err)
{
    const struct score_request *q = run->q;

    if (!q->gold || !q->db)
        return error_set(err, EXIT_CODE_USAGE, "--rule strict: expected %s", q->gold ? "--db" : "--gold");
    if (q->published)
        return error_set(err, EXIT_CODE_USAGE, "--published: the strict rule is not a published one");
    if (db_path_check(q->db, err) || score_tally_init(&run->tally, q->per_example, err) ||
        each_record(run, q->pred, keep_prediction, err))
        return -1;
    progress_start(&run->progress, "scoring", "records", 0);
    if (each_record(run, q->gold, use_gold, err))
        return -1;
    progress_end(&run->progress);
    tell_strangers(run);
    return 0;
}

enum exit_code score_strict(const struct score_request *q, struct error *err)
{
    struct strict_run run = { .q = q };
    enum exit_code code;

    db_cache_init(&run.databases);
    if (score_files(&run, err))
        code = err->code;
    else
        code = score_tally_finish(&run.tally, q, json_pack("{s:i}", "without_predictions", run.unanswered), err);
    for (int i = 0; i < run.ids.n; i++)
        json_decref(run.records[i]);
    free(run.records);
    strings_release(&run.ids);
    strings_release(&run.golds);
    score_tally_release(&run.tally);
    db_cache_release(&run.databases);
    return code;
}
