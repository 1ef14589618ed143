#include "infer/lm/complete.h"

#include "data/util/build.h"
#include "data/util/log.h"
#include "data/util/part_file.h"
#include "data/util/record_reader.h"
#include "data/util/stop.h"
#include "data/util/sums.h"
#include "infer/lm/answerer.h"
#include "models/lm/llama_batch.h"
#include "models/lm/llama_generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Records on their way at once: of losses so many, of answers so many for each of a batch. */
enum { LOSS_WINDOW = 1024, ANSWER_ROUNDS = 8, HOST_BYTES = 256 << 20 };

/* One run of either command. */
struct completion {
    const struct complete_request *request;
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct record_reader *in;
    struct part_file part;
    struct lm_text *window;
    uint64_t *keys; /* of all that each line of the window is made from */
    uint64_t key;   /* of what all lines are made from */
    int n, cap;
    bool with_answer;
    struct complete_counts *counts;
    struct progress progress;
    struct generator generator;
};

static int open_out(struct completion *r, struct error *err)
{
    if (part_open(&r->part, r->request->out, r->request->resume, err))
        return -1;
    r->part.digits = 9;
    return 0;
}

static int open_all(struct completion *r, const char *input, struct error *err)
{
    const struct complete_request *q = r->request;

    r->cap = r->with_answer ? LOSS_WINDOW : ANSWER_ROUNDS * (int)q->batch;
    r->window = xcalloc((size_t)r->cap, sizeof *r->window);
    r->keys = xcalloc((size_t)r->cap, sizeof *r->keys);
    if (device_open(&r->device, q->device, err) || workspace_init(&r->work, &r->device, HOST_BYTES, err))
        return -1;
    r->work.eager = q->no_graph;
    if (llama_model_open(&r->model, &r->device, &q->model, err))
        return -1;
    r->in = record_reader_open(input, q->form, err);
    return !r->in ? -1 : q->model.dry ? 0 : open_out(r, err);
}

static void close_all(struct completion *r)
{
    record_reader_close(r->in);
    llama_model_release(&r->model);
    if (r->work.device)
        workspace_release(&r->work);
    if (r->device.driver)
        device_close(&r->device);
    free(r->window);
    free(r->keys);
}

/* Of the record, or why it could not be read. */
static uint64_t key_of(const struct completion *r, const json_t *record, const char *error)
{
    char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
    uint64_t h = sum_text(sum_text(r->key, text), error);

    free(text);
    return h;
}

/* The next records, until the window is full or the input pauses.  How many, or -1. */
static int read_window(struct completion *r, struct error *err)
{
    r->n = 0;
    while (r->n < r->cap && (!r->n || record_reader_ready(r->in))) {
        json_t *json = NULL;
        struct error bad = { 0 };
        int rc = record_reader_next(r->in, &json, &bad);
        if (rc == 0)
            break;
        if (rc < 0 && record_reader_failed(r->in)) {
            *err = bad;
            return -1;
        }
        struct lm_text *p = &r->window[r->n];
        if (rc > 0)
            lm_text_read(p, &r->model, json, r->with_answer ? LM_LAST_ANSWER : LM_OPEN, record_reader_where(r->in));
        else
            *p = (struct lm_text){ .id = json_integer(record_reader_number(r->in)), .error = xstrdup(bad.text) };
        r->keys[r->n++] = key_of(r, json, p->error);
        json_decref(json);
    }
    return r->n;
}

static void release_window(struct completion *r)
{
    for (int i = 0; i < r->n; i++)
        lm_text_release(&r->window[i]);
}

/* What a line adds to the counts. */
struct completion_note {
    int failed;
    int64_t tokens;
};

static void count(struct complete_counts *counts, struct completion_note n)
{
    counts->records++;
    counts->failed += n.failed;
    counts->tokens += n.tokens;
}

/* How many lines, from record `from` of the window, an earlier run has of those before `to`. */
static int count_lines(struct completion *r, int from, int to)
{
    struct completion_note note = { 0 };
    const char *text;
    int n = from;

    for (; n < to && (text = part_next(&r->part, r->keys[n])); n++) {
        sscanf(text, "%d,%" SCNd64, &note.failed, &note.tokens);
        count(r->counts, note);
    }
    r->counts->resumed += n - from;
    return n - from;
}

/* The line of record i of the window; takes o. */
static int write_json(struct completion *r, int i, json_t *o, struct completion_note note, struct error *err)
{
    char text[64];

    count(r->counts, note);
    snprintf(text, sizeof text, "%d,%" PRId64, note.failed, note.tokens);
    int rc = o ? part_write(&r->part, r->keys[i], text, o, err)
               : error_set(err, EXIT_CODE_DATA, "record %lld cannot be written as JSON", (long long)r->counts->records);
    json_decref(o);
    return rc;
}

static int write_error(struct completion *r, int i, struct error *err)
{
    return write_json(r, i, lm_text_error(&r->window[i]), (struct completion_note){ .failed = 1 }, err);
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

/* Of the window, from record `from`. */
static int write_answers(struct completion *r, const struct generation *list, int from, struct error *err)
{
    int rc = 0;

    for (int i = 0, k = 0; i < r->n && rc == 0; i++) {
        const struct lm_text *p = &r->window[i];
        const struct generation *g = p->error ? NULL : &list[k++];
        if (i < from)
            continue;
        rc = g ? write_json(r, i, answer_json(r, p, g), (struct completion_note){ .tokens = g->out.count }, err)
               : write_error(r, i, err);
    }
    return rc ? rc : part_flush(&r->part, err);
}

static void show_generation(void *arg)
{
    struct completion *r = arg;
    char note[64];

    snprintf(note, sizeof note, "%lld answers", (long long)r->generator.done);
    progress_update(&r->progress, r->generator.done, (double)r->generator.tokens, note);
}

/* Where a line is missing the window is worked on as a whole, so that its lines are those of a run that nobody stopped.
 */
static int generate_window(struct completion *r, struct error *err)
{
    int from = count_lines(r, 0, r->n), n = 0;

    if (from == r->n)
        return 0;
    struct generation *list = xcalloc((size_t)r->n, sizeof *list);
    for (int i = 0; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (!p->error)
            list[n++] = (struct generation){ .prompt = p->ids.items, .n_prompt = p->ids.count, .key = lm_text_key(p) };
    }
    int rc = n ? generator_run(&r->generator, list, n, show_generation, r, err) : 0;
    if (rc == 0)
        rc = write_answers(r, list, from, err);
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

/* Records of the window that one step reads, of which the first `done` have their lines. */
struct pack {
    int from, to, done;
};

static int write_losses(struct completion *r, const struct pack *pack, const float *nll, const int32_t *counts,
                        struct error *err)
{
    int rc = 0;

    for (int i = pack->from; i < pack->to && rc == 0; i++) {
        const struct lm_text *p = &r->window[i];
        struct completion_note note = { .failed = p->error != NULL, .tokens = p->error ? 0 : *counts++ };
        double sum = 0;
        for (int64_t k = 0; k < note.tokens; k++)
            sum += (double)*nll++;
        if (i < pack->from + pack->done)
            continue;
        rc = p->error ? write_error(r, i, err)
                      : write_json(r, i, json_pack("{s:O, s:f, s:I}", "id", p->id, "nll", sum, "tokens", note.tokens),
                                   note, err);
    }
    return rc ? rc : part_flush(&r->part, err);
}

/* As many prompts as fit the tokens of a step, at least one. */
static void fill_pack(struct loss_step *s, struct pack *pack)
{
    const struct completion *r = s->r;

    llama_batch_clear(&s->batch);
    for (pack->to = pack->from; pack->to < r->n; pack->to++) {
        const struct lm_text *p = &r->window[pack->to];
        if (p->error)
            continue;
        if (s->batch.n_seqs && s->batch.n_tokens + p->ids.count > r->request->tokens)
            break;
        llama_batch_add(&s->batch, p->ids.items, p->answer.items, p->ids.count);
    }
    if (r->work.ctx.buckets)
        llama_batch_pad(&s->batch);
}

static int score_pack(struct loss_step *s, const struct pack *pack, struct error *err)
{
    struct completion *r = s->r;
    float *nll = NULL;
    int rc = 0;

    if (s->batch.n_rows) {
        rc = workspace_step(&r->work, run_loss, s, err);
        nll = xmalloc((size_t)s->batch.n_rows * sizeof *nll);
        if (rc == 0)
            device_download(&r->device, nll, s->nll);
    }
    if (rc == 0)
        rc = write_losses(r, pack, nll, s->batch.row_counts, err);
    free(nll);
    return rc;
}

static int loss_window(struct completion *r, struct error *err)
{
    struct loss_step s = { .r = r };
    int rc = 0;

    for (struct pack p = { 0 }; rc == 0 && p.from < r->n && !stop_requested(); p.from = p.to) {
        fill_pack(&s, &p);
        p.done = count_lines(r, p.from, p.to);
        if (p.from + p.done < p.to)
            rc = score_pack(&s, &p, err);
        progress_update(&r->progress, r->counts->records, (double)r->counts->tokens, NULL);
    }
    llama_batch_release(&s.batch);
    return rc;
}

/* What the first prompts need, and nothing else. */
static int measure_window(struct completion *r, struct error *err)
{
    struct generation *list = xcalloc((size_t)r->cap, sizeof *list);
    size_t weights = r->model.data.peak + r->model.adapter_data.peak + llama_model_packed(&r->model, false);
    size_t cache = 0, step = 0;
    int n = 0;

    int rc = read_window(r, err) < 0 ? -1 : 0;
    for (int i = 0; i < r->n; i++)
        if (!r->window[i].error)
            list[n++] = (struct generation){ .prompt = r->window[i].ids.items, .n_prompt = r->window[i].ids.count };
    if (rc == 0)
        rc = n ? generator_measure(&r->generator, list, n, &cache, &step, err)
               : error_set(err, EXIT_CODE_DATA, "no prompt that can be run among the first %d", r->cap);
    if (rc == 0)
        log_info("memory: %zu MiB of weights, %zu MiB of keys and values, %zu MiB for a step, %zu MiB in all, on %s",
                 weights >> 20, cache >> 20, step >> 20, (weights + cache + step) >> 20, r->device.description);
    release_window(r);
    free(list);
    return rc;
}

static int run_windows(struct completion *r, int (*window)(struct completion *, struct error *), struct error *err)
{
    char text[STEP_COUNTS];
    int rc = 0, n = 1;

    progress_start(&r->progress, r->with_answer ? "scoring" : "generating", "tokens", 0);
    while (rc == 0 && n > 0 && !stop_requested()) {
        n = read_window(r, err);
        rc = n > 0 ? window(r, err) : n;
        release_window(r);
    }
    progress_end(&r->progress);
    if (workspace_tell(&r->work, text))
        log_info("%s", text);
    return rc || stop_requested() ? -1 : part_commit(&r->part, r->request->out, err);
}

/* Of the program, the options and the folders' files. */
static uint64_t run_key(const struct complete_request *q, const struct generate_settings *set)
{
    const struct answerer a = { .model = q->model, .device = q->device, .set = *set };
    return sum_text(answerer_key(&a), build_version());
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

    stop_install_waiting();
    r->key = run_key(q, &set);
    if (open_all(r, input, err) == 0) {
        generator_init(&r->generator, &r->model, &r->work, &set);
        rc = q->model.dry ? measure_window(r, err) : run_windows(r, window, err);
        generator_release(&r->generator);
    }
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    part_close(&r->part, rc != 0, err);
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
