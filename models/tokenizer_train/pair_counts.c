#include "models/tokenizer_train/pair_counts.h"

#include <stdlib.h>
#include <string.h>

static int64_t slot_of(const struct pair_counts *p, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    int64_t at = (int64_t)(h >> 32) & (p->n_slots - 1);

    while (p->slots[at] >= 0 && (p->pairs[p->slots[at]].left != left || p->pairs[p->slots[at]].right != right))
        at = (at + 1) & (p->n_slots - 1);
    return at;
}

static void grow_slots(struct pair_counts *p)
{
    p->n_slots = p->n_slots ? 2 * p->n_slots : 1024;
    p->slots = xrealloc(p->slots, (size_t)p->n_slots * sizeof *p->slots);
    memset(p->slots, 0xff, (size_t)p->n_slots * sizeof *p->slots);
    for (int32_t i = 0; i < p->n; i++)
        p->slots[slot_of(p, p->pairs[i].left, p->pairs[i].right)] = i;
}

/* Whether a leaves the queue before b. */
static bool before(const struct pair_counts *p, const struct queued_pair *a, const struct queued_pair *b)
{
    const struct symbol_pair *x = p->pairs + a->pair, *y = p->pairs + b->pair;
    if (a->count != b->count)
        return a->count > b->count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static void queue(struct pair_counts *p, struct queued_pair q)
{
    GROW(p->queue, p->n_queue, p->cap_queue);
    int64_t at = p->n_queue++;
    for (; at > 0 && before(p, &q, &p->queue[(at - 1) / 2]); at = (at - 1) / 2)
        p->queue[at] = p->queue[(at - 1) / 2];
    p->queue[at] = q;
}

static struct queued_pair unqueue(struct pair_counts *p)
{
    struct queued_pair top = p->queue[0], last = p->queue[--p->n_queue];
    int64_t at = 0;

    for (int64_t child; (child = 2 * at + 1) < p->n_queue; at = child) {
        child += child + 1 < p->n_queue && before(p, &p->queue[child + 1], &p->queue[child]);
        if (!before(p, &p->queue[child], &last))
            break;
        p->queue[at] = p->queue[child];
    }
    p->queue[at] = last;
    return top;
}

void pair_counts_add(struct pair_counts *p, int32_t left, int32_t right, int64_t by, int32_t word)
{
    if (2 * ((int64_t)p->n + 1) > p->n_slots)
        grow_slots(p);
    int32_t *slot = p->slots + slot_of(p, left, right);
    if (*slot < 0) {
        GROW(p->pairs, p->n, p->cap);
        p->pairs[p->n] = (struct symbol_pair){ .left = left, .right = right };
        *slot = p->n++;
    }
    struct symbol_pair *pair = p->pairs + *slot;
    pair->count += by;
    if (by <= 0 || (pair->n_words > 0 && pair->words[pair->n_words - 1] == word))
        return;
    if (pair->n_words == 0) {
        GROW(p->touched, p->n_touched, p->cap_touched);
        p->touched[p->n_touched++] = *slot;
    }
    GROW(pair->words, pair->n_words, pair->cap_words);
    pair->words[pair->n_words++] = word;
}

void pair_counts_queue(struct pair_counts *p)
{
    for (int32_t i = 0; i < p->n_touched; i++) {
        struct symbol_pair *pair = p->pairs + p->touched[i];
        if (pair->count > 0)
            queue(p, (struct queued_pair){ pair->count, p->touched[i], pair->words, pair->n_words });
        else
            free(pair->words);
        pair->words = NULL;
        pair->n_words = pair->cap_words = 0;
    }
    p->n_touched = 0;
}

bool pair_counts_take(struct pair_counts *p, int64_t least, struct queued_pair *out)
{
    while (p->n_queue > 0) {
        *out = unqueue(p);
        int64_t count = p->pairs[out->pair].count;
        if (out->count == count && count >= least)
            return true;
        out->count = count;
        if (count >= least)
            queue(p, *out);
        else
            free(out->words);
    }
    return false;
}

void pair_counts_release(struct pair_counts *p)
{
    for (int32_t i = 0; i < p->n; i++)
        free(p->pairs[i].words);
    for (int64_t i = 0; i < p->n_queue; i++)
        free(p->queue[i].words);
    free(p->pairs);
    free(p->slots);
    free(p->queue);
    free(p->touched);
    *p = (struct pair_counts){ 0 };
}
