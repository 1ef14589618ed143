#include "data/base/pairing.h"

#include "kernels/base.h"

#include <stdlib.h>
#include <string.h>

/* A window of items: positions 0..n-1 stand for the items in `items`. */
struct window {
    const int *items;
    int n;
    bool *fits;  /* [n * n] */
    int *degree; /* number of possible partners */
    int *mate;   /* -1: free */
};

static bool adjacent(const struct window *w, int i, int j)
{
    return w->fits[(size_t)i * (size_t)w->n + (size_t)j];
}

static void window_init(struct window *w, const int *items, int n, pair_fits *fits, const void *context)
{
    size_t size = (size_t)n;
    *w = (struct window){ .items = items, .n = n };
    w->fits = xcalloc(size * size, sizeof *w->fits);
    w->degree = xcalloc(size, sizeof *w->degree);
    w->mate = xmalloc(size * sizeof *w->mate);
    memset(w->mate, 0xff, size * sizeof *w->mate);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (fits(context, items[i], items[j])) {
                w->fits[(size_t)i * size + (size_t)j] = w->fits[(size_t)j * size + (size_t)i] = true;
                w->degree[i]++;
                w->degree[j]++;
            }
}

static void window_release(struct window *w)
{
    free(w->fits);
    free(w->degree);
    free(w->mate);
}

static void marry(struct window *w, int i, int j)
{
    w->mate[i] = j;
    w->mate[j] = i;
}

/* The free partner of i with the fewest possible partners; -1 if none is free. */
static int scarcest(const struct window *w, int i, int except)
{
    int best = -1;
    for (int j = 0; j < w->n; j++)
        if (j != except && w->mate[j] < 0 && adjacent(w, i, j) && (best < 0 || w->degree[j] < w->degree[best]))
            best = j;
    return best;
}

/* Items with the fewest possible partners choose first. */
static void greedy(struct window *w)
{
    for (int degree = 1; degree < w->n; degree++)
        for (int i = 0; i < w->n; i++)
            if (w->degree[i] == degree && w->mate[i] < 0) {
                int j = scarcest(w, i, i);
                if (j >= 0)
                    marry(w, i, j);
            }
}

/* An augmenting path of three edges: the free item i takes partner a from its mate b, and b gets another free
 * partner. */
static bool augment(struct window *w, int i)
{
    for (int a = 0; a < w->n; a++) {
        if (!adjacent(w, i, a))
            continue;
        int b = w->mate[a], j = scarcest(w, b, i);
        if (j >= 0) {
            marry(w, i, a);
            marry(w, b, j);
            return true;
        }
    }
    return false;
}

static int match_window(struct pair *out, const int *items, int n, pair_fits *fits, const void *context)
{
    struct window w;
    int pairs = 0;
    bool grown = true;

    window_init(&w, items, n, fits, context);
    greedy(&w);
    while (grown) {
        grown = false;
        for (int i = 0; i < n; i++)
            grown |= w.mate[i] < 0 && augment(&w, i);
    }
    for (int i = 0; i < n; i++)
        if (w.mate[i] > i)
            out[pairs++] = (struct pair){ items[i], items[w.mate[i]] };
    window_release(&w);
    return pairs;
}

int pairing_match(struct pair *out, int n, pair_fits *fits, const void *context, struct rng *rng)
{
    int *order = xmalloc((size_t)n * sizeof *order), pairs = 0;

    for (int i = 0; i < n; i++) {
        int j = (int)rng_below(rng, (uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int first = 0; first < n; first += PAIRING_WINDOW) {
        int size = n - first < PAIRING_WINDOW ? n - first : PAIRING_WINDOW;
        pairs += match_window(out + pairs, order + first, size, fits, context);
    }
    free(order);
    return pairs;
}
