/*
 * Stacks and switches of fibers.
 *
 * A stack is mapped memory above a guard page, so that an overflow ends the program with a signal and damages nothing.
 * On x86-64 and AArch64, a switch is a few instructions that save the registers of the calling convention. Other
 * processors use ucontext.
 */
#include "kernels/simt/fiber.h"

#include "kernels/base.h"

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SIMT_ASAN) || defined(SIMT_TSAN)
constexpr size_t STACK = 256 << 10; /* red zones and reports need space */
#else
constexpr size_t STACK = 64 << 10;
#endif
constexpr size_t GUARD = 4 << 10;

/*
 * simt_switch(save, to): pushes the callee-saved registers, stores the stack pointer in *save, loads it from `to` and
 * pops. swapcontext would also work, but it makes a system call for the signal mask every time.
 */
#if defined(__x86_64__)
extern "C" void simt_switch(void **save, void *to) __attribute__((visibility("hidden")));
__asm__(".text\n.p2align 4\n.globl simt_switch\n.hidden simt_switch\n.type simt_switch,@function\nsimt_switch:\n"
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n"
        ".size simt_switch, .-simt_switch\n");
/* A new stack looks as if its fiber had just been switched out. It has zeros for the saved registers, then the entry as
 * the return address. The last word aligns the stack pointer at the entry. */
enum { ENTRY_WORD = 6, FRAME_WORDS = 8 };
#elif defined(__aarch64__)
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
enum { ENTRY_WORD = 11, FRAME_WORDS = 20 }; /* the entry is in the word of the link register, x30 */
#endif

/* The fiber that switched last. The new fiber needs it, because AddressSanitizer reports the bounds of the old stack
 * only after the switch. */
static struct fiber *previous;

/* Runs on the new stack and completes the switch for AddressSanitizer, which reports the old stack. */
void fiber_arrived(struct fiber *now)
{
#ifdef SIMT_ASAN
    __sanitizer_finish_switch_fiber(now->fake_stack, &previous->stack, &previous->stack_size);
#else
    (void)now;
#endif
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    previous = from;
#ifdef SIMT_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef SIMT_TSAN
    __tsan_switch_to_fiber(to->known, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    simt_switch(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
    fiber_arrived(from);
}

void fiber_adopt(struct fiber *f)
{
#ifdef SIMT_TSAN
    f->known = __tsan_get_current_fiber();
#else
    (void)f;
#endif
}

void fiber_init(struct fiber *f, void (*entry)(void))
{
    unsigned char *stack =
        (unsigned char *)mmap(nullptr, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED, "no memory for a stack of %zu bytes", STACK);
    CHECK(mprotect(stack, GUARD, PROT_NONE) == 0, "cannot guard a stack");
    f->stack = stack + GUARD;
    f->stack_size = STACK;
#ifdef SIMT_TSAN
    f->known = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    void **frame = (void **)(stack + GUARD + STACK) - FRAME_WORDS; /* registers and frame pointer are zero */
    frame[ENTRY_WORD] = (void *)entry;
    f->sp = frame;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack + GUARD;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, entry, 0);
#endif
}

void fiber_release(struct fiber *f)
{
#ifdef SIMT_TSAN
    __tsan_destroy_fiber(f->known);
#endif
#ifdef SIMT_ASAN
    __asan_unpoison_memory_region(f->stack, f->stack_size); /* later users of these addresses find no old frames */
#endif
    munmap((unsigned char *)f->stack - GUARD, GUARD + STACK);
}
