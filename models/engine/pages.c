#include "models/engine/pages.h"

#include <stdlib.h>

void pages_init(struct pages *p, int64_t n)
{
    *p = (struct pages){ .free = xcalloc((size_t)n + 1, sizeof *p->free),
                         .holders = xcalloc((size_t)n + 1, sizeof *p->holders),
                         .n = n,
                         .n_free = n };
    for (int64_t i = 0; i < n; i++)
        p->free[i] = (int32_t)(n - 1 - i);
}

void pages_release(struct pages *p)
{
    free(p->free);
    free(p->holders);
    *p = (struct pages){ 0 };
}

bool pages_take(struct pages *p, int32_t *list, int64_t n)
{
    if (n > p->n_free)
        return false;
    for (int64_t i = 0; i < n; i++) {
        list[i] = p->free[--p->n_free];
        CHECK(p->holders[list[i]] == 0, "page %d is free and held", list[i]);
        p->holders[list[i]] = 1;
    }
    return true;
}

void pages_hold(struct pages *p, const int32_t *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        CHECK(p->holders[list[i]] > 0, "page %d is held by nobody", list[i]);
        p->holders[list[i]]++;
    }
}

void pages_drop(struct pages *p, const int32_t *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        CHECK(p->holders[list[i]] > 0, "page %d is held by nobody", list[i]);
        if (--p->holders[list[i]] == 0)
            p->free[p->n_free++] = list[i];
    }
}
