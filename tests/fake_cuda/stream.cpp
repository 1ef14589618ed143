/* Part of fake_cuda.h: streams that work only when they are waited for, events, captures and graphs. */
#include "kernels/simt/simt.h"
#include "tests/fake_cuda/fake_impl.h"

#include <deque>
#include <set>
#include <string>
#include <vector>

#include <string.h>

typedef std::function<void()> work;

struct stream {
    int device;
    std::deque<work> queue;
    struct fake_graph *capture; /* being made from what is queued */
    bool spoiled;
};

struct fake_graph {
    std::vector<work> nodes;
};

struct fake_executable {
    std::vector<work> nodes;
};

struct fake_event {
    struct stream *stream;
    bool happened;
};

static std::set<struct stream *> streams;
static std::set<std::string> loaded; /* kernels that have been launched */
static std::vector<struct simt_call> launched;
static thread_local int current_device;
static cudaError_t last_error;

static void __attribute__((constructor)) record()
{
    simt_record = &launched;
}

static cudaError_t note(cudaError_t e)
{
    last_error = e == cudaSuccess ? last_error : e;
    return e;
}

int fake_current_device()
{
    return current_device;
}

static struct stream *stream_of(cudaStream_t stream, const char *call)
{
    if (!streams.count((struct stream *)stream))
        fake_misuse("%s: no such stream", call);
    return (struct stream *)stream;
}

int fake_stream_device(cudaStream_t stream, const char *call)
{
    return stream_of(stream, call)->device;
}

static void queue(struct stream *s, work w)
{
    if (s->capture)
        s->capture->nodes.push_back(w);
    else
        s->queue.push_back(w);
}

static void take(const struct simt_call &call)
{
    struct stream *s = stream_of(call.stream, call.name);
    if (last_error != cudaSuccess)
        fake_misuse("%s is launched after an error that nobody has read: %s", call.name, cudaGetErrorName(last_error));
    if (s->device != current_device)
        fake_misuse("%s is launched on a stream of device %d while the thread's device is %d", call.name, s->device,
                    current_device);
    if (loaded.insert(std::string(call.name) + call.body.target_type().name()).second && s->capture)
        fake_misuse("%s is launched for the first time, and so loaded, inside a capture", call.name);
    queue(s, [call] { simt_run(call); });
}

void fake_take_launches()
{
    std::vector<struct simt_call> taken;
    taken.swap(launched);
    for (const struct simt_call &call : taken)
        take(call);
}

bool fake_spoils_capture()
{
    bool any = false;
    for (struct stream *s : streams)
        if (s->capture)
            any = s->spoiled = true;
    return any;
}

cudaError_t fake_enqueue(cudaStream_t stream, work w)
{
    fake_take_launches();
    struct stream *s = stream_of(stream, "a call");
    if (s->device != current_device)
        return note(cudaErrorInvalidResourceHandle);
    queue(s, w);
    return cudaSuccess;
}

static void drain(struct stream *s, const bool *until)
{
    fake_memory_open(true);
    while (!s->queue.empty() && !(until && *until)) {
        work w = s->queue.front();
        s->queue.pop_front();
        w();
    }
    fake_memory_open(false);
}

void fake_drain_device(int device)
{
    for (struct stream *s : streams)
        if (s->device == device)
            drain(s, nullptr);
}

/* How each call begins; not success where it ends there. */
static cudaError_t begin(const char *call, bool capturable)
{
    fake_take_launches();
    if (fake_fails(call))
        return note(strstr(call, "Malloc") ? cudaErrorMemoryAllocation : cudaErrorUnknown);
    return !capturable && fake_spoils_capture() ? note(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

#define BEGIN(capturable)                                                                                              \
    do {                                                                                                               \
        cudaError_t e_ = begin(__func__, (capturable));                                                                \
        if (e_ != cudaSuccess)                                                                                         \
            return e_;                                                                                                 \
    } while (0)

const char *cudaGetErrorName(cudaError_t e)
{
    static const char *const names[] = { "cudaSuccess",
                                         "cudaErrorInvalidValue",
                                         "cudaErrorMemoryAllocation",
                                         "cudaErrorInsufficientDriver",
                                         "cudaErrorNoDevice",
                                         "cudaErrorInvalidDevice",
                                         "cudaErrorInvalidResourceHandle",
                                         "cudaErrorStreamCaptureUnsupported",
                                         "cudaErrorStreamCaptureInvalidated",
                                         "cudaErrorNotReady",
                                         "cudaErrorUnknown" };
    return names[e];
}

const char *cudaGetErrorString(cudaError_t e)
{
    return cudaGetErrorName(e);
}

cudaError_t cudaGetLastError()
{
    cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = fake_cuda.driver;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = fake_cuda.devices;
    if (fake_cuda.driver < CUDART_VERSION)
        return note(cudaErrorInsufficientDriver);
    return fake_cuda.devices ? cudaSuccess : note(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int number)
{
    BEGIN(true);
    if (number < 0 || number >= fake_cuda.devices)
        return note(cudaErrorInvalidDevice);
    current_device = number;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int)
{
    BEGIN(true);
    *p = { "a fake GPU", 9, 0, 4 };
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    BEGIN(true);
    *total = fake_cuda.memory;
    *free_bytes = fake_cuda.memory - fake_memory_used(current_device);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    BEGIN(false);
    *p = fake_memory_take(current_device, bytes);
    return *p ? cudaSuccess : note(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *p)
{
    BEGIN(false);
    fake_drain_device(current_device);
    if (p)
        fake_memory_give(p, __func__);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    BEGIN(false);
    *p = fake_memory_take(FAKE_PINNED, bytes);
    return *p ? cudaSuccess : note(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *p)
{
    return cudaFree(p);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    BEGIN(false);
    struct stream *s = new struct stream();
    s->device = current_device;
    streams.insert(s);
    fake_cuda.live++;
    *out = s;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    BEGIN(false);
    struct stream *s = stream_of(stream, __func__);
    drain(s, nullptr);
    streams.erase(s);
    delete s;
    fake_cuda.live--;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    BEGIN(false);
    drain(stream_of(stream, __func__), nullptr);
    return cudaSuccess;
}

/* A GPU that is as quick as can be. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return cudaStreamSynchronize(stream);
}

/* FNV-1a */
static uint64_t hash_of(const char *p, size_t bytes)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)p[i]) * 1099511628211u;
    return h;
}

/* Pinned memory is read when the device comes to it, other memory at once. */
static work upload(void *dst, const void *src, size_t bytes, bool pinned)
{
    if (!pinned) {
        std::string now((const char *)src, bytes);
        return [=] { memcpy(dst, now.data(), bytes); };
    }
    uint64_t hash = hash_of((const char *)src, bytes);
    return [=] {
        if (hash_of((const char *)src, bytes) != hash)
            fake_misuse("pinned memory of %zu bytes was written anew before the GPU had read it", bytes);
        memcpy(dst, src, bytes);
    };
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    BEGIN(true);
    bool up = kind == cudaMemcpyHostToDevice;
    struct stream *s = stream_of(stream, __func__);
    int host = fake_memory_place(up ? src : dst, bytes, "the host's side of a copy");
    if (fake_memory_place(up ? dst : src, bytes, "the device's side of a copy") != s->device || host >= 0)
        return note(cudaErrorInvalidValue);
    if (s->capture && host == FAKE_PAGEABLE) {
        s->spoiled = true;
        return note(cudaErrorStreamCaptureUnsupported);
    }
    if (up)
        return fake_enqueue(stream, upload(dst, src, bytes, host == FAKE_PINNED));
    if (!s->capture)
        memset(dst, 0xa5, bytes);
    return fake_enqueue(stream, [=] { memcpy(dst, src, bytes); });
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    BEGIN(true);
    if (fake_memory_place(p, bytes, "what is set") != stream_of(stream, __func__)->device)
        return note(cudaErrorInvalidValue);
    return fake_enqueue(stream, [=] { memset(p, value, bytes); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    BEGIN(false);
    *event = new fake_event();
    fake_cuda.live++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    BEGIN(false);
    if (event->stream)
        drain(event->stream, nullptr); /* who might still say that it happened */
    delete event;
    fake_cuda.live--;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    BEGIN(true);
    event->stream = stream_of(stream, __func__);
    event->happened = false;
    return fake_enqueue(stream, [=] { event->happened = true; });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    BEGIN(false);
    if (event->stream)
        drain(event->stream, &event->happened);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    BEGIN(false);
    struct stream *s = stream_of(stream, __func__);
    s->capture = new fake_graph();
    s->spoiled = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    BEGIN(true);
    struct stream *s = stream_of(stream, __func__);
    if (!s->capture)
        return note(cudaErrorInvalidValue);
    *graph = s->capture;
    s->capture = nullptr;
    fake_cuda.live++;
    return s->spoiled ? note(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    BEGIN(false);
    *executable = new fake_executable{ graph->nodes };
    fake_cuda.live++;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    BEGIN(true);
    delete graph;
    fake_cuda.live--;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    BEGIN(false);
    std::vector<work> nodes = executable->nodes;
    return fake_enqueue(stream, [nodes] {
        for (const work &w : nodes)
            w();
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    BEGIN(true);
    delete executable;
    fake_cuda.live--;
    return cudaSuccess;
}
