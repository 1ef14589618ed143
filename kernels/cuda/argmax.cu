#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 1024;

/* A number and its column. */
struct candidate_max {
    float value;
    int at;
};

/* The larger of two; of equals the one in the lower column.  A NaN never wins, since no comparison with it is true. */
__device__ inline struct candidate_max better(struct candidate_max a, struct candidate_max b)
{
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

/* The best over the lanes of a warp, for every lane. */
__device__ inline struct candidate_max warp_best(struct candidate_max b)
{
    for (int lane = WARP / 2; lane; lane /= 2) {
        struct candidate_max other = { __shfl_xor_sync(ALL_LANES, b.value, lane),
                                       __shfl_xor_sync(ALL_LANES, b.at, lane) };
        b = better(b, other);
    }
    return b;
}

/*
 * y[t] = the first column with the maximum of x[t,:]; 0 if nothing is above -infinity
 *
 * Grid     one block per row: rows are as long as a vocabulary.
 * Memory   reads x once: bandwidth bound.
 * Numbers  exact.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS) argmax_kernel(int *__restrict__ y, const T *__restrict__ x, int64_t cols)
{
    __shared__ struct candidate_max of_warp[WARP];
    struct candidate_max b = { -INFINITY, 0 };
    float v[PACK];
    x += block_id() * cols;

    /* The columns of a thread ascend, so `>` keeps the first of equals. */
    for (int64_t j = thread_id() * PACK; j < cols; j += THREADS * PACK) {
        load_pack(v, x + j, cols - j);
        for (int k = 0; k < PACK; k++)
            if (v[k] > b.value && j + k < cols)
                b = { v[k], (int)j + k };
    }
    b = warp_best(b);
    if (lane_id() == 0)
        of_warp[warp_id()] = b;
    __syncthreads();
    if (warp_id() > 0)
        return;
    /* THREADS is 32 warps, so each lane of the first warp takes the result of one. */
    b = warp_best(of_warp[lane_id()]);
    if (lane_id() == 0)
        y[block_id()] = b.at;
}

extern "C" void cuda_argmax(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    int64_t rows = tensor_size(y);
    if (rows)
        DTYPE_SWITCH(x->dtype, LAUNCH(argmax_kernel<T>, blocks_for(rows, 1), THREADS, 0, cuda_stream(c),
                                      data_of<int>(y), data_of<T>(x), tensor_cols(x)));
}
