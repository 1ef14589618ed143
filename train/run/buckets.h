/*
 * buckets.h - the gradients of all that is trained, one behind the other and cut into buckets.
 *
 * They stand in the order in which a backward most likely ends them, the last parameter first, so that the first
 * buckets can be summed while it still runs.  The cut follows from the parameters alone: it is that of every rank.
 */
#ifndef TRAIN_RUN_BUCKETS_H
#define TRAIN_RUN_BUCKETS_H

#include "kernels/param.h"

enum { BUCKET_MOST = 1 << 22 /* numbers */ };

struct buckets {
    const struct params *params;
    int64_t total, size; /* numbers, and those of a bucket; the last may have fewer */
    int n;
    int64_t *first; /* [params]: where a parameter's numbers begin */
    int *left;      /* [n]: parameters in it whose gradient is not final yet */
    int ready;      /* buckets before the first that still waits for one */
};

/* Anew, for the parameters that need a gradient now; none is final.  Takes a zeroed or earlier struct. */
void buckets_set(struct buckets *b, const struct params *p);
void buckets_release(struct buckets *b);
/* The gradient of params.list[param] is final; once for each that needs one. */
void buckets_note(struct buckets *b, int param);
int64_t buckets_numbers(const struct buckets *b, int bucket);

/* A place among the numbers; zeroed: before the first. */
struct bucket_place {
    int done; /* parameters that lie behind */
    int64_t at;
};
/* Between elements [at, at + n) of a parameter and n numbers of a bucket. */
typedef void bucket_copy_fn(void *arg, const struct param *p, int64_t at, float *numbers, int64_t n);
/* The next n numbers. */
void buckets_walk(const struct buckets *b, struct bucket_place *place, float *numbers, int64_t n, bucket_copy_fn *copy,
                  void *arg);

#endif
