/*
 * causal_attention.h - the common part of causal attention and its backward on the CPU: the keys that each query sees,
 * in tiles.
 *
 * A row is one head of one query.  The rows of a block are the heads of one group for consecutive queries, so all of
 * them share one read of the group's k and v.
 *
 * Keys of the prefix have negative positions, and keys of the sequence start at position 0.  Query t sees all keys
 * before position ahead + t + 1, and with a window only the last `window` of them.  A tile is KEYS consecutive keys of
 * the prefix or of the sequence itself.
 */
#ifndef KERNELS_CPU_CAUSAL_ATTENTION_H
#define KERNELS_CPU_CAUSAL_ATTENTION_H

#include "kernels/cpu/tile.h"

enum { BLOCK_ROWS = 64, KEYS = 128 };

/* A block of rows goes over tiles of keys with a running softmax (Milakov and Gimelshein 2018).  most, sum and out
 * cover the keys so far.  exp(score - most) is the weight of a key, sum is the sum of all weights, and out is the
 * weighted sum of the values.  A row's numbers depend neither on the rows beside it nor on the number of keys of a tile
 * that it does not see.  The struct is the scratch of a thread. */
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

/* The arguments of the kernels, prepared once per call. */
struct causal_job {
    const struct tensor *q, *k, *v;
    const int32_t *offsets, *key_start, *key_len, *prefix_start, *prefix_len; /* prefix_*: NULL without prefixes */
    int64_t dim, pad; /* channels of a head; the same in whole vectors */
    int64_t n, max_len, max_keys;
    int groups, each; /* heads of a group */
    float scale;
    const float *bias;     /* [heads, 2 reach + 1], NULL: none */
    int64_t reach, window; /* window: 0 for none */
    float cap;             /* 0: none */
};
struct causal_job causal_job_of(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                const struct causal *s, const struct attention_form *form);
/* Makes a job without sequences. */
struct causal_job causal_job_of_form(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                     const struct attention_form *form);
/* Returns the number of queries of a block. */
int64_t causal_block(const struct causal_job *job);
/* Returns whether threads are worthwhile if this many numbers are computed from all keys. */
bool causal_parallel(const struct causal_job *job, int64_t numbers);

/* One sequence. */
struct causal_span {
    int64_t number, q_from, n_queries, key_from, n_keys, prefix_from, n_prefix, ahead;
};
struct causal_span causal_span_of(const struct causal_job *job, int64_t sequence);

struct causal_tile {
    int64_t row, n, at; /* first row in k, how many, position of the first */
};
static inline int64_t causal_tiles(int64_t keys)
{
    return (keys + KEYS - 1) / KEYS;
}
/* Return the number of tiles of which the queries before `end` see keys, and the i-th of these tiles.  The tile omits
 * keys that no such query sees. */
int64_t causal_tiles_seen(const struct causal_span *a, int64_t end);
struct causal_tile causal_tile_of(const struct causal_span *a, int64_t i, int64_t end);
/* Returns the number of keys of the tile that query t sees. */
static inline int64_t causal_seen(const struct causal_span *a, const struct causal_tile *tile, int64_t t)
{
    int64_t seen = a->ahead + t + 1 - tile->at;
    return seen < 0 ? 0 : seen < tile->n ? seen : tile->n;
}
/* Returns the number of keys at the start of the tile that are too far before query t. */
static inline int64_t causal_passed(const struct causal_job *job, const struct causal_span *a,
                                    const struct causal_tile *tile, int64_t t)
{
    int64_t passed = job->window ? a->ahead + t + 1 - job->window - tile->at : 0;
    return passed < 0 ? 0 : passed < tile->n ? passed : tile->n;
}

/* Replaces scores by cap tanh(score / cap).  If slopes is not NULL, it gets the derivative of each result. */
void causal_cap_scores(float *scores, float *slopes, const struct causal_job *job, int64_t rows, int64_t width);

/* Adds the biases to scores [n * each, KEYS] of queries [from, from + n) of one group and a tile of keys. */
void causal_add_bias(float *scores, const struct causal_job *job, const struct causal_span *a,
                     const struct causal_tile *tile, int64_t group, int64_t from, int64_t n);

/* Loads the rows of queries [from, from + n) of one group: rows [n * each, pad] of x [T, H D], times scale. */
void causal_load_rows(float *rows, const struct causal_job *job, const struct tensor *x, const struct causal_span *a,
                      int64_t group, int64_t from, int64_t n, float scale);
/* x (+)= such rows. */
void causal_store_rows(struct destination x, const struct causal_job *job, const float *rows,
                       const struct causal_span *a, int64_t group, int64_t from, int64_t n);

#endif
