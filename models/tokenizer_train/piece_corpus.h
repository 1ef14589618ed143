/*
 * piece_corpus.h - the distinct words of a corpus as the pieces they consist of so far: what the learners of WordPiece
 * and of byte-level BPE share.
 */
#ifndef MODELS_TOKENIZER_TRAIN_PIECE_CORPUS_H
#define MODELS_TOKENIZER_TRAIN_PIECE_CORPUS_H

#include "data/util/strings.h"
#include "models/tokenizer_train/pair_counts.h"

struct piece_word {
    int32_t *pieces;
    int32_t n;
    int64_t count;
};

/* A zeroed struct is ready. */
struct piece_corpus {
    struct strings texts;     /* of the words */
    struct piece_word *words; /* [texts.n] */
    int32_t n, cap;
    struct pair_counts pairs;
};

/* Counts a word once more; text need not end where the word does. */
void piece_corpus_count(struct piece_corpus *c, const char *text, int64_t length);
/* Counts all pairs, once every word is spelled in pieces.  A word without pieces takes no part. */
void piece_corpus_start(struct piece_corpus *c);
/* Puts merged for the pair wherever the words of the queue's entry hold it. */
void piece_corpus_merge(struct piece_corpus *c, const struct queued_pair *q, int32_t merged);
void piece_corpus_release(struct piece_corpus *c);

#endif
