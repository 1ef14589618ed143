#include "kernels/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int error_set(struct error *err, enum exit_code code, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return -1;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    err->code = code;
    return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
    char old[sizeof err->text];
    va_list ap;

    if (!err)
        return -1;
    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->text) {
        int room = (int)sizeof err->text - n; /* a longer text is truncated */
        snprintf(err->text + n, (size_t)room, ": %.*s", room, old);
    }
    return -1;
}

static void __attribute__((format(printf, 1, 2))) warn_on_stderr(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("warning: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

void (*base_warn)(const char *fmt, ...) = warn_on_stderr;

bool base_is_guest;

void check_failed(const char *file, int line, const char *expr, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s:%d: CHECK(%s) failed: ", file, line, expr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

void *xmalloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    CHECK(p, "out of memory: %zu bytes", bytes);
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    CHECK(p, "out of memory: %zu x %zu bytes", count, size);
    return p;
}

void *xrealloc(void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    CHECK(p, "out of memory: %zu bytes", bytes);
    return p;
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

char *path_in(const char *dir, const char *name)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = xmalloc(n);

    snprintf(path, n, "%s/%s", dir, name);
    return path;
}

bool text_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    for (const unsigned char *b = p, *end = b + n; b < end; b++)
        h = (h ^ *b) * UINT64_C(1099511628211);
    return h;
}
