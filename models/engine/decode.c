/* Part of engine.h: a step of decoding, which reads a token a row, and those behind it that follow without a choice. */
#include "models/engine/engine_impl.h"

#include <stdlib.h>
#include <string.h>

/* Tokens that a row reads at once, and all rows together where one a row is not more. */
enum { READS_MAX = 16, TOKENS_MAX = 256 };
/* Sizes of a batch for each power of two, see batch_bucket. */
enum { REQUEST_STEPS = 8, TOKEN_STEPS = 4, UNIT_STEPS = 4 };

/* Of n requests and their rows' tokens, with padding; words lie one after another in `first`. */
struct decode_words {
    struct engine *e;
    int64_t n, tokens, reads, n_units;                    /* reads: of the request that has most */
    int32_t *first, *own_reads, *fixed, *place, *limit;   /* [n], see decode_step; reads of each */
    int32_t *request, *step;                              /* [reads, n] */
    int32_t *row, *ahead, *positions, *cache_rows, *seen; /* [tokens] */
    int32_t *adapters, *parts;                            /* [tokens], [tokens + 1] */
    struct unit_list units;
    int32_t *source_seen, *source_parts; /* of an encoder-decoder: [tokens], [tokens + 1] zeros */
    struct unit_list source_units;       /* one for each request */
};

/* The tensors of all steps that follow one another on what a pass has read. */
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
                           .n_parts = batch_bound(c, s->parts[s->tokens], UNIT_STEPS),
                           .max_queries = batch_bound(c, s->units.max_queries, 1),
                           .max_chunks = 1,
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
                           .max_chunks = batch_bound(c, s->source_units.max_chunks, 1),
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

/* F32 [tokens, vocab]: of the token behind each. */
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

/* Each row says one token more. */
static void say(struct ctx *c, struct engine *e, const struct decode_step *step, struct tensor *logits)
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
    ctx_note(c, e->set.one_by_one); /* no runs are looked for: not so in the tag, since answers are the same */
    struct tensor *logits = next_logits(c, s);
    for (step.ahead = 0; step.ahead < s->reads; step.ahead++) {
        struct tensor request = tensor_view(all.request, step.ahead * s->n, s->n);
        struct tensor number = tensor_view(all.step, step.ahead * s->n, s->n);
        step.request = &request;
        step.step = &number;
        say(c, e, &step, logits);
    }
    if (bound_by(e) && !e->set.one_by_one) {
        struct tensor request = tensor_view(all.request, 0, s->n);
        op_forced_runs(c, &e->state, &request, bound_by(e), e->set.beams > 1, READS_MAX - 1);
    }
}

/* How many tokens the rows of each request read: with all of them together no more than a step has room for. */
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

/* The tokens of a request's rows, from token `at` on; returns the first behind them. */
static int64_t lay_out_tokens(struct decode_words *s, int64_t at, const struct active_request *a)
{
    for (int64_t t = 0; t < s->e->width * a->reads; t++, at++) {
        int64_t row = t / a->reads, ahead = t % a->reads, place = a->fixed + a->step + ahead;
        s->row[at] = (int32_t)(a->slot * s->e->width + row);
        s->ahead[at] = (int32_t)ahead;
        s->positions[at] = (int32_t)place;
        s->cache_rows[at] = engine_own_row(a, row, place);
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

static void pad(struct decode_words *s, int64_t from, int64_t token)
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

/* How much there is to lay out, padded where steps are to come again. */
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
    s->tokens = s->reads == 1 ? s->n * e->width : buckets ? batch_bucket(tokens, TOKEN_STEPS) : tokens;
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

/* Each request's rows read its source, whole. */
static void lay_out_sources(struct decode_words *s)
{
    struct engine *e = s->e;
    int64_t at = 0;

    s->source_seen = xcalloc((size_t)(2 * s->tokens + 1), sizeof *s->source_seen);
    s->source_parts = s->source_seen + s->tokens;
    for (int64_t i = 0; i < e->n_active; i++) {
        const struct active_request *a = &e->active[i];
        int64_t queries = e->width * a->reads, chunks = (a->of->n_source + CHUNK_KEYS - 1) / CHUNK_KEYS;
        units_add(&s->source_units,
                  (struct paged_unit){ (int32_t)at, (int32_t)queries, a->slot, 0, (int32_t)chunks, 0 });
        for (int64_t end = at + queries; at < end; at++)
            s->source_seen[at] = (int32_t)a->of->n_source;
    }
    while (s->source_units.n < s->n)
        units_add(&s->source_units, (struct paged_unit){ 0 });
}

/* The caller frees s->first, in whose memory all words lie, and the units. */
static void lay_out(struct decode_words *s)
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
    engine_decode_units(e, &s->units, s->parts);
    pad(s, e->n_active, token);
    s->n_units = e->work->ctx.buckets ? batch_bucket(s->units.n, UNIT_STEPS) : s->units.n;
    while (s->units.n < s->n_units)
        units_add(&s->units, (struct paged_unit){ 0 });
    if (e->model->seq2seq)
        lay_out_sources(s);
}

static void release(struct decode_words *s)
{
    free(s->first);
    free(s->units.items);
    free(s->source_seen);
    free(s->source_units.items);
}

int engine_decode(struct engine *e, struct error *err)
{
    struct decode_words s = { .e = e };

    lay_out(&s);
    e->work->ctx.rows = ROWS_FEW;
    int rc = workspace_step(e->work, run_decode, &s, err);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    for (int64_t i = 0; i < e->n_active && rc == 0; i++)
        e->active[i].step += e->active[i].reads;
    release(&s);
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
    lay_out(&s);
    e->work->ctx.rows = ROWS_FEW;
    struct workspace_bytes bytes = workspace_measure(e->work, run_decode, &s);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    release(&s);
    return bytes;
}
