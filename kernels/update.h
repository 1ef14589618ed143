/*
 * update.h - what an optimizer's step is told: the schedule, AdamW's numbers, and a table of all that is trained.
 *
 * The table lies on the device, so that one kernel updates every parameter, and a captured step that is replayed reads
 * what the table says by then.
 */
#ifndef KERNELS_UPDATE_H
#define KERNELS_UPDATE_H

#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rate at step s = 0, 1, ...: lr s / warmup while s < warmup, then with u = (s - warmup) / (total - warmup):
 * lr (1 - u), or lr (1 + cos(pi u)) / 2; nothing from total on.  transformers has the same two schedules. */
struct schedule {
    float lr;
    int64_t warmup, total; /* steps; linear rise, then a fall to zero at total */
    bool cosine;           /* half a cosine rather than a line */
};

/* With the schedule's rate times the parameter's lr_scale as lr and the steps so far, this one too, as t:
 * g *= min(1, clip / sqrt(norm)), norm the sum of squares of all gradients; m, v the running means of g and g^2;
 * w -= lr decay w;  w -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps);  g = 0 */
struct adamw {
    float beta1, beta2, eps, decay;
    float clip; /* largest global norm, 0 for none */
};

struct update_rules {
    struct schedule schedule;
    struct adamw adamw;
};

/* One parameter: n numbers each of what is updated, its moments and its gradient. */
struct update_row {
    float *w, *m, *v, *g; /* w: the F32 master where there is one */
    uint16_t *half;       /* the BF16 parameter, rounded from its master; NULL where it is F32 */
    int64_t n;
    float decay, lr_scale; /* decay 0: none for this parameter */
};

enum { UPDATE_CHUNK = 4096 }; /* numbers that a block takes; those of a row are cut from its start */

struct update_table {
    struct update_rules *rules;
    struct update_row *rows;
    int32_t *first; /* [n + 1]: chunks of all rows before */
    int n;
    int64_t chunks, elements; /* of all rows */
};

#ifdef __cplusplus
}
#endif
#endif
