#include "tests/support/guard.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)(p), (void)(bytes))
#endif

struct block {
    size_t start, end, next; /* first byte, first after the block, start of the one that follows */
};

static struct {
    const struct arena *step;
    struct block *blocks, *past; /* in use; given back by arena_reset */
    int n, cap, n_past, cap_past;
    bool on, later;
} guard;

static void give_back(size_t from)
{
    for (; guard.n && guard.blocks[guard.n - 1].next > from; guard.n--) {
        GROW(guard.past, guard.n_past, guard.cap_past);
        guard.past[guard.n_past++] = guard.blocks[guard.n - 1];
    }
}

/* Whether a block that was given back held this byte: it may have been written while it did. */
static bool was_used(size_t at)
{
    for (int i = 0; i < guard.n_past; i++)
        if (at >= guard.past[i].start && at < guard.past[i].end)
            return true;
    return false;
}

static void close_behind(char *block, size_t bytes, size_t behind)
{
    if (guard.later)
        return;
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    ASAN_POISON_MEMORY_REGION(block + bytes, behind);
}

void *__real_arena_alloc(struct arena *a, size_t bytes);
void *__wrap_arena_alloc(struct arena *a, size_t bytes);

void *__wrap_arena_alloc(struct arena *a, size_t bytes)
{
    if (!guard.on)
        return __real_arena_alloc(a, bytes);
    size_t at = a->used;
    void *p = __real_arena_alloc(a, bytes + GUARD_BYTES);
    if (a == guard.step) {
        give_back(at);
        GROW(guard.blocks, guard.n, guard.cap);
        guard.blocks[guard.n++] = (struct block){ at, at + bytes, a->used };
        close_behind(p, bytes, a->used - at - bytes);
    }
    return p;
}

void *__real_arena_alloc_end(struct arena *a, size_t bytes);
void *__wrap_arena_alloc_end(struct arena *a, size_t bytes);

void *__wrap_arena_alloc_end(struct arena *a, size_t bytes)
{
    if (!guard.on)
        return __real_arena_alloc_end(a, bytes);
    void *p = __real_arena_alloc_end(a, bytes + GUARD_BYTES);
    if (a == guard.step)
        close_behind(p, bytes, GUARD_BYTES);
    return p;
}

void guard_start(const struct arena *step, bool later)
{
    guard.later = later;
    guard.step = step;
    guard.n = guard.n_past = 0;
    guard.on = true;
}

void guard_stop(void)
{
    guard.on = false;
    ASAN_UNPOISON_MEMORY_REGION(guard.step->base, guard.step->size);
}

int64_t guard_find_damage(const unsigned char *copy, int pattern)
{
    for (int i = 0; i < guard.n; i++)
        for (size_t at = guard.blocks[i].end; at < guard.blocks[i].next; at++)
            if (copy[at] != pattern && !was_used(at))
                return (int64_t)at;
    return -1;
}
