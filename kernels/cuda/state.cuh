/*
 * state.cuh - the state of an open CUDA device.  The driver and the library functions use it, kernels do not.
 *
 * One stream carries all work of a device.  Everything here belongs to the device and is released by its close
 * function.
 */
#ifndef KERNELS_CUDA_STATE_CUH
#define KERNELS_CUDA_STATE_CUH

#include "kernels/cuda/cuda.cuh"

#include <cublasLt.h>
#include <cuda_runtime.h>

/* STAGES pinned buffers take turns as the source of uploads: the host fills one while the GPU reads the other. */
constexpr size_t LT_WORKSPACE_BYTES = (size_t)32 << 20, STAGE_BYTES = (size_t)4 << 20;
constexpr int STAGES = 2;

/* Everything that decides which algorithm of cuBLASLt computes a product. */
struct plan_key {
    int64_t m, n, k;
    int dtype, y_dtype;
    int align_a, align_b, align_y, align_bias; /* in bytes, up to 16; align_bias 0: no bias */
    bool ta, tb;
    bool tf32;
    bool rowwise; /* the algorithm is the same for any m, and takes each sum in one sequence */
};

struct plan {
    struct plan_key key;
    bool usable; /* false: the library has nothing for this key, and is not asked again */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulAlgo_t algorithm;
};

/* A download that has been started.  Its bytes arrive in pinned memory, and are copied to dst when it is finished. */
struct late_download {
    char *pinned;
    size_t room; /* of pinned */
    void *dst;
    size_t bytes;
    cudaEvent_t arrived;
};
constexpr int LATE_DOWNLOADS = 4;

struct attention_library; /* of library_attention.cu */
struct links_library;     /* of library_links.cu */

struct cuda_state {
    int number, capability; /* 8 of 8.0 */
    cudaStream_t stream;
    void *scratch; /* then the counters */
    bool capturing;

    char *stage[STAGES]; /* pinned; filled one after the other by uploads */
    cudaEvent_t stage_read[STAGES];
    int stage_now;
    size_t stage_used;
    struct late_download late[LATE_DOWNLOADS]; /* a ring */
    int late_first, late_count;

    cublasLtHandle_t lt;
    void *lt_workspace;
    struct plan *plans; /* open addressing, a power of two, at most half full */
    int64_t plan_count, plan_cap;
    unsigned told; /* a bit for each kind of product that the library was found not to have */

    struct links_library *links; /* NULL until they are asked for */
    bool attention_asked;        /* whether cuDNN is wanted, and there */
    struct attention_library *attention;
};

/* Makes this device the current one of the calling thread.  Launches, copies and plans need it. */
void use_device(const struct cuda_state *s);

void plans_release(struct cuda_state *s);
void attention_library_close(struct cuda_state *s);
void links_library_close(struct cuda_state *s);

static inline struct cuda_state *state_of(const struct device *d)
{
    return (struct cuda_state *)d->state;
}

#endif
