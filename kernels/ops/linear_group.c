/*
 * Linear maps of a decoder. Few rows are a matter of launches: norm, maps, adapters and sum go into at most two
 * launches for all maps of one x. Many rows are computed by large products, as in training. Both round at the same
 * places.
 */
#include "kernels/ops/low_rank.h"

/* The launches of few rows: products that read x, and, with adapters, products that read their h. */
struct launches {
    struct linear_group first, second;
    const struct tensor *x;
};

static struct launches launches_of(const struct ctx *c, const struct tensor *x, struct rms_norm norm)
{
    return (struct launches){ .first = { .norm = norm, .adapter_of = c->adapter_of },
                              .second = { .adapter_of = c->adapter_of },
                              .x = x };
}

/* Returns a y that the launch writes completely, or NULL. */
static struct tensor *whole_y(const struct linear_group *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->product[i].rows == ALL_ROWS)
            return g->product[i].y.t;
    return NULL;
}

static void flush(struct ctx *c, struct linear_group *g)
{
    const struct linear_group *group = g;
    struct tensor *y = whole_y(g);

    if (g->n)
        RUN(c, linear_group, y, group);
    g->n = 0;
}

static void add_first(struct ctx *c, struct launches *l, struct linear_product p)
{
    /* A group has a limited number of products; a full one is launched, and the next begins with the same norm. */
    if (l->first.n == GROUP_PRODUCTS)
        flush(c, &l->first);
    l->first.product[l->first.n++] = p;
}

static void launch(struct ctx *c, struct launches *l)
{
    flush(c, &l->first);
    flush(c, &l->second);
}

static void add_second(struct ctx *c, struct launches *l, struct linear_product p)
{
    /* Products of the second launch read results of the first, which must go before. */
    if (l->second.n == GROUP_PRODUCTS)
        launch(c, l);
    l->second.product[l->second.n++] = p;
}

static struct destination whole(struct tensor *t)
{
    return (struct destination){ t, false };
}

/* Returns the number of adapters that a row of this step may have. */
static int choices(const struct ctx *c, const struct linear_map *m)
{
    return c->adapter_of ? 1 + m->lora.n_others : 1;
}

/* Returns the adapter of a row whose number is v. */
static const struct lora *choice(const struct linear_map *m, int v)
{
    return v ? &m->lora.others[v - 1] : &m->lora;
}

/* Returns a mask of the adapters that m has, one bit each. */
static uint64_t adapters_on(const struct ctx *c, const struct linear_map *m)
{
    uint64_t on = 0;

    for (int v = 0; v < choices(c, m); v++)
        on |= (uint64_t)(choice(m, v)->a != NULL) << v;
    return on;
}

/* Adds x w^T + b of the normed x for all rows.  With `wait` the result is F32 scratch, which is returned, because an
 * adapter's output is still to be added. */
static struct tensor *add_large(struct ctx *c, struct launches *l, struct destination y, const struct linear_map *m,
                                bool wait)
{
    struct tensor *waits = wait ? tensor_new2(c, F32, l->x->shape[0], m->w->shape[0]) : NULL;

    add_first(c, l, (struct linear_product){ l->x, m->w, m->b, NULL, 1, waits ? whole(waits) : y, ALL_ROWS });
    return waits;
}

/* y (+)= the waiting product and the output of the v-th adapter, if m has it, for its rows. */
static void add_small(struct ctx *c, struct launches *l, struct destination y, const struct linear_map *m, int v,
                      const struct tensor *waits)
{
    const struct lora *adapter = choice(m, v);
    struct linear_product p = { NULL, NULL, NULL, waits, 1, y, c->adapter_of ? (uint64_t)1 << v : ALL_ROWS };

    if (adapter->a) {
        struct tensor *h = tensor_new2(c, l->x->dtype, l->x->shape[0], adapter->a->shape[0]);
        add_first(c, l, (struct linear_product){ l->x, adapter->a, NULL, NULL, adapter->scale, whole(h), p.rows });
        p.x = h;
        p.w = adapter->b;
        p.y.add |= !waits;
    }
    add_second(c, l, p);
}

/* y (+)= the map of the normed x.  With an adapter the large product waits in F32 for the small one, so that y is
 * rounded once.  An F32 y accumulates both directly. */
static void add_map(struct ctx *c, struct launches *l, struct destination y, const struct linear_map *m)
{
    uint64_t on = adapters_on(c, m);
    struct tensor *waits = add_large(c, l, y, m, on && y.t->dtype != F32);

    for (int v = 0; v < choices(c, m); v++)
        if (waits || on >> v & 1)
            add_small(c, l, y, m, v, waits);
}

static bool few_rows(const struct ctx *c, const struct tensor *x)
{
    return c->rows == ROWS_FEW || (c->rows == ROWS_BY_NUMBER && x->shape[0] <= GROUP_ROWS);
}

static void check_map(const struct ctx *c, const struct tensor *x, struct rms_norm norm, const struct linear_map *m)
{
    CHECK(!c->recording && !c->training, "a linear map without a record, in training");
    CHECK(!m->b || (tensor_size(m->b) == m->w->shape[0] && m->b->dtype == F32),
          "linear: expected an f32 bias of %lld, got %lld", (long long)m->w->shape[0], (long long)tensor_size(m->b));
    CHECK(!norm.w || (norm.w->dtype == F32 && tensor_size(norm.w) == x->shape[1]),
          "linear: a norm of %lld for %lld columns", (long long)tensor_size(norm.w), (long long)x->shape[1]);
    CHECK(!c->adapter_of || (c->rows == ROWS_FEW && tensor_size(c->adapter_of) == x->shape[0]),
          "linear: %lld rows, adapters of %lld of few", (long long)x->shape[0], (long long)tensor_size(c->adapter_of));
    CHECK(m->lora.n_others <= LORA_OTHERS, "linear: %d adapters", m->lora.n_others);
    for (int v = 0; v < choices(c, m); v++)
        low_rank_check(x, m->w, choice(m, v));
}

/* Returns the normed rows that maps of many rows read, in scratch of the caller. */
static struct tensor *normed(struct ctx *c, struct tensor *x, struct rms_norm norm)
{
    if (!norm.w)
        return x;
    struct tensor *y = tensor_like(c, x), *rstd = tensor_new1(c, F32, x->shape[0]);
    RUN(c, rms_norm, y, rstd, x, norm.w, norm.eps);
    return y;
}

/* y = the map of x, many rows */
static void map_rows(struct ctx *c, struct tensor *y, struct tensor *x, const struct linear_map *m)
{
    size_t mark = arena_mark(c->step);

    low_rank_map(c, y, x, m->w, m->b, &m->lora);
    arena_reset(c->step, mark);
}

/* y[i] = maps[i] of the normed x, many rows */
static void maps_rows(struct ctx *c, struct tensor *const *y, struct tensor *x, struct rms_norm norm,
                      const struct linear_map *const *maps, int n)
{
    x = normed(c, x, norm);
    struct low_rank_stack s = low_rank_stack(c, x, maps, n);

    if (s.n)
        low_rank_maps(c, &s, y, x, maps, n);
    for (int i = 0; i < n && !s.n; i++)
        map_rows(c, y[i], x, maps[i]);
}

void op_linear_group(struct ctx *c, struct tensor **y, struct tensor *x, struct rms_norm norm,
                     const struct linear_map *const *maps, int n)
{
    for (int i = 0; i < n; i++) {
        check_map(c, x, norm, maps[i]);
        y[i] = tensor_new2(c, x->dtype, x->shape[0], maps[i]->w->shape[0]);
    }
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x)) {
        struct launches l = launches_of(c, x, norm);
        for (int i = 0; i < n; i++)
            add_map(c, &l, whole(y[i]), maps[i]);
        launch(c, &l);
    } else {
        maps_rows(c, y, x, norm, maps, n);
    }
    arena_reset(c->step, mark);
}

static void add_rows(struct ctx *c, struct tensor *y, struct tensor *x, const struct linear_map *m)
{
    struct destination sum = { y, true };

    /* Without a bias and an adapter, one product adds to y. */
    if (!m->b && !m->lora.a) {
        RUN(c, matmul, sum, x, false, m->w, true);
        return;
    }
    struct tensor *addend = tensor_like(c, y);
    map_rows(c, addend, x, m);
    RUN(c, accumulate, sum, addend);
}

void op_linear_add(struct ctx *c, struct tensor *y, struct tensor *x, const struct linear_map *m)
{
    check_map(c, x, (struct rms_norm){ 0 }, m);
    CHECK(y->ndim == 2 && y->shape[0] == x->shape[0] && y->shape[1] == m->w->shape[0] &&
              (y->dtype == x->dtype || y->dtype == F32),
          "linear_add: [%lld, %lld] of %s to the sum of %lld rows", (long long)y->shape[0], (long long)tensor_cols(y),
          dtype_name(y->dtype), (long long)x->shape[0]);
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x)) {
        struct launches l = launches_of(c, x, (struct rms_norm){ 0 });
        add_map(c, &l, (struct destination){ y, true }, m);
        launch(c, &l);
    } else {
        add_rows(c, y, x, m);
    }
    arena_reset(c->step, mark);
}

static void glu_few(struct ctx *c, struct tensor *y, struct tensor *x, struct rms_norm norm,
                    const struct linear_map *const maps[2], enum gate kind)
{
    struct launches l = launches_of(c, x, norm);
    bool adapted = adapters_on(c, maps[0]) || adapters_on(c, maps[1]);
    const struct tensor *waits[2];

    for (int i = 0; i < 2; i++)
        waits[i] = add_large(c, &l, whole(y), maps[i], adapted);
    l.first.glu = !adapted;
    l.second.glu = adapted;
    l.first.gate = l.second.gate = kind;
    for (int v = 0; v < choices(c, maps[0]) && adapted; v++)
        for (int i = 0; i < 2; i++)
            add_small(c, &l, whole(y), maps[i], v, waits[i]);
    launch(c, &l);
}

static void glu_many(struct ctx *c, struct tensor *y, struct tensor *x, struct rms_norm norm,
                     const struct linear_map *const maps[2], enum gate kind)
{
    struct tensor *half[2] = { tensor_like(c, y), tensor_like(c, y) }, *gate = half[0], *up = half[1];

    maps_rows(c, half, x, norm, maps, 2);
    RUN(c, glu, y, gate, up, kind);
}

struct tensor *op_linear_glu(struct ctx *c, struct tensor *x, struct rms_norm norm, const struct linear_map *gate,
                             const struct linear_map *up, enum gate kind)
{
    const struct linear_map *const maps[2] = { gate, up };

    check_map(c, x, norm, gate);
    check_map(c, x, norm, up);
    CHECK(kind == GATE_SILU || kind == GATE_GELU, "linear_glu: gate %d", (int)kind);
    CHECK(gate->w->shape[0] == up->w->shape[0], "linear_glu: gate of %lld columns, up of %lld",
          (long long)gate->w->shape[0], (long long)up->w->shape[0]);
    struct tensor *y = tensor_new2(c, x->dtype, x->shape[0], gate->w->shape[0]);
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x))
        glu_few(c, y, x, norm, maps, kind);
    else
        glu_many(c, y, x, norm, maps, kind);
    arena_reset(c->step, mark);
    return y;
}

struct tensor *op_linear_logits(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l, float cap)
{
    struct linear_map m = { .w = w, .lora = l ? *l : (struct lora){ 0 } };

    check_map(c, x, (struct rms_norm){ 0 }, &m);
    struct tensor *y = tensor_new2(c, F32, x->shape[0], w->shape[0]);
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x)) {
        struct launches launches = launches_of(c, x, (struct rms_norm){ 0 });
        add_map(c, &launches, whole(y), &m);
        launch(c, &launches);
    } else {
        map_rows(c, y, x, &m);
    }
    arena_reset(c->step, mark);
    if (cap > 0)
        RUN(c, soft_cap, y, cap);
    return y;
}
