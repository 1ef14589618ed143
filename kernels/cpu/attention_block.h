/*
 * attention_block.h - a block of rows of attention on the CPU, over tiles of keys with a running softmax (Milakov and
 * Gimelshein 2018).
 *
 * most, sum and out cover the keys so far.  exp(score - most) is the weight of a key, sum is the sum of all weights,
 * and out is the weighted sum of the values.  A row's numbers depend neither on the rows beside it nor on the number of
 * keys of a tile that it does not see.
 */
#ifndef KERNELS_CPU_ATTENTION_BLOCK_H
#define KERNELS_CPU_ATTENTION_BLOCK_H

#include "kernels/cpu/tile.h"

enum { BLOCK_ROWS = 64, KEYS = 128 };

/* The scratch of a thread. */
struct attention_block {
    float *q, *out;    /* [rows, pad] */
    float *s;          /* [rows, KEYS] scores of a tile, then weights */
    float *most, *sum; /* [rows] */
    float *tile;       /* [KEYS, pad] keys or values that must be converted or gathered */
    float *turned;     /* [pad, KEYS] */
    int64_t pad;       /* channels of a head, rounded up to whole vectors */
};
/* Allocates the scratch of a block.  The padding of a head is zero. */
struct attention_block attention_block_new(int64_t rows, int64_t pad);
void attention_block_free(struct attention_block *b);

/* Resets the running softmax of the rows before the first tile. */
void attention_block_start(const struct attention_block *b, int64_t rows);
/* s = q k^T for a tile of n keys, ld apart */
void attention_block_score(const struct attention_block *b, int64_t rows, const float *k, int64_t ld, int64_t n);
/* Converts scores of rows [first, first + rows) to weights.  The rows see keys [from, seen) of the n keys of the
 * tile. */
void attention_block_weigh(const struct attention_block *b, int64_t first, int64_t rows, int64_t from, int64_t seen,
                           int64_t n);
/* out += s v */
void attention_block_add(const struct attention_block *b, int64_t rows, const float *v, int64_t ld, int64_t n);

#endif
