/*
 * arena.h - one block of memory, handed out by a moving offset.
 *
 * The same type serves host memory (records, text) and device memory (tensor data): it only moves an offset and never
 * touches what it hands out.  A measuring arena has no memory at all; its addresses are offsets from a fixed odd base
 * that nobody may dereference, and its peak is what a real one would need.
 *
 * What lives shorter than what is taken after it comes from the other end, whose offset moves the other way.
 */
#ifndef KERNELS_ARENA_H
#define KERNELS_ARENA_H

#include "kernels/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct arena {
    char *base;
    size_t size, used, used_end, peak; /* used_end: from the other end; peak: of both together */
    bool owned;                        /* arena_release gives base back to the C library */
};

enum { ARENA_ALIGN = 64 }; /* every block starts on a multiple of this: a cache line, and enough for 16-byte loads */

/* Takes size bytes of host memory.  Returns 0, or -1 with EXIT_CODE_MEMORY. */
int arena_init(struct arena *a, size_t size, struct error *err);
/* Hands out memory that someone else owns, for example a device's. */
void arena_wrap(struct arena *a, void *base, size_t size);
/* Hands out addresses without memory, to learn the peak. */
void arena_measure(struct arena *a);
/* The same, with the addresses that `real` hands out at its beginning as far as it goes. */
void arena_measure_like(struct arena *a, const struct arena *real);
void arena_release(struct arena *a);

/* A block of at least bytes bytes; a full arena is a bug (the dry run told the size). Contents are undefined. */
void *arena_alloc(struct arena *a, size_t bytes);
/* The same from the other end of the arena. */
void *arena_alloc_end(struct arena *a, size_t bytes);
/* A printf into the arena. */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline size_t arena_mark(const struct arena *a)
{
    return a->used;
}
static inline void arena_reset(struct arena *a, size_t mark)
{
    a->used = mark;
}
static inline size_t arena_mark_end(const struct arena *a)
{
    return a->used_end;
}
static inline void arena_reset_end(struct arena *a, size_t mark)
{
    a->used_end = mark;
}

#ifdef __cplusplus
}
#endif
#endif
