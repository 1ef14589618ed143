/*
 * run_save.h - checkpoints, best weights and final result of a run on disk, and the checks before a run resumes.
 */
#ifndef TRAIN_RUN_RUN_SAVE_H
#define TRAIN_RUN_RUN_SAVE_H

#include "train/run/run.h"

#include <jansson.h>

/* Field of a checkpoint's meta data: the step whose weights are in OUT/best; 0: none. */
#define RUN_BEST_STEP "best_step"

/* The meta data of a checkpoint of this run. The caller owns it. */
json_t *run_make_meta(const struct run *r);
int run_save_checkpoint(struct run *r, struct error *err);
/* Returns 1 after restoring the newest checkpoint, 0 if the folder has none. -1 with EXIT_CODE_USAGE, naming the
 * difference, if settings or data are not those of the checkpoint. */
int run_load_checkpoint(struct run *r, struct error *err);
int run_save_best(struct run *r, struct error *err);
/* Deletes the best weights of an earlier run that was killed before its first checkpoint. */
void run_forget_best(const struct run *r);
/* Loads the weights of OUT/best, if there are any. */
int run_load_best(struct run *r, struct error *err);
int run_save_result(struct run *r, struct error *err);

#endif
