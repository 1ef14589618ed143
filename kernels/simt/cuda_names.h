/*
 * cuda_names.h - the part of CUDA C++ that kernels/cuda uses, for a host compiler, over simt.h.
 *
 * Names and semantics are those of the CUDA C++ Programming Guide.  A kernel that needs another name adds it here.  All
 * warp collectives are made of one exchange, so that simt.cpp knows a single kind of collective.
 */
#ifndef KERNELS_SIMT_CUDA_NAMES_H
#define KERNELS_SIMT_CUDA_NAMES_H

#include "kernels/simt/simt.h"

#include <math.h>
#include <string.h>

#define __global__ static /* a kernel is local to its source */
#define __device__
#define __host__
#define __shared__ static /* internal linkage, so that AddressSanitizer puts red zones around it */
#define __forceinline__ inline
#define __launch_bounds__(...)

struct alignas(8) uint2 {
    unsigned x, y;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct alignas(16) float4 {
    float x, y, z, w;
};

struct alignas(8) float2 {
    float x, y;
};

typedef void *cudaStream_t;

#define threadIdx (simt_current->index)
#define blockIdx simt_block_index
#define blockDim simt_block_size
#define gridDim simt_grid_size

/* The last parameters of a collective: the place of the call, by which simt.cpp compares the collectives of threads.
 * The defaults are evaluated at the call. */
#define SIMT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(SIMT_HERE)
{
    simt_sync_block({ file, line });
}

static inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE)
{
    simt_sync_warp(mask, { file, line });
}

template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int source, SIMT_HERE)
{
    T theirs;
    const unsigned char *slots = simt_exchange(&value, sizeof value, mask, { file, line }, 1u << (source & 31));
    memcpy(&theirs, slots + (source & 31) * SIMT_SLOT, sizeof theirs);
    return theirs;
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, SIMT_HERE)
{
    return __shfl_sync(mask, value, simt_current->lane ^ bits, file, line);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, int by, SIMT_HERE)
{
    int source = simt_current->lane + by;
    return __shfl_sync(mask, value, source < SIMT_WARP ? source : simt_current->lane, file, line);
}

static inline unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)((uint64_t)x * y >> 32);
}

/* Only integers are supported, because a sum of floats by atomics depends on the order of threads. */
template <typename T>
static inline T atomicAdd(T *p, T value)
{
    static_assert((T)0.5f == 0, "an integer");
    return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}

/* The fence does nothing, because blocks run one after another. */
static inline void __threadfence(void)
{
}

static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

static inline float __uint_as_float(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

#endif
