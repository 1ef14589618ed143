/*
 * adapt_calibrate.h - temperature and shift of a detector's scores from few labels.
 *
 * sigmoid(a x + b) of logits x that the base has calibrated already: a and b are those of Platt (1999), pulled towards
 * 1 and 0 by pull / 2 ((a - 1)^2 + b^2) beside the sum of losses.  How strongly, and whether anything moves at all, is
 * chosen by what each label's loss is where the others alone have been learnt from.
 */
#ifndef TRAIN_ADAPT_ADAPT_CALIBRATE_H
#define TRAIN_ADAPT_ADAPT_CALIBRATE_H

#include "data/stats/stats.h"

struct adapt_scale {
    double a, b;
};

/* Mean loss of labels under sigmoid(a x + b). */
double adapt_loss(struct scored s, struct adapt_scale k);
/* The least loss with that pull; INFINITY: a = 1, b = 0.  `without` (-1: none) is left out. */
struct adapt_scale adapt_scale_fit(struct scored logits, double pull, int without);
/* By the pull that leaving one out chooses; *loss is then the mean of what was left out. */
struct adapt_scale adapt_calibrate(struct scored logits, double *loss);

#endif
