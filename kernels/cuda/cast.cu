#include "kernels/cuda/cuda.cuh"

/*
 * y (+)= alpha x, converting between element types: cast, accumulate and scale
 *
 * Grid     one thread per PACK elements.
 * Memory   reads x once, y once when adding, writes y once.
 * Numbers  in f32, one rounding.
 */
constexpr int THREADS = 256;

template <typename T, typename U>
__global__ void __launch_bounds__(THREADS)
    cast_kernel(U *y, const T *x, int64_t n, float alpha, bool add) /* y may be x */
{
    int64_t i = grid_thread() * PACK;
    float v[PACK];
    if (i >= n)
        return;
    load_pack(v, x + i, n - i);
    for (int k = 0; k < PACK; k++)
        v[k] *= alpha;
    put_pack(y + i, v, n - i, add);
}

static void cast_scaled(struct ctx *c, struct tensor *y, const struct tensor *x, float alpha, bool add)
{
    int64_t n = tensor_size(x);
    if (n == 0)
        return;
    DTYPE_SWITCH_2(x->dtype, y->dtype,
                   LAUNCH((cast_kernel<T, U>), blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c), data_of<U>(y),
                          data_of<T>(x), n, alpha, add));
}

extern "C" void cuda_cast(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    cast_scaled(c, y, x, 1.0f, false);
}

extern "C" void cuda_accumulate(struct ctx *c, struct destination dx, const struct tensor *dy)
{
    if (dx.t)
        cast_scaled(c, dx.t, dy, 1.0f, dx.add);
}

extern "C" void cuda_scale(struct ctx *c, struct destination y, const struct tensor *x, float alpha)
{
    if (y.t)
        cast_scaled(c, y.t, x, alpha, y.add);
}
