/*
 * Rotary positions (Su et al. 2021), for training and, in place, for a decoder.
 */
#include "kernels/kernels.h"

/* Rotary positions (Su et al. 2021). Angles are computed once for a step and shared by all layers. The backward turns
 * the gradient the other way. */
struct tensor *op_rope_angles(struct ctx *c, struct tensor *positions, struct tensor *freqs)
{
    CHECK(positions->dtype == I32 && freqs->dtype == F32, "rope: positions of %s, frequencies of %s",
          dtype_name(positions->dtype), dtype_name(freqs->dtype));
    struct tensor *y = tensor_new2(c, F32, tensor_size(positions), 2 * tensor_size(freqs));
    RUN(c, rope_angles, y, positions, freqs);
    return y;
}

struct rope_node {
    struct node node;
    struct tensor *x, *angles;
};

static void rope_backward(struct ctx *c, struct node *node)
{
    struct rope_node *n = (struct rope_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, rope, dx, node->out->grad, n->angles, true);
}

struct tensor *op_rope(struct ctx *c, struct tensor *x, struct tensor *angles)
{
    int64_t cols = tensor_cols(x), head = tensor_cols(angles);
    CHECK(x->dtype != I32 && angles->dtype == F32 && tensor_rows(angles) == tensor_rows(x),
          "rope: %lld rows of %s, angles [%lld] of %s", (long long)tensor_rows(x), dtype_name(x->dtype),
          (long long)tensor_rows(angles), dtype_name(angles->dtype));
    CHECK(head > 0 && head % 2 == 0 && cols % head == 0, "rope: %lld columns, angles of %lld", (long long)cols,
          (long long)head);

    struct tensor *y = tensor_like(c, x);
    struct destination out = { y, false };
    RUN(c, rope, out, x, angles, false);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, rope_node, y, rope_backward, .x = x, .angles = angles);
    return y;
}

/* Rotary positions of a decoder, in place: norms of heads, rotation, and the copy of k and v into the cache in one
 * launch. It has no record. */
enum { HEAD_MAX = 512 };

static void check_norm(const struct tensor *norm, int64_t head)
{
    CHECK(!norm || (norm->dtype == F32 && tensor_size(norm) == head), "rope_cache: a norm of %lld for heads of %lld",
          (long long)tensor_size(norm), (long long)head);
}

static void check_cache(const struct rope_cache *r, const struct tensor *k, const struct tensor *v)
{
    CHECK(r->k->dtype == k->dtype && tensor_cols(r->k) == tensor_cols(k) && tensor_size(r->k) == tensor_size(r->v) &&
              r->v->dtype == v->dtype && tensor_size(v) == tensor_size(k) && !r->k->needs_grad && !r->v->needs_grad,
          "rope_cache: rows [%lld] of %s into [%lld] of %s", (long long)tensor_cols(k), dtype_name(k->dtype),
          (long long)tensor_cols(r->k), dtype_name(r->k->dtype));
    CHECK(r->ids->dtype == I32 && tensor_size(r->ids) == tensor_rows(k), "rope_cache: %lld rows, %lld ids of %s",
          (long long)tensor_rows(k), (long long)tensor_size(r->ids), dtype_name(r->ids->dtype));
}

void op_rope_cache(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v, const struct rope_cache *r)
{
    int64_t head = tensor_cols(r->angles);

    CHECK(!c->recording, "rope_cache has no backward; op_rope has");
    CHECK(q->dtype != I32 && q->dtype == k->dtype && r->angles->dtype == F32 && tensor_rows(q) == tensor_rows(k) &&
              tensor_rows(r->angles) == tensor_rows(q),
          "rope_cache: %lld rows of %s and %lld of %s, angles [%lld] of %s", (long long)tensor_rows(q),
          dtype_name(q->dtype), (long long)tensor_rows(k), dtype_name(k->dtype), (long long)tensor_rows(r->angles),
          dtype_name(r->angles->dtype));
    CHECK(head > 0 && head <= HEAD_MAX && head % 2 == 0 && tensor_cols(q) % head == 0 && tensor_cols(k) % head == 0,
          "rope_cache: %lld and %lld columns, angles of %lld", (long long)tensor_cols(q), (long long)tensor_cols(k),
          (long long)head);
    check_norm(r->q_norm, head);
    check_norm(r->k_norm, head);
    if (r->k)
        check_cache(r, k, v);
    RUN(c, rope_cache, q, k, v, r);
}
