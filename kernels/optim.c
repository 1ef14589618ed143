#include "kernels/optim.h"

#include <stdlib.h>
#include <string.h>

enum { STATE_HEADER = (sizeof(struct tensor) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN };

/* Shards: the part of the states that each rank keeps. */

/* Returns the number of chunks of UPDATE_CHUNK that n elements need. */
static int64_t chunks_for(int64_t n)
{
    return (n + UPDATE_CHUNK - 1) / UPDATE_CHUNK;
}

/* Returns [n + 1]: the chunks of all preceding parameters with a gradient. */
static int64_t *count_chunks(const struct params *p)
{
    int64_t *chunks = xcalloc((size_t)p->n + 1, sizeof *chunks);

    for (int i = 0; i < p->n; i++)
        chunks[i + 1] = chunks[i] + (p->list[i].t->grad ? chunks_for(tensor_size(p->list[i].t)) : 0);
    return chunks;
}

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static struct update_share share_of(const int64_t *chunks, const struct params *p, int param, int rank, int ranks)
{
    int64_t first = chunks[param], n = tensor_size(p->list[param].t), all = chunks[p->n];
    int64_t from = all * rank / ranks, end = all * (rank + 1) / ranks, some = chunks[param + 1] - first;

    if (p->list[param].optimizer == OPTIMIZER_ADAFACTOR)
        return (struct update_share){ 0, first >= from && first < end && some ? n : 0 };
    from = between(from - first, 0, some) * UPDATE_CHUNK;
    return (struct update_share){ between(from, 0, n), between(between(end - first, 0, some) * UPDATE_CHUNK, 0, n) };
}

struct update_share optim_share(const struct optim *o, const struct params *p, int param, int rank)
{
    return share_of(o->chunks, p, param, rank, o->ranks);
}

/* Returns the number of elements of the k-th state in a shard, or -1 if there is no such state. */
static int64_t state_numbers(const struct param *p, int k, struct update_share s)
{
    int64_t shape[TENSOR_MAX_DIMS];
    int ndim = param_state_shape(p, k, shape);

    if (ndim < 0)
        return -1;
    if (ndim == p->t->ndim || s.end == s.first)
        return s.end - s.first;
    return shape[0];
}

static bool is_trained(const struct param *p)
{
    return p->t->grad && p->optimizer != OPTIMIZER_NONE;
}

size_t optim_share_bytes(const struct params *p, int rank, int ranks)
{
    size_t bytes = 0;

    if (ranks < 2)
        return 0;
    int64_t *chunks = count_chunks(p);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < PARAM_STATES && is_trained(&p->list[i]); k++) {
            int64_t n = state_numbers(&p->list[i], k, share_of(chunks, p, i, rank, ranks));
            bytes += n > 0 ? ((size_t)n * sizeof(float) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN : 0;
        }
    free(chunks);
    return bytes;
}

/* Allocates the states of this rank in the arenas of o, which have enough memory. */
static void take_share(struct optim *o, struct params *p)
{
    o->chunks = count_chunks(p);
    for (int i = 0; i < p->n; i++) {
        struct param *q = &p->list[i];
        if (!is_trained(q))
            continue;
        CHECK(!q->state[0], "%s has all of its state", q->name);
        struct update_share s = optim_share(o, p, i, o->rank);
        q->first = s.first;
        q->end = s.end;
        for (int k = PARAM_STATES - 1; k >= 0; k--) {
            int64_t n = state_numbers(q, k, s);
            if (n >= 0)
                q->state[k] = tensor_alloc(&o->host, &o->data, F32, 1, &n);
        }
    }
}

/* The table of updates, and the step. */

enum { RULES_BYTES = 2 * ARENA_ALIGN + (int)sizeof(struct moment_maps) };

/* Returns the table of n rows that starts at `block`. */
static struct update_table table_at(void *block, int n)
{
    struct update_table t = { .rules = block };

    t.rows = (struct update_row *)(void *)((char *)block + RULES_BYTES);
    t.first = (int32_t *)(void *)(t.rows + n);
    return t;
}

static size_t table_bytes(int n)
{
    _Static_assert(sizeof(struct update_rules) <= RULES_BYTES, "rows begin behind the rules");
    return RULES_BYTES + (size_t)n * sizeof(struct update_row) + (size_t)(n + 1) * sizeof(int32_t);
}

/* AdamW has one update rule for both formats of its moments. */
static enum optimizer rule_of(const struct param *p)
{
    return p->optimizer == OPTIMIZER_ADAMW_BYTES ? OPTIMIZER_ADAMW : p->optimizer;
}

/* Returns the number of parameters with a gradient, and sets their common optimizer. */
static int count_trained(struct optim *o, const struct params *p)
{
    int n = 0;

    o->optimizer = OPTIMIZER_ADAMW;
    for (int i = 0; i < p->n; i++) {
        if (!p->list[i].t->grad)
            continue;
        CHECK(n == 0 || rule_of(&p->list[i]) == o->optimizer, "%s has another optimizer", p->list[i].name);
        o->optimizer = rule_of(&p->list[i]);
        n++;
    }
    return n;
}

int optim_init(struct optim *o, struct device *d, struct params *p, struct error *err)
{
    enum { HEADERS = 1024 };
    int n = count_trained(o, p);
    size_t bytes = table_bytes(n), states = optim_share_bytes(p, o->rank, o->ranks);
    size_t headers = HEADERS + (o->ranks > 1 ? (size_t)n * PARAM_STATES * STATE_HEADER : 0);

    if (arena_init(&o->host, headers + bytes, err) || device_arena(d, &o->data, HEADERS + bytes + states, err)) {
        arena_release(&o->host);
        return -1;
    }
    if (o->ranks > 1)
        take_share(o, p);
    o->lr = tensor_alloc(&o->host, &o->data, F32, 1, (int64_t[]){ 1 });
    o->norm = tensor_alloc(&o->host, &o->data, F32, 1, (int64_t[]){ 1 });
    o->rows = n;
    o->table = table_at(arena_alloc(&o->data, bytes), n);
    o->uploaded = table_at(memset(arena_alloc(&o->host, bytes), 0, bytes), n);
    return 0;
}

void optim_release(struct optim *o, struct device *d)
{
    arena_release(&o->host);
    device_arena_release(d, &o->data);
    free(o->chunks);
    o->chunks = NULL;
}

static float *data_of(const struct tensor *t)
{
    return t ? t->data : NULL;
}

static struct update_row row_of(const struct optim *o, const struct param *p)
{
    const struct tensor *w = p->master ? p->master : p->t;
    bool factored = o->optimizer == OPTIMIZER_ADAFACTOR && p->t->ndim == 2;
    float decay = o->optimizer == OPTIMIZER_ADAFACTOR ? o->adafactor.decay : o->adamw.decay;

    return (struct update_row){ .w = w->data,
                                .g = p->t->grad->data,
                                .state = { data_of(p->state[0]), data_of(p->state[1]) },
                                .bytes = p->optimizer == OPTIMIZER_ADAMW_BYTES,
                                .half = p->master ? p->t->data : NULL,
                                .n = tensor_size(w),
                                .rows = factored ? w->shape[0] : 0,
                                .cols = factored ? w->shape[1] : 0,
                                .first = p->first,
                                .end = p->end,
                                .decay = p->flags & PARAM_DECAY ? decay : 0,
                                .lr_scale = p->lr_scale };
}

static int64_t chunks_of(const struct update_row *r)
{
    int64_t side = UPDATE_SIDE - 1;

    if (r->rows)
        return (r->rows + side) / UPDATE_SIDE * ((r->cols + side) / UPDATE_SIDE);
    return chunks_for(r->n);
}

static bool same_adamw(const struct adamw *a, const struct adamw *b)
{
    return a->beta1 == b->beta1 && a->beta2 == b->beta2 && a->eps == b->eps && a->decay == b->decay &&
           a->clip == b->clip;
}

static bool same_adafactor(const struct adafactor *a, const struct adafactor *b)
{
    return a->decay_rate == b->decay_rate && a->eps == b->eps && a->threshold == b->threshold && a->decay == b->decay &&
           a->clip == b->clip;
}

static bool same_rules(const struct update_rules *a, const struct update_rules *b)
{
    const struct schedule *s = &a->schedule, *t = &b->schedule;

    return s->lr == t->lr && s->warmup == t->warmup && s->total == t->total && s->form == t->form &&
           same_adamw(&a->adamw, &b->adamw) && same_adafactor(&a->adafactor, &b->adafactor);
}

static bool same_row(const struct update_row *a, const struct update_row *b)
{
    return a->w == b->w && a->g == b->g && a->state[0] == b->state[0] && a->state[1] == b->state[1] &&
           a->bytes == b->bytes && a->half == b->half && a->n == b->n && a->rows == b->rows && a->cols == b->cols &&
           a->first == b->first && a->end == b->end && a->decay == b->decay && a->lr_scale == b->lr_scale;
}

/* Updates the host copy of the table.  Returns false if nothing changed. */
static bool fill_table(struct optim *o, const struct params *p)
{
    struct update_table *t = &o->uploaded;
    struct update_rules rules = { .schedule = o->schedule, .adamw = o->adamw, .adafactor = o->adafactor };
    bool changed = !same_rules(t->rules, &rules) || t->n != o->table.n;
    int n = 0;

    moment_maps_fill(&rules.maps);
    *t->rules = rules;
    for (int i = 0; i < p->n; i++) {
        if (!p->list[i].t->needs_grad)
            continue;
        struct update_row row = row_of(o, &p->list[i]);
        changed |= !same_row(&t->rows[n], &row);
        t->rows[n] = row;
        t->first[n + 1] = t->first[n] + (int32_t)chunks_of(&row);
        n++;
    }
    t->n = n;
    return changed;
}

/* Counts the work, on which the launches depend. */
static void count_work(struct ctx *c, struct optim *o, const struct params *p)
{
    struct update_table *t = &o->table;

    t->n = 0;
    t->chunks = t->elements = 0;
    for (int i = 0; i < p->n; i++) {
        if (!p->list[i].t->needs_grad)
            continue;
        struct update_row row = row_of(o, &p->list[i]);
        ctx_note(c, i);
        t->n++;
        t->elements += row.n;
        t->chunks += chunks_of(&row);
    }
    CHECK(t->chunks <= INT32_MAX, "%lld chunks", (long long)t->chunks);
}

void optim_step(struct ctx *c, struct optim *o, const struct params *p)
{
    struct tensor *rng = c->rng;
    const struct update_table *t = &o->table;

    count_work(c, o, p);
    if (ctx_uploads(c)) {
        CHECK(t->n <= o->rows, "%d parameters are trained, there is room for %d", t->n, o->rows);
        if (fill_table(o, p))
            c->dev->driver->upload(c->dev, t->rules, o->uploaded.rules, table_bytes(o->rows));
    }
    if (o->optimizer == OPTIMIZER_ADAFACTOR)
        RUN(c, adafactor, o->norm, o->lr, rng, t);
    else
        RUN(c, adamw, o->norm, o->lr, rng, t);
}
