/*
 * attention_block.h - a block of rows of attention on the CPU, over keys that come tile by tile with a running softmax.
 *
 * most, sum and out are of the keys so far: exp(score - most) is the weight of a key, sum that of all, out what they
 * make of the values.  A row's numbers do not depend on the rows beside it, nor on how many keys of a tile it does not
 * see.
 */
#ifndef KERNELS_CPU_ATTENTION_BLOCK_H
#define KERNELS_CPU_ATTENTION_BLOCK_H

#include "kernels/cpu/tile.h"

enum { BLOCK_ROWS = 64, KEYS = 128 };

/* A thread's scratch. */
struct attention_block {
    float *q, *out;    /* [rows, pad] */
    float *s;          /* [rows, KEYS] scores of a tile, then weights */
    float *most, *sum; /* [rows] */
    float *tile;       /* [KEYS, pad] room for keys or values that must be converted or gathered */
    float *turned;     /* [pad, KEYS] */
    int64_t pad;       /* numbers of a head, in whole vectors */
};
/* What pads a head is zero. */
struct attention_block attention_block_new(int64_t rows, int64_t pad);
void attention_block_free(struct attention_block *b);

/* No key has come yet. */
void attention_block_start(const struct attention_block *b, int64_t rows);
/* s = q k^T for a tile of n keys, ld apart */
void attention_block_score(const struct attention_block *b, int64_t rows, const float *k, int64_t ld, int64_t n);
/* Scores of rows [first, first + rows), which see keys [from, seen) of the tile's n, become weights. */
void attention_block_weigh(const struct attention_block *b, int64_t first, int64_t rows, int64_t from, int64_t seen,
                           int64_t n);
/* out += s v */
void attention_block_add(const struct attention_block *b, int64_t rows, const float *v, int64_t ld, int64_t n);

#endif
