#include "infer/lm/completer.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "models/engine/constraints.h"
#include "models/lm/lm_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 256 << 20, MAX_EDGES = 1 << 22 /* approximate limit for the tables of a run */ };

struct completer_model {
    const struct completer *of;
    struct device device;
    struct workspace work;
    struct llama_model model;
};

/* A part of a call's prompts as tokens, with their completions. */
struct answer_batch {
    struct completer_model *in;
    struct ask *asks;
    struct lm_text *prompts;
    struct automaton_host *tables;
    struct engine_request *requests;   /* of asks without error, in order */
    struct engine_completion *answers; /* [n, each] */
    int64_t n, n_requests, edges;
    int each;
    struct engine engine;
    struct progress progress;
};

void completer_close(struct completer_model **m)
{
    struct completer_model *in = *m;

    if (!in)
        return;
    llama_model_release(&in->model);
    if (in->work.device)
        workspace_release(&in->work);
    if (in->device.driver)
        device_close(&in->device);
    free(in);
    *m = NULL;
}

const struct llama_model *completer_open(const struct completer *a, struct error *err)
{
    if (*a->open && (*a->open)->of == a)
        return &(*a->open)->model;
    completer_close(a->open);
    struct completer_model *in = *a->open = xcalloc(1, sizeof *in);
    in->of = a;
    int rc =
        device_open(&in->device, a->device, err) || workspace_init(&in->work, &in->device, HOST_BYTES, err) ? -1 : 0;
    in->work.eager = a->no_graph;
    if (rc == 0)
        rc = llama_model_open(&in->model, &in->device, &a->model, err);
    if (rc)
        completer_close(a->open);
    return rc ? NULL : &in->model;
}

void completer_lend(const struct completer *a, struct llama_model **model, struct workspace **work)
{
    struct completer_model *in = *a->open;

    CHECK(in && in->of == a, "another model is in memory");
    *model = &in->model;
    *work = &in->work;
}

/* Sets the constraint of an ask: its own, or any text after its opening. */
static int bind(const struct llama_model *m, const struct ask *q, struct automaton_host *table, struct error *err)
{
    int32_t stops[ENGINE_MAX_STOPS];
    int n = engine_stops(m, stops);
    struct ids ids = { 0 };

    if (q->constraint && !n)
        return error_set(err, EXIT_CODE_DATA, "the model names no token that ends an answer");
    if (q->constraint)
        return constraint_compile(q->constraint, "constraint", m->tokenizer, stops, n, table, err);
    tokenizer_encode(m->tokenizer, q->opening, strlen(q->opening), 0, &ids, NULL);
    automaton_opening(table, &ids);
    ids_release(&ids);
    return 0;
}

static void add_request(struct answer_batch *r, const struct lm_text *p, const struct automaton_host *table)
{
    int64_t i = r->n_requests++;

    r->requests[i] = engine_ask(&r->in->model, p->ids.items, p->ids.count);
    r->requests[i].key = lm_text_key(p);
    r->requests[i].constraint = table->n_states ? table : NULL;
    r->requests[i].answers = &r->answers[i * r->each];
}

static void read_ask(struct answer_batch *r, int64_t i)
{
    struct ask *q = &r->asks[i];
    struct lm_text *p = &r->prompts[i];
    struct error why;

    lm_text_read(p, &r->in->model, q->prompt, LM_OPEN, "prompt");
    if (p->error)
        q->error = xstrdup(p->error);
    else if ((q->constraint || q->opening) && bind(&r->in->model, q, &r->tables[i], &why))
        q->error = xstrdup(why.text);
    else
        add_request(r, p, &r->tables[i]);
    r->edges += r->tables[i].n_edges;
}

static void take_texts(struct answer_batch *r, struct ask *q, const struct engine_request *done)
{
    q->n = done->n_answers;
    q->texts = xcalloc((size_t)q->n + 1, sizeof *q->texts);
    for (int i = 0; i < q->n; i++) {
        const struct engine_completion *a = &done->answers[i];
        char *text = tokenizer_decode(r->in->model.tokenizer, a->out.items, a->out.count, 0, NULL);
        q->texts[i] = (struct asked_text){ .text = text, .logp = a->logp, .stopped = a->stopped };
    }
}

static void show(void *arg)
{
    struct answer_batch *r = arg;
    if (!r->in->of->quiet)
        progress_update(&r->progress, r->engine.done, (double)r->engine.tokens, NULL);
}

static int must_stop(void)
{
    return stop_requested() || work_limit_ended();
}

static int run(struct answer_batch *r, struct engine_settings set, struct error *err)
{
    set.stop = must_stop;
    engine_init(&r->engine, &r->in->model, &r->in->work, &set);
    bool quiet = r->in->of->quiet;
    if (!quiet)
        progress_start(&r->progress, "answering", "tokens", r->n_requests);
    int rc = engine_run(&r->engine, r->requests, r->n_requests, show, r, err);
    if (!quiet)
        progress_end(&r->progress);
    engine_release(&r->engine);
    for (int64_t i = 0, k = 0; i < r->n && rc == 0; i++)
        if (!r->asks[i].error)
            take_texts(r, &r->asks[i], &r->requests[k++]);
    return rc;
}

static void release(struct answer_batch *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        lm_text_release(&r->prompts[i]);
        automaton_release(&r->tables[i]);
    }
    for (int64_t i = 0; i < r->n * r->each; i++)
        engine_completion_release(&r->answers[i]);
    free(r->prompts);
    free(r->tables);
    free(r->requests);
    free(r->answers);
}

/* Runs the first asks, up to the limit for tables. */
static void read_some(struct answer_batch *r, const struct completer *a, struct ask *list, int64_t n)
{
    size_t room = (size_t)n + 1;

    *r = (struct answer_batch){ .in = *a->open, .asks = list, .each = a->set.answers };
    r->prompts = xcalloc(room, sizeof *r->prompts);
    r->tables = xcalloc(room, sizeof *r->tables);
    r->requests = xcalloc(room, sizeof *r->requests);
    r->answers = xcalloc(room * (size_t)r->each, sizeof *r->answers);
    while (r->n < n && r->edges < MAX_EDGES)
        read_ask(r, r->n++);
}

/* Writes the number of asks that are done to *done. */
static int ask_some(const struct completer *a, struct ask *list, int64_t n, int64_t *done, struct error *err)
{
    struct answer_batch r;

    read_some(&r, a, list, n);
    int rc = run(&r, a->set, err);
    release(&r);
    *done = r.n;
    return rc;
}

bool completer_is_set(const struct completer *a)
{
    return a->model.dir || a->server;
}

static struct endpoint_sampling sampling_of(const struct completer *a)
{
    const struct draw_settings *d = &a->set.draw;

    return (struct endpoint_sampling){ .samples = a->set.answers,
                                       .max_new = a->set.max_new,
                                       .top_k = d->top_k,
                                       .seed = (int64_t)d->seed,
                                       .temperature = (double)d->temperature,
                                       .top_p = (double)d->top_p,
                                       .min_p = (double)d->min_p,
                                       .typical_p = (double)d->typical_p,
                                       .stop = a->stop,
                                       .logprobs = a->set.keep > 0 };
}

static struct endpoint_prompt prompt_of(const struct ask *q)
{
    char id[RECORD_ID_TEXT];
    uint64_t seed = q->by_id ? hash_text(HASH_START, record_id_text(q->prompt, id)) : 0;

    return (struct endpoint_prompt){ .record = q->prompt, .seed = (int64_t)(uint32_t)seed };
}

/* Moves the texts of a server's completions. */
static void take_server(struct ask *q, struct endpoint_prompt *p)
{
    if (p->error)
        q->error = xstrdup(p->error);
    q->n = p->n;
    q->texts = xcalloc((size_t)p->n + 1, sizeof *q->texts);
    for (int i = 0; i < p->n; i++) {
        struct endpoint_text *t = &p->texts[i];
        q->texts[i] = (struct asked_text){ xstrdup(t->text), endpoint_text_logp(t, 0, SIZE_MAX), t->stopped, *t };
        *t = (struct endpoint_text){ 0 };
    }
}

static int ask_server(const struct completer *a, struct ask *list, int64_t n, struct error *err)
{
    const struct endpoint_sampling set = sampling_of(a);
    struct endpoint_prompt *prompts = xcalloc((size_t)n + 1, sizeof *prompts);

    for (int64_t i = 0; i < n; i++) {
        CHECK(!list[i].opening && !list[i].constraint, "a server takes neither openings nor constraints");
        prompts[i] = prompt_of(&list[i]);
    }
    int rc = endpoint_ask(a->server, &set, prompts, n, a->quiet, err);
    for (int64_t i = 0; i < n; i++) {
        if (rc == 0)
            take_server(&list[i], &prompts[i]);
        endpoint_prompt_release(&prompts[i]);
    }
    free(prompts);
    return rc;
}

double asked_text_logp(const struct asked_text *t, const char *part)
{
    const char *at = strstr(t->text, part);
    size_t from = at ? (size_t)(at - t->text) : 0;

    return at ? endpoint_text_logp(&t->own, from, from + strlen(part)) : (double)NAN;
}

int completer_ask(const struct completer *a, struct ask *list, int64_t n, struct error *err)
{
    if (a->server)
        return ask_server(a, list, n, err);
    int rc = completer_open(a, err) ? 0 : -1;

    for (int64_t from = 0, some; from < n && rc == 0; from += some)
        rc = ask_some(a, list + from, n - from, &some, err);
    return rc;
}

void completer_tell_memory(const char *what, const struct llama_model *m, size_t cache, size_t step)
{
    size_t weights = m->data.peak + llama_model_adapter_bytes(m) + llama_model_packed(m, false);

    log_info("%s: %zu MiB of weights, %zu MiB of keys and values, %zu MiB for a step, %zu MiB in all, on %s", what,
             weights >> 20, cache >> 20, step >> 20, (weights + cache + step) >> 20, m->device->description);
}

static void estimate_server(const struct completer *a, const struct ask *list, int64_t n)
{
    const struct endpoint_sampling set = sampling_of(a);

    for (int64_t i = 0; i < n; i++) {
        const struct endpoint_prompt p = prompt_of(&list[i]);
        endpoint_estimate(a->server, &set, &p);
    }
}

int completer_measure(const struct completer *a, struct ask *list, int64_t n, struct error *err)
{
    size_t cache = 0, step = 0;
    struct answer_batch r;

    if (a->server) {
        estimate_server(a, list, n);
        return 0;
    }
    if (!completer_open(a, err))
        return -1;
    read_some(&r, a, list, n);
    engine_init(&r.engine, &r.in->model, &r.in->work, &a->set);
    int rc = r.n_requests ? engine_measure(&r.engine, r.requests, r.n_requests, &cache, &step, err) : 0;
    engine_release(&r.engine);
    if (rc == 0)
        completer_tell_memory(a->model.dir, &r.in->model, cache, step);
    release(&r);
    return rc;
}

void ask_release(struct ask *q)
{
    for (int i = 0; i < q->n; i++) {
        endpoint_text_release(&q->texts[i].own);
        free(q->texts[i].text);
    }
    free(q->texts);
    free(q->error);
    free(q->opening);
    json_decref(q->prompt);
    json_decref(q->constraint);
}

int completer_generate(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err)
{
    struct ask *list = xcalloc((size_t)n + 1, sizeof *list);

    for (int64_t i = 0; i < n; i++)
        list[i] = (struct ask){ .prompt = json_incref(prompts[i]), .by_id = true };
    int rc = completer_ask(self, list, n, err);
    for (int64_t i = 0; i < n; i++) {
        if (list[i].error)
            log_warn("%s", list[i].error);
        if (list[i].n)
            texts[i] = xstrdup(list[i].texts[0].text);
        ask_release(&list[i]);
    }
    free(list);
    return rc;
}

uint64_t completer_key(const struct completer *a)
{
    uint64_t settings = engine_settings_key(&a->set);
    const int64_t whole[] = { (int64_t)settings, a->model.merge };
    const char *text[] = { a->model.dir, a->model.adapter, a->model.chat_template, a->model.dtype, a->device };
    uint64_t h = hash_bytes(HASH_START, whole, sizeof whole);

    for (int i = 0; i < ARRAY_LEN(text); i++)
        h = hash_text(hash_bytes(h, &i, sizeof i), text[i]);
    if (a->server)
        h ^= endpoint_key(a->server);
    return hash_folder(hash_folder(h, a->model.dir), a->model.adapter);
}
