/*
 * byte_buffer.h - a growing array of bytes that ends in a zero byte.
 */
#ifndef MODELS_TEXT_BYTE_BUFFER_H
#define MODELS_TEXT_BYTE_BUFFER_H

#include "kernels/base.h"

#include <stdlib.h>
#include <string.h>

/* Start as { 0 }; call byte_buffer_release at the end. */
struct byte_buffer {
    char *items;
    size_t count, cap;
};

/* Reserves memory for n more bytes and a zero. Returns the end of the contents. */
static inline char *byte_buffer_reserve(struct byte_buffer *b, size_t n)
{
    if (b->cap - b->count <= n) {
        b->cap = (b->cap + n) * 2 + 64;
        b->items = (char *)xrealloc(b->items, b->cap);
    }
    return b->items + b->count;
}

static inline void byte_buffer_add(struct byte_buffer *b, const char *bytes, size_t n)
{
    memcpy(byte_buffer_reserve(b, n), bytes, n);
    b->count += n;
    b->items[b->count] = '\0';
}

static inline void byte_buffer_release(struct byte_buffer *b)
{
    free(b->items);
    *b = (struct byte_buffer){ 0 };
}

#endif
