#include "kernels/cuda/cuda.cuh"

/* An adapter's way out and its maps' outputs, or their gradients; its columns of low are those from `from` on. */
template <typename T, typename U>
struct adapter_view {
    U *y;
    T *h;
    const T *b;
    int64_t rank, cols, from, first; /* first: its first block */
    float scale;
    bool add;
};

template <typename T, typename U>
struct adapters_view {
    adapter_view<T, U> adapter[LORA_STACK];
    const float *low; /* [rows, ranks]; or the T *dh below */
    T *dh;
    int64_t rows, ranks;
    int n;
};

/* The adapter that a block works for. */
template <typename T, typename U>
__device__ inline const adapter_view<T, U> &adapter_of(const adapters_view<T, U> &a)
{
    int number = 0;
    while (number + 1 < a.n && block_id() >= a.adapter[number + 1].first)
        number++;
    return a.adapter[number];
}

constexpr int OUT_WARPS = 4, OUT_THREADS = OUT_WARPS * WARP, OUT_ROWS = 32, OUT_TILES = 8; /* of 8 columns, a warp */
constexpr int OUT_COLS = 8 * OUT_TILES, OUT_BLOCK_COLS = OUT_WARPS * OUT_COLS;

/* scale low[k], low[k + 1] of a row, rounded; zeros from `left` on */
__device__ inline unsigned scaled_pair(const float *low, int64_t left, float scale)
{
    return bf16_pair(left > 0 ? scale * low[0] : 0.0f, left > 1 ? scale * low[1] : 0.0f);
}

/* x[0], x[1] as one register, zeros from `left` on */
__device__ inline unsigned narrow_pair(const bf16 *x, int64_t left)
{
    unsigned low = left > 0 ? x[0].bits : 0u, high = left > 1 ? x[1].bits : 0u;
    return low | high << 16;
}

/* Sixteen of h's columns for the warp's 32 rows; who is told to writes them. */
template <typename U>
__device__ inline void take_h(unsigned (&h)[2][4], const adapters_view<bf16, U> &a, const adapter_view<bf16, U> &p,
                              int64_t row0, int64_t k0, bool writes)
{
    UNROLL
    for (int i = 0; i < 8; i++) {
        int64_t row = row0 + 16 * (i / 4) + lane_id() / 4 + i % 2 * 8, k = k0 + lane_id() % 4 * 2 + i % 4 / 2 * 8;
        int64_t left = row < a.rows ? p.rank - k : 0;
        unsigned pair = scaled_pair(a.low + row * a.ranks + p.from + k, left, p.scale);
        h[i / 4][i % 4] = pair;
        bf16 *to = p.h + row * p.rank + k;
        if (writes && left > 0)
            to[0].bits = (uint16_t)(pair & 0xffffu);
        if (writes && left > 1)
            to[1].bits = (uint16_t)(pair >> 16);
    }
}

/*
 * h_i = scale_i low_i;  y_i (+)= h_i b_i^T
 *
 * Grid     one block per adapter, OUT_ROWS rows and OUT_BLOCK_COLS columns of its y, columns going round fastest; a
 *          warp has a quarter of the columns.
 * Memory   writes y once, 16 bytes a lane: which column of b a lane multiplies is chosen so that its sums lie side by
 *          side in y.  low and b are small and come from L1 and L2.  Bound by the bytes of y.
 * Numbers  h rounded to bf16 first; products of bf16, sums in f32 in the order of k.
 */
template <typename U>
__global__ void __launch_bounds__(OUT_THREADS) lora_out_mma_kernel(GRID_CONSTANT const adapters_view<bf16, U> a)
{
    const adapter_view<bf16, U> &p = adapter_of(a);
    int64_t across = (p.cols + OUT_BLOCK_COLS - 1) / OUT_BLOCK_COLS, block = block_id() - p.first;
    int64_t row0 = block / across * OUT_ROWS, col0 = block % across * OUT_BLOCK_COLS + warp_id() * OUT_COLS;
    float sum[2][OUT_TILES][4] = { { { 0 } } };
    if (col0 >= p.cols)
        return;
    for (int64_t k0 = 0; k0 < p.rank; k0 += 16) {
        unsigned h[2][4];
        take_h(h, a, p, row0, k0, col0 == 0);
        UNROLL
        for (int t = 0; t < OUT_TILES; t++) {
            int column = lane_id() / 4;
            int64_t col = col0 + t / 4 * 32 + column / 2 * 8 + t % 4 * 2 + column % 2, k = k0 + lane_id() % 4 * 2;
            int64_t left = col < p.cols ? p.rank - k : 0;
            const bf16 *from = p.b + col * p.rank + k;
            const unsigned b[2] = { narrow_pair(from, left), narrow_pair(from + 8, left - 8) };
            mma_bf16(sum[0][t], h[0], b);
            mma_bf16(sum[1][t], h[1], b);
        }
    }
    UNROLL
    for (int i = 0; i < 8; i++) { /* rows 8 apart, 32 columns apart */
        int m = i / 4, half = i / 2 % 2, right = i % 2;
        int64_t row = row0 + 16 * m + lane_id() / 4 + 8 * half, col = col0 + 32 * right + lane_id() % 4 * PACK;
        float v[PACK];
        UNROLL
        for (int j = 0; j < PACK; j++)
            v[j] = sum[m][4 * right + j / 2][2 * half + j % 2];
        if (row < a.rows && col < p.cols)
            put_pack(p.y + row * p.cols + col, v, p.cols - col, p.add);
    }
}

/* The same in f32: a thread per number of y; the first of a row writes h. */
template <typename U>
__global__ void __launch_bounds__(OUT_THREADS) lora_out_kernel(GRID_CONSTANT const adapters_view<float, U> a)
{
    const adapter_view<float, U> &p = adapter_of(a);
    int64_t i = (block_id() - p.first) * OUT_THREADS + thread_id(), row = i / p.cols, col = i % p.cols;
    float sum = 0;
    if (row >= a.rows)
        return;
    for (int64_t k = 0; k < p.rank; k++) {
        float h = p.scale * a.low[row * a.ranks + p.from + k];
        sum += h * p.b[col * p.rank + k];
        if (col == 0)
            p.h[row * p.rank + k] = h;
    }
    put(p.y + i, sum, p.add);
}

constexpr int BACK_WARPS = 8, BACK_THREADS = BACK_WARPS * WARP, BACK_ROWS = 16, BACK_COLS = 16;
static_assert(BACK_THREADS == BACK_ROWS * BACK_COLS, "a thread finishes one number");

/* x[0 .. 8) as pairs, zeros from left on */
__device__ inline void take_eight(unsigned (&v)[4], const bf16 *x, int64_t left)
{
    if (left >= PACK && aligned16(x)) {
        uint4 a = *(const uint4 *)x;
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        return;
    }
    UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = narrow_pair(x + 2 * i, left - 2 * i);
}

/* b[k], b[k + 1] of one column as one register */
__device__ inline unsigned column_pair(const bf16 *b, int64_t stride, int64_t left)
{
    unsigned low = left > 0 ? b[0].bits : 0u, high = left > 1 ? b[stride].bits : 0u;
    return low | high << 16;
}

/* Two rows of dy, 8 apart, 32 columns of them between the lanes of four. */
struct dy_strip {
    unsigned v[2][4];
};

template <typename U>
__device__ inline void load_strip(dy_strip &s, const adapters_view<bf16, U> &a, const adapter_view<bf16, U> &p,
                                  int64_t row0, int64_t k)
{
    UNROLL
    for (int h = 0; h < 2; h++) {
        int64_t row = row0 + lane_id() / 4 + 8 * h;
        take_eight(s.v[h], p.y + row * p.cols + k, row < a.rows ? p.cols - k : 0);
    }
}

/* The warp's part of dy b, 16 x 16: its strips of 32 of dy's columns, the next on its way while one is used. */
template <typename U>
__device__ inline void warp_part(float (&sum)[2][4], const adapters_view<bf16, U> &a, const adapter_view<bf16, U> &p,
                                 int64_t row0, int64_t col0)
{
    constexpr int STRIP = 32;
    dy_strip now, next;
    load_strip(now, a, p, row0, warp_id() * STRIP + lane_id() % 4 * PACK);
    for (int64_t k0 = warp_id() * STRIP; k0 < p.cols; k0 += BACK_WARPS * STRIP) {
        int64_t k = k0 + lane_id() % 4 * PACK;
        load_strip(next, a, p, row0, k + BACK_WARPS * STRIP);
        UNROLL
        for (int i = 0; i < 4; i += 2) {
            const unsigned dy[4] = { now.v[0][i], now.v[1][i], now.v[0][i + 1], now.v[1][i + 1] };
            UNROLL
            for (int t = 0; t < 2; t++) {
                int64_t col = col0 + 8 * t + lane_id() / 4, left = col < p.rank ? p.cols - k - 2 * i : 0;
                const bf16 *from = p.b + (k + 2 * i) * p.rank + col;
                const unsigned b[2] = { column_pair(from, p.rank, left),
                                        column_pair(from + 2 * p.rank, p.rank, left - 2) };
                mma_bf16(sum[t], dy, b);
            }
        }
        now = next;
    }
}

/*
 * the i-th part of dh = scale_i dy_i b_i
 *
 * Grid     one block per adapter, BACK_ROWS rows and BACK_COLS of its rank, ranks going round fastest, so that a second
 *          turn over the rows of dy finds them in L2; its warps share dy's columns between them.
 * Memory   reads dy once, 16 bytes a lane; b from L1 and L2.  Bound by the bytes of dy.
 * Numbers  products of bf16, sums in f32: each warp its strips of columns in order, then the warps in order.
 */
__global__ void __launch_bounds__(BACK_THREADS, 2)
    lora_out_backward_mma_kernel(GRID_CONSTANT const adapters_view<bf16, const bf16> a)
{
    __shared__ float parts[BACK_WARPS][BACK_ROWS][BACK_COLS + 1];
    const adapter_view<bf16, const bf16> &p = adapter_of(a);
    int64_t across = (p.rank + BACK_COLS - 1) / BACK_COLS, block = block_id() - p.first;
    int64_t row0 = block / across * BACK_ROWS, col0 = block % across * BACK_COLS;
    float sum[2][4] = { { 0 } }, v = 0;
    warp_part(sum, a, p, row0, col0);
    UNROLL
    for (int i = 0; i < 8; i++)
        parts[warp_id()][lane_id() / 4 + i % 4 / 2 * 8][8 * (i / 4) + lane_id() % 4 * 2 + i % 2] = sum[i / 4][i % 4];
    __syncthreads();
    int r = thread_id() / BACK_COLS, j = thread_id() % BACK_COLS;
    for (int w = 0; w < BACK_WARPS; w++)
        v += parts[w][r][j];
    if (row0 + r < a.rows && col0 + j < p.rank)
        a.dh[(row0 + r) * a.ranks + p.from + col0 + j] = bf16(p.scale * v);
}

/* The same in f32: a warp per number of dh. */
__global__ void __launch_bounds__(BACK_THREADS)
    lora_out_backward_kernel(GRID_CONSTANT const adapters_view<float, const float> a)
{
    const adapter_view<float, const float> &p = adapter_of(a);
    int64_t i = (block_id() - p.first) * BACK_WARPS + warp_id(), row = i / p.rank, col = i % p.rank;
    float sum = 0;
    if (row >= a.rows)
        return;
    for (int64_t k = lane_id(); k < p.cols; k += WARP)
        sum += p.y[row * p.cols + k] * p.b[k * p.rank + col];
    sum = warp_sum(sum);
    if (lane_id() == 0)
        a.dh[row * a.ranks + p.from + col] = p.scale * sum;
}

static int64_t tiles(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* What both ways know of an adapter. */
template <typename T, typename U>
static void add_adapter(adapters_view<T, U> &a, const struct lora *l, int64_t *blocks, int64_t tall, int64_t wide)
{
    adapter_view<T, U> &p = a.adapter[a.n++];
    p.b = data_of<T>(l->b), p.cols = l->b->shape[0], p.rank = tensor_cols(l->b), p.scale = l->scale;
    p.from = a.ranks, p.first = *blocks;
    a.ranks += p.rank;
    *blocks += tall * wide;
}

template <typename T, typename U>
static void launch_out(struct ctx *c, const struct destination *y, struct tensor *const *h, const struct tensor *low,
                       const struct lora *l, int n)
{
    constexpr bool MMA = sizeof(T) == 2;
    adapters_view<T, U> a = {};
    int64_t blocks = 0;
    a.low = data_of<float>(low), a.rows = tensor_rows(low);
    for (int i = 0; i < n; i++) {
        int64_t cols = l[i].b->shape[0];
        a.adapter[i].y = data_of<U>(y[i].t), a.adapter[i].h = data_of<T>(h[i]), a.adapter[i].add = y[i].add;
        add_adapter(a, &l[i], &blocks, MMA ? tiles(a.rows, OUT_ROWS) : 1,
                    MMA ? tiles(cols, OUT_BLOCK_COLS) : tiles(a.rows * cols, OUT_THREADS));
    }
    if (!blocks)
        return;
    if constexpr (MMA)
        LAUNCH(lora_out_mma_kernel<U>, blocks_for(blocks, 1), OUT_THREADS, 0, cuda_stream(c), a);
    else
        LAUNCH(lora_out_kernel<U>, blocks_for(blocks, 1), OUT_THREADS, 0, cuda_stream(c), a);
}

template <typename T>
static void launch_back(struct ctx *c, struct tensor *dh, struct tensor *const *dy, const struct lora *l, int n)
{
    constexpr bool MMA = sizeof(T) == 2;
    adapters_view<T, const T> a = {};
    int64_t blocks = 0;
    a.dh = data_of<T>(dh), a.rows = tensor_rows(dh);
    for (int i = 0; i < n; i++) {
        int64_t rank = tensor_cols(l[i].b);
        a.adapter[i].y = data_of<T>(dy[i]);
        add_adapter(a, &l[i], &blocks, MMA ? tiles(a.rows, BACK_ROWS) : 1,
                    MMA ? tiles(rank, BACK_COLS) : tiles(a.rows * rank, BACK_WARPS));
    }
    if (!blocks)
        return;
    if constexpr (MMA)
        LAUNCH(lora_out_backward_mma_kernel, blocks_for(blocks, 1), BACK_THREADS, 0, cuda_stream(c), a);
    else
        LAUNCH(lora_out_backward_kernel, blocks_for(blocks, 1), BACK_THREADS, 0, cuda_stream(c), a);
}

extern "C" void cuda_lora_out(struct ctx *c, const struct destination *y, struct tensor *const *h,
                              const struct tensor *low, const struct lora *l, int n)
{
    DTYPE_SWITCH_2(h[0]->dtype, y[0].t->dtype, launch_out<T, U>(c, y, h, low, l, n));
}

extern "C" void cuda_lora_out_backward(struct ctx *c, struct tensor *dh, struct tensor *const *dy, const struct lora *l,
                                       int n)
{
    DTYPE_SWITCH(dh->dtype, launch_back<T>(c, dh, dy, l, n));
}
