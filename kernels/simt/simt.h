/*
 * simt.h - blocks, warps, shared memory and collectives on the CPU.  cuda_names.h gives them the names of CUDA C++.
 *
 * A launch runs its blocks one after another, in any order.  The threads of a block are fibers.  They switch only
 * inside collectives and copies, to any other thread that may run.  A seed determines the order, so every run can be
 * repeated.  AddressSanitizer checks every access.
 *
 * The emulation is stricter than a GPU.  Each thread of a block or lane of a warp must reach the same collective at the
 * same place and before the kernel returns.  Otherwise the program aborts and prints the place.
 *
 * The emulation guarantees as little as a GPU.  A shuffle waits only for the lane that it reads.  An asynchronous copy
 * arrives at any time between its issue and its wait.  Shared memory is poisoned when a block begins.  Under
 * ThreadSanitizer, only __syncthreads, __syncwarp, launches and waits for copies order accesses.
 *
 * A process runs one launch at a time.  Launches may be recorded, with copies of their arguments, and run later.
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
extern unsigned char *simt_dynamic_shared; /* exactly the size that the launch requested */

/* The source location of a collective. */
struct simt_site {
    const char *file;
    int line;
};

/* Sets the seed of the order from the next launch on.  The first seed is 1. */
void simt_seed(uint64_t seed);

/* Wait for all threads of the block, or all lanes of the warp.  Their earlier accesses are then complete. */
void simt_sync_block(struct simt_site site);
void simt_sync_warp(unsigned mask, struct simt_site site);

/*
 * Publishes size <= SIMT_SLOT bytes, a multiple of 4, to the other lanes, and waits for those of the lanes `from`.  No
 * other access of these lanes is ordered.  Returns the 32 slots, SIMT_SLOT bytes apart.  Those of `from` are valid
 * until this lane's next exchange.
 */
enum { SIMT_WARP = 32, SIMT_SLOT = 64 };
const unsigned char *simt_exchange(const void *mine, size_t size, unsigned mask, struct simt_site site,
                                   unsigned from = 0xffffffffu);

/* Starts a 16-byte copy.  If bytes < 16, a multiple of 4, zeros fill the rest. */
void simt_copy_start(void *dst, const void *src, int bytes);
void simt_copy_commit(void);
/* Waits for all copies except the newest `pending` groups. */
void simt_copy_wait(int pending);

/* A launch with the function that its threads call. */
struct simt_call {
    const char *name;
    const void *kernel;
    dim3 grid, block;
    size_t shared;
    std::function<void()> body;
    void *stream; /* stream of the launch */
    bool early;   /* launched by LAUNCH_EARLY */
};

/* Calls the body once for each thread. */
void simt_run(const struct simt_call &call);

/* The destination of launches; if it is not NULL, launches are recorded instead of run. */
extern std::vector<struct simt_call> *simt_record;
/* The stream of the next launch, which does not affect its execution. */
extern void *simt_stream;
/* Whether the next launch may start early.  The program aborts if no thread of such a launch waits. */
extern bool simt_early;
/* Notes that a thread of the launch waits for the launches before, which have ended here. */
void simt_dependency_wait(void);

template <typename K, typename... A>
void simt_launch(const char *name, K kernel, dim3 grid, dim3 block, size_t shared, A... args)
{
    struct simt_call call = { name,   (const void *)kernel,     grid,        block,
                              shared, [=] { kernel(args...); }, simt_stream, simt_early };
    simt_early = false;
    if (simt_record)
        simt_record->push_back(call);
    else
        simt_run(call);
}

#endif
