/*
 * gate_open.h - everything a run needs before its first step.
 */
#ifndef TRAIN_GATE_GATE_OPEN_H
#define TRAIN_GATE_GATE_OPEN_H

#include "train/gate/gate_run.h"

/* Reads data and encoder, takes memory, prints the estimate; weights are initial.  The caller closes either way. */
int trainer_open(struct trainer *t, const struct gate_request *q, struct error *err);
void trainer_close(struct trainer *t);

#endif
