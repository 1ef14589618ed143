/*
 * threads.cuh - position of a thread in its warp, block and grid; sums and maxima over warps and blocks.
 *
 * The reductions are butterflies: in each round a lane adds the number of the lane whose index differs in one bit.
 * Addition commutes, so all lanes compute the same bits in each round, and every lane returns the result.  The order
 * depends on nothing but the shape: equal input gives equal bits.
 */
#ifndef KERNELS_CUDA_THREADS_CUH
#define KERNELS_CUDA_THREADS_CUH

#include "kernels/cuda/ptx.cuh"

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

/* CUDA's indices are unsigned.  These functions return signed numbers, so that differences and -Wconversion need no
 * casts. */
__device__ inline int thread_id()
{
    return (int)threadIdx.x;
}

__device__ inline int lane_id()
{
    return (int)threadIdx.x % WARP;
}

__device__ inline int warp_id()
{
    return (int)threadIdx.x / WARP;
}

__device__ inline int block_threads()
{
    return (int)blockDim.x;
}

__device__ inline int64_t block_id()
{
    return (int64_t)blockIdx.x;
}

/* Number of this thread, or warp, in the whole grid. */
__device__ inline int64_t grid_thread()
{
    return block_id() * block_threads() + thread_id();
}

__device__ inline int64_t grid_warp()
{
    return block_id() * (block_threads() / WARP) + warp_id();
}

/* Sum and maximum over the lanes of a warp, returned to every lane.  All 32 lanes must call them. */
__device__ inline float warp_sum(float v)
{
    for (int lane = WARP / 2; lane; lane /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, lane);
    return v;
}

__device__ inline float warp_max(float v)
{
    for (int lane = WARP / 2; lane; lane /= 2)
        v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, lane));
    return v;
}

/* Sum and maximum over four neighbouring lanes.  In the result of a matrix instruction these lanes hold the
 * same row. */
__device__ inline float quad_sum(float v)
{
    v += __shfl_xor_sync(ALL_LANES, v, 1);
    return v + __shfl_xor_sync(ALL_LANES, v, 2);
}

__device__ inline float quad_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, 1));
    return fmaxf(v, __shfl_xor_sync(ALL_LANES, v, 2));
}

/* Sum over the threads of a block, returned to every thread.  Every thread must call it, since it contains barriers.
 * Each warp leaves its sum in shared memory, and then every warp adds up the sums of all warps. */
__device__ inline float block_sum(float v)
{
    __shared__ float part[WARP];
    v = warp_sum(v);
    __syncthreads(); /* the previous call may still be reading part */
    if (lane_id() == 0)
        part[warp_id()] = v;
    __syncthreads();
    return warp_sum(lane_id() < block_threads() / WARP ? part[lane_id()] : 0.0f);
}

/* Maximum over the threads of a block, returned to every thread. */
__device__ inline float block_max(float v)
{
    __shared__ float part[WARP];
    v = warp_max(v);
    __syncthreads(); /* as in block_sum */
    if (lane_id() == 0)
        part[warp_id()] = v;
    __syncthreads();
    return warp_max(lane_id() < block_threads() / WARP ? part[lane_id()] : -INFINITY);
}

/* Returns true in the last of `blocks` blocks that call it.  That block sees everything that the other blocks wrote
 * before their call, and the counter is 0 again.  One launch can thus merge the results of its blocks. */
__device__ inline bool last_to_arrive(int *arrived, int blocks)
{
    __shared__ int before;
    /* This thread's writes become visible to other blocks before the counter moves. */
    __threadfence();
    __syncthreads(); /* all threads of the block have passed their fence */
    if (thread_id() == 0) {
        before = atomicAdd(arrived, 1);
        if (before == blocks - 1)
            *arrived = 0;
    }
    __syncthreads();
    /* The reads of other blocks' results stay behind the read of the counter. */
    __threadfence();
    return before == blocks - 1;
}

#endif
