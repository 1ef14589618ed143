/* The cuda device: one stream, one cuBLASLt handle, memory, copies through pinned stages, capture. */
#include "kernels/cuda/module.h"
#include "kernels/cuda/state.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel module's version, such as 580.65.06; the runtime knows only the CUDA version it supports. */
static void driver_version(char *out, size_t size)
{
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    int version = 0;
    out[0] = '\0';
    if (f) {
        if (fgets(out, (int)size, f))
            out[strcspn(out, "\n")] = '\0';
        fclose(f);
    }
    if (!out[0] && cudaDriverGetVersion(&version) == cudaSuccess)
        snprintf(out, size, "for CUDA %d.%d", version / 1000, version % 1000 / 10);
}

static int describe(struct device *d, int number, struct error *err)
{
    struct cudaDeviceProp p;
    char version[64];
    int count = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e == cudaSuccess && number >= count)
        return error_set(err, EXIT_CODE_DEVICE, "cuda:%d: this machine has %d CUDA device%s", number, count,
                         count == 1 ? "" : "s");
    if (e == cudaSuccess)
        e = cudaSetDevice(number);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&p, number);
    if (e == cudaSuccess)
        e = cudaMemGetInfo(&d->free_memory, &d->total_memory);
    if (e != cudaSuccess) {
        cudaGetLastError(); /* reported here, so the next launch must not meet it */
        return error_set(err, EXIT_CODE_DEVICE, "cuda:%d: %s", number, cudaGetErrorString(e));
    }
    if (p.major < 8)
        return error_set(err, EXIT_CODE_DEVICE, "cuda:%d: %s has compute capability %d.%d, 8.0 is the least", number,
                         p.name, p.major, p.minor);
    driver_version(version, sizeof version);
    snprintf(d->description, sizeof d->description, "%.80s, driver %.32s", p.name, version);
    return 0;
}

static void cuda_close(struct device *d)
{
    struct cuda_state *s = state_of(d);
    if (!s)
        return;
    plans_release(s);
    if (s->lt)
        cublasLtDestroy(s->lt);
    for (int i = 0; i < STAGES; i++) {
        if (s->stage_read[i])
            cudaEventDestroy(s->stage_read[i]);
        cudaFreeHost(s->stage[i]);
    }
    cudaFree(s->scratch);
    cudaFree(s->lt_workspace);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
    d->state = nullptr;
}

/* The fixed buffers; what was taken before a failure is given back by cuda_close. */
static cudaError_t take_buffers(struct cuda_state *s)
{
    cudaError_t e = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    for (int i = 0; i < STAGES && e == cudaSuccess; i++) {
        e = cudaMallocHost((void **)&s->stage[i], STAGE_BYTES);
        if (e == cudaSuccess)
            e = cudaEventCreateWithFlags(&s->stage_read[i], cudaEventDisableTiming);
    }
    if (e == cudaSuccess)
        e = cudaMalloc(&s->scratch, SCRATCH_BYTES);
    return e == cudaSuccess ? cudaMalloc(&s->lt_workspace, LT_WORKSPACE_BYTES) : e;
}

static int cuda_open(struct device *d, int number, struct error *err)
{
    if (describe(d, number, err))
        return -1;
    struct cuda_state *s = (struct cuda_state *)xcalloc(1, sizeof *s);
    s->number = number;
    d->state = s;
    cudaError_t e = take_buffers(s);
    if (e != cudaSuccess) {
        cudaGetLastError();
        error_set(err, e == cudaErrorMemoryAllocation ? EXIT_CODE_MEMORY : EXIT_CODE_DEVICE, "cuda:%d: %s", number,
                  cudaGetErrorString(e));
    } else if (cublasLtCreate(&s->lt) != CUBLAS_STATUS_SUCCESS) {
        error_set(err, EXIT_CODE_DEVICE, "cuda:%d: cuBLASLt does not start", number);
        e = cudaErrorUnknown;
    }
    if (e != cudaSuccess)
        cuda_close(d);
    return e == cudaSuccess ? 0 : -1;
}

static void *cuda_alloc(struct device *d, size_t bytes, struct error *err)
{
    void *p = nullptr;
    size_t free_bytes = 0, total = 0;
    CUDA_CHECK(cudaSetDevice(state_of(d)->number));
    if (cudaMalloc(&p, bytes ? bytes : 1) == cudaSuccess)
        return p;
    cudaGetLastError();
    cudaMemGetInfo(&free_bytes, &total);
    error_set(err, EXIT_CODE_MEMORY, "not enough memory on the GPU for %zu MiB: %zu of %zu MiB free", bytes >> 20,
              free_bytes >> 20, total >> 20);
    return nullptr;
}

static void cuda_free(struct device *d, void *p)
{
    CUDA_CHECK(cudaSetDevice(state_of(d)->number));
    CUDA_CHECK(cudaFree(p));
}

/* Room in a stage for as much of `bytes` as fits; waits when the GPU has not read the stage's last content. */
static char *stage_room(struct cuda_state *s, size_t *bytes, struct device_counts *counts)
{
    if (s->stage_used == STAGE_BYTES) {
        CUDA_CHECK(cudaEventRecord(s->stage_read[s->stage_now], s->stream));
        s->stage_now = (s->stage_now + 1) % STAGES;
        s->stage_used = 0;
        counts->syncs++;
        CUDA_CHECK(cudaEventSynchronize(s->stage_read[s->stage_now]));
    }
    char *p = s->stage[s->stage_now] + s->stage_used;
    size_t left = STAGE_BYTES - s->stage_used;
    *bytes = *bytes < left ? *bytes : left;
    s->stage_used += (*bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    return p;
}

static void cuda_upload(struct device *d, void *dst, const void *src, size_t bytes)
{
    struct cuda_state *s = state_of(d);
    CHECK(!s->capturing, "an upload cannot be captured: replay would copy whatever the stage holds then");
    CUDA_CHECK(cudaSetDevice(s->number));
    d->counts.uploads++;
    d->counts.upload_bytes += (int64_t)bytes;
    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done;
        char *room = stage_room(s, &part, &d->counts);
        memcpy(room, (const char *)src + done, part);
        CUDA_CHECK(cudaMemcpyAsync((char *)dst + done, room, part, cudaMemcpyHostToDevice, s->stream));
    }
}

static void cuda_sync(struct device *d)
{
    d->counts.syncs++;
    CUDA_CHECK(cudaStreamSynchronize(state_of(d)->stream));
}

static void cuda_download(struct device *d, void *dst, const void *src, size_t bytes)
{
    struct cuda_state *s = state_of(d);
    CHECK(!s->capturing, "a download cannot be captured");
    if (bytes == 0)
        return;
    CUDA_CHECK(cudaSetDevice(s->number));
    CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, s->stream));
    d->counts.downloads++;
    d->counts.download_bytes += (int64_t)bytes;
    cuda_sync(d);
}

static void cuda_capture_begin(struct device *d)
{
    struct cuda_state *s = state_of(d);
    CUDA_CHECK(cudaSetDevice(s->number));
    CUDA_CHECK(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
    s->capturing = true;
}

static void *cuda_capture_end(struct device *d)
{
    struct cuda_state *s = state_of(d);
    cudaGraph_t graph;
    cudaGraphExec_t captured;
    CUDA_CHECK(cudaStreamEndCapture(s->stream, &graph));
    s->capturing = false;
    CUDA_CHECK(cudaGraphInstantiate(&captured, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
    return captured;
}

static void cuda_replay(struct device *d, void *captured)
{
    d->counts.replays++;
    CUDA_CHECK(cudaGraphLaunch((cudaGraphExec_t)captured, state_of(d)->stream));
}

static void cuda_capture_free(struct device *, void *captured)
{
    if (captured)
        CUDA_CHECK(cudaGraphExecDestroy((cudaGraphExec_t)captured));
}

cudaStream_t cuda_stream(const struct ctx *c)
{
    struct cuda_state *s = state_of(c->dev);
    c->dev->counts.launches += !s->capturing;
    return s->stream;
}

void *cuda_scratch(const struct ctx *c, size_t bytes)
{
    CHECK(bytes <= SCRATCH_BYTES, "%zu bytes of scratch", bytes);
    return state_of(c->dev)->scratch;
}

extern "C" const struct driver ambit_driver = {
    "cuda",        &cuda_kernels, cuda_open,          cuda_close,       cuda_alloc,  cuda_free,         cuda_upload,
    cuda_download, cuda_sync,     cuda_capture_begin, cuda_capture_end, cuda_replay, cuda_capture_free,
};
