/*
 * linear_group.cu - groups of products in f32, and the choice of a kernel.
 */
#include "kernels/cuda/linear_group.cuh"

/* A block makes ROWS x COLS numbers of one product.  Its warps share the inner dimension, STRIP numbers at a time. */
constexpr int WARPS = 8, THREADS = WARPS * WARP;
constexpr int ROWS = 16, TILES = 2, COLS = 8 * TILES;
static_assert(THREADS == ROWS * COLS, "a thread finishes one number");

/* The results of a block's warps: sums, and sums of squares for the norm.  The extra column avoids bank conflicts. */
struct block_parts {
    float sum[WARPS][ROWS][COLS + 1], square[WARPS][ROWS];
};

/* The block's corner of x and w, and the number of rows and columns from there on. */
struct corner {
    const float *x, *w;
    int64_t rows, cols;
};

/* Stores the warp's part of the sums.  A lane loads eight numbers of one row of w for each tile, and multiplies them by
 * those of every row of x.  Each number of w is thus read once for all rows. */
__device__ inline void warp_parts(block_parts &parts, const product_view<float> &p, const corner &at, const float *norm)
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
            continue; /* rows behind the last are not stored, so they are not added up */
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

/* Returns the number at row, col of a product to the thread that it belongs to.  Every thread must call it. */
__device__ inline float number_of(const group_view<float> &a, const product_view<float> &p, int64_t row0, int64_t col0)
{
    __shared__ block_parts parts;
    int r = thread_id() / COLS, j = thread_id() % COLS;
    int64_t row = row0 + r, col = col0 + j;
    float v = 0, square = 0;
    __syncthreads(); /* the previous product may still be reading parts */
    if (p.w) {
        corner at = { p.x + row0 * p.k, p.w + col0 * p.k, a.rows - row0, p.cols - col0 };
        warp_parts(parts, p, at, a.norm);
        __syncthreads(); /* all warps have stored their parts */
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
 * The products of few_rows_kernel, in f32.
 *
 * Grid     one block per product (or two of them), COLS of its columns and ROWS of its rows.  Rows vary fastest.
 *          Blocks without a row of their product return at once.
 * Memory   reads every w once (rows beyond ROWS find it in L2), 16 bytes a lane; x from L1 and L2; bandwidth bound.
 * Numbers  each warp adds its strips of k in order, then the sums of the warps are added in order, for any number of
 *          rows.
 */
__global__ void __launch_bounds__(THREADS, 2) linear_group_kernel(GRID_CONSTANT const group_view<float> a)
{
    const product_view<float> &p = product_of(a);
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

/* Converts the arguments of a product. */
template <typename T>
static product_view<T> view_of(const struct linear_product *p)
{
    product_view<T> v = {};
    v.x = data_of<T>(p->x), v.w = data_of<T>(p->w);
    v.bias = data_of<float>(p->bias), v.addend = data_of<float>(p->addend);
    v.wide = p->y.t->dtype == F32, v.y = v.wide ? (void *)data_of<float>(p->y.t) : data_of<T>(p->y.t);
    v.k = p->w ? tensor_cols(p->w) : 0, v.cols = tensor_cols(p->y.t);
    v.scale = p->scale, v.add = p->y.add, v.rows = p->rows;
    /* One test of all address bits: the lower four bits of every pointer must be 0. */
    v.aligned = v.k % PACK == 0 && (((uintptr_t)v.x | (uintptr_t)v.w) & 15) == 0;
    v.whole = v.cols % PACK == 0 && (((uintptr_t)v.y | (uintptr_t)v.bias | (uintptr_t)v.addend) & 15) == 0;
    return v;
}

/* Whether the two products of each number read the same x. */
template <typename T>
static bool is_joint(const group_view<T> &a)
{
    for (int i = 0; i < a.n; i++) {
        const product_view<T> &first = a.product[i - i % a.each];
        if (a.product[i].x != first.x || a.product[i].k != first.k)
            return false;
    }
    return true;
}

static void launch_products(struct ctx *c, group_view<float> &a)
{
    int64_t blocks = number_blocks(a, ROWS, COLS);
    LAUNCH(linear_group_kernel, blocks_for(blocks, 1), THREADS, 0, cuda_stream(c), a);
}

/* Few rows, and groups that tiles do not serve, go to the kernel for few rows. */
static void launch_products(struct ctx *c, const group_view<bf16> &a)
{
    if (a.rows <= FEW_ROWS || !cuda_group_tiles(c, a))
        cuda_group_few(c, a);
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
    a.joint = is_joint(a);
    if (number_blocks(a, ROWS, COLS))
        launch_products(c, a);
}

/* The element type of the matrices; if there are only addends, that of y. */
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
