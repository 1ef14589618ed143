#include "kernels/cuda/activation.cuh"

/*
 * y = act(x)
 *
 * Grid     one thread per PACK elements.
 * Memory   reads x, writes y, once each.
 * Numbers  in f32, one rounding.
 */
constexpr int THREADS = 256;

template <typename T>
__global__ void __launch_bounds__(THREADS) activation_kernel(T *y, const T *x, int64_t n, int act) /* y may be x */
{
    int64_t i = grid_thread() * PACK;
    float v[PACK];
    if (i >= n)
        return;
    load_pack(v, x + i, n - i);
    for (int k = 0; k < PACK; k++)
        v[k] = activate_for<T>(v[k], act);
    store_pack(y + i, v, n - i);
}

/*
 * dx (+)= dy act'(x)
 *
 * Grid     one thread per PACK elements.
 * Memory   reads dy and x once, dx once when adding, writes dx once.
 * Numbers  in f32, one rounding.
 */
template <typename T, typename U>
__global__ void __launch_bounds__(THREADS)
    activation_backward_kernel(U *dx, const T *dy, const T *x, int64_t n, int act, bool add)
{
    int64_t i = grid_thread() * PACK;
    float v[PACK], g[PACK];
    if (i >= n)
        return;
    load_pack(v, x + i, n - i);
    load_pack(g, dy + i, n - i);
    for (int k = 0; k < PACK; k++)
        v[k] = g[k] * activation_slope_for<T>(v[k], act);
    put_pack(dx + i, v, n - i, add);
}

extern "C" void cuda_activation(struct ctx *c, struct tensor *y, const struct tensor *x, enum activation act)
{
    int64_t n = tensor_size(x);
    if (n == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(activation_kernel<T>, blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c),
                                  data_of<T>(y), data_of<T>(x), n, (int)act));
}

extern "C" void cuda_activation_backward(struct ctx *c, struct destination dx, const struct tensor *dy,
                                         const struct tensor *x, enum activation act)
{
    int64_t n = tensor_size(x);
    if (n == 0 || !dx.t)
        return;
    DTYPE_SWITCH_2(x->dtype, dx.t->dtype,
                   LAUNCH((activation_backward_kernel<T, U>), blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c),
                          data_of<U>(dx.t), data_of<T>(dy), data_of<T>(x), n, (int)act, dx.add));
}
