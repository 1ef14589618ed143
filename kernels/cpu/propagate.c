#include "kernels/cpu/row.h"

#include <stdlib.h>
#include <string.h>

/* The edges of a node, in one direction. */
struct neighbours {
    const int32_t *offsets, *edges, *others; /* edges NULL: k itself is the edge */
    const float *w;
};

static struct neighbours neighbours_of(const struct graph *g, const struct tensor *w, bool back)
{
    return (struct neighbours){ .offsets = (back ? g->out_offsets : g->offsets)->data,
                                .edges = back ? g->out_edges->data : NULL,
                                .others = (back ? g->targets : g->sources)->data,
                                .w = w->data };
}

CPU_CLONES static void add_weighted(float *sum, float w, const float *x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        sum[j] += w * x[j];
}

static void sum_node(float *sum, float *buf, const struct neighbours *b, const struct tensor *x, int64_t i,
                     int64_t cols)
{
    memset(sum, 0, (size_t)cols * sizeof *sum);
    for (int32_t k = b->offsets[i]; k < b->offsets[i + 1]; k++) {
        int32_t e = b->edges ? b->edges[k] : k;
        add_weighted(sum, b->w[e], row_in(buf, x, b->others[e] * cols, cols), cols);
    }
}

void cpu_propagate(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,
                   const struct graph *g, bool back)
{
    struct neighbours b = neighbours_of(g, w, back);
    int64_t cols = tensor_cols(x);

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < g->nodes; i++) {
            sum_node(sum, buf, &b, x, i, cols);
            row_store(y, i * cols, sum, cols);
        }
        free(buf);
    }
}
