#include "kernels/ops/low_rank.h"

/* Adapters whose A lie below one another, as one matrix. */
struct lora_stack_node {
    struct node node;
    struct tensor *x, *a;
    struct tensor *h[LORA_STACK];
    float scale[LORA_STACK];
    int n;
};

static void lora_stack_backward(struct ctx *c, struct node *node)
{
    struct lora_stack_node *n = (struct lora_stack_node *)node;
    struct tensor *const grads[LORA_STACK] = { n->h[0]->grad, n->h[1]->grad, n->n > 2 ? n->h[2]->grad : NULL };
    struct tensor *const *parts = grads;
    const float *scale = n->scale;

    for (int i = 0; i < n->n; i++)
        CHECK(grads[i], "a map of one x that the loss does not depend on");
    if (n->a->needs_grad)
        tape_recompute(c, n->x);
    struct destination dx = destination_of(c, n->x), da = destination_of(c, n->a);
    size_t mark = arena_mark(c->step);
    struct tensor *dh = tensor_new2(c, n->x->dtype, n->x->shape[0], n->a->shape[0]);
    int count = n->n;
    RUN(c, join_columns, dh, parts, scale, count);
    if (da.t)
        RUN(c, matmul, da, dh, true, n->x, false);
    if (dx.t)
        RUN(c, matmul, dx, dh, false, n->a, false);
    arena_reset(c->step, mark);
}

/* Whether b begins in memory where a ends. */
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

/* The maps' adapters: how many, 0 when their A do not lie together or there is but one. */
static int find_stack(const struct ctx *c, const struct tensor **a, float *scale, int *which,
                      const struct linear_map *const *maps, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        const struct lora *l = &maps[i]->lora;
        if (!l->a)
            continue;
        if ((c->training && l->dropout > 0) || (count && !joins(l->a, a[count - 1])))
            return 0;
        a[count] = l->a;
        scale[count] = l->scale;
        which[count++] = i;
    }
    return count > 1 ? count : 0;
}

/* All of them as one matrix, whose gradient is theirs. */
static struct tensor *whole_of(struct ctx *c, const struct tensor *const *a, int n)
{
    struct tensor *whole = arena_alloc(c->host, sizeof *whole);

    *whole = *a[0];
    for (int i = 1; i < n; i++)
        whole->shape[0] += a[i]->shape[0];
    if (whole->grad) {
        struct tensor *grad = arena_alloc(c->host, sizeof *grad);
        *grad = *whole->grad;
        grad->shape[0] = whole->shape[0];
        whole->grad = grad;
    }
    return whole;
}

void op_lora_enter(struct ctx *c, struct tensor **h, struct tensor *x, const struct linear_map *const *maps, int n)
{
    struct lora_stack_node s = { .x = x };
    const struct tensor *a[LORA_STACK];
    int which[LORA_STACK];

    CHECK(n <= LORA_STACK, "%d maps of one x", n);
    for (int i = 0; i < n; i++) {
        low_rank_check(x, maps[i]->w, &maps[i]->lora);
        h[i] = NULL;
    }
    s.n = find_stack(c, a, s.scale, which, maps, n);
    if (!s.n)
        return;
    s.a = whole_of(c, a, s.n);
    for (int i = 0; i < s.n; i++)
        h[which[i]] = s.h[i] = tensor_new2(c, x->dtype, x->shape[0], a[i]->shape[0]);
    size_t mark = arena_mark(c->step);
    struct destination sum = { tensor_new2(c, F32, x->shape[0], s.a->shape[0]), false };
    struct tensor *const *parts = s.h;
    const float *scale = s.scale;
    RUN(c, matmul, sum, x, false, s.a, true);
    RUN(c, split_columns, parts, sum.t, scale, s.n);
    arena_reset(c->step, mark);
    if (!tape_needs(c, s.h[0], x, s.a))
        return;
    for (int i = 1; i < s.n; i++)
        s.h[i]->needs_grad = true;
    TAPE_PUSH(c, lora_stack_node, s.h[0], lora_stack_backward, .x = x, .a = s.a, .h = { s.h[0], s.h[1], s.h[2] },
              .scale = { scale[0], scale[1], scale[2] }, .n = s.n);
}

struct lora_leave_node {
    struct node node;
    struct tensor *x, *h, *w, *bias, *b;
};

static void lora_leave_backward(struct ctx *c, struct node *node)
{
    struct lora_leave_node *n = (struct lora_leave_node *)node;

    if (n->w->needs_grad)
        tape_recompute(c, n->x);
    struct destination dx = destination_of(c, n->x), dw = destination_of(c, n->w);
    struct destination dbias = destination_of(c, n->bias), db = destination_of(c, n->b);
    const struct tensor *dy = node->out->grad;

    if (db.t)
        RUN(c, matmul, db, dy, true, n->h, false);
    if (n->h->needs_grad) {
        struct destination dh = { tensor_new(c, F32, 2, n->h->shape), false };
        RUN(c, matmul, dh, dy, false, n->b, false);
        n->h->grad = dh.t;
    }
    if (dx.t)
        RUN(c, matmul, dx, dy, false, n->w, false);
    if (dw.t)
        RUN(c, matmul, dw, dy, true, n->x, false);
    if (dbias.t)
        RUN(c, sum_rows, dbias, dy);
}

struct tensor *op_lora_leave(struct ctx *c, struct tensor *x, struct tensor *h, const struct linear_map *m)
{
    if (!h)
        return op_lora_linear(c, x, m->w, m->b, &m->lora);
    struct tensor *y = tensor_new2(c, x->dtype, x->shape[0], m->w->shape[0]);
    low_rank_leave(c, y, x, m->w, m->b, h, m->lora.b);
    if (tape_needs(c, y, x, m->w, m->b, h, m->lora.b))
        TAPE_PUSH(c, lora_leave_node, y, lora_leave_backward, .x = x, .h = h, .w = m->w, .bias = m->b, .b = m->lora.b);
    return y;
}
