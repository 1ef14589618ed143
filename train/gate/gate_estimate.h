/*
 * gate_estimate.h - how long a run of `ambit-train gatekeeper` will take on this machine, from a few of its steps.
 */
#ifndef TRAIN_GATE_GATE_ESTIMATE_H
#define TRAIN_GATE_GATE_ESTIMATE_H

#include "train/gate/gate_settings.h"

/* Seconds: a few steps of every stage but one on cached states, which is short beside the encoding, and a few questions
 * encoded, times how many there will be.  States that are cached already take less.  Leaves nothing behind. */
int gate_estimate(const struct gate_request *q, double *seconds, struct error *err);

#endif
