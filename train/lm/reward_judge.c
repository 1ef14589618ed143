#include "train/lm/reward_judge.h"

#include "data/base/json.h"
#include "data/base/subprocess.h"
#include "data/db/db_path.h"
#include "data/eval/trial.h"
#include "data/prompt/model_output.h"
#include "models/hf/hf_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Rewards by a program of the user, by its protocol.
 *
 * For each list of completions the program is started once. It reads a line of JSON for each completion and writes one
 * for each, in this order:
 *
 *   {"record": the whole record, "text": the completion}
 *   {"reward": a number}
 *
 * Other fields of its lines are ignored. The program keeps no state between its starts. A resumed run therefore gets
 * the rewards of an undisturbed one if the program is deterministic.
 */

enum { REWARD_MAX_LINE = 4096 /* mean number of bytes of a line of output */ };
/* Limit of the absolute value of a reward. */
#define REWARD_MAX 1e6

/* The lines of the program's input. The caller frees. */
static char *input_lines(const struct reward_input *list, int n, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    CHECK(out, "out of memory");
    for (int i = 0; i < n; i++) {
        json_t *line = json_pack("{s:O, s:o}", "record", list[i].record, "text", json_message(list[i].text));
        CHECK(line && json_dumpf(line, out, JSON_COMPACT) == 0, "a completion is no JSON");
        fputc('\n', out);
        json_decref(line);
    }
    CHECK(fclose(out) == 0, "out of memory");
    return text;
}

static int count_lines(const struct subprocess *p)
{
    int n = 0;

    for (size_t i = 0; i < p->size; i++)
        n += p->output[i] == '\n';
    return n + (p->size && p->output[p->size - 1] != '\n');
}

static int read_reward(double *value, const char *line, size_t size, const char *where, struct error *err)
{
    json_t *o = json_loadb(line, size, 0, NULL);
    const json_t *reward = json_object_get(o, "reward");
    double x = json_number_value(reward);
    int rc = 0;

    if (!json_is_number(reward) || !(fabs(x) <= REWARD_MAX))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected {\"reward\": a number from %g to %g}, got %.*s%s", where,
                       -REWARD_MAX, REWARD_MAX, size < 100 ? (int)size : 100, line, size > 100 ? "..." : "");
    *value = x;
    json_decref(o);
    return rc;
}

static int read_lines(struct reward *rewards, int n, const struct subprocess *p, struct error *err)
{
    char where[64];
    const char *line = p->output, *end = p->output + p->size;

    for (int i = 0; i < n; i++) {
        snprintf(where, sizeof where, "--reward-program: line %d of its output", i + 1);
        if (line == end)
            return error_set(err, EXIT_CODE_DATA, "%s: expected a line for each of %d completions, got %d", where, n,
                             i);
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        rewards[i] = (struct reward){ .recall = NAN, .precision = NAN };
        if (read_reward(&rewards[i].value, line, size, where, err))
            return -1;
        line = stop ? stop + 1 : end;
    }
    if (line != end)
        return error_set(err, EXIT_CODE_DATA,
                         "--reward-program: line %d of its output: expected the end after %d lines", n + 1, n);
    return 0;
}

/* Runs j->program. Returns -1 with EXIT_CODE_FAILURE if the program fails, takes longer than j->timeout, or writes too
 * many bytes. Returns -1 with EXIT_CODE_DATA for a line that is no reward, or another number of lines. Each message has
 * the number of the line. */
static int reward_by_program(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                             struct error *err)
{
    struct subprocess p = { .command = j->program, .seconds = j->timeout, .max_output = (size_t)n * REWARD_MAX_LINE };
    size_t size;
    char *text = input_lines(list, n, &size);
    int rc = subprocess_filter(&p, text, size, err);

    if (rc)
        error_prefix(err, "--reward-program: after line %d of its output, of %d", count_lines(&p), n);
    else
        rc = read_lines(rewards, n, &p, err);
    subprocess_release(&p);
    free(text);
    return rc;
}

/*
 * Rewards by execution.
 */

/* reward_own_sql runs the statements in the completion: tasks pairs and e2e. reward_known_words looks up the SQL of
 * each interpretation by database and words, in the records and in --sqls, and takes the first statement that runs:
 * tasks infill and gold. reward_sql_model does the same, and asks a model for the SQL of all other interpretations. */
static reward_function reward_own_sql, reward_known_words, reward_sql_model;

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

/* Another SQL model gives other rewards. */
static int hash_writer(struct reward_judge *j, const struct lm_request *q, struct error *err)
{
    uint64_t hash = 0;

    if (q->sql_model && hf_weights_hash(q->sql_model, &hash, err))
        return -1;
    if (j->writer.server)
        hash = endpoint_key(j->writer.server);
    if (sql_writer_wanted(q))
        j->hash = hash_bytes(j->hash, (uint64_t[]){ hash, prompts_hash(&j->writer.prompter.prompts) }, 2 * sizeof hash);
    return 0;
}

int reward_judge_open(struct reward_judge *j, const struct lm_request *q, struct device *d, struct error *err)
{
    const char *const files[REWARD_SOURCES] = { q->data, q->valid, q->test, q->sqls };

    j->program = q->settings.program;
    j->timeout = q->settings.program_timeout;
    j->judge = j->program ? reward_by_program : NULL;
    j->db = q->db;
    j->penalty = q->settings.penalty;
    j->hash = HASH_START;
    db_cache_init(&j->databases);
    if (j->program)
        return 0;
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
    return sql_writer_open(&j->writer, q, d, err) || hash_writer(j, q, err) ? -1 : 0;
}

int reward_judge_start(struct reward_judge *j, struct device *d, struct error *err)
{
    return sql_writer_start(&j->writer, d, err);
}

void reward_judge_release(struct reward_judge *j)
{
    for (int i = 0; i < j->n_known; i++)
        interpretation_sql_release(&j->known[i]);
    interpretation_sql_release(&j->written);
    sql_writer_release(&j->writer);
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

static const char *task_of(const json_t *record)
{
    const char *task = json_string_value(json_object_get(record, "task"));
    return task ? task : "infill";
}

static bool is_infill(const json_t *record)
{
    return strcmp(task_of(record), "infill") == 0;
}

/* SQL of all golds, or of those only that a completion is to find; borrowed. */
static struct trial_texts gold_sql(const json_t *record, bool to_find)
{
    struct trial_texts t = { 0 };
    const json_t *gold;
    size_t i;

    json_array_foreach(json_object_get(record, "golds"), i, gold)
    {
        if (to_find && is_infill(record) && json_is_integer(json_object_get(gold, "covered_by")))
            continue;
        GROW(t.sql, t.n, t.cap);
        t.sql[t.n++] = json_string_value(json_object_get(gold, "sql"));
    }
    return t;
}

/* Whether the reward of a record with so many golds to find is recall. */
static bool by_recall(const json_t *record, int golds)
{
    return golds > (is_infill(record) ? 0 : 1);
}

bool reward_by_recall(const json_t *record)
{
    struct trial_texts golds = gold_sql(record, true);

    free(golds.sql);
    return by_recall(record, golds.n);
}

/* ---- checks ---- */

/* The first record chooses the function. */
static int choose(struct reward_judge *j, const json_t *record, const char *where, struct error *err)
{
    static const struct {
        const char *task;
        reward_function *judge;
    } functions[] = { { "infill", reward_known_words },
                      { "gold", reward_known_words },
                      { "pairs", reward_own_sql },
                      { "e2e", reward_own_sql } };
    const char *task = task_of(record);

    if (j->task && strcmp(j->task, task))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"task\" is \"%.100s\", expected \"%s\" as in the first record", where, task,
                         j->task);
    for (int i = 0; i < ARRAY_LEN(functions) && !j->task; i++)
        if (strcmp(functions[i].task, task) == 0) {
            j->task = task;
            j->judge = functions[i].judge;
        }
    bool writes = j->writer.request && sql_writer_wanted(j->writer.request);
    if (writes && j->judge == reward_own_sql)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: completions of the task %s have their own SQL: expected no --sql-model and no --lm",
                         where, task);
    if (writes)
        j->judge = reward_sql_model;
    if (!j->task)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"task\" is \"%.100s\", expected infill, gold, pairs or e2e",
                         where, task);
    return 0;
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

    for (int i = 0; i < data->n && !j->program; i++) {
        json_t *record = data->items[i].record;
        char *id = json_dumps(data->items[i].text.id, JSON_ENCODE_ANY | JSON_COMPACT);
        snprintf(where, sizeof where, "%.400s: record of id %.100s", path, id);
        free(id);
        db_path_name(j->db, record);
        if (choose(j, record, where, err) || check_fields(record, where, err) || check_golds(j, record, where, err))
            return -1;
    }
    return 0;
}

/* ---- statements of a completion ---- */

static json_t *find_sql(const struct reward_judge *j, const char *db_id, const char *text)
{
    json_t *sql = NULL;

    for (int i = 0; i < j->n_known && !sql; i++)
        sql = interpretation_sql_find(&j->known[i], db_id, text);
    return sql ? sql : interpretation_sql_find(&j->written, db_id, text);
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

/* The statements that a completion stands for. */
struct claims {
    struct text_items items; /* interpretations or statements, as the completion has them */
    struct trial_texts sql;  /* of those that have one; borrowed */
    bool covered;            /* the completion states that nothing is missing */
};

static void add_sql(struct trial_texts *t, const char *sql)
{
    GROW(t->sql, t->n, t->cap);
    t->sql[t->n++] = sql;
}

static void release_claims(struct claims *c)
{
    text_items_release(&c->items);
    free(c->sql.sql);
}

static struct text_items interpretations_of(const struct reward_input *in)
{
    struct text_items list = { 0 };

    if (is_infill(in->record))
        output_infilled(&list, in->text, false);
    else
        output_interpretations(&list, in->text, false);
    return list;
}

static struct claims claims_in_words(struct reward_judge *j, struct exec_db *db, const struct reward_input *in)
{
    struct claims c = { .items = interpretations_of(in),
                        .covered = is_infill(in->record) && output_says_covered(in->text) };

    for (int i = 0; i < c.items.n; i++) {
        const char *sql = meaning(j, db, database_name(in->record), c.items.items[i]);
        if (sql)
            add_sql(&c.sql, sql);
    }
    return c;
}

static struct claims claims_in_sql(const struct reward_input *in)
{
    struct claims c = { 0 };

    output_sql(&c.items, in->text, false);
    for (int i = 0; i < c.items.n; i++)
        add_sql(&c.sql, c.items.items[i]);
    return c;
}

/* ---- rewards ---- */

/* Number of golds that the statements find. */
static int count_found(struct exec_db *db, const struct trial_texts *golds, const struct trial_texts *sql)
{
    struct trial_text all = trial_texts_part(sql, 0, sql->n);
    struct trial t;

    trial_run(&t, TRIAL_STRICT, db, trial_texts_part(golds, 0, golds->n), all);
    double recall = trial_score_paired(&t, all).recall;
    int found = (int)(recall * t.listed_golds + 0.5);
    trial_release(&t);
    return found;
}

static double ratio(int part, int all, bool of_nothing)
{
    return all ? (double)part / all : of_nothing;
}

static struct reward score(const struct reward_judge *j, struct exec_db *db, const json_t *record,
                           const struct claims *c)
{
    struct trial_texts golds = gold_sql(record, true);
    int found = golds.n && c->sql.n ? count_found(db, &golds, &c->sql) : 0;
    bool unread = c->items.n == 0 && !c->covered, silent = c->items.n == 0 && c->covered && golds.n == 0;
    struct reward r = { .golds = golds.n, .wrong = c->items.n - found + unread };

    r.recall = ratio(found, golds.n, silent);
    r.precision = ratio(found, c->items.n, silent);
    r.value = (by_recall(record, golds.n) ? r.recall : r.precision) - j->penalty * r.wrong;
    free(golds.sql);
    return r;
}

static void score_all(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n, bool own)
{
    struct error err;

    for (int i = 0; i < n; i++) {
        struct exec_db *db = database_of(j, list[i].record, &err);
        CHECK(db, "%s", err.text); /* it existed when the record was checked */
        struct claims c = own ? claims_in_sql(&list[i]) : claims_in_words(j, db, &list[i]);
        rewards[i] = score(j, db, list[i].record, &c);
        release_claims(&c);
    }
}

static int reward_own_sql(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                          struct error *err)
{
    (void)err;
    score_all(j, rewards, list, n, true);
    return 0;
}

static int reward_known_words(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                              struct error *err)
{
    (void)err;
    score_all(j, rewards, list, n, false);
    return 0;
}

/* Asks for the SQL that is not known. */
static int write_sql(struct reward_judge *j, const struct reward_input *list, int n, struct error *err)
{
    struct text_items *interpretations = xcalloc((size_t)n + 1, sizeof *interpretations);
    struct sql_wish *wishes = NULL;
    int count = 0, cap = 0;

    for (int i = 0; i < n; i++) {
        const char *db_id = database_name(list[i].record);
        interpretations[i] = interpretations_of(&list[i]);
        for (int k = 0; k < interpretations[i].n; k++) {
            if (find_sql(j, db_id, interpretations[i].items[k]))
                continue;
            GROW(wishes, count, cap);
            wishes[count++] = (struct sql_wish){ db_id, interpretations[i].items[k] };
        }
    }
    int rc = sql_writer_write(&j->writer, &j->written, wishes, count, false, err);
    for (int i = 0; i < n; i++)
        text_items_release(&interpretations[i]);
    free(interpretations);
    free(wishes);
    return rc;
}

static int reward_sql_model(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                            struct error *err)
{
    int rc = write_sql(j, list, n, err);

    if (rc == 0)
        score_all(j, rewards, list, n, false);
    return rc;
}

int reward_judge(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                 struct error *err)
{
    return j->judge(j, rewards, list, n, err);
}
