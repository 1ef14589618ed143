/*
 * paged.h - attention over a paged cache: a table maps keys to cache rows, and queries may share keys.
 *
 * Keys are processed in chunks at fixed positions.  The maximum, sum and weighted values of a chunk are always computed
 * in the same way.  Chunks are merged in order by one formula, whether or not partial results are stored in memory.
 * The result of a query therefore depends on its own keys alone, not on units, sharing or splitting.
 */
#ifndef KERNELS_PAGED_H
#define KERNELS_PAGED_H

#include "kernels/op_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAGE_KEYS = 64, CHUNK_KEYS = 256, PAGED_WORDS = 6 };

/*
 * A unit of work: queries that read the same range of chunks.  Its queries are rows first .. first + queries - 1 of q.
 * Its keys are those of table row `row`, in chunks chunk .. chunk + chunks - 1.
 *
 * A query that is in one unit only (parts[t] == parts[t + 1]) gets its y from this unit.  Otherwise its chunk i is
 * partial result parts[t] + i.  A unit ignores queries that do not see its chunks.  Padding has no queries.
 */
struct paged_unit {
    int32_t first, queries, row, chunk, chunks, unused;
};

struct paged {
    struct tensor *table;            /* I32 [rows, keys] the cache row of key i of a row */
    struct tensor *seen;             /* I32 [T] query t sees the first seen[t] keys; 0: padding, gives 0 */
    struct tensor *units;            /* I32 [n_units * PAGED_WORDS] */
    struct tensor *parts;            /* I32 [T + 1] */
    int64_t n_units, n_parts;        /* n_parts is parts[T] or an upper bound */
    int64_t max_queries, max_chunks; /* maxima over units, or upper bounds */
    bool whole; /* each query is in one unit and none is padding: no launch merges partial results */
};

/*
 * y [T, H D] = softmax(scale q k^T + bias) v; q [T, H D], k and v [cache rows, G D].  Key i has position i, and query t
 * has position seen[t] - 1.  Every chunk that a query sees is in exactly one unit.  No gradient.
 */
struct tensor *op_paged_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                  const struct paged *p, const struct attention_form *form);

#ifdef __cplusplus
}
#endif
#endif
