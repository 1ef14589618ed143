/*
 * batch.h - host arrays into device tensors: ids, offsets, indexes and graphs of one batch.
 *
 * Everything lands in the arenas of the ctx; a workspace uploads the inputs of a step in one copy.  What a launch
 * depends on beyond shapes (the longest sequence) joins the hash of the shapes.
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
/* The same with rows of zeros behind them, `padded` in all. */
struct tensor *batch_f32_padded(struct ctx *c, const float *x, int64_t rows, int64_t padded, int64_t cols,
                                enum dtype dtype);

/*
 * n rounded up to one of `steps` sizes for each power of two.  On devices that capture (ctx.buckets) a batch is padded
 * to such sizes with what weighs nothing, so that few captures serve many batches; with few steps what costs little.
 */
int64_t batch_bucket(int64_t n, int steps);
/* A bound that launches depend on: n, on those devices its bucket.  It joins the hash. */
int64_t batch_bound(struct ctx *c, int64_t n, int steps);
/* lengths of n sequences */
struct seqs batch_seqs(struct ctx *c, const int32_t *lengths, int64_t n);
/* The same of segments whose longest no launch depends on, as those that are pooled: max_len is all rows. */
struct seqs batch_segments(struct ctx *c, const int32_t *lengths, int64_t n);
/* n row numbers, each in [0, rows); but for ids only where a backward will follow (ctx.recording), else NULL */
struct index batch_index(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows);
/* The same with all lists in any case: for op_scatter. */
struct index batch_places(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows);
/* An edge list in any order; duplicates are kept, so drop them before if they are not wanted. */
struct edge {
    int32_t source, target, type;
};
struct graph batch_graph(struct ctx *c, const struct edge *edges, int64_t n_edges, int64_t n_nodes);

#ifdef __cplusplus
}
#endif
#endif
