/*
 * automaton.h - which tokens may follow each other, as tables.
 *
 * A language is lists of token sequences in a row: one of each list, and a stop token behind the last; or any of
 * several such rows.  Every list becomes a trie whose ends all lead to the trie of the next list, so that the tables
 * grow with the sum of the lists and not with their product.  Where tokens can be read in two ways ("a" with " b"
 * behind it, or "a b"; in this row or that one) the readings are one state from there until they part.
 */
#ifndef MODELS_ENGINE_AUTOMATON_H
#define MODELS_ENGINE_AUTOMATON_H

#include "models/text/tokenizer.h"

/* Token sequences, one behind the other in ids; they may repeat.  Start it as { 0 }. */
struct token_list {
    struct ids ids;
    int64_t *ends; /* [count] where in ids each one ends */
    int64_t count, cap;
    bool opens; /* a row of its own, as the first list does whatever this says */
};

/* The ids that were pushed since the newest sequence become one. */
void token_list_end(struct token_list *l);
void token_list_release(struct token_list *l);

enum { AUTOMATON_MAX_EDGES = 1 << 23 };

/* State 0 is the start.  A stop token leads to a state without edges, which nothing follows; from every other state
 * some way leads there, or to STATE_FREE. */
struct automaton_host {
    int32_t *first;        /* [n_states + 1] the edges of state s are first[s] .. first[s + 1] - 1 */
    int32_t *token, *next; /* [n_edges] tokens ascend within a state; the state behind each */
    int32_t n_states, n_edges;
};

/* From n lists, none of them empty, and at least one stop token, which no sequence holds.  Tokens and lists alone
 * decide about every number in it.  -1 with EXIT_CODE_DATA when it allows an answer without tokens or has too many
 * edges. */
int automaton_build(struct automaton_host *a, const struct token_list *lists, int n, const int32_t *stops, int n_stops,
                    struct error *err);
void automaton_release(struct automaton_host *a);

/* These tokens, at least one, and then anything: the last one leads to STATE_FREE (kernels/beams.h). */
void automaton_opening(struct automaton_host *a, const struct ids *opening);

/* Tokens that follow from a state without a choice: their number, of which the first `max` are written to ids. */
int32_t automaton_forced(const struct automaton_host *a, int32_t state, int32_t *ids, int32_t max);

#endif
