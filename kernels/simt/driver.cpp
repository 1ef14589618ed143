/* Part of simt.h: the device simt, with its memory, copies and captures.
 *
 * The functions are those of struct driver (kernels/device.h). Kernels run at their launch. Between capture_begin
 * and capture_end they are recorded with copies of their arguments, and run at each replay. "Device memory" is host
 * memory of exactly the requested size, filled with poison. Downloads that were only started reach their destination
 * at the finish, as late as a GPU may deliver them.
 *
 * Errors of the user (a bad seed, too little memory) fill struct error. Wrong use by a caller aborts through CHECK.
 */
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/module.h"
#include "kernels/simt/poison.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* An allocation of exactly the requested size, so that AddressSanitizer sees its end. */
struct simt_block {
    void *p;
    size_t bytes;
};

/* A capture: recorded launches with their arguments, and the scratch of each, which it owns. */
struct simt_graph {
    std::vector<struct simt_call> calls;
    std::vector<struct simt_block> scratch;
};

/* A started download, with the bytes that the device had at the start. */
struct started_download {
    void *dst;
    std::vector<char> bytes;
};

struct simt_state {
    struct simt_block scratch; /* of the last kernel that requested it */
    std::deque<struct started_download> *downloads;
    struct simt_graph *graph;
    int counters[COUNTERS];
};

static struct simt_state *state_of(const struct device *d)
{
    return (struct simt_state *)d->state;
}

static struct simt_block scratch_new(size_t bytes)
{
    struct simt_block s = { nullptr, bytes };
    CHECK(posix_memalign(&s.p, ARENA_ALIGN, bytes ? bytes : 1) == 0, "no memory for %zu bytes of scratch", bytes);
    poison(s.p, bytes);
    return s;
}

static size_t memory_bytes(int pages)
{
    return (size_t)sysconf(pages) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns AMBIT_SIMT_SEED, or any seed if it is unset, or -1 if it is not a number. */
static long seed_wanted(void)
{
    const char *text = getenv("AMBIT_SIMT_SEED");
    char *end;
    if (!text)
        return time(nullptr) % 100000;
    long seed = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end ? seed : -1;
}

static int simt_open(struct device *d, int number, struct error *err)
{
    if (number != 0)
        return error_set(err, EXIT_CODE_DEVICE, "simt:%d: there is one simt device, simt", number);
    long seed = seed_wanted();
    if (seed < 0)
        return error_set(err, EXIT_CODE_USAGE, "AMBIT_SIMT_SEED: expected a number, got '%s'",
                         getenv("AMBIT_SIMT_SEED"));
    simt_seed((uint64_t)seed);
    d->state = xcalloc(1, sizeof(struct simt_state));
    state_of(d)->downloads = new std::deque<struct started_download>();
    snprintf(d->description, sizeof d->description, "CUDA kernels on the CPU, for checking, AMBIT_SIMT_SEED=%ld", seed);
    d->sums_dq = true;
    d->multiprocessors = 4;
    d->total_memory = memory_bytes(_SC_PHYS_PAGES);
    d->free_memory = memory_bytes(_SC_AVPHYS_PAGES);
    return 0;
}

/* The most recently freed blocks.  An allocation of the size of one of them reuses it, as on a GPU.  This tests
 * captured steps that get new memory at an address of old memory. */
static std::mutex blocks_lock;
static std::vector<struct simt_block> blocks_free;
static std::map<void *, size_t> blocks_taken;
constexpr size_t BLOCKS_KEPT = 8;

static void *simt_alloc(struct device *, size_t bytes, struct error *err)
{
    std::lock_guard<std::mutex> guard(blocks_lock);
    auto known = std::find_if(blocks_free.begin(), blocks_free.end(), [=](auto &b) { return b.bytes == bytes; });
    void *p = nullptr;
    if (known != blocks_free.end()) {
        p = known->p;
        blocks_free.erase(known);
    } else if (posix_memalign(&p, ARENA_ALIGN, bytes ? bytes : 1) != 0) {
        error_set(err, EXIT_CODE_MEMORY, "not enough memory for %zu MiB", bytes >> 20);
        return nullptr;
    }
    blocks_taken[p] = bytes;
    poison(p, bytes);
    return p;
}

static void simt_free(struct device *, void *p)
{
    std::lock_guard<std::mutex> guard(blocks_lock);
    auto block = blocks_taken.extract(p);
    CHECK(block || !p, "memory that was not given, or was given back before");
    if (!block)
        return;
    blocks_free.push_back({ p, block.mapped() });
    if (blocks_free.size() > BLOCKS_KEPT) {
        free(blocks_free.front().p);
        blocks_free.erase(blocks_free.begin());
    }
}

static void release_blocks()
{
    std::lock_guard<std::mutex> guard(blocks_lock);
    for (const struct simt_block &b : blocks_free)
        free(b.p);
    blocks_free.clear();
}

static void simt_close(struct device *d)
{
    if (d->state) {
        free(state_of(d)->scratch.p);
        delete state_of(d)->downloads;
    }
    free(d->state);
    d->state = nullptr;
    release_blocks();
}

static void simt_copy(struct device *d, void *dst, const void *src, size_t bytes)
{
    CHECK(!state_of(d)->graph, "a copy cannot be captured");
    if (bytes)
        memcpy(dst, src, bytes);
}

static void simt_upload(struct device *d, void *dst, const void *src, size_t bytes)
{
    simt_copy(d, dst, src, bytes);
    d->counts.uploads++;
    d->counts.upload_bytes += (int64_t)bytes;
}

static void simt_sync(struct device *d)
{
    d->counts.syncs++;
}

static void simt_download(struct device *d, void *dst, const void *src, size_t bytes)
{
    simt_copy(d, dst, src, bytes);
    d->counts.downloads++;
    d->counts.download_bytes += (int64_t)bytes;
    simt_sync(d);
}

/* The destination is written at the end, so that a test notices who reads it before. */
static void simt_download_start(struct device *d, void *dst, const void *src, size_t bytes)
{
    struct started_download started = { dst, std::vector<char>(bytes) };
    simt_copy(d, started.bytes.data(), src, bytes);
    state_of(d)->downloads->push_back(started);
    d->counts.downloads++;
    d->counts.download_bytes += (int64_t)bytes;
}

static void simt_download_finish(struct device *d, int left)
{
    std::deque<struct started_download> *downloads = state_of(d)->downloads;
    for (; downloads->size() > (size_t)left; downloads->pop_front()) {
        memcpy(downloads->front().dst, downloads->front().bytes.data(), downloads->front().bytes.size());
        simt_sync(d);
    }
}

/* simt_record is global: during a capture, the launches of all simt devices of the process are recorded. */
static void simt_capture_begin(struct device *d)
{
    state_of(d)->graph = new struct simt_graph();
    simt_record = &state_of(d)->graph->calls;
}

static void *simt_capture_end(struct device *d)
{
    void *captured = state_of(d)->graph;
    state_of(d)->graph = nullptr;
    simt_record = nullptr;
    return captured;
}

static void simt_replay(struct device *d, void *captured)
{
    d->counts.replays++;
    const struct simt_graph *r = (const struct simt_graph *)captured;
    /* No launch may rely on scratch of an earlier replay. */
    for (const struct simt_block &s : r->scratch)
        poison(s.p, s.bytes);
    for (const struct simt_call &call : r->calls)
        simt_run(call);
}

static void simt_capture_free(struct device *, void *captured)
{
    struct simt_graph *r = (struct simt_graph *)captured;
    for (const struct simt_block &s : r->scratch)
        free(s.p);
    delete r;
}

cudaStream_t cuda_stream(const struct ctx *c)
{
    c->dev->counts.launches += !state_of(c->dev)->graph;
    return nullptr;
}

/* Scratch is new and poisoned at every launch. A capture keeps that of each of its launches. */
void *cuda_scratch(const struct ctx *c, size_t bytes)
{
    struct simt_state *s = state_of(c->dev);
    CHECK(bytes <= SCRATCH_BYTES, "%zu bytes of scratch", bytes);
    struct simt_block scratch = scratch_new(bytes);
    if (s->graph) {
        s->graph->scratch.push_back(scratch);
    } else {
        free(s->scratch.p);
        s->scratch = scratch;
    }
    return scratch.p;
}

int *cuda_counters(const struct ctx *c)
{
    return state_of(c->dev)->counters;
}

/* There are no libraries here: all products and attentions run in ambit's own kernels. */
bool cuda_library_matmul(struct ctx *, struct destination, const struct tensor *, bool, const struct tensor *, bool,
                         const struct tensor *)
{
    return false;
}

bool cuda_library_attention(struct ctx *, struct tensor *, struct tensor *, const struct tensor *,
                            const struct tensor *, const struct tensor *, const struct causal *,
                            const struct attention_form *)
{
    return false;
}

extern "C" const struct driver ambit_driver = {
    "simt",           &cuda_kernels, simt_open,         simt_close,          simt_alloc,           simt_free,
    simt_upload,      simt_download, simt_sync,         simt_download_start, simt_download_finish, simt_capture_begin,
    simt_capture_end, simt_replay,   simt_capture_free,
};
