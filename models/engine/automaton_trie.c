/* Part of automaton.h: a list of token sequences as a trie, made from the sorted list node by node. */
#include "models/engine/automaton_impl.h"

#include <stdlib.h>
#include <string.h>

void token_list_end(struct token_list *l)
{
    GROW(l->ends, l->count, l->cap);
    l->ends[l->count++] = l->ids.count;
}

void token_list_release(struct token_list *l)
{
    ids_release(&l->ids);
    free(l->ends);
    *l = (struct token_list){ 0 };
}

struct sequence {
    const int32_t *ids;
    int64_t n;
};

/* Sequences lo .. hi - 1, which are alike in their first `depth` tokens: a node whose edges are still to be made. */
struct trie_range {
    int64_t lo, hi, depth;
};

struct trie_ranges {
    struct trie_range *items;
    int64_t count, cap;
};

static int compare(const void *x, const void *y)
{
    const struct sequence *a = x, *b = y;
    int64_t n = a->n < b->n ? a->n : b->n, i = 0;

    while (i < n && a->ids[i] == b->ids[i])
        i++;
    if (i < n)
        return a->ids[i] < b->ids[i] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

/* In order, each once.  Returns how many are left. */
static int64_t sort(struct sequence *s, const struct token_list *l)
{
    int64_t n = 0;

    for (int64_t i = 0; i < l->count; i++) {
        int64_t from = i ? l->ends[i - 1] : 0;
        s[i] = (struct sequence){ l->ids.items ? l->ids.items + from : NULL, l->ends[i] - from };
    }
    qsort(s, (size_t)l->count, sizeof *s, compare);
    for (int64_t i = 0; i < l->count; i++)
        if (i == 0 || compare(s + n - 1, s + i))
            s[n++] = s[i];
    return n;
}

static int32_t add_node(struct tries *t, struct trie_ranges *waiting, struct trie_range r)
{
    GROW(t->nodes, t->n_nodes, t->cap_nodes);
    GROW(waiting->items, waiting->count, waiting->cap);
    t->nodes[t->n_nodes] = (struct trie_node){ .behind = -1 };
    waiting->items[waiting->count++] = r;
    return (int32_t)t->n_nodes++;
}

/* The edges of a node; their targets are new nodes but where a sequence ends that nothing goes on from. */
static void expand(struct tries *t, struct trie_ranges *waiting, const struct sequence *s, int32_t node,
                   struct trie_range r, int32_t behind)
{
    t->nodes[node].first = (int32_t)t->n_edges;
    if (s[r.lo].n == r.depth) {
        t->nodes[node].behind = behind;
        r.lo++;
    }
    while (r.lo < r.hi) {
        int32_t token = s[r.lo].ids[r.depth];
        int64_t stop = r.lo + 1;
        while (stop < r.hi && s[stop].ids[r.depth] == token)
            stop++;
        bool ends = stop == r.lo + 1 && s[r.lo].n == r.depth + 1;
        int32_t child = ends ? behind : add_node(t, waiting, (struct trie_range){ r.lo, stop, r.depth + 1 });
        GROW(t->edges, t->n_edges, t->cap_edges);
        t->edges[t->n_edges++] = (struct trie_edge){ token, child };
        r.lo = stop;
    }
    t->nodes[node].count = (int32_t)t->n_edges - t->nodes[node].first;
}

int32_t tries_add(struct tries *t, const struct token_list *l, int32_t behind)
{
    struct sequence *s = xmalloc((size_t)l->count * sizeof *s);
    struct trie_ranges waiting = { 0 };
    int64_t n = sort(s, l);
    int32_t root = add_node(t, &waiting, (struct trie_range){ 0, n, 0 });

    for (int64_t i = 0; i < waiting.count; i++)
        expand(t, &waiting, s, root + (int32_t)i, waiting.items[i], behind);
    free(waiting.items);
    free(s);
    return root;
}

void tries_release(struct tries *t)
{
    free(t->nodes);
    free(t->edges);
    *t = (struct tries){ 0 };
}
