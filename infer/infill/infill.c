#include "infer/infill/infill.h"

#include "data/base/journal.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "data/db/db_cache.h"
#include "data/db/db_path.h"
#include "data/eval/annotate.h"
#include "data/prompt/interpretation_sql.h"
#include "data/prompt/prompter.h"
#include "data/sqlite/database_state.h"
#include "infer/infill/infill_case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct infill_stages {
    const struct infill_request *q;
    enum prompt_kind writes;   /* stage whose prompts are written; PROMPT_KINDS: none */
    struct infill_case *cases; /* records of the window */
    int64_t n, cap;
    struct annotate_interpretations defaults, infilled; /* of the files; defaults also holds those of q->e2e */
    struct annotate_interpretations corrected, rewrites;
    struct shots shots; /* examples of PROMPT_E2E_SHOTS */
    struct interpretation_sql sqls;
    struct prompter prompter;
    struct db_cache databases;
    struct python_random random; /* of the published filter, over all windows */
    struct out_file prompts;
    struct strings prompt_ids; /* ids of written prompts */
};

/* Prompts for a model, with their cases. */
struct infill_queue {
    enum prompt_kind kind;
    const struct infill_generator *model;
    json_t **prompts;
    int64_t *owner, *interpretation; /* case of a prompt; for PROMPT_SQL and PROMPT_REWRITE also its interpretation */
    int64_t n, cap;
    size_t bytes;
};

enum { ASK_BYTES = 256 << 20 }; /* maximum bytes of prompts in a batch */

/* Fills the slots of a prompt; the caller frees the last one. */
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

static json_t *id_of(const struct infill_case *c, enum prompt_kind kind, int64_t interpretation)
{
    if (kind == PROMPT_SQL)
        return interpretation_sql_id(c->db_id, c->interpretations[interpretation].text);
    return kind == PROMPT_REWRITE ? infill_rewrite_id(c, interpretation)
                                  : json_incref(json_object_get(c->record, "id"));
}

/* Returns {"id", "messages"}.  SQL has the id of its interpretation, a rewritten question that of its gold. */
static json_t *prompt_of(struct infill_stages *f, const struct infill_case *c, enum prompt_kind kind,
                         int64_t interpretation, struct error *err)
{
    bool rewrites = kind == PROMPT_REWRITE;
    const char *database = rewrites ? NULL : prompter_database(&f->prompter, c->path, err);
    const char *slots[PROMPT_MAX_SLOTS] = { database, kind == PROMPT_SQL ? c->interpretations[interpretation].text
                                                                         : c->question };
    json_t *messages = NULL;

    if (!rewrites && !database)
        return NULL;
    if (rewrites) {
        slots[0] = c->question;
        slots[1] = c->golds[interpretation].word;
    }
    char *own = fill_slots(f, c, kind, slots, err);
    if (own || prompt_slots(kind) < PROMPT_MAX_SLOTS)
        messages = prompter_messages(&f->prompter, kind, slots, NULL);
    free(own);
    return messages ? json_pack("{s:o, s:o}", "id", id_of(c, kind, interpretation), "messages", messages) : NULL;
}

static size_t bytes_of(const json_t *prompt)
{
    const json_t *user = json_array_get(json_object_get(prompt, "messages"), 0);
    return json_string_length(json_object_get(user, "content"));
}

/* Interpretations with the same text share their SQL. */
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

static void use_answer(struct infill_stages *f, struct infill_case *c, int64_t interpretation, enum prompt_kind kind,
                       const char *answer)
{
    if (kind == PROMPT_SQL) {
        infill_case_set_answer(c, interpretation, answer, f->q->published);
        c->interpretations[interpretation].sql_from = "model";
    } else if (kind == PROMPT_REWRITE) {
        infill_case_set_text(c, interpretation, answer, f->q->published);
    } else if (kind == PROMPT_CORRECT) {
        infill_case_correct(c, answer, f->q->published);
    } else {
        infill_case_add_answer(c, answer, kind == PROMPT_FILL, f->q->published);
    }
}

/* Asks the model for all collected prompts and gives each case its completions. */
static int answer_all(struct infill_stages *f, struct infill_queue *a, struct error *err)
{
    char **texts = xcalloc((size_t)a->n + 1, sizeof *texts);
    int rc = a->n ? a->model->generate(a->model->self, a->prompts, a->n, texts, err) : 0;

    for (int64_t i = 0; i < a->n; i++) {
        struct infill_case *c = &f->cases[a->owner[i]];
        struct error none = { 0 };
        if (rc == 0 && texts[i])
            use_answer(f, c, a->interpretation[i], a->kind, texts[i]);
        else if (rc == 0 && error_set(&none, EXIT_CODE_DATA, "the model has no answer to %s", prompt_file(a->kind)))
            infill_case_unanswered(c, &none);
        free(texts[i]);
        json_decref(a->prompts[i]);
    }
    free(texts);
    a->n = 0;
    a->bytes = 0;
    return rc;
}

static void queue_prompt(struct infill_queue *a, json_t *prompt, int64_t owner, int64_t interpretation)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 64;
        a->prompts = xrealloc(a->prompts, (size_t)a->cap * sizeof *a->prompts);
        a->owner = xrealloc(a->owner, (size_t)a->cap * sizeof *a->owner);
        a->interpretation = xrealloc(a->interpretation, (size_t)a->cap * sizeof *a->interpretation);
    }
    a->prompts[a->n] = prompt;
    a->owner[a->n] = owner;
    a->interpretation[a->n++] = interpretation;
    a->bytes += bytes_of(prompt);
}

/* Adds a prompt about case i, or about one of its interpretations (else -1), or writes it if the prompts of this stage
 * are written.  infill_ask_end() answers the rest.  Returns 0, 1 after a signal, or -1 with err. */
static int infill_ask(struct infill_stages *f, struct infill_queue *a, int64_t i, int64_t interpretation,
                      struct error *err)
{
    struct infill_case *c = &f->cases[i];
    struct error bad = { 0 };
    json_t *prompt = prompt_of(f, c, a->kind, interpretation, &bad);

    if (!prompt) {
        infill_case_fail(c, &bad);
        return 0;
    }
    if (f->writes == a->kind) {
        int rc = write_prompt(f, c, prompt, err);
        json_decref(prompt);
        return rc;
    }
    queue_prompt(a, prompt, i, interpretation);
    return a->bytes > ASK_BYTES ? answer_all(f, a, err) : 0;
}

/* Answers the remaining prompts, unless rc tells that the stage has failed. */
static int infill_ask_end(struct infill_stages *f, struct infill_queue *a, int rc, struct error *err)
{
    if (rc == 0)
        rc = answer_all(f, a, err);
    for (int64_t i = 0; i < a->n; i++)
        json_decref(a->prompts[i]);
    free(a->prompts);
    free(a->owner);
    free(a->interpretation);
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

/* Ends a case whose completion in a file of a stage is missing.  It counts if the file has the model's error. */
static void miss_completion(struct infill_case *c, const struct annotate_interpretations *file, const char *path,
                            const char *what)
{
    const char *error = annotate_interpretations_error(file, json_object_get(c->record, "id"));
    struct error bad = { 0 };

    if (error) {
        error_set(&bad, EXIT_CODE_DATA, "%s: no completion: %s", path, error);
        infill_case_unanswered(c, &bad);
    } else {
        error_set(&bad, EXIT_CODE_DATA, "%s has no %s this question of %s", path, what, c->db_id);
        infill_case_fail(c, &bad);
    }
}

/* Runs self-correction of the default interpretations, if requested. */
static int correct(struct infill_stages *f, struct error *err)
{
    if (f->q->correct.generate || f->writes == PROMPT_CORRECT)
        return ask_cases(f, PROMPT_CORRECT, &f->q->correct, err);
    for (int64_t i = 0; i < f->n && f->q->corrected; i++) {
        struct infill_case *c = &f->cases[i];
        const char *answer = annotate_interpretations_answer(&f->corrected, json_object_get(c->record, "id"));
        if (c->error)
            continue;
        if (answer)
            infill_case_correct(c, answer, f->q->published);
        else
            miss_completion(c, &f->corrected, f->q->corrected, "answer to");
    }
    return 0;
}

/* Adds interpretations from a file, or from a completion in it. */
static int take_from_file(struct infill_stages *f, struct infill_case *c, bool added, struct error *err)
{
    const struct annotate_interpretations *file = added ? &f->infilled : &f->defaults;
    const char *path = added ? f->q->infilled : f->q->e2e ? f->q->e2e : f->q->defaults;
    const char *answer = annotate_interpretations_answer(file, json_object_get(c->record, "id"));
    const json_t *list = answer || f->q->e2e ? NULL : annotate_interpretations_find(file, c->db_id, c->question);

    if (answer && f->q->e2e)
        infill_case_add_statements(c, answer, f->q->published);
    else if (answer)
        infill_case_add_answer(c, answer, added, f->q->published);
    else if (!list)
        miss_completion(c, file, path, "readings of");
    return list && infill_case_add_list(c, list, added, err) ? error_prefix(err, "%s", path) : 0;
}

/* Adds default interpretations, or those of infilling. */
static int get_interpretations(struct infill_stages *f, bool added, struct error *err)
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

/* Finds the SQL of interpretations without any: in the file, else by the model. */
static int get_sql(struct infill_stages *f, bool added, struct error *err)
{
    struct infill_queue a = { .kind = PROMPT_SQL, .model = &f->q->sql };
    bool asks = f->writes == PROMPT_SQL || f->q->sql.generate;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int k = 0; k < c->n && !c->error && rc == 0; k++) {
            struct infill_interpretation *r = &c->interpretations[k];
            const json_t *sql = f->q->sqls ? interpretation_sql_find(&f->sqls, c->db_id, r->text) : NULL;
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

/* Returns the database of a case, or NULL when the case has failed. */
static struct exec_db *infill_stages_database(struct infill_stages *f, struct infill_case *c)
{
    struct error err = { 0 };
    struct exec_db *db = c->error ? NULL : db_cache_file(&f->databases, c->path, &err);

    if (!c->error && !db)
        infill_case_fail(c, &err);
    return db;
}

/* Tells whether a gold needs another try.  One with a missing input cannot be judged in this run. */
static bool is_open(const struct infill_case *c, int gold)
{
    const struct infill_gold *g = &c->golds[gold];
    return !c->error && !g->accepted && !g->waits;
}

/* Gets the questions of a round: from the file, else from the model. */
static int get_questions(struct infill_stages *f, struct error *err)
{
    struct infill_queue a = { .kind = PROMPT_REWRITE, .model = &f->q->rewrite };
    bool asks = f->writes == PROMPT_REWRITE || f->q->rewrite.generate;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int g = 0; g < c->n_golds && rc == 0; g++) {
            if (!is_open(c, g))
                continue;
            json_t *id = infill_rewrite_id(c, g);
            const char *answer = f->q->rewrites ? annotate_interpretations_answer(&f->rewrites, id) : NULL;
            json_decref(id);
            if (answer)
                infill_case_set_text(c, g, answer, f->q->published);
            else if (asks)
                rc = infill_ask(f, &a, i, g, err);
            if (!answer && !f->q->rewrite.generate)
                c->golds[g].waits = "the question";
        }
    }
    return infill_ask_end(f, &a, rc, err);
}

/* Gets the SQL of these questions: from the file, else from the model. */
static int get_rewritten_sql(struct infill_stages *f, struct error *err)
{
    struct infill_queue a = { .kind = PROMPT_SQL, .model = &f->q->sql };
    bool asks = f->writes == PROMPT_SQL || f->q->sql.generate;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int g = 0; g < c->n_golds && rc == 0; g++) {
            const json_t *sql = f->q->sqls && is_open(c, g)
                                    ? interpretation_sql_find(&f->sqls, c->db_id, c->interpretations[g].text)
                                    : NULL;
            struct error bad = { 0 };
            if (!is_open(c, g) || !*c->interpretations[g].text) /* a completion without a question counts as a try */
                continue;
            if (sql && infill_case_set_known(c, g, sql, &bad))
                infill_case_fail(c, &bad);
            else if (!sql && asks)
                rc = infill_ask(f, &a, i, g, err);
            if (!sql && !f->q->sql.generate)
                c->golds[g].waits = "its SQL";
        }
    }
    return infill_ask_end(f, &a, rc, err);
}

/* Tells whether a gold needs another try. */
static bool judge_all(struct infill_stages *f)
{
    bool open = false;

    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct infill_case *c = &f->cases[i];
        struct exec_db *db = infill_stages_database(f, c);
        for (int g = 0; g < c->n_golds && db; g++) {
            if (is_open(c, g))
                infill_rewrite_judge(c, g, db, f->q->published);
            open = open || is_open(c, g);
        }
    }
    return open;
}

static void check_all(struct infill_stages *f)
{
    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct infill_case *c = &f->cases[i];
        struct exec_db *db = infill_stages_database(f, c);
        struct error bad = { 0 };
        if (db && infill_rewrite_check(c, db, f->q->published, &bad))
            infill_case_fail(c, &bad);
    }
}

/* Ends the case because a gold has no question.  A missing input is not an error if prompts are written. */
static void fail_gold(const struct infill_stages *f, struct infill_case *c, int gold)
{
    const struct infill_gold *g = &c->golds[gold];
    const struct infill_interpretation *r = &c->interpretations[gold];
    struct error bad = { 0 };

    if (g->waits && f->q->write)
        return;
    if (!g->waits)
        error_set(&bad, EXIT_CODE_DATA, "gold %d (%.80s): none of %d questions has its rows, the last \"%.200s\"",
                  gold + 1, g->word, g->tries, r->unread ? r->unread : r->text);
    else
        error_set(&bad, EXIT_CODE_DATA, "gold %d (%.80s): %s of try %d is missing", gold + 1, g->word, g->waits,
                  g->tries + 1);
    infill_case_fail(c, &bad);
}

/* Runs stage 0. */
static int infill_rewrite_run(struct infill_stages *f, struct error *err)
{
    bool open = true;
    int rc = 0;

    check_all(f);
    for (int try = 0; try < f->q->tries && open && rc == 0 && !stop_requested(); try++) {
        rc = get_questions(f, err);
        if (rc == 0)
            rc = get_rewritten_sql(f, err);
        if (rc == 0)
            open = judge_all(f);
    }
    for (int64_t i = 0; i < f->n && rc == 0; i++)
        for (int g = 0; g < f->cases[i].n_golds; g++)
            if (!f->cases[i].golds[g].accepted)
                fail_gold(f, &f->cases[i], g);
    return rc ? rc : stop_requested() ? 1 : 0;
}

/* The published filter samples once, from the default interpretations, not from statements of PROMPT_E2E. */
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

/* Runs the stages, up to the one whose prompts are written.  Returns 0, 1 after a signal, or -1 with err. */
static int infill_stages_run(struct infill_stages *f, struct error *err)
{
    bool adds = f->q->infilled || f->q->fill.generate;
    int rc;

    if (infill_rewrites(f->q))
        return infill_rewrite_run(f, err);
    if (f->writes == PROMPT_DEF || f->writes == PROMPT_E2E || f->writes == PROMPT_E2E_SHOTS || f->writes == PROMPT_GOLD)
        return ask_cases(f, f->writes, NULL, err);
    if ((rc = get_interpretations(f, false, err)) || (rc = correct(f, err)) || f->writes == PROMPT_CORRECT)
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
    if ((rc = get_interpretations(f, true, err)) || (rc = get_sql(f, true, err)))
        return rc;
    return filter_all(f, true);
}

/* Opens the files of the stages and the file of prompts.  The caller releases the stages in any case. */
static int infill_stages_open(struct infill_stages *f, const struct infill_request *q, struct error *err)
{
    const char *defaults = q->e2e ? q->e2e : q->defaults;

    *f = (struct infill_stages){ .q = q, .writes = prompt_kind_of(q->write) };
    if (f->writes == PROMPT_E2E && q->examples)
        f->writes = PROMPT_E2E_SHOTS;
    db_cache_init(&f->databases);
    f->databases.limits.python_text = q->published;
    python_random_seed(&f->random, ANNOTATE_SEED);
    return prompter_open(&f->prompter, &q->prompt, err) ||
                   (defaults && annotate_interpretations_open(&f->defaults, defaults, err)) ||
                   (q->infilled && annotate_interpretations_open(&f->infilled, q->infilled, err)) ||
                   (q->corrected && annotate_interpretations_open(&f->corrected, q->corrected, err)) ||
                   (q->rewrites && annotate_interpretations_open(&f->rewrites, q->rewrites, err)) ||
                   (q->examples &&
                    shots_open(&f->shots, &(struct shots_request){ q->examples, q->db, &q->prompt, q->shots, q->seed },
                               err)) ||
                   (q->sqls && interpretation_sql_open(&f->sqls, q->sqls, q->published, err)) ||
                   (q->write && out_file_open(&f->prompts, q->out, err))
               ? -1
               : 0;
}

/* Releases the cases of the window. */
static void infill_stages_clear(struct infill_stages *f)
{
    for (int64_t i = 0; i < f->n; i++)
        infill_case_release(&f->cases[i]);
    f->n = 0;
}

static void infill_stages_release(struct infill_stages *f)
{
    infill_stages_clear(f);
    free(f->cases);
    annotate_interpretations_release(&f->defaults);
    annotate_interpretations_release(&f->infilled);
    annotate_interpretations_release(&f->corrected);
    annotate_interpretations_release(&f->rewrites);
    shots_release(&f->shots);
    interpretation_sql_release(&f->sqls);
    prompter_release(&f->prompter);
    db_cache_release(&f->databases);
    out_file_abort(&f->prompts);
    strings_release(&f->prompt_ids);
}

struct infill_run {
    const struct infill_request *q;
    struct infill_counts *counts;
    struct infill_stages stages;
    struct record_reader *in;
    struct journal journal;
    json_t *provenance;
    uint64_t key; /* hash of everything that all lines depend on */
    struct strings paths;
    uint64_t *files; /* [paths.n] hashes of databases */
    int files_cap;
    int64_t number; /* number of the window's first record */
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

/* Hash of the options, of the stages' files and of the models. */
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
        uint64_t file = files[i] ? hash_file(files[i]) : 0;
        h = hash_bytes(h, &file, sizeof file);
    }
    h = hash_text(hash_text(hash_text(h, text), q->db), exec_sqlite_version());
    free(text);
    return h;
}

static uint64_t hash_database(struct infill_run *f, const char *path)
{
    int n = f->paths.n, i = strings_add(&f->paths, path);

    if (i == n) {
        GROW(f->files, i, f->files_cap);
        f->files[i] = database_hash(path);
    }
    return f->files[i];
}

/* Hash of everything that the line of a case depends on. */
static uint64_t key_of(struct infill_run *f, const struct infill_case *c)
{
    char *text = c->record ? json_dumps(c->record, JSON_COMPACT) : NULL;
    uint64_t h = hash_text(hash_text(f->key, text), c->error);
    uint64_t file = c->path ? hash_database(f, c->path) : 0;

    free(text);
    return hash_bytes(h, &file, sizeof file);
}

/* Reads the next records.  Returns their number, or -1 with err. */
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

/* Contribution of a line to the counts, and random numbers used by the published filter. */
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

/* Counts the lines of the window from an earlier run.  If one is missing, the whole window is computed again, so that
 * its lines equal those of an uninterrupted run. */
static int64_t count_lines(struct infill_run *f)
{
    struct infill_stages *s = &f->stages;
    struct line_note note = { 0 };
    const char *text;
    int64_t n = 0;

    for (; n < s->n && (text = journal_next(&f->journal, s->cases[n].key)); n++) {
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
        n.defaults += !c->interpretations[c->kept[i]].added;
        n.added += c->interpretations[c->kept[i]].added;
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
    int rc = journal_write(&f->journal, c->key, text, line, err);
    json_decref(line);
    return rc;
}

/* Writes the cases of the window from `from` on; those before it have their lines. */
static int write_window(struct infill_run *f, int64_t from, struct error *err)
{
    struct infill_stages *s = &f->stages;
    int rc = 0;

    for (int64_t i = from; i < s->n && rc == 0; i++)
        rc = write_case(f, &s->cases[i], err);
    return rc ? rc : journal_flush(&f->journal, err);
}

/* Counts the cases of the window; their prompts are written already. */
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
                   "records", record_file_total(f->q->input, f->q->format_in, &f->q->shard.range));
    while (rc == 0 && !stop_requested() && (n = read_window(f, err)) > 0)
        rc = run_window(f, err);
    rc = n < 0 ? -1 : rc;
    progress_end(&f->progress);
    if (rc >= 0 && stop_requested())
        return error_set(err, stop_exit_code(), "interrupted");
    if (rc)
        return rc;
    return f->q->write ? out_file_commit(&f->stages.prompts, err) : journal_commit(&f->journal, f->q->out, err);
}

static int open_all(struct infill_run *f, struct error *err)
{
    const struct infill_request *q = f->q;

    if (db_path_check(q->db, err) || infill_stages_open(&f->stages, q, err) ||
        !(f->in = record_reader_open_range(q->input, q->format_in, &q->shard.range, err)))
        return -1;
    f->number = q->shard.range.first;
    f->provenance = provenance_json(q);
    f->key = run_key(f);
    return q->write ? 0 : journal_open(&f->journal, q->out, q->resume, err);
}

int infill(const struct infill_request *q, struct infill_counts *counts, struct error *err)
{
    struct infill_run f = { .q = q, .counts = counts };

    stop_install();
    int rc = open_all(&f, err) ? -1 : run_windows(&f, err);
    journal_close(&f.journal, rc != 0, err);
    infill_stages_release(&f.stages);
    record_reader_close(f.in);
    json_decref(f.provenance);
    strings_release(&f.paths);
    free(f.files);
    return rc;
}
