/* Part of engine.h: which rows of a step read which chunks of keys together. */
#include "models/engine/engine_impl.h"

#include <string.h>

enum { CHUNK_PAGES = CHUNK_KEYS / PAGE_KEYS };

void units_add(struct unit_list *l, struct paged_unit u)
{
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = u;
    l->max_queries = u.queries > l->max_queries ? u.queries : l->max_queries;
    l->max_chunks = u.chunks > l->max_chunks ? u.chunks : l->max_chunks;
}

/* Chunks that the token read j behind the newest sees. */
static int64_t chunks_of(const struct active_request *a, int64_t j)
{
    return (a->fixed + a->step + j + CHUNK_KEYS) / CHUNK_KEYS; /* of fixed + step + j + 1 keys */
}

/* Whether chunk c is the prompt's alone, so that all rows read it. */
static bool is_whole(const struct active_request *a, int64_t c)
{
    return (c + 1) * CHUNK_KEYS <= a->fixed;
}

static bool same_pages(const struct active_request *a, const struct active_request *b, int64_t c)
{
    return memcmp(a->pages + c * CHUNK_PAGES, b->pages + c * CHUNK_PAGES, CHUNK_PAGES * sizeof *a->pages) == 0;
}

/* A unit a row that sees chunk c, of those of its tokens that see it. */
static void add_own(const struct engine *e, struct unit_list *l, const struct active_request *a, int64_t first,
                    int64_t c)
{
    int64_t unseen = 0;

    while (unseen < a->reads && chunks_of(a, unseen) <= c)
        unseen++;
    for (int64_t w = 0; w < e->width && unseen < a->reads; w++)
        units_add(l, (struct paged_unit){ (int32_t)(first + w * a->reads + unseen), (int32_t)(a->reads - unseen),
                                          (int32_t)(a->slot * e->width + w), (int32_t)c, 1, 0 });
}

/* Units of chunk c from request i on, whose tokens begin at *first; returns the first request behind them. */
static int64_t add_chunk(const struct engine *e, struct unit_list *l, int64_t i, int64_t *first, int64_t c)
{
    const struct active_request *a = &e->active[i];
    int64_t end = i + 1, from = *first;

    *first += a->reads * e->width;
    if (!is_whole(a, c)) {
        add_own(e, l, a, from, c);
        return end;
    }
    for (; end < e->n_active && is_whole(&e->active[end], c) && same_pages(a, &e->active[end], c); end++)
        *first += e->active[end].reads * e->width;
    units_add(l, (struct paged_unit){ (int32_t)from, (int32_t)(*first - from), (int32_t)(a->slot * e->width),
                                      (int32_t)c, 1, 0 });
    return end;
}

void engine_decode_units(const struct engine *e, struct unit_list *l, int32_t *parts)
{
    int64_t most = 0, n = 0;

    parts[0] = 0;
    for (int64_t i = 0; i < e->n_active; i++) {
        const struct active_request *a = &e->active[i];
        int64_t chunks = chunks_of(a, a->reads - 1);
        most = chunks > most ? chunks : most;
        for (int64_t t = 0; t < e->width * a->reads; t++, n++) {
            chunks = chunks_of(a, t % a->reads);
            parts[n + 1] = parts[n] + (int32_t)(chunks > 1 ? chunks : 0);
        }
    }
    for (int64_t c = 0; c < most; c++)
        for (int64_t i = 0, first = 0; i < e->n_active;)
            i = add_chunk(e, l, i, &first, c);
}
