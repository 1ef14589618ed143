#include "models/engine/automaton.h"
#include "kernels/beams.h"

#include <stdlib.h>
#include <string.h>

struct trie_edge {
    int32_t token, node;
};

/* Edges ascend by token. If a sequence ends here and others continue, `behind` is reached without a token. */
struct trie_node {
    int32_t first, count; /* of edges */
    int32_t behind;       /* -1: no sequence ends here */
};

/* Start it as { 0 }. */
struct tries {
    struct trie_node *nodes;
    int64_t n_nodes, cap_nodes;
    struct trie_edge *edges;
    int64_t n_edges, cap_edges;
};

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

/* Sequences lo .. hi - 1, which agree in their first `depth` tokens: a node whose edges are still missing. */
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

/* Sorts the sequences, removes duplicates and returns the number left. */
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

/* Adds the edges of a node. Each leads to a new node, or to `behind` if a sequence ends there and none continues. */
static void add_children(struct tries *t, struct trie_ranges *waiting, const struct sequence *s, int32_t node,
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

/* Appends the trie of a list that is not empty, and returns its root. Its ends lead to node `behind`; -1 (nowhere)
 * is only allowed for the list of the empty sequence. */
static int32_t tries_add(struct tries *t, const struct token_list *l, int32_t behind)
{
    struct sequence *s = xmalloc((size_t)l->count * sizeof *s);
    struct trie_ranges waiting = { 0 };
    int64_t n = sort(s, l);
    int32_t root = add_node(t, &waiting, (struct trie_range){ 0, n, 0 });

    for (int64_t i = 0; i < waiting.count; i++)
        add_children(t, &waiting, s, root + (int32_t)i, waiting.items[i], behind);
    free(waiting.items);
    free(s);
    return root;
}

static void tries_release(struct tries *t)
{
    free(t->nodes);
    free(t->edges);
    *t = (struct tries){ 0 };
}

/* Subset construction. A state is the set of nodes that the tokens read so far may lead to, closed over `behind`. */
struct automaton_builder {
    struct tries tries;
    struct automaton_host *a;
    int64_t cap_first, cap_token, cap_next, n_edges;
    struct ids nodes; /* of all states; each set ascends */
    int64_t *sets;    /* [n_states + 1] start of each set in nodes */
    int64_t cap_sets;
    int32_t *slots; /* hash table from sets to states, -1: free */
    int64_t n_slots;
    struct trie_edge *ways, *merged; /* edges out of the current state, ascending by token */
    int64_t n_ways, cap_ways, work;  /* work: edges visited, over all states */
};

enum {
    MAX_WORK = 1 << 30
}; /* About two seconds. Several lists in a row of texts with common prefixes can need exponential time. */

static uint64_t hash_set(const int32_t *nodes, int64_t n)
{
    uint64_t h = (uint64_t)n;
    for (int64_t i = 0; i < n; i++)
        h = (h ^ (uint32_t)nodes[i]) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static const int32_t *set_of(const struct automaton_builder *b, int32_t state, int64_t *n)
{
    *n = b->sets[state + 1] - b->sets[state];
    return b->nodes.items + b->sets[state];
}

/* The slot that holds the state of a set, or the free slot for it. */
static int32_t *find_slot(const struct automaton_builder *b, const int32_t *nodes, int64_t n)
{
    uint64_t mask = (uint64_t)b->n_slots - 1, at = hash_set(nodes, n) & mask;

    for (; b->slots[at] >= 0; at = (at + 1) & mask) {
        int64_t have;
        const int32_t *set = set_of(b, b->slots[at], &have);
        if (have == n && memcmp(set, nodes, (size_t)n * sizeof *nodes) == 0)
            break;
    }
    return b->slots + at;
}

static void grow_slots(struct automaton_builder *b)
{
    b->n_slots = b->n_slots ? 2 * b->n_slots : 1024;
    b->slots = xrealloc(b->slots, (size_t)b->n_slots * sizeof *b->slots);
    memset(b->slots, 0xff, (size_t)b->n_slots * sizeof *b->slots);
    for (int32_t s = 0; s < b->a->n_states; s++) {
        int64_t n;
        const int32_t *set = set_of(b, s, &n);
        *find_slot(b, set, n) = s;
    }
}

static int compare_nodes(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Closes the set that was pushed onto b->nodes and returns its state. A known set is removed from b->nodes again. */
static int32_t state_of_pushed(struct automaton_builder *b)
{
    int64_t from = b->sets[b->a->n_states], n = 1;
    int32_t *set;

    for (int64_t i = from; i < b->nodes.count; i++) {
        int32_t behind = b->tries.nodes[b->nodes.items[i]].behind;
        if (behind >= 0)
            ids_push(&b->nodes, behind);
    }
    set = b->nodes.items + from;
    if (b->nodes.count > from + 1)
        qsort(set, (size_t)(b->nodes.count - from), sizeof *set, compare_nodes);
    for (int64_t i = from + 1; i < b->nodes.count; i++)
        if (b->nodes.items[i] != set[n - 1])
            set[n++] = b->nodes.items[i];
    if (2 * (b->a->n_states + 1) > b->n_slots)
        grow_slots(b);
    int32_t *slot = find_slot(b, set, n);
    bool is_new = *slot < 0;
    b->nodes.count = is_new ? from + n : from;
    if (is_new) {
        *slot = b->a->n_states++;
        GROW(b->sets, b->a->n_states, b->cap_sets);
        b->sets[b->a->n_states] = b->nodes.count;
    }
    return *slot;
}

/* Merges a node's edges into the ways, which stay sorted. */
static void add_ways(struct automaton_builder *b, const struct trie_node *node)
{
    const struct trie_edge *e = b->tries.edges + node->first, *end = e + node->count;

    if (node->count == 0)
        return;
    if (b->n_ways + node->count > b->cap_ways) {
        b->cap_ways = 2 * (b->n_ways + node->count);
        b->merged = xrealloc(b->merged, (size_t)b->cap_ways * sizeof *b->merged);
        b->ways = xrealloc(b->ways, (size_t)b->cap_ways * sizeof *b->ways);
    }
    const struct trie_edge *w = b->ways, *w_end = w + b->n_ways;
    struct trie_edge *to = b->merged;
    while (e < end || w < w_end)
        *to++ = w == w_end || (e < end && e->token < w->token) ? *e++ : *w++;
    to = b->merged;
    b->merged = b->ways;
    b->ways = to;
    b->work += b->n_ways += node->count;
}

static void add_edge(struct automaton_builder *b, int32_t token, int32_t next)
{
    struct automaton_host *a = b->a;

    GROW(a->token, b->n_edges, b->cap_token);
    GROW(a->next, b->n_edges, b->cap_next);
    a->token[b->n_edges] = token;
    a->next[b->n_edges++] = next;
}

/* Adds the edges of a state. Ways with the same token lead to one state. */
static void expand(struct automaton_builder *b, int32_t state)
{
    int64_t n = b->sets[state + 1] - b->sets[state];

    b->n_ways = 0;
    for (int64_t i = 0; i < n; i++)
        add_ways(b, b->tries.nodes + b->nodes.items[b->sets[state] + i]);
    for (int64_t i = 0, stop; i < b->n_ways; i = stop) {
        for (stop = i; stop < b->n_ways && b->ways[stop].token == b->ways[i].token; stop++)
            ids_push(&b->nodes, b->ways[stop].node);
        add_edge(b, b->ways[i].token, state_of_pushed(b));
    }
}

static int expand_all(struct automaton_builder *b, struct error *err)
{
    struct automaton_host *a = b->a;

    for (int32_t s = 0; s < a->n_states; s++) {
        GROW(a->first, s, b->cap_first);
        a->first[s] = (int32_t)b->n_edges;
        expand(b, s);
        if (b->n_edges > AUTOMATON_MAX_EDGES || b->nodes.count > AUTOMATON_MAX_EDGES || b->work > MAX_WORK)
            return error_set(err, EXIT_CODE_DATA, "expected texts whose automaton has at most %d edges, got more",
                             AUTOMATON_MAX_EDGES);
    }
    GROW(a->first, a->n_states, b->cap_first);
    a->first[a->n_states] = a->n_edges = (int32_t)b->n_edges;
    return 0;
}

/* Adds a list of sequences of one token each; if n is 0, of the empty sequence. */
static int32_t add_single_tokens(struct tries *t, const int32_t *ids, int n, int32_t behind)
{
    struct token_list l = { 0 };

    for (int i = 0; i < n; i++) {
        ids_push(&l.ids, ids[i]);
        token_list_end(&l);
    }
    if (n == 0)
        token_list_end(&l);
    int32_t root = tries_add(t, &l, behind);
    token_list_release(&l);
    return root;
}

int automaton_build(struct automaton_host *a, const struct token_list *lists, int n, const int32_t *stops, int n_stops,
                    struct error *err)
{
    struct automaton_builder b = { .a = a };
    int32_t over = add_single_tokens(&b.tries, NULL, 0, -1), stop, root;
    int rc = 0;

    CHECK(n_stops > 0, "no stop token");
    *a = (struct automaton_host){ 0 };
    root = stop = add_single_tokens(&b.tries, stops, n_stops, over);
    GROW(b.sets, a->n_states, b.cap_sets);
    b.sets[0] = 0;
    for (int i = n - 1; i >= 0; i--) { /* from the end, since a list needs the root of its successor */
        root = tries_add(&b.tries, lists + i, root);
        if (i && !lists[i].opens)
            continue;
        ids_push(&b.nodes, root);
        root = stop;
    }
    state_of_pushed(&b);
    for (int64_t i = 0; i < b.nodes.count && rc == 0; i++)
        if (b.nodes.items[i] == stop)
            rc = error_set(err, EXIT_CODE_DATA, "expected texts with at least one token, got an empty one");
    if (rc == 0)
        rc = expand_all(&b, err);
    tries_release(&b.tries);
    ids_release(&b.nodes);
    free(b.sets);
    free(b.slots);
    free(b.ways);
    free(b.merged);
    if (rc)
        automaton_release(a);
    return rc;
}

void automaton_opening(struct automaton_host *a, const struct ids *opening)
{
    int32_t n = (int32_t)opening->count;

    *a = (struct automaton_host){ .first = xcalloc((size_t)n + 1, sizeof *a->first),
                                  .token = xcalloc((size_t)n, sizeof *a->token),
                                  .next = xcalloc((size_t)n, sizeof *a->next),
                                  .n_states = n,
                                  .n_edges = n };
    for (int32_t i = 0; i < n; i++) {
        a->first[i + 1] = i + 1;
        a->token[i] = opening->items[i];
        a->next[i] = i + 1 < n ? i + 1 : STATE_FREE;
    }
}

void automaton_release(struct automaton_host *a)
{
    free(a->first);
    free(a->token);
    free(a->next);
    *a = (struct automaton_host){ 0 };
}

int32_t automaton_forced(const struct automaton_host *a, int32_t state, int32_t *ids, int32_t max)
{
    int32_t n = 0;

    for (int32_t at; state != STATE_FREE && (at = a->first[state], a->first[state + 1] == at + 1);
         state = a->next[at], n++)
        if (n < max)
            ids[n] = a->token[at];
    return n;
}
