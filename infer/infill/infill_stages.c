#include "infer/infill/infill_stages_impl.h"

#include "data/util/stop.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_BYTES = 256 << 20 }; /* of prompts that a model gets at once */

/* What a prompt's slots hold; the last of them is the caller's to free. */
static char *fill_slots(struct infill_stages *f, const struct infill_case *c, enum prompt_kind kind, const char **slots,
                        struct error *err)
{
    char *own = kind == PROMPT_FILL        ? infill_case_existing(c)
                : kind == PROMPT_CORRECT   ? infill_case_texts(c)
                : kind == PROMPT_E2E_SHOTS ? shots_text(&f->shots, c->record, err)
                                           : NULL;
    if (kind == PROMPT_E2E_SHOTS) {
        slots[2] = slots[1];
        slots[1] = slots[0];
        slots[0] = own;
    } else {
        slots[2] = own;
    }
    return own;
}

static json_t *id_of(const struct infill_case *c, enum prompt_kind kind, int64_t reading)
{
    if (kind == PROMPT_SQL)
        return reading_sql_id(c->db_id, c->readings[reading].text);
    return kind == PROMPT_REWRITE ? infill_rewrite_id(c, reading) : json_incref(json_object_get(c->record, "id"));
}

/* {"id", "messages"}; the SQL of a reading is asked for by the reading's own id, a gold's question by the gold's. */
static json_t *prompt_of(struct infill_stages *f, const struct infill_case *c, enum prompt_kind kind, int64_t reading,
                         struct error *err)
{
    bool rewrites = kind == PROMPT_REWRITE;
    const char *database = rewrites ? NULL : prompter_database(&f->prompter, c->path, err);
    const char *slots[PROMPT_MAX_SLOTS] = { database, kind == PROMPT_SQL ? c->readings[reading].text : c->question };
    json_t *messages = NULL;

    if (!rewrites && !database)
        return NULL;
    if (rewrites) {
        slots[0] = c->question;
        slots[1] = c->golds[reading].word;
    }
    char *own = fill_slots(f, c, kind, slots, err);
    if (own || prompt_slots(kind) < PROMPT_MAX_SLOTS)
        messages = prompter_messages(&f->prompter, kind, slots, NULL);
    free(own);
    return messages ? json_pack("{s:o, s:o}", "id", id_of(c, kind, reading), "messages", messages) : NULL;
}

static size_t bytes_of(const json_t *prompt)
{
    const json_t *user = json_array_get(json_object_get(prompt, "messages"), 0);
    return json_string_length(json_object_get(user, "content"));
}

/* One SQL serves all readings of the same words. */
static int write_prompt(struct infill_stages *f, struct infill_case *c, const json_t *prompt, struct error *err)
{
    char *id = json_dumps(json_object_get(prompt, "id"), JSON_ENCODE_ANY);
    int n = f->prompt_ids.n;
    struct error bad = { 0 };
    bool is_new = strings_add(&f->prompt_ids, id) == n;

    if (!is_new && f->writes != PROMPT_SQL) {
        error_set(&bad, EXIT_CODE_DATA, "the id %s came before; answers are told apart by it", id);
        infill_case_fail(c, &bad);
    }
    free(id);
    return is_new ? json_write_line(&f->prompts, prompt, err) : 0;
}

static void use_answer(struct infill_stages *f, struct infill_case *c, int64_t reading, enum prompt_kind kind,
                       const char *answer)
{
    if (kind == PROMPT_SQL) {
        infill_case_set_answer(c, reading, answer, f->q->published);
        c->readings[reading].sql_from = "model";
    } else if (kind == PROMPT_REWRITE) {
        infill_case_set_text(c, reading, answer, f->q->published);
    } else if (kind == PROMPT_CORRECT) {
        infill_case_correct(c, answer, f->q->published);
    } else {
        infill_case_add_answer(c, answer, kind == PROMPT_FILL, f->q->published);
    }
}

/* Asks the model all that has come together, and gives each case its answers. */
static int answer_all(struct infill_stages *f, struct infill_queue *a, struct error *err)
{
    char **texts = xcalloc((size_t)a->n + 1, sizeof *texts);
    int rc = a->n ? a->model->generate(a->model->self, a->prompts, a->n, texts, err) : 0;

    for (int64_t i = 0; i < a->n; i++) {
        struct infill_case *c = &f->cases[a->owner[i]];
        struct error none = { 0 };
        if (rc == 0 && texts[i])
            use_answer(f, c, a->reading[i], a->kind, texts[i]);
        else if (rc == 0 && error_set(&none, EXIT_CODE_DATA, "the model has no answer to %s", prompt_file(a->kind)))
            infill_case_fail(c, &none);
        free(texts[i]);
        json_decref(a->prompts[i]);
    }
    free(texts);
    a->n = 0;
    a->bytes = 0;
    return rc;
}

static void queue_prompt(struct infill_queue *a, json_t *prompt, int64_t owner, int64_t reading)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 64;
        a->prompts = xrealloc(a->prompts, (size_t)a->cap * sizeof *a->prompts);
        a->owner = xrealloc(a->owner, (size_t)a->cap * sizeof *a->owner);
        a->reading = xrealloc(a->reading, (size_t)a->cap * sizeof *a->reading);
    }
    a->prompts[a->n] = prompt;
    a->owner[a->n] = owner;
    a->reading[a->n++] = reading;
    a->bytes += bytes_of(prompt);
}

int infill_ask(struct infill_stages *f, struct infill_queue *a, int64_t i, int64_t reading, struct error *err)
{
    struct infill_case *c = &f->cases[i];
    struct error bad = { 0 };
    json_t *prompt = prompt_of(f, c, a->kind, reading, &bad);

    if (!prompt) {
        infill_case_fail(c, &bad);
        return 0;
    }
    if (f->writes == a->kind) {
        int rc = write_prompt(f, c, prompt, err);
        json_decref(prompt);
        return rc;
    }
    queue_prompt(a, prompt, i, reading);
    return a->bytes > ASK_BYTES ? answer_all(f, a, err) : 0;
}

int infill_ask_end(struct infill_stages *f, struct infill_queue *a, int rc, struct error *err)
{
    if (rc == 0)
        rc = answer_all(f, a, err);
    for (int64_t i = 0; i < a->n; i++)
        json_decref(a->prompts[i]);
    free(a->prompts);
    free(a->owner);
    free(a->reading);
    return rc;
}

/* One prompt for each case. */
static int ask_cases(struct infill_stages *f, enum prompt_kind kind, const struct infill_generator *model,
                     struct error *err)
{
    struct infill_queue a = { .kind = kind, .model = model };
    int rc = 0;

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        if (!f->cases[i].error)
            rc = infill_ask(f, &a, i, -1, err);
    return infill_ask_end(f, &a, rc, err);
}

/* The default readings as their model corrects them, when it is asked to. */
static int correct(struct infill_stages *f, struct error *err)
{
    if (f->q->correct.generate || f->writes == PROMPT_CORRECT)
        return ask_cases(f, PROMPT_CORRECT, &f->q->correct, err);
    for (int64_t i = 0; i < f->n && f->q->corrected; i++) {
        struct infill_case *c = &f->cases[i];
        const char *answer = annotate_readings_answer(&f->corrected, json_object_get(c->record, "id"));
        struct error bad = { 0 };
        if (c->error)
            continue;
        if (answer)
            infill_case_correct(c, answer, f->q->published);
        else if (error_set(&bad, EXIT_CODE_DATA, "%s has no answer to this question of %s", f->q->corrected, c->db_id))
            infill_case_fail(c, &bad);
    }
    return 0;
}

/* Readings of a stage's file, or what a model answered there. */
static int take_from_file(struct infill_stages *f, struct infill_case *c, bool added, struct error *err)
{
    const struct annotate_readings *file = added ? &f->infilled : &f->defaults;
    const char *path = added ? f->q->infilled : f->q->e2e ? f->q->e2e : f->q->defaults;
    const char *answer = annotate_readings_answer(file, json_object_get(c->record, "id"));
    const json_t *list = answer || f->q->e2e ? NULL : annotate_readings_find(file, c->db_id, c->question);

    if (answer && f->q->e2e)
        infill_case_add_statements(c, answer, f->q->published);
    else if (answer)
        infill_case_add_answer(c, answer, added, f->q->published);
    else if (!list)
        return error_set(err, EXIT_CODE_DATA, "%s has no readings of this question of %s", path, c->db_id);
    return list && infill_case_add_list(c, list, added, err) ? error_prefix(err, "%s", path) : 0;
}

/* Default readings, or those that infilling adds. */
static int get_readings(struct infill_stages *f, bool added, struct error *err)
{
    const struct infill_generator *model = added ? &f->q->fill : &f->q->read;

    if (model->generate)
        return ask_cases(f, added ? PROMPT_FILL : PROMPT_DEF, model, err);
    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        struct error bad = { 0 };
        if (!c->error && take_from_file(f, c, added, &bad))
            infill_case_fail(c, &bad);
    }
    return 0;
}

/* The SQL of readings that have none yet: the file's, or else the model's. */
static int get_sql(struct infill_stages *f, bool added, struct error *err)
{
    struct infill_queue a = { .kind = PROMPT_SQL, .model = &f->q->sql };
    bool asks = f->writes == PROMPT_SQL || f->q->sql.generate;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int k = 0; k < c->n && !c->error && rc == 0; k++) {
            struct infill_reading *r = &c->readings[k];
            const json_t *sql = f->q->sqls ? reading_sql_find(&f->sqls, c->db_id, r->text) : NULL;
            struct error bad = { 0 };
            if (r->added != added || r->sql_from)
                continue;
            if (sql && infill_case_set_known(c, k, sql, &bad))
                infill_case_fail(c, &bad);
            else if (!sql && asks)
                rc = infill_ask(f, &a, i, k, err);
        }
    }
    return infill_ask_end(f, &a, rc, err);
}

struct exec_db *infill_stages_database(struct infill_stages *f, struct infill_case *c)
{
    struct error err = { 0 };
    struct exec_db *db = c->error ? NULL : db_cache_file(&f->databases, c->path, &err);

    if (!c->error && !db)
        infill_case_fail(c, &err);
    return db;
}

/* The published way draws once, from the default readings, and not from statements of PROMPT_E2E. */
static int filter_all(struct infill_stages *f, bool last)
{
    bool published = f->q->published;

    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct infill_case *c = &f->cases[i];
        struct exec_db *db = infill_stages_database(f, c);
        if (db && published && last)
            infill_case_keep_added(c);
        else if (db && published && f->q->e2e)
            infill_case_keep_all(c);
        else if (db)
            infill_case_filter(c, db, &f->random, published);
        c->drawn = last ? c->drawn : f->random.drawn;
    }
    return stop_requested() ? 1 : 0;
}

int infill_stages_run(struct infill_stages *f, struct error *err)
{
    bool adds = f->q->infilled || f->q->fill.generate;
    int rc;

    if (infill_rewrites(f->q))
        return infill_rewrite_run(f, err);
    if (f->writes == PROMPT_DEF || f->writes == PROMPT_E2E || f->writes == PROMPT_E2E_SHOTS || f->writes == PROMPT_GOLD)
        return ask_cases(f, f->writes, NULL, err);
    if ((rc = get_readings(f, false, err)) || (rc = correct(f, err)) || f->writes == PROMPT_CORRECT)
        return rc;
    if ((rc = get_sql(f, false, err)))
        return rc;
    if (f->writes == PROMPT_SQL && !adds)
        return 0;
    if ((rc = filter_all(f, false)))
        return rc;
    if (f->writes == PROMPT_FILL)
        return ask_cases(f, PROMPT_FILL, NULL, err);
    if (!adds)
        return 0;
    if ((rc = get_readings(f, true, err)) || (rc = get_sql(f, true, err)))
        return rc;
    return filter_all(f, true);
}

int infill_stages_open(struct infill_stages *f, const struct infill_request *q, struct error *err)
{
    const char *defaults = q->e2e ? q->e2e : q->defaults;

    *f = (struct infill_stages){ .q = q, .writes = prompt_kind_of(q->write) };
    if (f->writes == PROMPT_E2E && q->examples)
        f->writes = PROMPT_E2E_SHOTS;
    db_cache_init(&f->databases);
    f->databases.limits.python_text = q->published;
    python_random_seed(&f->random, ANNOTATE_SEED);
    return prompter_open(&f->prompter, &q->prompt, err) ||
                   (defaults && annotate_readings_open(&f->defaults, defaults, err)) ||
                   (q->infilled && annotate_readings_open(&f->infilled, q->infilled, err)) ||
                   (q->corrected && annotate_readings_open(&f->corrected, q->corrected, err)) ||
                   (q->rewrites && annotate_readings_open(&f->rewrites, q->rewrites, err)) ||
                   (q->examples &&
                    shots_open(&f->shots, &(struct shots_request){ q->examples, q->db, &q->prompt, q->shots, q->seed },
                               err)) ||
                   (q->sqls && reading_sql_open(&f->sqls, q->sqls, q->published, err)) ||
                   (q->write && out_file_open(&f->prompts, q->out, err))
               ? -1
               : 0;
}

void infill_stages_clear(struct infill_stages *f)
{
    for (int64_t i = 0; i < f->n; i++)
        infill_case_release(&f->cases[i]);
    f->n = 0;
}

void infill_stages_release(struct infill_stages *f)
{
    infill_stages_clear(f);
    free(f->cases);
    annotate_readings_release(&f->defaults);
    annotate_readings_release(&f->infilled);
    annotate_readings_release(&f->corrected);
    annotate_readings_release(&f->rewrites);
    shots_release(&f->shots);
    reading_sql_release(&f->sqls);
    prompter_release(&f->prompter);
    db_cache_release(&f->databases);
    out_file_abort(&f->prompts);
    strings_release(&f->prompt_ids);
}
