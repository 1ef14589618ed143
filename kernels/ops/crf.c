/*
 * A linear-chain conditional random field: log partition function, negative log likelihood, best tagging. The
 * likelihood of the allowed taggings is the difference of two partition functions, one of them over the allowed tags
 * alone (Tsuboi et al. 2008). Both share the backward.
 */
#include "kernels/kernels.h"

struct crf_node {
    struct node node;
    struct tensor *e, *allowed, *alpha;
    struct seqs s;
    struct crf m;
};

static void check_shapes(const struct tensor *e, const struct tensor *allowed, const struct crf *m)
{
    int64_t tags = tensor_cols(e);

    CHECK(e->ndim == 2 && e->dtype == F32 && tags > 0 && tags <= CRF_TAGS_MAX, "crf: emissions of %lld tags of %s",
          (long long)tags, dtype_name(e->dtype));
    CHECK(m->weights->dtype == F32 && m->weights->ndim == 2 && m->weights->shape[0] == tags + 2 &&
              m->weights->shape[1] == tags,
          "crf: expected weights [%lld, %lld] of f32, got [%lld, %lld] of %s", (long long)tags + 2, (long long)tags,
          (long long)m->weights->shape[0], (long long)tensor_cols(m->weights), dtype_name(m->weights->dtype));
    CHECK(!m->forbidden || (m->forbidden->dtype == I32 && tensor_size(m->forbidden) == tags + 2),
          "crf: %lld words of forbidden tags for %lld tags", (long long)tensor_size(m->forbidden), (long long)tags);
    CHECK(!allowed || (allowed->dtype == I32 && tensor_size(allowed) == e->shape[0]),
          "crf: allowed tags of %lld tokens, emissions of %lld", (long long)tensor_size(allowed),
          (long long)e->shape[0]);
}

static void crf_backward(struct ctx *c, struct node *node)
{
    struct crf_node *n = (struct crf_node *)node;
    struct destination de = destination_of(c, n->e), dw = destination_of(c, n->m.weights);
    const struct seqs *s = &n->s;
    const struct crf *m = &n->m;
    size_t mark = arena_mark(c->step);
    /* Each sequence writes a row of its own, and the rows are added in order. */
    struct tensor *sums = dw.t ? tensor_new2(c, F32, s->n, tensor_size(m->weights)) : NULL;

    RUN(c, crf_log_z_backward, de, sums, node->out->grad, n->alpha, n->e, n->allowed, s, m);
    if (sums) {
        struct tensor flat = *dw.t;
        flat.ndim = 1;
        flat.shape[0] = tensor_size(dw.t);
        struct destination total = { &flat, dw.add };
        RUN(c, sum_rows, total, sums);
    }
    arena_reset(c->step, mark);
}

struct tensor *op_crf_log_z(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                            const struct crf *m)
{
    check_shapes(e, allowed, m);
    struct tensor *y = tensor_new1(c, F32, s->n), *alpha = tensor_like(c, e);

    RUN(c, crf_log_z, y, alpha, e, allowed, s, m);
    if (tape_needs(c, y, e, m->weights))
        TAPE_PUSH(c, crf_node, y, crf_backward, .e = e, .allowed = allowed, .alpha = alpha, .s = *s, .m = *m);
    return y;
}

struct tensor *op_crf_nll(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                          const struct crf *m)
{
    struct tensor *within = op_scale(c, op_crf_log_z(c, e, allowed, s, m), -1.0f);

    return op_add(c, op_crf_log_z(c, e, NULL, s, m), within);
}

struct tensor *op_viterbi(struct ctx *c, struct tensor *e, struct tensor *allowed, const struct seqs *s,
                          const struct crf *m)
{
    check_shapes(e, allowed, m);
    struct tensor *y = tensor_new1(c, I32, e->shape[0]);
    size_t mark = arena_mark(c->step);
    struct tensor *back = tensor_new2(c, I32, e->shape[0], tensor_cols(e));

    RUN(c, viterbi, y, back, e, allowed, s, m);
    arena_reset(c->step, mark);
    return y;
}
