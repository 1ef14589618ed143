/*
 * update.h - what an optimizer's step is told: the schedule, its numbers, and a table of all that is trained.
 *
 * The table lies on the device, so that one kernel updates every parameter, and a captured step that is replayed reads
 * what the table says by then.
 */
#ifndef KERNELS_UPDATE_H
#define KERNELS_UPDATE_H

#include "kernels/moments.h"
#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rate at step s = 0, 1, ...: lr s / warmup while s < warmup, then with u = (s - warmup) / (total - warmup):
 * lr (1 - u), or lr (1 + cos(pi u)) / 2, and nothing from total on; or lr.  transformers has the same three. */
enum schedule_form { SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_CONSTANT };
struct schedule {
    float lr;
    int64_t warmup, total; /* steps */
    enum schedule_form form;
};

/* With the schedule's rate times the parameter's lr_scale as lr and the steps so far, this one too, as t:
 * g *= min(1, clip / sqrt(norm)), norm the sum of squares of all gradients; m, v the running means of g and g^2;
 * w -= lr decay w;  w -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps);  g = 0 */
struct adamw {
    float beta1, beta2, eps, decay;
    float clip; /* largest global norm, 0 for none */
};

/* Adafactor without momentum (Shazeer & Stern 2018, algorithms 4 and 5, with lr in place of the relative step and no
 * scale of the parameter's own, as transformers has it too).  g is clipped as AdamW's; b = 1 - t^-decay_rate;
 * a matrix [R, C]:  r = b r + (1 - b) (mean over C of g^2 + eps);  c = b c + (1 - b) (mean over R of g^2 + eps);
 *                   u = g sqrt(mean of r / (r c))
 * anything else:    v = b v + (1 - b) (g^2 + eps);  u = g / sqrt(v)
 * w -= lr decay w;  w -= lr u / max(1, sqrt(mean of u^2) / threshold);  g = 0 */
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

/* One parameter: n numbers each of what is updated and its gradient, and what param.h tells of its state.  Of all
 * numbers the gradient counts for the norm and becomes zero; those from `first` to `end` are updated, and of them alone
 * there are states.  They are whole chunks; under Adafactor all or none. */
struct update_row {
    float *w, *g; /* w: the F32 master where there is one */
    float *state[2];
    bool bytes;            /* AdamW's states are blocks of moments.h */
    uint16_t *half;        /* the BF16 parameter, rounded from its master; NULL where it is F32 */
    int64_t n, rows, cols; /* rows 0: not a matrix under Adafactor */
    int64_t first, end;
    float decay, lr_scale; /* decay 0: none for this parameter */
};

/* What a block takes: so many numbers of a row, cut from its start; of a matrix under Adafactor a square of so many. */
enum { UPDATE_SIDE = 64, UPDATE_CHUNK = UPDATE_SIDE * UPDATE_SIDE };

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
