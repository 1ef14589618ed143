/*
 * gate_run.h - the stages of a run from first step to finished model.
 */
#ifndef TRAIN_GATE_GATE_RUN_H
#define TRAIN_GATE_GATE_RUN_H

#include "train/gate/gate_trainer.h"

/* 0 when the model is finished, 1 when a signal stopped the run after saving. */
int gate_train(const struct gate_request *q, struct error *err);

#endif
