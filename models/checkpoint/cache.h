/*
 * cache.h - rows of numbers that a frozen encoder computed, kept on disk: (model hash, text hash) -> [n, width].
 *
 * A folder of HDF5 parts, each written whole and never changed, so that a killed run loses only what was not in a part
 * yet.  It is a cache: parts that cannot be read, or are of another model or width, are removed and computed again.
 * Rows pass through IEEE half precision whether they were found or just added, so both runs see the same numbers.  All
 * rows are held in memory too.
 */
#ifndef MODELS_CHECKPOINT_CACHE_H
#define MODELS_CHECKPOINT_CACHE_H

#include "kernels/base.h"

struct row_cache;

/* Makes the folder when it is not there.  -1 only where it cannot be made, listed or cleaned. */
struct row_cache *row_cache_open(const char *dir, uint64_t model, int64_t width, struct error *err);
/* The n rows of a text as half floats, valid until close; NULL when there are none, or not n of them. */
const uint16_t *row_cache_find(const struct row_cache *c, uint64_t text, int64_t n);
/* Adds the rows of a text that was not found; writes a part when enough has come together. */
int row_cache_add(struct row_cache *c, uint64_t text, const float *rows, int64_t n, struct error *err);
/* Writes what is not on disk yet. */
int row_cache_flush(struct row_cache *c, struct error *err);
/* Without flushing; NULL is allowed. */
void row_cache_close(struct row_cache *c);

#endif
