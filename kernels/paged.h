/*
 * paged.h - attention over a cache whose rows are found through a table, in units that may share keys.
 *
 * Keys are taken in chunks at absolute places.  Each chunk's maximum, sum and weighted values are made in one way, and
 * chunks are merged in order by one formula, whether or not the partial results lie in memory between.  So a query's
 * numbers depend on its own keys alone: not on the units it is in, on who shares them, or on how it was cut.
 */
#ifndef KERNELS_PAGED_H
#define KERNELS_PAGED_H

#include "kernels/op_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAGE_KEYS = 64, CHUNK_KEYS = 256, PAGED_WORDS = 6 };

/*
 * Queries that read the same run of chunks of keys: rows first .. first + queries - 1 of q, at keys that table row
 * `row` names, chunks chunk .. chunk + chunks - 1.  A query that is in one unit alone gets its y from there
 * (parts[t] == parts[t + 1]); else chunk i of it is partial result parts[t] + i.  Units of chunks that a query does not
 * see leave it alone.  Padding has no queries.
 */
struct paged_unit {
    int32_t first, queries, row, chunk, chunks, unused;
};

struct paged {
    struct tensor *table;            /* I32 [rows, keys] where in the cache key i of a row lies */
    struct tensor *seen;             /* I32 [T] query t sees the first seen[t] keys; 0: it is padding and gives 0 */
    struct tensor *units;            /* I32 [n_units * PAGED_WORDS] */
    struct tensor *parts;            /* I32 [T + 1] */
    int64_t n_units, n_parts;        /* n_parts is parts[T], or a bound of it */
    int64_t max_queries, max_chunks; /* of a unit, or bounds of them */
    bool whole; /* each query has its y from one unit, none is padding: no launch merges what lies in parts */
};

/*
 * y [T, H D] = softmax(scale q k^T + bias) v, q [T, H D], k and v [cache rows, G D], by the places of the keys: key i
 * has place i, query t place seen[t] - 1.  Every chunk that a query sees is in one unit.  No gradient.
 */
struct tensor *op_paged_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                  const struct paged *p, const struct attention_form *form);

#ifdef __cplusplus
}
#endif
#endif
