#include "models/net/kv_cache.h"

void kv_cache_init(struct kv_cache *cache, int layers, int64_t width, enum dtype dtype, int64_t rows,
                   struct arena *host, struct arena *data)
{
    size_t n = (size_t)layers;
    int64_t shape[2] = { rows, width };

    *cache =
        (struct kv_cache){ arena_alloc(host, n * sizeof *cache->k), arena_alloc(host, n * sizeof *cache->v), rows };
    for (int i = 0; i < layers; i++) {
        cache->k[i] = tensor_alloc(host, data, dtype, 2, shape);
        cache->v[i] = tensor_alloc(host, data, dtype, 2, shape);
    }
}
