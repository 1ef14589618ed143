#include "kernels/cuda/cuda.cuh"

/*
 * y[r,j] (+)= word(site, r, j) < threshold(p) ? 0 : x[r,j] / (1 - p); its own backward
 *
 * Grid     one thread per PACK columns of a row.
 * Memory   reads x once, y once when adding, writes y once.
 * Numbers  in f32; the mask is rng.h's, the same on every device.
 */
constexpr int THREADS = 256;

template <typename T>
__global__ void __launch_bounds__(THREADS)
    dropout_kernel(T *y, const T *x, const int *rng, int64_t rows, int64_t cols, float keep_scale, unsigned threshold,
                   unsigned site, bool add) /* y may be x */
{
    int64_t packs = (cols + PACK - 1) / PACK, i = grid_thread();
    int64_t r = i / packs, j = i % packs * PACK, left = cols - j;
    float v[PACK];
    if (r >= rows)
        return;
    load_pack(v, x + r * cols + j, left);
    for (int q = 0; q < PACK / 4; q++) {
        struct philox word = rng_quad(rng, site, (uint32_t)r, (uint32_t)(j / 4 + q));
        for (int k = 0; k < 4; k++)
            v[4 * q + k] = word.v[k] < threshold ? 0.0f : v[4 * q + k] * keep_scale;
    }
    put_pack(y + r * cols + j, v, left, add);
}

extern "C" void cuda_dropout(struct ctx *c, struct destination y, const struct tensor *x, float p, uint32_t site)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    if (tensor_size(x) == 0 || !y.t)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(dropout_kernel<T>, blocks_for(rows * ((cols + PACK - 1) / PACK), THREADS), THREADS, 0,
                                  cuda_stream(c), data_of<T>(y.t), data_of<T>(x), data_of<int>(c->rng), rows, cols,
                                  1.0f / (1.0f - p), rng_threshold(p), site, y.add));
}
