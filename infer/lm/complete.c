#include "infer/lm/complete.h"

#include "data/base/build.h"
#include "data/base/journal.h"
#include "data/base/log.h"
#include "data/base/record_reader.h"
#include "data/base/stop.h"
#include "data/base/whole_file.h"
#include "infer/lm/completer.h"
#include "models/engine/constraints.h"
#include "models/engine/engine.h"
#include "models/lm/lm_batch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Records of the window that the engine completes. */
struct completion_requests {
    struct engine_request *items;
    struct engine_completion *answers;
    struct stop_watch *watches; /* [completions]; NULL: no stop string */
    int64_t n;
    int line;        /* first record of the window without a line */
    int64_t request; /* first item of that record or of a later one */
    struct error *err;
    int rc; /* return value of writing lines */
};

/* One run of generate or loss. */
struct completion {
    const struct complete_request *request;
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct record_reader *in;
    struct journal journal;
    struct lm_text *window;
    uint64_t *keys;                         /* [n] hash of everything that each line depends on */
    uint64_t key;                           /* hash of everything that all lines depend on */
    struct constraints *constraints;        /* or NULL */
    struct automaton_host *compiled;        /* [constraints] compiled on first use */
    const struct automaton_host **bound;    /* [n] automaton of each record */
    int *adapters;                          /* [n] adapter of each record (llama_model_adapter()) */
    uint64_t adapter_keys[1 + LORA_OTHERS]; /* hashes of adapters that records name; 0: unknown */
    int n, cap;
    bool with_answer;
    struct complete_counts *counts;
    struct progress progress;
    struct engine engine;
    struct completion_requests asked;
};

/* Contribution of a line to the counts. */
struct completion_note {
    int failed;
    int64_t tokens;
};

/* Processes a window. */
typedef int window_fn(struct completion *r, struct error *err);

static void count(struct complete_counts *counts, struct completion_note n)
{
    counts->records++;
    counts->failed += n.failed;
    counts->tokens += n.tokens;
}

/* Counts the lines of an earlier run for records [from, to) of the window, up to the first missing one. */
static int complete_count_lines(struct completion *r, int from, int to)
{
    struct completion_note note = { 0 };
    const char *text;
    int n = from;

    for (; n < to && (text = journal_next(&r->journal, r->keys[n])); n++) {
        sscanf(text, "%d,%" SCNd64, &note.failed, &note.tokens);
        count(r->counts, note);
    }
    r->counts->resumed += n - from;
    return n - from;
}

/* Writes the line of record i of the window; takes o. */
static int complete_write(struct completion *r, int i, json_t *o, struct completion_note note, struct error *err)
{
    char text[64];

    count(r->counts, note);
    snprintf(text, sizeof text, "%d,%" PRId64, note.failed, note.tokens);
    int rc = o ? journal_write(&r->journal, r->keys[i], text, o, err)
               : error_set(err, EXIT_CODE_DATA, "record %lld cannot be written as JSON", (long long)r->counts->records);
    json_decref(o);
    return rc;
}

/* Writes the line of a record with an error. */
static int complete_write_error(struct completion *r, int i, struct error *err)
{
    return complete_write(r, i, lm_text_error(&r->window[i]), (struct completion_note){ .failed = 1 }, err);
}

void stop_watch_start(struct stop_watch *w, const char *stop, const struct tokenizer *t)
{
    *w = (struct stop_watch){ .stop = stop };
    tokenizer_stream_start(&w->stream, t, 0);
}

/* Appends the text that is final now, and searches it for the stop string. */
static void hear(struct stop_watch *w, const char *part, size_t length)
{
    size_t wanted = strlen(w->stop), from = w->text.count < wanted ? 0 : w->text.count - wanted + 1;

    byte_buffer_add(&w->text, part, length);
    const char *at = memmem(w->text.items + from, w->text.count - from, w->stop, wanted);
    w->found = at != NULL;
    w->length = at ? (size_t)(at - w->text.items) : 0;
}

bool stop_watch_read(struct stop_watch *w, const int32_t *ids, int64_t n)
{
    while (w->n < n && !w->found) {
        size_t length;
        const char *part = tokenizer_stream_next(&w->stream, ids[w->n], &length);
        hear(w, part, length);
        GROW(w->ends, w->n, w->cap);
        w->ends[w->n++] = w->text.count;
    }
    return w->found;
}

bool stop_watch_end(struct stop_watch *w)
{
    if (!w->found) {
        size_t length;
        const char *part = tokenizer_stream_end(&w->stream, &length);
        hear(w, part, length);
    }
    return w->found;
}

int64_t stop_watch_tokens(const struct stop_watch *w)
{
    int64_t n = 0;

    while (n < w->n && (n ? w->ends[n - 1] : 0) < w->length)
        n++;
    return n;
}

void stop_watch_release(struct stop_watch *w)
{
    if (w->stop)
        tokenizer_stream_release(&w->stream);
    byte_buffer_release(&w->text);
    free(w->ends);
    *w = (struct stop_watch){ 0 };
}

static json_t *text_json(const struct completion *r, const int32_t *ids, int64_t n)
{
    size_t length;
    char *text = tokenizer_decode(r->model.tokenizer, ids, n, 0, &length);
    json_t *o = json_stringn(text, length);

    free(text);
    return o;
}

/* Omits the empty entries where the constraint allowed fewer tokens. */
static json_t *best_json(const struct completion *r, const struct engine_completion *a, int64_t step)
{
    int keep = r->engine.set.keep;
    json_t *list = json_array();

    for (int i = 0; i < keep; i++) {
        int32_t id = a->best[step * keep + i];
        if (id >= 0)
            json_array_append_new(list, json_pack("{s:i, s:o, s:f}", "id", id, "token", text_json(r, &id, 1), "logprob",
                                                  (double)a->best_logp[step * keep + i]));
    }
    return list;
}

/* One entry a token of the text. */
static json_t *logprobs_json(const struct completion *r, const struct engine_completion *a)
{
    json_t *list = json_array();

    for (int64_t t = 0; t < a->out.count; t++)
        json_array_append_new(list, json_pack("{s:i, s:o, s:f, s:o}", "id", a->out.items[t], "token",
                                              text_json(r, &a->out.items[t], 1), "logprob", (double)a->step_logp[t],
                                              "top", best_json(r, a, t)));
    return list;
}

static json_t *answer_json(const struct completion *r, const struct engine_completion *a,
                           const struct stop_watch *watch)
{
    json_t *text = watch && watch->found ? json_stringn(watch->text.items, watch->length)
                                         : text_json(r, a->out.items, a->out.count);
    json_t *o = json_pack("{s:o}", "text", text);

    if (r->request->n) {
        json_object_set_new(o, "score", json_real(a->score));
        json_object_set_new(o, "logprob", json_real(a->logp));
    }
    json_object_set_new(o, "tokens", json_integer(a->out.count));
    json_object_set_new(o, "finish", json_string(a->stopped ? "stop" : "length"));
    if (r->engine.set.keep)
        json_object_set_new(o, "logprobs", logprobs_json(r, a));
    return o;
}

/* Returns the record of one completion or of all.  watches: ended, or NULL. */
static json_t *complete_answers_json(const struct completion *r, const struct lm_text *p,
                                     const struct engine_request *q, const struct stop_watch *watches)
{
    json_t *o = json_pack("{s:O}", "id", p->id), *texts = json_array();

    for (int i = 0; i < q->n_answers; i++)
        json_array_append_new(texts, answer_json(r, &q->answers[i], watches ? &watches[i] : NULL));
    if (r->request->n)
        json_object_set(o, "texts", texts);
    else if (q->n_answers)
        json_object_update(o, json_array_get(texts, 0));
    json_decref(texts);
    return o;
}

/* Cuts a completion; score and log p are those of the remaining tokens. */
static void cut(struct engine_completion *a, const struct stop_watch *w)
{
    a->out.count = stop_watch_tokens(w);
    a->stopped = true;
    a->logp = 0;
    for (int64_t t = 0; t < a->out.count; t++)
        a->logp += (double)a->step_logp[t];
    a->score = a->logp;
}

/* Cuts each completion before its stop string. */
static void complete_cut(struct engine_request *q, struct stop_watch *watches)
{
    for (int i = 0; i < q->n_answers; i++) {
        struct engine_completion *a = &q->answers[i];
        if (stop_watch_read(&watches[i], a->out.items, a->out.count) || stop_watch_end(&watches[i]))
            cut(a, &watches[i]);
    }
}

static int find(struct completion *r, const json_t *v, const char *where, struct error *err)
{
    const char *dir = json_string_value(v);

    if (!v)
        return 0;
    if (!json_is_null(v) && (!dir || !*dir))
        return error_set(err, EXIT_CODE_DATA, "%s: adapter: expected a folder's name, or null for none, got %s", where,
                         dir ? "\"\"" : json_type_name(v));
    int number = llama_model_adapter(&r->model, dir, err);
    return number < 0 ? error_prefix(err, "%s: adapter %s", where, dir ? dir : "null") : number;
}

/* Finds the adapter of record i of the window, or sets the record's error. */
static void complete_adapter(struct completion *r, int i, const json_t *record, const char *where)
{
    const json_t *v = json_object_get(record, "adapter");
    struct lm_text *p = &r->window[i];
    struct error err;

    if (p->error)
        return;
    int number = find(r, v, where, &err);
    if (number < 0) {
        p->error = xstrdup(err.text);
        return;
    }
    r->adapters[i] = number;
    if (number && !r->adapter_keys[number])
        r->adapter_keys[number] = hash_folder(HASH_START, json_string_value(v));
    r->keys[i] ^= r->adapter_keys[number];
}

/* Opens the file of constraints, if there is one. */
static int complete_bind_open(struct completion *r, struct error *err)
{
    int32_t stops[ENGINE_MAX_STOPS];

    if (!r->request->constraint)
        return 0;
    if (!engine_stops(&r->model, stops))
        return error_set(err, EXIT_CODE_DATA, "--constraint: expected a model with an end token");
    r->constraints = constraints_open(r->request->constraint, err);
    if (!r->constraints)
        return -1;
    r->compiled = xcalloc((size_t)constraints_count(r->constraints) + 1, sizeof *r->compiled);
    r->bound = xcalloc((size_t)r->cap, sizeof *r->bound);
    return 0;
}

static void complete_bind_close(struct completion *r)
{
    if (!r->constraints)
        return;
    for (int i = 0; i < constraints_count(r->constraints) && r->compiled; i++)
        automaton_release(&r->compiled[i]);
    free(r->compiled);
    free(r->bound);
    constraints_close(r->constraints);
}

static int compile(struct completion *r, int number, struct error *err)
{
    int32_t stops[ENGINE_MAX_STOPS];
    int n = engine_stops(&r->model, stops);

    if (r->compiled[number].n_states)
        return 0;
    return constraints_compile(r->constraints, number, r->model.tokenizer, stops, n, &r->compiled[number], err);
}

/* Finds the constraint of record i of the window, or sets the record's error. */
static void complete_bind(struct completion *r, int i, const json_t *record)
{
    struct lm_text *p = &r->window[i];
    struct error err;

    if (!r->constraints || p->error)
        return;
    int number = constraints_find(r->constraints, record, &err);
    if (number < 0 || compile(r, number, &err)) {
        p->error = xstrdup(err.text);
        return;
    }
    r->bound[i] = &r->compiled[number];
    r->keys[i] = hash_text(r->keys[i], "bound") ^ constraints_key(r->constraints, number);
}

/* A callback of engine_settings; arg is the run. */
static bool heard_enough(void *arg, const struct engine_request *r, int row, const int32_t *said, int64_t n)
{
    const struct completion *run = arg;
    const struct completion_requests *q = &run->asked;

    return stop_watch_read(&q->watches[(r - q->items) * run->engine.set.answers + row], said, n);
}

/* Engine settings of the request. */
static struct engine_settings complete_settings(const struct complete_request *q)
{
    return (struct engine_settings){
        .max_new = q->max_new,
        .answers = q->n ? (int)q->n : 1,
        .beams = (int)q->beams,
        .beam = { .length_penalty = (float)q->length_penalty, .early = q->early_stopping ? EARLY_TRUE : EARLY_FALSE },
        .draw = { .temperature = (float)q->temperature,
                  .top_k = (int)q->top_k,
                  .top_p = (float)q->top_p,
                  .typical_p = (float)q->typical_p,
                  .min_p = (float)q->min_p,
                  .seed = (uint64_t)q->seed },
        .keep = (int)q->logprobs,
        .normalise = (enum normalise)q->scores,
        .batch = q->batch,
        .step_tokens = q->tokens,
        .stop = stop_requested,
        .enough = q->stop ? heard_enough : NULL,
    };
}

/* Collects the records without error from `from` on, with room for their completions. */
static void complete_requests_open(struct completion_requests *q, const struct completion *r, int from)
{
    int each = r->engine.set.answers;

    *q = (struct completion_requests){ .items = xcalloc((size_t)r->n + 1, sizeof *q->items),
                                       .answers = xcalloc((size_t)(r->n * each) + 1, sizeof *q->answers),
                                       .line = from };
    for (int i = from; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (p->error)
            continue;
        struct engine_request *e = &q->items[q->n];
        *e = engine_ask(&r->model, p->ids.items, p->ids.count);
        e->key = lm_text_key(p);
        e->constraint = r->bound ? r->bound[i] : NULL;
        e->adapter = r->adapters[i];
        e->answers = &q->answers[q->n * each];
        q->n++;
    }
    if (!r->request->stop)
        return;
    q->watches = xcalloc((size_t)(q->n * each) + 1, sizeof *q->watches);
    for (int64_t i = 0; i < q->n * each; i++)
        stop_watch_start(&q->watches[i], r->request->stop, r->model.tokenizer);
}

static void complete_requests_release(struct completion_requests *q, const struct completion *r)
{
    for (int64_t i = 0; i < q->n * r->engine.set.answers; i++) {
        engine_completion_release(&q->answers[i]);
        if (q->watches)
            stop_watch_release(&q->watches[i]);
    }
    free(q->watches);
    free(q->answers);
    free(q->items);
}

static int64_t tokens_of(const struct engine_request *q)
{
    int64_t n = 0;
    for (int i = 0; i < q->n_answers; i++)
        n += q->answers[i].out.count;
    return n;
}

static int write_answers(struct completion *r, struct engine_request *one, struct error *err)
{
    struct completion_requests *q = &r->asked;
    struct stop_watch *watches = q->watches ? &q->watches[(one - q->items) * r->engine.set.answers] : NULL;

    if (watches)
        complete_cut(one, watches);
    return complete_write(r, q->line, complete_answers_json(r, &r->window[q->line], one, watches),
                          (struct completion_note){ .tokens = tokens_of(one) }, err);
}

/* Writes the lines up to the first unfinished record; they survive a kill. */
static int write_lines(struct completion *r, struct error *err)
{
    struct completion_requests *q = &r->asked;
    int from = q->line, rc = 0;

    for (; q->line < r->n && rc == 0; q->line++) {
        if (r->window[q->line].error)
            rc = complete_write_error(r, q->line, err);
        else if (q->items[q->request].done)
            rc = write_answers(r, &q->items[q->request++], err);
        else
            break;
    }
    return rc || q->line == from ? rc : journal_flush(&r->journal, err);
}

static void after_step(void *arg)
{
    struct completion *r = arg;
    char note[64];

    if (r->asked.rc == 0)
        r->asked.rc = write_lines(r, r->asked.err);
    snprintf(note, sizeof note, "%lld prompts", (long long)r->engine.done);
    progress_update(&r->progress, r->engine.done, (double)r->engine.tokens, note);
}

static int complete_generate_window(struct completion *r, struct error *err)
{
    int from = complete_count_lines(r, 0, r->n);
    struct completion_requests *q = &r->asked;

    if (from == r->n)
        return 0;
    complete_requests_open(q, r, from);
    q->err = err;
    int rc = engine_run(&r->engine, q->items, q->n, after_step, r, err);
    if (rc == 0 && q->rc == 0)
        q->rc = write_lines(r, err); /* if no step was needed */
    rc = rc ? rc : q->rc;
    complete_requests_release(q, r);
    return rc;
}

/* Result of a record of the window. */
struct loss_line {
    bool packed, there; /* scored; negative log-likelihood */
    int64_t tokens;
    double nll;
};

/* Runs a step over the prompts of a pack, which share an adapter. */
struct loss_step {
    struct completion *r;
    struct lm_batch batch;
    int adapter;
    struct tensor *nll;
    struct loss_line *lines;
    int *pack, n_pack;
    int written; /* lines */
};

static void add_text(struct loss_step *s, const struct lm_text *p)
{
    struct llama_text text = { p->ids.items, p->answer.items, p->ids.count };
    lm_batch_add(&s->batch, &s->r->model, &text, 1, false);
}

static void run_loss(struct ctx *c, void *arg)
{
    struct loss_step *s = arg;

    ctx_note(c, s->adapter);
    s->nll = lm_batch_nll(c, &s->r->model, s->adapter, &s->batch);
}

/* Fills a pack with the first record without a line and later ones with its adapter, up to the step's tokens.  The
 * packs do not depend on the end of an earlier run. */
static void fill_pack(struct loss_step *s, int first)
{
    const struct completion *r = s->r;

    lm_batch_clear(&s->batch);
    s->n_pack = 0;
    s->adapter = r->adapters[first];
    for (int i = first; i < r->n; i++) {
        const struct lm_text *p = &r->window[i];
        if (s->lines[i].packed || p->error || r->adapters[i] != s->adapter)
            continue;
        if (s->n_pack && lm_batch_tokens(&s->batch) + p->ids.count > r->request->tokens)
            break;
        add_text(s, p);
        s->lines[i].packed = true;
        s->pack[s->n_pack++] = i;
    }
    if (r->work.ctx.buckets)
        lm_batch_pad(&s->batch, &r->model);
}

static void take_losses(struct loss_step *s, const float *nll)
{
    for (int k = 0; k < s->n_pack; k++) {
        struct loss_line *l = &s->lines[s->pack[k]];
        l->there = true;
        l->tokens = lm_batch_row_counts(&s->batch)[k];
        for (int64_t t = 0; t < l->tokens; t++)
            l->nll += (double)*nll++;
    }
}

static int score_pack(struct loss_step *s, struct error *err)
{
    struct completion *r = s->r;
    float *nll = xmalloc((size_t)(lm_batch_rows(&s->batch) + 1) * sizeof *nll);
    int rc = lm_batch_rows(&s->batch) ? workspace_step(&r->work, run_loss, s, err) : 0;

    if (rc == 0 && lm_batch_rows(&s->batch))
        device_download(&r->device, nll, s->nll);
    if (rc == 0)
        take_losses(s, nll);
    free(nll);
    return rc;
}

static int write_line(struct completion *r, int i, const struct loss_line *l, struct error *err)
{
    const struct lm_text *p = &r->window[i];

    if (p->error)
        return complete_write_error(r, i, err);
    return complete_write(r, i, json_pack("{s:O, s:f, s:I}", "id", p->id, "nll", l->nll, "tokens", l->tokens),
                          (struct completion_note){ .tokens = l->tokens }, err);
}

/* Writes the lines up to the first unscored record; they survive a kill. */
static int write_losses(struct loss_step *s, struct error *err)
{
    struct completion *r = s->r;
    int rc = 0;

    for (; s->written < r->n && rc == 0 && (r->window[s->written].error || s->lines[s->written].there); s->written++)
        rc = write_line(r, s->written, &s->lines[s->written], err);
    return rc ? rc : journal_flush(&r->journal, err);
}

/* Tells whether a record of the pack needs a line. */
static bool is_wanted(const struct loss_step *s)
{
    return s->pack[s->n_pack - 1] >= s->written;
}

static int complete_loss_window(struct completion *r, struct error *err)
{
    struct loss_step s = { .r = r, .written = complete_count_lines(r, 0, r->n) };
    int rc = 0;

    s.lines = xcalloc((size_t)r->n, sizeof *s.lines);
    s.pack = xcalloc((size_t)r->n, sizeof *s.pack);
    for (int i = 0; i < r->n && rc == 0 && !stop_requested(); i++) {
        if (s.lines[i].packed || r->window[i].error)
            continue;
        fill_pack(&s, i);
        rc = is_wanted(&s) ? score_pack(&s, err) : 0;
        if (rc == 0)
            rc = write_losses(&s, err);
        progress_update(&r->progress, r->counts->records, (double)r->counts->tokens, NULL);
    }
    if (rc == 0)
        rc = write_losses(&s, err);
    free(s.lines);
    free(s.pack);
    lm_batch_release(&s.batch);
    return rc;
}

/* Records in memory: this number for each prompt of a batch. */
enum { ANSWER_ROUNDS = 8, HOST_BYTES = 256 << 20 };

static int open_out(struct completion *r, struct error *err)
{
    if (journal_open(&r->journal, r->request->out, r->request->resume, err))
        return -1;
    r->journal.digits = 9;
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
    r->in = record_reader_open_range(input, q->format_in, &q->shard.range, err);
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

/* Hash of the record or of its error. */
static uint64_t key_of(const struct completion *r, const json_t *record, const char *error)
{
    char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
    uint64_t h = hash_text(hash_text(r->key, text), error);

    free(text);
    return h;
}

/* Reads records until the window is full or the input pauses.  Returns their number, or -1 with err. */
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

/* Logs the memory that the first prompts need. */
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
        completer_tell_memory("memory", &r->model, cache, step);
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
    return rc || stop_requested() ? -1 : journal_commit(&r->journal, r->request->out, err);
}

/* Hash of program, options and folders' files. */
static uint64_t run_key(const struct complete_request *q, const struct engine_settings *set)
{
    const struct completer a = { .model = q->model, .device = q->device, .set = *set };
    return hash_text(hash_text(completer_key(&a), build_version()), q->stop);
}

static int complete_records(struct completion *r, const char *input, window_fn *window, struct error *err)
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
    journal_close(&r->journal, rc != 0, err);
    close_all(r);
    return rc;
}

int complete_generate(const struct complete_request *q, const char *input, struct complete_counts *counts,
                      struct error *err)
{
    struct completion r = { .request = q, .counts = counts };
    return complete_records(&r, input, complete_generate_window, err);
}

int complete_loss(const struct complete_request *q, const char *input, struct complete_counts *counts,
                  struct error *err)
{
    struct completion r = { .request = q, .counts = counts, .with_answer = true };
    return complete_records(&r, input, complete_loss_window, err);
}

const struct complete_request complete_defaults = {
    .model = { .dtype = "auto" },
    .server = ENDPOINT_DEFAULTS("lm"),
    .out = "-",
    .device = "auto",
    .max_new = 256,
    .batch = 32,
    .tokens = 4096,
    .beams = 1,
    .top_p = 1,
    .typical_p = 1,
    .length_penalty = 1,
};

const struct file_note complete_files[] = {
    { "OUT.jsonl.part", "lines of an interrupted run, for --resume" },
    { 0 },
};

enum exit_code complete_run(const struct call *call, complete_fn *complete, struct error *err)
{
    const struct complete_request *q = call->options;
    struct complete_counts n = { 0 };

    if (q->model.merge && !q->model.adapter)
        return usage_error(err, "--merge: expected --adapter, which it adds to the weights");
    if (q->resume && strcmp(q->out, "-") == 0)
        return usage_error(err, "--resume: expected --out FILE, a file to go on with");
    int rc = complete(q, call->operands[0], &n, err);
    if (rc == 0 && !q->model.dry)
        log_info("%lld records, %lld tokens, %lld failed, %lld of an earlier run", (long long)n.records,
                 (long long)n.tokens, (long long)n.failed, (long long)n.resumed);
    return job_exit_code(rc, n.failed, err);
}
