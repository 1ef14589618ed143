#include "models/engine/engine_impl.h"

#include "data/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many steps pass before a device that runs ahead is asked what is done. */
enum { HEADERS = 1 << 20, ASK_STEPS = 8 };

struct engine_request engine_ask(const struct llama_model *m, const int32_t *ids, int64_t n)
{
    if (!m->seq2seq)
        return (struct engine_request){ .prompt = ids, .n_prompt = n };
    return (struct engine_request){ .prompt = &m->t5.config.start, .n_prompt = 1, .source = ids, .n_source = n };
}

uint64_t engine_settings_key(const struct engine_settings *s)
{
    const double all[] = { (double)s->max_new,
                           s->answers,
                           s->beams,
                           s->keep,
                           (double)s->normalise,
                           (double)s->beam.length_penalty,
                           (double)s->beam.early,
                           (double)s->draw.temperature,
                           s->draw.top_k,
                           (double)s->draw.top_p,
                           (double)s->draw.typical_p,
                           (double)s->draw.min_p,
                           (double)(s->draw.seed >> 32),
                           (double)(uint32_t)s->draw.seed };
    return hash_bytes(HASH_START, all, sizeof all);
}

void engine_init(struct engine *e, struct llama_model *model, struct workspace *work, const struct engine_settings *set)
{
    *e = (struct engine){ .model = model, .work = work, .set = *set };
    e->width = set->beams > 1 ? set->beams : set->answers;
    CHECK(set->answers >= 1 && set->answers <= e->width && e->width <= BEAMS_MAX, "%d answers of %d rows", set->answers,
          e->width);
    CHECK(!set->enough || set->beams == 1, "beams end by themselves");
}

static void release_memory(struct engine *e)
{
    arena_release(&e->host);
    if (e->data.base)
        device_arena_release(e->model->device, &e->data);
    pages_release(&e->pages);
    free(e->active);
    free(e->slots);
    e->active = NULL;
    e->slots = NULL;
    e->cache = (struct kv_cache){ 0 };
    e->sources = (struct engine_sources){ 0 };
}

void engine_release(struct engine *e)
{
    release_memory(e);
    engine_release_tables(e);
    *e = (struct engine){ 0 };
}

/* What a run needs room for. */
struct engine_room {
    int64_t requests, pages, keys, steps, source; /* source: of the longest */
};

/* For the largest request `batch` times, or for all. */
static struct engine_room room_wanted(const struct engine *e, const struct engine_request *list, int64_t n)
{
    struct engine_room r = { .requests = n < e->set.batch ? n : e->set.batch };
    int64_t most = 0, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t limit = engine_limit(e, &list[i]), pages = engine_pages(e, &list[i]);
        most = pages > most ? pages : most;
        sum += pages;
        r.steps = limit > r.steps ? limit : r.steps;
        r.source = list[i].n_source > r.source ? list[i].n_source : r.source;
        r.keys = list[i].n_prompt - 1 + limit > r.keys ? list[i].n_prompt - 1 + limit : r.keys;
    }
    r.pages = sum < most * r.requests ? sum : most * r.requests;
    return r;
}

static struct tensor *rows_of(struct engine *e, enum dtype dtype, int64_t rows, int64_t cols)
{
    return tensor_alloc(&e->host, &e->data, dtype, cols ? 2 : 1, (int64_t[]){ rows, cols });
}

static void init_state(struct engine *e, const struct engine_room *r)
{
    int64_t rows = r->requests * e->width, kept = r->steps * e->set.keep;

    e->state = (struct decode_state){ .width = e->width,
                                      .token = rows_of(e, I32, rows, 0),
                                      .state = rows_of(e, I32, rows, 0),
                                      .score = rows_of(e, F32, rows, 0),
                                      .table = rows_of(e, I32, rows, r->keys),
                                      .key = rows_of(e, I32, r->requests, 2),
                                      .said = rows_of(e, I32, rows, r->steps),
                                      .parent = rows_of(e, I32, rows, r->steps),
                                      .logp = rows_of(e, F32, rows, r->steps),
                                      .end_step = rows_of(e, I32, rows, 0),
                                      .end_row = rows_of(e, I32, rows, 0),
                                      .end_token = rows_of(e, I32, rows, 0),
                                      .end_stop = rows_of(e, I32, rows, 0),
                                      .end_logp = rows_of(e, F32, rows, 0),
                                      .end_score = rows_of(e, F32, rows, 0),
                                      .done = rows_of(e, I32, r->requests, 0),
                                      .run = rows_of(e, I32, r->requests, 0),
                                      .best_id = kept ? rows_of(e, I32, rows, kept) : NULL,
                                      .best_logp = kept ? rows_of(e, F32, rows, kept) : NULL };
}

static void init_caches(struct engine *e, const struct engine_room *r)
{
    const struct llama_config *g = &e->model->net.config;
    const struct t5_config *t = &e->model->t5.config;
    bool seq2seq = e->model->seq2seq;
    int layers = seq2seq ? t->decoder_layers : g->layers;
    int64_t width = seq2seq ? (int64_t)t->heads * t->d_kv : (int64_t)g->groups * g->head_dim;
    enum dtype dtype = e->model->dtype;

    kv_cache_init(&e->cache, layers, width, dtype, r->pages * PAGE_KEYS, &e->host, &e->data);
    if (!seq2seq)
        return;
    kv_cache_init(&e->sources.cache, layers, width, dtype, r->requests * r->source, &e->host, &e->data);
    e->sources.table = rows_of(e, I32, r->requests, r->source);
}

/* Everything that stays on the device between steps. */
static void lay_out(struct engine *e, const struct engine_room *r)
{
    const struct llama_model *m = e->model;
    int32_t stops[ENGINE_MAX_STOPS];
    int n_stops = engine_stops(m, stops);

    init_caches(e, r);
    init_state(e, r);
    e->set.draw.stops = e->set.beam.stops = rows_of(e, I32, n_stops, 0);
    e->set.beam.norm = rows_of(e, F32, r->steps + 1, 0);
    e->tag = hash_bytes(hash_bytes(engine_settings_key(&e->set), r, sizeof *r), &e->data.base, sizeof e->data.base);
    e->tag = hash_bytes(hash_bytes(e->tag, &e->table_data.base, sizeof e->table_data.base), &e->table_data.size,
                        sizeof e->table_data.size);
}

static size_t bytes_of(struct engine *e, const struct engine_room *r, struct error *err)
{
    size_t bytes = 0;

    if (arena_init(&e->host, HEADERS, err))
        return 0;
    arena_measure(&e->data);
    lay_out(e, r);
    bytes = e->data.peak;
    arena_release(&e->host);
    e->data = (struct arena){ 0 };
    return bytes;
}

/*
 * Half of what the device has free is for the cache; a batch that needs more is halved, which is told.  Answers do not
 * depend on it.
 */
static size_t fit(struct engine *e, const struct engine_request *list, int64_t n, struct engine_room *r,
                  struct error *err)
{
    const struct device *d = e->model->device;
    int64_t asked = e->set.batch;
    size_t most = d->free_memory / 2, wanted = bytes_of(e, r, err), bytes = wanted;

    while (most && bytes > most && e->set.batch > 1) {
        e->set.batch /= 2;
        *r = room_wanted(e, list, n);
        bytes = bytes_of(e, r, err);
    }
    if (e->set.batch < asked)
        log_warn("keys and values of %lld texts at once need %zu MiB, %s has %zu MiB free: %lld at once",
                 (long long)asked, wanted >> 20, d->description, d->free_memory >> 20, (long long)e->set.batch);
    return bytes;
}

static void upload_sources(struct engine *e)
{
    int64_t n = tensor_size(e->sources.table);
    int32_t *rows = xmalloc((size_t)n * sizeof *rows);

    for (int64_t i = 0; i < n; i++)
        rows[i] = (int32_t)i;
    device_upload(e->model->device, e->sources.table, rows);
    free(rows);
}

static void upload_constants(struct engine *e)
{
    const struct llama_model *m = e->model;
    int32_t stops[ENGINE_MAX_STOPS];
    int n = engine_stops(m, stops);
    int64_t steps = tensor_size(e->set.beam.norm);
    float *norm = xmalloc((size_t)steps * sizeof *norm);

    for (int64_t i = 0; i < steps; i++)
        norm[i] = (float)pow((double)i, (double)e->set.beam.length_penalty);
    if (n)
        device_upload(m->device, e->set.beam.stops, stops);
    device_upload(m->device, e->set.beam.norm, norm);
    if (m->seq2seq)
        upload_sources(e);
    free(norm);
}

static void init_lists(struct engine *e, const struct engine_room *r)
{
    pages_init(&e->pages, r->pages);
    e->active = xcalloc((size_t)r->requests + 1, sizeof *e->active);
    e->slots = xcalloc((size_t)r->requests + 1, sizeof *e->slots);
    e->n_active = 0;
    e->n_slots = r->requests;
    for (int64_t i = 0; i < r->requests; i++)
        e->slots[i] = (int32_t)(r->requests - 1 - i);
    e->steps = r->steps;
}

static int reserve(struct engine *e, const struct engine_request *list, int64_t n, struct error *err)
{
    struct engine_room r = room_wanted(e, list, n);

    release_memory(e); /* first: measuring takes the arenas' places */
    size_t bytes = fit(e, list, n, &r, err);
    if (!bytes || arena_init(&e->host, HEADERS, err) || device_arena(e->model->device, &e->data, bytes, err))
        return error_prefix(err, "keys and values of %lld texts at once, %d rows of up to %lld tokens behind each",
                            (long long)r.requests, e->width, (long long)r.steps);
    if (engine_load_tables(e, list, n, err))
        return -1;
    lay_out(e, &r);
    upload_constants(e);
    init_lists(e, &r);
    return 0;
}

/* What the device tells: which requests are done, and, where that may end more, what rows have said and which of them
 * have ended; all NULL where it is not asked. */
struct news {
    int32_t *done, *said, *end_step;
};

static int32_t *download(const struct engine *e, const struct tensor *t)
{
    int32_t *words = xmalloc(tensor_bytes(t) + 1);
    device_download(e->model->device, words, t);
    return words;
}

static struct news ask(struct engine *e)
{
    struct news n = { 0 };

    if (e->work->ctx.buckets && ++e->unasked < ASK_STEPS)
        return n;
    e->unasked = 0;
    n.done = download(e, e->state.done);
    if (e->set.enough) {
        n.said = download(e, e->state.said);
        n.end_step = download(e, e->state.end_step);
    }
    return n;
}

static void release_news(struct news *n)
{
    free(n->done);
    free(n->said);
    free(n->end_step);
}

static bool said_enough(const struct engine *e, const struct active_request *a, const struct news *n, void *arg)
{
    for (int i = 0; i < e->width; i++) {
        int64_t row = (int64_t)a->slot * e->width + i;
        if (n->end_step[row] < 0 && !e->set.enough(arg, a->of, i, n->said + row * e->steps, a->step))
            return false;
    }
    return true;
}

/* Who has said all that it may is done without asking. */
static bool is_done(const struct engine *e, const struct active_request *a, const struct news *n, void *arg)
{
    if (a->step == a->limit)
        return true;
    return a->step && n->done && (n->done[a->slot] || (n->said && said_enough(e, a, n, arg)));
}

/* Those that are done leave. */
static void take_done(struct engine *e, void *arg)
{
    struct news news = ask(e);
    int64_t kept = 0;

    for (int64_t i = 0; i < e->n_active; i++) {
        struct active_request *a = &e->active[i];
        if (!is_done(e, a, &news, arg)) {
            e->active[kept++] = *a;
            continue;
        }
        engine_read_answers(e, a);
        a->of->done = true;
        engine_leave(e, a);
        e->done++;
    }
    e->n_active = kept;
    release_news(&news);
}

static int step(struct engine *e, void *arg, struct error *err)
{
    if (engine_encode(e, err) || engine_start(e, err))
        return -1;
    if (!engine_filled(e))
        return engine_fill(e, err);
    if (engine_decode(e, err))
        return -1;
    take_done(e, arg);
    engine_ask_runs(e);
    return 0;
}

static int64_t admit_all(struct engine *e, struct engine_request **order, int64_t next, int64_t n)
{
    while (next < n && engine_admit(e, order[next]))
        next++;
    if (next < n && !e->n_active) {
        engine_forget_held(e);
        CHECK(engine_admit(e, order[next]), "%lld pages do not hold one request", (long long)e->pages.n);
        next++;
    }
    return next;
}

static void leave_all(struct engine *e)
{
    for (int64_t i = 0; i < e->n_active; i++)
        engine_leave(e, &e->active[i]);
    e->n_active = 0;
    engine_forget_held(e);
}

int engine_run(struct engine *e, struct engine_request *list, int64_t n, void (*after_step)(void *arg), void *arg,
               struct error *err)
{
    int rc = n ? reserve(e, list, n, err) : 0;
    struct engine_request **order = engine_order(list, n);
    int64_t next = 0;

    while (rc == 0 && (next < n || e->n_active)) {
        next = admit_all(e, order, next, n);
        rc = step(e, arg, err);
        if (rc == 0 && after_step)
            after_step(arg);
        if (rc == 0 && e->set.stop && e->set.stop())
            rc = 1;
    }
    leave_all(e);
    free(order);
    return rc;
}

int engine_measure(struct engine *e, struct engine_request *list, int64_t n, size_t *cache, size_t *bytes,
                   struct error *err)
{
    struct engine_room r = room_wanted(e, list, n);
    struct engine_request **order = engine_order(list, n);

    *cache = fit(e, list, n, &r, err);
    if (!*cache || arena_init(&e->host, HEADERS, err)) {
        free(order);
        return -1;
    }
    arena_measure(&e->data);
    lay_out(e, &r);
    init_lists(e, &r);
    admit_all(e, order, 0, n);
    struct workspace_bytes most = engine_decode_bytes(e);
    workspace_raise(&most, engine_fill_bytes(e));
    workspace_raise(&most, engine_encode_bytes(e));
    *bytes = workspace_total(most);
    leave_all(e);
    e->data = (struct arena){ 0 };
    release_memory(e);
    free(order);
    return 0;
}
