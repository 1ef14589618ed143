#include "kernels/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int arena_init(struct arena *a, size_t size, struct error *err)
{
    size_t rounded = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    void *base = aligned_alloc(ARENA_ALIGN, rounded ? rounded : ARENA_ALIGN);

    *a = (struct arena){ 0 };
    if (!base)
        return error_set(err, EXIT_CODE_MEMORY, "not enough memory for %zu MiB", size >> 20);
    *a = (struct arena){ .base = base, .size = rounded, .owned = true };
    return 0;
}

void arena_wrap(struct arena *a, void *base, size_t size)
{
    *a = (struct arena){ .base = base, .size = size };
}

void arena_measure(struct arena *a)
{
    arena_wrap(a, (void *)(uintptr_t)ARENA_ALIGN, SIZE_MAX / 4 / ARENA_ALIGN * ARENA_ALIGN);
}

void arena_measure_like(struct arena *a, const struct arena *real)
{
    arena_measure(a);
    if (real->base)
        a->base = real->base;
}

void arena_release(struct arena *a)
{
    if (a->owned)
        free(a->base);
    *a = (struct arena){ 0 };
}

/* Adds a block to one of the two offsets. */
static void take(struct arena *a, size_t *offset, size_t bytes)
{
    size_t rounded = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN, used = a->used + a->used_end;

    CHECK(rounded >= bytes && rounded <= a->size - used, "arena full: no room for %zu bytes, %zu of %zu used", bytes,
          used, a->size);
    *offset += rounded;
    if (used + rounded > a->peak)
        a->peak = used + rounded;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    char *p = a->base + a->used;

    take(a, &a->used, bytes);
    return p;
}

void *arena_alloc_end(struct arena *a, size_t bytes)
{
    take(a, &a->used_end, bytes);
    return a->base + a->size - a->used_end;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    CHECK(n >= 0, "bad format %s", fmt);
    char *s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}
