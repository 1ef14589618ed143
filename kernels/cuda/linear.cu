#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/matmul.cuh"

constexpr int THREADS = 256;

/*
 * x[r,j] += b[j], into pre when wanted;  y[r,j] = act(x[r,j])
 *
 * Grid     one thread per PACK columns of a row.
 * Memory   reads x once, writes y and pre once: bandwidth bound, and mostly L2 after the product.
 * Numbers  in f32; x was rounded to the element type by the product, pre and y are rounded once more.
 * Tuned    not yet.
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

extern "C" void cuda_linear(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x,
                            const struct tensor *w, const struct tensor *b, enum activation act)
{
    int64_t rows = tensor_rows(y), cols = tensor_cols(y);
    struct grad product = { y, false };
    if (tensor_size(y) == 0)
        return;
    if (!cuda_library_matmul(c, product, x, false, w, true)) {
        struct product p = {};
        p.y = y, p.pre = pre, p.a = x, p.b = w, p.bias = b;
        p.m = rows, p.n = cols, p.k = tensor_cols(x);
        p.tb = true, p.act = act;
        tile_product(c, &p);
        return;
    }
    if (b || pre || act != ACT_NONE)
        DTYPE_SWITCH(y->dtype, LAUNCH(bias_activation_kernel<T>, blocks_for(rows * ((cols + PACK - 1) / PACK), THREADS),
                                      THREADS, 0, cuda_stream(c), data_of<T>(y), data_of<T>(pre), data_of<T>(y),
                                      data_of<float>(b), rows, cols, (int)act));
}
