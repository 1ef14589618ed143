#include "data/sqlite/file_overlay.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

struct overlay_block {
    int64_t number;
    uint8_t *bytes; /* NULL: a free slot */
};

void overlay_begin(struct file_overlay *o, int64_t size)
{
    if (!o->changed)
        *o = (struct file_overlay){ .changed = true, .size = size, .below_end = size };
}

static struct overlay_block *slot(const struct file_overlay *o, int64_t number)
{
    uint64_t i = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 20;

    for (;; i++) {
        struct overlay_block *b = &o->blocks[i & (uint64_t)(o->cap - 1)];
        if (!b->bytes || b->number == number)
            return b;
    }
}

/* Keeps at least half of the slots free. */
static void grow(struct file_overlay *o)
{
    struct overlay_block *old = o->blocks;
    int64_t cap = o->cap;

    if (2 * (o->n + 1) <= o->cap)
        return;
    o->cap = cap ? 2 * cap : 64;
    o->blocks = xcalloc((size_t)o->cap, sizeof *o->blocks);
    for (int64_t i = 0; i < cap; i++)
        if (old[i].bytes)
            *slot(o, old[i].number) = old[i];
    free(old);
}

static int read_below(const struct file_overlay *o, uint8_t *to, int64_t n, int64_t at, overlay_read_fn *read,
                      void *below)
{
    int64_t there = at < o->below_end ? o->below_end - at : 0;

    there = there < n ? there : n;
    memset(to + there, 0, (size_t)(n - there));
    return there ? read(below, to, there, at) : 0;
}

/* How many of n bytes at `at` lie in the block of the first one. */
static int64_t within(int64_t n, int64_t at)
{
    int64_t left = BLOCK - at % BLOCK;
    return n < left ? n : left;
}

int overlay_read(const struct file_overlay *o, void *to, int64_t n, int64_t at, overlay_read_fn *read, void *below)
{
    uint8_t *p = to;

    for (int64_t k; n; p += k, at += k, n -= k) {
        const struct overlay_block *b = o->cap ? slot(o, at / BLOCK) : NULL;
        k = within(n, at);
        if (b && b->bytes) {
            memcpy(p, b->bytes + at % BLOCK, (size_t)k);
            continue;
        }
        int rc = read_below(o, p, k, at, read, below);
        if (rc)
            return rc;
    }
    return 0;
}

/* The block with that number, made of what lies below when it is new. */
static int take_block(struct file_overlay *o, uint8_t **bytes, int64_t number, int64_t max_bytes, overlay_read_fn *read,
                      void *below)
{
    grow(o);
    struct overlay_block *b = slot(o, number);
    if (!b->bytes) {
        if ((o->n + 1) * BLOCK > max_bytes)
            return 1;
        uint8_t *fresh = xmalloc(BLOCK);
        int rc = read_below(o, fresh, BLOCK, number * BLOCK, read, below);
        if (rc) {
            free(fresh);
            return rc;
        }
        *b = (struct overlay_block){ number, fresh };
        o->n++;
    }
    *bytes = b->bytes;
    return 0;
}

int overlay_write(struct file_overlay *o, const void *from, int64_t n, int64_t at, int64_t max_bytes,
                  overlay_read_fn *read, void *below)
{
    const uint8_t *p = from;
    int64_t end = at + n;

    for (int64_t k; n; p += k, at += k, n -= k) {
        uint8_t *bytes;
        int rc = take_block(o, &bytes, at / BLOCK, max_bytes, read, below);
        if (rc)
            return rc;
        k = within(n, at);
        memcpy(bytes + at % BLOCK, p, (size_t)k);
    }
    o->size = end > o->size ? end : o->size;
    return 0;
}

void overlay_truncate(struct file_overlay *o, int64_t size)
{
    o->size = size;
    o->below_end = size < o->below_end ? size : o->below_end;
    for (int64_t i = 0; i < o->cap; i++) {
        struct overlay_block *b = &o->blocks[i];
        int64_t kept = b->bytes ? size - b->number * BLOCK : BLOCK;
        kept = kept < 0 ? 0 : kept;
        if (kept < BLOCK)
            memset(b->bytes + kept, 0, (size_t)(BLOCK - kept));
    }
}

void overlay_release(struct file_overlay *o)
{
    for (int64_t i = 0; i < o->cap; i++)
        free(o->blocks[i].bytes);
    free(o->blocks);
    *o = (struct file_overlay){ 0 };
}
