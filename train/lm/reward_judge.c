#include "train/lm/reward_judge.h"

#include "data/db/db_path.h"
#include "data/eval/trial.h"
#include "data/prompt/model_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_text(struct reward_judge *j, const char *text)
{
    j->hash = hash_bytes(j->hash, text, strlen(text) + 1);
}

static void add_known(struct reward_judge *j, const struct interpretation_sql *r)
{
    for (int i = 0; i < r->keys.n; i++) {
        char *sql = json_dumps(r->sql[i], JSON_ENCODE_ANY | JSON_COMPACT);
        CHECK(sql, "SQL of \"%s\" is no JSON", r->keys.items[i]);
        add_text(j, r->keys.items[i]);
        add_text(j, sql);
        free(sql);
    }
}

int reward_judge_open(struct reward_judge *j, const struct lm_request *q, struct error *err)
{
    const char *const files[REWARD_SOURCES] = { q->data, q->valid, q->test, q->sqls };

    j->db = q->db;
    j->penalty = q->settings.penalty;
    j->hash = HASH_START;
    db_cache_init(&j->databases);
    if (db_path_check(q->db, err))
        return -1;
    for (int i = 0; i < REWARD_SOURCES; i++) {
        if (!files[i])
            continue;
        struct interpretation_sql *r = &j->known[j->n_known++];
        if (interpretation_sql_open(r, files[i], false, err))
            return -1;
        add_known(j, r);
    }
    return 0;
}

void reward_judge_release(struct reward_judge *j)
{
    for (int i = 0; i < j->n_known; i++)
        interpretation_sql_release(&j->known[i]);
    db_cache_release(&j->databases);
    *j = (struct reward_judge){ 0 };
}

static const char *database_name(const json_t *record)
{
    return json_string_value(json_object_get(record, "db_id"));
}

/* NULL with EXIT_CODE_DATA. */
static struct exec_db *database_of(struct reward_judge *j, const json_t *record, struct error *err)
{
    char *path = db_path(j->db, database_name(record), err);
    struct exec_db *db = path ? db_cache_file(&j->databases, path, err) : NULL;

    free(path);
    return db;
}

/* SQL of all golds, or of the missing ones only; borrowed. */
static struct trial_texts gold_sql(const json_t *record, bool missing)
{
    struct trial_texts t = { 0 };
    const json_t *gold;
    size_t i;

    json_array_foreach(json_object_get(record, "golds"), i, gold)
    {
        if (missing && json_is_integer(json_object_get(gold, "covered_by")))
            continue;
        GROW(t.sql, t.n, t.cap);
        t.sql[t.n++] = json_string_value(json_object_get(gold, "sql"));
    }
    return t;
}

int reward_missing(const json_t *record)
{
    struct trial_texts missing = gold_sql(record, true);

    free(missing.sql);
    return missing.n;
}

static int check_fields(const json_t *record, const char *where, struct error *err)
{
    char inner[700];
    const json_t *golds, *gold;
    size_t i;

    if (!json_get_string(record, "db_id", where, err) || !(golds = json_get_array(record, "golds", where, err)))
        return -1;
    json_array_foreach(golds, i, gold)
    {
        snprintf(inner, sizeof inner, "%s, gold %zu", where, i + 1);
        if (!json_get_string(gold, "sql", inner, err))
            return -1;
    }
    return 0;
}

static int check_golds(struct reward_judge *j, const json_t *record, const char *where, struct error *err)
{
    struct exec_db *db = database_of(j, record, err);
    struct trial_texts golds = gold_sql(record, false);
    struct trial t;
    int rc = 0;

    if (!db) {
        free(golds.sql);
        return error_prefix(err, "%s", where);
    }
    trial_run(&t, TRIAL_STRICT, db, trial_texts_part(&golds, 0, golds.n), (struct trial_text){ 0 });
    if (t.why)
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s", where, t.why);
    for (int i = 0; i < golds.n; i++)
        add_text(j, golds.sql[i]);
    trial_release(&t);
    free(golds.sql);
    return rc;
}

int reward_judge_check(struct reward_judge *j, const struct lm_data *data, const char *path, struct error *err)
{
    char where[640];

    for (int i = 0; i < data->n; i++) {
        json_t *record = data->items[i].record;
        char *id = json_dumps(data->items[i].text.id, JSON_ENCODE_ANY | JSON_COMPACT);
        snprintf(where, sizeof where, "%.400s: record of id %.100s", path, id);
        free(id);
        db_path_name(j->db, record);
        if (check_fields(record, where, err) || check_golds(j, record, where, err))
            return -1;
    }
    return 0;
}

static json_t *find_sql(const struct reward_judge *j, const char *db_id, const char *text)
{
    json_t *sql = NULL;

    for (int i = 0; i < j->n_known && !sql; i++)
        sql = interpretation_sql_find(&j->known[i], db_id, text);
    return sql;
}

static bool runs(struct exec_db *db, const char *sql)
{
    struct exec_result r = exec_run(db, sql);
    bool ok = r.status == EXEC_OK;

    exec_result_release(&r);
    return ok;
}

/* The first statement of an interpretation that runs. A single statement is not tested. NULL: none. */
static const char *meaning(const struct reward_judge *j, struct exec_db *db, const char *db_id, const char *text)
{
    const json_t *sql = find_sql(j, db_id, text);
    size_t n = json_array_size(sql);

    if (json_is_string(sql))
        return json_string_value(sql);
    for (size_t i = 0; i < n; i++) {
        const char *one = json_string_value(json_array_get(sql, i));
        if (one && (n == 1 || runs(db, one)))
            return one;
    }
    return NULL;
}

/* Number of missing golds that the interpretations find. */
static int count_found(struct reward_judge *j, const json_t *record, const struct text_items *interpretations,
                       const struct trial_texts *missing)
{
    struct error err;
    struct exec_db *db = database_of(j, record, &err);
    struct trial_texts found_sql = { 0 };
    struct trial t;

    CHECK(db, "%s", err.text); /* it existed when the record was checked */
    for (int i = 0; i < interpretations->n; i++) {
        const char *sql = meaning(j, db, database_name(record), interpretations->items[i]);
        if (!sql)
            continue;
        GROW(found_sql.sql, found_sql.n, found_sql.cap);
        found_sql.sql[found_sql.n++] = sql;
    }
    struct trial_text all = trial_texts_part(&found_sql, 0, found_sql.n);
    trial_run(&t, TRIAL_STRICT, db, trial_texts_part(missing, 0, missing->n), all);
    double recall = trial_score_paired(&t, all).recall;
    int found = (int)(recall * t.listed_golds + 0.5);
    trial_release(&t);
    free(found_sql.sql);
    return found;
}

struct reward reward_of(struct reward_judge *j, const json_t *record, const char *text)
{
    struct trial_texts missing = gold_sql(record, true);
    struct text_items interpretations = { 0 };
    struct reward r = { .missing = missing.n, .recall = 1 };
    int found = 0;

    output_infilled(&interpretations, text, false);
    bool unread = interpretations.n == 0 && !output_says_covered(text);
    if (missing.n && interpretations.n)
        found = count_found(j, record, &interpretations, &missing);
    if (missing.n)
        r.recall = (double)found / missing.n;
    else if (unread)
        r.recall = 0;
    r.wrong = interpretations.n - found + unread;
    r.value = r.recall - j->penalty * r.wrong;
    text_items_release(&interpretations);
    free(missing.sql);
    return r;
}
