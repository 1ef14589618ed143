/*
 * gate_export.h - a GATekeeper's run cut down to a detector: one folder with what it takes to run it, and no more.
 *
 * The folder holds ambit.h5 (weights, settings, threshold and validation scores) and the tokenizer's files.  States of
 * the optimizer, checkpoints and curves stay behind, and so do paths of this machine.
 */
#ifndef TRAIN_GATE_GATE_EXPORT_H
#define TRAIN_GATE_GATE_EXPORT_H

#include "models/checkpoint/weights.h"

/* Reads a run's folder, or its newest checkpoint while it is under way, and writes into the folder `to`, which exists.
 * -1 with EXIT_CODE_CHECKPOINT where it is no run of ambit-train gatekeeper. */
int gate_export(const char *run, const char *to, enum weights_form form, struct error *err);

#endif
