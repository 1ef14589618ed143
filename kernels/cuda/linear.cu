#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/matmul.cuh"

constexpr int THREADS = 256, EACH = 2;

/*
 * v = x[r,j] + b[j], stored in pre if wanted;  y[r,j] = act(v)
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
        v[k] = activate_for<T>(v[k], act);
    store_pack(y + r * cols + j, v, cols - j);
}

/*
 * The same with GELU, for whole packs at aligned addresses.
 *
 * Grid     one thread per PACK columns of EACH rows.
 * Memory   as above; the loads of EACH rows are in flight at once, and b is read once for them.
 * Numbers  as above.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    bias_gelu_kernel(T *y, T *pre, const T *x, const float *__restrict__ b, int64_t rows, int packs)
{
    int64_t group = grid_thread() / packs, first = group * EACH, at = (first * packs + grid_thread() % packs) * PACK;
    int64_t cols = (int64_t)packs * PACK;
    float v[EACH][PACK], bias[PACK];
    if (first >= rows)
        return;
    dependency_wait();
    load_whole(bias, b + grid_thread() % packs * PACK);
    UNROLL
    for (int i = 0; i < EACH; i++)
        load_whole(v[i], x + at + (first + i < rows ? i * cols : 0)); /* rows behind the last read the first again */
    UNROLL
    for (int i = 0; i < EACH; i++) {
        if (first + i >= rows)
            return;
        for (int k = 0; k < PACK; k++)
            v[i][k] += bias[k];
        if (pre)
            store_whole(pre + at + i * cols, v[i]);
        for (int k = 0; k < PACK; k++)
            v[i][k] = activate_for<T>(v[i][k], ACT_GELU);
        store_whole(y + at + i * cols, v[i]);
    }
}

/* Chooses the faster kernel if its conditions on width and alignment hold. */
template <typename T>
static void launch_bias_activation(struct ctx *c, T *y, T *pre, const T *x, const float *b, int64_t rows, int64_t cols,
                                   int act)
{
    int64_t packs = (cols + PACK - 1) / PACK, groups = (rows + EACH - 1) / EACH;
    if (act == ACT_GELU && b && cols % PACK == 0 && aligned16(y) && aligned16(pre) && aligned16(x) && aligned16(b))
        LAUNCH_EARLY(c, bias_gelu_kernel<T>, blocks_for(groups * packs, THREADS), THREADS, 0, y, pre, x, b, rows,
                     (int)packs);
    else
        LAUNCH(bias_activation_kernel<T>, blocks_for(rows * packs, THREADS), THREADS, 0, cuda_stream(c), y, pre, x, b,
               rows, cols, act);
}

static void bias_activation(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x,
                            const struct tensor *b, enum activation act)
{
    DTYPE_SWITCH(y->dtype, launch_bias_activation(c, data_of<T>(y), data_of<T>(pre), data_of<T>(x), data_of<float>(b),
                                                  tensor_rows(y), tensor_cols(y), (int)act));
}

/* Computes y through cuBLASLt and bias_activation.  The product goes to pre if pre is wanted.  The library adds the
 * bias itself if nothing else is left to do. */
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
    /* Try the kernels in the order of their speed: few rows, the library, the tile kernel. */
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
