/*
 * Causal attention of training and attention of decoding over a paged cache. Both take a struct attention_form.
 */
#include "kernels/device.h"
#include "kernels/kernels.h"

#include <math.h>

/* Returns the form with its defaults filled in. */
static struct attention_form whole_form(const char *op, const struct attention_form *form, const struct tensor *q)
{
    struct attention_form f = *form;

    CHECK(f.heads > 0 && f.groups >= 0 && f.heads % (f.groups ? f.groups : 1) == 0, "%s: %d heads in %d groups", op,
          f.heads, f.groups);
    CHECK(f.scale >= 0 && f.p == 0, "%s: scale %g, dropout %g", op, (double)f.scale, (double)f.p);
    CHECK(f.cap >= 0 && f.window >= 0, "%s: scores capped at %g, a window of %d", op, (double)f.cap, f.window);
    CHECK(!f.bias || (f.bias->dtype == F32 && f.bias->ndim == 2 && f.bias->shape[0] == f.heads && f.bias->shape[1] % 2),
          "%s: a bias of %lld numbers of %s for %d heads, expected F32 [heads, 2 R + 1]", op,
          (long long)tensor_size(f.bias), dtype_name(f.bias->dtype), f.heads);
    f.groups = f.groups ? f.groups : f.heads;
    int64_t dim = tensor_cols(q) / f.heads;
    f.scale = f.scale > 0 ? f.scale : 1.0f / sqrtf((float)dim);
    return f;
}

/* Aborts unless q [T, H D], k and v [rows, G D] match the form. */
static void check_form(const char *op, const struct attention_form *whole, const struct tensor *q,
                       const struct tensor *k, const struct tensor *v)
{
    int heads = whole->heads, groups = whole->groups;
    int64_t dim = tensor_cols(q) / heads;

    CHECK(q->ndim == 2 && k->ndim == 2 && v->ndim == 2 && q != k && q != v && k != v,
          "%s: q, k and v are three matrices", op);
    CHECK(q->dtype == k->dtype && q->dtype == v->dtype, "%s: q %s, k %s, v %s", op, dtype_name(q->dtype),
          dtype_name(k->dtype), dtype_name(v->dtype));
    CHECK(dim >= 1 && dim <= HEAD_DIM_MAX && dim * heads == tensor_cols(q),
          "%s: q has %lld columns for %d heads of 1 .. %d", op, (long long)tensor_cols(q), heads, HEAD_DIM_MAX);
    CHECK(k->shape[0] == v->shape[0] && tensor_cols(k) == groups * dim && tensor_cols(v) == groups * dim,
          "%s: k [%lld, %lld], v [%lld, %lld], %d groups of %lld", op, (long long)k->shape[0],
          (long long)tensor_cols(k), (long long)v->shape[0], (long long)tensor_cols(v), groups, (long long)dim);
}

/* Causal attention with groups of heads, prefixes, windows and capped scores. The record keeps log sum exp of each row
 * and no weights. */
struct causal_attention_node {
    struct node node;
    struct tensor *q, *k, *v, *lse;
    struct causal s;
    struct attention_form form;
};

/* Allocates step memory for the sums of dq.  Returns NULL if the device needs none. */
static struct tensor *room_for_sums(struct ctx *c, const struct causal_attention_node *n, bool dq)
{
    int64_t dim = tensor_cols(n->q) / n->form.heads;

    if (!c->dev->sums_dq || n->q->dtype != BF16 || dim > CAUSAL_SUM_DIM)
        return NULL;
    return tensor_new1(
        c, I32, causal_sum_words(n->q->shape[0], n->k->shape[0], n->s.qs.n, n->form.heads, n->form.groups, dim, dq));
}

static void causal_attention_backward(struct ctx *c, struct node *node)
{
    struct causal_attention_node *n = (struct causal_attention_node *)node;
    struct destination dq = destination_of(c, n->q), dk = destination_of(c, n->k), dv = destination_of(c, n->v);
    struct destination dbias = destination_of(c, n->form.bias);
    const struct causal *s = &n->s;
    const struct attention_form *form = &n->form;

    /* Sums of dq to which several blocks add need memory of their own until the kernel is done. */
    size_t mark = arena_mark(c->step);
    struct tensor *sums = room_for_sums(c, n, dq.t != NULL);

    RUN(c, causal_attention_backward, dq, dk, dv, dbias, sums, node->out->grad, node->out, n->lse, n->q, n->k, n->v, s,
        form);
    arena_reset(c->step, mark);
}

static void check_causal(const struct causal *s)
{
    int64_t n = s->qs.n;

    CHECK(tensor_size(s->key_start) == n && tensor_size(s->key_len) == n,
          "causal_attention: %lld key_start, %lld key_len of %lld sequences", (long long)tensor_size(s->key_start),
          (long long)tensor_size(s->key_len), (long long)n);
    if (s->prefix_len)
        CHECK(tensor_size(s->prefix_start) == n && tensor_size(s->prefix_len) == n,
              "causal_attention: %lld prefix_start, %lld prefix_len of %lld sequences",
              (long long)tensor_size(s->prefix_start), (long long)tensor_size(s->prefix_len), (long long)n);
}

struct tensor *op_causal_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                   const struct causal *s, const struct attention_form *form)
{
    struct attention_form whole = whole_form("causal_attention", form, q);
    const struct attention_form *f = &whole;

    check_form("causal_attention", f, q, k, v);
    check_causal(s);
    struct tensor *y = tensor_like(c, q), *lse = tensor_new2(c, F32, q->shape[0], f->heads);

    RUN(c, causal_attention, y, lse, q, k, v, s, f);
    if (tape_needs(c, y, q, k, v, f->bias)) {
        /* Only a step of training has a record. It computes all keys itself, so that there are no cached ones behind
         * the queries. */
        CHECK(q->shape[0] <= k->shape[0], "causal_attention: a record for %lld queries and %lld keys",
              (long long)q->shape[0], (long long)k->shape[0]);
        CHECK(!s->prefix_len || tensor_size(s->last) == s->qs.n, "causal_attention: a record of prefixes needs last");
        TAPE_PUSH(c, causal_attention_node, y, causal_attention_backward, .q = q, .k = k, .v = v, .lse = lse, .s = *s,
                  .form = whole);
    }
    return y;
}

/* Attention of decoding over a paged cache. It has no record. Partial results are scratch, as large as the host's cut
 * of the work says. */
static void check_words(const char *what, const struct tensor *t, int64_t n)
{
    CHECK(t->dtype == I32 && tensor_size(t) == n, "paged_attention: %lld %s of %s, expected %lld of i32",
          (long long)tensor_size(t), what, dtype_name(t->dtype), (long long)n);
}

static void check_paged(const struct paged *p, int64_t queries)
{
    CHECK(p->table->dtype == I32 && p->table->ndim == 2, "paged_attention: a table of %s, expected I32 [rows, keys]",
          dtype_name(p->table->dtype));
    check_words("seen", p->seen, queries);
    check_words("words of units", p->units, p->n_units * PAGED_WORDS);
    check_words("parts", p->parts, queries + 1);
    CHECK(!p->whole || p->n_parts == 0, "paged_attention: %lld parts of whole queries", (long long)p->n_parts);
    CHECK(p->n_parts >= 0 && p->max_queries >= 0 && p->max_pages >= 0,
          "paged_attention: %lld parts, units of %lld queries and %lld pages", (long long)p->n_parts,
          (long long)p->max_queries, (long long)p->max_pages);
}

struct tensor *op_paged_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                  const struct paged *p, const struct attention_form *form)
{
    struct attention_form whole = whole_form("paged_attention", form, q);
    const struct attention_form *f = &whole;

    CHECK(!c->recording, "paged_attention has no backward; causal_attention has");
    check_form("paged_attention", f, q, k, v);
    check_paged(p, q->shape[0]);
    /* A captured step depends on these numbers: they are part of its shape. */
    ctx_note(c, p->max_queries);
    ctx_note(c, p->max_pages);
    ctx_note(c, p->whole);
    struct tensor *y = tensor_like(c, q);
    size_t mark = arena_mark(c->step);
    struct tensor *partial = tensor_new2(c, F32, p->n_parts, tensor_cols(q) + 2 * f->heads);
    RUN(c, paged_attention, y, partial, q, k, v, p, f);
    arena_reset(c->step, mark);
    return y;
}

/* Rows of a group that the kernels take at once if some queries have partial results. */
enum { UNIT_ROWS = 32 };

int64_t paged_unit_queries(int heads, int groups)
{
    int64_t each = heads / groups;
    return each < UNIT_ROWS ? UNIT_ROWS / each : 1;
}

/* Blocks of few pages fill a device, two or more for each multiprocessor.  Blocks of many pages store less. */
enum { BLOCKS = 264 };

int64_t paged_unit_pages(int64_t pages, int groups)
{
    int64_t most = 1;

    while (2 * most * BLOCKS <= pages * groups)
        most *= 2;
    return most;
}
