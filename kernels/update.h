/*
 * update.h - the arguments of an optimizer step: the schedule, its settings, and a table of all trained parameters.
 *
 * The table lies on the device, so that one kernel updates every parameter.  A replayed step reads the table's contents
 * at the time of the replay.
 */
#ifndef KERNELS_UPDATE_H
#define KERNELS_UPDATE_H

#include "kernels/moments.h"
#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Learning rate at step s = 0, 1, ...: lr s / warmup while s < warmup.  Then, with u = (s - warmup) / (total - warmup),
 * it is lr (1 - u), lr (1 + cos(pi u)) / 2, or lr.  The first two are 0 from `total` on.  transformers has the same
 * three. */
enum schedule_form { SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_CONSTANT };
struct schedule {
    float lr;
    int64_t warmup, total; /* steps */
    enum schedule_form form;
};

/*
 * AdamW.  lr is the schedule's rate times the parameter's lr_scale, and t is the number of steps, including this one.
 *
 * g *= min(1, clip / sqrt(norm)), where norm is the sum of squares of all gradients.  m and v are the running means of
 * g and g^2.
 *
 * w -= lr decay w;  w -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps);  g = 0
 */
struct adamw {
    float beta1, beta2, eps, decay;
    float clip; /* max global norm, 0 for none */
};

/*
 * Adafactor without momentum (Shazeer & Stern 2018, algorithms 4 and 5).  As in transformers, lr replaces the relative
 * step, and updates are not scaled by the parameter.
 *
 * g is clipped as in AdamW;  b = 1 - t^-decay_rate.
 *
 * a matrix [R, C]:  r = b r + (1 - b) (mean over C of g^2 + eps).
 *                   c = b c + (1 - b) (mean over R of g^2 + eps).
 *                   u = g sqrt(mean of r / (r c)).
 *
 * any other:        v = b v + (1 - b) (g^2 + eps);  u = g / sqrt(v)
 *
 * w -= lr decay w;  w -= lr u / max(1, sqrt(mean of u^2) / threshold);  g = 0
 */
struct adafactor {
    float decay_rate, eps, threshold, decay;
    float clip;
};

struct update_rules {
    struct schedule schedule;
    struct adamw adamw;
    struct adafactor adafactor;
    struct moment_maps maps;
};

/* One parameter: n elements of the parameter and its gradient, and the state that param.h describes.  The whole
 * gradient counts for the norm and becomes zero.  Only elements `first` to `end` are updated and have states.  They are
 * whole chunks; under Adafactor they are all elements or none. */
struct update_row {
    float *w, *g; /* w: the F32 master where there is one */
    float *state[2];
    bool bytes;            /* AdamW's states are blocks of moments.h */
    uint16_t *half;        /* the BF16 parameter, rounded from its master; NULL where it is F32 */
    int64_t n, rows, cols; /* rows 0: not a matrix under Adafactor */
    int64_t first, end;
    float decay, lr_scale; /* decay 0: none for this parameter */
};

/* The work of one block: a chunk of consecutive elements; for a matrix under Adafactor, a square tile of UPDATE_SIDE
 * rows. */
enum { UPDATE_SIDE = 64, UPDATE_CHUNK = UPDATE_SIDE * UPDATE_SIDE };

struct update_table {
    struct update_rules *rules;
    struct update_row *rows;
    int32_t *first; /* [n + 1]: number of chunks of all preceding rows */
    int n;
    int64_t chunks, elements; /* totals over all rows */
};

#ifdef __cplusplus
}
#endif
#endif
