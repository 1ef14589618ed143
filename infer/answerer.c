#include "infer/answerer.h"

#include "data/log.h"
#include "models/lm_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOST_BYTES = 256 << 20 };

/* One call: the model, the conversations as tokens, their answers. */
struct answering {
    const struct answerer *a;
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct lm_text *prompts;
    struct generation *answers; /* of the prompts without error, in order */
    int64_t n, n_answers;
    struct generator generator;
    struct progress progress;
};

static void read_prompts(struct answering *r, json_t *const *messages)
{
    char where[64];

    for (int64_t i = 0; i < r->n; i++) {
        json_t *record = json_pack("{s:I, s:O}", "id", (json_int_t)i, "messages", messages[i]);
        struct lm_text *p = &r->prompts[i];
        snprintf(where, sizeof where, "prompt %lld", (long long)i + 1);
        lm_text_read(p, &r->model, record, LM_OPEN, where);
        json_decref(record);
        if (p->error)
            log_warn("%s", p->error);
        else
            r->answers[r->n_answers++] =
                (struct generation){ .prompt = p->ids.items, .n_prompt = p->ids.count, .key = (uint64_t)i };
    }
}

static void show(void *arg)
{
    struct answering *r = arg;
    progress_update(&r->progress, r->generator.done, (double)r->generator.tokens, NULL);
}

static int run(struct answering *r, json_t *const *messages, char **texts, struct error *err)
{
    const struct answerer *a = r->a;

    if (device_open(&r->device, a->device, err) || workspace_init(&r->work, &r->device, HOST_BYTES, err) ||
        llama_model_open(&r->model, &r->device, &a->model, err))
        return -1;
    read_prompts(r, messages);
    generator_init(&r->generator, &r->model, &r->work, &a->set);
    progress_start(&r->progress, "answering", "tokens", r->n_answers);
    int rc = r->n_answers ? generator_run(&r->generator, r->answers, r->n_answers, show, r, err) : 0;
    progress_end(&r->progress);
    generator_release(&r->generator);
    for (int64_t i = 0, k = 0; i < r->n && rc == 0; i++) {
        const struct generation *g = r->prompts[i].error ? NULL : &r->answers[k++];
        texts[i] = g ? tokenizer_decode(r->model.tokenizer, g->out.items, g->out.count, 0, NULL) : NULL;
    }
    return rc;
}

int answerer_generate(void *self, json_t *const *messages, int64_t n, char **texts, struct error *err)
{
    struct answering r = { .a = self, .n = n };

    r.prompts = xcalloc((size_t)n + 1, sizeof *r.prompts);
    r.answers = xcalloc((size_t)n + 1, sizeof *r.answers);
    int rc = run(&r, messages, texts, err);
    for (int64_t i = 0; i < n; i++) {
        lm_text_release(&r.prompts[i]);
        ids_release(&r.answers[i].out);
    }
    free(r.prompts);
    free(r.answers);
    llama_model_release(&r.model);
    if (r.work.device)
        workspace_release(&r.work);
    if (r.device.driver)
        device_close(&r.device);
    return rc;
}
