#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256;

/* A matrix and its parts, side by side; a part's columns end at end[i]. */
template <typename T, typename U>
struct parts_view {
    T *whole;
    U *part[LORA_STACK];
    int64_t end[LORA_STACK];
    float scale[LORA_STACK];
    int64_t rows, cols;
};

/*
 * part_i[t,:] = scale_i whole[t,:], or, joining, the other way round
 *
 * Grid     one thread per number.
 * Memory   reads and writes each number once; ranks of adapters are short rows.
 * Numbers  in f32, one rounding.
 */
template <typename T, typename U, bool JOIN>
__global__ void __launch_bounds__(THREADS) parts_kernel(GRID_CONSTANT const parts_view<T, U> a)
{
    int64_t r = grid_thread() / a.cols, j = grid_thread() % a.cols, from = 0;
    int i = 0;
    if (r >= a.rows)
        return;
    while (j >= a.end[i])
        from = a.end[i++];
    T *whole = a.whole + r * a.cols + j;
    U *part = a.part[i] + r * (a.end[i] - from) + j - from;
    if (JOIN)
        *whole = T(a.scale[i] * (float)*part);
    else
        *part = U(a.scale[i] * (float)*whole);
}

template <typename T, typename U, bool JOIN>
static void launch_parts(struct ctx *c, const struct tensor *whole, struct tensor *const *part, const float *scale,
                         int n)
{
    parts_view<T, U> a = {};
    a.whole = data_of<T>(whole), a.rows = tensor_rows(whole), a.cols = tensor_cols(whole);
    for (int i = 0; i < n; i++) {
        a.part[i] = data_of<U>(part[i]), a.scale[i] = scale[i];
        a.end[i] = (i ? a.end[i - 1] : 0) + tensor_cols(part[i]);
    }
    if (a.rows * a.cols > 0)
        LAUNCH((parts_kernel<T, U, JOIN>), blocks_for(a.rows * a.cols, THREADS), THREADS, 0, cuda_stream(c), a);
}

extern "C" void cuda_split_columns(struct ctx *c, struct tensor *const *y, const struct tensor *x, const float *scale,
                                   int n)
{
    DTYPE_SWITCH_2(x->dtype, y[0]->dtype, launch_parts<T, U, false>(c, x, y, scale, n));
}

extern "C" void cuda_join_columns(struct ctx *c, struct tensor *y, struct tensor *const *x, const float *scale, int n)
{
    DTYPE_SWITCH_2(y->dtype, x[0]->dtype, launch_parts<T, U, true>(c, y, x, scale, n));
}
