/*
 * neftune.cu - uniform noise on embeddings in training (NEFTune, Jain et al. 2023).
 */
#include "kernels/cuda/cuda.cuh"

constexpr int ROWS = 4;

/*
 * Returns the length of the sequence that contains row r, by a binary search: the last sequence that starts at r or
 * before and is not empty.
 */
__device__ inline int64_t length_at(const int *offsets, int64_t n, int64_t r)
{
    int64_t low = 0, high = n;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (offsets[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    return offsets[low + 1] - offsets[low];
}

/*
 * y[r,j] = x[r,j] + ((word(site, r, j) >> 8) 2^-23 - 1) alpha / sqrt(L C), L the length of row r's sequence
 *
 * Grid     one warp per row, ROWS rows per block.
 * Memory   reads x and writes y once; the offsets come from L1.
 * Numbers  in f32; the words are rng.h's, the same on every device.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    neftune_kernel(T *__restrict__ y, const T *__restrict__ x, const int *__restrict__ offsets,
                   const int *__restrict__ rng, int64_t n, int64_t rows, int64_t cols, float alpha, unsigned site)
{
    int64_t r = grid_warp();
    float v[PACK];
    if (r >= rows)
        return;
    float scale = alpha / sqrtf((float)(length_at(offsets, n, r) * cols));
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        load_pack(v, x + r * cols + j, cols - j);
        for (int q = 0; q < PACK / 4; q++) {
            struct philox word = rng_quad(rng, site, (uint32_t)r, (uint32_t)(j / 4 + q));
            for (int k = 0; k < 4; k++)
                v[4 * q + k] += scale * ((float)(word.v[k] >> 8) * 0x1p-23f - 1.0f);
        }
        store_pack(y + r * cols + j, v, cols - j);
    }
}

extern "C" void cuda_neftune(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, float alpha,
                             uint32_t site)
{
    int64_t rows = tensor_rows(x);
    if (tensor_size(x) == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(neftune_kernel<T>, blocks_for(rows, ROWS), ROWS * WARP, 0, cuda_stream(c),
                                  data_of<T>(y), data_of<T>(x), data_of<int>(s->offsets), data_of<int>(c->rng), s->n,
                                  rows, tensor_cols(x), alpha, site));
}
