/*
 * fiber.h - functions on stacks of their own that give each other the processor, and that sanitizers know of.
 *
 * AddressSanitizer is told where each stack lies.  To ThreadSanitizer, where SIMT_TSAN is defined, each fiber is a
 * thread, and giving the processor away orders nothing: only order_before and a later order_after do.
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
    void *fake_stack; /* AddressSanitizer's */
    void *known;      /* ThreadSanitizer's */
};

/* The calling thread as a fiber. */
void fiber_adopt(struct fiber *f);
/* A fiber that calls entry, which begins with fiber_arrived and never returns, when it is first switched to. */
void fiber_init(struct fiber *f, void (*entry)(void));
void fiber_release(struct fiber *f);
void fiber_switch(struct fiber *from, struct fiber *to);
void fiber_arrived(struct fiber *now);

/* One that acts for a fiber, such as a copy under way: to ThreadSanitizer a thread of its own, without a stack. */
struct agent {
    void *known;
};

#ifdef SIMT_TSAN
static inline struct agent agent_new(void)
{
    return { __tsan_create_fiber(0) };
}

/* What comes now is done by this one; returns who acted so far. */
static inline struct agent agent_switch(struct agent to)
{
    struct agent from = { __tsan_get_current_fiber() };
    __tsan_switch_to_fiber(to.known, __tsan_switch_to_fiber_no_sync);
    return from;
}
#endif

/* What came before order_before is before what comes after a later order_after of the same address. */
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
