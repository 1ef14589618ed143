#include "kernels/cuda/activation.cuh"

/* A block makes ROWS x COLS of one product; its warps share K between them, CHUNK numbers at a time. */
constexpr int WARPS = 8, THREADS = WARPS * WARP, ROWS = 16, TILES = 2, COLS = 8 * TILES;
constexpr int DEPTH = 2, STRIP = 32; /* pieces of a bf16 chunk, and the numbers that a warp's lanes take at once */
static_assert(THREADS == ROWS * COLS, "a thread finishes one number");

/* A product as its kernel sees it. */
template <typename T>
struct product_view {
    const T *x, *w;
    const float *bias, *addend;
    void *y;
    int64_t k, cols, first; /* its first block */
    uint64_t rows;          /* see linear_product */
    float scale;
    bool wide, add, aligned; /* y is F32; y is added to; rows start at multiples of 16 bytes */
};

template <typename T>
struct group_view {
    product_view<T> product[GROUP_PRODUCTS];
    const float *norm;     /* NULL: none */
    const int *adapter_of; /* NULL: products are for all rows */
    float eps;
    int n, each; /* products; those that a number of y comes from */
    int64_t rows;
};

/* What a block's warps leave for its threads to add up: sums, and squares of what the norm takes. */
struct block_parts {
    float sum[WARPS][ROWS][COLS + 1], square[WARPS][ROWS];
};

/* Lanes of four add up; lane / 4 is the column of w, or the row of x, that a lane works at. */
__device__ inline float sum_of_four(float v)
{
    v += __shfl_xor_sync(ALL_LANES, v, 1);
    return v + __shfl_xor_sync(ALL_LANES, v, 2);
}

/* x[0 .. 8) as pairs, zeros from left on. */
__device__ inline void load_eight(unsigned (&v)[4], const bf16 *x, int64_t left, bool aligned)
{
    if (left >= PACK && aligned) {
        uint4 a = *(const uint4 *)x;
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        return;
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        unsigned low = 2 * i < left ? x[2 * i].bits : 0u, high = 2 * i + 1 < left ? x[2 * i + 1].bits : 0u;
        v[i] = low | high << 16;
    }
}

/* Eight numbers of x go on times the norm's weights; their squares are added up. */
__device__ inline void weigh(unsigned (&v)[4], float &square, const float *norm, int64_t left)
{
    float w[PACK];
    load_pack(w, norm, left);
    UNROLL
    for (int i = 0; i < 4; i++) {
        float low = f32_bits(v[i] << 16), high = f32_bits(v[i] & 0xffff0000u);
        square += low * low + high * high;
        v[i] = bf16_pair(low * w[2 * i], high * w[2 * i + 1]);
    }
}

/* What a lane holds of a chunk: rows lane / 4 and 8 further down of x, one row of w for each tile.  The order of k
 * within a chunk is the same for both, and that is all that a product asks. */
struct chunk {
    unsigned x[DEPTH][2][4], w[DEPTH][TILES][4];
};

/* Where the block's corner of x and w lies, and how much of them there is. */
template <typename T>
struct corner {
    const T *x, *w;
    int64_t rows, cols;
};

__device__ inline void load_chunk(chunk &v, const product_view<bf16> &p, const corner<bf16> &at, int64_t k0)
{
    int line = lane_id() / 4;
    UNROLL
    for (int d = 0; d < DEPTH; d++) {
        int64_t k = k0 + d * STRIP + lane_id() % 4 * PACK, left = p.k - k;
        UNROLL
        for (int t = 0; t < TILES; t++)
            load_eight(v.w[d][t], at.w + (8 * t + line) * p.k + k, 8 * t + line < at.cols ? left : 0, p.aligned);
        UNROLL
        for (int h = 0; h < 2; h++)
            load_eight(v.x[d][h], at.x + (8 * h + line) * p.k + k, 8 * h + line < at.rows ? left : 0, p.aligned);
    }
}

__device__ inline void multiply_chunk(float (&sum)[TILES][4], const chunk &v)
{
    UNROLL
    for (int d = 0; d < DEPTH; d++)
        UNROLL
    for (int i = 0; i < 4; i += 2) {
        const unsigned x[4] = { v.x[d][0][i], v.x[d][1][i], v.x[d][0][i + 1], v.x[d][1][i + 1] };
        UNROLL
        for (int t = 0; t < TILES; t++) {
            const unsigned w[2] = { v.w[d][t][i], v.w[d][t][i + 1] };
            mma_bf16(sum[t], x, w);
        }
    }
}

/* The warp's part of the sums, on tensor cores; the next chunk is on its way while one is used. */
__device__ inline void warp_parts(block_parts &parts, const product_view<bf16> &p, const corner<bf16> &at,
                                  const float *norm)
{
    constexpr int64_t CHUNK = DEPTH * STRIP;
    int line = lane_id() / 4, column = lane_id() % 4 * 2;
    float sum[TILES][4] = { { 0 } }, square[2] = { 0, 0 };
    chunk now, next;
    load_chunk(now, p, at, warp_id() * CHUNK);
    for (int64_t k0 = warp_id() * CHUNK; k0 < p.k; k0 += WARPS * CHUNK) {
        load_chunk(next, p, at, k0 + WARPS * CHUNK);
        if (norm) {
            UNROLL
            for (int d = 0; d < DEPTH; d++) {
                int64_t k = k0 + d * STRIP + lane_id() % 4 * PACK;
                UNROLL
                for (int h = 0; h < 2; h++)
                    weigh(now.x[d][h], square[h], norm + k, p.k - k);
            }
        }
        multiply_chunk(sum, now);
        now = next;
    }
    UNROLL
    for (int h = 0; h < 2; h++) {
        float all = norm ? sum_of_four(square[h]) : 0.0f;
        if (column == 0)
            parts.square[warp_id()][line + 8 * h] = all;
        UNROLL
        for (int t = 0; t < TILES; t++)
            for (int j = 0; j < 2; j++)
                parts.sum[warp_id()][line + 8 * h][8 * t + column + j] = sum[t][2 * h + j];
    }
}

/* The same in f32: a lane multiplies eight numbers of one row of w for each tile with those of every row of x. */
__device__ inline void warp_parts(block_parts &parts, const product_view<float> &p, const corner<float> &at,
                                  const float *norm)
{
    int line = lane_id() / 4, piece = lane_id() % 4;
    float sum[ROWS][TILES] = { { 0 } }, square[ROWS] = { 0 };
    for (int64_t k0 = warp_id() * STRIP; k0 < p.k; k0 += WARPS * STRIP) {
        int64_t k = k0 + piece * PACK, left = p.k - k;
        float w[TILES][PACK], n[PACK], x[PACK];
        UNROLL
        for (int t = 0; t < TILES; t++)
            load_pack(w[t], at.w + (8 * t + line) * p.k + k, 8 * t + line < at.cols ? left : 0);
        if (norm)
            load_pack(n, norm + k, left);
        UNROLL
        for (int r = 0; r < ROWS; r++) {
            if (r >= at.rows)
                continue;
            load_pack(x, at.x + r * p.k + k, left);
            UNROLL
            for (int i = 0; i < PACK && norm; i++) {
                square[r] += x[i] * x[i];
                x[i] *= n[i];
            }
            UNROLL
            for (int t = 0; t < TILES; t++)
                for (int i = 0; i < PACK; i++)
                    sum[r][t] += x[i] * w[t][i];
        }
    }
    UNROLL
    for (int r = 0; r < ROWS; r++) {
        if (r >= at.rows)
            continue; /* what nobody stores is not added up */
        float all = norm ? sum_of_four(square[r]) : 0.0f;
        if (lane_id() == 0)
            parts.square[warp_id()][r] = all;
        UNROLL
        for (int t = 0; t < TILES; t++) {
            float v = sum_of_four(sum[r][t]);
            if (piece == 0)
                parts.sum[warp_id()][r][8 * t + line] = v;
        }
    }
}

/* Whether a row is the product's to write. */
template <typename T>
__device__ inline bool has_row(const group_view<T> &a, const product_view<T> &p, int64_t row)
{
    return row < a.rows && (!a.adapter_of || (p.rows >> a.adapter_of[row] & 1));
}

/* Whether any of a block's is; the same for all its threads. */
template <typename T>
__device__ inline bool has_rows(const group_view<T> &a, const product_view<T> &p, int64_t row0)
{
    bool any = !a.adapter_of;
    for (int r = 0; r < ROWS && !any; r++)
        any = has_row(a, p, row0 + r);
    return any;
}

/* The number at row, col of a product, of the thread that it belongs to; every thread calls it. */
template <typename T>
__device__ inline float finished(const group_view<T> &a, const product_view<T> &p, int64_t row0, int64_t col0)
{
    __shared__ block_parts parts;
    int r = thread_id() / COLS, j = thread_id() % COLS;
    int64_t row = row0 + r, col = col0 + j;
    float v = 0, square = 0;
    __syncthreads(); /* parts may still be read for the product before */
    if (p.w) {
        corner<T> at = { p.x + row0 * p.k, p.w + col0 * p.k, a.rows - row0, p.cols - col0 };
        warp_parts(parts, p, at, a.norm);
        __syncthreads();
        for (int w = 0; w < WARPS; w++) {
            v += parts.sum[w][r][j];
            square += parts.square[w][r];
        }
    }
    if (row >= a.rows || col >= p.cols)
        return 0;
    v *= p.scale;
    if (a.norm)
        v *= rsqrtf(square / (float)p.k + a.eps);
    v += p.bias ? p.bias[col] : 0.0f;
    return v + (p.addend ? p.addend[row * p.cols + col] : 0.0f);
}

/*
 * y_i (+)= scale_i n(x_i) w_i^T + bias_i + addend_i in its rows;  swiglu: of each two, y (+)= silu(first) second
 *
 * Grid     one block per product (or two of them), COLS of its columns and ROWS of its rows, rows going round fastest;
 *          those that have no row of their product's leave.
 * Memory   reads every w once (rows beyond ROWS find it in L2), 16 bytes a lane; x from L1 and L2; bandwidth bound.
 * Numbers  products of bf16 on tensor cores or of f32, sums in f32: each warp its chunks of k in order, then the warps
 *          in order, whatever the number of rows.  The norm's weights go into x, its factor is applied to the sum.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS, 2) linear_group_kernel(GRID_CONSTANT const group_view<T> a)
{
    int number = 0;
    while (number + a.each < a.n && block_id() >= a.product[number + a.each].first)
        number += a.each;
    const product_view<T> &p = a.product[number];
    int64_t tiles = (a.rows + ROWS - 1) / ROWS, block = block_id() - p.first;
    int64_t row0 = block % tiles * ROWS, col0 = block / tiles * COLS;
    if (!has_rows(a, p, row0))
        return;
    float v = 0;
    for (int i = 0; i < a.each; i++) {
        float next = finished(a, (&p)[i], row0, col0);
        v = i ? v * sigmoid(v) * next : next;
    }
    int64_t row = row0 + thread_id() / COLS, col = col0 + thread_id() % COLS;
    if (!has_row(a, p, row) || col >= p.cols)
        return;
    if (p.wide)
        put((float *)p.y + row * p.cols + col, v, p.add);
    else
        put((T *)p.y + row * p.cols + col, v, p.add);
}

template <typename T>
static product_view<T> view_of(const struct linear_product *p)
{
    product_view<T> v = {};
    v.x = data_of<T>(p->x), v.w = data_of<T>(p->w);
    v.bias = data_of<float>(p->bias), v.addend = data_of<float>(p->addend);
    v.wide = p->y.t->dtype == F32, v.y = v.wide ? (void *)data_of<float>(p->y.t) : data_of<T>(p->y.t);
    v.k = p->w ? tensor_cols(p->w) : 0, v.cols = tensor_cols(p->y.t);
    v.scale = p->scale, v.add = p->y.add, v.rows = p->rows;
    v.aligned = v.k % PACK == 0 && (((uintptr_t)v.x | (uintptr_t)v.w) & 15) == 0;
    return v;
}

template <typename T>
static void launch_group(struct ctx *c, const struct linear_group *g)
{
    group_view<T> a = {};
    int64_t blocks = 0;
    a.norm = data_of<float>(g->norm.w), a.eps = g->norm.eps;
    a.adapter_of = data_of<int>(g->adapter_of);
    a.rows = g->product[0].y.t->shape[0], a.n = g->n, a.each = g->swiglu ? 2 : 1;
    for (int i = 0; i < g->n; i++) {
        a.product[i] = view_of<T>(&g->product[i]);
        a.product[i].first = blocks;
        if (i % a.each == 0)
            blocks += (a.rows + ROWS - 1) / ROWS * ((a.product[i].cols + COLS - 1) / COLS);
    }
    if (blocks)
        LAUNCH(linear_group_kernel<T>, blocks_for(blocks, 1), THREADS, 0, cuda_stream(c), a);
}

/* That of the matrices; of addends alone, that of y. */
static enum dtype type_of(const struct linear_group *g)
{
    for (int i = 0; i < g->n; i++)
        if (g->product[i].w)
            return g->product[i].w->dtype;
    return g->product[0].y.t->dtype;
}

extern "C" void cuda_linear_group(struct ctx *c, struct tensor *y, const struct linear_group *g)
{
    (void)y;
    DTYPE_SWITCH(type_of(g), launch_group<T>(c, g));
}
