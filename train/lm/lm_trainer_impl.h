/*
 * lm_trainer_impl.h - the parts of lm_trainer.h: the functions of its struct trainer, t being an lm_trainer.
 */
#ifndef TRAIN_LM_LM_TRAINER_IMPL_H
#define TRAIN_LM_LM_TRAINER_IMPL_H

#include "train/lm/lm_trainer.h"

/* lm_open.c: what the request may not ask for together; then model and data, once without taking memory, once with. */
int lm_check_request(const struct lm_request *q, struct error *err);
int lm_open(void *t, struct error *err);
int lm_start(void *t, struct error *err);
void lm_close(void *t);

/* lm_step.c */
int lm_step(void *t, struct error *err);
void lm_measure(void *t, struct measurement *m);
/* Mean -log p of the target tokens of the validation texts.  1 when a signal asked to stop. */
int lm_valid_loss(struct lm_trainer *t, double *loss, struct error *err);

/* lm_recall.c: mean share of a validation text's readings that the model writes by itself, word for word but for
 * capitals and punctuation; texts whose answer is that all are covered are left out.  1 when a signal asked to stop. */
int lm_valid_recall(struct lm_trainer *t, double *recall, struct error *err);

#endif
