/* Part of engine.h: what came is told to the device, and the tokens of prompts are read into the cache. */
#include "models/engine/engine_impl.h"

#include <stdlib.h>

/* STEPS: sizes of a batch for each power of two, see batch_bucket. */
enum { UNIT_QUERIES = 64, TOKEN_STEPS = 8, UNIT_STEPS = 2 };

/* Requests that begin, as decode_start has them. */
struct start_step {
    struct engine *e;
    int64_t n, longest;
    int32_t *request, *token, *state, *key, *length, *rows;
};

static struct tensor *matrix(struct ctx *c, const int32_t *x, int64_t rows, int64_t cols)
{
    return op_reshape(c, batch_i32(c, x, rows * cols), 2, (int64_t[]){ rows, cols });
}

static void run_start(struct ctx *c, void *arg)
{
    struct start_step *s = arg;
    struct decode_start start = { .request = batch_i32(c, s->request, s->n),
                                  .token = batch_i32(c, s->token, s->n),
                                  .state = batch_i32(c, s->state, s->n),
                                  .key = matrix(c, s->key, s->n, 2),
                                  .length = batch_i32(c, s->length, s->n),
                                  .rows = matrix(c, s->rows, s->n, s->longest) };

    op_decode_start(c, &s->e->state, &start, s->e->set.beams > 1);
}

static void lay_out_start(struct start_step *s, int64_t i, const struct active_request *a)
{
    s->request[i] = a->slot;
    s->token[i] = a->of->prompt[a->fixed];
    s->state[i] = engine_start_state(s->e, a->of);
    s->key[2 * i] = (int32_t)(uint32_t)a->of->key;
    s->key[2 * i + 1] = (int32_t)(uint32_t)(a->of->key >> 32);
    s->length[i] = (int32_t)a->fixed;
    for (int64_t k = 0; k < s->longest; k++)
        s->rows[i * s->longest + k] = k < a->fixed ? engine_prompt_row(a, k) : 0;
}

/* How many begin, and the longest of them. */
static void size_start(struct start_step *s)
{
    s->longest = 1;
    for (int64_t i = 0; i < s->e->n_active; i++) {
        const struct active_request *a = &s->e->active[i];
        if (a->started)
            continue;
        s->n++;
        s->longest = a->fixed > s->longest ? a->fixed : s->longest;
    }
}

int engine_start(struct engine *e, struct error *err)
{
    struct start_step s = { .e = e };

    size_start(&s);
    if (!s.n)
        return 0;
    int32_t *words = xmalloc((size_t)(s.n * (6 + s.longest)) * sizeof *words);
    int64_t at = 0;
    s.request = words;
    s.token = words + s.n;
    s.state = words + 2 * s.n;
    s.length = words + 3 * s.n;
    s.key = words + 4 * s.n;
    s.rows = words + 6 * s.n;
    for (int64_t i = 0; i < e->n_active; i++) {
        if (e->active[i].started)
            continue;
        lay_out_start(&s, at++, &e->active[i]);
        e->active[i].started = true;
    }
    int rc = workspace_run(e->work, run_start, &s, err);
    free(words);
    return rc;
}

/* Tokens of prompts; sizes with what they are padded by. */
struct fill_step {
    struct engine *e;
    int adapter;
    int64_t tokens, n_units;
    int32_t *ids, *positions, *rows, *seen, *parts;
    struct unit_list units;
};

static void run_fill(struct ctx *c, void *arg)
{
    struct fill_step *s = arg;
    const struct llama *net = llama_model_net(s->e->model, s->adapter);
    struct paged paged = { .table = s->e->state.table,
                           .seen = batch_i32(c, s->seen, s->tokens),
                           .units = batch_i32(c, (const int32_t *)s->units.items, s->n_units * PAGED_WORDS),
                           .parts = batch_i32(c, s->parts, s->tokens + 1),
                           .n_units = s->n_units,
                           .max_queries = batch_bound(c, s->units.max_queries, 1),
                           .max_chunks = batch_bound(c, s->units.max_chunks, UNIT_STEPS),
                           .whole = s->seen[s->tokens - 1] > 0 };
    struct llama_input in = { .tokens = batch_index(c, s->ids, s->tokens, net->config.vocab_size),
                              .positions = batch_i32(c, s->positions, s->tokens),
                              .paged = &paged,
                              .fill = true,
                              .cache = &s->e->cache,
                              .cache_rows = batch_i32(c, s->rows, s->tokens) };

    ctx_note(c, (int64_t)s->e->tag);
    ctx_note(c, s->adapter);
    llama_forward(c, net, &in);
}

/* Tokens [a->filled, a->filled + n) of a prompt; returns how many tokens the step then has. */
static int64_t lay_out_piece(struct fill_step *s, int64_t at, const struct active_request *a, int64_t n)
{
    int32_t row = (int32_t)(a->slot * s->e->width);

    for (int64_t k = 0; k < n; k += UNIT_QUERIES) {
        int64_t queries = n - k < UNIT_QUERIES ? n - k : UNIT_QUERIES, keys = a->filled + k + queries;
        units_add(&s->units, (struct paged_unit){ (int32_t)(at + k), (int32_t)queries, row, 0,
                                                  (int32_t)((keys + CHUNK_KEYS - 1) / CHUNK_KEYS), 0 });
    }
    for (int64_t k = 0; k < n; k++, at++) {
        int64_t place = a->filled + k;
        s->ids[at] = a->of->prompt[place];
        s->positions[at] = (int32_t)place;
        s->rows[at] = engine_prompt_row(a, place);
        s->seen[at] = (int32_t)place + 1;
    }
    return at;
}

/* The adapter of the step: that of the first prompt which is not read. */
static int fill_adapter(const struct engine *e)
{
    for (int64_t i = 0; i < e->n_active; i++)
        if (e->active[i].filled < e->active[i].fixed)
            return e->active[i].of->adapter;
    return 0;
}

/* What of a prompt a step with that adapter can still take. */
static int64_t piece(const struct active_request *a, int adapter, int64_t room)
{
    int64_t left = a->of->adapter == adapter ? a->fixed - a->filled : 0;
    return left < room ? left : room;
}

/* Tokens that a step with that adapter takes of those in active; a prompt's come before those of who shares its pages.
 */
static int64_t count_tokens(const struct engine *e, int adapter)
{
    int64_t n = 0;

    for (int64_t i = 0; i < e->n_active; i++)
        n += piece(&e->active[i], adapter, e->set.step_tokens - n);
    return n;
}

static void pad(struct fill_step *s, int64_t at)
{
    for (; at < s->tokens; at++) {
        s->ids[at] = s->positions[at] = s->seen[at] = 0;
        s->rows[at] = -1;
    }
    for (int64_t i = 0; i <= s->tokens; i++)
        s->parts[i] = 0;
    int64_t n = s->e->work->ctx.buckets ? batch_bucket(s->units.n, UNIT_STEPS) : s->units.n;
    while (s->units.n < n)
        units_add(&s->units, (struct paged_unit){ 0 });
    s->n_units = n;
}

/* The caller frees s->ids, in whose memory all words lie, and the units. */
static void lay_out_fill(struct fill_step *s, int64_t tokens)
{
    struct engine *e = s->e;
    int64_t at = 0;

    s->tokens = e->work->ctx.buckets ? batch_bucket(tokens, TOKEN_STEPS) : tokens;
    s->ids = xmalloc((size_t)(5 * s->tokens + 1) * sizeof *s->ids);
    s->positions = s->ids + s->tokens;
    s->rows = s->ids + 2 * s->tokens;
    s->seen = s->ids + 3 * s->tokens;
    s->parts = s->ids + 4 * s->tokens;
    for (int64_t i = 0; i < e->n_active; i++)
        at = lay_out_piece(s, at, &e->active[i], piece(&e->active[i], s->adapter, e->set.step_tokens - at));
    pad(s, at);
}

bool engine_filled(const struct engine *e)
{
    return count_tokens(e, fill_adapter(e)) == 0;
}

static void take_pieces(struct engine *e, int adapter)
{
    int64_t room = e->set.step_tokens;

    for (int64_t i = 0; i < e->n_active; i++) {
        int64_t n = piece(&e->active[i], adapter, room);
        e->active[i].filled += n;
        room -= n;
    }
}

static void release_fill(struct fill_step *s)
{
    free(s->ids);
    free(s->units.items);
}

int engine_fill(struct engine *e, struct error *err)
{
    struct fill_step s = { .e = e, .adapter = fill_adapter(e) };

    lay_out_fill(&s, count_tokens(e, s.adapter));
    e->work->ctx.rows = ROWS_MANY;
    int rc = workspace_step(e->work, run_fill, &s, err);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    take_pieces(e, s.adapter);
    release_fill(&s);
    return rc;
}

static struct workspace_bytes fill_bytes(struct engine *e, int adapter)
{
    struct fill_step s = { .e = e, .adapter = adapter };
    struct workspace_bytes bytes = { 0 };
    int64_t tokens = count_tokens(e, adapter);

    if (!tokens)
        return bytes;
    lay_out_fill(&s, tokens);
    e->work->ctx.rows = ROWS_MANY;
    bytes = workspace_measure(e->work, run_fill, &s);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    release_fill(&s);
    return bytes;
}

struct workspace_bytes engine_fill_bytes(struct engine *e)
{
    struct workspace_bytes most = { 0 };

    for (int adapter = 0; adapter <= e->model->n_others; adapter++)
        workspace_raise(&most, fill_bytes(e, adapter));
    return most;
}
