#include "models/engine/engine_step.h"

#include "kernels/batch.h"
#include "kernels/paged.h"
#include "models/net/t5.h"

#include <stdlib.h>
#include <string.h>

/* Units of paged attention (paged.h). */
struct unit_list {
    struct paged_unit *items;
    int64_t n, cap;
    int64_t max_queries, max_pages;
};

/* Cache rows of a request: of a prompt token, and of a generated token. */
static int32_t prompt_row(const struct active_request *a, int64_t place)
{
    return a->pages[place / PAGE_KEYS] * PAGE_KEYS + (int32_t)(place % PAGE_KEYS);
}

static int32_t own_row(const struct active_request *a, int64_t row, int64_t place)
{
    int64_t t = place - a->fixed, page = a->prompt_pages + row * a->own + t / PAGE_KEYS;
    return a->pages[page] * PAGE_KEYS + (int32_t)(t % PAGE_KEYS);
}

static int32_t start_state(const struct engine *e, const struct engine_request *r)
{
    if (!r->constraint)
        return STATE_FREE;
    for (int64_t i = 0; i < e->n_tables; i++)
        if (e->tables[i].of == r->constraint)
            return e->tables[i].start;
    CHECK(false, "a constraint that is not of this run");
    return STATE_FREE;
}

static void units_add(struct unit_list *l, struct paged_unit u)
{
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = u;
    l->max_queries = u.queries > l->max_queries ? u.queries : l->max_queries;
    l->max_pages = u.pages > l->max_pages ? u.pages : l->max_pages;
}

/* A plan of units for a decoding step. */
struct unit_plan {
    const struct engine *e;
    struct unit_list whole; /* units before they are cut */
    const int64_t *first;   /* [n_active + 1] the first token of each active request */
};

/* Returns the pages that the token read j behind the newest sees. */
static int64_t pages_of(const struct active_request *a, int64_t j)
{
    return paged_pages(a->fixed + a->step + j + 1);
}

/* Returns whether two requests have the same page of their prompts. */
static bool same_page(const struct active_request *a, const struct active_request *b, int64_t page)
{
    int64_t keys = (page + 1) * PAGE_KEYS;
    return keys <= a->fixed && keys <= b->fixed && a->pages[page] == b->pages[page];
}

/* Returns the end of the active requests from i to `end` that have the same page of their prompts, i if it has none. */
static int64_t shared_end(const struct engine *e, int64_t i, int64_t end, int64_t page)
{
    int64_t k = i;

    while (k < end && same_page(&e->active[i], &e->active[k], page))
        k++;
    return k;
}

/* Adds a unit for each row of a request, from a page that is not the prompt's alone. */
static void add_own(struct unit_plan *p, int64_t i, int64_t page)
{
    const struct active_request *a = &p->e->active[i];

    for (int64_t w = 0; w < p->e->width; w++)
        units_add(&p->whole, (struct paged_unit){ (int32_t)(p->first[i] + w * a->reads), (int32_t)a->reads,
                                                  (int32_t)(a->slot * p->e->width + w), (int32_t)page,
                                                  (int32_t)(pages_of(a, a->reads - 1) - page) });
}

/* Adds the units of active requests [i, end), which have read the same pages before `page`. */
static void add_range(struct unit_plan *p, int64_t i, int64_t end, int64_t page)
{
    int64_t from = page;

    while (shared_end(p->e, i, end, page) == end)
        page++;
    if (page > from)
        units_add(&p->whole, (struct paged_unit){ (int32_t)p->first[i], (int32_t)(p->first[end] - p->first[i]),
                                                  (int32_t)(p->e->active[i].slot * p->e->width), (int32_t)from,
                                                  (int32_t)(page - from) });
    if (end == i + 1) {
        add_own(p, i, page);
        return;
    }
    for (int64_t next; i < end; i = next) {
        next = shared_end(p->e, i, end, page);
        next = next > i ? next : i + 1;
        add_range(p, i, next, page);
    }
}

/* Cuts a unit into units of at most that many queries and pages. */
static void cut_unit(struct unit_list *l, struct paged_unit u, int64_t queries, int64_t pages)
{
    for (int32_t page = 0; page < u.pages; page += (int32_t)pages)
        for (int32_t q = 0; q < u.queries; q += (int32_t)queries) {
            struct paged_unit cut = { u.first + q, u.queries - q, u.row, u.page + page, u.pages - page };
            cut.queries = cut.queries < queries ? cut.queries : (int32_t)queries;
            cut.pages = cut.pages < pages ? cut.pages : (int32_t)pages;
            units_add(l, cut);
        }
}

/* Long units come first, so that short ones fill the gaps at the end. */
static int by_length(const void *x, const void *y)
{
    const struct paged_unit *a = x, *b = y;

    if (a->pages != b->pages)
        return a->pages < b->pages ? 1 : -1;
    return a->first != b->first ? (a->first < b->first ? -1 : 1) : (a->page > b->page) - (a->page < b->page);
}

/* Counts the partial results of each token: one for the pages of its first unit, and one for each page behind. */
static void count_parts(const struct unit_plan *p, const struct unit_list *l, int32_t *parts)
{
    const struct engine *e = p->e;

    for (int64_t i = 0; i < l->n; i++)
        for (int32_t q = 0; l->items[i].page == 0 && q < l->items[i].queries; q++)
            parts[l->items[i].first + q + 1] = l->items[i].pages;
    parts[0] = 0;
    for (int64_t i = 0; i < e->n_active; i++)
        for (int64_t t = p->first[i]; t < p->first[i + 1]; t++) {
            int64_t behind = pages_of(&e->active[i], (t - p->first[i]) % e->active[i].reads) - parts[t + 1];
            parts[t + 1] = parts[t] + (int32_t)(behind > 0 ? behind + 1 : 0);
        }
}

/* Units of a decoding step over all active requests. parts: [tokens + 1]. */
static void decode_units(const struct engine *e, struct unit_list *l, int32_t *parts)
{
    int64_t *first = xcalloc((size_t)e->n_active + 1, sizeof *first), pages = 0;
    struct unit_plan p = { .e = e, .first = first };
    const struct llama_config *llama = &e->model->net.config;
    int heads = e->model->seq2seq ? e->model->t5.config.heads : llama->heads;
    int groups = e->model->seq2seq ? heads : llama->groups;

    for (int64_t i = 0; i < e->n_active; i++)
        first[i + 1] = first[i] + e->active[i].reads * e->width;
    if (e->n_active)
        add_range(&p, 0, e->n_active, 0);
    for (int64_t i = 0; i < p.whole.n; i++)
        pages += p.whole.items[i].pages;
    for (int64_t i = 0; i < p.whole.n; i++)
        cut_unit(l, p.whole.items[i], paged_unit_queries(heads, groups), paged_unit_pages(pages, groups));
    qsort(l->items, (size_t)l->n, sizeof *l->items, by_length);
    count_parts(&p, l, parts);
    free(p.whole.items);
    free(first);
}

/* The sources of those requests in [from, to) that have not started. */
struct source_step {
    struct engine *e;
    int64_t from, to;
    int32_t *ids, *lengths, *rows;
    int64_t n_tokens, n_seqs;
};

static void run_encode(struct ctx *c, void *arg)
{
    struct source_step *s = arg;
    const struct t5 *net = &s->e->model->t5;
    struct t5_tokens source = { .ids = batch_index(c, s->ids, s->n_tokens, net->config.vocab_size),
                                .seqs = batch_seqs(c, s->lengths, s->n_seqs) };

    t5_cache_source(c, net, t5_encode(c, net, &source), &s->e->sources.cache, batch_i32(c, s->rows, s->n_tokens));
}

/* Takes as many sources as fit into a step, at least one. */
static void count_sources(struct source_step *s)
{
    const struct engine *e = s->e;

    s->n_tokens = s->n_seqs = 0;
    for (s->to = s->from; s->to < e->n_active; s->to++) {
        const struct active_request *a = &e->active[s->to];
        if (a->started)
            continue;
        if (s->n_seqs && s->n_tokens + a->of->n_source > e->set.step_tokens)
            break;
        s->n_tokens += a->of->n_source;
        s->n_seqs++;
    }
}

/* All arrays lie in the memory of s->ids, which the caller frees. */
static void lay_out_sources(struct source_step *s)
{
    const struct engine *e = s->e;
    int64_t at = 0, seq = 0;

    s->ids = xmalloc((size_t)(2 * s->n_tokens + s->n_seqs) * sizeof *s->ids);
    s->rows = s->ids + s->n_tokens;
    s->lengths = s->ids + 2 * s->n_tokens;
    for (int64_t i = s->from; i < s->to; i++) {
        const struct active_request *a = &e->active[i];
        if (a->started)
            continue;
        s->lengths[seq++] = (int32_t)a->of->n_source;
        for (int64_t k = 0; k < a->of->n_source; k++, at++) {
            s->ids[at] = a->of->source[k];
            s->rows[at] = (int32_t)(a->slot * tensor_cols(e->sources.table) + k);
        }
    }
}

int engine_encode(struct engine *e, struct error *err)
{
    struct source_step s = { .e = e };
    int rc = 0;

    for (; e->model->seq2seq && rc == 0 && s.from < e->n_active; s.from = s.to) {
        count_sources(&s);
        if (!s.n_seqs)
            continue;
        lay_out_sources(&s);
        e->work->ctx.rows = ROWS_MANY;
        rc = workspace_run(e->work, run_encode, &s, err);
        e->work->ctx.rows = ROWS_BY_NUMBER;
        free(s.ids);
    }
    return rc;
}

struct workspace_bytes engine_encode_bytes(struct engine *e)
{
    struct source_step s = { .e = e };
    struct workspace_bytes most = { 0 };

    for (; e->model->seq2seq && s.from < e->n_active; s.from = s.to) {
        count_sources(&s);
        if (!s.n_seqs)
            continue;
        lay_out_sources(&s);
        workspace_raise(&most, workspace_measure(e->work, run_encode, &s));
        free(s.ids);
    }
    return most;
}

/* *_STEPS: sizes for each power of two, see batch_bucket. */
enum { UNIT_QUERIES = 64, FILL_TOKEN_STEPS = 8, FILL_UNIT_STEPS = 2 };

/* Requests that start, in the arrays of struct decode_start. */
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
    s->state[i] = start_state(s->e, a->of);
    s->key[2 * i] = (int32_t)(uint32_t)a->of->key;
    s->key[2 * i + 1] = (int32_t)(uint32_t)(a->of->key >> 32);
    s->length[i] = (int32_t)a->fixed;
    for (int64_t k = 0; k < s->longest; k++)
        s->rows[i * s->longest + k] = k < a->fixed ? prompt_row(a, k) : 0;
}

/* Counts the requests that start, and finds the longest prompt. */
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

/* Prompt tokens of a prefill step. Sizes include padding. */
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
                           .max_pages = batch_bound(c, s->units.max_pages, FILL_UNIT_STEPS),
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

/* Adds tokens [a->filled, a->filled + n) of a prompt at place `at`. Returns the number of tokens in the step. */
static int64_t lay_out_piece(struct fill_step *s, int64_t at, const struct active_request *a, int64_t n)
{
    int32_t row = (int32_t)(a->slot * s->e->width);

    for (int64_t k = 0; k < n; k += UNIT_QUERIES) {
        int64_t queries = n - k < UNIT_QUERIES ? n - k : UNIT_QUERIES, keys = a->filled + k + queries;
        units_add(&s->units,
                  (struct paged_unit){ (int32_t)(at + k), (int32_t)queries, row, 0, (int32_t)paged_pages(keys) });
    }
    for (int64_t k = 0; k < n; k++, at++) {
        int64_t place = a->filled + k;
        s->ids[at] = a->of->prompt[place];
        s->positions[at] = (int32_t)place;
        s->rows[at] = prompt_row(a, place);
        s->seen[at] = (int32_t)place + 1;
    }
    return at;
}

/* The adapter of the next prefill step: that of the first prompt that is not complete. */
static int fill_adapter(const struct engine *e)
{
    for (int64_t i = 0; i < e->n_active; i++)
        if (e->active[i].filled < e->active[i].fixed)
            return e->active[i].of->adapter;
    return 0;
}

/* Number of tokens of a prompt that fit into a step with that adapter. */
static int64_t piece(const struct active_request *a, int adapter, int64_t room)
{
    int64_t left = a->of->adapter == adapter ? a->fixed - a->filled : 0;
    return left < room ? left : room;
}

/* Number of tokens in a prefill step with that adapter. A prompt stands before those that share its pages. */
static int64_t count_tokens(const struct engine *e, int adapter)
{
    int64_t n = 0;

    for (int64_t i = 0; i < e->n_active; i++)
        n += piece(&e->active[i], adapter, e->set.step_tokens - n);
    return n;
}

static void pad_fill(struct fill_step *s, int64_t at)
{
    for (; at < s->tokens; at++) {
        s->ids[at] = s->positions[at] = s->seen[at] = 0;
        s->rows[at] = -1;
    }
    for (int64_t i = 0; i <= s->tokens; i++)
        s->parts[i] = 0;
    int64_t n = s->e->work->ctx.buckets ? batch_bucket(s->units.n, FILL_UNIT_STEPS) : s->units.n;
    while (s->units.n < n)
        units_add(&s->units, (struct paged_unit){ 0 });
    s->n_units = n;
}

/* All arrays lie in the memory of s->ids. The caller frees them and the units. */
static void lay_out_fill(struct fill_step *s, int64_t tokens)
{
    struct engine *e = s->e;
    int64_t at = 0;

    s->tokens = e->work->ctx.buckets ? batch_bucket(tokens, FILL_TOKEN_STEPS) : tokens;
    s->ids = xmalloc((size_t)(5 * s->tokens + 1) * sizeof *s->ids);
    s->positions = s->ids + s->tokens;
    s->rows = s->ids + 2 * s->tokens;
    s->seen = s->ids + 3 * s->tokens;
    s->parts = s->ids + 4 * s->tokens;
    for (int64_t i = 0; i < e->n_active; i++)
        at = lay_out_piece(s, at, &e->active[i], piece(&e->active[i], s->adapter, e->set.step_tokens - at));
    pad_fill(s, at);
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

/* READS_MAX: tokens that a row reads in a step. TOKENS_MAX: tokens of all rows, unless one per row is more. */
enum { READS_MAX = 16, TOKENS_MAX = 256 };

/* Sizes for each power of two, see batch_bucket. */
enum { REQUEST_STEPS = 8, DECODE_TOKEN_STEPS = 4, DECODE_UNIT_STEPS = 4 };

/* Arrays of a decoding step over n requests, with padding. All lie in the memory of `first`. */
struct decode_words {
    struct engine *e;
    int64_t n, tokens, reads, n_units; /* reads: largest number of tokens that a row reads */
    int32_t *first, *own_reads, *fixed, *place,
        *limit;              /* [n], see decode_step; own_reads: tokens read by each request's rows */
    int32_t *request, *step; /* [reads, n] */
    int32_t *row, *ahead, *positions, *cache_rows, *seen; /* [tokens] */
    int32_t *adapters, *parts;                            /* [tokens], [tokens + 1] */
    struct unit_list units;
    int32_t *source_seen, *source_parts; /* encoder-decoder: [tokens]; [tokens + 1] zeros */
    struct unit_list source_units;       /* one for each request */
};

/* The tensors of all sampling steps that follow one forward. */
static struct decode_step steps_of(struct ctx *c, const struct decode_words *s)
{
    bool several = s->reads > 1;

    return (struct decode_step){ .request = batch_i32(c, s->request, s->reads * s->n),
                                 .step = batch_i32(c, s->step, s->reads * s->n),
                                 .fixed = batch_i32(c, s->fixed, s->n),
                                 .place = batch_i32(c, s->place, s->n),
                                 .limit = batch_i32(c, s->limit, s->n),
                                 .first = several ? batch_i32(c, s->first, s->n) : NULL,
                                 .reads = several ? batch_i32(c, s->own_reads, s->n) : NULL };
}

static struct paged paged_of(struct ctx *c, const struct decode_words *s)
{
    return (struct paged){ .table = s->e->state.table,
                           .seen = batch_i32(c, s->seen, s->tokens),
                           .units = batch_i32(c, (const int32_t *)s->units.items, s->n_units * PAGED_WORDS),
                           .parts = batch_i32(c, s->parts, s->tokens + 1),
                           .n_units = s->n_units,
                           .n_parts = batch_bound(c, s->parts[s->tokens], DECODE_UNIT_STEPS),
                           .max_queries = batch_bound(c, s->units.max_queries, 1),
                           .max_pages = batch_bound(c, s->units.max_pages, 1),
                           .whole = s->parts[s->tokens] == 0 && s->seen[s->tokens - 1] > 0 };
}

static struct paged source_paged_of(struct ctx *c, const struct decode_words *s)
{
    return (struct paged){ .table = s->e->sources.table,
                           .seen = batch_i32(c, s->source_seen, s->tokens),
                           .units = batch_i32(c, (const int32_t *)s->source_units.items, s->n * PAGED_WORDS),
                           .parts = batch_i32(c, s->source_parts, s->tokens + 1),
                           .n_units = s->n,
                           .max_queries = batch_bound(c, s->source_units.max_queries, 1),
                           .max_pages = batch_bound(c, s->source_units.max_pages, 1),
                           .whole = s->source_seen[s->tokens - 1] > 0 };
}

static const struct automaton *bound_by(const struct engine *e)
{
    return e->n_tables ? &e->automaton : NULL;
}

static struct tensor *llama_logits(struct ctx *c, const struct decode_words *s, const struct decode_read *read,
                                   struct index tokens)
{
    struct engine *e = s->e;
    const struct llama *net = &e->model->net;
    struct paged paged = paged_of(c, s);
    struct llama_input in = {
        .tokens = tokens, .positions = read->place, .paged = &paged, .cache = &e->cache, .cache_rows = read->cache_row
    };

    c->adapter_of = e->model->n_others ? batch_i32(c, s->adapters, s->tokens) : NULL;
    struct tensor *logits =
        op_linear_logits(c, llama_forward(c, net, &in), net->head.w, &net->head.lora, net->config.logit_cap);
    c->adapter_of = NULL;
    return logits;
}

static struct tensor *t5_logits(struct ctx *c, const struct decode_words *s, const struct decode_read *read,
                                struct index tokens)
{
    struct engine *e = s->e;
    const struct t5 *net = &e->model->t5;
    struct paged paged = paged_of(c, s), source = source_paged_of(c, s);
    struct t5_step in = { .tokens = tokens,
                          .paged = &paged,
                          .source_paged = &source,
                          .cache = &e->cache,
                          .source_cache = &e->sources.cache,
                          .cache_rows = read->cache_row };

    return op_linear_logits(c, t5_decode_step(c, net, &in), net->head, NULL, 0);
}

/* F32 [tokens, vocab]: logits of the token after each. */
static struct tensor *next_logits(struct ctx *c, const struct decode_words *s)
{
    struct engine *e = s->e;
    struct decode_read read = { .row = batch_i32(c, s->row, s->tokens),
                                .ahead = batch_i32(c, s->ahead, s->tokens),
                                .place = batch_i32(c, s->positions, s->tokens),
                                .cache_row = batch_i32(c, s->cache_rows, s->tokens) };
    struct index tokens = { .ids = op_next_tokens(c, &e->state, &read, bound_by(e)), .n = s->tokens };

    return (e->model->seq2seq ? t5_logits : llama_logits)(c, s, &read, tokens);
}

/* Each row generates one token. */
static void sample(struct ctx *c, struct engine *e, const struct decode_step *step, struct tensor *logits)
{
    const struct automaton *bound = bound_by(e);

    if (e->set.keep) {
        struct candidates best = op_candidates(c, &e->state, step, logits, bound, e->set.keep, NORMALISE_FULL);
        op_keep_candidates(c, &e->state, step, &best);
    }
    if (e->set.beams > 1) {
        int k = beam_candidates(e->width, tensor_size(e->set.beam.stops));
        struct candidates best = op_candidates(c, &e->state, step, logits, bound, k, e->set.normalise);
        op_beam_step(c, &e->state, step, &best, &e->set.beam);
    } else {
        op_draw(c, &e->state, step, logits, bound, &e->set.draw);
    }
}

/* A step_fn. */
static void run_decode(struct ctx *c, void *arg)
{
    struct decode_words *s = arg;
    struct engine *e = s->e;
    struct decode_step all = steps_of(c, s), step = all;

    ctx_note(c, (int64_t)e->tag);
    ctx_note(c, s->reads);
    ctx_note(c, e->model->n_others);
    ctx_note(c, e->set.one_by_one); /* not in the tag, since completions do not depend on it */
    struct tensor *logits = next_logits(c, s);
    for (step.ahead = 0; step.ahead < s->reads; step.ahead++) {
        struct tensor request = tensor_view(all.request, step.ahead * s->n, s->n);
        struct tensor number = tensor_view(all.step, step.ahead * s->n, s->n);
        step.request = &request;
        step.step = &number;
        sample(c, e, &step, logits);
    }
    if (bound_by(e) && !e->set.one_by_one) {
        struct tensor request = tensor_view(all.request, 0, s->n);
        op_forced_runs(c, &e->state, &request, bound_by(e), e->set.beams > 1, READS_MAX - 1);
    }
}

/* Plans the number of tokens that each request's rows read, at most TOKENS_MAX together. */
static void plan_reads(struct engine *e)
{
    int64_t room = TOKENS_MAX - e->n_active * e->width;

    for (int64_t i = 0; i < e->n_active; i++) {
        struct active_request *a = &e->active[i];
        int64_t left = a->limit - a->step - 1, more = a->run < left ? a->run : left;
        more = more * e->width <= room ? more : room > 0 ? room / e->width : 0;
        a->reads = 1 + more;
        room -= more * e->width;
    }
}

/* Adds the tokens of a request's rows from place `at` on. Returns the place after them. */
static int64_t lay_out_tokens(struct decode_words *s, int64_t at, const struct active_request *a)
{
    for (int64_t t = 0; t < s->e->width * a->reads; t++, at++) {
        int64_t row = t / a->reads, ahead = t % a->reads, place = a->fixed + a->step + ahead;
        s->row[at] = (int32_t)(a->slot * s->e->width + row);
        s->ahead[at] = (int32_t)ahead;
        s->positions[at] = (int32_t)place;
        s->cache_rows[at] = own_row(a, row, place);
        s->seen[at] = (int32_t)place + 1;
        s->adapters[at] = a->of->adapter;
    }
    return at;
}

static void lay_out_request(struct decode_words *s, int64_t i, int64_t first, const struct active_request *a)
{
    s->first[i] = (int32_t)first;
    s->own_reads[i] = (int32_t)a->reads;
    s->fixed[i] = (int32_t)a->fixed;
    s->place[i] = (int32_t)(a->fixed + a->step + a->reads - 1);
    s->limit[i] = (int32_t)a->limit;
    for (int64_t j = 0; j < s->reads; j++) {
        s->request[j * s->n + i] = j < a->reads ? a->slot : -1;
        s->step[j * s->n + i] = (int32_t)(a->step + j);
    }
}

static void pad_decode(struct decode_words *s, int64_t from, int64_t token)
{
    for (int64_t i = from; i < s->n; i++) {
        s->first[i] = s->fixed[i] = s->place[i] = 0;
        s->limit[i] = s->own_reads[i] = 1;
        for (int64_t j = 0; j < s->reads; j++) {
            s->request[j * s->n + i] = -1;
            s->step[j * s->n + i] = 0;
        }
    }
    for (int64_t t = token; t < s->tokens; t++) {
        s->row[t] = s->cache_rows[t] = -1;
        s->ahead[t] = s->positions[t] = s->seen[t] = s->adapters[t] = 0;
        s->parts[t + 1] = s->parts[t];
    }
}

/* Sizes of the step, padded to sizes that recur if graphs are captured. */
static void count_words(struct decode_words *s)
{
    const struct engine *e = s->e;
    bool buckets = e->work->ctx.buckets;
    int64_t tokens = 0;

    s->reads = 1;
    for (int64_t i = 0; i < e->n_active; i++) {
        tokens += e->active[i].reads * e->width;
        s->reads = e->active[i].reads > s->reads ? e->active[i].reads : s->reads;
    }
    s->n = buckets ? batch_bucket(e->n_active, REQUEST_STEPS) : e->n_active;
    s->reads = buckets ? batch_bucket(s->reads, 1) : s->reads;
    s->tokens = s->reads == 1 ? s->n * e->width : buckets ? batch_bucket(tokens, DECODE_TOKEN_STEPS) : tokens;
}

static void take_words(struct decode_words *s)
{
    int32_t **const by_request[] = { &s->first, &s->own_reads, &s->fixed, &s->place, &s->limit };
    int32_t **const by_token[] = {
        &s->row, &s->ahead, &s->positions, &s->cache_rows, &s->seen, &s->adapters, &s->parts
    };
    int64_t words = (ARRAY_LEN(by_request) + 2 * s->reads) * s->n + ARRAY_LEN(by_token) * s->tokens + 1;
    int32_t *at = xmalloc((size_t)words * sizeof *at);

    for (int i = 0; i < ARRAY_LEN(by_request); i++, at += s->n)
        *by_request[i] = at;
    s->request = at;
    s->step = at + s->reads * s->n;
    at += 2 * s->reads * s->n;
    for (int i = 0; i < ARRAY_LEN(by_token); i++, at += s->tokens)
        *by_token[i] = at;
}

/* All rows of a request attend to its whole source. */
static void lay_out_source_units(struct decode_words *s)
{
    struct engine *e = s->e;
    int64_t at = 0;

    s->source_seen = xcalloc((size_t)(2 * s->tokens + 1), sizeof *s->source_seen);
    s->source_parts = s->source_seen + s->tokens;
    for (int64_t i = 0; i < e->n_active; i++) {
        const struct active_request *a = &e->active[i];
        int64_t queries = e->width * a->reads, pages = paged_pages(a->of->n_source);
        units_add(&s->source_units, (struct paged_unit){ (int32_t)at, (int32_t)queries, a->slot, 0, (int32_t)pages });
        for (int64_t end = at + queries; at < end; at++)
            s->source_seen[at] = (int32_t)a->of->n_source;
    }
    while (s->source_units.n < s->n)
        units_add(&s->source_units, (struct paged_unit){ 0 });
}

/* All arrays lie in the memory of s->first. The caller frees them and the units. */
static void lay_out_decode(struct decode_words *s)
{
    struct engine *e = s->e;
    int64_t token = 0;

    plan_reads(e);
    count_words(s);
    take_words(s);
    for (int64_t i = 0; i < e->n_active; i++) {
        lay_out_request(s, i, token, &e->active[i]);
        token = lay_out_tokens(s, token, &e->active[i]);
    }
    decode_units(e, &s->units, s->parts);
    pad_decode(s, e->n_active, token);
    s->n_units = e->work->ctx.buckets ? batch_bucket(s->units.n, DECODE_UNIT_STEPS) : s->units.n;
    while (s->units.n < s->n_units)
        units_add(&s->units, (struct paged_unit){ 0 });
    if (e->model->seq2seq)
        lay_out_source_units(s);
}

static void release_decode(struct decode_words *s)
{
    free(s->first);
    free(s->units.items);
    free(s->source_seen);
    free(s->source_units.items);
}

int engine_decode(struct engine *e, struct error *err)
{
    struct decode_words s = { .e = e };

    lay_out_decode(&s);
    e->work->ctx.rows = ROWS_FEW;
    int rc = workspace_step(e->work, run_decode, &s, err);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    for (int64_t i = 0; i < e->n_active && rc == 0; i++)
        e->active[i].step += e->active[i].reads;
    release_decode(&s);
    return rc;
}

void engine_ask_runs(struct engine *e)
{
    if (!bound_by(e) || e->set.one_by_one || !e->n_active)
        return;
    int32_t *run = xmalloc(tensor_bytes(e->state.run));
    device_download(e->model->device, run, e->state.run);
    for (int64_t i = 0; i < e->n_active; i++)
        e->active[i].run = run[e->active[i].slot];
    free(run);
}

struct workspace_bytes engine_decode_bytes(struct engine *e)
{
    struct decode_words s = { .e = e };

    for (int64_t i = 0; i < e->n_active && !e->set.one_by_one; i++)
        e->active[i].run = e->active[i].of->constraint ? READS_MAX - 1 : 0;
    lay_out_decode(&s);
    e->work->ctx.rows = ROWS_FEW;
    struct workspace_bytes bytes = workspace_measure(e->work, run_decode, &s);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    release_decode(&s);
    return bytes;
}
