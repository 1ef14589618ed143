#include "models/lm/llama_generate.h"

#include "data/util/log.h"
#include "kernels/batch.h"
#include "kernels/rng.h"
#include "models/lm/sample.h"

#include <stdlib.h>
#include <string.h>

/* STEPS: sizes of a batch for each power of two, see batch_bucket. */
enum { HEADERS = 1 << 20, TOKEN_STEPS = 8, KEY_STEPS = 4 };

/* A sequence that is in the batch. */
struct active_sequence {
    struct generation *of;
    int64_t start, rows, held; /* its stretch of the cache, and how much of it is filled */
    int64_t room;              /* tokens it may still say */
    int32_t last;              /* the newest token, which the next step reads */
};

void generator_init(struct generator *g, struct llama_model *model, struct workspace *work,
                    const struct generate_settings *set)
{
    *g = (struct generator){ .model = model, .work = work, .set = *set };
    g->active = xcalloc((size_t)set->batch, sizeof *g->active);
}

static void release_cache(struct generator *g)
{
    arena_release(&g->cache_host);
    if (g->cache_data.base)
        device_arena_release(g->model->device, &g->cache_data);
    g->cache = (struct llama_cache){ 0 };
}

void generator_release(struct generator *g)
{
    release_cache(g);
    free(g->active);
    *g = (struct generator){ 0 };
}

/* New tokens that fit behind the prompt. */
static int64_t room_of(const struct generator *g, const struct generation *s)
{
    int64_t left = g->model->net.config.max_positions - s->n_prompt;
    return left < g->set.max_new ? left : g->set.max_new;
}

/* The last token said is never read, so it needs no row. */
static int64_t rows_of(const struct generator *g, const struct generation *s)
{
    return s->n_prompt + room_of(g, s) - 1;
}

/* Enough for the longest sequence `batch` times, or for all. */
static int64_t rows_wanted(const struct generator *g, const struct generation *list, int64_t n)
{
    int64_t longest = 1, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t rows = rows_of(g, &list[i]);
        longest = rows > longest ? rows : longest;
        sum += rows;
    }
    return sum > longest * g->set.batch ? longest * g->set.batch : sum;
}

/*
 * Half of what the device has free is for the cache; a batch that needs more is halved.  That is told, and happens to
 * no other batch, because bf16 rounds in another way in other company: free memory must not choose the words unseen.
 */
static int64_t rows_that_fit(struct generator *g, const struct generation *list, int64_t n)
{
    const struct llama_model *m = g->model;
    size_t each = llama_cache_bytes(&m->net.config, m->dtype, 1), most = m->device->free_memory / 2 / each;
    int64_t rows = rows_wanted(g, list, n), asked = g->set.batch, wanted = rows;

    for (; most && (size_t)rows > most && g->set.batch > 1; rows = rows_wanted(g, list, n))
        g->set.batch /= 2;
    if (g->set.batch < asked)
        log_warn("keys and values of %lld texts at once need %zu MiB, %s has %zu MiB free: %lld at once",
                 (long long)asked, (size_t)wanted * each >> 20, m->device->description, m->device->free_memory >> 20,
                 (long long)g->set.batch);
    return rows;
}

static int reserve_cache(struct generator *g, int64_t rows, struct error *err)
{
    const struct llama_model *m = g->model;

    if (rows <= g->cache.rows)
        return 0;
    release_cache(g);
    if (arena_init(&g->cache_host, HEADERS, err) ||
        device_arena(m->device, &g->cache_data, llama_cache_bytes(&m->net.config, m->dtype, rows), err))
        return error_prefix(err, "keys and values of %lld tokens", (long long)rows);
    llama_cache_init(&g->cache, &m->net.config, m->dtype, rows, &g->cache_host, &g->cache_data);
    return 0;
}

/* The first gap of that many rows; active sequences are in the order of their start.  -1: there is none. */
static int64_t find_gap(const struct generator *g, int64_t rows, int *place)
{
    int64_t at = 0;

    for (int i = 0; i <= g->n_active; i++) {
        int64_t end = i < g->n_active ? g->active[i].start : g->cache.rows;
        if (end - at >= rows) {
            *place = i;
            return at;
        }
        if (i < g->n_active)
            at = g->active[i].start + g->active[i].rows;
    }
    return -1;
}

static bool admit(struct generator *g, struct generation *s)
{
    int64_t rows = rows_of(g, s), start;
    int place = 0;

    if (g->n_active == g->set.batch || (start = find_gap(g, rows, &place)) < 0)
        return false;
    memmove(&g->active[place + 1], &g->active[place], (size_t)(g->n_active - place) * sizeof *g->active);
    g->active[place] = (struct active_sequence){ .of = s, .start = start, .rows = rows, .room = room_of(g, s) };
    g->n_active++;
    return true;
}

/* What one step reads, and what it finds; sizes with what it is padded by. */
struct generate_step {
    struct generator *g;
    int64_t tokens, n; /* n: sequences */
    int32_t *ids, *positions, *rows, *length, *key_start, *key_len, *last;
    struct tensor *found;
};

/* Tokens of a sequence that the step reads: its prompt at first, then its newest one. */
static int64_t reads(const struct active_sequence *a)
{
    return a->held ? 1 : a->of->n_prompt;
}

static int64_t lay_out(struct generate_step *s)
{
    int64_t at = 0;

    for (int i = 0; i < s->g->n_active; i++) {
        const struct active_sequence *a = &s->g->active[i];
        int64_t n = reads(a);
        for (int64_t k = 0; k < n; k++) {
            s->ids[at + k] = a->held ? a->last : a->of->prompt[k];
            s->positions[at + k] = (int32_t)(a->held + k);
            s->rows[at + k] = (int32_t)(a->start + a->held + k);
        }
        s->length[i] = (int32_t)n;
        s->key_start[i] = (int32_t)a->start;
        s->key_len[i] = (int32_t)(a->held + n);
        at += n;
        s->last[i] = (int32_t)(at - 1);
    }
    return at;
}

/* The sequence that reads most. */
static int longest_read(const struct generator *g)
{
    int most = 0;

    for (int i = 1; i < g->n_active; i++)
        if (reads(&g->active[i]) > reads(&g->active[most]))
            most = i;
    return most;
}

/* Tokens behind all others that leave nothing in the cache and see the first keys of the longest read; sequences that
 * none is left for are empty. */
static void lay_out_padding(struct generate_step *s, int64_t at)
{
    int host = longest_read(s->g);

    for (int64_t i = s->g->n_active; i < s->n; i++) {
        int64_t left = s->tokens - at, n = left < s->length[host] ? left : s->length[host];
        for (int64_t k = 0; k < n; k++, at++) {
            s->ids[at] = s->positions[at] = 0;
            s->rows[at] = -1;
        }
        s->length[i] = s->key_len[i] = (int32_t)n;
        s->key_start[i] = s->key_start[host];
        s->last[i] = (int32_t)(s->tokens - 1);
    }
}

static int64_t longest_keys(const struct generate_step *s)
{
    int64_t most = 0;
    for (int i = 0; i < s->g->n_active; i++)
        most = s->key_len[i] > most ? s->key_len[i] : most;
    return most;
}

/* A step_fn: the likeliest token of each sequence, or the logits to draw from. */
static void run_step(struct ctx *c, void *arg)
{
    struct generate_step *s = arg;
    struct generator *g = s->g;
    const struct llama *net = &g->model->net;
    int64_t n = s->n;
    struct llama_input in = { .tokens = batch_index(c, s->ids, s->tokens, net->config.vocab_size),
                              .positions = batch_i32(c, s->positions, s->tokens),
                              .causal = { .qs = batch_seqs(c, s->length, n),
                                          .key_start = batch_i32(c, s->key_start, n),
                                          .key_len = batch_i32(c, s->key_len, n),
                                          .max_keys = batch_bound(c, longest_keys(s), KEY_STEPS) },
                              .cache = &g->cache,
                              .cache_rows = batch_i32(c, s->rows, s->tokens) };
    struct index last = batch_index(c, s->last, n, s->tokens);

    in.rows = &last;
    ctx_note(c, (int64_t)(intptr_t)g->cache_data.base);
    struct tensor *logits = op_linear_logits(c, llama_forward(c, net, &in), net->head.w, &net->head.lora);
    s->found = g->set.temperature > 0 ? logits : op_argmax(c, logits);
}

static void draw(struct generate_step *s, int32_t *next)
{
    struct generator *g = s->g;
    int64_t vocab = tensor_cols(s->found);
    struct tensor active = tensor_view(s->found, 0, g->n_active);
    float *logits = xmalloc(tensor_bytes(&active));

    device_download(g->model->device, logits, &active);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < g->n_active; i++) {
        const struct generation *of = g->active[i].of;
        struct rng rng = { g->set.seed ^ hash_bytes(HASH_START, &of->key, sizeof of->key), (uint64_t)of->out.count };
        next[i] = sample_token(logits + i * vocab, vocab, g->set.temperature, g->set.top_p, rng_uniform(&rng));
    }
    free(logits);
}

static bool stops(const struct generator *g, int32_t id)
{
    const struct llama_config *config = &g->model->net.config;

    for (int i = 0; i < config->n_stops; i++)
        if (config->stops[i] == id)
            return true;
    return g->model->chat.template && id == chat_end(&g->model->chat);
}

/* Takes a sequence's next token; true when it has come to its end. */
static bool take(struct generator *g, struct active_sequence *a, int32_t id)
{
    a->held += reads(a);
    a->last = id;
    g->tokens++;
    if (stops(g, id)) {
        a->of->end = GENERATION_STOP;
        return true;
    }
    ids_push(&a->of->out, id);
    a->of->end = GENERATION_LENGTH;
    return --a->room == 0;
}

static void take_all(struct generator *g, const int32_t *next)
{
    int kept = 0;

    for (int i = 0; i < g->n_active; i++) {
        if (take(g, &g->active[i], next[i]))
            g->done++;
        else
            g->active[kept++] = g->active[i];
    }
    g->n_active = kept;
}

static int64_t step_tokens(const struct generator *g)
{
    int64_t n = 0;
    for (int i = 0; i < g->n_active; i++)
        n += reads(&g->active[i]);
    return n;
}

/* How large the step is. */
static void size_step(struct generate_step *s)
{
    int64_t n = s->g->n_active, tokens = step_tokens(s->g), longest = reads(&s->g->active[longest_read(s->g)]);

    s->tokens = tokens;
    s->n = n;
    if (!s->g->work->ctx.buckets)
        return;
    s->tokens = batch_bucket(tokens, TOKEN_STEPS);
    s->n = batch_bucket(n + (s->tokens - tokens + longest - 1) / longest, TOKEN_STEPS);
}

/* The words of a step over what is active; the caller frees s->ids, in whose memory all of them lie, behind them room
 * for a word a sequence. */
static void prepare(struct generate_step *s, struct generator *g)
{
    *s = (struct generate_step){ .g = g };
    size_step(s);
    int32_t *words = xmalloc((size_t)(3 * s->tokens + 5 * s->n) * sizeof *words);
    s->ids = words;
    s->positions = words + s->tokens;
    s->rows = words + 2 * s->tokens;
    s->length = words + 3 * s->tokens;
    s->key_start = s->length + s->n;
    s->key_len = s->length + 2 * s->n;
    s->last = s->length + 3 * s->n;
    lay_out_padding(s, lay_out(s));
}

static int step(struct generator *g, struct error *err)
{
    struct generate_step s;

    prepare(&s, g);
    int32_t *next = s.last + s.n;
    int rc = workspace_step(g->work, run_step, &s, err);
    if (rc == 0) {
        if (g->set.temperature > 0)
            draw(&s, next);
        else
            device_download(g->model->device, next, s.found);
        take_all(g, next);
    }
    free(s.ids);
    return rc;
}

/* Those that the next step can take; returns how many of the list are then under way or done. */
static int64_t admit_next(struct generator *g, struct generation *list, int64_t next, int64_t n)
{
    while (next < n && (g->n_active == 0 || step_tokens(g) + list[next].n_prompt <= g->set.step_tokens) &&
           admit(g, &list[next]))
        next++;
    return next;
}

int generator_measure(struct generator *g, struct generation *list, int64_t n, size_t *cache, size_t *bytes,
                      struct error *err)
{
    const struct llama_model *m = g->model;
    int64_t rows = rows_that_fit(g, list, n);
    struct generate_step s;
    struct arena data;

    if (arena_init(&g->cache_host, HEADERS, err))
        return -1;
    arena_measure(&data);
    llama_cache_init(&g->cache, &m->net.config, m->dtype, rows, &g->cache_host, &data);
    g->n_active = 0;
    admit_next(g, list, 0, n);
    prepare(&s, g);
    *cache = llama_cache_bytes(&m->net.config, m->dtype, rows);
    *bytes = workspace_total(workspace_measure(g->work, run_step, &s));
    free(s.ids);
    g->n_active = 0;
    release_cache(g);
    return 0;
}

int generator_run(struct generator *g, struct generation *list, int64_t n, void (*after_step)(void *arg), void *arg,
                  struct error *err)
{
    int64_t next = 0;
    int rc = reserve_cache(g, rows_that_fit(g, list, n), err);

    g->n_active = 0;
    while (rc == 0 && (next < n || g->n_active)) {
        next = admit_next(g, list, next, n);
        rc = step(g, err);
        if (rc == 0 && after_step)
            after_step(arg);
        if (rc == 0 && g->set.stop && g->set.stop())
            rc = 1;
    }
    return rc;
}
