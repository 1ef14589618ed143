#include "kernels/cuda/linear_group.cuh"

/* A block makes ROWS x COLS of one product; its warps share K between them, CHUNK numbers at a time. */
constexpr int ROWS = 16, TILES = 2, COLS = 8 * TILES;
static_assert(THREADS == ROWS * COLS, "a thread finishes one number");

/* What a block's warps leave for its threads to add up: sums, and squares of what the norm takes. */
struct block_parts {
    float sum[WARPS][ROWS][COLS + 1], square[WARPS][ROWS];
};

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
        float all = norm ? quad_sum(square[h]) : 0.0f;
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
        float all = norm ? quad_sum(square[r]) : 0.0f;
        if (lane_id() == 0)
            parts.square[warp_id()][r] = all;
        UNROLL
        for (int t = 0; t < TILES; t++) {
            float v = quad_sum(sum[r][t]);
            if (piece == 0)
                parts.sum[warp_id()][r][8 * t + line] = v;
        }
    }
}

/* The number at row, col of a product, of the thread that it belongs to; every thread calls it. */
template <typename T>
__device__ inline float number_of(const group_view<T> &a, const product_view<T> &p, int64_t row0, int64_t col0)
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
    float rstd = a.norm ? rsqrtf(square / (float)p.k + a.eps) : 1.0f;
    return finished(p, v, rstd, row, col);
}

/*
 * y_i (+)= scale_i n(x_i) w_i^T + bias_i + addend_i in its rows;  glu: of each two, y (+)= gate(first) second
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
    const product_view<T> &p = product_of(a);
    int64_t tiles = (a.rows + ROWS - 1) / ROWS, block = block_id() - p.first;
    int64_t row0 = block % tiles * ROWS, col0 = block / tiles * COLS;
    if (!has_rows(a, p, row0, ROWS))
        return;
    float v = 0;
    for (int i = 0; i < a.each; i++) {
        float next = number_of(a, (&p)[i], row0, col0);
        v = i ? gated(a, v, next) : next;
    }
    int64_t row = row0 + thread_id() / COLS, col = col0 + thread_id() % COLS;
    if (has_row(a, p, row) && col < p.cols)
        put_number(p, row, col, v);
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

static bool in_tiles(struct ctx *c, const group_view<bf16> &a)
{
    return a.rows > GROUP_ROWS && cuda_group_tiles(c, a);
}

static bool in_tiles(struct ctx *, const group_view<float> &)
{
    return false;
}

template <typename T>
static void launch_group(struct ctx *c, const struct linear_group *g)
{
    group_view<T> a = {};
    a.norm = data_of<float>(g->norm.w), a.eps = g->norm.eps;
    a.adapter_of = data_of<int>(g->adapter_of);
    a.rows = g->product[0].y.t->shape[0], a.n = g->n, a.each = g->glu ? 2 : 1, a.gate = g->gate;
    for (int i = 0; i < g->n; i++)
        a.product[i] = view_of<T>(&g->product[i]);
    int64_t blocks = number_blocks(a, ROWS, COLS);
    if (blocks && !in_tiles(c, a))
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
