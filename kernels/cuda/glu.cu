#include "kernels/cuda/activation.cuh"

constexpr int THREADS = 256;

/* g(x), and its derivative. */
struct gated {
    float value, slope;
};

__device__ inline struct gated gated_of(float x, enum gate kind)
{
    if (kind == GATE_GELU)
        return { activate(x, ACT_GELU_TANH), activation_slope(x, ACT_GELU_TANH) };
    if (kind == GATE_GELU_ERF)
        return { activate(x, ACT_GELU), activation_slope(x, ACT_GELU) };
    float s = sigmoid(x);
    return { x * s, s * (1.0f + x * (1.0f - s)) };
}

/*
 * y = g(gate) up
 *
 * Grid     one thread per PACK elements.
 * Memory   reads gate and up, writes y, once each.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    glu_kernel(T *__restrict__ y, const T *gate, const T *up, int64_t n, enum gate kind) /* gate may be up */
{
    int64_t i = grid_thread() * PACK;
    float g[PACK], u[PACK];
    if (i >= n)
        return;
    load_pack(g, gate + i, n - i);
    load_pack(u, up + i, n - i);
    for (int k = 0; k < PACK; k++)
        u[k] *= gated_of(g[k], kind).value;
    store_pack(y + i, u, n - i);
}

/*
 * dgate (+)= dy up g'(gate), dup (+)= dy g(gate), y = g(gate) up
 *
 * Grid     one thread per PACK elements.
 * Memory   reads dy, gate and up once, reads destinations that are added to, writes each wanted output once.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    glu_backward_kernel(T *__restrict__ dgate, bool gate_add, T *__restrict__ dup, bool up_add, T *y, const T *dy,
                        const T *gate, const T *up, int64_t n, enum gate kind) /* gate may be up, and y dy */
{
    int64_t i = grid_thread() * PACK;
    float d[PACK], g[PACK], u[PACK];
    if (i >= n)
        return;
    load_pack(d, dy + i, n - i);
    load_pack(g, gate + i, n - i);
    load_pack(u, up + i, n - i);
    for (int k = 0; k < PACK; k++) {
        struct gated of = gated_of(g[k], kind);
        g[k] = u[k] * of.value;
        u[k] *= d[k] * of.slope;
        d[k] *= of.value;
    }
    if (dgate)
        put_pack(dgate + i, u, n - i, gate_add);
    if (dup)
        put_pack(dup + i, d, n - i, up_add);
    if (y)
        store_pack(y + i, g, n - i);
}

extern "C" void cuda_glu(struct ctx *c, struct tensor *y, const struct tensor *gate, const struct tensor *up,
                         enum gate kind)
{
    int64_t n = tensor_size(y);
    if (n == 0)
        return;
    DTYPE_SWITCH(y->dtype, LAUNCH(glu_kernel<T>, blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c),
                                  data_of<T>(y), data_of<T>(gate), data_of<T>(up), n, kind));
}

extern "C" void cuda_glu_backward(struct ctx *c, struct destination dgate, struct destination dup, struct tensor *y,
                                  const struct tensor *dy, const struct tensor *gate, const struct tensor *up,
                                  enum gate kind)
{
    int64_t n = tensor_size(dy);
    if (n == 0 || (!dgate.t && !dup.t && !y))
        return;
    DTYPE_SWITCH(dy->dtype, LAUNCH(glu_backward_kernel<T>, blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c),
                                   data_of<T>(dgate.t), dgate.add, data_of<T>(dup.t), dup.add, data_of<T>(y),
                                   data_of<T>(dy), data_of<T>(gate), data_of<T>(up), n, kind));
}
