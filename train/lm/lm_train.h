/*
 * lm_train.h - `ambit-train infill` from beginning to end.
 */
#ifndef TRAIN_LM_LM_TRAIN_H
#define TRAIN_LM_LM_TRAIN_H

#include "train/lm/lm_settings.h"

/* 0 when the run is finished (or was a dry one), 1 when a signal stopped it after saving, -1 on failure. */
int lm_train(const struct lm_request *q, struct error *err);

#endif
