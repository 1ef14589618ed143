/*
 * paged.h - attention over a paged cache: a table maps keys to cache rows, and queries may share keys.
 *
 * Keys are processed in pages at fixed positions.  The maximum, sum and weighted values of a page are always computed
 * in the same way.  Pages are merged in order by one formula, whether or not partial results are stored in memory.
 * The result of a query therefore depends on its own keys alone, not on units, sharing or splitting.
 */
#ifndef KERNELS_PAGED_H
#define KERNELS_PAGED_H

#include "kernels/op_types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAGE_KEYS = 64, PAGED_WORDS = 5 };

/*
 * A unit of work: queries that read the same range of pages.  Its queries are rows first .. first + queries - 1 of q.
 * Its keys are those of table row `row`, in pages page .. page + pages - 1.
 *
 * A query that is in one unit only (parts[t] == parts[t + 1]) gets its y from this unit, which begins at page 0.
 * Otherwise the query has n = parts[t + 1] - parts[t] partial results.  The first is the sum of all its pages but the
 * last n - 1, from the unit that begins at page 0.  Each of the last n - 1 pages has a partial result of its own.
 * A unit ignores queries that do not see its pages.  Padding has no queries.
 */
struct paged_unit {
    int32_t first, queries, row, page, pages;
};

struct paged {
    struct tensor *table;           /* I32 [rows, keys] the cache row of key i of a row */
    struct tensor *seen;            /* I32 [T] query t sees the first seen[t] keys; 0: padding, gives 0 */
    struct tensor *units;           /* I32 [n_units * PAGED_WORDS] */
    struct tensor *parts;           /* I32 [T + 1] */
    int64_t n_units, n_parts;       /* n_parts is parts[T] or an upper bound */
    int64_t max_queries, max_pages; /* maxima over units, or upper bounds */
    bool whole;                     /* each query is in one unit and none is padding: nothing is merged */
};

/* Returns the number of pages with n keys. */
static inline int64_t paged_pages(int64_t n)
{
    return (n + PAGE_KEYS - 1) / PAGE_KEYS;
}

/*
 * Return how decoding is cut for a device with many cores: the most queries of a unit that share keys, and the most
 * pages of a unit.  `pages` is the sum over all units before units are cut, and `groups` are the KV heads.
 */
int64_t paged_unit_queries(int heads, int groups);
int64_t paged_unit_pages(int64_t pages, int groups);

/*
 * y [T, H D] = softmax(scale q k^T + bias) v; q [T, H D], k and v [cache rows, G D].  Key i has position i, and query t
 * has position seen[t] - 1.  Every page that a query sees is in exactly one unit.  No gradient.
 */
struct tensor *op_paged_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                  const struct paged *p, const struct attention_form *form);

#ifdef __cplusplus
}
#endif
#endif
