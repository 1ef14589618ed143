/*
 * Linear maps with adapters (LoRA, Hu et al. 2022): one map, a map whose output is added to a tensor, and several
 * maps of one x.
 */
#include "kernels/ops/low_rank.h"

struct lora_linear_node {
    struct node node;
    struct tensor *x, *w, *bias, *beside; /* beside: the tensor that y adds to the map; NULL: none */
    struct low_rank low;
};

/* Returns whether dA waits for the data of x, so that this record does not need it. */
static bool waits(const struct lora_linear_node *n)
{
    return n->low.h && n->low.p == 0 && !n->w->needs_grad && low_rank_waits(n->low.lora.a, n->x);
}

/* The adapter's part of dx comes before that of w, see low_rank.h. */
static void adapter_backward(struct ctx *c, const struct lora_linear_node *n, struct destination *dx, struct tensor *dy)
{
    struct destination b = destination_of(c, n->low.lora.b), *db = &b;
    bool more = low_rank_needs(&n->low, *dx), stays = waits(n);
    size_t mark = arena_mark(c->step);
    struct tensor *dh = more ? tensor_like(c, n->low.h) : NULL, *const *dys = &dy, *const *h = &n->low.h;
    const struct lora *adapter = &n->low.lora;

    RUN(c, lora_out_backward, dh, db, dys, h, adapter, 1);
    if (more)
        low_rank_backward(c, &n->low, *dx, n->x, dh);
    if (!stays)
        arena_reset(c->step, mark);
    dx->add |= more;
}

static void lora_linear_backward(struct ctx *c, struct node *node)
{
    struct lora_linear_node *n = (struct lora_linear_node *)node;

    if (n->w->needs_grad || (n->low.h && n->low.lora.a->needs_grad && !waits(n)))
        tape_recompute(c, n->x);
    struct destination dx = destination_of(c, n->x), dw = destination_of(c, n->w), dbias = destination_of(c, n->bias);
    struct tensor *dy = node->out->grad;

    if (n->low.h)
        adapter_backward(c, n, &dx, dy);
    if (dx.t)
        RUN(c, matmul, dx, dy, false, n->w, false);
    if (dw.t)
        RUN(c, matmul, dw, dy, true, n->x, false);
    if (dbias.t)
        RUN(c, sum_rows, dbias, dy);
    if (n->beside)
        tape_move_grad(c, n->beside, dy);
}

/* y = beside + the map of x.  The sum is in place and adds to the rounded output of the map. */
static struct tensor *lora_linear(struct ctx *c, struct tensor *beside, struct tensor *x, struct tensor *w,
                                  struct tensor *b, const struct lora *l)
{
    CHECK(!b || (tensor_size(b) == w->shape[0] && b->dtype == F32),
          "lora_linear: expected an f32 bias of %lld, got %lld", (long long)w->shape[0], (long long)tensor_size(b));
    struct tensor *y = tensor_new2(c, x->dtype, x->shape[0], w->shape[0]);
    struct low_rank low = low_rank_map(c, y, x, w, b, l);

    if (beside)
        RUN(c, add, y, beside, y);
    if (tape_needs(c, y, beside, x, w, b, low.lora.a, low.lora.b))
        TAPE_PUSH(c, lora_linear_node, y, lora_linear_backward, .x = x, .w = w, .bias = b, .beside = beside,
                  .low = low);
    return y;
}

struct tensor *op_lora_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b, const struct lora *l)
{
    return lora_linear(c, NULL, x, w, b, l);
}

struct tensor *op_lora_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, struct tensor *b,
                                const struct lora *l)
{
    CHECK(x->ndim == 2 && x->shape[0] == h->shape[0] && x->shape[1] == w->shape[0] && x->dtype == h->dtype,
          "lora_residual: %lld rows of %lld to %lld of %lld", (long long)h->shape[0], (long long)w->shape[0],
          (long long)tensor_rows(x), (long long)tensor_cols(x));
    return lora_linear(c, x, h, w, b, l);
}

/* Linear maps of one x, each with an adapter: q, k and v, or gate and up. If the A of all adapters lie side by side in
 * memory, one product computes x A^T for all of them, and one kernel the outputs. Otherwise each map is computed as
 * op_lora_linear. */
struct lora_group_node {
    struct node node;
    struct tensor *x, *y[LORA_STACK];
    struct linear_map map[LORA_STACK];
    int n;
    struct low_rank_stack stack;
};

static void map_backward(struct ctx *c, struct tensor *x, const struct linear_map *m, const struct tensor *dy)
{
    struct destination dx = destination_of(c, x), dw = destination_of(c, m->w), db = destination_of(c, m->b);

    if (dx.t)
        RUN(c, matmul, dx, dy, false, m->w, false);
    if (dw.t)
        RUN(c, matmul, dw, dy, true, x, false);
    if (db.t)
        RUN(c, sum_rows, db, dy);
}

/* Computes the gradient of each adapter's B and of the output of A.  All A then take one product, and so does x. */
static void stack_backward(struct ctx *c, struct lora_group_node *n)
{
    const struct low_rank_stack *s = &n->stack;
    struct destination grads[LORA_STACK], *db = grads;
    struct tensor *from[LORA_STACK], *const *dy = from, *const *h = s->h, *dh = NULL;
    const struct lora *adapters = s->lora;

    for (int i = 0; i < s->n; i++) {
        from[i] = n->y[s->map[i]]->grad;
        grads[i] = destination_of(c, s->lora[i].b);
    }
    struct destination dx = destination_of(c, n->x);
    bool waits = low_rank_waits(s->a, n->x);
    size_t mark = arena_mark(c->step);
    if (dx.t || s->a->needs_grad)
        dh = tensor_new2(c, n->x->dtype, n->x->shape[0], s->a->shape[0]);
    RUN(c, lora_out_backward, dh, db, dy, h, adapters, s->n);
    if (dh)
        low_rank_matrix(c, s->a, n->x, dh);
    if (dx.t)
        RUN(c, matmul, dx, dh, false, s->a, false);
    if (!waits)
        arena_reset(c->step, mark);
}

static void lora_group_backward(struct ctx *c, struct node *node)
{
    struct lora_group_node *n = (struct lora_group_node *)node;
    bool reads = n->stack.a->needs_grad && !low_rank_waits(n->stack.a, n->x);

    for (int i = 0; i < n->n; i++) {
        CHECK(n->y[i]->grad, "a map of one x that the loss does not depend on");
        reads |= n->map[i].w->needs_grad;
    }
    if (reads)
        tape_recompute(c, n->x);
    for (int i = n->n - 1; i >= 0; i--)
        map_backward(c, n->x, &n->map[i], n->y[i]->grad);
    stack_backward(c, n);
}

/* Returns whether any input needs a gradient, and marks all y. */
static bool group_needs(struct ctx *c, struct tensor *const *y, struct tensor *x, const struct linear_map *const *maps,
                        int n)
{
    bool record = false;

    for (int i = 0; i < n; i++)
        record |= tape_needs(c, y[0], x, maps[i]->w, maps[i]->b, maps[i]->lora.a, maps[i]->lora.b);
    for (int i = 1; i < n; i++)
        y[i]->needs_grad = y[0]->needs_grad;
    return record;
}

void op_lora_group(struct ctx *c, struct tensor **y, struct tensor *x, const struct linear_map *const *maps, int n,
                   unsigned transient)
{
    struct lora_group_node node = { .x = x, .n = n, .stack = low_rank_stack(c, x, maps, n) };

    for (int i = 0; i < n; i++) {
        const struct linear_map *m = maps[i];
        struct ctx *to = transient >> i & 1 ? tape_transient(c) : c;
        y[i] = node.stack.n ? tensor_new2(to, x->dtype, x->shape[0], m->w->shape[0])
                            : op_lora_linear(to, x, m->w, m->b, &m->lora);
        node.y[i] = y[i];
        node.map[i] = *m;
    }
    if (!node.stack.n)
        return;
    low_rank_maps(c, &node.stack, y, x, maps, n);
    if (!group_needs(c, y, x, maps, n))
        return;
    node.node = (struct node){ .out = y[0], .backward = lora_group_backward };
    tape_push(c, &node, sizeof node);
}
