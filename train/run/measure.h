/*
 * measure.h - bytes of the largest of many steps, without running any.
 *
 * What a step takes grows with a few sizes of its batch, so one that has no more of any of them than a step that is
 * known already need not be built: of thousands a few dozen are.
 */
#ifndef TRAIN_RUN_MEASURE_H
#define TRAIN_RUN_MEASURE_H

#include "kernels/workspace.h"

enum { EXTENT_SIZES = 8 };

/* All that the memory of a step grows with, each by itself; those not used are 0. */
struct extent {
    int64_t size[EXTENT_SIZES];
};

/* Steps of one form of network; the workspace's ctx says whether they record and train. */
struct measurement {
    struct workspace *work;
    struct extent *known;
    int n, cap;
    struct workspace_bytes most; /* of the largest */
};

void measurement_add(struct measurement *m, const struct extent *e, step_fn *fn, void *arg);
void measurement_release(struct measurement *m);

#endif
