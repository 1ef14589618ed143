/*
 * gate_estimate.h - how long a run of `ambit-train gatekeeper` will take on this machine, from a few of its steps.
 */
#ifndef TRAIN_GATE_GATE_ESTIMATE_H
#define TRAIN_GATE_GATE_ESTIMATE_H

#include "train/gate/gate_settings.h"

struct gate_seconds {
    double steps;    /* of every stage but one on cached states, which is short beside the encoding */
    double encoding; /* of questions outside of steps; what is cached already takes none */
};

/* A few steps and a few questions are timed, times how many there will be.  Leaves nothing behind. */
int gate_estimate(const struct gate_request *q, struct gate_seconds *seconds, struct error *err);

#endif
