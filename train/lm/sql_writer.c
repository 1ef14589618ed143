#include "train/lm/sql_writer.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/db/db_path.h"
#include "models/engine/engine.h"
#include "models/lm/lm_text.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, SQL_TOKENS = 512, HOST_BYTES = 256 << 20 };

/* Prompts, and the ids that their completions are stored under. */
struct sql_asks {
    json_t **prompts; /* {"id", "messages"} */
    int n, cap;
};

static const char *id_of(const json_t *prompt)
{
    return json_string_value(json_object_get(prompt, "id"));
}

static void release_asks(struct sql_asks *a)
{
    for (int i = 0; i < a->n; i++)
        json_decref(a->prompts[i]);
    free(a->prompts);
}

/* The prompt for an interpretation's SQL; NULL if the database cannot be described. The caller owns it. */
static json_t *prompt_of(struct sql_writer *w, const struct sql_wish *wish, struct error *err)
{
    char *path = db_path(w->request->db, wish->db_id, err);
    const char *database = path ? prompter_database(&w->prompter, path, err) : NULL;
    const char *slots[] = { database, wish->text };
    json_t *messages = database ? prompter_messages(&w->prompter, PROMPT_SQL, slots, NULL) : NULL;

    free(path);
    return messages
               ? json_pack("{s:o, s:o}", "id", interpretation_sql_id(wish->db_id, wish->text), "messages", messages)
               : NULL;
}

/* Adds a prompt unless it is present. */
static void add_ask(struct sql_writer *w, struct sql_asks *a, const struct sql_wish *wish)
{
    struct error err = { 0 };
    json_t *prompt = prompt_of(w, wish, &err);
    bool known = false;

    if (!prompt) {
        log_warn("%s", err.text);
        return;
    }
    for (int i = 0; i < a->n && !known; i++)
        known = strcmp(id_of(a->prompts[i]), id_of(prompt)) == 0;
    if (known) {
        json_decref(prompt);
        return;
    }
    GROW(a->prompts, a->n, a->cap);
    a->prompts[a->n++] = prompt;
}

/* ---- a local model ---- */

static int run_engine(struct sql_writer *w, struct engine_request *list, int64_t n, bool stoppable, struct error *err)
{
    const struct engine_settings set = { .max_new = SQL_TOKENS,
                                         .answers = 1,
                                         .beams = 1,
                                         .draw = { .top_p = 1, .typical_p = 1 },
                                         .batch = BATCH,
                                         .step_tokens = w->request->settings.train.tokens,
                                         .stop = stoppable ? stop_requested : NULL };
    struct engine e;

    engine_init(&e, &w->model, &w->work, &set);
    int rc = engine_run(&e, list, n, NULL, NULL, err);
    engine_release(&e);
    return rc;
}

/* A prompt that is too long has a completion without statements. */
static void keep_completion(struct sql_writer *w, struct interpretation_sql *sqls, const char *id,
                            const struct engine_completion *g)
{
    char *text = tokenizer_decode(w->model.tokenizer, g->out.items, g->out.count, TOKENIZER_SKIP_SPECIALS, NULL);

    interpretation_sql_add_answer(sqls, id, text, false);
    free(text);
}

static int ask_model(struct sql_writer *w, struct interpretation_sql *sqls, const struct sql_asks *a, bool stoppable,
                     struct error *err)
{
    struct lm_text *prompts = xcalloc((size_t)a->n + 1, sizeof *prompts);
    struct engine_request *list = xcalloc((size_t)a->n + 1, sizeof *list);
    struct engine_completion *answers = xcalloc((size_t)a->n + 1, sizeof *answers);
    int64_t n = 0;

    for (int i = 0; i < a->n; i++) {
        lm_text_read(&prompts[i], &w->model, a->prompts[i], LM_OPEN, "prompt");
        if (prompts[i].error)
            continue;
        list[n] = engine_ask(&w->model, prompts[i].ids.items, prompts[i].ids.count);
        list[n++].answers = &answers[i];
    }
    int rc = n ? run_engine(w, list, n, stoppable, err) : 0;
    for (int i = 0; i < a->n; i++) {
        if (rc == 0)
            keep_completion(w, sqls, id_of(a->prompts[i]), &answers[i]);
        engine_completion_release(&answers[i]);
        lm_text_release(&prompts[i]);
    }
    free(answers);
    free(list);
    free(prompts);
    return rc;
}

/* ---- a server ---- */

static int ask_server(struct sql_writer *w, struct interpretation_sql *sqls, const struct sql_asks *a,
                      struct error *err)
{
    const struct endpoint_sampling set = { .samples = 1, .max_new = SQL_TOKENS, .top_p = 1, .typical_p = 1 };
    struct endpoint_prompt *prompts = xcalloc((size_t)a->n + 1, sizeof *prompts);

    for (int i = 0; i < a->n; i++)
        prompts[i].record = a->prompts[i];
    int rc = endpoint_ask(w->server, &set, prompts, a->n, true, err);
    for (int i = 0; i < a->n; i++) {
        if (rc == 0 && prompts[i].error)
            rc = error_set(err, EXIT_CODE_FAILURE, "--lm: no SQL of an interpretation: %s", prompts[i].error);
        if (rc == 0)
            interpretation_sql_add_answer(sqls, id_of(a->prompts[i]), prompts[i].texts[0].text, false);
        endpoint_prompt_release(&prompts[i]);
    }
    free(prompts);
    return rc;
}

/* ---- both ---- */

int sql_writer_write(struct sql_writer *w, struct interpretation_sql *sqls, const struct sql_wish *list, int n,
                     bool stoppable, struct error *err)
{
    struct sql_asks a = { 0 };
    int rc = 0;

    for (int i = 0; i < n; i++)
        if (!interpretation_sql_find(sqls, list[i].db_id, list[i].text))
            add_ask(w, &a, &list[i]);
    if (a.n)
        rc = w->server ? ask_server(w, sqls, &a, err) : ask_model(w, sqls, &a, stoppable, err);
    release_asks(&a);
    return rc;
}

bool sql_writer_wanted(const struct lm_request *q)
{
    return q->sql_model || q->server.url;
}

/* Takes no memory. */
static int measure_model(struct sql_writer *w, struct device *d, struct error *err)
{
    const struct llama_request q = { .dir = w->request->sql_model, .dtype = "auto", .seq2seq = true, .dry = true };
    struct llama_model m;

    int rc = llama_model_open(&m, d, &q, err);
    w->model_bytes = rc ? 0 : m.data.peak + llama_model_packed(&m, false);
    llama_model_release(&m);
    return rc;
}

int sql_writer_open(struct sql_writer *w, const struct lm_request *q, struct device *d, struct error *err)
{
    *w = (struct sql_writer){ .request = q };
    if (!sql_writer_wanted(q))
        return 0;
    if (prompter_open(&w->prompter, &q->prompt, err))
        return -1;
    if (!q->server.url)
        return measure_model(w, d, err);
    w->server = endpoint_open(&q->server, err);
    return w->server ? 0 : -1;
}

int sql_writer_start(struct sql_writer *w, struct device *d, struct error *err)
{
    const struct llama_request q = { .dir = w->request ? w->request->sql_model : NULL,
                                     .dtype = "auto",
                                     .seq2seq = true };

    if (!q.dir)
        return 0;
    return workspace_init(&w->work, d, HOST_BYTES, err) || llama_model_open(&w->model, d, &q, err) ? -1 : 0;
}

void sql_writer_release(struct sql_writer *w)
{
    llama_model_release(&w->model);
    if (w->work.device)
        workspace_release(&w->work);
    prompter_release(&w->prompter);
    if (w->server)
        endpoint_log(w->server);
    endpoint_close(w->server);
    *w = (struct sql_writer){ 0 };
}
