#include "infer/lm/answerer.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "data/util/sums.h"
#include "models/lm/lm_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOST_BYTES = 256 << 20 };

struct answerer_model {
    const struct answerer *of;
    struct device device;
    struct workspace work;
    struct llama_model model;
};

/* One call: the conversations as tokens, and their answers. */
struct answer_batch {
    struct answerer_model *in;
    struct lm_text *prompts;
    struct engine_request *requests; /* of the prompts without error, in order */
    struct engine_answer *answers;   /* of each */
    int64_t n, n_requests;
    struct engine engine;
    struct progress progress;
};

void answerer_close(struct answerer_model **m)
{
    struct answerer_model *in = *m;

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

static int open_model(const struct answerer *a, struct error *err)
{
    if (*a->open && (*a->open)->of == a)
        return 0;
    answerer_close(a->open);
    struct answerer_model *in = *a->open = xcalloc(1, sizeof *in);
    in->of = a;
    int rc =
        device_open(&in->device, a->device, err) || workspace_init(&in->work, &in->device, HOST_BYTES, err) ? -1 : 0;
    in->work.eager = a->no_graph;
    if (rc == 0)
        rc = llama_model_open(&in->model, &in->device, &a->model, err);
    if (rc)
        answerer_close(a->open);
    return rc;
}

static void add_request(struct answer_batch *r, const struct lm_text *p)
{
    int64_t i = r->n_requests++;

    r->requests[i] = (struct engine_request){
        .prompt = p->ids.items, .n_prompt = p->ids.count, .key = lm_text_key(p), .answers = &r->answers[i]
    };
}

static void read_prompts(struct answer_batch *r, json_t *const *prompts)
{
    char where[64];

    for (int64_t i = 0; i < r->n; i++) {
        struct lm_text *p = &r->prompts[i];
        snprintf(where, sizeof where, "prompt %lld", (long long)i + 1);
        lm_text_read(p, &r->in->model, prompts[i], LM_OPEN, where);
        if (p->error)
            log_warn("%s", p->error);
        else
            add_request(r, p);
    }
}

static void show(void *arg)
{
    struct answer_batch *r = arg;
    progress_update(&r->progress, r->engine.done, (double)r->engine.tokens, NULL);
}

static int run(struct answer_batch *r, struct engine_settings set, char **texts, struct error *err)
{
    set.stop = stop_requested;
    engine_init(&r->engine, &r->in->model, &r->in->work, &set);
    progress_start(&r->progress, "answering", "tokens", r->n_requests);
    int rc = engine_run(&r->engine, r->requests, r->n_requests, show, r, err);
    progress_end(&r->progress);
    engine_release(&r->engine);
    for (int64_t i = 0, k = 0; i < r->n && rc == 0; i++) {
        const struct engine_answer *g = r->prompts[i].error ? NULL : &r->answers[k++];
        texts[i] = g ? tokenizer_decode(r->in->model.tokenizer, g->out.items, g->out.count, 0, NULL) : NULL;
    }
    return rc;
}

int answerer_generate(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err)
{
    const struct answerer *a = self;
    struct answer_batch r = { .n = n };

    if (open_model(a, err))
        return -1;
    r.in = *a->open;
    r.prompts = xcalloc((size_t)n + 1, sizeof *r.prompts);
    r.requests = xcalloc((size_t)n + 1, sizeof *r.requests);
    r.answers = xcalloc((size_t)n + 1, sizeof *r.answers);
    read_prompts(&r, prompts);
    int rc = run(&r, a->set, texts, err);
    for (int64_t i = 0; i < n; i++) {
        lm_text_release(&r.prompts[i]);
        engine_answer_release(&r.answers[i]);
    }
    free(r.prompts);
    free(r.requests);
    free(r.answers);
    return rc;
}

uint64_t answerer_key(const struct answerer *a)
{
    uint64_t settings = engine_settings_key(&a->set);
    const int64_t whole[] = { (int64_t)settings, a->model.merge };
    const char *text[] = { a->model.dir, a->model.adapter, a->model.chat_template, a->model.dtype, a->device };
    uint64_t h = hash_bytes(HASH_START, whole, sizeof whole);

    for (int i = 0; i < ARRAY_LEN(text); i++)
        h = sum_text(hash_bytes(h, &i, sizeof i), text[i]);
    return sum_folder(sum_folder(h, a->model.dir), a->model.adapter);
}
