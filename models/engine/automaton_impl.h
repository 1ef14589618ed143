/*
 * automaton_impl.h - tries in a row, before readings are joined; for models/engine alone.
 */
#ifndef MODELS_ENGINE_AUTOMATON_IMPL_H
#define MODELS_ENGINE_AUTOMATON_IMPL_H

#include "models/engine/automaton.h"

struct trie_edge {
    int32_t token, node;
};

/* Edges ascend by token.  Where a sequence ends that others go on from, `behind` can be read without a token. */
struct trie_node {
    int32_t first, count; /* of edges */
    int32_t behind;       /* -1: nothing ends here */
};

/* Start it as { 0 }. */
struct tries {
    struct trie_node *nodes;
    int64_t n_nodes, cap_nodes;
    struct trie_edge *edges;
    int64_t n_edges, cap_edges;
};

/* Appends the trie of a list that is not empty; its ends lead to node `behind`, -1 (nowhere) only where the list is of
 * the empty sequence.  Returns the root. */
int32_t tries_add(struct tries *t, const struct token_list *l, int32_t behind);
void tries_release(struct tries *t);

#endif
