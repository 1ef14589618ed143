#include "kernels/simt/simt.h"

#include "kernels/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <mutex>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#ifdef SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
constexpr size_t STACK = 256 << 10; /* red zones take room */
#else
constexpr size_t STACK = 64 << 10;
#endif
constexpr size_t GUARD = 4 << 10;
constexpr unsigned MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / SIMT_WARP;

struct simt_thread *simt_current;
dim3 simt_block_index, simt_block_size, simt_grid_size;
unsigned char *simt_dynamic_shared;
std::vector<struct simt_call> *simt_record;
void *simt_stream;

/*
 * simt_switch(save, to): pushes the registers a callee must keep, stores the stack pointer in *save, takes `to` as
 * stack pointer and pops.  swapcontext would do, but asks the kernel about signals every time.
 */
#if defined(__x86_64__)
#define SIMT_ASSEMBLY 1
extern "C" void simt_switch(void **save, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n.p2align 4\n.globl simt_switch\n.hidden simt_switch\n.type simt_switch,@function\nsimt_switch:\n"
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n"
        ".size simt_switch, .-simt_switch\n");
enum { SAVED_WORDS = 6, ENTRY_WORD = 6, FRAME_WORDS = 8 };
#elif defined(__aarch64__)
#define SIMT_ASSEMBLY 1
extern "C" void simt_switch(void **save, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n.p2align 4\n.globl simt_switch\n.hidden simt_switch\n.type simt_switch,@function\nsimt_switch:\n"
        "sub sp, sp, #160\n stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\n stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
        "mov x9, sp\n str x9, [x0]\n mov sp, x1\n"
        "ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\n ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\n ret\n.size simt_switch, .-simt_switch\n");
enum { ENTRY_WORD = 11, FRAME_WORDS = 20 };
#else
#include <ucontext.h>
#endif

struct async_copy {
    void *dst;
    const void *src;
    int bytes, group;
};

struct simt_fiber {
    struct simt_thread thread;
#ifdef SIMT_ASSEMBLY
    void *sp;
#else
    ucontext_t context;
#endif
    const void *stack; /* lowest address */
    size_t stack_size;
    void *fake_stack; /* AddressSanitizer's */
    std::vector<struct async_copy> copies;
    int group;
    struct simt_site barrier;
};

/* Lanes as bits: those that may run, wait for the warp, wait for the block, have left the kernel. */
struct warp {
    unsigned all, ready, waiting, at_barrier, left;
    struct simt_site site;
    alignas(16) unsigned char slots[2][SIMT_WARP][SIMT_SLOT];
};

/* One for each thread of the largest block so far; they never end, only wait for the next block. */
struct fibers {
    std::vector<struct simt_fiber *> list;
    ~fibers()
    {
        for (struct simt_fiber *f : list) {
            munmap((unsigned char *)f->stack - GUARD, GUARD + STACK);
            delete f;
        }
    }
};

static struct {
    const struct simt_call *call;
    int threads, warps;
    bool backwards;
    struct warp warp[MAX_WARPS];
    struct fibers fibers;
    struct simt_fiber scheduler, *previous; /* whoever switched last */
} simt;

/* Runs on the stack that was switched to: AddressSanitizer wants to know, and tells where the old stack lies. */
static void arrived(struct simt_fiber *now)
{
#ifdef SIMT_ASAN
    __sanitizer_finish_switch_fiber(now->fake_stack, &simt.previous->stack, &simt.previous->stack_size);
#else
    (void)now;
#endif
}

static void switch_fiber(struct simt_fiber *from, struct simt_fiber *to)
{
    simt.previous = from;
    simt_current = to == &simt.scheduler ? nullptr : &to->thread;
#ifdef SIMT_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef SIMT_ASSEMBLY
    simt_switch(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrived(from);
}

static struct simt_fiber *fiber_of(int thread)
{
    return simt.fibers.list[(size_t)thread];
}

static struct warp *warp_of(const struct simt_thread *t)
{
    return &simt.warp[t->number / SIMT_WARP];
}

/* Gives the processor to another lane of the warp that may run, else to the scheduler. */
static void wait_turn(struct simt_thread *t)
{
    unsigned ready = warp_of(t)->ready;
    if (!ready) {
        switch_fiber(t->fiber, &simt.scheduler);
        return;
    }
    int lane = simt.backwards ? 31 - __builtin_clz(ready) : __builtin_ctz(ready);
    switch_fiber(t->fiber, fiber_of(t->number - t->lane + lane));
}

static unsigned bit(int lane)
{
    return 1u << lane;
}

static void fiber_main(void)
{
    struct simt_fiber *f = simt_current->fiber;
    arrived(f);
    for (;;) {
        simt.call->body();
        simt_copy_wait(0);
        struct warp *w = warp_of(&f->thread);
        w->ready &= ~bit(f->thread.lane);
        w->left |= bit(f->thread.lane);
        wait_turn(&f->thread);
    }
}

static struct simt_fiber *fiber_new(int number)
{
    struct simt_fiber *f = new simt_fiber();
    unsigned char *stack =
        (unsigned char *)mmap(nullptr, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED, "no memory for a stack of %zu bytes", STACK);
    CHECK(mprotect(stack, GUARD, PROT_NONE) == 0, "cannot guard a stack");
    f->stack = stack + GUARD;
    f->stack_size = STACK;
    f->thread.number = number;
    f->thread.lane = number % SIMT_WARP;
    f->thread.fiber = f;
#ifdef SIMT_ASSEMBLY
    void **frame = (void **)(stack + GUARD + STACK) - FRAME_WORDS; /* registers and frame pointer are zero */
    frame[ENTRY_WORD] = (void *)fiber_main;
    f->sp = frame;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack + GUARD;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, fiber_main, 0);
#endif
    return f;
}

static const char *place(void)
{
    static char text[256];
    snprintf(text, sizeof text, "%s, block (%u, %u, %u)", simt.call->kernel, simt_block_index.x, simt_block_index.y,
             simt_block_index.z);
    return text;
}

void simt_barrier(struct simt_site site)
{
    struct simt_thread *t = simt_current;
    struct warp *w = warp_of(t);

    t->fiber->barrier = site;
    w->ready &= ~bit(t->lane);
    w->at_barrier |= bit(t->lane);
    wait_turn(t);
}

const unsigned char *simt_exchange(const void *mine, size_t size, unsigned mask, struct simt_site site)
{
    struct simt_thread *t = simt_current;
    struct warp *w = warp_of(t);

    CHECK(size <= SIMT_SLOT, "%s: %zu bytes in one exchange", place(), size);
    CHECK(mask == 0xffffffffu && w->all == mask,
          "%s, thread %d: %s:%d: mask %08x over lanes %08x; collectives take whole warps", place(), t->number,
          site.file, site.line, mask, w->all);
    if (!w->waiting)
        w->site = site;
    CHECK(w->site.line == site.line && strcmp(w->site.file, site.file) == 0,
          "%s: the lanes of a warp part: thread %d at %s:%d, others at %s:%d", place(), t->number, site.file, site.line,
          w->site.file, w->site.line);
    unsigned char(*slots)[SIMT_SLOT] = w->slots[t->round++ & 1];
    if (size)
        memcpy(slots[t->lane], mine, size);
    w->waiting |= bit(t->lane);
    w->ready &= ~bit(t->lane);
    if (w->waiting == w->all) {
        w->ready = w->all;
        w->waiting = 0;
    } else {
        wait_turn(t);
    }
    return slots[0];
}

void simt_copy_later(void *dst, const void *src, int bytes)
{
    struct simt_fiber *f = simt_current->fiber;
    f->copies.push_back({ dst, src, bytes, f->group });
}

void simt_copy_commit(void)
{
    simt_current->fiber->group++;
}

void simt_copy_wait(int pending)
{
    struct simt_fiber *f = simt_current->fiber;
    size_t done = 0;

    for (; done < f->copies.size() && f->copies[done].group < f->group - pending; done++) {
        memset(f->copies[done].dst, 0, 16);
        memcpy(f->copies[done].dst, f->copies[done].src, (size_t)f->copies[done].bytes);
    }
    f->copies.erase(f->copies.begin(), f->copies.begin() + (ptrdiff_t)done);
}

/* All threads wait: for the same barrier, or for ever. */
static void release_barrier(void)
{
    const struct simt_fiber *first = nullptr;

    for (int i = 0; i < simt.threads; i++) {
        struct simt_fiber *f = fiber_of(i);
        struct warp *w = warp_of(&f->thread);
        CHECK(!(w->waiting & bit(f->thread.lane)), "%s: thread %d waits at %s:%d for lanes that never come", place(), i,
              w->site.file, w->site.line);
        CHECK(!(w->left & bit(f->thread.lane)), "%s: thread %d has left while others wait at a __syncthreads", place(),
              i);
        first = first ? first : f;
        CHECK(f->barrier.line == first->barrier.line && strcmp(f->barrier.file, first->barrier.file) == 0,
              "%s: thread %d waits at the __syncthreads of %s:%d, thread %d at that of %s:%d", place(), i,
              f->barrier.file, f->barrier.line, first->thread.number, first->barrier.file, first->barrier.line);
    }
    for (int i = 0; i < simt.warps; i++) {
        simt.warp[i].ready = simt.warp[i].all;
        simt.warp[i].at_barrier = 0;
    }
}

static void run_warp(int number)
{
    struct warp *w = &simt.warp[number];
    while (w->ready) {
        int lane = simt.backwards ? 31 - __builtin_clz(w->ready) : __builtin_ctz(w->ready);
        switch_fiber(&simt.scheduler, fiber_of(number * SIMT_WARP + lane));
    }
}

static bool all_left(void)
{
    for (int i = 0; i < simt.warps; i++)
        if (simt.warp[i].left != simt.warp[i].all)
            return false;
    return true;
}

static void run_block(void)
{
    unsigned linear = simt_block_index.x + simt_block_index.y + simt_block_index.z;
    simt.backwards = linear % 2 != 0;
    for (int i = 0; i < simt.warps; i++) {
        int lanes = simt.threads - i * SIMT_WARP < SIMT_WARP ? simt.threads - i * SIMT_WARP : SIMT_WARP;
        unsigned all = lanes == SIMT_WARP ? 0xffffffffu : bit(lanes) - 1;
        simt.warp[i].all = simt.warp[i].ready = all;
        simt.warp[i].waiting = simt.warp[i].at_barrier = simt.warp[i].left = 0;
    }
    for (;;) {
        for (int i = 0; i < simt.warps; i++)
            run_warp(simt.backwards ? simt.warps - 1 - i : i);
        if (all_left())
            return;
        release_barrier();
    }
}

static void prepare_threads(dim3 block)
{
    simt.threads = (int)(block.x * block.y * block.z);
    simt.warps = (simt.threads + SIMT_WARP - 1) / SIMT_WARP;
    for (int i = (int)simt.fibers.list.size(); i < simt.threads; i++)
        simt.fibers.list.push_back(fiber_new(i));
    for (unsigned i = 0; i < (unsigned)simt.threads; i++) {
        struct simt_thread *t = &fiber_of((int)i)->thread;
        t->index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
        t->round = 0;
    }
}

static void check_sizes(const char *kernel, dim3 grid, dim3 block)
{
    CHECK(grid.x > 0 && grid.x < 1u << 31 && grid.y > 0 && grid.y < 1u << 16 && grid.z > 0 && grid.z < 1u << 16,
          "%s: a grid of %u x %u x %u blocks", kernel, grid.x, grid.y, grid.z);
    CHECK(block.x > 0 && block.y > 0 && block.z > 0 && block.x <= MAX_THREADS && block.y <= MAX_THREADS &&
              block.z <= 64 && block.x * block.y * block.z <= MAX_THREADS,
          "%s: a block of %u x %u x %u threads", kernel, block.x, block.y, block.z);
}

void simt_run(const struct simt_call &call)
{
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> lock(one_at_a_time);

    check_sizes(call.kernel, call.grid, call.block);
    simt.call = &call;
    simt_grid_size = call.grid;
    simt_block_size = call.block;
    prepare_threads(call.block);
    for (simt_block_index.z = 0; simt_block_index.z < call.grid.z; simt_block_index.z++)
        for (simt_block_index.y = 0; simt_block_index.y < call.grid.y; simt_block_index.y++)
            for (simt_block_index.x = 0; simt_block_index.x < call.grid.x; simt_block_index.x++) {
                simt_dynamic_shared = (unsigned char *)xmalloc(call.shared);
                memset(simt_dynamic_shared, 0xff, call.shared); /* NaN, whoever reads before writing */
                run_block();
                free(simt_dynamic_shared);
            }
}
