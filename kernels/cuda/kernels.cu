/* kernels.cu - the table of kernels of both modules, libambit_cuda.so and simt. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/module.h"

extern "C" const struct kernels cuda_kernels = {
#define KERNEL_ROW(name, args) cuda_##name,
    KERNEL_LIST(KERNEL_ROW)
#undef KERNEL_ROW
};
