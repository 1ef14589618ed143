/*
 * trace.h - tracing of kernels by RUN when AMBIT_TRACE or AMBIT_CHECK_NAN is set.
 *
 * RUN passes each of its arguments as a struct trace_arg of the argument's type.  The kernel's signature in KERNEL_LIST
 * gives their names and tells which of them are written.  During capture kernels do not run and nothing is traced.
 */
#ifndef KERNELS_TRACE_H
#define KERNELS_TRACE_H

#include "kernels/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum trace_kind { TRACE_POINTER, TRACE_TENSOR, TRACE_NUMBER };

/* An argument of a kernel.  t is NULL for an optional tensor that is not given, and for pointers to other types. */
struct trace_arg {
    enum trace_kind kind;
    const struct tensor *t;
    double number;
};

/* Whether one of the variables is set; constant after trace_open(). */
extern bool trace_wanted;

/* Reads the environment at the first call.  device_open() calls it, before any kernel runs. */
void trace_open(void);

/* Waits for the device and starts the clock. */
void trace_begin(struct ctx *c);
/* Waits for the kernel, prints its line, and aborts if the kernel wrote a number that is not finite.  args: all but
 * c. */
void trace_end(struct ctx *c, const char *file, int line, const char *kernel, const struct trace_arg *args);

struct trace_arg trace_tensor(const struct tensor *t);
struct trace_arg trace_destination(struct destination d);
struct trace_arg trace_number(double number);
struct trace_arg trace_pointer(const void *p);

#define TRACE_ARG(x)                                                                                                   \
    _Generic((x), struct tensor * : trace_tensor, const struct tensor * : trace_tensor,                                \
             struct destination : trace_destination, float : trace_number, double : trace_number, bool : trace_number, \
             int : trace_number, unsigned : trace_number, default : trace_pointer)(x)
#define TRACE_1(x) TRACE_ARG(x)
#define TRACE_2(x, ...) TRACE_ARG(x), TRACE_1(__VA_ARGS__)
#define TRACE_3(x, ...) TRACE_ARG(x), TRACE_2(__VA_ARGS__)
#define TRACE_4(x, ...) TRACE_ARG(x), TRACE_3(__VA_ARGS__)
#define TRACE_5(x, ...) TRACE_ARG(x), TRACE_4(__VA_ARGS__)
#define TRACE_6(x, ...) TRACE_ARG(x), TRACE_5(__VA_ARGS__)
#define TRACE_7(x, ...) TRACE_ARG(x), TRACE_6(__VA_ARGS__)
#define TRACE_8(x, ...) TRACE_ARG(x), TRACE_7(__VA_ARGS__)
#define TRACE_9(x, ...) TRACE_ARG(x), TRACE_8(__VA_ARGS__)
#define TRACE_10(x, ...) TRACE_ARG(x), TRACE_9(__VA_ARGS__)
#define TRACE_11(x, ...) TRACE_ARG(x), TRACE_10(__VA_ARGS__)
#define TRACE_12(x, ...) TRACE_ARG(x), TRACE_11(__VA_ARGS__)
#define TRACE_13(x, ...) TRACE_ARG(x), TRACE_12(__VA_ARGS__)
#define TRACE_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, name, ...) name
#define TRACE_ARGS(...)                                                                                                \
    TRACE_PICK(__VA_ARGS__, TRACE_13, TRACE_12, TRACE_11, TRACE_10, TRACE_9, TRACE_8, TRACE_7, TRACE_6, TRACE_5,       \
               TRACE_4, TRACE_3, TRACE_2, TRACE_1, 0)                                                                  \
    (__VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
