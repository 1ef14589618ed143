#include "kernels/ops/low_rank.h"

/* The launches of few rows: what reads x, and, where there are adapters, what reads their h. */
struct launches {
    struct linear_group first, second;
    const struct tensor *x;
};

static void add_product(struct linear_group *g, struct linear_product p)
{
    CHECK(g->n < GROUP_PRODUCTS, "more than %d products", GROUP_PRODUCTS);
    g->product[g->n++] = p;
}

static struct launches launches_of(const struct tensor *x, struct rms_norm norm)
{
    return (struct launches){ .first = { .norm = norm }, .x = x };
}

static struct destination whole(struct tensor *t)
{
    return (struct destination){ t, false };
}

/*
 * y (+)= the map of the normed x.  With an adapter the large product waits in F32 for the small one, so that y is
 * rounded once; an F32 y takes both itself.  late: y is to come from the second launch whether or not there is one.
 */
static void add_map(struct ctx *c, struct launches *l, struct destination y, const struct linear_map *m, bool late)
{
    struct linear_product large = { l->x, m->w, m->b, NULL, 1, y }, small = { NULL, NULL, NULL, NULL, 1, y };
    bool adapted = m->lora.a != NULL;

    if (late || (adapted && y.t->dtype != F32)) {
        large.y = whole(tensor_new2(c, F32, l->x->shape[0], m->w->shape[0]));
        small.addend = large.y.t;
    }
    add_product(&l->first, large);
    if (adapted) {
        struct tensor *h = tensor_new2(c, l->x->dtype, l->x->shape[0], m->lora.a->shape[0]);
        add_product(&l->first, (struct linear_product){ l->x, m->lora.a, NULL, NULL, m->lora.scale, whole(h) });
        small.x = h;
        small.w = m->lora.b;
        small.y.add |= !small.addend;
    }
    if (adapted || late)
        add_product(&l->second, small);
}

static void launch(struct ctx *c, const struct launches *l)
{
    const struct linear_group *first = &l->first, *second = &l->second;

    struct tensor *y = first->product[first->swiglu ? 0 : first->n - 1].y.t;

    RUN(c, linear_group, y, first);
    if (!second->n)
        return;
    y = second->product[second->swiglu ? 0 : second->n - 1].y.t;
    RUN(c, linear_group, y, second);
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
    low_rank_check(x, m->w, &m->lora);
}

/* What the maps of many rows read: the rows normed, in scratch of the caller. */
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
        struct launches l = launches_of(x, norm);
        for (int i = 0; i < n; i++)
            add_map(c, &l, whole(y[i]), maps[i], false);
        launch(c, &l);
    } else {
        maps_rows(c, y, x, norm, maps, n);
    }
    arena_reset(c->step, mark);
}

static void add_rows(struct ctx *c, struct tensor *y, struct tensor *x, const struct linear_map *m)
{
    struct destination sum = { y, true };

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
    CHECK(y->ndim == 2 && y->shape[0] == x->shape[0] && y->shape[1] == m->w->shape[0] && y->dtype == x->dtype,
          "linear_add: [%lld, %lld] of %s to the sum of %lld rows", (long long)y->shape[0], (long long)tensor_cols(y),
          dtype_name(y->dtype), (long long)x->shape[0]);
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x)) {
        struct launches l = launches_of(x, (struct rms_norm){ 0 });
        add_map(c, &l, (struct destination){ y, true }, m, false);
        launch(c, &l);
    } else {
        add_rows(c, y, x, m);
    }
    arena_reset(c->step, mark);
}

static void swiglu_few(struct ctx *c, struct tensor *y, struct tensor *x, struct rms_norm norm,
                       const struct linear_map *const maps[2])
{
    struct launches l = launches_of(x, norm);
    bool adapted = maps[0]->lora.a || maps[1]->lora.a;

    for (int i = 0; i < 2; i++)
        add_map(c, &l, whole(y), maps[i], adapted);
    l.first.swiglu = !adapted;
    l.second.swiglu = adapted;
    launch(c, &l);
}

static void swiglu_many(struct ctx *c, struct tensor *y, struct tensor *x, struct rms_norm norm,
                        const struct linear_map *const maps[2])
{
    struct tensor *half[2] = { tensor_like(c, y), tensor_like(c, y) }, *gate = half[0], *up = half[1];

    maps_rows(c, half, x, norm, maps, 2);
    RUN(c, swiglu, y, gate, up);
}

struct tensor *op_linear_swiglu(struct ctx *c, struct tensor *x, struct rms_norm norm, const struct linear_map *gate,
                                const struct linear_map *up)
{
    const struct linear_map *const maps[2] = { gate, up };

    check_map(c, x, norm, gate);
    check_map(c, x, norm, up);
    CHECK(gate->w->shape[0] == up->w->shape[0], "linear_swiglu: gate of %lld columns, up of %lld",
          (long long)gate->w->shape[0], (long long)up->w->shape[0]);
    struct tensor *y = tensor_new2(c, x->dtype, x->shape[0], gate->w->shape[0]);
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x))
        swiglu_few(c, y, x, norm, maps);
    else
        swiglu_many(c, y, x, norm, maps);
    arena_reset(c->step, mark);
    return y;
}

struct tensor *op_linear_logits(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l)
{
    struct linear_map m = { .w = w, .lora = l ? *l : (struct lora){ 0 } };

    check_map(c, x, (struct rms_norm){ 0 }, &m);
    struct tensor *y = tensor_new2(c, F32, x->shape[0], w->shape[0]);
    size_t mark = arena_mark(c->step);
    if (few_rows(c, x)) {
        struct launches launches = launches_of(x, (struct rms_norm){ 0 });
        add_map(c, &launches, whole(y), &m, false);
        launch(c, &launches);
    } else {
        map_rows(c, y, x, &m);
    }
    arena_reset(c->step, mark);
    return y;
}
