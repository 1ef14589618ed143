#include "train/lm/lm_judge.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/db/db_path.h"
#include "data/db/result_match.h"
#include "data/prompt/model_output.h"
#include "data/prompt/parser_text.h"
#include "data/sql/sql.h"
#include "models/engine/engine.h"
#include "models/lm/lm_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- templates, exact match, execution ---- */

/* The completion of a record; borrowed. */
static const char *gold_of(const json_t *record)
{
    const json_t *messages = json_object_get(record, "messages");
    size_t n = json_array_size(messages);
    const json_t *last = n ? json_array_get(messages, n - 1) : NULL;

    return json_string_value(json_object_get(last ? last : record, last ? "content" : "completion"));
}

/* The template or statement after a database's name and a plan. */
static const char *statement(const char *text)
{
    const char *behind = parser_behind_name(text), *rest;
    struct sql_plan plan;

    return sql_plan_parse(&plan, behind, &rest, NULL) == 0 ? rest : behind;
}

static const char *database_of(const json_t *record)
{
    const char *db_id = json_string_value(json_object_get(record, "db_id"));
    return db_id ? db_id : "";
}

/* The statement of a completion, as all readers of completions find it; else its text. The caller frees it. */
static char *generated_statement(const char *answer)
{
    char *text = output_answer(answer);
    struct text_items sql = { 0 };

    output_sql(&sql, statement(text), false);
    char *said = xstrdup(sql.n ? sql.items[0] : statement(text));
    text_items_release(&sql);
    free(text);
    return said;
}

static bool same_set(const struct lm_judge *j, const json_t *record, const char *said)
{
    struct spider_schema schema;

    spider_schema_init(&schema, schema_find(&j->schemas, database_of(record)));
    struct spider_query *gold = spider_query_new(&schema, statement(gold_of(record)));
    char *text = generated_statement(said);
    struct spider_query *query = spider_query_new(&schema, text);
    bool same = spider_query_parsed(query) && spider_match(&schema, query, gold);
    spider_query_free(query);
    spider_query_free(gold);
    spider_schema_release(&schema);
    free(text);
    return same;
}

static bool same_rows(struct lm_judge *j, const json_t *record, const char *said)
{
    struct error err;
    const char *gold = statement(gold_of(record));

    if (ambiqt_runner_use(j->runner, database_of(record), &err))
        return false;
    char *text = generated_statement(said);
    const struct exec_result *a = ambiqt_run(j->runner, text), *b = ambiqt_run(j->runner, gold);
    free(text);
    return a->status == EXEC_OK && b->status == EXEC_OK && match_rows(a, b, sql_ordered(gold, NULL) > 0);
}

static bool same_template(const json_t *record, const char *said)
{
    char *text = output_answer(said);
    bool same = sql_template_match(statement(text), statement(gold_of(record)));

    free(text);
    return same;
}

bool lm_judge_correct(struct lm_judge *j, const json_t *record, const char *said)
{
    switch (j->select) {
    case SELECT_EXACT:
        return same_set(j, record, said);
    case SELECT_EXECUTION:
        return same_rows(j, record, said);
    default:
        return same_template(record, said);
    }
}

static int check_exact(const struct lm_judge *j, const json_t *record, const char *where, struct error *err)
{
    const struct schema *s = schema_find(&j->schemas, database_of(record));
    struct spider_schema schema;

    if (!s)
        return error_set(err, EXIT_CODE_DATA, "%s: db_id: expected one of the schema's, got \"%s\"", where,
                         database_of(record));
    spider_schema_init(&schema, s);
    struct spider_query *gold = spider_query_new(&schema, statement(gold_of(record)));
    bool parsed = spider_query_parsed(gold);
    spider_query_free(gold);
    spider_schema_release(&schema);
    return parsed ? 0
                  : error_set(err, EXIT_CODE_DATA, "%s: expected a statement of Spider's SQL, got \"%.200s\"", where,
                              statement(gold_of(record)));
}

static int check_rows(struct lm_judge *j, const json_t *record, const char *where, struct error *err)
{
    const char *gold = statement(gold_of(record));

    if (ambiqt_runner_use(j->runner, database_of(record), err)) {
        error_prefix(err, "%s: db_id \"%s\"", where, database_of(record));
        return -1;
    }
    const struct exec_result *r = ambiqt_run(j->runner, gold);
    if (r->status != EXEC_OK)
        log_warn("%s: no answer can be right, its own \"%.200s\" does not run: %s", where, gold, r->message);
    return 0;
}

static int check(struct lm_judge *j, const struct lm_example *e, const char *path, int number, struct error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s: record %d", path, number);
    if (j->select == SELECT_EXACT)
        return check_exact(j, e->record, where, err);
    return j->select == SELECT_EXECUTION ? check_rows(j, e->record, where, err) : 0;
}

int lm_judge_open(struct lm_judge *j, const struct lm_request *q, const struct lm_data *valid, struct error *err)
{
    int rc = 0;

    j->select = q->settings.select;
    if (j->select == SELECT_EXACT && schema_set_open(&j->schemas, q->schema, err))
        return -1;
    if (j->select == SELECT_EXECUTION)
        j->runner = ambiqt_runner_new(q->db, false);
    for (int i = 0; i < valid->n && rc == 0; i++)
        rc = check(j, &valid->items[i], q->valid, i + 1, err);
    return rc;
}

void lm_judge_release(struct lm_judge *j)
{
    schema_set_close(&j->schemas);
    ambiqt_runner_free(j->runner);
    *j = (struct lm_judge){ 0 };
}

/* ---- recall ---- */

static bool task_is(const json_t *record, const char *what)
{
    const char *it = json_string_value(json_object_get(record, "task"));
    return strcmp(it ? it : "infill", what) == 0;
}

static const char *db_id_of(const json_t *record)
{
    return json_string_value(json_object_get(record, "db_id"));
}

/* Interpretations in a completion. End-to-end records have none, but statements. */
static struct text_items interpretations_of(const json_t *record, const char *answer)
{
    struct text_items list = { 0 };

    if (task_is(record, "infill"))
        output_infilled(&list, answer, false);
    else if (task_is(record, "gold"))
        output_interpretations(&list, answer, false);
    return list;
}

/* True if a completion contains nothing to score, not even that no interpretation is missing. */
static bool is_unread(const json_t *record, const char *answer, int interpretations, int statements)
{
    bool covered = task_is(record, "infill") && output_says_covered(answer);
    return interpretations + statements == 0 && !covered;
}

/* Adds the SQL of the completion's and of existing interpretations. The caller frees texts.sql. `statements` owns
 * statements of end-to-end records. */
static void add_statements(struct lm_recall *r, struct trial_texts *texts, struct text_items *statements,
                           const json_t *record, const char *answer)
{
    const json_t *existing = task_is(record, "infill") ? json_object_get(record, "readings") : NULL, *o;
    struct text_items interpretations = interpretations_of(record, answer);
    size_t k;

    json_array_foreach(existing, k, o)
    {
        if (!json_object_get(o, "dropped") && json_object_get(o, "sql"))
            trial_texts_add(texts, json_object_get(o, "sql"), "sql", "", NULL);
    }
    for (int i = 0; i < interpretations.n; i++) {
        const json_t *sql = interpretation_sql_find(&r->sqls, db_id_of(record), interpretations.items[i]);
        r->unread_sql += interpretation_sql_unread(sql) != NULL;
        if (sql && !interpretation_sql_unread(sql))
            trial_texts_add(texts, sql, "sql", "", NULL);
    }
    if (task_is(record, "e2e"))
        output_sql(statements, answer, false);
    r->unread += is_unread(record, answer, interpretations.n, statements->n);
    for (int i = 0; i < statements->n; i++) {
        GROW(texts->sql, texts->n, texts->cap);
        texts->sql[texts->n++] = statements->items[i];
    }
    text_items_release(&interpretations);
}

static int read_golds(struct trial_texts *golds, const json_t *record, const char *where, struct error *err)
{
    const json_t *list = json_get_array(record, "golds", where, err), *o;
    size_t i;

    if (!list)
        return -1;
    json_array_foreach(list, i, o)
    {
        if (trial_texts_add(golds, json_object_get(o, "sql"), "golds: sql", where, err))
            return -1;
    }
    return golds->n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: field \"golds\" is empty", where);
}

static struct exec_db *open_database(struct lm_recall *r, const json_t *record, struct error *err)
{
    char *path = db_path(r->request->db, db_id_of(record), err);
    struct exec_db *db = path ? db_cache_file(&r->databases, path, err) : NULL;

    free(path);
    return db;
}

/* Scores a completion. The SQL of its interpretations must be known (ask_sql_model). A trial that cannot be scored
 * gives zeros. */
static struct trial_score score_recall(struct lm_recall *r, const json_t *record, const char *answer)
{
    struct trial_texts golds = { 0 }, texts = { 0 };
    struct text_items statements = { 0 };
    struct trial_score s = { 0 };
    struct exec_db *db = open_database(r, record, NULL);
    struct trial t;

    add_statements(r, &texts, &statements, record, answer);
    if (db && read_golds(&golds, record, "", NULL) == 0) {
        struct trial_text said = trial_texts_part(&texts, 0, texts.n);
        trial_run(&t, TRIAL_STRICT, db, trial_texts_part(&golds, 0, golds.n), said);
        s = trial_score_paired(&t, said);
        trial_release(&t);
    }
    text_items_release(&statements);
    free(texts.sql);
    free(golds.sql);
    return s;
}

/* Asks the SQL model for all missing SQL of n completions. 1 when a signal asked to stop. */
static int ask_sql_model(struct lm_recall *r, json_t *const *records, char *const *answers, int n, struct error *err)
{
    struct text_items *interpretations = xcalloc((size_t)n + 1, sizeof *interpretations);
    struct sql_wish *list = NULL;
    int wishes = 0, cap = 0;

    for (int i = 0; i < n; i++) {
        interpretations[i] = interpretations_of(records[i], answers[i]);
        for (int k = 0; k < interpretations[i].n; k++) {
            GROW(list, wishes, cap);
            list[wishes++] = (struct sql_wish){ db_id_of(records[i]), interpretations[i].items[k] };
        }
    }
    int rc = sql_writer_write(&r->writer, &r->sqls, list, wishes, true, err);
    for (int i = 0; i < n; i++)
        text_items_release(&interpretations[i]);
    free(interpretations);
    free(list);
    return rc;
}

int lm_recall_mean(struct lm_recall *r, const struct lm_data *valid, char *const *texts, double *mean,
                   struct error *err)
{
    json_t **records = xcalloc((size_t)valid->n + 1, sizeof *records);
    double sum = 0;
    int n = 0;

    for (int i = 0; i < valid->n; i++)
        records[i] = valid->items[i].record;
    int rc = sql_writer_wanted(r->request) ? ask_sql_model(r, records, texts, valid->n, err) : 0;
    r->unread = r->unread_sql = 0;
    for (int i = 0; i < valid->n && rc == 0; i++) {
        if (!r->counts[i])
            continue;
        sum += score_recall(r, records[i], texts[i]).recall;
        n++;
    }
    if (rc == 0 && r->unread + r->unread_sql > 0)
        log_warn(
            "recall: of %d answers %d hold nothing that can be read, and %d answers to prompts for SQL no statement", n,
            r->unread, r->unread_sql);
    *mean = n ? sum / n : 0;
    free(records);
    return rc;
}

/* 1 if the record's golds run and differ, 0 with a warning if not, -1 if a field is missing. */
static int check_golds(struct lm_recall *r, const json_t *record, const char *where, bool *ambiguous, struct error *err)
{
    struct trial_texts golds = { 0 };
    struct error bad = { 0 };
    struct exec_db *db = NULL;
    struct trial t;
    bool ok = false;

    if (!json_get_string(record, "db_id", where, err) || read_golds(&golds, record, where, err)) {
        free(golds.sql);
        return -1;
    }
    db = open_database(r, record, &bad);
    if (db) {
        trial_run(&t, TRIAL_STRICT, db, trial_texts_part(&golds, 0, golds.n), (struct trial_text){ 0 });
        ok = !t.why;
        *ambiguous = t.n_golds > 1;
        if (t.why)
            error_set(&bad, EXIT_CODE_DATA, "%s", t.why);
        trial_release(&t);
    }
    if (!ok)
        log_warn("%s: left out of recall: %s", where, bad.text);
    free(golds.sql);
    return ok;
}

/* Chooses the ambiguous records that can be scored, or all of them if none is ambiguous. */
static int choose(struct lm_recall *r, const struct lm_data *valid, struct error *err)
{
    bool *ambiguous = xcalloc((size_t)valid->n + 1, sizeof *ambiguous);
    int usable = 0, many = 0, rc = 0;
    char where[256];

    r->counts = xcalloc((size_t)valid->n + 1, sizeof *r->counts);
    for (int i = 0; i < valid->n && rc >= 0; i++) {
        snprintf(where, sizeof where, "%.200s: record %d", r->request->valid, i + 1);
        rc = check_golds(r, valid->items[i].record, where, &ambiguous[i], err);
        r->counts[i] = rc > 0;
        usable += r->counts[i];
        many += r->counts[i] && ambiguous[i];
    }
    for (int i = 0; i < valid->n; i++)
        r->counts[i] = r->counts[i] && (!many || ambiguous[i]);
    free(ambiguous);
    if (rc >= 0 && !usable)
        return error_set(err, EXIT_CODE_DATA, "%s: no record whose golds run and differ on its database of %s",
                         r->request->valid, r->request->db);
    if (rc >= 0)
        log_info("recall of %d records%s, by execution", many ? many : usable, many ? " that are ambiguous" : "");
    return rc < 0 ? -1 : 0;
}

int lm_recall_open(struct lm_recall *r, const struct lm_request *q, const struct lm_data *valid, struct device *d,
                   struct error *err)
{
    *r = (struct lm_recall){ .request = q };
    db_cache_init(&r->databases);
    return db_path_check(q->db, err) || (q->sqls && interpretation_sql_open(&r->sqls, q->sqls, false, err)) ||
                   choose(r, valid, err) || sql_writer_open(&r->writer, q, d, err)
               ? -1
               : 0;
}

int lm_recall_start(struct lm_recall *r, struct device *d, struct error *err)
{
    return sql_writer_start(&r->writer, d, err);
}

void lm_recall_release(struct lm_recall *r)
{
    sql_writer_release(&r->writer);
    interpretation_sql_release(&r->sqls);
    db_cache_release(&r->databases);
    free(r->counts);
    *r = (struct lm_recall){ 0 };
}
