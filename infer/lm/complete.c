#include "infer/lm/complete.h"

#include "data/util/log.h"
#include "data/util/stop.h"
#include "models/lm/llama_batch.h"
#include "models/lm/llama_generate.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1024, HOST_BYTES = 256 << 20 };

/* One run of either command. */
struct completion {
    const struct complete_request *request;
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct record_reader *in;
    struct out_file out;
    struct lm_text *window;
    int n;
    bool with_answer;
    struct complete_counts *counts;
    struct progress progress;
    struct generator generator;
};

static int open_all(struct completion *r, const char *input, struct error *err)
{
    const struct complete_request *q = r->request;

    r->window = xcalloc(WINDOW, sizeof *r->window);
    if (device_open(&r->device, q->device, err) || workspace_init(&r->work, &r->device, HOST_BYTES, err) ||
        llama_model_open(&r->model, &r->device, &q->model, err))
        return -1;
    r->in = record_reader_open(input, q->form, err);
    return !r->in ? -1 : q->model.dry ? 0 : out_file_open(&r->out, q->out, err);
}

static void close_all(struct completion *r)
{
    out_file_abort(&r->out);
    if (r->in)
        record_reader_close(r->in);
    llama_model_release(&r->model);
    if (r->work.device)
        workspace_release(&r->work);
    if (r->device.driver)
        device_close(&r->device);
    free(r->window);
}

/* The next records: how many, or -1 where the input ends too early. */
static int read_window(struct completion *r, struct error *err)
{
    r->n = 0;
    while (r->n < WINDOW) {
        json_t *json = NULL;
        struct error bad = { 0 };
        int rc = record_reader_next(r->in, &json, &bad);
        if (rc == 0)
            break;
        if (rc < 0 && record_reader_failed(r->in)) {
            *err = bad;
            return -1;
        }
        struct lm_text *p = &r->window[r->n++];
        if (rc > 0)
            lm_text_read(p, &r->model, json, r->with_answer ? LM_LAST_ANSWER : LM_OPEN, record_reader_where(r->in));
        else
            *p = (struct lm_text){ .id = json_integer(record_reader_number(r->in)), .error = xstrdup(bad.text) };
        json_decref(json);
    }
    return r->n;
}

static void release_window(struct completion *r)
{
    for (int i = 0; i < r->n; i++)
        lm_text_release(&r->window[i]);
}

static int write_json(struct completion *r, json_t *o, bool failed, struct error *err)
{
    r->counts->records++;
    r->counts->failed += failed;
    int rc = o ? json_write_line(&r->out, o, err)
               : error_set(err, EXIT_CODE_DATA, "record %lld cannot be written as JSON", (long long)r->counts->records);
    json_decref(o);
    return rc;
}

static json_t *answer_json(const struct completion *r, const struct lm_text *p, const struct generation *g)
{
    size_t length;
    char *text = tokenizer_decode(r->model.tokenizer, g->out.items, g->out.count, 0, &length);
    json_t *o = json_pack("{s:O, s:s%, s:I, s:s}", "id", p->id, "text", text, length, "tokens",
                          (json_int_t)g->out.count, "finish", g->end == GENERATION_STOP ? "stop" : "length");
    free(text);
    return o;
}

static int write_answers(struct completion *r, const struct generation *list, struct error *err)
{
    int rc = 0;

    for (int i = 0, k = 0; i < r->n && rc == 0; i++) {
        const struct lm_text *p = &r->window[i];
        rc = write_json(r, p->error ? lm_text_error(p) : answer_json(r, p, &list[k++]), p->error != NULL, err);
    }
    return rc;
}

static void show_generation(void *arg)
{
    struct completion *r = arg;
    char note[64];

    r->counts->tokens = r->generator.tokens;
    snprintf(note, sizeof note, "%lld answers", (long long)r->generator.done);
    progress_update(&r->progress, r->generator.done, (double)r->generator.tokens, note);
}

static int generate_window(struct completion *r, struct error *err)
{
    struct generation *list = xcalloc((size_t)r->n, sizeof *list);
    int n = 0;

    for (int i = 0; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (!p->error)
            list[n++] = (struct generation){ .prompt = p->ids.items, .n_prompt = p->ids.count, .key = lm_text_key(p) };
    }
    int rc = n ? generator_run(&r->generator, list, n, show_generation, r, err) : 0;
    if (rc == 0)
        rc = write_answers(r, list, err);
    for (int i = 0; i < n; i++)
        ids_release(&list[i].out);
    free(list);
    return rc;
}

/* One step over the prompts of a pack. */
struct loss_step {
    struct completion *r;
    struct llama_batch batch;
    struct tensor *nll;
};

static void run_loss(struct ctx *c, void *arg)
{
    struct loss_step *s = arg;
    s->nll = llama_batch_nll(c, &s->r->model.net, &s->batch);
}

static int write_losses(struct completion *r, int from, int to, const float *nll, const int32_t *counts,
                        struct error *err)
{
    int rc = 0;

    for (int i = from; i < to && rc == 0; i++) {
        const struct lm_text *p = &r->window[i];
        double sum = 0;
        if (p->error) {
            rc = write_json(r, lm_text_error(p), true, err);
            continue;
        }
        for (int32_t k = 0; k < *counts; k++)
            sum += (double)*nll++;
        rc = write_json(r, json_pack("{s:O, s:f, s:i}", "id", p->id, "nll", sum, "tokens", *counts), false, err);
        r->counts->tokens += *counts++;
    }
    return rc;
}

/* As many prompts as fit the tokens of a step, at least one; *to is where the next pack begins. */
static void fill_pack(struct loss_step *s, int from, int *to)
{
    const struct completion *r = s->r;

    llama_batch_clear(&s->batch);
    for (*to = from; *to < r->n; ++*to) {
        const struct lm_text *p = &r->window[*to];
        if (p->error)
            continue;
        if (s->batch.n_seqs && s->batch.n_tokens + p->ids.count > r->request->tokens)
            break;
        llama_batch_add(&s->batch, p->ids.items, p->answer.items, p->ids.count);
    }
}

static int score_pack(struct loss_step *s, int from, int to, struct error *err)
{
    struct completion *r = s->r;
    float *nll = NULL;
    int rc = 0;

    if (s->batch.n_rows) {
        rc = workspace_run(&r->work, run_loss, s, err);
        nll = xmalloc((size_t)s->batch.n_rows * sizeof *nll);
        if (rc == 0)
            device_download(&r->device, nll, s->nll);
    }
    if (rc == 0)
        rc = write_losses(r, from, to, nll, s->batch.row_counts, err);
    free(nll);
    return rc;
}

static int loss_window(struct completion *r, struct error *err)
{
    struct loss_step s = { .r = r };
    int rc = 0;

    for (int from = 0, to = 0; rc == 0 && from < r->n; from = to) {
        fill_pack(&s, from, &to);
        rc = score_pack(&s, from, to, err);
        progress_update(&r->progress, r->counts->records, (double)r->counts->tokens, NULL);
        if (rc == 0 && stop_requested())
            rc = 1;
    }
    llama_batch_release(&s.batch);
    return rc;
}

/* What the first prompts need, and nothing else. */
static int measure_window(struct completion *r, struct error *err)
{
    struct generation *list = xcalloc(WINDOW, sizeof *list);
    size_t weights = r->model.data.peak + r->model.adapter_data.peak + llama_model_packed(&r->model, false);
    size_t cache = 0, step = 0;
    int n = 0;

    if (read_window(r, err) < 0) {
        free(list);
        release_window(r);
        return -1;
    }
    for (int i = 0; i < r->n; i++)
        if (!r->window[i].error)
            list[n++] = (struct generation){ .prompt = r->window[i].ids.items, .n_prompt = r->window[i].ids.count };
    int rc = n ? generator_measure(&r->generator, list, n, &cache, &step, err)
               : error_set(err, EXIT_CODE_DATA, "no prompt that can be run among the first %d", WINDOW);
    if (rc == 0)
        log_info("memory: %zu MiB of weights, %zu MiB of keys and values, %zu MiB for a step, %zu MiB in all, on %s",
                 weights >> 20, cache >> 20, step >> 20, (weights + cache + step) >> 20, r->device.description);
    release_window(r);
    free(list);
    return rc;
}

static int run_windows(struct completion *r, int (*window)(struct completion *, struct error *), struct error *err)
{
    int n = 0, rc = 0;

    progress_start(&r->progress, r->with_answer ? "scoring" : "generating", "tokens", 0);
    while (rc == 0 && (n = read_window(r, err)) > 0) {
        rc = window(r, err);
        release_window(r);
    }
    rc = n < 0 ? -1 : rc;
    progress_end(&r->progress);
    return rc == 0 ? out_file_commit(&r->out, err) : rc;
}

static int complete(struct completion *r, const char *input, int (*window)(struct completion *, struct error *),
                    struct error *err)
{
    const struct complete_request *q = r->request;
    struct generate_settings set = { .max_new = q->max_new,
                                     .temperature = q->temperature,
                                     .top_p = q->top_p,
                                     .seed = (uint64_t)q->seed,
                                     .batch = q->batch,
                                     .step_tokens = q->tokens,
                                     .stop = stop_requested };
    int rc = -1;

    stop_install();
    if (open_all(r, input, err) == 0) {
        generator_init(&r->generator, &r->model, &r->work, &set);
        rc = q->model.dry ? measure_window(r, err) : run_windows(r, window, err);
        generator_release(&r->generator);
    }
    close_all(r);
    return rc;
}

int complete_generate(const struct complete_request *q, const char *input, struct complete_counts *counts,
                      struct error *err)
{
    struct completion r = { .request = q, .counts = counts };
    return complete(&r, input, generate_window, err);
}

int complete_loss(const struct complete_request *q, const char *input, struct complete_counts *counts,
                  struct error *err)
{
    struct completion r = { .request = q, .counts = counts, .with_answer = true };
    return complete(&r, input, loss_window, err);
}
