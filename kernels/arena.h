/*
 * arena.h - an arena allocator: one region of memory, allocated by moving an offset.
 *
 * The same type serves host memory (records, text) and device memory (tensor data), because allocation only moves an
 * offset and never touches the block.  A measuring arena has no memory.  Its addresses are offsets from a fixed base
 * and must not be dereferenced.  Its peak is the size in bytes that a real arena needs.
 *
 * An arena allocates from both ends.  Blocks that live shorter than the blocks allocated after them come from the other
 * end, whose offset moves the other way.
 */
#ifndef KERNELS_ARENA_H
#define KERNELS_ARENA_H

#include "kernels/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct arena {
    char *base;
    size_t size, used, used_end, peak; /* bytes; used_end counts from the other end, peak counts both ends */
    bool owned;                        /* arena_release frees base */
};

enum { ARENA_ALIGN = 64 }; /* alignment of every block in bytes: a cache line, enough for 16-byte loads */

/* Allocates size bytes of host memory, owned by the arena.  Returns 0, or -1 with EXIT_CODE_MEMORY. */
int arena_init(struct arena *a, size_t size, struct error *err);
/* Makes an arena of memory that the caller owns, for example device memory. */
void arena_wrap(struct arena *a, void *base, size_t size);
/* Makes a measuring arena: it returns addresses without memory and records the peak. */
void arena_measure(struct arena *a);
/* Makes a measuring arena with the base of `real`, so that its first blocks get the addresses of `real`. */
void arena_measure_like(struct arena *a, const struct arena *real);
void arena_release(struct arena *a);

/* Returns a block of at least `bytes` bytes with undefined contents.  A full arena is a bug: the dry run measured the
 * size. */
void *arena_alloc(struct arena *a, size_t bytes);
/* Like arena_alloc, from the other end of the arena. */
void *arena_alloc_end(struct arena *a, size_t bytes);
/* Formats a string into a block of the arena, which owns it. */
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
