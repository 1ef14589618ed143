#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/matmul.cuh"

constexpr int THREADS = 256;

/*
 * v = x[r,j] + b[j], into pre when wanted;  y[r,j] = act(v)
 *
 * Grid     one thread per PACK columns of a row.
 * Memory   reads x once, writes y and pre once: bandwidth bound, and mostly L2 after the product.
 * Numbers  in f32; x was rounded to the element type by the product, pre and y are rounded once more.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    bias_activation_kernel(T *y, T *pre, const T *x, const float *__restrict__ b, int64_t rows, int64_t cols, int act)
{
    int64_t packs = (cols + PACK - 1) / PACK, r = grid_thread() / packs, j = grid_thread() % packs * PACK;
    float v[PACK], bias[PACK] = { 0 };
    if (r >= rows)
        return;
    load_pack(v, x + r * cols + j, cols - j);
    if (b)
        load_pack(bias, b + j, cols - j);
    for (int k = 0; k < PACK; k++)
        v[k] += bias[k];
    if (pre)
        store_pack(pre + r * cols + j, v, cols - j);
    for (int k = 0; k < PACK; k++)
        v[k] = activate(v[k], act);
    store_pack(y + r * cols + j, v, cols - j);
}

static void bias_activation(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x,
                            const struct tensor *b, enum activation act)
{
    int64_t rows = tensor_rows(y), cols = tensor_cols(y);
    DTYPE_SWITCH(y->dtype, LAUNCH(bias_activation_kernel<T>, blocks_for(rows * ((cols + PACK - 1) / PACK), THREADS),
                                  THREADS, 0, cuda_stream(c), data_of<T>(y), data_of<T>(pre), data_of<T>(x),
                                  data_of<float>(b), rows, cols, (int)act));
}

/* The product goes to pre where that is wanted; the library adds the bias where nothing else is left to do. */
static bool library_linear(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x,
                           const struct tensor *w, const struct tensor *b, enum activation act)
{
    struct destination product = { pre ? pre : y, false };
    if (b && !pre && act == ACT_NONE && cuda_library_matmul(c, product, x, false, w, true, b))
        return true;
    if (!cuda_library_matmul(c, product, x, false, w, true, nullptr))
        return false;
    if (b || pre || act != ACT_NONE)
        bias_activation(c, y, b ? pre : nullptr, product.t, b, act);
    return true;
}

extern "C" void cuda_linear(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x,
                            const struct tensor *w, const struct tensor *b, enum activation act)
{
    bool plain = !pre && act == ACT_NONE;
    if (tensor_size(y) == 0 || (plain && cuda_few_rows(c, { y, false }, x, w, b)) ||
        library_linear(c, y, pre, x, w, b, act))
        return;
    struct cuda_gemm p = {};
    p.y = y, p.pre = pre, p.a = x, p.b = w, p.bias = b;
    p.m = tensor_rows(y), p.n = tensor_cols(y), p.k = tensor_cols(x);
    p.tb = true, p.act = act;
    cuda_gemm_run(c, &p);
}
