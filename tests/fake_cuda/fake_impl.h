/*
 * fake_impl.h - declarations that the parts of fake_cuda.h share: memory, the queues of streams, and the end after
 * wrong use.
 */
#ifndef TESTS_FAKE_CUDA_FAKE_IMPL_H
#define TESTS_FAKE_CUDA_FAKE_IMPL_H

#include "tests/fake_cuda/cuda_runtime.h"
#include "tests/fake_cuda/fake_cuda.h"

#include <functional>

extern "C" struct fake_cuda fake_cuda __attribute__((visibility("default")));

[[noreturn]] void fake_misuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* True when the test wants this call to fail. */
bool fake_fails(const char *call);

/* The calling thread's device. */
int fake_current_device();

/* Where memory lies: a device's number, FAKE_PINNED or FAKE_PAGEABLE. */
enum { FAKE_PINNED = -1, FAKE_PAGEABLE = -2 };
/* NULL when there is no more.  Device memory is closed to the host. */
void *fake_memory_take(int where, size_t bytes);
void fake_memory_give(void *p, const char *call);
size_t fake_memory_used(int device);
/* Returns the place of these bytes; misuse if they begin inside a block and extend past its end. */
int fake_memory_place(const void *p, size_t bytes, const char *what);
/* Opens and closes device memory to the host, around each operation of a device. */
void fake_memory_open(bool open);

/* Puts work at the end of a stream's queue, or into the graph that it captures. */
cudaError_t fake_enqueue(cudaStream_t stream, std::function<void()> work);
int fake_stream_device(cudaStream_t stream, const char *call);
/* Does all that was queued for a device, as a call that waits for it does. */
void fake_drain_device(int device);
/* nccl.cpp: whether there is a libnccl.so.2, and its functions by name, NULL of any other. */
bool fake_nccl_wanted();
void *fake_nccl_find(const char *name);
/* Queues the kernels launched since the last call; each call of the runtime and of the library begins with it. */
void fake_take_launches();
/* For calls that are illegal during a capture: returns true, and spoils the capture, if one is active. */
bool fake_spoils_capture();

#endif
