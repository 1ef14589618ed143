#include "tests/support/guard.h"

struct block {
    size_t end, next; /* first byte after the block, start of the one that follows */
};

static struct {
    const struct arena *step;
    struct block *blocks;
    int n, cap;
    bool on;
} guard;

void *__real_arena_alloc(struct arena *a, size_t bytes);
void *__wrap_arena_alloc(struct arena *a, size_t bytes);

void *__wrap_arena_alloc(struct arena *a, size_t bytes)
{
    if (!guard.on)
        return __real_arena_alloc(a, bytes);
    size_t at = a->used;
    void *p = __real_arena_alloc(a, bytes + GUARD_BYTES);
    if (a == guard.step) {
        while (guard.n && guard.blocks[guard.n - 1].next > at) /* given back by arena_reset */
            guard.n--;
        GROW(guard.blocks, guard.n, guard.cap);
        guard.blocks[guard.n++] = (struct block){ at + bytes, a->used };
    }
    return p;
}

void guard_start(const struct arena *step)
{
    guard.step = step;
    guard.n = 0;
    guard.on = true;
}

void guard_stop(void)
{
    guard.on = false;
}

int64_t guard_find_damage(const unsigned char *copy)
{
    for (int i = 0; i < guard.n; i++)
        for (size_t at = guard.blocks[i].end; at < guard.blocks[i].next; at++)
            if (copy[at] != GUARD_PATTERN)
                return (int64_t)at;
    return -1;
}
