/*
 * pair_counts.h - how often two symbols stand side by side, and which pair does most often.
 */
#ifndef MODELS_TOKENIZER_PAIR_COUNTS_H
#define MODELS_TOKENIZER_PAIR_COUNTS_H

#include "kernels/base.h"

struct symbol_pair {
    int32_t left, right;
    int64_t count, queued; /* queued: its highest entry in the queue, 0 without one */
    int32_t *words;        /* where it was ever added; may repeat, and may hold words that lost it since */
    int32_t n_words, cap_words;
};

struct queued_pair {
    int64_t count; /* when it was queued */
    int32_t pair;
};

struct pair_counts {
    struct symbol_pair *pairs;
    int32_t n, cap;
    int32_t *slots; /* open-addressed hash table of pairs, -1 where free */
    int64_t n_slots;
    struct queued_pair *queue; /* a heap; stale entries are put right when they reach the top */
    int64_t n_queue, cap_queue;
};

/* Adds by to the count of (left, right), which stands in word.  A zeroed struct is ready. */
void pair_counts_add(struct pair_counts *p, int32_t left, int32_t right, int64_t by, int32_t word);
/* Takes the most frequent pair off the queue: the one with the lower symbols among equals.  -1 when none counts at
 * least least.  It comes back when its count rises again. */
int32_t pair_counts_take(struct pair_counts *p, int64_t least);
void pair_counts_release(struct pair_counts *p);

#endif
