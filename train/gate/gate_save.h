/*
 * gate_save.h - what a run leaves on the disk: checkpoints to go on from, the best weights, the finished model.
 *
 *   OUT/checkpoint-N/   weights, moments, counters and cursor after step N; the newest one only
 *   OUT/best/           weights of the best validation so far
 *   OUT/ambit.h5        the finished model: best weights, threshold, temperature; beside it the tokenizer
 */
#ifndef TRAIN_GATE_GATE_SAVE_H
#define TRAIN_GATE_GATE_SAVE_H

#include "train/gate/gate_trainer.h"

int gate_save_checkpoint(struct trainer *t, struct error *err);
/* 1 when OUT held a checkpoint, which now is what the trainer holds; 0 when it held none.  A checkpoint of other
 * settings or other data is refused with EXIT_CODE_USAGE naming what differs. */
int gate_load_checkpoint(struct trainer *t, struct error *err);

int gate_save_best(struct trainer *t, struct error *err);
/* Removes what an earlier run, killed before its first checkpoint, left as its best. */
void gate_forget_best(const struct trainer *t);
/* The weights of OUT/best, if there are any. */
int gate_load_best(struct trainer *t, struct error *err);
int gate_save_model(struct trainer *t, struct error *err);

#endif
