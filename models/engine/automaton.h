/*
 * automaton.h - constrains the tokens of a completion by a finite automaton, stored as tables.
 *
 * A language is a row of lists of token sequences: one sequence of each list, then a stop token. Several rows are
 * alternatives. Each list becomes a trie whose ends lead to the trie of the next list, so that the tables grow with
 * the sum of the lists, not with their product. If tokens can be read in two ways ("a" then " b", or "a b"), both
 * ways share a state until they diverge. The caller releases an automaton.
 */
#ifndef MODELS_ENGINE_AUTOMATON_H
#define MODELS_ENGINE_AUTOMATON_H

#include "models/text/tokenizer.h"

/* Token sequences, one after another in ids; duplicates are allowed. Start it as { 0 }. */
struct token_list {
    struct ids ids;
    int64_t *ends; /* [count] end of each sequence in ids */
    int64_t count, cap;
    bool opens; /* starts a new row; ignored in the first list */
};

/* Ends the newest sequence: the ids that were pushed since the last call. */
void token_list_end(struct token_list *l);
void token_list_release(struct token_list *l);

enum { AUTOMATON_MAX_EDGES = 1 << 23 };

/* State 0 is the start. A stop token leads to a state without edges. From every other state a path leads there or to
 * STATE_FREE. */
struct automaton_host {
    int32_t *first;        /* [n_states + 1] edges of state s are first[s] .. first[s + 1] - 1 */
    int32_t *token, *next; /* [n_edges] tokens, ascending within a state; the state that each leads to */
    int32_t n_states, n_edges;
};

/* Builds the automaton of n lists, none of them empty. There is at least one stop token, and no sequence holds one.
 * The result depends only on lists and stop tokens. -1 with EXIT_CODE_DATA if a completion without tokens is allowed
 * or the tables have too many edges. */
int automaton_build(struct automaton_host *a, const struct token_list *lists, int n, const int32_t *stops, int n_stops,
                    struct error *err);
void automaton_release(struct automaton_host *a);

/* Forces the tokens of `opening`, at least one. Anything may follow: the last token leads to STATE_FREE
 * (kernels/beams.h). */
void automaton_opening(struct automaton_host *a, const struct ids *opening);

/* Returns the number of tokens that are forced from a state on, and writes the first `max` of them to ids. */
int32_t automaton_forced(const struct automaton_host *a, int32_t state, int32_t *ids, int32_t max);

#endif
