/*
 * pair_counts.h - how often two symbols stand side by side, and which pair does most often.
 *
 * It queues and takes as tokenizers' BpeTrainer does, to the last quirk: an entry of the queue has the words that
 * joined its pair since the entry before, and a pair that was merged keeps its count.
 */
#ifndef MODELS_TOKENIZER_TRAIN_PAIR_COUNTS_H
#define MODELS_TOKENIZER_TRAIN_PAIR_COUNTS_H

#include "kernels/base.h"

struct symbol_pair {
    int32_t left, right;
    int64_t count;
    int32_t *words; /* where it was added since it was last queued */
    int32_t n_words, cap_words;
};

/* An entry of the queue, and its part of the pair's words. */
struct queued_pair {
    int64_t count; /* when it was queued */
    int32_t pair;
    int32_t *words;
    int32_t n_words;
};

struct pair_counts {
    struct symbol_pair *pairs;
    int32_t n, cap;
    int32_t *slots; /* open-addressed hash table of pairs, -1 where free */
    int64_t n_slots;
    struct queued_pair *queue; /* a heap; stale counts are put right when they reach the top */
    int64_t n_queue, cap_queue;
    int32_t *touched; /* pairs with words that are not queued */
    int32_t n_touched, cap_touched;
};

/* Adds by to the count of (left, right), which stands in word.  A zeroed struct is ready. */
void pair_counts_add(struct pair_counts *p, int32_t left, int32_t right, int64_t by, int32_t word);
/* Queues the pairs that words were added to since the last call and that count anything. */
void pair_counts_queue(struct pair_counts *p);
/* Takes the most frequent pair off the queue: the one with the lower symbols among equals.  The caller frees its words.
 * False when none counts at least least. */
bool pair_counts_take(struct pair_counts *p, int64_t least, struct queued_pair *out);
void pair_counts_release(struct pair_counts *p);

#endif
