#include "models/engine/engine.h"

#include "data/base/log.h"
#include "models/engine/engine_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tables one after another, while they are copied. */
struct joined {
    int32_t *first, *token, *next;
    int64_t n_states, n_edges;
};

int engine_stops(const struct llama_model *m, int32_t stops[ENGINE_MAX_STOPS])
{
    int n = m->seq2seq ? m->t5.config.n_stops : m->net.config.n_stops;

    memcpy(stops, m->seq2seq ? m->t5.config.stops : m->net.config.stops, (size_t)n * sizeof *stops);
    if (m->chat.template)
        stops[n++] = chat_end(&m->chat);
    return n;
}

/* A table has one element of `first` more than it has states. */
static void measure_table(struct engine *e, struct joined *j, const struct automaton_host *a)
{
    for (int64_t i = 0; i < e->n_tables; i++)
        if (e->tables[i].of == a)
            return;
    GROW(e->tables, e->n_tables, e->cap_tables);
    e->tables[e->n_tables++] = (struct engine_table){ a, (int32_t)j->n_states };
    j->n_states += a->n_states + 1;
    j->n_edges += a->n_edges;
}

static void join_table(struct joined *j, const struct automaton_host *a)
{
    int32_t states = (int32_t)j->n_states, edges = (int32_t)j->n_edges;

    for (int32_t i = 0; i <= a->n_states; i++)
        j->first[states + i] = edges + a->first[i];
    for (int32_t i = 0; i < a->n_edges; i++) {
        j->token[edges + i] = a->token[i];
        j->next[edges + i] = a->next[i] == STATE_FREE ? STATE_FREE : states + a->next[i];
    }
    j->n_states += a->n_states + 1;
    j->n_edges += a->n_edges;
}

static struct tensor *column(struct engine *e, int64_t n)
{
    return tensor_alloc(&e->table_host, &e->table_data, I32, 1, &n);
}

static void lay_out_tables(struct engine *e, const struct joined *j)
{
    e->automaton = (struct automaton){ column(e, j->n_states), column(e, j->n_edges), column(e, j->n_edges) };
}

static int upload_tables(struct engine *e, const struct joined *size, struct error *err)
{
    struct joined j = { 0 };
    size_t bytes = (size_t)(size->n_states + 2 * size->n_edges) * sizeof(int32_t) + (size_t)3 * ARENA_ALIGN;

    if (arena_init(&e->table_host, 4096, err) || device_arena(e->model->device, &e->table_data, bytes, err))
        return error_prefix(err, "constraints of %lld tokens", (long long)size->n_edges);
    lay_out_tables(e, size);
    j.first = xmalloc(bytes);
    j.token = j.first + size->n_states;
    j.next = j.token + size->n_edges;
    for (int64_t i = 0; i < e->n_tables; i++)
        join_table(&j, e->tables[i].of);
    device_upload(e->model->device, e->automaton.first, j.first);
    device_upload(e->model->device, e->automaton.token, j.token);
    device_upload(e->model->device, e->automaton.next, j.next);
    free(j.first);
    return 0;
}

static void release_tables(struct engine *e)
{
    arena_release(&e->table_host);
    if (e->table_data.base)
        device_arena_release(e->model->device, &e->table_data);
    free(e->tables);
    e->tables = NULL;
    e->n_tables = e->cap_tables = 0;
}

/* Copies the automata of all requests to the device, before a run. */
static int load_tables(struct engine *e, const struct engine_request *list, int64_t n, struct error *err)
{
    struct joined size = { 0 };

    release_tables(e);
    for (int64_t i = 0; i < n; i++)
        if (list[i].constraint && (!i || list[i].constraint != list[i - 1].constraint))
            measure_table(e, &size, list[i].constraint);
    if (size.n_states > INT32_MAX || size.n_edges > INT32_MAX)
        return error_set(err, EXIT_CODE_MEMORY, "constraints of %lld tokens: expected at most %d",
                         (long long)size.n_edges, INT32_MAX);
    return e->n_tables ? upload_tables(e, &size, err) : 0;
}

static int64_t pages_for(int64_t keys)
{
    return (keys + PAGE_KEYS - 1) / PAGE_KEYS;
}

/* Maximum number of tokens that a request generates. */
static int64_t limit_of(const struct engine *e, const struct engine_request *r)
{
    int64_t left = (e->model->seq2seq ? INT32_MAX : e->model->net.config.max_positions) - r->n_prompt;
    return left < e->set.max_new ? left : e->set.max_new;
}

/* Number of pages of a request that shares none. */
static int64_t pages_of(const struct engine *e, const struct engine_request *r)
{
    return pages_for(r->n_prompt - 1) + e->width * pages_for(limit_of(e, r));
}

/* Number of tokens whose keys two requests share. */
static int64_t shared_length(const struct engine_request *a, const struct engine_request *b)
{
    int64_t n = a->n_prompt < b->n_prompt ? a->n_prompt : b->n_prompt, i = 0;

    if (a->adapter != b->adapter)
        return 0;
    while (i < n && a->prompt[i] == b->prompt[i])
        i++;
    return i;
}

/* A request, and the first request in the list among those that it shares pages with. */
struct place {
    struct engine_request *of, *first;
};

/* Orders by adapter and tokens, then as in the list. */
static int compare_tokens(const void *x, const void *y)
{
    const struct engine_request *a = ((const struct place *)x)->of, *b = ((const struct place *)y)->of;
    int64_t i = shared_length(a, b);

    if (a->adapter != b->adapter)
        return a->adapter < b->adapter ? -1 : 1;
    if (i < a->n_prompt && i < b->n_prompt)
        return a->prompt[i] < b->prompt[i] ? -1 : 1;
    if (a->n_prompt != b->n_prompt)
        return a->n_prompt < b->n_prompt ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Orders by adapter, then by the first request of each group that shares pages. */
static int compare_places(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->of->adapter != b->of->adapter)
        return a->of->adapter < b->of->adapter ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return compare_tokens(x, y);
}

/* Finds the first request of each group. Neighbours in a group share at least one page. */
static void find_first(struct place *places, int64_t n)
{
    for (int64_t from = 0, end; from < n; from = end) {
        struct engine_request *first = places[from].of;
        for (end = from + 1; end < n && shared_length(places[end - 1].of, places[end].of) >= PAGE_KEYS; end++)
            first = places[end].of < first ? places[end].of : first;
        for (int64_t i = from; i < end; i++)
            places[i].first = first;
    }
}

/* Returns the order of admission. Requests of one adapter that share pages follow one another, at the place of the
 * first of them. The caller frees the array. */
static struct engine_request **admission_order(struct engine_request *list, int64_t n)
{
    struct engine_request **order = xcalloc((size_t)n + 1, sizeof *order);
    struct place *places = xcalloc((size_t)n + 1, sizeof *places);

    for (int64_t i = 0; i < n; i++)
        places[i].of = &list[i];
    qsort(places, (size_t)n, sizeof *places, compare_tokens);
    find_first(places, n);
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t i = 0; i < n; i++)
        order[i] = places[i].of;
    free(places);
    return order;
}

/* Releases the cached prefix. */
static void drop_prefix(struct engine *e)
{
    struct engine_prefix *h = &e->prefix;

    pages_drop(&e->pages, h->pages, h->n);
    free(h->pages);
    *h = (struct engine_prefix){ 0 };
}

/* Keeps the whole pages of a's prompt as the cached prefix for the next request. */
static void keep_prefix(struct engine *e, const struct active_request *a)
{
    int64_t n = a->fixed / PAGE_KEYS;
    int32_t *pages = xmalloc((size_t)(n + 1) * sizeof *pages);

    memcpy(pages, a->pages, (size_t)n * sizeof *pages);
    pages_hold(&e->pages, pages, n);
    drop_prefix(e);
    e->prefix = (struct engine_prefix){ a->of, pages, n };
}

/* Number of whole pages of the cached prefix that r can use. */
static int64_t pages_shared(const struct engine *e, const struct engine_request *r)
{
    if (!e->prefix.of)
        return 0;
    int64_t same = shared_length(e->prefix.of, r), n = (same < r->n_prompt - 1 ? same : r->n_prompt - 1) / PAGE_KEYS;
    return n < e->prefix.n ? n : e->prefix.n;
}

/* Takes the pages of r, the first of them shared. NULL if too few are free. */
static int32_t *take_pages(struct engine *e, int64_t shared, int64_t n)
{
    int32_t *pages = xmalloc((size_t)n * sizeof *pages);

    if (!pages_take(&e->pages, pages + shared, n - shared)) {
        free(pages);
        return NULL;
    }
    if (shared)
        memcpy(pages, e->prefix.pages, (size_t)shared * sizeof *pages);
    pages_hold(&e->pages, pages, shared);
    return pages;
}

/* Gives a request a slot and pages. false: too few are free. */
static bool admit(struct engine *e, struct engine_request *r)
{
    struct active_request a = { .of = r,
                                .fixed = r->n_prompt - 1,
                                .prompt_pages = pages_for(r->n_prompt - 1),
                                .own = pages_for(limit_of(e, r)),
                                .n_pages = pages_of(e, r),
                                .limit = limit_of(e, r) };
    int64_t shared = pages_shared(e, r);

    if (!e->n_slots || !(a.pages = take_pages(e, shared, a.n_pages)))
        return false;
    a.slot = e->slots[--e->n_slots];
    a.filled = shared * PAGE_KEYS;
    e->active[e->n_active++] = a;
    keep_prefix(e, &a);
    return true;
}

static void leave(struct engine *e, struct active_request *a)
{
    pages_drop(&e->pages, a->pages, a->n_pages);
    free(a->pages);
    e->slots[e->n_slots++] = a->slot;
    a->of = NULL;
}

/* The rows of a request, in host memory. */
struct request_rows {
    int64_t width, steps, keep;
    int32_t *said, *parent, *best_id; /* best_id: [width, steps, keep]; the others: [width, steps] */
    float *logp, *best_logp;
    int32_t *end_step, *end_row, *end_token, *end_stop; /* [width] */
    float *end_logp, *end_score;
};

/* Downloads a request's rows of a state tensor. The caller frees them. */
static void *download_rows(const struct engine *e, const struct active_request *a, struct tensor *t)
{
    struct tensor rows = tensor_view(t, a->slot * e->width, e->width);
    void *host = xmalloc(tensor_bytes(&rows) + 1);

    device_download(e->model->device, host, &rows);
    return host;
}

static struct request_rows read_rows(const struct engine *e, const struct active_request *a)
{
    const struct decode_state *s = &e->state;

    return (struct request_rows){ .width = e->width,
                                  .steps = e->steps,
                                  .keep = e->set.keep,
                                  .said = download_rows(e, a, s->said),
                                  .parent = download_rows(e, a, s->parent),
                                  .logp = download_rows(e, a, s->logp),
                                  .best_id = s->best_id ? download_rows(e, a, s->best_id) : NULL,
                                  .best_logp = s->best_logp ? download_rows(e, a, s->best_logp) : NULL,
                                  .end_step = download_rows(e, a, s->end_step),
                                  .end_row = download_rows(e, a, s->end_row),
                                  .end_token = download_rows(e, a, s->end_token),
                                  .end_stop = download_rows(e, a, s->end_stop),
                                  .end_logp = download_rows(e, a, s->end_logp),
                                  .end_score = download_rows(e, a, s->end_score) };
}

static void release_rows(struct request_rows *s)
{
    void *const all[] = { s->said,    s->parent,    s->logp,     s->best_id,  s->best_logp, s->end_step,
                          s->end_row, s->end_token, s->end_stop, s->end_logp, s->end_score };
    for (int i = 0; i < ARRAY_LEN(all); i++)
        free(all[i]);
}

static void keep_best(struct engine_completion *a, const struct request_rows *s, int64_t row, int64_t step)
{
    size_t at = (size_t)((row * s->steps + step) * s->keep), n = (size_t)s->keep;

    memcpy(a->best + step * s->keep, s->best_id + at, n * sizeof *a->best);
    memcpy(a->best_logp + step * s->keep, s->best_logp + at, n * sizeof *a->best_logp);
}

/* Reads the completion that ended in a slot, from its last token to its first. */
static void read_answer(struct engine_completion *a, const struct request_rows *s, int64_t slot)
{
    int64_t last = s->end_step[slot], row = s->end_row[slot], n = last + (s->end_stop[slot] == 0);

    *a = (struct engine_completion){ .last = s->end_token[slot],
                                     .stopped = s->end_stop[slot] != 0,
                                     .score = (double)s->end_score[slot],
                                     .logp = (double)s->end_logp[slot],
                                     .steps = last + 1,
                                     .step_logp = xcalloc((size_t)last + 1, sizeof *a->step_logp) };
    a->step_logp[last] = s->end_logp[slot];
    if (s->keep) {
        a->best = xcalloc((size_t)(a->steps * s->keep), sizeof *a->best);
        a->best_logp = xcalloc((size_t)(a->steps * s->keep), sizeof *a->best_logp);
        keep_best(a, s, row, last);
    }
    for (int64_t i = 0; i < n; i++)
        ids_push(&a->out, s->end_token[slot]);
    for (int64_t t = last - 1; t >= 0; t--) {
        a->out.items[t] = s->said[row * s->steps + t];
        a->logp += (double)(a->step_logp[t] = s->logp[row * s->steps + t]);
        row = s->parent[row * s->steps + t];
        if (s->keep)
            keep_best(a, s, row, t);
    }
}

/* Rows that `enough` ended stop after their newest token. */
static void end_rows(struct request_rows *s, int64_t step)
{
    for (int64_t i = 0; i < s->width; i++)
        if (s->end_step[i] < 0) {
            s->end_step[i] = (int32_t)step - 1;
            s->end_row[i] = (int32_t)i;
            s->end_token[i] = s->said[i * s->steps + step - 1];
            s->end_logp[i] = s->logp[i * s->steps + step - 1];
            s->end_stop[i] = 0;
        }
}

/* Reads the completions of a request that is done. */
static void read_answers(struct engine *e, struct active_request *a)
{
    struct request_rows s = read_rows(e, a);
    struct engine_request *r = a->of;

    if (e->set.enough)
        end_rows(&s, a->step);
    r->n_answers = 0;
    for (int64_t i = 0; i < s.width && r->n_answers < e->set.answers; i++)
        if (s.end_step[i] >= 0) {
            read_answer(&r->answers[r->n_answers], &s, i);
            e->tokens += r->answers[r->n_answers++].steps;
        }
    release_rows(&s);
}

void engine_completion_release(struct engine_completion *a)
{
    ids_release(&a->out);
    free(a->step_logp);
    free(a->best);
    free(a->best_logp);
    *a = (struct engine_completion){ 0 };
}

/* ASK_STEPS: the host asks the device every so many steps which requests are done. */
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
    release_tables(e);
    *e = (struct engine){ 0 };
}

/* Sizes of a run. */
struct engine_room {
    int64_t requests, pages, keys, steps, source; /* source: tokens of the longest source */
};

/* Sizes for `batch` requests as large as the largest, or for all requests. */
static struct engine_room room_wanted(const struct engine *e, const struct engine_request *list, int64_t n)
{
    struct engine_room r = { .requests = n < e->set.batch ? n : e->set.batch };
    int64_t most = 0, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t limit = limit_of(e, &list[i]), pages = pages_of(e, &list[i]);
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

/* Allocates all tensors that stay on the device between steps. */
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

/* Chooses the batch. The cache may take half of the device's free memory. A larger batch is halved, with a warning.
 * Completions do not depend on the batch. */
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
        log_warn("the cache of %lld requests needs %zu MiB, but %s has %zu MiB free: batch reduced to %lld",
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

    release_memory(e); /* first, since measuring reuses the arenas */
    size_t bytes = fit(e, list, n, &r, err);
    if (!bytes || arena_init(&e->host, HEADERS, err) || device_arena(e->model->device, &e->data, bytes, err))
        return error_prefix(err, "cache of %lld requests with %d rows of up to %lld tokens each", (long long)r.requests,
                            e->width, (long long)r.steps);
    if (load_tables(e, list, n, err))
        return -1;
    lay_out(e, &r);
    upload_constants(e);
    init_lists(e, &r);
    return 0;
}

/* Progress of the requests, from the device. said and end_step are only read if `enough` may end rows. All are NULL
 * in a step that does not ask. */
struct downloads {
    int32_t *done, *said, *end_step;
};

static int32_t *download(const struct engine *e, const struct tensor *t)
{
    int32_t *words = xmalloc(tensor_bytes(t) + 1);
    device_download(e->model->device, words, t);
    return words;
}

static struct downloads download_progress(struct engine *e)
{
    struct downloads n = { 0 };

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

static void release_downloads(struct downloads *n)
{
    free(n->done);
    free(n->said);
    free(n->end_step);
}

static bool suffices(const struct engine *e, const struct active_request *a, const struct downloads *n, void *arg)
{
    for (int i = 0; i < e->width; i++) {
        int64_t row = (int64_t)a->slot * e->width + i;
        if (n->end_step[row] < 0 && !e->set.enough(arg, a->of, i, n->said + row * e->steps, a->step))
            return false;
    }
    return true;
}

/* A request at its limit is done without asking the device. */
static bool is_done(const struct engine *e, const struct active_request *a, const struct downloads *n, void *arg)
{
    if (a->step == a->limit)
        return true;
    return a->step && n->done && (n->done[a->slot] || (n->said && suffices(e, a, n, arg)));
}

/* Reads the completions of requests that are done, and removes them. */
static void take_done(struct engine *e, void *arg)
{
    struct downloads d = download_progress(e);
    int64_t kept = 0;

    for (int64_t i = 0; i < e->n_active; i++) {
        struct active_request *a = &e->active[i];
        if (!is_done(e, a, &d, arg)) {
            e->active[kept++] = *a;
            continue;
        }
        read_answers(e, a);
        a->of->done = true;
        leave(e, a);
        e->done++;
    }
    e->n_active = kept;
    release_downloads(&d);
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
    while (next < n && admit(e, order[next]))
        next++;
    if (next < n && !e->n_active) {
        drop_prefix(e);
        CHECK(admit(e, order[next]), "%lld pages do not hold one request", (long long)e->pages.n);
        next++;
    }
    return next;
}

static void leave_all(struct engine *e)
{
    for (int64_t i = 0; i < e->n_active; i++)
        leave(e, &e->active[i]);
    e->n_active = 0;
    drop_prefix(e);
}

int engine_run(struct engine *e, struct engine_request *list, int64_t n, void (*after_step)(void *arg), void *arg,
               struct error *err)
{
    int rc = n ? reserve(e, list, n, err) : 0;
    struct engine_request **order = admission_order(list, n);
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
    struct engine_request **order = admission_order(list, n);

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
