/*
 * cuda.cuh - shared by all .cu files: launch, error check, dtype switch, element access, warp and block sums.
 *
 * The files that include it compile twice, by nvcc and, over kernels/simt/simt.h, by the host compiler; so they use no
 * <<< >>>, no extern __shared__ and no PTX of their own, and everything is cast as -Wconversion wants it.  Blocks are
 * one-dimensional and a multiple of a warp wide, a warp always works together, grids are one-dimensional and flattened.
 */
#ifndef KERNELS_CUDA_CUDA_CUH
#define KERNELS_CUDA_CUDA_CUH

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* in C++ a function named as a struct hides its constructor */
#endif
#include "kernels/device.h"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#include "kernels/rng.h"

#include <math.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>

/* Before a loop over registers: an index that is not constant would move them to memory. */
#define UNROLL _Pragma("unroll")
#define CUDA_CHECK(call)                                                                                               \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        CHECK(e_ == cudaSuccess, "%s: %s", cudaGetErrorName(e_), cudaGetErrorString(e_));                              \
    } while (0)
#define LAUNCH(kernel, grid, block, smem, stream, ...)                                                                 \
    do {                                                                                                               \
        kernel<<<(grid), (block), (smem), (stream)>>>(__VA_ARGS__);                                                    \
        CUDA_CHECK(cudaGetLastError());                                                                                \
    } while (0)
/* name: the dynamic shared memory of the launch, as an array of type */
#define DYNAMIC_SHARED(type, name)                                                                                     \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];                                                    \
    type *name = (type *)dynamic_shared
#else
#include "kernels/simt/simt.h"

#define UNROLL
#define LAUNCH(kernel, grid, block, smem, stream, ...)                                                                 \
    ((void)(stream), simt_launch(#kernel, kernel, dim3(grid), dim3(block), (smem), __VA_ARGS__))
#define DYNAMIC_SHARED(type, name) type *name = (type *)simt_dynamic_shared
#endif

#include "kernels/cuda/ptx.cuh"

constexpr int WARP = 32;
constexpr int PACK = 8; /* elements a thread takes at once: 16 bytes of bf16, twice 16 of f32 */
constexpr unsigned ALL_LANES = 0xffffffffu;

/* The stream of the ctx's device (NULL on simt). */
cudaStream_t cuda_stream(const struct ctx *c);
/* Device memory for one kernel call, valid until the next call asks; 64-byte aligned. */
void *cuda_scratch(const struct ctx *c, size_t bytes);
/* The most cuda_scratch gives. */
constexpr size_t SCRATCH_BYTES = (size_t)64 << 20;
/* y (+)= op(a) op(b) + bias (F32, or NULL) through cuBLASLt; false where it does not apply: small, odd, or on simt. */
bool cuda_library_matmul(struct ctx *c, struct grad y, const struct tensor *a, bool ta, const struct tensor *b, bool tb,
                         const struct tensor *bias);

/* bfloat16 with conversions, the same type under both compilers. */
struct bf16 {
    uint16_t bits;
    bf16() = default;
    __host__ __device__ explicit bf16(float x) : bits(bf16_bits(x))
    {
    }
    __host__ __device__ operator float() const
    {
        return f32_bits((unsigned)bits << 16);
    }
};

/* Runs the statement with T bound to the element type. */
#define DTYPE_SWITCH(type, ...)                                                                                        \
    do {                                                                                                               \
        CHECK((type) == F32 || (type) == BF16, "element type %d", (int)(type));                                        \
        if ((type) == F32) {                                                                                           \
            using T = float;                                                                                           \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            using T = bf16;                                                                                            \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* Binds T to the type of one tensor and U to that of another. */
#define DTYPE_SWITCH_2(type, other, ...)                                                                               \
    do {                                                                                                               \
        CHECK((other) == F32 || (other) == BF16, "element type %d", (int)(other));                                     \
        if ((other) == F32) {                                                                                          \
            using U = float;                                                                                           \
            DTYPE_SWITCH(type, __VA_ARGS__);                                                                           \
        } else {                                                                                                       \
            using U = bf16;                                                                                            \
            DTYPE_SWITCH(type, __VA_ARGS__);                                                                           \
        }                                                                                                              \
    } while (0)

__host__ inline enum dtype dtype_of(float *)
{
    return F32;
}

__host__ inline enum dtype dtype_of(bf16 *)
{
    return BF16;
}

__host__ inline enum dtype dtype_of(int *)
{
    return I32;
}

/* The elements of t, which must have this type; NULL stays NULL. */
template <typename T>
static inline T *data_of(const struct tensor *t)
{
    CHECK(!t || t->dtype == dtype_of((T *)nullptr), "a tensor of type %s", dtype_name(t->dtype));
    return t ? (T *)t->data : nullptr;
}

/* Blocks for n things, `per` of them in each. */
static inline unsigned blocks_for(int64_t n, int64_t per)
{
    int64_t blocks = (n + per - 1) / per;
    CHECK(blocks > 0 && blocks <= INT32_MAX, "%lld things, %lld a block", (long long)n, (long long)per);
    return (unsigned)blocks;
}

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

__device__ inline bool aligned16(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

/* v = x[0 .. PACK), zeros from left on. */
__device__ inline void load_pack(float (&v)[PACK], const float *x, int64_t left)
{
    if (left >= PACK && aligned16(x)) {
        float4 a = ((const float4 *)x)[0], b = ((const float4 *)x)[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
        return;
    }
    for (int i = 0; i < PACK; i++)
        v[i] = i < left ? x[i] : 0.0f;
}

__device__ inline void load_pack(float (&v)[PACK], const bf16 *x, int64_t left)
{
    if (left >= PACK && aligned16(x)) {
        uint4 a = *(const uint4 *)x;
        const unsigned u[4] = { a.x, a.y, a.z, a.w };
        for (int i = 0; i < 4; i++) {
            v[2 * i] = f32_bits(u[i] << 16);
            v[2 * i + 1] = f32_bits(u[i] & 0xffff0000u);
        }
        return;
    }
    for (int i = 0; i < PACK; i++)
        v[i] = i < left ? (float)x[i] : 0.0f;
}

__device__ inline void store_pack(float *y, const float (&v)[PACK], int64_t left)
{
    if (left >= PACK && aligned16(y)) {
        ((float4 *)y)[0] = float4{ v[0], v[1], v[2], v[3] };
        ((float4 *)y)[1] = float4{ v[4], v[5], v[6], v[7] };
        return;
    }
    for (int i = 0; i < PACK; i++)
        if (i < left)
            y[i] = v[i];
}

__device__ inline void store_pack(bf16 *y, const float (&v)[PACK], int64_t left)
{
    if (left >= PACK && aligned16(y)) {
        *(uint4 *)y =
            uint4{ bf16_pair(v[0], v[1]), bf16_pair(v[2], v[3]), bf16_pair(v[4], v[5]), bf16_pair(v[6], v[7]) };
        return;
    }
    for (int i = 0; i < PACK; i++)
        if (i < left)
            y[i] = bf16(v[i]);
}

/* y = v, or y += v. */
template <typename T>
__device__ inline void put_pack(T *y, const float (&v)[PACK], int64_t left, bool add)
{
    float sum[PACK];
    if (!add) {
        store_pack(y, v, left);
        return;
    }
    load_pack(sum, y, left);
    for (int i = 0; i < PACK; i++)
        sum[i] += v[i];
    store_pack(y, sum, left);
}

template <typename T>
__device__ inline void put(T *y, float v, bool add)
{
    *y = T(add ? (float)*y + v : v);
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
    __syncthreads();
    if (lane_id() == 0)
        part[warp_id()] = v;
    __syncthreads();
    return warp_max(lane_id() < block_threads() / WARP ? part[lane_id()] : -INFINITY);
}

#endif
