/*
 * dlfcn.h - for kernels/cuda/library_attention.cu and library_links.cu: libcudnn.so.9 is the one of cudnn.cpp, where a
 * test has one there, libnccl.so.2 that of nccl.cpp.
 */
#ifndef TESTS_FAKE_CUDA_DLFCN_H
#define TESTS_FAKE_CUDA_DLFCN_H

#define RTLD_LOCAL 0
#define RTLD_NOW 2
#define dlopen fake_dlopen
#define dlsym fake_dlsym
#define dlclose fake_dlclose

void *fake_dlopen(const char *name, int flags);
void *fake_dlsym(void *library, const char *name);
int fake_dlclose(void *library);

#endif
