#include "kernels/cuda/columns.cuh"

constexpr int ROWS = 4, THREADS = ROWS * WARP;
constexpr int64_t WIDE = 1024; /* wider groups take a block each, others a warp */

/* The group of columns that a thread works on, its first column and its stride. */
struct share {
    int64_t group, first, step;
    bool wide;
};

__device__ inline struct share share_of(int64_t cols)
{
    bool wide = cols > WIDE;
    return { wide ? block_id() : grid_warp(), (int64_t)(wide ? thread_id() : lane_id()) * PACK,
             (int64_t)(wide ? THREADS : WARP) * PACK, wide };
}

/* The blocks for a number of groups. */
static unsigned blocks_of(int64_t groups, int64_t cols)
{
    return blocks_for(groups, cols > WIDE ? 1 : ROWS);
}

/* Sum over the threads of a group. */
__device__ inline float share_sum(const struct share &s, float v)
{
    return s.wide ? block_sum(v) : warp_sum(v);
}

/*
 * y[g,:] = x[g,:] rstd[g] w, rstd[g] = 1 / sqrt(mean(x[g,:]^2) + eps)
 *
 * Grid     one warp per group of columns, ROWS groups per block; one block per group wider than WIDE.
 * Memory   reads x twice (DRAM, then L1), writes y once: bandwidth bound.
 * Numbers  sums in f32.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    rms_norm_kernel(T *__restrict__ y, float *__restrict__ rstd, const T *__restrict__ x, const float *__restrict__ w,
                    int64_t groups, int64_t cols, float eps)
{
    struct share s = share_of(cols);
    float v[PACK], scale[PACK], square = 0;
    if (s.group >= groups) /* whole warps leave together, so warp_sum has all lanes */
        return;
    x += s.group * cols;
    y += s.group * cols;

    for (int64_t j = s.first; j < cols; j += s.step) {
        load_pack(v, x + j, cols - j);
        for (int k = 0; k < PACK; k++)
            square += v[k] * v[k];
    }
    float factor = rsqrtf(share_sum(s, square) / (float)cols + eps);

    for (int64_t j = s.first; j < cols; j += s.step) {
        load_pack(v, x + j, cols - j);
        load_pack(scale, w + j, cols - j);
        for (int k = 0; k < PACK; k++)
            v[k] = v[k] * factor * scale[k];
        store_pack(y + j, v, cols - j);
    }
    if (s.first == 0)
        rstd[s.group] = factor;
}

/*
 * dx (+)= rstd (dy w - z mean(dy w z)), z = x rstd;  y = z w
 *
 * Grid     as rms_norm_kernel.
 * Memory   reads dy and x twice (DRAM, then L1), writes each wanted output once: bandwidth bound.
 * Numbers  sums in f32.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    rms_norm_dx_kernel(T *__restrict__ dx, T *y, const T *dy, const T *__restrict__ x, const float *__restrict__ w,
                       const float *__restrict__ rstd, int64_t groups, int64_t cols, bool add) /* y may be dy */
{
    struct share s = share_of(cols);
    float v[PACK], g[PACK], scale[PACK], dot = 0;
    if (s.group >= groups)
        return;
    float factor = rstd[s.group];
    x += s.group * cols;
    dy += s.group * cols;

    for (int64_t j = s.first; j < cols; j += s.step) {
        load_pack(v, x + j, cols - j);
        load_pack(g, dy + j, cols - j);
        load_pack(scale, w + j, cols - j);
        for (int k = 0; k < PACK; k++)
            dot += g[k] * scale[k] * v[k];
    }
    /* mean(dy w z) rstd: one factor of rstd makes z of x, the other one makes z of v below. */
    float part = share_sum(s, dot) * factor / (float)cols * factor;

    for (int64_t j = s.first; j < cols; j += s.step) {
        load_pack(v, x + j, cols - j);
        load_pack(g, dy + j, cols - j);
        load_pack(scale, w + j, cols - j);
        for (int k = 0; k < PACK; k++) {
            g[k] = factor * (g[k] * scale[k] - v[k] * part);
            v[k] = v[k] * factor * scale[k];
        }
        if (dx)
            put_pack(dx + s.group * cols + j, g, cols - j, add);
        if (y)
            store_pack(y + s.group * cols + j, v, cols - j);
    }
}

/*
 * part[p] = sum over groups p * per .. of dy z [cols]
 *
 * Grid     one block per part and COLUMN_TILE columns; warps take turns at the groups.
 * Memory   reads dy and x once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape; sum_finish_kernel adds the parts.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    rms_norm_part_kernel(float *__restrict__ part, const T *__restrict__ dy, const T *__restrict__ x,
                         const float *__restrict__ rstd, int64_t groups, int64_t cols, int64_t per)
{
    int64_t p = tile_row(cols), j = tile_column(cols);
    int64_t end = (p + 1) * per < groups ? (p + 1) * per : groups;
    float dw[PACK] = { 0 }, v[PACK], g[PACK];
    for (int64_t r = p * per + warp_id(); r < end; r += COLUMN_WARPS) {
        load_pack(v, x + r * cols + j, cols - j);
        load_pack(g, dy + r * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            dw[k] += g[k] * (v[k] * rstd[r]);
    }
    sum_over_warps(dw);
    if (warp_id() == 0)
        store_pack(part + p * cols + j, dw, cols - j);
}

extern "C" void cuda_rms_norm(struct ctx *c, struct tensor *y, struct tensor *rstd, const struct tensor *x,
                              const struct tensor *w, float eps)
{
    int64_t groups = tensor_size(rstd), cols = tensor_size(w);
    if (groups == 0)
        return;
    DTYPE_SWITCH(x->dtype,
                 LAUNCH(rms_norm_kernel<T>, blocks_of(groups, cols), THREADS, 0, cuda_stream(c), data_of<T>(y),
                        data_of<float>(rstd), data_of<T>(x), data_of<float>(w), groups, cols, eps));
}

template <typename T>
static void weight_gradient(struct ctx *c, struct destination dw, const struct tensor *dy, const struct tensor *x,
                            const struct tensor *rstd)
{
    int64_t groups = tensor_size(rstd), cols = tensor_size(dw.t);
    int64_t per = rows_per_part(groups, cols), parts = (groups + per - 1) / per;
    float *part = (float *)cuda_scratch(c, (size_t)(parts * cols) * sizeof(float));
    LAUNCH(rms_norm_part_kernel<T>, blocks_for(parts * column_tiles(cols), 1), COLUMN_THREADS, 0, cuda_stream(c), part,
           data_of<T>(dy), data_of<T>(x), data_of<float>(rstd), groups, cols, per);
    column_sums_of_parts(c, data_of<float>(dw.t), dw.add, part, parts, cols, cols);
}

extern "C" void cuda_rms_norm_backward(struct ctx *c, struct destination dx, struct destination dw, struct tensor *y,
                                       const struct tensor *dy, const struct tensor *x, const struct tensor *w,
                                       const struct tensor *rstd)
{
    int64_t groups = tensor_size(rstd), cols = tensor_size(w);
    if (groups == 0) {
        if (dw.t && !dw.add)
            cuda_fill(c, dw.t, 0);
        return;
    }
    if (dw.t) /* first, because y may overwrite dy */
        DTYPE_SWITCH(x->dtype, weight_gradient<T>(c, dw, dy, x, rstd));
    if (dx.t || y)
        DTYPE_SWITCH(x->dtype, LAUNCH(rms_norm_dx_kernel<T>, blocks_of(groups, cols), THREADS, 0, cuda_stream(c),
                                      data_of<T>(dx.t), data_of<T>(y), data_of<T>(dy), data_of<T>(x), data_of<float>(w),
                                      data_of<float>(rstd), groups, cols, dx.add));
}
