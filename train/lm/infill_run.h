/*
 * infill_run.h - `ambit-train infill` from beginning to end.
 */
#ifndef TRAIN_LM_INFILL_RUN_H
#define TRAIN_LM_INFILL_RUN_H

#include "train/lm/infill_settings.h"

/* 0 when the run is finished (or was a dry one), 1 when a signal stopped it after saving, -1 on failure. */
int infill_train(const struct infill_request *q, struct error *err);

#endif
