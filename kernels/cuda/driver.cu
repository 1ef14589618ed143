/*
 * driver.cu - the cuda device: one stream, one cuBLASLt handle, memory, copies through pinned buffers, capture.
 *
 * Everything runs in one stream, so launches and copies need no events between them.  The host waits only in cuda_sync,
 * in downloads, and if both buffers for uploads are in use.
 */
#include "kernels/cuda/module.h"
#include "kernels/cuda/state.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static thread_local int current_device = -1; /* CUDA keeps one for each thread */

void use_device(const struct cuda_state *s)
{
    if (current_device == s->number)
        return;
    CUDA_CHECK(cudaSetDevice(s->number));
    current_device = s->number;
}

/* Writes the version of the kernel module, such as 580.65.06.  The runtime knows only the CUDA version that it
 * supports. */
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

/* Reports why a device does not open; returns 1 if the machine has none, else -1. */
static int refuse(int number, cudaError_t e, struct error *err)
{
    char version[64];
    int cuda = 0;
    cudaGetLastError(); /* reported here, so that the next launch does not meet it */
    cudaDriverGetVersion(&cuda);
    if (e == cudaErrorNoDevice || (e == cudaErrorInsufficientDriver && cuda == 0)) {
        error_set(err, EXIT_CODE_DEVICE, "cuda:%d: this machine has no NVIDIA GPU, or no driver for it", number);
        return 1;
    }
    driver_version(version, sizeof version);
    if (e == cudaErrorInsufficientDriver)
        return error_set(err, EXIT_CODE_DEVICE, "cuda:%d: driver %s is too old, CUDA %d.%d needs %s or newer", number,
                         version, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, AMBIT_LEAST_DRIVER);
    return error_set(err, e == cudaErrorMemoryAllocation ? EXIT_CODE_MEMORY : EXIT_CODE_DEVICE, "cuda:%d: %s", number,
                     cudaGetErrorString(e));
}

/* Fills the device's description, and refuses GPUs that are missing or too old. */
static int describe(struct device *d, int number, int *capability, struct error *err)
{
    struct cudaDeviceProp p;
    char version[64];
    int count = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e == cudaSuccess && number >= count)
        return error_set(err, EXIT_CODE_DEVICE, "cuda:%d: this machine has %d CUDA device%s", number, count,
                         count == 1 ? "" : "s");
    /* cudaSetDevice is called for its error, even if the number is the same. */
    current_device = -1;
    if (e == cudaSuccess)
        e = cudaSetDevice(number);
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&p, number);
    if (e == cudaSuccess)
        e = cudaMemGetInfo(&d->free_memory, &d->total_memory);
    if (e != cudaSuccess)
        return refuse(number, e, err);
    if (p.major < 8)
        return error_set(err, EXIT_CODE_DEVICE, "cuda:%d: %s has compute capability %d.%d, 8.0 is the least", number,
                         p.name, p.major, p.minor);
    *capability = p.major;
    d->sums_dq = true;
    d->early_launch = p.major >= 9;
    d->multiprocessors = p.multiProcessorCount;
    driver_version(version, sizeof version);
    snprintf(d->description, sizeof d->description, "%.80s, driver %.32s", p.name, version);
    return 0;
}

/* Releases whatever cuda_open has taken so far. */
static void cuda_close(struct device *d)
{
    struct cuda_state *s = state_of(d);
    if (!s)
        return;
    use_device(s);
    plans_release(s);
    attention_library_close(s);
    links_library_close(s);
    if (s->lt)
        cublasLtDestroy(s->lt);
    for (int i = 0; i < STAGES; i++) {
        if (s->stage_read[i])
            cudaEventDestroy(s->stage_read[i]);
        cudaFreeHost(s->stage[i]);
    }
    for (struct late_download &l : s->late) {
        if (l.arrived)
            cudaEventDestroy(l.arrived);
        cudaFreeHost(l.pinned);
    }
    cudaFree(s->scratch);
    cudaFree(s->lt_workspace);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
    d->state = nullptr;
}

/* Allocates the fixed buffers.  After a failure, cuda_close releases those that exist. */
static cudaError_t take_buffers(struct cuda_state *s)
{
    cudaError_t e = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    for (int i = 0; i < STAGES && e == cudaSuccess; i++) {
        e = cudaMallocHost((void **)&s->stage[i], STAGE_BYTES);
        if (e == cudaSuccess)
            e = cudaEventCreateWithFlags(&s->stage_read[i], cudaEventDisableTiming);
    }
    if (e == cudaSuccess)
        e = cudaMalloc(&s->scratch, SCRATCH_BYTES + COUNTERS * sizeof(int));
    if (e == cudaSuccess)
        e = cudaMemsetAsync((char *)s->scratch + SCRATCH_BYTES, 0, COUNTERS * sizeof(int), s->stream);
    return e == cudaSuccess ? cudaMalloc(&s->lt_workspace, LT_WORKSPACE_BYTES) : e;
}

static int cuda_open(struct device *d, int number, struct error *err)
{
    int capability = 0, rc = describe(d, number, &capability, err);
    if (rc)
        return rc;
    struct cuda_state *s = (struct cuda_state *)xcalloc(1, sizeof *s);
    s->number = number;
    s->capability = capability;
    d->state = s;
    cudaError_t e = take_buffers(s);
    if (e != cudaSuccess)
        rc = refuse(number, e, err);
    else if (cublasLtCreate(&s->lt) != CUBLAS_STATUS_SUCCESS)
        rc = error_set(err, EXIT_CODE_DEVICE, "cuda:%d: cuBLASLt does not start", number);
    if (rc)
        cuda_close(d);
    return rc;
}

/* Returns NULL, with the free memory in the message, if the GPU has too little. */
static void *cuda_alloc(struct device *d, size_t bytes, struct error *err)
{
    void *p = nullptr;
    size_t free_bytes = 0, total = 0;
    use_device(state_of(d));
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
    use_device(state_of(d));
    CUDA_CHECK(cudaFree(p));
}

/*
 * Returns room in a pinned buffer, and reduces *bytes to what fits.
 *
 * A full buffer is followed by the other one.  Its content must have been read first: the event was recorded behind its
 * last copy.
 */
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

/* Copies through pinned memory, so that the call returns before the GPU has the data and the caller may reuse src. */
static void cuda_upload(struct device *d, void *dst, const void *src, size_t bytes)
{
    struct cuda_state *s = state_of(d);
    CHECK(!s->capturing, "an upload cannot be captured: replay would copy whatever the stage holds then");
    use_device(s);
    d->counts.uploads++;
    d->counts.upload_bytes += (int64_t)bytes;
    /* Long uploads alternate between the buffers, piece by piece. */
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
    use_device(state_of(d));
    CUDA_CHECK(cudaStreamSynchronize(state_of(d)->stream));
}

static void cuda_download(struct device *d, void *dst, const void *src, size_t bytes)
{
    struct cuda_state *s = state_of(d);
    CHECK(!s->capturing, "a download cannot be captured");
    if (bytes == 0)
        return;
    use_device(s);
    CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, s->stream));
    d->counts.downloads++;
    d->counts.download_bytes += (int64_t)bytes;
    cuda_sync(d);
}

/* Waits for the oldest started download and copies it to its destination. */
static void finish_oldest(struct device *d)
{
    struct cuda_state *s = state_of(d);
    struct late_download *l = &s->late[s->late_first];
    d->counts.syncs++;
    CUDA_CHECK(cudaEventSynchronize(l->arrived));
    memcpy(l->dst, l->pinned, l->bytes);
    s->late_first = (s->late_first + 1) % LATE_DOWNLOADS;
    s->late_count--;
}

/* Finishes downloads until `left` of them are under way. */
static void cuda_download_finish(struct device *d, int left)
{
    use_device(state_of(d));
    while (state_of(d)->late_count > left)
        finish_oldest(d);
}

/* Makes room for a download.  Buffers grow and are kept. */
static void reserve_pinned(struct late_download *l, size_t bytes)
{
    if (!l->arrived)
        CUDA_CHECK(cudaEventCreateWithFlags(&l->arrived, cudaEventDisableTiming));
    if (l->room >= bytes)
        return;
    /* The old buffer is not in use: its download was finished before the slot was reused. */
    CUDA_CHECK(cudaFreeHost(l->pinned));
    CUDA_CHECK(cudaMallocHost((void **)&l->pinned, bytes));
    l->room = bytes;
}

/* Starts a download.  If all LATE_DOWNLOADS are under way, the oldest is finished first. */
static void cuda_download_start(struct device *d, void *dst, const void *src, size_t bytes)
{
    struct cuda_state *s = state_of(d);
    CHECK(!s->capturing, "a download cannot be captured");
    cuda_download_finish(d, LATE_DOWNLOADS - 1);
    struct late_download *l = &s->late[(s->late_first + s->late_count++) % LATE_DOWNLOADS];
    reserve_pinned(l, bytes);
    l->dst = dst;
    l->bytes = bytes;
    CUDA_CHECK(cudaMemcpyAsync(l->pinned, src, bytes, cudaMemcpyDeviceToHost, s->stream));
    CUDA_CHECK(cudaEventRecord(l->arrived, s->stream));
    d->counts.downloads++;
    d->counts.download_bytes += (int64_t)bytes;
}

/* Launches between begin and end are recorded in a graph and do not run. */
static void cuda_capture_begin(struct device *d)
{
    struct cuda_state *s = state_of(d);
    use_device(s);
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
    /* Too little memory is no bug: the caller then launches kernel by kernel. */
    cudaError_t e = cudaGraphInstantiate(&captured, graph, 0);
    CUDA_CHECK(cudaGraphDestroy(graph));
    if (e == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* reported here, so that the next launch does not meet it */
        return nullptr;
    }
    CUDA_CHECK(e);
    return captured;
}

static void cuda_replay(struct device *d, void *captured)
{
    d->counts.replays++;
    use_device(state_of(d));
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
    use_device(s);
    return s->stream;
}

void *cuda_scratch(const struct ctx *c, size_t bytes)
{
    CHECK(bytes <= SCRATCH_BYTES, "%zu bytes of scratch", bytes);
    return state_of(c->dev)->scratch;
}

int *cuda_counters(const struct ctx *c)
{
    return (int *)((char *)state_of(c->dev)->scratch + SCRATCH_BYTES);
}

extern "C" const struct driver ambit_driver = {
    "cuda",           &cuda_kernels, cuda_open,         cuda_close,          cuda_alloc,           cuda_free,
    cuda_upload,      cuda_download, cuda_sync,         cuda_download_start, cuda_download_finish, cuda_capture_begin,
    cuda_capture_end, cuda_replay,   cuda_capture_free,
};
