#include "kernels/ops/low_rank.h"

enum { CHUNK_MIN = 16, CHUNK_STEP = 64 }; /* rows; full chunks are whole tiles of the product if possible */

struct linear_nll_node {
    struct node node;
    struct tensor *x, *w, *target, *lse;
    struct low_rank low;
    float cap;
};

/* The gradients to write.  Each chunk adds its gradients of w and B to those of the preceding chunks. */
struct nll_grads {
    struct destination x, w, b;
    struct tensor *dy_b; /* [T, r] F32, or NULL */
};

/* Rows of a chunk: as many as LOGITS_MAX logits allow. */
static int64_t chunk_rows(int64_t rows, int64_t cols)
{
    int64_t n = LOGITS_MAX / (cols ? cols : 1);

    n = n < CHUNK_MIN ? CHUNK_MIN : n > CHUNK_STEP ? n / CHUNK_STEP * CHUNK_STEP : n;
    return n < rows ? n : rows;
}

/* Returns the rows of h that belong to the chunk, as a view stored in *view. */
static const struct tensor *part_of(struct tensor *view, const struct tensor *h, int64_t at, int64_t n)
{
    if (!h)
        return NULL;
    *view = tensor_view(h, at, n);
    return view;
}

static void logits(struct ctx *c, struct tensor *z, const struct linear_nll_node *n, int64_t at)
{
    struct tensor x = tensor_view(n->x, at, z->shape[0]), h;

    low_rank_leave(c, z, &x, n->w, part_of(&h, n->low.h, at, z->shape[0]), n->low.lora.b);
    if (n->cap > 0)
        RUN(c, soft_cap, z, n->cap);
}

static void chunk_backward(struct ctx *c, const struct linear_nll_node *n, struct nll_grads *g, const struct tensor *dz,
                           int64_t at)
{
    int64_t rows = dz->shape[0];
    struct tensor x = tensor_view(n->x, at, rows), h, out;

    if (g->b.t) {
        const struct tensor *part = part_of(&h, n->low.h, at, rows);
        RUN(c, matmul, g->b, dz, true, part, false);
    }
    if (g->dy_b) {
        out = tensor_view(g->dy_b, at, rows);
        struct destination part = { &out, false };
        RUN(c, matmul, part, dz, false, n->low.lora.b, false);
    }
    if (g->x.t) {
        out = tensor_view(g->x.t, at, rows);
        struct destination part = { &out, g->x.add };
        RUN(c, matmul, part, dz, false, n->w, false);
    }
    if (g->w.t)
        RUN(c, matmul, g->w, dz, true, &x, false);
    /* The first chunk stores or adds as the tape says; all later ones add. */
    g->b.add = g->w.add = true;
}

/* Recomputes the logits chunk by chunk and converts them to their gradient, which in F32 overwrites them. */
static void chunks_backward(struct ctx *c, const struct linear_nll_node *n, struct nll_grads *g)
{
    int64_t rows = n->x->shape[0], cols = n->w->shape[0], most = chunk_rows(rows, cols);
    /* All logits of a batch would take more memory than the rest of the step. One chunk of them exists at a time. */
    struct tensor *room = tensor_new2(c, F32, most, cols), *room_dz = room;

    if (n->x->dtype != F32)
        room_dz = tensor_new2(c, n->x->dtype, most, cols);
    for (int64_t at = 0, k = most; at < rows; at += k) {
        k = rows - at < most ? rows - at : most;
        struct tensor z = tensor_view(room, 0, k), dz = tensor_view(room_dz, 0, k);
        struct tensor dy = tensor_view(n->node.out->grad, at, k), lse = tensor_view(n->lse, at, k);
        struct tensor target = tensor_view(n->target, at, k);
        logits(c, &z, n, at);
        RUN(c, nll_backward, &dz, &dy, &lse, &z, &target, n->cap);
        chunk_backward(c, n, g, &dz, at);
    }
}

static void linear_nll_backward(struct ctx *c, struct node *node)
{
    struct linear_nll_node *n = (struct linear_nll_node *)node;
    struct nll_grads g = { destination_of(c, n->x), destination_of(c, n->w), destination_of(c, n->low.lora.b), NULL };
    size_t mark = arena_mark(c->step);

    if (low_rank_needs(&n->low, g.x))
        g.dy_b = tensor_new(c, F32, 2, n->low.h->shape);
    size_t chunks = arena_mark(c->step);
    chunks_backward(c, n, &g);
    arena_reset(c->step, chunks);
    /* The adapter's share of dx comes after that of the large product. */
    g.x.add = true;
    if (g.dy_b) {
        struct destination dh = { tensor_like(c, n->low.h), false };
        const struct tensor *dy_b = g.dy_b;
        RUN(c, scale, dh, dy_b, n->low.lora.scale);
        low_rank_backward(c, &n->low, g.x, n->x, dh.t);
    }
    arena_reset(c->step, mark);
}

static void chunks_forward(struct ctx *c, struct tensor *y, const struct linear_nll_node *n)
{
    int64_t rows = n->x->shape[0], cols = n->w->shape[0], most = chunk_rows(rows, cols);
    size_t mark = arena_mark(c->step);
    struct tensor *room = tensor_new2(c, F32, most, cols);

    for (int64_t at = 0, k = most; at < rows; at += k) {
        k = rows - at < most ? rows - at : most;
        struct tensor z = tensor_view(room, 0, k), part = tensor_view(y, at, k);
        struct tensor lse = tensor_view(n->lse, at, k), target = tensor_view(n->target, at, k);
        logits(c, &z, n, at);
        RUN(c, nll, &part, &lse, &z, &target);
    }
    arena_reset(c->step, mark);
}

struct tensor *op_linear_nll(struct ctx *c, struct tensor *x, struct tensor *w, const struct lora *l,
                             struct tensor *target, float cap)
{
    CHECK(x->ndim == 2 && tensor_size(target) == x->shape[0] && target->dtype == I32 && target->ndim == 1,
          "linear_nll: %lld targets of type %s for %lld rows", (long long)tensor_size(target),
          dtype_name(target->dtype), (long long)x->shape[0]);
    CHECK(!w->needs_grad || w->is_param, "linear_nll: a weight that is computed");
    struct tensor *y = tensor_new1(c, F32, x->shape[0]);
    struct linear_nll_node n = {
        .x = x, .w = w, .target = target, .lse = tensor_new1(c, F32, x->shape[0]), .cap = cap
    };

    n.low = low_rank_enter(c, x, w, l);
    chunks_forward(c, y, &n);
    if (tape_needs(c, y, x, w, n.low.lora.a, n.low.lora.b))
        TAPE_PUSH(c, linear_nll_node, y, linear_nll_backward, .x = x, .w = w, .target = target, .lse = n.lse,
                  .low = n.low, .cap = cap);
    return y;
}
