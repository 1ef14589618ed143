/*
 * pages.h - allocates the pages of a KV cache, with reference counts.
 *
 * A page is PAGE_KEYS rows of the cache. Prompts with a common prefix share its pages. The module does not touch
 * keys.
 */
#ifndef MODELS_ENGINE_PAGES_H
#define MODELS_ENGINE_PAGES_H

#include "kernels/base.h"

struct pages {
    int32_t *free, *holders; /* stack of free pages; number of holders of each page */
    int64_t n, n_free;
};

/* Starts with n free pages. */
void pages_init(struct pages *p, int64_t n);
void pages_release(struct pages *p);
/* Takes n free pages into list, each with one holder. Returns false and takes none if fewer are free. */
bool pages_take(struct pages *p, int32_t *list, int64_t n);
/* Adds or removes one holder of each page. A page without holders is free. */
void pages_hold(struct pages *p, const int32_t *list, int64_t n);
void pages_drop(struct pages *p, const int32_t *list, int64_t n);

#endif
