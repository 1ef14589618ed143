#include "kernels/cpu/tile.h"

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

#define INTERLEAVE_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define INTERLEAVE_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* Interleaving row i with row i + 8 turns the bits of (row, column) by one place; four turns exchange the two. */
static inline __attribute__((always_inline)) void interleave(lanes *restrict out, const lanes *restrict in)
{
    for (int i = 0; i < LANES / 2; i++) {
        out[2 * i] = __builtin_shufflevector(in[i], in[i + LANES / 2], INTERLEAVE_LOW);
        out[2 * i + 1] = __builtin_shufflevector(in[i], in[i + LANES / 2], INTERLEAVE_HIGH);
    }
}

CPU_CLONES static void turn(float *restrict y, int64_t ldy, const float *restrict x, int64_t ldx, int64_t n,
                            int64_t dim)
{
    lanes tile[LANES], turned[LANES];

    for (int64_t t = 0; t < n; t += LANES)
        for (int64_t d = 0; d < dim; d += LANES) {
            for (int64_t l = 0; l < LANES; l++)
                /* Missing rows are zeros, so that y has whole vectors. */
                tile[l] = t + l < n ? *(const lanes *)(x + (t + l) * ldx + d) : (lanes){ 0 };
            interleave(turned, tile);
            interleave(tile, turned);
            interleave(turned, tile);
            interleave(tile, turned);
            for (int64_t l = 0; l < LANES; l++)
                *(lanes *)(y + (d + l) * ldy + t) = tile[l];
        }
}

void transpose(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t n, int64_t dim)
{
    turn(y, ldy, x, ldx, n, dim);
}

void tile_load(float *dst, int64_t ld, const struct tensor *x, int64_t at, int64_t stride, int64_t n, int64_t dim)
{
    size_t bytes = (size_t)dim * dtype_size(x->dtype);

    for (int64_t t = 0; t < n; t++, at += stride) {
        /* The rows of a head are a stride apart, where the processor does not prefetch by itself. */
        const char *next = (const char *)x->data + (size_t)at * dtype_size(x->dtype) + bytes;
        for (size_t line = 0; line < bytes; line += 64)
            __builtin_prefetch(next + line);
        row_load(dst + t * ld, x, at, dim);
    }
}

void tile_store(struct destination y, int64_t at, int64_t stride, const float *src, int64_t ld, int64_t n, int64_t dim)
{
    for (int64_t t = 0; t < n; t++)
        row_store(y, at + t * stride, src + t * ld, dim);
}
