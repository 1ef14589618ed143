#include "kernels/trace.h"

#include "kernels/device.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct signature {
    const char *kernel, *params; /* "(struct ctx *c, struct tensor *y, const struct tensor *x)" */
} signatures[] = {
#define SIGNATURE(name, args) { #name, #args },
    KERNEL_LIST(SIGNATURE)
#undef SIGNATURE
};

/* A parameter's name and type, in the text of its signature. */
struct param_text {
    const char *type, *name;
    int name_length;
};

struct text {
    char s[1024];
    size_t n;
};

bool trace_wanted;
static struct {
    bool print, check;
} state; /* constant after trace_open */
static _Thread_local double start;

struct trace_arg trace_tensor(const struct tensor *t)
{
    return (struct trace_arg){ .kind = TRACE_TENSOR, .t = t };
}

struct trace_arg trace_destination(struct destination d)
{
    return trace_tensor(d.t);
}

struct trace_arg trace_number(double number)
{
    return (struct trace_arg){ .kind = TRACE_NUMBER, .number = number };
}

struct trace_arg trace_pointer(const void *p)
{
    (void)p;
    return (struct trace_arg){ .kind = TRACE_POINTER };
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_environment(void)
{
    state.print = is_set("AMBIT_TRACE");
    state.check = is_set("AMBIT_CHECK_NAN");
    trace_wanted = state.print || state.check;
}

void trace_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_environment);
}

void trace_begin(struct ctx *c)
{
    if (c->capturing)
        return;
    c->dev->driver->sync(c->dev);
    start = now();
}

static const char *params_of(const char *kernel)
{
    for (int i = 0; i < ARRAY_LEN(signatures); i++)
        if (!strcmp(signatures[i].kernel, kernel))
            return signatures[i].params;
    CHECK(false, "no kernel %s", kernel);
}

/* Advances to the next parameter; returns false after the last. */
static bool next_param(const char **at, struct param_text *p)
{
    const char *comma = strchr(*at, ',');

    if (!comma)
        return false;
    p->type = comma + 2;
    *at = p->type;
    const char *end = p->type + strcspn(p->type, ",)");
    for (p->name = end; p->name[-1] != ' ' && p->name[-1] != '*'; p->name--)
        ;
    p->name_length = (int)(end - p->name);
    return true;
}

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* Returns whether a parameter is an output: a tensor that is not const, or a destination. */
static bool is_output(const struct param_text *p)
{
    return begins(p->type, "struct destination ") ||
           (begins(p->type, "struct tensor *") && !begins(p->type, "struct tensor *const"));
}

static void __attribute__((format(printf, 2, 3))) append(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    t->n = n < 0 || (size_t)n >= sizeof t->s - t->n ? sizeof t->s - 1 : t->n + (size_t)n;
}

static void append_arg(struct text *text, const struct param_text *p, const struct trace_arg *arg)
{
    if (arg->kind == TRACE_POINTER || (arg->kind == TRACE_TENSOR && !arg->t))
        return;
    append(text, "  %.*s", p->name_length, p->name);
    if (arg->kind == TRACE_NUMBER) {
        append(text, " %g", arg->number);
        return;
    }
    append(text, " %s[", dtype_name(arg->t->dtype));
    for (int i = 0; i < arg->t->ndim; i++)
        append(text, "%s%lld", i ? ", " : "", (long long)arg->t->shape[i]);
    append(text, "]");
}

/* "matmul  y bf16[3, 4]  a bf16[3, 8]  ta 0  ..." */
static struct text describe(const char *kernel, const struct trace_arg *args)
{
    struct text text = { .n = 0 };
    struct param_text p;
    const char *at = params_of(kernel);

    append(&text, "%s", kernel);
    for (int i = 0; next_param(&at, &p); i++)
        append_arg(&text, &p, &args[i]);
    return text;
}

/* Returns the index of the first number that is not finite, or -1. */
static int64_t find_not_finite(struct device *d, const struct tensor *t, bool is_lse, float *value)
{
    int64_t n = tensor_size(t), found = -1;
    void *data = xmalloc(tensor_bytes(t) + 1);

    device_download(d, data, t);
    for (int64_t i = 0; i < n && found < 0; i++) {
        *value = t->dtype == BF16 ? f32_from_bf16(((const uint16_t *)data)[i]) : ((const float *)data)[i];
        if (!isfinite(*value) && !(is_lse && *value == -INFINITY))
            found = i;
    }
    free(data);
    return found;
}

/* The lse of a query without keys may be -infinity. */
static void check_outputs(const struct ctx *c, const char *file, int line, const char *kernel,
                          const struct trace_arg *args)
{
    const char *at = params_of(kernel);
    struct param_text p;

    for (int i = 0; next_param(&at, &p); i++) {
        const struct tensor *t = args[i].t;
        float value;
        if (!t || t->dtype == I32 || !is_output(&p))
            continue;
        int64_t found = find_not_finite(c->dev, t, begins(p.name, "lse"), &value);
        if (found >= 0)
            check_failed(file, line, "AMBIT_CHECK_NAN", "%.*s[%lld, %lld] is %g after %s", p.name_length, p.name,
                         (long long)(found / tensor_cols(t)), (long long)(found % tensor_cols(t)), (double)value,
                         describe(kernel, args).s);
    }
}

void trace_end(struct ctx *c, const char *file, int line, const char *kernel, const struct trace_arg *args)
{
    if (c->capturing)
        return;
    c->dev->driver->sync(c->dev);
    if (state.print)
        fprintf(stderr, "%9.3f ms  %s\n", 1e3 * (now() - start), describe(kernel, args).s);
    if (state.check)
        check_outputs(c, file, line, kernel, args);
}
