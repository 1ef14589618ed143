/*
 * module.h - the symbols that both drivers, kernels/cuda/driver.cu and kernels/simt/driver.cpp, export.
 */
#ifndef KERNELS_CUDA_MODULE_H
#define KERNELS_CUDA_MODULE_H

#include "kernels/device.h"
#include "kernels/links.h"

extern "C" {
extern const struct kernels cuda_kernels;
extern const struct links ambit_links __attribute__((visibility("default"))); /* of libambit_cuda.so alone */
extern const struct driver ambit_driver __attribute__((visibility("default")));
}

#endif
