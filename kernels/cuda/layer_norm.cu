#include "kernels/cuda/columns.cuh"

constexpr int ROWS = 4;

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
    layer_norm_dx_kernel(T *dx, bool dx_add, T *dres, bool dres_add, const T *dy, const T *x, const T *res,
                         const float *__restrict__ w, const float *__restrict__ mean, const float *__restrict__ rstd,
                         int64_t rows, int64_t cols) /* dx and dres may be one tensor */
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
        if (dx)
            put_pack(dx + r * cols + j, z, cols - j, dx_add);
        if (dres)
            put_pack(dres + r * cols + j, z, cols - j, dres_add);
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

constexpr int FINISH_THREADS = 128;

/*
 * dw (+)= the sum of the first halves of the parts;  db (+)= the sum of their second halves
 *
 * Grid     one thread per column of dw, then of db.
 * Memory   reads the parts once, a warp 32 neighbours at a time, four parts in flight.
 * Numbers  f32 sums in the order of the parts.
 */
__global__ void __launch_bounds__(FINISH_THREADS)
    layer_norm_finish_kernel(float *dw, bool dw_add, float *db, bool db_add, const float *__restrict__ part,
                             int64_t parts, int64_t cols)
{
    int64_t j = grid_thread();
    float sum = 0;
    if (j >= 2 * cols)
        return;
    UNROLL_4
    for (int64_t p = 0; p < parts; p++)
        sum += part[2 * p * cols + j];
    if (j < cols && dw)
        put(dw + j, sum, dw_add);
    if (j >= cols && db)
        put(db + j - cols, sum, db_add);
}

/* Rows of 257 to 768 columns, as encoders have them, take the kernel that keeps a row in registers. */
/* The gradients of w and b, in parts of the rows. */
template <typename T>
static void layer_norm_rows(struct ctx *c, T *y, float *mean, float *rstd, const T *x, const T *res, const float *w,
                            const float *b, int64_t rows, int64_t cols, float eps)
{
    /* Every row begins at a multiple of 16 bytes if the tensor does and a row has whole packs. */
    bool whole = cols % PACK == 0;
    for (const void *p : { (const void *)y, (const void *)x, (const void *)res, (const void *)w, (const void *)b })
        whole = whole && aligned16(p);
    int64_t packs = whole ? (cols + WARP * PACK - 1) / (WARP * PACK) : 0;
    auto kernel = packs == 2 ? layer_norm_short_kernel<T, 2> : layer_norm_short_kernel<T, 3>;
    if (packs == 2 || packs == 3)
        LAUNCH(kernel, blocks_for(rows, ROWS), ROWS * WARP, 0, cuda_stream(c), y, mean, rstd, x, res, w, b, rows,
               (int)cols, eps);
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

template <typename T>
static void layer_norm_vectors(struct ctx *c, struct destination dw, struct destination db, const struct tensor *dy,
                               const struct tensor *x, const struct tensor *res, const struct tensor *mean,
                               const struct tensor *rstd)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    int64_t per = rows_per_part(rows, 2 * cols), parts = (rows + per - 1) / per;
    float *part = (float *)cuda_scratch(c, (size_t)(2 * parts * cols) * sizeof(float));
    LAUNCH(layer_norm_part_kernel<T>, blocks_for(parts * column_tiles(cols), 1), COLUMN_THREADS, 0, cuda_stream(c),
           part, data_of<T>(dy), data_of<T>(x), data_of<T>(res), data_of<float>(mean), data_of<float>(rstd), rows, cols,
           per);
    LAUNCH(layer_norm_finish_kernel, blocks_for(2 * cols, FINISH_THREADS), FINISH_THREADS, 0, cuda_stream(c),
           data_of<float>(dw.t), dw.add, data_of<float>(db.t), db.add, part, parts, cols);
}

extern "C" void cuda_layer_norm_backward(struct ctx *c, struct destination dx, struct destination dres,
                                         struct destination dw, struct destination db, const struct tensor *dy,
                                         const struct tensor *x, const struct tensor *res, const struct tensor *w,
                                         const struct tensor *mean, const struct tensor *rstd)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    /* Without rows the gradients of the vectors are 0. */
    if (tensor_size(x) == 0) {
        if (dw.t && !dw.add)
            cuda_fill(c, dw.t, 0);
        if (db.t && !db.add)
            cuda_fill(c, db.t, 0);
        return;
    }
    if (dx.t || dres.t)
        DTYPE_SWITCH(x->dtype, LAUNCH(layer_norm_dx_kernel<T>, blocks_for(rows, ROWS), ROWS * WARP, 0, cuda_stream(c),
                                      data_of<T>(dx.t), dx.add, data_of<T>(dres.t), dres.add, data_of<T>(dy),
                                      data_of<T>(x), data_of<T>(res), data_of<float>(w), data_of<float>(mean),
                                      data_of<float>(rstd), rows, cols));
    if (dw.t || db.t)
        DTYPE_SWITCH(x->dtype, layer_norm_vectors<T>(c, dw, db, dy, x, res, mean, rstd));
}
