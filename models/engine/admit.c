/* Part of engine.h: which requests come when, and the pages that they hold. */
#include "models/engine/engine_impl.h"

#include <stdlib.h>
#include <string.h>

static int64_t pages_for(int64_t keys)
{
    return (keys + PAGE_KEYS - 1) / PAGE_KEYS;
}

int64_t engine_limit(const struct engine *e, const struct engine_request *r)
{
    int64_t left = (e->model->seq2seq ? INT32_MAX : e->model->net.config.max_positions) - r->n_prompt;
    return left < e->set.max_new ? left : e->set.max_new;
}

int64_t engine_pages(const struct engine *e, const struct engine_request *r)
{
    return pages_for(r->n_prompt - 1) + e->width * pages_for(engine_limit(e, r));
}

/* Tokens whose keys the two have in common. */
static int64_t shared_length(const struct engine_request *a, const struct engine_request *b)
{
    int64_t n = a->n_prompt < b->n_prompt ? a->n_prompt : b->n_prompt, i = 0;

    if (a->adapter != b->adapter)
        return 0;
    while (i < n && a->prompt[i] == b->prompt[i])
        i++;
    return i;
}

/* A request, and of those that it shares pages with the one that came first. */
struct place {
    struct engine_request *of, *first;
};

/* By adapter and tokens, then as they came. */
static int compare_tokens(const void *x, const void *y)
{
    const struct engine_request *a = ((const struct place *)x)->of, *b = ((const struct place *)y)->of;
    int64_t i = shared_length(a, b);

    if (a->adapter != b->adapter)
        return a->adapter < b->adapter ? -1 : 1;
    if (i < a->n_prompt && i < b->n_prompt)
        return a->prompt[i] < b->prompt[i] ? -1 : 1;
    if (a->n_prompt != b->n_prompt)
        return a->n_prompt < b->n_prompt ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* By adapter, then as those came that they share pages with. */
static int compare_places(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->of->adapter != b->of->adapter)
        return a->of->adapter < b->of->adapter ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return compare_tokens(x, y);
}

/* Runs of places that share pages, each with the one after it, learn which of them came first. */
static void find_first(struct place *places, int64_t n)
{
    for (int64_t from = 0, end; from < n; from = end) {
        struct engine_request *first = places[from].of;
        for (end = from + 1; end < n && shared_length(places[end - 1].of, places[end].of) >= PAGE_KEYS; end++)
            first = places[end].of < first ? places[end].of : first;
        for (int64_t i = from; i < end; i++)
            places[i].first = first;
    }
}

struct engine_request **engine_order(struct engine_request *list, int64_t n)
{
    struct engine_request **order = xcalloc((size_t)n + 1, sizeof *order);
    struct place *places = xcalloc((size_t)n + 1, sizeof *places);

    for (int64_t i = 0; i < n; i++)
        places[i].of = &list[i];
    qsort(places, (size_t)n, sizeof *places, compare_tokens);
    find_first(places, n);
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t i = 0; i < n; i++)
        order[i] = places[i].of;
    free(places);
    return order;
}

void engine_forget_held(struct engine *e)
{
    struct engine_held *h = &e->held;

    pages_drop(&e->pages, h->pages, h->n);
    free(h->pages);
    *h = (struct engine_held){ 0 };
}

/* The whole pages of a's prompt are there for the next. */
static void hold(struct engine *e, const struct active_request *a)
{
    int64_t n = a->fixed / PAGE_KEYS;
    int32_t *pages = xmalloc((size_t)(n + 1) * sizeof *pages);

    memcpy(pages, a->pages, (size_t)n * sizeof *pages);
    pages_hold(&e->pages, pages, n);
    engine_forget_held(e);
    e->held = (struct engine_held){ a->of, pages, n };
}

/* Whole pages that the held prompt has in common with r's keys. */
static int64_t pages_shared(const struct engine *e, const struct engine_request *r)
{
    if (!e->held.of)
        return 0;
    int64_t same = shared_length(e->held.of, r), n = (same < r->n_prompt - 1 ? same : r->n_prompt - 1) / PAGE_KEYS;
    return n < e->held.n ? n : e->held.n;
}

/* The pages of r, the first of them shared; NULL where there are too few. */
static int32_t *take_pages(struct engine *e, int64_t shared, int64_t n)
{
    int32_t *pages = xmalloc((size_t)n * sizeof *pages);

    if (!pages_take(&e->pages, pages + shared, n - shared)) {
        free(pages);
        return NULL;
    }
    if (shared)
        memcpy(pages, e->held.pages, (size_t)shared * sizeof *pages);
    pages_hold(&e->pages, pages, shared);
    return pages;
}

bool engine_admit(struct engine *e, struct engine_request *r)
{
    struct active_request a = { .of = r,
                                .fixed = r->n_prompt - 1,
                                .prompt_pages = pages_for(r->n_prompt - 1),
                                .own = pages_for(engine_limit(e, r)),
                                .n_pages = engine_pages(e, r),
                                .limit = engine_limit(e, r) };
    int64_t shared = pages_shared(e, r);

    if (!e->n_slots || !(a.pages = take_pages(e, shared, a.n_pages)))
        return false;
    a.slot = e->slots[--e->n_slots];
    a.filled = shared * PAGE_KEYS;
    e->active[e->n_active++] = a;
    hold(e, &a);
    return true;
}

void engine_leave(struct engine *e, struct active_request *a)
{
    pages_drop(&e->pages, a->pages, a->n_pages);
    free(a->pages);
    e->slots[e->n_slots++] = a->slot;
    a->of = NULL;
}

int32_t engine_prompt_row(const struct active_request *a, int64_t place)
{
    return a->pages[place / PAGE_KEYS] * PAGE_KEYS + (int32_t)(place % PAGE_KEYS);
}

int32_t engine_own_row(const struct active_request *a, int64_t row, int64_t place)
{
    int64_t t = place - a->fixed, page = a->prompt_pages + row * a->own + t / PAGE_KEYS;
    return a->pages[page] * PAGE_KEYS + (int32_t)(t % PAGE_KEYS);
}
