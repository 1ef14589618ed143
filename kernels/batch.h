/*
 * batch.h - host arrays into device tensors: ids, offsets, indexes and graphs of one batch.
 *
 * Everything lands in the step arenas of the ctx.  In a dry run only the room is taken.  What a launch depends on
 * beyond shapes (the longest sequence, the largest degree) joins the hash of the shapes.
 */
#ifndef KERNELS_BATCH_H
#define KERNELS_BATCH_H

#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n numbers as a tensor; F32 or, rounded, BF16. */
struct tensor *batch_i32(struct ctx *c, const int32_t *x, int64_t n);
struct tensor *batch_f32(struct ctx *c, const float *x, int64_t rows, int64_t cols, enum dtype dtype);
/* lengths of n sequences */
struct seqs batch_seqs(struct ctx *c, const int32_t *lengths, int64_t n);
/* n row numbers, each in [0, rows) */
struct index batch_index(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows);
/* An edge list in any order; duplicates are kept, so drop them before if they are not wanted. */
struct edge {
    int32_t source, target, type;
};
struct graph batch_graph(struct ctx *c, const struct edge *edges, int64_t n_edges, int64_t n_nodes);

#ifdef __cplusplus
}
#endif
#endif
