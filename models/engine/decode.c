/* Part of engine.h: a step of decoding, which reads one token a row. */
#include "models/engine/engine_impl.h"

#include <stdlib.h>
#include <string.h>

enum { REQUEST_STEPS = 8, UNIT_STEPS = 4 };

/* Of n requests, with padding; words lie one after another in `request`. */
struct decode_words {
    struct engine *e;
    int64_t n, rows, n_units;
    int32_t *request, *step, *fixed, *place, *limit; /* [n] */
    int32_t *positions, *cache_rows, *seen, *parts;  /* [rows], parts [rows + 1] */
    struct unit_list units;
};

static struct decode_step step_of(struct ctx *c, const struct decode_words *s)
{
    return (struct decode_step){ .request = batch_i32(c, s->request, s->n),
                                 .step = batch_i32(c, s->step, s->n),
                                 .fixed = batch_i32(c, s->fixed, s->n),
                                 .place = batch_i32(c, s->place, s->n),
                                 .limit = batch_i32(c, s->limit, s->n) };
}

static struct paged paged_of(struct ctx *c, const struct decode_words *s)
{
    return (struct paged){ .table = s->e->state.table,
                           .seen = batch_i32(c, s->seen, s->rows),
                           .units = batch_i32(c, (const int32_t *)s->units.items, s->n_units * PAGED_WORDS),
                           .parts = batch_i32(c, s->parts, s->rows + 1),
                           .n_units = s->n_units,
                           .n_parts = batch_bound(c, s->parts[s->rows], UNIT_STEPS),
                           .max_queries = batch_bound(c, s->units.max_queries, 1),
                           .max_chunks = 1,
                           .whole = s->parts[s->rows] == 0 && s->n == s->e->n_active };
}

/* F32 [rows, vocab]: of each row's next token. */
static struct tensor *next_logits(struct ctx *c, const struct decode_words *s, const struct decode_step *step)
{
    struct engine *e = s->e;
    const struct llama *net = &e->model->net;
    struct tensor *cache_rows = batch_i32(c, s->cache_rows, s->rows);
    struct paged paged = paged_of(c, s);
    struct llama_input in = {
        .positions = batch_i32(c, s->positions, s->rows), .paged = &paged, .cache = &e->cache, .cache_rows = cache_rows
    };

    in.tokens = (struct index){ .ids = op_next_tokens(c, &e->state, step, cache_rows), .n = s->rows };
    return op_linear_logits(c, llama_forward(c, net, &in), net->head.w, &net->head.lora);
}

/* A step_fn. */
static void run_decode(struct ctx *c, void *arg)
{
    struct decode_words *s = arg;
    struct engine *e = s->e;
    struct decode_step step = step_of(c, s);
    const struct automaton *bound = e->n_tables ? &e->automaton : NULL;

    ctx_note(c, (int64_t)e->tag);
    struct tensor *logits = next_logits(c, s, &step);
    if (e->set.keep) {
        struct candidates best = op_candidates(c, &e->state, &step, logits, bound, e->set.keep, NORMALISE_FULL);
        op_keep_candidates(c, &e->state, &step, &best);
    }
    if (e->set.beams > 1) {
        int k = beam_candidates(e->width, tensor_size(e->set.beam.stops));
        struct candidates best = op_candidates(c, &e->state, &step, logits, bound, k, e->set.normalise);
        op_beam_step(c, &e->state, &step, &best, &e->set.beam);
    } else {
        op_draw(c, &e->state, &step, logits, bound, &e->set.draw);
    }
}

static void lay_out_request(struct decode_words *s, int64_t i, const struct active_request *a)
{
    int64_t width = s->e->width, place = a->fixed + a->step;

    s->request[i] = a->slot;
    s->step[i] = (int32_t)a->step;
    s->fixed[i] = (int32_t)a->fixed;
    s->place[i] = (int32_t)place;
    s->limit[i] = (int32_t)a->limit;
    for (int64_t w = 0; w < width; w++) {
        s->positions[i * width + w] = (int32_t)place;
        s->cache_rows[i * width + w] = engine_own_row(a, w, place);
        s->seen[i * width + w] = (int32_t)place + 1;
    }
}

static void pad(struct decode_words *s, int64_t from)
{
    int64_t width = s->e->width;

    for (int64_t i = from; i < s->n; i++) {
        s->request[i] = -1;
        s->step[i] = s->fixed[i] = s->place[i] = 0;
        s->limit[i] = 1;
    }
    for (int64_t i = from * width; i < s->rows; i++) {
        s->positions[i] = s->seen[i] = 0;
        s->cache_rows[i] = -1;
        s->parts[i + 1] = s->parts[i];
    }
}

/* The caller frees s->request, in whose memory all words lie, and the units. */
static void lay_out(struct decode_words *s)
{
    struct engine *e = s->e;
    bool buckets = e->work->ctx.buckets;

    s->n = buckets ? batch_bucket(e->n_active, REQUEST_STEPS) : e->n_active;
    s->rows = s->n * e->width;
    s->request = xmalloc((size_t)(5 * s->n + 4 * s->rows + 1) * sizeof *s->request);
    s->step = s->request + s->n;
    s->fixed = s->request + 2 * s->n;
    s->place = s->request + 3 * s->n;
    s->limit = s->request + 4 * s->n;
    s->positions = s->request + 5 * s->n;
    s->cache_rows = s->positions + s->rows;
    s->seen = s->positions + 2 * s->rows;
    s->parts = s->positions + 3 * s->rows;
    for (int64_t i = 0; i < e->n_active; i++)
        lay_out_request(s, i, &e->active[i]);
    engine_decode_units(e, &s->units, s->parts);
    pad(s, e->n_active);
    s->n_units = buckets ? batch_bucket(s->units.n, UNIT_STEPS) : s->units.n;
    while (s->units.n < s->n_units)
        units_add(&s->units, (struct paged_unit){ 0 });
}

static void release(struct decode_words *s)
{
    free(s->request);
    free(s->units.items);
}

int engine_decode(struct engine *e, struct error *err)
{
    struct decode_words s = { .e = e };

    lay_out(&s);
    e->work->ctx.rows = ROWS_FEW;
    int rc = workspace_step(e->work, run_decode, &s, err);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    for (int64_t i = 0; i < e->n_active && rc == 0; i++)
        e->active[i].step++;
    release(&s);
    return rc;
}

struct workspace_bytes engine_decode_bytes(struct engine *e)
{
    struct decode_words s = { .e = e };

    lay_out(&s);
    e->work->ctx.rows = ROWS_FEW;
    struct workspace_bytes bytes = workspace_measure(e->work, run_decode, &s);
    e->work->ctx.rows = ROWS_BY_NUMBER;
    release(&s);
    return bytes;
}
