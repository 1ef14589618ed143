/*
 * A product of two matrices, each of them transposed or not.
 */
#include "kernels/kernels.h"

struct matmul_node {
    struct node node;
    struct tensor *a, *b;
    bool ta, tb;
};

/* y = op(a) op(b): d op(a) = dy op(b)^T, d op(b) = op(a)^T dy.  Each gradient is transposed if its operand is. */
static void matmul_backward(struct ctx *c, struct node *node)
{
    struct matmul_node *n = (struct matmul_node *)node;
    struct tensor *dy = node->out->grad;

    struct destination da = destination_of(c, n->a);
    if (da.t && n->ta)
        RUN(c, matmul, da, n->b, n->tb, dy, true);
    else if (da.t)
        RUN(c, matmul, da, dy, false, n->b, !n->tb);
    struct destination db = destination_of(c, n->b);
    if (db.t && n->tb)
        RUN(c, matmul, db, dy, true, n->a, n->ta);
    else if (db.t)
        RUN(c, matmul, db, n->a, !n->ta, dy, false);
}

struct tensor *op_matmul(struct ctx *c, struct tensor *a, bool ta, struct tensor *b, bool tb)
{
    CHECK(a->ndim == 2 && b->ndim == 2 && a->shape[ta ? 0 : 1] == b->shape[tb ? 1 : 0] && a->dtype == b->dtype,
          "matmul: [%lld, %lld]%s of %s by [%lld, %lld]%s of %s", (long long)a->shape[0], (long long)tensor_cols(a),
          ta ? "^T" : "", dtype_name(a->dtype), (long long)b->shape[0], (long long)tensor_cols(b), tb ? "^T" : "",
          dtype_name(b->dtype));
    struct tensor *y = tensor_new2(c, a->dtype, a->shape[ta ? 1 : 0], b->shape[tb ? 0 : 1]);
    struct destination out = { y, false };
    RUN(c, matmul, out, a, ta, b, tb);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, matmul_node, y, matmul_backward, .a = a, .b = b, .ta = ta, .tb = tb);
    return y;
}
