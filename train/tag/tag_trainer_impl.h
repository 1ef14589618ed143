/*
 * tag_trainer_impl.h - the parts of tag_trainer.h: the functions of its struct trainer, t being a tag_trainer.
 */
#ifndef TRAIN_TAG_TAG_TRAINER_IMPL_H
#define TRAIN_TAG_TAG_TRAINER_IMPL_H

#include "train/tag/tag_trainer.h"

/* tag_open.c: data, model and encoder; weights are initial. */
int tag_open(void *t, struct error *err);
void tag_close(void *t);
int tag_enter_stage(void *t, bool fresh, struct error *err);

/* tag_step.c: what each loss weighs behind a share of the steps. */
struct dte_weights tag_weights(const struct tag_settings *s, double at);
int tag_step(void *t, struct error *err);
void tag_measure(void *t, struct measurement *m);

/* tag_eval.c: answers to the first n examples of a fold, to be released by the caller; 1 when a signal asked to stop.
 */
int tag_answers(struct tag_trainer *t, enum fold fold, int n, struct tag_answer *answers, struct error *err);
int tag_validate(void *t, struct validation *v, struct error *err);
int tag_report(struct tag_trainer *t, struct error *err);
/* How many records are validated on. */
int tag_validated(const struct tag_trainer *t);

/* tag_calibrate.c: temperature and threshold of the model, by its answers to the first n validation records.  1 when a
 * signal asked to stop. */
int tag_calibrate(struct tag_trainer *t, int n, struct error *err);

#endif
