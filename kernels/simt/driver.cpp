/* The simt device: host memory, kernels run where they are launched. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct simt_state {
    void *scratch; /* of the last kernel that asked, exactly as large: AddressSanitizer sees its end */
};

static size_t memory_bytes(int pages)
{
    return (size_t)sysconf(pages) * (size_t)sysconf(_SC_PAGESIZE);
}

static int simt_open(struct device *d, int number, struct error *err)
{
    if (number != 0)
        return error_set(err, EXIT_CODE_DEVICE, "simt:%d: there is one simt device, simt", number);
    d->state = xcalloc(1, sizeof(struct simt_state));
    snprintf(d->description, sizeof d->description, "CUDA kernels on the CPU, one thread, for checking");
    d->total_memory = memory_bytes(_SC_PHYS_PAGES);
    d->free_memory = memory_bytes(_SC_AVPHYS_PAGES);
    return 0;
}

static void simt_close(struct device *d)
{
    if (d->state)
        free(((struct simt_state *)d->state)->scratch);
    free(d->state);
    d->state = nullptr;
}

static void *simt_alloc(struct device *, size_t bytes, struct error *err)
{
    void *p = nullptr;
    if (posix_memalign(&p, ARENA_ALIGN, bytes ? bytes : 1) != 0)
        error_set(err, EXIT_CODE_MEMORY, "not enough memory: %zu MiB wanted", bytes >> 20);
    return p;
}

static void simt_free(struct device *, void *p)
{
    free(p);
}

static void simt_copy(struct device *, void *dst, const void *src, size_t bytes)
{
    if (bytes)
        memcpy(dst, src, bytes);
}

static void simt_sync(struct device *)
{
}

cudaStream_t cuda_stream(const struct ctx *)
{
    return nullptr;
}

void *cuda_scratch(const struct ctx *c, size_t bytes)
{
    struct simt_state *s = (struct simt_state *)c->dev->state;
    CHECK(bytes <= SCRATCH_BYTES, "%zu bytes of scratch", bytes);
    free(s->scratch);
    CHECK(posix_memalign(&s->scratch, ARENA_ALIGN, bytes ? bytes : 1) == 0, "no memory for %zu bytes of scratch",
          bytes);
    memset(s->scratch, 0xff, bytes);
    return s->scratch;
}

bool cuda_library_matmul(struct ctx *, struct grad, const struct tensor *, bool, const struct tensor *, bool,
                         const struct tensor *)
{
    return false;
}

extern "C" const struct driver ambit_driver = {
    "simt",    &cuda_kernels, simt_open, simt_close, simt_alloc, simt_free, simt_copy,
    simt_copy, simt_sync,     nullptr,   nullptr,    nullptr,    nullptr,
};
