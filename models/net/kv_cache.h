/*
 * kv_cache.h - keys and values of earlier tokens: one tensor [rows, groups head_dim] for each layer.
 */
#ifndef MODELS_NET_KV_CACHE_H
#define MODELS_NET_KV_CACHE_H

#include "kernels/tensor.h"

struct kv_cache {
    struct tensor **k, **v; /* [layers] */
    int64_t rows;
};

/* Its headers in host, its keys and values, `width` to a row, in data. */
void kv_cache_init(struct kv_cache *cache, int layers, int64_t width, enum dtype dtype, int64_t rows,
                   struct arena *host, struct arena *data);

#endif
