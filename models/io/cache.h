/*
 * cache.h - rows that a frozen encoder computed, cached on disk: (hash of the model, hash of the text) -> [n, width].
 *
 * A cache is a folder of HDF5 files called parts. A part is written as a whole and never changed, so a killed run only
 * loses rows that were not in a part yet. Parts that cannot be read, or belong to another model or width, are removed
 * and computed again. Rows are converted to half precision even before they are written, so the first run and later
 * runs see the same numbers. All rows are kept in memory too.
 */
#ifndef MODELS_IO_CACHE_H
#define MODELS_IO_CACHE_H

#include "kernels/base.h"

struct row_cache;

/* Creates the folder if needed. Returns NULL only if it cannot be created, listed or cleaned. Close with
 * row_cache_close. */
struct row_cache *row_cache_open(const char *dir, uint64_t model, int64_t width, struct error *err);
/* Returns the n rows of a text in half precision, valid until close. NULL if the text is missing or has another number
 * of rows. */
const uint16_t *row_cache_find(const struct row_cache *c, uint64_t text, int64_t n);
/* Adds the rows of a text that was not found. Writes a part when enough rows are collected. */
int row_cache_add(struct row_cache *c, uint64_t text, const float *rows, int64_t n, struct error *err);
/* Writes the rows that are not on disk yet. */
int row_cache_flush(struct row_cache *c, struct error *err);
/* Frees the cache without writing. NULL is allowed. */
void row_cache_close(struct row_cache *c);

#endif
