#include "train/run/buckets.h"

#include <stdlib.h>

/* A bucket is an eighth of all, within these bounds: below the one messages cost more for their number than for their
 * bytes, above the other memory is wasted. */
enum { PARTS = 8, LEAST = 1 << 15 };

static int64_t size_for(int64_t total)
{
    int64_t part = (total + PARTS - 1) / PARTS;
    return part < LEAST ? LEAST : part > BUCKET_MOST ? BUCKET_MOST : part;
}

static int64_t numbers_of(const struct params *p, int param)
{
    const struct tensor *t = p->list[param].t;
    return t->needs_grad ? tensor_size(t) : 0;
}

/* The bucket after the last one that has a number of the parameter. */
static int end_of(const struct buckets *b, int param)
{
    int64_t end = b->first[param] + numbers_of(b->params, param);
    return (int)((end + b->size - 1) / b->size);
}

void buckets_set(struct buckets *b, const struct params *p)
{
    struct buckets cut = { .params = p, .first = xcalloc((size_t)p->n + 1, sizeof *cut.first) };

    for (int i = p->n - 1; i >= 0; i--) {
        cut.first[i] = cut.total;
        cut.total += numbers_of(p, i);
    }
    cut.size = size_for(cut.total);
    cut.n = (int)((cut.total + cut.size - 1) / cut.size);
    cut.left = xcalloc((size_t)cut.n + 1, sizeof *cut.left);
    for (int i = 0; i < p->n; i++)
        for (int k = (int)(cut.first[i] / cut.size); numbers_of(p, i) && k < end_of(&cut, i); k++)
            cut.left[k]++;
    buckets_release(b);
    *b = cut;
}

void buckets_release(struct buckets *b)
{
    free(b->first);
    free(b->left);
    *b = (struct buckets){ 0 };
}

void buckets_note(struct buckets *b, int param)
{
    for (int k = (int)(b->first[param] / b->size); numbers_of(b->params, param) && k < end_of(b, param); k++)
        CHECK(--b->left[k] >= 0, "a gradient in bucket %d is final twice", k);
    while (b->ready < b->n && !b->left[b->ready])
        b->ready++;
}

int64_t buckets_numbers(const struct buckets *b, int bucket)
{
    int64_t left = b->total - bucket * b->size;
    return left < b->size ? left : b->size;
}

void buckets_walk(const struct buckets *b, struct bucket_place *place, float *numbers, int64_t n, bucket_copy_fn *copy,
                  void *arg)
{
    for (int64_t done = 0; done < n && place->done < b->params->n; place->done++, place->at = 0) {
        int param = b->params->n - 1 - place->done;
        int64_t left = numbers_of(b->params, param) - place->at, some = left < n - done ? left : n - done;
        if (some > 0)
            copy(arg, &b->params->list[param], place->at, numbers + done, some);
        done += some;
        place->at += some;
        if (some < left)
            return;
    }
}
