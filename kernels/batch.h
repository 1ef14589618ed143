/*
 * batch.h - converts host arrays into device tensors: ids, offsets, indexes and graphs of one batch.
 *
 * The arenas of the ctx own all results.  A workspace uploads the inputs of a step in one copy.  Launch parameters that
 * are not shapes, such as the length of the longest sequence, are added to the hash of the shapes.
 */
#ifndef KERNELS_BATCH_H
#define KERNELS_BATCH_H

#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Return host numbers as a tensor: I32 [n], or [rows, cols] in F32 or rounded to BF16. */
struct tensor *batch_i32(struct ctx *c, const int32_t *x, int64_t n);
struct tensor *batch_f32(struct ctx *c, const float *x, int64_t rows, int64_t cols, enum dtype dtype);
/* Appends rows of zeros, so that the tensor has `padded` rows. */
struct tensor *batch_f32_padded(struct ctx *c, const float *x, int64_t rows, int64_t padded, int64_t cols,
                                enum dtype dtype);

/*
 * Rounds n up to one of `steps` sizes for each power of two.  Devices that capture (ctx.buckets) pad a batch to these
 * sizes with elements of weight zero, so that few captures serve many batches.  Use few steps for dimensions whose
 * padding costs little.
 */
int64_t batch_bucket(int64_t n, int steps);
/* Returns a bound that launches depend on, and adds it to the hash: n, or its bucket on devices that capture. */
int64_t batch_bound(struct ctx *c, int64_t n, int steps);
/* Makes the offsets of n sequences from their lengths. */
struct seqs batch_seqs(struct ctx *c, const int32_t *lengths, int64_t n);
/* Like batch_seqs, for segments whose maximum length no launch depends on, as in pooling.  max_len is the number of
 * rows. */
struct seqs batch_segments(struct ctx *c, const int32_t *lengths, int64_t n);
/* Makes an index of n row numbers, each in [0, rows).  All lists but ids are NULL unless a backward follows
 * (ctx.recording). */
struct index batch_index(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows);
/* Like batch_index, always with all lists, for op_scatter. */
struct index batch_places(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows);
/* Makes a graph from edges in any order.  Duplicates are kept. */
struct edge {
    int32_t source, target, type;
};
struct graph batch_graph(struct ctx *c, const struct edge *edges, int64_t n_edges, int64_t n_nodes);

#ifdef __cplusplus
}
#endif
#endif
