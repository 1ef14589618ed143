/*
 * lm_trainer_impl.h - the parts of lm_trainer.h: the functions of its struct trainer, t being an lm_trainer.
 */
#ifndef TRAIN_LM_LM_TRAINER_IMPL_H
#define TRAIN_LM_LM_TRAINER_IMPL_H

#include "models/engine/engine.h"
#include "train/lm/lm_trainer.h"

/* lm_open.c: what the request may not ask for together; then model and data, once without taking memory, once with. */
int lm_check_request(const struct lm_request *q, struct error *err);
int lm_open(void *t, struct error *err);
int lm_start(void *t, struct error *err);
void lm_close(void *t);

/* lm_step.c */
int lm_step(void *t, struct error *err);
void lm_measure(void *t, struct measurement *m);
/* How many times fewer tokens are computed in a pass because of what texts of a micro-batch share: prefix_gain. */
void lm_foretell(struct lm_trainer *t);
/* Mean -log p of the target tokens of the validation texts.  1 when a signal asked to stop. */
int lm_valid_loss(struct lm_trainer *t, double *loss, struct error *err);

/* lm_trainer.c: fields of a checkpoint's meta, t being an lm_trainer; the form that other tools load. */
void lm_describe(const void *t, json_t *meta);
int lm_write_forms(struct lm_trainer *t, struct error *err);
/* What a validation's figure is called in metrics.jsonl, by enum lm_select; NULL: there is the loss
 * alone. */
extern const char *const lm_figures[];

/* lm_answers.c: what the model writes by itself to the validation texts, judged by the setting `select`: mean recall of
 * readings, or share of the answers that are right.  1 when a signal asked to stop. */
int lm_valid_answers(struct lm_trainer *t, double *share, struct error *err);
#endif
