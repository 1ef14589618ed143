#include "models/tokenizer_train/piece_corpus.h"

#include <stdlib.h>
#include <string.h>

void piece_corpus_count(struct piece_corpus *c, const char *text, int64_t length)
{
    char *word = strndup(text, (size_t)length);

    CHECK(word, "out of memory");
    int32_t i = strings_add(&c->texts, word);
    free(word);
    if (i == c->n) {
        GROW(c->words, c->n, c->cap);
        c->words[c->n++] = (struct piece_word){ 0 };
    }
    c->words[i].count++;
}

void piece_corpus_start(struct piece_corpus *c)
{
    for (int32_t i = 0; i < c->n; i++) {
        const struct piece_word *w = c->words + i;
        for (int32_t k = 0; k + 1 < w->n; k++)
            pair_counts_add(&c->pairs, w->pieces[k], w->pieces[k + 1], w->count, i);
    }
    pair_counts_queue(&c->pairs);
}

/* The pairs round a merge change; the merged pair itself is not counted down. */
static void merge_in_word(struct piece_corpus *c, int32_t word, int32_t left, int32_t right, int32_t merged)
{
    struct piece_word *w = c->words + word;
    int32_t n = 0;

    for (int32_t i = 0; i < w->n; i++) {
        if (i + 1 == w->n || w->pieces[i] != left || w->pieces[i + 1] != right) {
            w->pieces[n++] = w->pieces[i];
            continue;
        }
        if (n > 0) {
            pair_counts_add(&c->pairs, w->pieces[n - 1], left, -w->count, word);
            pair_counts_add(&c->pairs, w->pieces[n - 1], merged, w->count, word);
        }
        w->pieces[n++] = merged;
        if (++i + 1 < w->n) {
            pair_counts_add(&c->pairs, right, w->pieces[i + 1], -w->count, word);
            pair_counts_add(&c->pairs, merged, w->pieces[i + 1], w->count, word);
        }
    }
    w->n = n;
}

void piece_corpus_merge(struct piece_corpus *c, const struct queued_pair *q, int32_t merged)
{
    int32_t left = c->pairs.pairs[q->pair].left, right = c->pairs.pairs[q->pair].right;

    for (int32_t i = 0; i < q->n_words; i++)
        merge_in_word(c, q->words[i], left, right, merged);
    pair_counts_queue(&c->pairs);
}

void piece_corpus_release(struct piece_corpus *c)
{
    for (int32_t i = 0; i < c->n; i++)
        free(c->words[i].pieces);
    free(c->words);
    strings_release(&c->texts);
    pair_counts_release(&c->pairs);
    *c = (struct piece_corpus){ 0 };
}
