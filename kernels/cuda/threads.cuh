/*
 * threads.cuh - who a thread is, and sums and maxima over warps and blocks.
 */
#ifndef KERNELS_CUDA_THREADS_CUH
#define KERNELS_CUDA_THREADS_CUH

#include "kernels/cuda/ptx.cuh"

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

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

/* Sum and maximum over four neighbouring lanes, which share a row. */
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

/* The sum over the block's threads, given to all of them; every thread calls it. */
__device__ inline float block_sum(float v)
{
    __shared__ float part[WARP];
    v = warp_sum(v);
    __syncthreads(); /* part may still be read for the call before */
    if (lane_id() == 0)
        part[warp_id()] = v;
    __syncthreads();
    return warp_sum(lane_id() < block_threads() / WARP ? part[lane_id()] : 0.0f);
}

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

/* Returns true in the last of `blocks` blocks to call it, which then sees the writes of the others.  The counter is 0
 * again. */
__device__ inline bool last_to_arrive(int *arrived, int blocks)
{
    __shared__ int before;
    __threadfence();
    __syncthreads(); /* the whole block has written */
    if (thread_id() == 0) {
        before = atomicAdd(arrived, 1);
        if (before == blocks - 1)
            *arrived = 0;
    }
    __syncthreads();
    __threadfence();
    return before == blocks - 1;
}

#endif
