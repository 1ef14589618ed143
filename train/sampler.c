#include "train/sampler.h"

#include "kernels/rng.h"

#include <stdlib.h>
#include <string.h>

void sampler_init(struct sampler *s, uint64_t seed, const int *pool, int n, int batch)
{
    *s = (struct sampler){ .seed = seed, .n = n, .batch = batch, .epoch = -1 };
    s->pool = xmalloc((size_t)n * sizeof *pool);
    s->order = xmalloc((size_t)n * sizeof *pool);
    memcpy(s->pool, pool, (size_t)n * sizeof *pool);
}

void sampler_release(struct sampler *s)
{
    free(s->pool);
    free(s->order);
    *s = (struct sampler){ 0 };
}

int64_t sampler_batches(const struct sampler *s)
{
    return (s->n + s->batch - 1) / s->batch;
}

static void shuffle(struct sampler *s, int64_t epoch)
{
    struct rng rng = { .seed = s->seed ^ ((uint64_t)epoch + 1) * UINT64_C(0x9E3779B97F4A7C15) };

    memcpy(s->order, s->pool, (size_t)s->n * sizeof *s->order);
    for (int i = s->n - 1; i > 0; i--) {
        int j = (int)rng_below(&rng, (uint32_t)i + 1), keep = s->order[i];
        s->order[i] = s->order[j];
        s->order[j] = keep;
    }
    s->epoch = epoch;
}

int sampler_batch(struct sampler *s, int64_t epoch, int64_t batch, const int **examples)
{
    if (s->epoch != epoch)
        shuffle(s, epoch);
    int64_t first = batch * s->batch;
    CHECK(first >= 0 && first < s->n, "batch %lld of %lld", (long long)batch, (long long)sampler_batches(s));
    *examples = s->order + first;
    return (int)(s->n - first < s->batch ? s->n - first : s->batch);
}
