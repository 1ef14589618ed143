/*
 * The input side of adapters, and the order of their products. low_rank.h describes it.
 */
#include "kernels/ops/low_rank.h"

void low_rank_check(const struct tensor *x, const struct tensor *w, const struct lora *l)
{
    CHECK(x->ndim == 2 && w->ndim == 2 && x->shape[1] == w->shape[1] && x->dtype == w->dtype,
          "lora: x has %lld columns of %s, w [%lld, %lld] of %s", (long long)tensor_cols(x), dtype_name(x->dtype),
          (long long)w->shape[0], (long long)tensor_cols(w), dtype_name(w->dtype));
    if (!l || !l->a)
        return;
    CHECK(l->a->ndim == 2 && l->b->ndim == 2 && l->a->shape[1] == w->shape[1] && l->b->shape[0] == w->shape[0] &&
              l->a->shape[0] == l->b->shape[1] && l->a->dtype == w->dtype && l->b->dtype == w->dtype,
          "lora: A [%lld, %lld] of %s and B [%lld, %lld] of %s for w [%lld, %lld] of %s", (long long)l->a->shape[0],
          (long long)tensor_cols(l->a), dtype_name(l->a->dtype), (long long)l->b->shape[0],
          (long long)tensor_cols(l->b), dtype_name(l->b->dtype), (long long)w->shape[0], (long long)w->shape[1],
          dtype_name(w->dtype));
    CHECK(l->dropout >= 0 && l->dropout < 1, "lora: dropout %g", (double)l->dropout);
}

/* Returns the input of A: x, or a copy with the step's dropout in scratch of the caller. */
static const struct tensor *dropped(struct ctx *c, const struct low_rank *n, const struct tensor *x)
{
    if (n->p == 0)
        return x;
    struct destination out = { tensor_like(c, x), false };
    RUN(c, dropout, out, x, n->p, n->site);
    return out.t;
}

/* Returns the adapter with memory for h. */
static struct low_rank begin(struct ctx *c, const struct tensor *x, const struct tensor *w, const struct lora *l)
{
    struct low_rank n = { 0 };

    low_rank_check(x, w, l);
    if (!l || !l->a)
        return n;
    n.lora = *l;
    if (c->training && l->dropout > 0) {
        n.p = l->dropout;
        n.site = c->site++;
    }
    n.h = tensor_new2(c, x->dtype, x->shape[0], l->a->shape[0]);
    return n;
}

/* Returns x a^T in F32 scratch of the caller. */
static struct tensor *shrink(struct ctx *c, const struct tensor *x, const struct tensor *a)
{
    struct destination low = { tensor_new2(c, F32, x->shape[0], a->shape[0]), false };

    RUN(c, matmul, low, x, false, a, true);
    return low.t;
}

struct low_rank low_rank_enter(struct ctx *c, struct tensor *x, const struct tensor *w, const struct lora *l)
{
    struct low_rank n = begin(c, x, w, l);

    if (!n.h)
        return n;
    size_t mark = arena_mark(c->step);
    struct destination h = { n.h, false };
    const struct tensor *low = shrink(c, dropped(c, &n, x), n.lora.a);
    RUN(c, scale, h, low, n.lora.scale);
    arena_reset(c->step, mark);
    return n;
}

void low_rank_leave(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *w,
                    const struct tensor *h, const struct tensor *b)
{
    struct destination out = { y, false };

    if (h) {
        RUN(c, matmul, out, h, false, b, true);
        out.add = true;
    }
    RUN(c, matmul, out, x, false, w, true);
}

/* y (+)= x w^T + bias.  With a bias, this is the first of the products, else the last. */
static void large_product(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,
                          const struct tensor *bias)
{
    if (bias)
        RUN(c, linear, y.t, NULL, x, w, bias, ACT_NONE);
    else
        RUN(c, matmul, y, x, false, w, true);
}

struct low_rank low_rank_map(struct ctx *c, struct tensor *y, struct tensor *x, const struct tensor *w,
                             const struct tensor *bias, const struct lora *l)
{
    struct low_rank n = begin(c, x, w, l);
    struct destination out = { y, bias != NULL }, *outs = &out;
    struct tensor *const *h = &n.h;
    const struct lora *adapter = &n.lora;

    if (bias || !n.h)
        large_product(c, out, x, w, bias);
    if (!n.h)
        return n;
    size_t mark = arena_mark(c->step);
    const struct tensor *low = shrink(c, dropped(c, &n, x), n.lora.a);
    RUN(c, lora_out, outs, h, low, adapter, 1);
    arena_reset(c->step, mark);
    out.add = true;
    if (!bias)
        large_product(c, out, x, w, NULL);
    return n;
}

/* Returns whether b begins in memory where a ends. */
static bool follows(const struct tensor *b, const struct tensor *a)
{
    return (const char *)b->data == (const char *)a->data + tensor_bytes(a);
}

static bool joins(const struct tensor *b, const struct tensor *a)
{
    bool grads = !a->grad && !b->grad;

    if (a->grad && b->grad)
        grads = follows(b->grad, a->grad);
    return follows(b, a) && grads && a->shape[1] == b->shape[1] && a->dtype == b->dtype &&
           a->needs_grad == b->needs_grad;
}

/* Inserts a map's adapter at the position of its A in memory. */
static void insert(struct low_rank_stack *s, const struct lora *l, int map)
{
    int at = s->n++;

    for (; at > 0 && (const char *)s->lora[at - 1].a->data > (const char *)l->a->data; at--) {
        s->lora[at] = s->lora[at - 1];
        s->map[at] = s->map[at - 1];
    }
    s->lora[at] = *l;
    s->map[at] = map;
}

/* Returns all A as one matrix, with their gradients as its gradient. */
static struct tensor *whole_of(struct ctx *c, const struct low_rank_stack *s)
{
    struct tensor *whole = arena_alloc(c->host, sizeof *whole);

    *whole = *s->lora[0].a;
    for (int i = 1; i < s->n; i++)
        whole->shape[0] += s->lora[i].a->shape[0];
    if (whole->grad) {
        struct tensor *grad = arena_alloc(c->host, sizeof *grad);
        *grad = *whole->grad;
        grad->shape[0] = whole->shape[0];
        whole->grad = grad;
    }
    return whole;
}

struct low_rank_stack low_rank_stack(struct ctx *c, const struct tensor *x, const struct linear_map *const *maps, int n)
{
    static const struct low_rank_stack none;
    struct low_rank_stack s = none;

    CHECK(n <= LORA_STACK, "%d maps of one x", n);
    for (int i = 0; i < n; i++) {
        const struct lora *l = &maps[i]->lora;
        low_rank_check(x, maps[i]->w, l);
        if (l->a && c->training && l->dropout > 0)
            return none;
        if (l->a)
            insert(&s, l, i);
    }
    /* One product serves several A only if they are one matrix in memory, and so are their gradients. */
    for (int i = 1; i < s.n; i++)
        if (!joins(s.lora[i].a, s.lora[i - 1].a))
            return none;
    if (s.n < 2)
        return none;
    s.a = whole_of(c, &s);
    for (int i = 0; i < s.n; i++)
        s.h[i] = tensor_new2(c, x->dtype, x->shape[0], s.lora[i].a->shape[0]);
    return s;
}

void low_rank_maps(struct ctx *c, struct low_rank_stack *s, struct tensor *const *y, const struct tensor *x,
                   const struct linear_map *const *maps, int n)
{
    struct destination out[LORA_STACK], whole[LORA_STACK], *outs = out;
    struct tensor *const *h = s->h;
    const struct lora *adapters = s->lora;
    int count = s->n;

    for (int i = 0; i < n; i++) {
        whole[i] = (struct destination){ y[i], maps[i]->lora.a != NULL };
        if (maps[i]->b)
            large_product(c, whole[i], x, maps[i]->w, maps[i]->b);
    }
    for (int i = 0; i < count; i++)
        out[i] = (struct destination){ y[s->map[i]], maps[s->map[i]]->b != NULL };
    size_t mark = arena_mark(c->step);
    const struct tensor *low = shrink(c, x, s->a);
    RUN(c, lora_out, outs, h, low, adapters, count);
    arena_reset(c->step, mark);
    for (int i = 0; i < n; i++)
        if (!maps[i]->b)
            large_product(c, whole[i], x, maps[i]->w, NULL);
}

bool low_rank_needs(const struct low_rank *n, struct destination dx)
{
    return n->h && (dx.t || n->lora.a->needs_grad);
}

bool low_rank_waits(const struct tensor *a, const struct tensor *x)
{
    return a->needs_grad && tape_defers(x);
}

/* The deferred computation of dA from dh. */
struct matrix_node {
    struct node node;
    struct tensor *a, *dh;
};

static void matrix_backward(struct ctx *c, struct node *node)
{
    struct matrix_node *n = (struct matrix_node *)node;
    struct destination da = destination_of(c, n->a);

    RUN(c, matmul, da, n->dh, true, node->out, false);
}

void low_rank_matrix(struct ctx *c, struct tensor *a, struct tensor *x, struct tensor *dh)
{
    if (low_rank_waits(a, x)) {
        const struct matrix_node later = { .node.backward = matrix_backward, .a = a, .dh = dh };
        tape_defer(c, x, &later, sizeof later);
        return;
    }
    struct destination da = destination_of(c, a);
    if (da.t)
        RUN(c, matmul, da, dh, true, x, false);
}

void low_rank_backward(struct ctx *c, const struct low_rank *n, struct destination dx, struct tensor *x,
                       struct tensor *dh)
{
    size_t mark = arena_mark(c->step);

    if (n->p > 0) {
        struct destination da = destination_of(c, n->lora.a);
        if (da.t) {
            const struct tensor *in = dropped(c, n, x);
            RUN(c, matmul, da, dh, true, in, false);
        }
    } else {
        low_rank_matrix(c, n->lora.a, x, dh);
    }
    if (dx.t && n->p > 0) {
        struct destination through = { tensor_like(c, x), false };
        RUN(c, matmul, through, dh, false, n->lora.a, false);
        RUN(c, dropout, dx, through.t, n->p, n->site);
    } else if (dx.t) {
        RUN(c, matmul, dx, dh, false, n->lora.a, false);
    }
    arena_reset(c->step, mark);
}
