/*
 * run_save.h - checkpoints, best weights and result of a run on the disk, and what a run that goes on must find there.
 */
#ifndef TRAIN_RUN_RUN_SAVE_H
#define TRAIN_RUN_RUN_SAVE_H

#include "train/run/run.h"

#include <jansson.h>

/* The field of a checkpoint's meta with the step whose weights are in OUT/best, 0: there are none. */
#define RUN_BEST_STEP "best_step"

/* what a checkpoint tells of this run; the caller owns it. */
json_t *run_make_meta(const struct run *r);
int run_save_checkpoint(struct run *r, struct error *err);
/* 1 when the folder held a checkpoint, which now is what the run holds; 0 when it held none.  A checkpoint of other
 * settings or other data is refused with EXIT_CODE_USAGE naming what differs. */
int run_load_checkpoint(struct run *r, struct error *err);
int run_save_best(struct run *r, struct error *err);
/* Removes what an earlier run, killed before its first checkpoint, left as its best. */
void run_forget_best(const struct run *r);
/* The weights of OUT/best, if the run has saved any. */
int run_load_best(struct run *r, struct error *err);
int run_save_result(struct run *r, struct error *err);

#endif
