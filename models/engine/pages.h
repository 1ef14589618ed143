/*
 * pages.h - the rows of a cache of keys and values, in pages that are counted by references.
 *
 * A page is PAGE_KEYS rows; prompts that begin alike hold the same pages.  Nothing here touches keys.
 */
#ifndef MODELS_ENGINE_PAGES_H
#define MODELS_ENGINE_PAGES_H

#include "kernels/base.h"

struct pages {
    int32_t *free, *holders; /* a stack of free pages; how many hold each */
    int64_t n, n_free;
};

/* All of n pages are free. */
void pages_init(struct pages *p, int64_t n);
void pages_release(struct pages *p);
/* Takes n free ones into list, each with one holder; false, and none taken, where there are fewer. */
bool pages_take(struct pages *p, int32_t *list, int64_t n);
/* One holder more, or less, of each; a page without holders is free. */
void pages_hold(struct pages *p, const int32_t *list, int64_t n);
void pages_drop(struct pages *p, const int32_t *list, int64_t n);

#endif
