/*
 * gate_step.h - batches and losses of each stage of a gatekeeper's training.
 */
#ifndef TRAIN_DETECTOR_GATE_STEP_H
#define TRAIN_DETECTOR_GATE_STEP_H

#include "train/detector/gate_trainer.h"

/* Functions of struct trainer; t is a gate_trainer. */
int gate_step(void *t, struct error *err);
void gate_measure_step(void *t, struct measurement *m);

#endif
