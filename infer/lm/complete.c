#include "infer/lm/complete_impl.h"

#include "data/util/build.h"
#include "data/util/record_reader.h"
#include "data/util/stop.h"
#include "data/util/sums.h"
#include "infer/lm/answerer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Records on their way at once: of answers so many for each of a batch. */
enum { ANSWER_ROUNDS = 8, HOST_BYTES = 256 << 20 };

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
    struct llama_request model = q->model;

    model.seq2seq = true;
    r->cap = r->with_answer ? COMPLETE_LOSS_WINDOW : ANSWER_ROUNDS * (int)q->batch;
    r->window = xcalloc((size_t)r->cap, sizeof *r->window);
    r->keys = xcalloc((size_t)r->cap, sizeof *r->keys);
    r->adapters = xcalloc((size_t)r->cap, sizeof *r->adapters);
    if (device_open(&r->device, q->device, err) || workspace_init(&r->work, &r->device, HOST_BYTES, err))
        return -1;
    r->work.eager = q->no_graph;
    if (llama_model_open(&r->model, &r->device, &model, err))
        return -1;
    if (complete_bind_open(r, err))
        return -1;
    r->in = record_reader_open_range(input, q->form, &q->shard.range, err);
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
    complete_bind_close(r);
    free(r->window);
    free(r->keys);
    free(r->adapters);
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
        r->keys[r->n] = key_of(r, json, p->error);
        r->adapters[r->n] = 0;
        if (rc > 0) {
            complete_adapter(r, r->n, json, record_reader_where(r->in));
            complete_bind(r, r->n, json);
        }
        r->n++;
        json_decref(json);
    }
    return r->n;
}

static void release_window(struct completion *r)
{
    for (int i = 0; i < r->n; i++)
        lm_text_release(&r->window[i]);
}

static void count(struct complete_counts *counts, struct completion_note n)
{
    counts->records++;
    counts->failed += n.failed;
    counts->tokens += n.tokens;
}

int complete_count_lines(struct completion *r, int from, int to)
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

int complete_write(struct completion *r, int i, json_t *o, struct completion_note note, struct error *err)
{
    char text[64];

    count(r->counts, note);
    snprintf(text, sizeof text, "%d,%" PRId64, note.failed, note.tokens);
    int rc = o ? part_write(&r->part, r->keys[i], text, o, err)
               : error_set(err, EXIT_CODE_DATA, "record %lld cannot be written as JSON", (long long)r->counts->records);
    json_decref(o);
    return rc;
}

int complete_write_error(struct completion *r, int i, struct error *err)
{
    return complete_write(r, i, lm_text_error(&r->window[i]), (struct completion_note){ .failed = 1 }, err);
}

/* What the first prompts need, and nothing else. */
static int measure_window(struct completion *r, struct error *err)
{
    size_t cache = 0, step = 0;
    struct completion_requests q;

    int rc = read_window(r, err) < 0 ? -1 : 0;
    complete_requests_open(&q, r, 0);
    if (rc == 0)
        rc = q.n ? engine_measure(&r->engine, q.items, q.n, &cache, &step, err)
                 : error_set(err, EXIT_CODE_DATA, "no prompt that can be run among the first %d", r->cap);
    if (rc == 0)
        answerer_tell_memory("memory", &r->model, cache, step);
    complete_requests_release(&q, r);
    release_window(r);
    return rc;
}

static int run_windows(struct completion *r, window_fn *window, struct error *err)
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
static uint64_t run_key(const struct complete_request *q, const struct engine_settings *set)
{
    const struct answerer a = { .model = q->model, .device = q->device, .set = *set };
    return sum_text(sum_text(answerer_key(&a), build_version()), q->stop);
}

static int complete(struct completion *r, const char *input, window_fn *window, struct error *err)
{
    const struct complete_request *q = r->request;
    const struct engine_settings set = complete_settings(q);
    int rc = -1;

    stop_install_waiting();
    r->key = run_key(q, &set);
    if (open_all(r, input, err) == 0) {
        engine_init(&r->engine, &r->model, &r->work, &set);
        rc = q->model.dry ? measure_window(r, err) : run_windows(r, window, err);
        engine_release(&r->engine);
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
    return complete(&r, input, complete_generate_window, err);
}

int complete_loss(const struct complete_request *q, const char *input, struct complete_counts *counts,
                  struct error *err)
{
    struct completion r = { .request = q, .counts = counts, .with_answer = true };
    return complete(&r, input, complete_loss_window, err);
}
