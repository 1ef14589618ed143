/*
 * simt.h - blocks, warps, shared memory and collectives on the CPU; cuda_names.h spells them as CUDA C++ does.
 *
 * A launch runs its blocks one after another, in any order; the threads of a block are fibers that switch inside
 * collectives and copies only, to any other that may run.  A seed draws the order, so every run can be repeated, and
 * every access is checked by AddressSanitizer.  It is stricter than a GPU: a collective that some thread of its block
 * or lane of its warp does not reach, reaches elsewhere, or has left the kernel before, aborts with the place.  And it
 * promises as little as a GPU does: a shuffle waits for the lane it takes from and for no other, an asynchronous copy
 * arrives at any time between its issue and its wait, and shared memory holds nothing of use when a block begins.
 * Under ThreadSanitizer only __syncthreads, __syncwarp, launches and waits for copies order anything.
 * One launch at a time in a process.  Launches may be recorded, with copies of their arguments, to be run later.
 */
#ifndef KERNELS_SIMT_SIMT_H
#define KERNELS_SIMT_SIMT_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <vector>

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

struct simt_fiber;
struct simt_thread {
    dim3 index;
    int number, lane;
    struct simt_fiber *fiber;
};

extern struct simt_thread *simt_current;
extern dim3 simt_block_index, simt_block_size, simt_grid_size;
extern unsigned char *simt_dynamic_shared; /* exactly as many bytes as the launch asked for */

/* Where a collective was called. */
struct simt_site {
    const char *file;
    int line;
};

/* Draws another order from the next launch on; before that it is seed 1's. */
void simt_seed(uint64_t seed);

/* Waits for all threads of the block, or for all lanes of the warp: what they did before is done. */
void simt_sync_block(struct simt_site site);
void simt_sync_warp(unsigned mask, struct simt_site site);

/*
 * Gives size <= SIMT_SLOT bytes, a multiple of 4, to the other lanes, and waits until the lanes `from` have given
 * theirs; nothing else that they did is done.  Returns the 32 slots, SIMT_SLOT bytes apart, of which those of `from`
 * are valid until this lane's next exchange.
 */
enum { SIMT_WARP = 32, SIMT_SLOT = 64 };
const unsigned char *simt_exchange(const void *mine, size_t size, unsigned mask, struct simt_site site,
                                   unsigned from = 0xffffffffu);

/* Starts a 16-byte copy; bytes < 16, a multiple of 4, are followed by zeros. */
void simt_copy_start(void *dst, const void *src, int bytes);
void simt_copy_commit(void);
/* Ends all copies but those of the newest `pending` groups. */
void simt_copy_wait(int pending);

/* A launch with what its threads call. */
struct simt_call {
    const char *name;
    const void *kernel;
    dim3 grid, block;
    size_t shared;
    std::function<void()> body;
    void *stream; /* that it was launched on */
};

/* Calls the body once for each thread. */
void simt_run(const struct simt_call &call);

/* Where launches go instead of running, when it is not NULL. */
extern std::vector<struct simt_call> *simt_record;
/* The stream of the next launch, on which it does not depend. */
extern void *simt_stream;

template <typename K, typename... A>
void simt_launch(const char *name, K kernel, dim3 grid, dim3 block, size_t shared, A... args)
{
    struct simt_call call = { name, (const void *)kernel, grid, block, shared, [=] { kernel(args...); }, simt_stream };
    if (simt_record)
        simt_record->push_back(call);
    else
        simt_run(call);
}

#endif
