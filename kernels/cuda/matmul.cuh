/*
 * matmul.cuh - the hand-written matrix products, shared by matmul and linear.
 */
#ifndef KERNELS_CUDA_MATMUL_CUH
#define KERNELS_CUDA_MATMUL_CUH

#include "kernels/cuda/cuda.cuh"

/* y[m,n] (+)= act(op(a) op(b) + bias). a is [m,k], or [k,m] if ta; b is [k,n], or [n,k] if tb. */
struct cuda_gemm {
    struct tensor *y, *pre; /* pre, unless NULL, receives the argument of act */
    const struct tensor *a, *b, *bias;
    int64_t m, n, k;
    bool ta, tb, add;
    enum activation act;
};
void cuda_gemm_run(struct ctx *c, const struct cuda_gemm *p);
/* y (+)= x w^T + bias through linear_group.  Returns false, with nothing done, if y is empty or has many rows. */
bool cuda_few_rows(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,
                   const struct tensor *bias);

#endif
