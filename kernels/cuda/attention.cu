#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/mma_tile.cuh"

/*
 * y_i = sum_j keep_ij softmax_j(scale q_i . k_j + bias_ij) v_j;  lse_i = log of the softmax's sum
 *
 * Grid     one block per sequence, head and tile of queries; four neighbouring lanes per query.
 * Memory   q once a key tile, k and v once per query tile, through shared memory as f32.
 * Numbers  running maximum and sum in f32 (online softmax, Milakov and Gimelshein 2018); dropout after the sum, with
 *          the random numbers of rng.h.
 * Serves   f32.
 */
template <int D>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_kernel(float *__restrict__ y, float *__restrict__ lse, attention_args<float> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE;
    __shared__ float k[TILE][D + 1], v[TILE][D + 1], weight[TILE][TILE + 1];
    struct attention_task t = attention_task_of(a);
    const float *bias = bias_of(a, t.head);
    int64_t column = (int64_t)t.head * a.dim;
    int first = t.tile * TILE, i = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.q_length)
        return;
    bool inside = first + i < t.q_length;
    int query = inside ? first + i : first;
    int64_t row = t.q_first + query;
    const float *q = a.q + row * a.q_stride + column;
    float out[D / 4] = { 0 }, most = -INFINITY, sum = 0;

    for (int j0 = 0; j0 < t.k_length; j0 += TILE) {
        int left = t.k_length - j0;
        int64_t at = (t.k_first + j0) * a.kv_stride + column;
        __syncthreads(); /* no thread reads the last tile any more */
        load_rows(k, a.k + at, a.kv_stride, left, a.dim, THREADS);
        load_rows(v, a.v + at, a.kv_stride, left, a.dim, THREADS);
        __syncthreads();

        /* Each of the four lanes of a row has a quarter of the tile's keys. */
        float score[TILE / 4], top = most, part_sum = 0;
        quad_dots(score, q, a.dim, k);
        UNROLL
        for (int n = 0; n < TILE / 4; n++) {
            int j = quad_row(n);
            score[n] = j < left ? score_of(score[n], a, bias, j0 + j - query) : -INFINITY;
            top = fmaxf(top, score[n]);
        }
        top = quad_max(top); /* finite: every tile has a key */
        /* Sums over earlier tiles are relative to the old maximum. */
        float shrink = expf(most - top);
        UNROLL
        for (int n = 0; n < TILE / 4; n += 4) {
            unsigned kept = kept_keys(a, row * a.heads + t.head, j0 / 4 + part + n);
            for (int m = 0; m < 4; m++) {
                float p = expf(score[n + m] - top);
                /* The softmax's sum includes weights that dropout removes. */
                part_sum += p;
                weight[i][quad_row(n + m)] = keep_factor(a, kept >> m) * p;
            }
        }
        sum = sum * shrink + quad_sum(part_sum);
        most = top;
        __syncwarp(); /* the four lanes of a row wrote its weights */
        /* Now each lane has a quarter of the columns of y, and needs the weights of the whole row. */
        UNROLL
        for (int d = 0; d < D / 4; d++)
            out[d] *= shrink;
        quad_add(out, weight[i], v);
    }
    if (!inside)
        return;
    UNROLL
    for (int d = 0; d < D / 4; d++)
        if (4 * d + part < a.dim)
            y[row * a.y_stride + column + 4 * d + part] = sum > 0 ? out[d] / sum : 0.0f;
    if (part == 0)
        lse[row * a.heads + t.head] = most + logf(sum);
}

/* Numbers of the bf16 kernel for a head size: 16-row tiles of queries a warp holds, and keys in a tile.  Larger heads
 * need more registers for each row. */
__host__ __device__ constexpr int forward_rows(int head_dim)
{
    return head_dim <= 64 ? 2 : 1;
}

__host__ __device__ constexpr int forward_keys(int head_dim)
{
    return head_dim <= 128 ? 32 : 16;
}

/* The sums of a warp over the keys: y of its rows, the running maximum in powers of two, and this lane's part of the
 * sum. */
template <int D, int M>
struct softmax_sums {
    float out[M][D / 8][4], most[M][2], sum[M][2];
};

/*
 * Turns the scores of a tile into weights; the sums shrink to the new maximum.  query: the warp's first query; j0: the
 * tile's first key; left: keys from there on.
 *
 * A lane holds two columns of every eight of a row, and the four lanes of a quad hold the whole row.
 */
template <int KEYS, int D, int M>
__device__ inline void softmax_tile(float (&s)[M][KEYS / 8][4], struct softmax_sums<D, M> &sums,
                                    const attention_args<bf16> &a, const float *bias, int query, int j0, int left)
{
    UNROLL
    for (int m = 0; m < 2 * M; m++) {
        int i = query + 16 * (m / 2) + 8 * (m % 2) + lane_id() / 4;
        float top = sums.most[m / 2][m % 2];
        UNROLL
        for (int n = 0; n < KEYS / 4; n++) {
            float &x = s[m / 2][n / 2][m % 2 * 2 + n % 2];
            int j = n / 2 * 8 + lane_id() % 4 * 2 + n % 2;
            x = j < left ? LOG2_E * score_of(x, a, bias, j0 + j - i) : -INFINITY;
            top = fmaxf(top, x);
        }
        top = quad_max(top); /* finite: every tile has a key */
        float shrink = exp2_fast(sums.most[m / 2][m % 2] - top), &sum = sums.sum[m / 2][m % 2];
        sums.most[m / 2][m % 2] = top;
        sum *= shrink;
        UNROLL
        for (int n = 0; n < KEYS / 4; n++) {
            float &x = s[m / 2][n / 2][m % 2 * 2 + n % 2];
            x = exp2_fast(x - top);
            sum += x;
        }
        UNROLL
        for (int n = 0; n < D / 4; n++)
            sums.out[m / 2][n / 2][m % 2 * 2 + n % 2] *= shrink;
    }
}

/*
 * Applies dropout to the tile's weights.
 *
 * One call of Philox gives the bits of four keys for one query.  The layout of a product gives a lane only two
 * neighbouring keys, so a lane draws for one query and four keys, and the others get their bits by shuffles.
 */
template <int KEYS, int M>
__device__ inline void drop_tile(float (&s)[M][KEYS / 8][4], const attention_args<bf16> &a, int64_t row, int j0)
{
    if (!a.drop)
        return;
    UNROLL
    for (int m = 0; m < M; m++) {
        UNROLL
        for (int n = 0; n < KEYS / 8; n++) {
            int lane = lane_id();
            unsigned mine = kept_keys(a, row + (16 * m + lane % 16) * a.heads, j0 / 4 + 2 * n + lane / 16);
            UNROLL
            for (int e = 0; e < 4; e++) {
                unsigned kept = __shfl_sync(ALL_LANES, mine, lane / 4 + e / 2 * 8 + lane % 4 / 2 * 16);
                s[m][n][e] *= keep_factor(a, kept >> (lane % 2 * 2 + e % 2));
            }
        }
    }
}

/* Stores lse and y of the warp's rows. */
template <int D, int M>
__device__ inline void put_queries(bf16 *y, float *lse, struct softmax_sums<D, M> &sums, const attention_args<bf16> &a,
                                   int rows)
{
    UNROLL
    for (int m = 0; m < 2 * M; m++) {
        int r = 16 * (m / 2) + 8 * (m % 2) + lane_id() / 4;
        float sum = quad_sum(sums.sum[m / 2][m % 2]);
        if (r < rows && lane_id() % 4 == 0)
            lse[r * a.heads] = LN_2 * (sums.most[m / 2][m % 2] + log2f(sum));
        sums.sum[m / 2][m % 2] = sum > 0 ? reciprocal_fast(sum) : 0.0f;
    }
    put_tile_rows<D>(y, a.y_stride, rows, a.dim, sums.out, sums.sum, a.dim % 2 == 0, false);
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per sequence, head and tile of forward_rows(D) times 16 queries a warp; as few warps as the
 *          longest sequence needs.
 * Memory   q once into registers; k and v once per query tile through shared memory, a tile ahead of their use.
 * Numbers  products of bf16, sums in f32; weights count as two bf16 each, some 16 bits.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS)
    attention_mma_kernel(bf16 *__restrict__ y, float *__restrict__ lse, attention_args<bf16> a)
{
    constexpr int KEYS = forward_keys(D), M = forward_rows(D);
    alignas(16) __shared__ bf16 k[2][KEYS][D + TILE_GAP], v[2][KEYS][D + TILE_GAP];
    struct attention_task t = attention_task_of(a);
    int first = t.tile * (block_threads() / WARP) * 16 * M;
    if (first >= t.q_length)
        return;
    first += warp_id() * 16 * M;
    int rows = t.q_length - first; /* 0 or less: the warp only helps to copy */
    int64_t row = t.q_first + first, column = (int64_t)t.head * a.dim, at = t.k_first * a.kv_stride + column;
    struct softmax_sums<D, M> sums = {
    };
    unsigned q[D / 16][M][4];
    UNROLL
    for (int m = 0; m < 2 * M; m++)
        sums.most[m / 2][m % 2] = -INFINITY;
    UNROLL
    for (int d = 0; d < D / 16; d++)
        load_left(q[d], a.q + row * a.q_stride + column, a.q_stride, rows, 16 * d, a.dim);

    /* The first tile; each turn of the loop then starts the copy of the next one. */
    fetch_tile(k[0], a.k + at, a.kv_stride, t.k_length, a.dim);
    fetch_tile(v[0], a.v + at, a.kv_stride, t.k_length, a.dim);
    copy_commit();
    for (int j0 = 0, now = 0; j0 < t.k_length; j0 += KEYS, now = 1 - now) {
        int left = t.k_length - j0;
        int64_t next = at + (j0 + KEYS) * a.kv_stride;
        copy_wait<0>();
        __syncthreads(); /* all threads have this tile, and none reads the one before */
        if (left > KEYS) {
            fetch_tile(k[1 - now], a.k + next, a.kv_stride, left - KEYS, a.dim);
            fetch_tile(v[1 - now], a.v + next, a.kv_stride, left - KEYS, a.dim);
            copy_commit();
        }
        if (rows <= 0)
            continue;
        /* Scores, softmax, dropout, and the product with v, all in registers. */
        float s[M][KEYS / 8][4];
        struct left_pair<M, KEYS> weights;
        times_tile_transposed<D>(s, q, k[now], left);
        softmax_tile<KEYS>(s, sums, a, bias_of(a, t.head), first, j0, left);
        drop_tile<KEYS>(s, a, row * a.heads + t.head, j0);
        split_left(weights, s);
        add_times_tile<D>(sums.out, weights, v[now], 0, left);
    }
    if (rows > 0)
        put_queries(y + row * a.y_stride + column, lse + row * a.heads + t.head, sums, a, rows);
}

constexpr int SHORT_WARPS = 4, SHORT_LENGTH = 64;

/* The shared memory of a warp of attention_short_kernel. */
template <int D>
struct short_tiles {
    alignas(16) bf16 q[16][D + TILE_GAP], k[forward_keys(D)][D + TILE_GAP], v[forward_keys(D)][D + TILE_GAP];
};

/* Adds a tile of keys to the sums of the 16 queries in shared memory; names as in attention_mma_kernel. */
template <int D>
__device__ inline void add_short_tile(struct softmax_sums<D, 1> &sums, const struct short_tiles<D> &tiles,
                                      const attention_args<bf16> &a, const struct attention_task &t, int first, int j0)
{
    constexpr int KEYS = forward_keys(D);
    float s[1][KEYS / 8][4];
    struct left_pair<1, KEYS> weights;
    int left = t.k_length - j0;
    zero(s);
    UNROLL
    for (int d = 0; d < D / 16; d++) {
        unsigned q[1][4];
        take_left(q, tiles.q, 0, 16 * d);
        add_times_transposed(s, q, tiles.k, 16 * d, left);
    }
    softmax_tile<KEYS>(s, sums, a, nullptr, first, j0, left);
    drop_tile<KEYS>(s, a, ((int64_t)t.q_first + first) * a.heads + t.head, j0);
    split_left(weights, s);
    add_times_tile<D>(sums.out, weights, tiles.v, 0, left);
}

/*
 * The same for sequences of at most SHORT_LENGTH tokens.  Blocks of attention_mma_kernel have as many warps as the
 * longest sequence needs, most of which have no queries then.
 *
 * Grid     one warp per sequence and head, SHORT_WARPS per block; it takes 16 queries at a time.
 * Memory   q, k and v through shared memory of the warp; k and v once if they fit into one tile.
 * Numbers  bit for bit those of attention_mma_kernel.
 * Serves   heads of D columns without a bias.
 */
template <int D>
__global__ void __launch_bounds__(SHORT_WARPS *WARP, 4)
    attention_short_kernel(bf16 *__restrict__ y, float *__restrict__ lse, attention_args<bf16> a, int pairs)
{
    constexpr int KEYS = forward_keys(D);
    __shared__ struct short_tiles<D> shared[SHORT_WARPS];
    struct short_tiles<D> &tiles = shared[warp_id()];
    int pair = (int)grid_warp();
    if (pair >= pairs)
        return;
    dependency_wait();
    a.dim = D; /* a constant: no guard of a column is left */
    struct attention_task t = attention_task_of(a, pair, 0);
    int64_t column = (int64_t)t.head * a.dim, at = t.k_first * a.kv_stride + column;
    const bf16 *q = a.q + t.q_first * a.q_stride + column;
    fetch_whole_tile(tiles.q, q, a.q_stride, t.q_length);
    for (int first = 0; first < t.q_length; first += 16) {
        int64_t row = t.q_first + first;
        struct softmax_sums<D, 1> sums = {
        };
        sums.most[0][0] = sums.most[0][1] = -INFINITY;
        for (int j0 = 0; j0 < t.k_length; j0 += KEYS) {
            if (first == 0 || t.k_length > KEYS) {
                int64_t from = at + j0 * a.kv_stride;
                __syncwarp(); /* no lane reads the tiles any more */
                fetch_whole_tile(tiles.k, a.k + from, a.kv_stride, t.k_length - j0);
                fetch_whole_tile(tiles.v, a.v + from, a.kv_stride, t.k_length - j0);
            }
            copy_commit();
            copy_wait<0>();
            __syncwarp(); /* all lanes have copied */
            add_short_tile(sums, tiles, a, t, first, j0);
        }
        __syncwarp(); /* no lane reads q any more; the next queries arrive while these are stored */
        fetch_whole_tile(tiles.q, q + (first + 16) * a.q_stride, a.q_stride, t.q_length - first - 16);
        put_queries(y + row * a.y_stride + column, lse + row * a.heads + t.head, sums, a, t.q_length - first);
    }
}

template <int D>
static void attention(struct ctx *c, struct tensor *y, struct tensor *lse, attention_args<float> a, int64_t max_len,
                      int64_t, int64_t n)
{
    constexpr int TILE = attention_tile(D);
    a.tiles = (max_len + TILE - 1) / TILE;
    LAUNCH(attention_kernel<D>, blocks_for(n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), data_of<float>(y),
           data_of<float>(lse), a);
}

template <int D>
static void attention(struct ctx *c, struct tensor *y, struct tensor *lse, attention_args<bf16> a, int64_t max_len,
                      int64_t max_keys, int64_t n)
{
    constexpr int ROWS = 16 * forward_rows(D);
    if constexpr (D <= 64)
        if (max_len <= SHORT_LENGTH && max_keys <= SHORT_LENGTH && a.dim == D && !a.bias) {
            LAUNCH_EARLY(c, attention_short_kernel<D>, blocks_for(n * a.heads, SHORT_WARPS), SHORT_WARPS * WARP, 0,
                         data_of<bf16>(y), data_of<float>(lse), a, (int)(n * a.heads));
            return;
        }
    int64_t warps = (max_len + ROWS - 1) / ROWS;
    warps = warps < MMA_WARPS ? warps : MMA_WARPS;
    a.tiles = (max_len + warps * ROWS - 1) / (warps * ROWS);
    LAUNCH(attention_mma_kernel<D>, blocks_for(n * a.heads * a.tiles, 1), (unsigned)(warps * WARP), 0, cuda_stream(c),
           data_of<bf16>(y), data_of<float>(lse), a);
}

extern "C" void cuda_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                               const struct tensor *kv, const struct seqs *qs, const struct seqs *ks,
                               const struct attention_form *form, uint32_t site)
{
    if (tensor_size(y) == 0 || qs->max_len == 0)
        return;
    DTYPE_SWITCH(q->dtype, HEAD_SWITCH(tensor_cols(y) / form->heads,
                                       attention<D>(c, y, lse, attention_args_of<T>(c, q, kv, qs, ks, form, site),
                                                    qs->max_len, ks->max_len, qs->n)));
}
