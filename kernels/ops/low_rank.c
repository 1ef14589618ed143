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

/* What A reads: x, or a copy of it with the step's dropout, in scratch of the caller. */
static const struct tensor *dropped(struct ctx *c, const struct low_rank *n, const struct tensor *x)
{
    if (n->p == 0)
        return x;
    struct destination out = { tensor_like(c, x), false };
    RUN(c, dropout, out, x, n->p, n->site);
    return out.t;
}

struct low_rank low_rank_enter(struct ctx *c, struct tensor *x, const struct tensor *w, const struct lora *l)
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
    size_t mark = arena_mark(c->step);
    const struct tensor *in = dropped(c, &n, x);
    struct destination sum = { tensor_new(c, F32, 2, n.h->shape), false }, h = { n.h, false };
    RUN(c, matmul, sum, in, false, l->a, true);
    RUN(c, scale, h, sum.t, l->scale);
    arena_reset(c->step, mark);
    return n;
}

void low_rank_leave(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *w,
                    const struct tensor *bias, const struct tensor *h, const struct tensor *b)
{
    struct destination out = { y, bias != NULL };

    if (bias)
        RUN(c, linear, y, NULL, x, w, bias, ACT_NONE);
    if (h) {
        RUN(c, matmul, out, h, false, b, true);
        out.add = true;
    }
    if (!bias)
        RUN(c, matmul, out, x, false, w, true);
}

bool low_rank_needs(const struct low_rank *n, struct destination dx)
{
    return n->h && (dx.t || n->lora.a->needs_grad);
}

void low_rank_backward(struct ctx *c, const struct low_rank *n, struct destination dx, struct tensor *x,
                       const struct tensor *dy_b)
{
    struct destination da = destination_of(c, n->lora.a);
    size_t mark = arena_mark(c->step);
    struct destination dh = { tensor_like(c, n->h), false };

    RUN(c, scale, dh, dy_b, n->lora.scale);
    if (da.t) {
        const struct tensor *in = dropped(c, n, x);
        RUN(c, matmul, da, dh.t, true, in, false);
    }
    if (dx.t && n->p > 0) {
        struct destination through = { tensor_like(c, x), false };
        RUN(c, matmul, through, dh.t, false, n->lora.a, false);
        RUN(c, dropout, dx, through.t, n->p, n->site);
    } else if (dx.t) {
        RUN(c, matmul, dx, dh.t, false, n->lora.a, false);
    }
    arena_reset(c->step, mark);
}
