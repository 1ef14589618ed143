/*
 * lm_save.h - what a run of `ambit-train infill` leaves on the disk.
 *
 *   OUT/checkpoint-N/   ambit.h5: trained tensors, moments, counters and cursor after step N; the newest one only
 *   OUT/best/           ambit.h5: trained tensors of the best validation so far
 *   OUT/ambit.h5        the same of the finished run, with the base's hash; beside it what other tools load: the
 *                       adapter as PEFT has it, or for --method full the whole Hugging Face folder
 */
#ifndef TRAIN_LM_LM_SAVE_H
#define TRAIN_LM_LM_SAVE_H

#include "train/lm/lm_trainer.h"

int lm_save_checkpoint(struct lm_trainer *t, struct error *err);
/* 1 when OUT held a checkpoint, which now is what the trainer holds; 0 when it held none.  A checkpoint of other
 * settings, data or base is refused with EXIT_CODE_USAGE naming what differs. */
int lm_load_checkpoint(struct lm_trainer *t, struct error *err);

int lm_save_best(struct lm_trainer *t, struct error *err);
/* Removes what an earlier run, killed before its first checkpoint, left as its best. */
void lm_forget_best(const struct lm_trainer *t);
/* The tensors of OUT/best, if there are any. */
int lm_load_best(struct lm_trainer *t, struct error *err);
int lm_save_result(struct lm_trainer *t, struct error *err);

#endif
