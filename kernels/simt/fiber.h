/*
 * fiber.h - fibers: functions on their own stacks that switch explicitly and that sanitizers can track.
 *
 * AddressSanitizer is told the address of each stack.  With SIMT_TSAN defined, each fiber is a thread to
 * ThreadSanitizer.  A switch then orders nothing: only order_before and a later order_after do.
 *
 * A fiber owns its stack from fiber_init to fiber_release.  All fibers of a process belong to one operating-system
 * thread at a time; simt.cpp holds a lock during a launch.  A stack that cannot be mapped aborts.
 */
#ifndef KERNELS_SIMT_FIBER_H
#define KERNELS_SIMT_FIBER_H

#include <stddef.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif
#ifdef SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct fiber {
#if defined(__x86_64__) || defined(__aarch64__)
    void *sp;
#else
    ucontext_t context;
#endif
    const void *stack; /* lowest address */
    size_t stack_size;
    void *fake_stack; /* for AddressSanitizer */
    void *known;      /* for ThreadSanitizer */
};

/* Makes a fiber of the calling thread, on the stack that it has. It is not released. */
void fiber_adopt(struct fiber *f);
/* Makes a fiber that calls entry at the first switch to it.  entry begins with fiber_arrived and never returns. */
void fiber_init(struct fiber *f, void (*entry)(void));
/* Unmaps the stack of a fiber that does not run. */
void fiber_release(struct fiber *f);
/* Saves the calling fiber in `from` and continues `to`. Returns when something switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* Completes the first switch to a fiber. fiber_switch does so at later ones. */
void fiber_arrived(struct fiber *now);

/* An agent of a fiber, such as a running copy.  To ThreadSanitizer it is a thread without a stack. */
struct agent {
    void *known;
};

#ifdef SIMT_TSAN
static inline struct agent agent_new(void)
{
    return { __tsan_create_fiber(0) };
}

/* Attributes all following actions to this agent.  Returns the previous one. */
static inline struct agent agent_switch(struct agent to)
{
    struct agent from = { __tsan_get_current_fiber() };
    __tsan_switch_to_fiber(to.known, __tsan_switch_to_fiber_no_sync);
    return from;
}
#endif

/* Orders all actions before order_before ahead of those after a later order_after of the same address. */
static inline void order_before(void *at)
{
#ifdef SIMT_TSAN
    __tsan_release(at);
#else
    (void)at;
#endif
}

static inline void order_after(void *at)
{
#ifdef SIMT_TSAN
    __tsan_acquire(at);
#else
    (void)at;
#endif
}

#endif
