/*
 * causal_mma.cuh - tiles of causal attention on tensor cores.
 *
 * A warp holds 16 or 32 rows of a group in registers; tiles of keys or rows lie in shared memory.  Heads are padded
 * with zeros to the width D of the tile, so any length up to D works.
 */
#ifndef KERNELS_CUDA_CAUSAL_MMA_CUH
#define KERNELS_CUDA_CAUSAL_MMA_CUH

#include "kernels/cuda/causal_attention.cuh"
#include "kernels/cuda/swizzled.cuh"

/* A tile of keys, either of the prefix or of a sequence's own keys.  Keys have positions: those of the prefix are
 * negative, and a sequence's own keys start at 0.  Query t sees all positions up to ahead + t. */
struct key_tile {
    int64_t row; /* the first in k */
    int n, at;   /* how many, and the position of the first */
};

/* The number of tiles that the first `end` queries see any of: those of the prefix, then those of the own keys. */
template <int KEYS>
__device__ inline int key_tiles(const struct packed_span &s, int end)
{
    return (s.n_prefix + KEYS - 1) / KEYS + (s.ahead + end + KEYS - 1) / KEYS;
}

/* The first tile that the queries from `first` on see any of.  It is not 0 only with a window. */
template <int KEYS>
__device__ inline int first_tile(const causal_args<bf16> &a, const struct packed_span &s, int first)
{
    int key = causal_first(a, s.n_prefix + s.ahead + first + 1);
    return key < s.n_prefix ? key / KEYS : (s.n_prefix + KEYS - 1) / KEYS + (key - s.n_prefix) / KEYS;
}

/* Whether a window is so short that weights keep 16 bits (see add_weighted). */
__device__ inline bool few_in_window(const causal_args<bf16> &a)
{
    constexpr int FEW = 128;
    return a.window > 0 && a.window <= FEW;
}

/* Tile number i.  The last tile of each kind may be shorter than KEYS. */
template <int KEYS>
__device__ inline struct key_tile key_tile_of(const struct packed_span &s, int i, int end)
{
    /* Tiles of the prefix come first, and a tile never has keys of both kinds. */
    int before = (s.n_prefix + KEYS - 1) / KEYS, from = KEYS * (i < before ? i : i - before);
    int left = (i < before ? s.n_prefix : s.ahead + end) - from;
    struct key_tile t;
    t.row = (i < before ? s.prefix_from : s.key_from) + from;
    t.n = left < KEYS ? left : KEYS;
    t.at = i < before ? from - s.n_prefix : from;
    return t;
}

/* Starts copying n keys of one group of k or v into a tile. */
template <int KEYS, int WIDTH>
__device__ inline void copy_keys(bf16 (&tile)[KEYS][WIDTH], const bf16 *x, const causal_args<bf16> &a, int64_t row,
                                 int64_t n, int group)
{
    fetch_tile(tile, x + (row * a.groups + group) * a.dim, (int64_t)a.groups * a.dim, n, a.dim);
}

/* Starts copying `n` rows of a group of q or dy, from `first` on, with zeros from row `rows` on. */
template <int ROWS, int WIDTH>
__device__ inline void copy_rows(bf16 (&tile)[ROWS][WIDTH], const bf16 *x, const causal_args<bf16> &a,
                                 const struct packed_span &s, int group, int first, int n, int rows)
{
    constexpr int PIECES = (WIDTH - TILE_GAP) / PACK;
    for (int t = thread_id(); t < n * PIECES; t += block_threads()) {
        int i = t / PIECES, d = t % PIECES * PACK, left = first + i < rows ? a.dim - d : 0;
        fetch_piece(&tile[i][d], left > 0 ? x + causal_row(a, s, group, first + i) * a.dim + d : x, left, a.dim);
    }
}

/* Stores the first `left` of two numbers. */
__device__ inline void put_two(float *x, float low, float high, int left)
{
    if (left > 0)
        x[0] = low;
    if (left > 1)
        x[1] = high;
}

/* Stores N rows of the tile from `row` on as the warp's rows of a group from `first` on; rows from `rows` on are not
 * stored. */
template <int N, int ROWS, int WIDTH>
__device__ inline void store_group_rows(bf16 *x, const bf16 (&tile)[ROWS][WIDTH], int row, const causal_args<bf16> &a,
                                        const struct packed_span &s, int group, int first, int rows)
{
    constexpr int PIECES = (WIDTH - TILE_GAP) / PACK;
    for (int t = lane_id(); t < N * PIECES; t += WARP) {
        int i = t / PIECES, d = t % PIECES * PACK;
        if (first + i < rows && d < a.dim)
            store_piece(x + causal_row(a, s, group, first + i) * a.dim + d, &tile[row + i][d], a.dim - d, a.dim);
    }
}

/* out += a tile over 16 rows of the tile from `row` on, and D of its columns from `column` on. */
template <int D, int M, int ROWS, int WIDTH>
__device__ inline void add_times_left(float (&out)[M][D / 8][4], const unsigned (&a)[M][4],
                                      const bf16 (&tile)[ROWS][WIDTH], int row, int column)
{
    UNROLL
    for (int n = 0; n < D / 16; n++) {
        unsigned b[4];
        load_matrices<true>(b, &tile[row + lane_id() % 16][column + 16 * n + lane_id() / 16 * 8]);
        const unsigned left[2] = { b[0], b[1] }, right[2] = { b[2], b[3] };
        UNROLL
        for (int m = 0; m < M; m++) {
            mma_bf16(out[m][2 * n], a[m], left);
            mma_bf16(out[m][2 * n + 1], a[m], right);
        }
    }
}

/*
 * out += a tile over the first n rows of the tile, with a rounded to bf16.
 *
 * A second pass adds the rounding errors of a for the 16 rows where `exact` says so.  Rows that see few keys need it:
 * if few large terms cancel, the error of one rounding would dominate their sum.
 */
template <int D, int M, int ROWS, int WIDTH>
__device__ inline void add_weighted(float (&out)[M][D / 8][4], const float (&a)[M][ROWS / 8][4],
                                    const bf16 (&tile)[ROWS][WIDTH], int n, const bool (&exact)[M])
{
    bool again = exact[0] || exact[M - 1];
    for (int pass = 0; pass < 1 + again; pass++) {
        UNROLL
        for (int k = 0; k < ROWS / 16; k++) {
            if (16 * k >= n)
                continue;
            unsigned left[M][4];
            /* Registers of the scores become registers of the left factor, as in split_left. */
            UNROLL
            for (int i = 0; i < 4 * M; i++) {
                const float *x = &a[i / 4][2 * k + i % 4 / 2][i % 2 * 2];
                unsigned pair = bf16_pair(x[0], x[1]);
                if (pass)
                    pair =
                        exact[i / 4] ? bf16_pair(x[0] - f32_bits(pair << 16), x[1] - f32_bits(pair & 0xffff0000u)) : 0u;
                left[i / 4][i % 4] = pair;
            }
            add_times_left<D>(out, left, tile, 16 * k, 0);
        }
    }
}

/* s += a tile^T over the first n rows of the tile; a is the rows from `row` on of another tile. */
template <int M, int ROWS, int TALL, int WIDTH>
__device__ inline void add_scores(float (&s)[M][ROWS / 8][4], const bf16 (&a)[TALL][WIDTH], int row,
                                  const bf16 (&tile)[ROWS][WIDTH], int n)
{
    UNROLL
    for (int k = 0; k < (WIDTH - TILE_GAP) / 16; k++) {
        unsigned left[M][4];
        take_left(left, a, row, 16 * k);
        add_times_transposed(s, left, tile, 16 * k, n);
    }
}

/* The warp's rows: their numbers in [Tq, heads], -1 for none, and the positions they see. */
template <int M>
struct warp_rows {
    int row[M][2];
    int sees[M][2]; /* the position of the first key that it does not see */
};

/* most tanh(x), where factor x is 2 x log2(e).  It needs fewer registers than tanhf, by tanh(x) = 1 - 2 / (1 + exp(2
 * x)).  Its error is a rounding of `most`, not of the result. */
__device__ inline float capped_score(float x, float most, float factor)
{
    return most - 2.0f * most / (1.0f + exp2_fast(factor * x));
}

/* Caps the scores, and divides the results by the scale that the softmax applies later. */
template <int M, int KEYS>
__device__ inline void cap_scores(float (&s)[M][KEYS / 8][4], const causal_args<bf16> &a)
{
    float unscaled = a.cap / a.scale, factor = 2.0f * LOG2_E / a.cap * a.scale;
    UNROLL
    for (int m = 0; m < M; m++) {
        UNROLL
        for (int i = 0; i < KEYS / 2; i++)
            s[m][i / 4][i % 4] = capped_score(s[m][i / 4][i % 4], unscaled, factor);
    }
}

/* Adds the biases, divided by the scale that the softmax applies later. */
template <int M, int KEYS>
__device__ inline void add_bias(float (&s)[M][KEYS / 8][4], const causal_args<bf16> &a, const struct warp_rows<M> &w,
                                int at)
{
    float unscaled = 1.0f / a.scale;
    UNROLL
    for (int m = 0; m < M; m++) {
        UNROLL
        for (int i = 0; i < KEYS / 2; i++) {
            int half = i % 4 / 2, behind = w.sees[m][half] - 1 - at - (8 * (i / 4) + lane_id() % 4 * 2 + i % 2);
            if (w.row[m][half] >= 0 && behind >= 0)
                s[m][i / 4][i % 4] += unscaled * causal_bias(a, w.row[m][half] % a.heads, behind);
        }
    }
}

/* Sets the scores of keys that a row does not see to -infinity. */
template <int M, int KEYS>
__device__ inline void hide_keys(float (&s)[M][KEYS / 8][4], const causal_args<bf16> &a, const struct warp_rows<M> &w,
                                 const struct key_tile &t)
{
    UNROLL
    for (int row = 0; row < 2 * M; row++) {
        /* The range of keys, counted from the tile's first, that the row sees. */
        int m = row / 2, half = row % 2, end = w.sees[m][half] - t.at, from = a.window ? end - a.window : 0;
        end = end < t.n ? end : t.n;
        UNROLL
        for (int i = 0; i < KEYS / 4; i++) {
            int key = 8 * (i / 2) + lane_id() % 4 * 2 + i % 2;
            if (key < from || key >= end)
                s[m][i / 2][2 * half + i % 2] = -INFINITY;
        }
    }
}

/*
 * Turns the scores of one tile into weights (online softmax).
 *
 * It updates the running maximum, in powers of two, and this lane's part of the sum.  Sums over earlier tiles shrink to
 * the new maximum.
 */
template <int D, int M, int KEYS>
__device__ inline void causal_softmax(float (&s)[M][KEYS / 8][4], float (&out)[M][D / 8][4], float (&most)[M][2],
                                      float (&sum)[M][2], float scale)
{
    UNROLL
    for (int row = 0; row < 2 * M; row++) {
        int m = row / 2, half = row % 2;
        float top = -INFINITY;
        UNROLL
        for (int n = 0; n < KEYS / 8; n++)
            top = fmaxf(top, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
        top = fmaxf(most[m][half], scale * quad_max(top));
        float base = top > -INFINITY ? top : 0.0f; /* a part of the keys may begin with ones that a row does not see */
        float shrink = exp2f(most[m][half] - base);
        most[m][half] = top;
        sum[m][half] *= shrink;
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            out[m][n][2 * half] *= shrink;
            out[m][n][2 * half + 1] *= shrink;
        }
        UNROLL
        for (int n = 0; n < KEYS / 8; n++)
            for (int i = 0; i < 2; i++) {
                float &x = s[m][n][2 * half + i];
                x = exp2f(scale * x - base);
                sum[m][half] += x;
            }
    }
}

constexpr float LAZY = 8; /* powers of two by which a base may fall behind the maximum */

template <int M>
__device__ inline void lazy_start(float (&base)[M][2], float (&sum)[M][2])
{
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        base[i / 2][i % 2] = -INFINITY;
        sum[i / 2][i % 2] = 0;
    }
}

/*
 * Turns the scores of one tile into weights, with a lazy maximum.
 *
 * The base of a row's weights is its running maximum in powers of two, or less by at most LAZY.  The row's sums shrink
 * only when the maximum has risen by more, which is rare.  A weight is thus at most 2^LAZY, and the sums stay far from
 * the limits of f32.
 *
 * Each row decides for itself, so its bits do not depend on its neighbours.  ALL: every row sees a key of the first
 * tile, so no base is -infinity.
 */
template <bool ALL, int M, int N, int KEYS>
__device__ inline void lazy_softmax(float (&s)[M][KEYS][4], float (&out)[M][N][4], float (&base)[M][2],
                                    float (&sum)[M][2], float scale)
{
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        int m = i / 2, half = i % 2;
        float top = -INFINITY;
        UNROLL
        for (int n = 0; n < KEYS; n++)
            top = fmaxf(top, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
        top = scale * quad_max(top);
        if (top > base[m][half] + LAZY) {
            float shrink = exp2_fast(base[m][half] - top);
            base[m][half] = top;
            sum[m][half] *= shrink;
            UNROLL
            for (int n = 0; n < 2 * N; n++)
                out[m][n / 2][2 * half + n % 2] *= shrink;
        }
        float from = ALL || base[m][half] > -INFINITY ? base[m][half] : 0.0f;
        UNROLL
        for (int n = 0; n < 2 * KEYS; n++) {
            float &x = s[m][n / 2][2 * half + n % 2];
            x = exp2_fast(scale * x - from);
            sum[m][half] += x;
        }
    }
}

#endif
