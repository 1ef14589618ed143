#include "kernels/cuda/columns.cuh"

#include <initializer_list>

constexpr int ROWS = 4;
constexpr int64_t SHORT_PART_ROWS =
    2 * COLUMN_WARPS; /* the fewest rows of a part in layer_norm_short_backward_kernel */

/* z = x + res for PACK columns of a row; res may be NULL. */
template <typename T>
__device__ inline void load_sum(float (&z)[PACK], const T *x, const T *res, int64_t left)
{
    float v[PACK];
    load_pack(z, x, left);
    if (!res)
        return;
    load_pack(v, res, left);
    for (int k = 0; k < PACK; k++)
        z[k] += v[k];
}

/*
 * z = x + res;  y[r,:] = (z[r,:] - mean[r]) * rstd[r] * w + b
 *
 * Grid     one warp per row, ROWS rows per block; no shared memory, no block barrier.
 * Memory   reads x and res three times (DRAM, then L1), writes y once: bandwidth bound.
 * Numbers  sums in f32, two passes: E[z^2] - E[z]^2 loses bits if |mean| is much larger than the deviation.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    layer_norm_kernel(T *__restrict__ y, float *__restrict__ mean, float *__restrict__ rstd, const T *__restrict__ x,
                      const T *__restrict__ res, const float *__restrict__ w, const float *__restrict__ b, int64_t rows,
                      int64_t cols, float eps)
{
    int64_t r = grid_warp(), first = lane_id() * PACK;
    float z[PACK], scale[PACK], shift[PACK], sum = 0, square = 0;
    if (r >= rows) /* whole warps leave together, so warp_sum has all lanes */
        return;
    const T *xr = x + r * cols, *rr = res ? res + r * cols : nullptr;

    /* First pass: the mean. */
    for (int64_t j = first; j < cols; j += WARP * PACK) {
        load_sum(z, xr + j, rr ? rr + j : nullptr, cols - j);
        for (int k = 0; k < PACK; k++)
            sum += z[k];
    }
    float m = warp_sum(sum) / (float)cols;

    /* Second pass: the variance. */
    for (int64_t j = first; j < cols; j += WARP * PACK) {
        load_sum(z, xr + j, rr ? rr + j : nullptr, cols - j);
        for (int k = 0; k < PACK; k++)
            square += j + k < cols ? (z[k] - m) * (z[k] - m) : 0.0f;
    }
    float s = rsqrtf(warp_sum(square) / (float)cols + eps);

    /* Third pass: the result. */
    for (int64_t j = first; j < cols; j += WARP * PACK) {
        load_sum(z, xr + j, rr ? rr + j : nullptr, cols - j);
        load_pack(scale, w + j, cols - j);
        load_pack(shift, b + j, cols - j);
        for (int k = 0; k < PACK; k++)
            z[k] = (z[k] - m) * s * scale[k] + shift[k];
        store_pack(y + r * cols + j, z, cols - j);
    }
    if (lane_id() == 0) {
        mean[r] = m;
        rstd[r] = s;
    }
}

/*
 * The same for rows of whole packs at aligned addresses, of at most N packs a lane.
 *
 * Grid     one warp per row, ROWS rows per block; a row lies in registers.
 * Memory   reads x and res once, all loads of a row in flight at once, writes y once: bandwidth bound.
 * Numbers  as above, with the same sums.
 */
template <typename T, int N>
__global__ void __launch_bounds__(ROWS *WARP)
    layer_norm_short_kernel(T *__restrict__ y, float *__restrict__ mean, float *__restrict__ rstd,
                            const T *__restrict__ x, const T *__restrict__ res, const float *__restrict__ w,
                            const float *__restrict__ b, int64_t rows, int cols, float eps)
{
    int64_t r = grid_warp();
    float z[N][PACK], v[N][PACK], scale[PACK], shift[PACK], sum = 0, square = 0;
    if (r >= rows)
        return;
    dependency_wait();
    UNROLL
    for (int i = 0; i < N; i++) { /* lanes behind the row's end read its begin and ignore it */
        int j = (i * WARP + lane_id()) * PACK, at = j < cols ? j : 0;
        load_whole(z[i], x + r * cols + at);
        load_whole(v[i], (res ? res : x) + r * cols + at);
    }
    UNROLL
    for (int i = 0; i < N; i++)
        /* Lanes behind the end of the row have read its begin, so their numbers are not added. */
        for (int k = 0; k < PACK; k++) {
            z[i][k] += res ? v[i][k] : 0.0f;
            sum += (i * WARP + lane_id()) * PACK < cols ? z[i][k] : 0.0f;
        }
    float m = warp_sum(sum) / (float)cols;
    UNROLL
    for (int i = 0; i < N; i++)
        for (int k = 0; k < PACK; k++)
            square += (i * WARP + lane_id()) * PACK < cols ? (z[i][k] - m) * (z[i][k] - m) : 0.0f;
    float s = rsqrtf(warp_sum(square) / (float)cols + eps);
    UNROLL
    for (int i = 0; i < N; i++) {
        int j = (i * WARP + lane_id()) * PACK;
        if (j >= cols)
            break;
        load_whole(scale, w + j);
        load_whole(shift, b + j);
        for (int k = 0; k < PACK; k++)
            z[i][k] = (z[i][k] - m) * s * scale[k] + shift[k];
        store_whole(y + r * cols + j, z[i]);
    }
    if (lane_id() == 0) {
        mean[r] = m;
        rstd[r] = s;
    }
}

/* The gradients of x and res, which may be one tensor; NULL: not wanted. */
template <typename T>
struct norm_gradient {
    T *dx, *dres;
    bool dx_add, dres_add;
};

/*
 * g = dy w;  dz = rstd (g - mean(g) - zhat mean(g zhat)), into dx and dres
 *
 * Grid     one warp per row, ROWS rows per block.
 * Memory   reads dy, x and res twice (DRAM, then L1), writes dx and dres once: bandwidth bound.
 * Numbers  sums in f32, of the rounded products g.  In a row of one column, g - mean(g) is then exactly 0; otherwise a
 *          large rstd would multiply a rounding error.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    layer_norm_dx_kernel(struct norm_gradient<T> d, const T *dy, const T *x, const T *res, const float *__restrict__ w,
                         const float *__restrict__ mean, const float *__restrict__ rstd, int64_t rows, int64_t cols)
{
    int64_t r = grid_warp(), first = lane_id() * PACK;
    float z[PACK], g[PACK], scale[PACK], sum = 0, dot = 0;
    if (r >= rows)
        return;
    float m = mean[r], s = rstd[r];

    /* First pass: both means. */
    for (int64_t j = first; j < cols; j += WARP * PACK) {
        load_sum(z, x + r * cols + j, res ? res + r * cols + j : nullptr, cols - j);
        load_pack(g, dy + r * cols + j, cols - j);
        load_pack(scale, w + j, cols - j);
        for (int k = 0; k < PACK; k++) { /* g is 0 behind the row's end */
            g[k] = rounded_product(g[k], scale[k]);
            sum += g[k];
            dot += g[k] * (z[k] - m) * s;
        }
    }
    sum = warp_sum(sum) / (float)cols;
    dot = warp_sum(dot) / (float)cols;

    /* Second pass: the gradients. */
    for (int64_t j = first; j < cols; j += WARP * PACK) {
        load_sum(z, x + r * cols + j, res ? res + r * cols + j : nullptr, cols - j);
        load_pack(g, dy + r * cols + j, cols - j);
        load_pack(scale, w + j, cols - j);
        for (int k = 0; k < PACK; k++)
            z[k] = s * (rounded_product(g[k], scale[k]) - sum - (z[k] - m) * s * dot);
        if (d.dx)
            put_pack(d.dx + r * cols + j, z, cols - j, d.dx_add);
        if (d.dres)
            put_pack(d.dres + r * cols + j, z, cols - j, d.dres_add);
    }
}

/*
 * part[p] = sums over rows p * per .. of dy zhat [cols], then of dy [cols]
 *
 * Grid     one block per part and COLUMN_TILE columns; warps take turns at the rows.
 * Memory   reads dy, x and res once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape; layer_norm_finish_kernel adds the parts.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    layer_norm_part_kernel(float *__restrict__ part, const T *__restrict__ dy, const T *__restrict__ x,
                           const T *__restrict__ res, const float *__restrict__ mean, const float *__restrict__ rstd,
                           int64_t rows, int64_t cols, int64_t per)
{
    int64_t p = tile_row(cols), j = tile_column(cols);
    int64_t end = (p + 1) * per < rows ? (p + 1) * per : rows;
    float dw[PACK] = { 0 }, db[PACK] = { 0 }, z[PACK], g[PACK];
    for (int64_t r = p * per + warp_id(); r < end; r += COLUMN_WARPS) {
        load_sum(z, x + r * cols + j, res ? res + r * cols + j : nullptr, cols - j);
        load_pack(g, dy + r * cols + j, cols - j);
        for (int k = 0; k < PACK; k++) {
            dw[k] += g[k] * (z[k] - mean[r]) * rstd[r];
            db[k] += g[k];
        }
    }
    sum_over_warps(dw);
    sum_over_warps(db);
    if (warp_id() == 0) {
        store_pack(part + 2 * p * cols + j, dw, cols - j);
        store_pack(part + (2 * p + 1) * cols + j, db, cols - j);
    }
}

/*
 * dw (+)= the sum of the first halves of the parts;  db (+)= the sum of their second halves
 *
 * Grid     one block per PART_COLUMNS columns of dw and db; warps take turns at the parts.
 * Memory   reads the parts once, a warp 32 neighbours at a time; 1 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(PART_THREADS)
    layer_norm_finish_kernel(float *dw, bool dw_add, float *db, bool db_add, const float *__restrict__ part,
                             int64_t parts, int64_t cols)
{
    int64_t j = part_column();
    float sum = sum_of_parts(part, parts, 2 * cols, j, 2 * cols);
    if (warp_id() != 0)
        return;
    if (j < cols && dw)
        put(dw + j, sum, dw_add);
    if (j >= cols && j < 2 * cols && db)
        put(db + j - cols, sum, db_add);
}

/*
 * Both of the above for rows of whole packs at aligned addresses, of at most N packs a lane.
 *
 * Grid     one block per part; warps take turns at its rows.  A row and a warp's sums of its rows lie in registers.
 * Memory   reads dy, x and res once, all loads of a row in flight at once, writes dx, dres and the part once; 16 KiB N
 *          of shared memory.
 * Numbers  as above.  The sums of a part are those of its warps, in their order.
 */
template <typename T, int N>
__global__ void __launch_bounds__(COLUMN_THREADS)
    layer_norm_short_backward_kernel(struct norm_gradient<T> d, float *__restrict__ part, const T *dy, const T *x,
                                     const T *res, const float *__restrict__ w, const float *__restrict__ mean,
                                     const float *__restrict__ rstd, int64_t rows, int cols, int64_t per)
{
    __shared__ float of_warp[COLUMN_WARPS][2 * N][PACK][WARP];
    int64_t end = (block_id() + 1) * per < rows ? (block_id() + 1) * per : rows;
    float dw[N][PACK] = { { 0 } }, db[N][PACK] = { { 0 } };
    for (int64_t r = block_id() * per + warp_id(); r < end; r += COLUMN_WARPS) {
        float z[N][PACK], g[N][PACK], v[N][PACK], scale[PACK], sum = 0, dot = 0, m = mean[r], s = rstd[r];
        UNROLL
        for (int i = 0; i < N; i++) { /* lanes behind the row's end read its begin and ignore it */
            int j = (i * WARP + lane_id()) * PACK, at = j < cols ? j : 0;
            load_whole(z[i], x + r * cols + at);
            load_whole(v[i], (res ? res : x) + r * cols + at);
            load_whole(g[i], dy + r * cols + at);
        }
        UNROLL
        for (int i = 0; i < N; i++) {
            int j = (i * WARP + lane_id()) * PACK;
            load_whole(scale, w + (j < cols ? j : 0)); /* as above */
            for (int k = 0; k < PACK; k++) {
                z[i][k] = (z[i][k] + (res ? v[i][k] : 0.0f) - m) * s;
                dw[i][k] += g[i][k] * z[i][k];
                db[i][k] += g[i][k];
                g[i][k] = j < cols ? rounded_product(g[i][k], scale[k]) : 0.0f;
                sum += g[i][k];
                dot += g[i][k] * z[i][k];
            }
        }
        sum = warp_sum(sum) / (float)cols;
        dot = warp_sum(dot) / (float)cols;
        UNROLL
        for (int i = 0; i < N; i++) {
            int j = (i * WARP + lane_id()) * PACK;
            for (int k = 0; k < PACK; k++)
                z[i][k] = s * (g[i][k] - sum - z[i][k] * dot);
            if (j < cols && d.dx)
                put_whole(d.dx + r * cols + j, z[i], d.dx_add);
            if (j < cols && d.dres)
                put_whole(d.dres + r * cols + j, z[i], d.dres_add);
        }
    }
    if (!part)
        return;
    UNROLL
    for (int i = 0; i < N; i++)
        for (int k = 0; k < PACK; k++) {
            of_warp[warp_id()][i][k][lane_id()] = dw[i][k];
            of_warp[warp_id()][N + i][k][lane_id()] = db[i][k];
        }
    __syncthreads();
    for (int t = warp_id(); t < 2 * N; t += COLUMN_WARPS) { /* PACK columns a lane, of dw and then of db */
        int j = (t % N * WARP + lane_id()) * PACK;
        float sum[PACK] = { 0 };
        for (int v = 0; v < COLUMN_WARPS; v++)
            for (int k = 0; k < PACK; k++)
                sum[k] += of_warp[v][t][k][lane_id()];
        if (j < cols)
            store_whole(part + (2 * block_id() + t / N) * cols + j, sum);
    }
}

/* Returns the packs of a lane in the kernels that keep a row in registers, or 0 if they do not serve these rows.  They
 * serve 257 to 768 columns, as encoders have them, in whole packs at aligned addresses. */
static int short_packs(int64_t cols, std::initializer_list<const void *> rows)
{
    bool whole = cols % PACK == 0;
    for (const void *p : rows)
        whole = whole && aligned16(p);
    int64_t packs = (cols + WARP * PACK - 1) / (WARP * PACK);
    return whole && (packs == 2 || packs == 3) ? (int)packs : 0;
}

template <typename T>
static void layer_norm_rows(struct ctx *c, T *y, float *mean, float *rstd, const T *x, const T *res, const float *w,
                            const float *b, int64_t rows, int64_t cols, float eps)
{
    int packs = short_packs(cols, { y, x, res, w, b });
    auto kernel = packs == 2 ? layer_norm_short_kernel<T, 2> : layer_norm_short_kernel<T, 3>;
    if (packs)
        LAUNCH_EARLY(c, kernel, blocks_for(rows, ROWS), ROWS * WARP, 0, y, mean, rstd, x, res, w, b, rows, (int)cols,
                     eps);
    else
        LAUNCH(layer_norm_kernel<T>, blocks_for(rows, ROWS), ROWS * WARP, 0, cuda_stream(c), y, mean, rstd, x, res, w,
               b, rows, cols, eps);
}

extern "C" void cuda_layer_norm(struct ctx *c, struct tensor *y, struct tensor *mean, struct tensor *rstd,
                                const struct tensor *x, const struct tensor *res, const struct tensor *w,
                                const struct tensor *b, float eps)
{
    if (tensor_size(x))
        DTYPE_SWITCH(x->dtype, layer_norm_rows(c, data_of<T>(y), data_of<float>(mean), data_of<float>(rstd),
                                               data_of<T>(x), data_of<T>(res), data_of<float>(w), data_of<float>(b),
                                               tensor_rows(x), tensor_cols(x), eps));
}

/* The arguments of a backward. */
template <typename T>
struct norm_view {
    const T *dy, *x, *res;
    const float *w, *mean, *rstd;
    int64_t rows, cols;
};

/* The sums of dw and db over parts of the rows. */
struct norm_parts {
    float *sums; /* [n, 2, cols]; NULL: not wanted */
    int64_t n, per;
};

static struct norm_parts norm_parts_of(struct ctx *c, int64_t rows, int64_t cols, int64_t per, bool wanted)
{
    struct norm_parts p = {};
    p.per = per, p.n = (rows + per - 1) / per;
    p.sums = wanted ? (float *)cuda_scratch(c, (size_t)(2 * p.n * cols) * sizeof(float)) : nullptr;
    return p;
}

/* Returns the rows of a part: the same number for each warp. */
static int64_t rows_per_short_part(int64_t rows)
{
    int64_t per = (rows + PARTS - 1) / PARTS;
    return per < SHORT_PART_ROWS ? SHORT_PART_ROWS : (per + COLUMN_WARPS - 1) / COLUMN_WARPS * COLUMN_WARPS;
}

/* Computes dx and dres, and the parts of dw and db, for rows in registers. */
template <typename T>
static void short_backward(struct ctx *c, int packs, struct norm_gradient<T> d, const struct norm_parts &p,
                           const struct norm_view<T> &v)
{
    auto kernel = packs == 2 ? layer_norm_short_backward_kernel<T, 2> : layer_norm_short_backward_kernel<T, 3>;
    LAUNCH(kernel, blocks_for(p.n, 1), COLUMN_THREADS, 0, cuda_stream(c), d, p.sums, v.dy, v.x, v.res, v.w, v.mean,
           v.rstd, v.rows, (int)v.cols, p.per);
}

/* The same for rows of any width, in two launches. */
template <typename T>
static void long_backward(struct ctx *c, struct norm_gradient<T> d, const struct norm_parts &p,
                          const struct norm_view<T> &v)
{
    if (d.dx || d.dres)
        LAUNCH(layer_norm_dx_kernel<T>, blocks_for(v.rows, ROWS), ROWS * WARP, 0, cuda_stream(c), d, v.dy, v.x, v.res,
               v.w, v.mean, v.rstd, v.rows, v.cols);
    if (p.sums)
        LAUNCH(layer_norm_part_kernel<T>, blocks_for(p.n * column_tiles(v.cols), 1), COLUMN_THREADS, 0, cuda_stream(c),
               p.sums, v.dy, v.x, v.res, v.mean, v.rstd, v.rows, v.cols, p.per);
}

template <typename T>
static void layer_norm_backward(struct ctx *c, struct norm_gradient<T> d, struct destination dw, struct destination db,
                                const struct norm_view<T> &v)
{
    int packs = short_packs(v.cols, { d.dx, d.dres, v.dy, v.x, v.res, v.w });
    int64_t per = packs ? rows_per_short_part(v.rows) : rows_per_part(v.rows, 2 * v.cols);
    struct norm_parts p = norm_parts_of(c, v.rows, v.cols, per, dw.t || db.t);
    if (packs)
        short_backward(c, packs, d, p, v);
    else
        long_backward(c, d, p, v);
    if (p.sums)
        LAUNCH(layer_norm_finish_kernel, blocks_for(2 * v.cols, PART_COLUMNS), PART_THREADS, 0, cuda_stream(c),
               data_of<float>(dw.t), dw.add, data_of<float>(db.t), db.add, p.sums, p.n, v.cols);
}

extern "C" void cuda_layer_norm_backward(struct ctx *c, struct destination dx, struct destination dres,
                                         struct destination dw, struct destination db, const struct tensor *dy,
                                         const struct tensor *x, const struct tensor *res, const struct tensor *w,
                                         const struct tensor *mean, const struct tensor *rstd)
{
    if (tensor_size(x)) {
        DTYPE_SWITCH(x->dtype, layer_norm_backward<T>(
                                   c, { data_of<T>(dx.t), data_of<T>(dres.t), dx.add, dres.add }, dw, db,
                                   { data_of<T>(dy), data_of<T>(x), data_of<T>(res), data_of<float>(w),
                                     data_of<float>(mean), data_of<float>(rstd), tensor_rows(x), tensor_cols(x) }));
        return;
    }
    /* Without rows the gradients of the vectors are 0. */
    for (const struct destination &d : { dw, db })
        if (d.t && !d.add)
            cuda_fill(c, d.t, 0);
}
