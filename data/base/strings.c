#include "data/base/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *s)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h ^ h >> 32;
}

/* The slot that holds s, or the free slot for it. */
static int *find_slot(const struct strings *t, const char *s)
{
    size_t mask = (size_t)t->n_slots - 1, at = (size_t)hash_of(s) & mask;
    while (t->slots[at] >= 0 && strcmp(t->items[t->slots[at]], s) != 0)
        at = (at + 1) & mask;
    return &t->slots[at];
}

static void grow_slots(struct strings *t)
{
    t->n_slots = t->n_slots ? 2 * t->n_slots : 64;
    t->slots = xrealloc(t->slots, (size_t)t->n_slots * sizeof *t->slots);
    memset(t->slots, 0xff, (size_t)t->n_slots * sizeof *t->slots);
    for (int i = 0; i < t->n; i++)
        *find_slot(t, t->items[i]) = i;
}

int strings_find(const struct strings *t, const char *s)
{
    return t->n ? *find_slot(t, s) : -1;
}

int strings_add(struct strings *t, const char *s)
{
    if (2 * (t->n + 1) > t->n_slots)
        grow_slots(t);
    int *slot = find_slot(t, s);
    if (*slot >= 0)
        return *slot;
    GROW(t->items, t->n, t->cap);
    t->items[t->n] = xstrdup(s);
    return *slot = t->n++;
}

const char *strings_keep(struct strings *t, const char *s)
{
    int i = strings_add(t, s); /* may move the items */
    return t->items[i];
}

const char *strings_printf(struct strings *t, const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    CHECK(n >= 0, "cannot format %s", fmt);
    const char *kept = strings_keep(t, s);
    free(s);
    return kept;
}

void strings_release(struct strings *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    free(t->slots);
    *t = (struct strings){ 0 };
}
