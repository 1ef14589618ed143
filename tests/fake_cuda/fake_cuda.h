/*
 * fake_cuda.h - a CUDA runtime, a cuBLASLt and a cuDNN of our own, so that the cuda driver runs where there is no GPU.
 *
 * kernels/cuda/driver.cu and its two libraries are compiled by the host compiler over the headers beside this one. They
 * make another libambit_cuda.so, in lib/fake_cuda of the build; its kernels run as those of simt do.  The fake chooses
 * the worst of all that a GPU leaves open.  Nothing on a stream happens before something waits for it, and the target
 * of a download holds garbage until then.  The host cannot touch device memory.  Wrong use that a GPU would tolerate,
 * or answer with wrong numbers, ends the program with "fake CUDA: " and the reason.  Errors that a GPU would report are
 * returned, as during a capture.
 */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The module exports one, `fake_cuda`, for tests to read and to set; it keeps it as long as the module is loaded. */
struct fake_cuda {
    int devices;        /* GPUs */
    int driver;         /* the CUDA version that the driver is for, as 13000; 0: there is no driver */
    size_t memory;      /* bytes of each GPU */
    const char *fail;   /* the call of this name fails, once, ... */
    int fail_after;     /* ... after as many that do not */
    int64_t live;       /* what was created or allocated and not yet given back */
    int64_t searches;   /* calls of cublasLtMatmulAlgoGetHeuristic, and plans that cuDNN was asked for */
    int64_t products;   /* calls of cublasLtMatmul */
    bool cudnn;         /* there is a libcudnn.so.9 */
    int64_t attentions; /* calls of cudnnBackendExecute */
};

#endif
