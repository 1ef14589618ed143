/*
 * A block of query rows against tiles of keys: the online softmax (Milakov and Gimelshein 2018).
 *
 * Each row keeps the maximum of its scores, the sum of its weights relative to this maximum, and its weighted sum of
 * values. A new tile may raise the maximum; sum and output are then rescaled. The scratch is one allocation, so that a
 * thread takes and frees it once.
 */
#include "kernels/cpu/attention_block.h"

#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attention_block attention_block_new(int64_t rows, int64_t pad)
{
    int64_t tile = KEYS * pad, total = rows * (2 * pad + KEYS + 2) + 2 * tile;
    float *at = floats_new(total);

    memset(at, 0, (size_t)total * sizeof *at);
    return (struct attention_block){ .q = at,
                                     .out = at + rows * pad,
                                     .tile = at + 2 * rows * pad,
                                     .turned = at + 2 * rows * pad + tile,
                                     .s = at + 2 * (rows * pad + tile),
                                     .most = at + total - 2 * rows,
                                     .sum = at + total - rows,
                                     .pad = pad };
}

void attention_block_free(struct attention_block *b)
{
    free(b->q);
}

void attention_block_start(const struct attention_block *b, int64_t rows)
{
    memset(b->out, 0, (size_t)(rows * b->pad) * sizeof *b->out);
    for (int64_t r = 0; r < rows; r++) {
        b->most[r] = -INFINITY;
        b->sum[r] = 0;
    }
}

void attention_block_score(const struct attention_block *b, int64_t rows, const float *k, int64_t ld, int64_t n)
{
    transpose(b->turned, KEYS, k, ld, n, b->pad);
    tile_gemm_run(&(struct tile_gemm){ b->s, b->q, b->turned, rows, whole_lanes(n), b->pad, KEYS, b->pad, 1, KEYS });
}

/* Computes the weights of one row, with zeros up to `from` and from `seen` to width.  The sums so far are rescaled to
 * the new maximum. */
static inline __attribute__((always_inline)) void softmax_row(float *restrict s, float *restrict out,
                                                              float *restrict most, float *restrict sum, int64_t from,
                                                              int64_t seen, int64_t width, int64_t pad)
{
    /* Maximum and sum run down LANES lanes and are joined in a fixed tree. */
    float top[LANES], part[LANES] = { 0 };
    int64_t near = whole_lanes(seen); /* so that nothing depends on how many keys follow */

    for (int64_t j = 0; j < from; j++)
        s[j] = -INFINITY;
    for (int64_t j = seen; j < near; j++)
        s[j] = -INFINITY;
    for (int l = 0; l < LANES; l++)
        top[l] = *most;
    for (int64_t j = 0; j < near; j += LANES)
        for (int l = 0; l < LANES; l++)
            top[l] = s[j + l] > top[l] ? s[j + l] : top[l];
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            top[l] = top[l] > top[l + half] ? top[l] : top[l + half];
    /* Before the first key, *most is -INFINITY and shrink is 0, which leaves the zeros of sum and out. */
    float high = top[0], shrink = vexp(*most - high);
    for (int64_t j = 0; j < near; j += LANES)
        for (int l = 0; l < LANES; l++) {
            s[j + l] = vexp(s[j + l] - high);
            part[l] += s[j + l];
        }
    for (int64_t j = 0; j < from; j++)
        s[j] = 0;
    for (int64_t j = seen; j < width; j++)
        s[j] = 0; /* instead of the smallest number that vexp returns */
    *most = high;
    *sum = *sum * shrink + sum_lanes(part);
    for (int64_t d = 0; shrink < 1 && d < pad; d++)
        out[d] *= shrink;
}

CPU_CLONES static void softmax_rows(const struct attention_block *b, int64_t first, int64_t rows, int64_t from,
                                    int64_t seen, int64_t width)
{
    for (int64_t r = first; r < first + rows; r++)
        softmax_row(b->s + r * KEYS, b->out + r * b->pad, b->most + r, b->sum + r, from, seen, width, b->pad);
}

void attention_block_weigh(const struct attention_block *b, int64_t first, int64_t rows, int64_t from, int64_t seen,
                           int64_t n)
{
    int64_t width = whole_lanes(n);

    /* A row that sees no key of this tile has weights 0 and keeps its sums. */
    if (seen > from)
        softmax_rows(b, first, rows, from, seen, width);
    for (int64_t r = first; seen <= from && r < first + rows; r++)
        memset(b->s + r * KEYS, 0, (size_t)width * sizeof *b->s);
}

void attention_block_add(const struct attention_block *b, int64_t rows, const float *v, int64_t ld, int64_t n)
{
    tile_gemm_add(&(struct tile_gemm){ b->out, b->s, v, rows, b->pad, n, b->pad, KEYS, 1, ld });
}
