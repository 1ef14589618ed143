/*
 * run_impl.h - the parts of run.h.
 */
#ifndef TRAIN_RUN_RUN_IMPL_H
#define TRAIN_RUN_RUN_IMPL_H

#include "train/run/run.h"

/* The field of a checkpoint's meta with the step whose weights are in OUT/best, 0: there are none. */
#define RUN_BEST_STEP "best_step"

/* run.c: everything before the first step, but for a checkpoint: device, trainer, estimate, memory. */
int run_open(struct run *r, struct error *err);
void run_close(struct run *r);

/* run_folder.c: a folder that holds a run, or a model, is only touched to go on with it; one that holds something else
 * with force alone.  -1 with EXIT_CODE_USAGE. */
int run_check_folder(const struct run_settings *s, struct error *err);
/* How a run that a signal has stopped goes on. */
void run_tell_resume(const struct run *r);

/* run_memory.c: bytes of the largest step of all batches of all stages; then whether they and the model fit. */
int run_measure(struct run *r, struct workspace_bytes *bytes, struct error *err);
int run_fit(struct run *r, struct error *err);

/* run_step.c: one optimizer step on the batch at the cursor, which does not move. */
int run_step(struct run *r, struct error *err);

/* run_loop.c: steps until all stages are over; 1 when a signal cut a validation short. */
bool run_over(const struct run *r);
/* A signal came, to whichever rank. */
bool run_stopping(const struct run *r);
int run_steps(struct run *r, struct error *err);
/* A checkpoint, unless the newest is of this step. */
int run_save(struct run *r, struct error *err);

/* run_save.c: what a checkpoint tells of this run; the caller owns it. */
json_t *run_make_meta(const struct run *r);
int run_save_checkpoint(struct run *r, struct error *err);
/* 1 when the folder held a checkpoint, which now is what the run holds; 0 when it held none.  A checkpoint of other
 * settings or other data is refused with EXIT_CODE_USAGE naming what differs. */
int run_load_checkpoint(struct run *r, struct error *err);
/* What a file's meta says of settings and data against this run's; -1 with EXIT_CODE_USAGE. */
int run_check_meta(const struct run *r, const json_t *saved, const char *where, struct error *err);
int run_save_best(struct run *r, struct error *err);
/* OUT/best and what follows. */
void run_best_path(const struct run *r, char path[4096], const char *name);
/* Removes what an earlier run, killed before its first checkpoint, left as its best. */
void run_forget_best(const struct run *r);
/* The weights of OUT/best, if the run has saved any. */
int run_load_best(struct run *r, struct error *err);
int run_save_result(struct run *r, struct error *err);

/* run_restore.c: -1 with EXIT_CODE_CHECKPOINT unless OUT/best holds what the checkpoint tells of. */
int run_check_best(const struct run *r, struct error *err);
/* A checkpoint's folder has a copy of the lines that were written up to its step.  Where OUT/metrics.jsonl does not
 * begin with them, they take its place, with a warning. */
int run_keep_metrics(const struct run *r, const char *dir, struct error *err);
int run_restore_metrics(const struct run *r, const char *dir, struct error *err);

#endif
