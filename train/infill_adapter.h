/*
 * infill_adapter.h - the adapter that a run's settings describe.
 */
#ifndef TRAIN_INFILL_ADAPTER_H
#define TRAIN_INFILL_ADAPTER_H

#include "train/infill_trainer.h"

/* Declares it on t->model, with `extra` bytes beside it.  -1 with EXIT_CODE_USAGE for a target that is none. */
int infill_add_adapter(struct infill_trainer *t, size_t extra, struct error *err);

#endif
