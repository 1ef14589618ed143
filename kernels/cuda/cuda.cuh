/*
 * cuda.cuh - shared by all .cu files: launch, error check, dtype switch; and through it elements, threads and sums.
 *
 * The files that include it compile twice, by nvcc and, over kernels/simt/simt.h, by the host compiler; so they use no
 * <<< >>>, no extern __shared__ and no PTX of their own, and everything is cast as -Wconversion wants it.  Blocks are
 * one-dimensional and a multiple of a warp wide, a warp always works together, grids are one-dimensional and flattened.
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

#define CUDA_CHECK(call)                                                                                               \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        CHECK(e_ == cudaSuccess, "%s: %s", cudaGetErrorName(e_), cudaGetErrorString(e_));                              \
    } while (0)

#ifdef __CUDACC__
#include <cuda_runtime.h>

/* Before a loop over registers: an index that is not constant would move them to memory. */
#define UNROLL _Pragma("unroll")
/* Before a loop whose turns should not be in registers at once. */
#define ROLLED _Pragma("unroll 1")
/* Before a loop over memory: four rounds' loads are under way at once. */
#define UNROLL_4 _Pragma("unroll 4")
/* A struct of parameters that is indexed where it lies, not copied into local memory. */
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
/* A wide launch of a kernel that calls dependency_wait (ptx.cuh). */
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
/* name: the dynamic shared memory of the launch, as an array of type */
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

/* The stream of the ctx's device (NULL on simt), for one launch, which is counted: ask again for the next. */
cudaStream_t cuda_stream(const struct ctx *c);
/* Device memory for one kernel call, valid until the next call asks; 64-byte aligned. */
void *cuda_scratch(const struct ctx *c, size_t bytes);
/* The most cuda_scratch gives. */
constexpr size_t SCRATCH_BYTES = (size_t)64 << 20;
/* Integers that are 0 when a kernel starts: who counts in them leaves them so. */
int *cuda_counters(const struct ctx *c);
constexpr int COUNTERS = 1 << 14;
/* y (+)= op(a) op(b) + bias (F32, or NULL; rounded first to the type of y) through cuBLASLt; false where it does not
 * apply: small, not in the library, or on simt.  May use cuda_scratch. */
bool cuda_library_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta, const struct tensor *b,
                         bool tb, const struct tensor *bias);

/* The same as cuda_causal_attention through cuDNN; false where it does not apply: not asked for (AMBIT_CUDNN), not
 * there, another type or shape than its table has, or on simt.  May use cuda_scratch. */
bool cuda_library_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                            const struct tensor *k, const struct tensor *v, const struct causal *s,
                            const struct attention_form *form);

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

#endif
