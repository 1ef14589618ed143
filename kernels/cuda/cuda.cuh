/*
 * cuda.cuh - shared by all .cu files: launches, checks of errors, the switch over element types.
 *
 * The files that include it compile twice: by nvcc, and by the host compiler over kernels/simt/simt.h.  They therefore
 * contain no <<< >>>, no extern __shared__ and no PTX of their own, and every conversion is a cast, as -Wconversion
 * demands.
 *
 * Blocks are one-dimensional and a multiple of a warp wide.  Grids are one-dimensional and flattened.  All lanes of a
 * warp take the same branches around shuffles, matrix instructions and barriers.
 */
#ifndef KERNELS_CUDA_CUDA_CUH
#define KERNELS_CUDA_CUDA_CUH

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* in C++ a function of the same name hides the constructor of a struct */
#endif
#include "kernels/device.h"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#include "kernels/rng.h"

#include <math.h>

/* Aborts with the name and the text of a CUDA error.  Such an error is a bug: bad input has been refused before. */
#define CUDA_CHECK(call)                                                                                               \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        CHECK(e_ == cudaSuccess, "%s: %s", cudaGetErrorName(e_), cudaGetErrorString(e_));                              \
    } while (0)

#ifdef __CUDACC__
#include <cuda_runtime.h>

/* Before a loop that indexes registers.  The loop must be unrolled: an index that is not constant would move the array
 * to local memory. */
#define UNROLL _Pragma("unroll")
/* Before a loop that must not be unrolled, because the registers of several turns would not fit. */
#define ROLLED _Pragma("unroll 1")
/* Before a loop over memory: the loads of four turns are in flight at once. */
#define UNROLL_4 _Pragma("unroll 4")
/* A struct of parameters that is indexed in constant memory, without a copy in local memory. */
#define GRID_CONSTANT __grid_constant__
#define LAUNCH(kernel, grid, block, smem, stream, ...)                                                                 \
    do {                                                                                                               \
        kernel<<<(grid), (block), (smem), (stream)>>>(__VA_ARGS__);                                                    \
        CUDA_CHECK(cudaGetLastError());                                                                                \
    } while (0)
/* A launch that may take more than 48 KiB of dynamic shared memory. */
#define LAUNCH_WIDE(kernel, grid, block, smem, stream, ...)                                                            \
    do {                                                                                                               \
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(smem)));            \
        LAUNCH(kernel, grid, block, smem, stream, __VA_ARGS__);                                                        \
    } while (0)
/* A wide launch that may start before the previous kernel has ended.  The kernel calls dependency_wait (ptx.cuh).  On
 * devices older than Hopper numAttrs is 0, and the launch waits as any other. */
#define LAUNCH_EARLY(ctx, kernel, grid, block, smem, ...)                                                              \
    do {                                                                                                               \
        cudaLaunchAttribute early_ = {};                                                                               \
        early_.id = cudaLaunchAttributeProgrammaticStreamSerialization;                                                \
        early_.val.programmaticStreamSerializationAllowed = 1;                                                         \
        cudaLaunchConfig_t launch_ = {};                                                                               \
        launch_.gridDim = (grid), launch_.blockDim = (block), launch_.dynamicSmemBytes = (smem);                       \
        launch_.stream = cuda_stream(ctx), launch_.attrs = &early_, launch_.numAttrs = (ctx)->dev->early_launch;       \
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(smem)));            \
        CUDA_CHECK(cudaLaunchKernelEx(&launch_, kernel, __VA_ARGS__));                                                 \
    } while (0)
/* Declares `name`, the dynamic shared memory of the launch, as an array of `type`. */
#define DYNAMIC_SHARED(type, name)                                                                                     \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];                                                    \
    type *name = (type *)dynamic_shared
#else
#include "kernels/simt/cuda_names.h"

#define UNROLL
#define ROLLED
#define UNROLL_4
#define GRID_CONSTANT
#define LAUNCH(kernel, grid, block, smem, stream, ...)                                                                 \
    (simt_stream = (stream), simt_launch(#kernel, kernel, dim3(grid), dim3(block), (smem), __VA_ARGS__))
#define LAUNCH_WIDE LAUNCH
#define LAUNCH_EARLY(ctx, kernel, grid, block, smem, ...)                                                              \
    (simt_early = true, LAUNCH(kernel, grid, block, smem, cuda_stream(ctx), __VA_ARGS__))
#define DYNAMIC_SHARED(type, name) type *name = (type *)simt_dynamic_shared
#endif

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/threads.cuh"

/* The stream of the ctx's device, NULL on simt.  Each call counts one launch, so a caller asks again for the
 * next one. */
cudaStream_t cuda_stream(const struct ctx *c);
/* Device memory for one call of a kernel function, aligned to 64 bytes.  It is valid until the next call: every call
 * gets the same block. */
void *cuda_scratch(const struct ctx *c, size_t bytes);
/* The size of that block. */
constexpr size_t SCRATCH_BYTES = (size_t)64 << 20;
/* COUNTERS integers that are 0 when a kernel starts.  A kernel that counts in them resets them to 0 before it ends. */
int *cuda_counters(const struct ctx *c);
constexpr int COUNTERS = 1 << 14;
/* y (+)= op(a) op(b) + bias through cuBLASLt.  The bias is F32 or NULL, and is rounded to the type of y first.  Returns
 * false, with nothing launched, if the product is small, if the library has no algorithm for it, or on simt.  May use
 * cuda_scratch. */
bool cuda_library_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta, const struct tensor *b,
                         bool tb, const struct tensor *bias);

/* cuda_causal_attention through cuDNN.  Returns false if AMBIT_CUDNN is not set, if the library is missing, if type or
 * shape is not in its table, or on simt.  May use cuda_scratch. */
bool cuda_library_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                            const struct tensor *k, const struct tensor *v, const struct causal *s,
                            const struct attention_form *form);

/* Runs a statement with T bound to the C++ type of an element type. */
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

/* Runs a statement with T bound to the type of one tensor and U to that of another. */
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

/* The element type of a C++ type, for the check in data_of. */
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

/* Returns the elements of t, whose element type must be T; NULL for NULL. */
template <typename T>
static inline T *data_of(const struct tensor *t)
{
    CHECK(!t || t->dtype == dtype_of((T *)nullptr), "a tensor of type %s", dtype_name(t->dtype));
    return t ? (T *)t->data : nullptr;
}

/* Returns the number of blocks that n items need, `per` of them in each. */
static inline unsigned blocks_for(int64_t n, int64_t per)
{
    int64_t blocks = (n + per - 1) / per;
    CHECK(blocks > 0 && blocks <= INT32_MAX, "%lld things, %lld a block", (long long)n, (long long)per);
    return (unsigned)blocks;
}

#endif
