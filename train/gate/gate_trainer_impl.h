/*
 * gate_trainer_impl.h - the parts of gate_trainer.h: the functions of its struct trainer, t being a gate_trainer.
 */
#ifndef TRAIN_GATE_GATE_TRAINER_IMPL_H
#define TRAIN_GATE_GATE_TRAINER_IMPL_H

#include "train/gate/gate_trainer.h"

/* gate_open.c: data, model and encoder; weights are initial. */
int gate_open(void *t, struct error *err);
void gate_close(void *t);

/* gate_check.c: -1 with EXIT_CODE_USAGE where settings, or the linker's model and they, do not go together, with
 * EXIT_CODE_DATA where texts are to say what nothing teaches. */
int gate_check_settings(const struct gate_trainer *t, struct error *err);
int gate_check_linker(const struct gate_trainer *t, struct error *err);
int gate_check_word(const struct gate_trainer *t, struct error *err);

/* gate_stages.c */
void gate_plan_stages(struct gate_trainer *t);
/* Whether the parameter is of what reads an element: encoder and relevance head. */
bool gate_reads(const struct param *p);
int gate_enter_stage(void *t, bool fresh, struct error *err);
/* The cached states of a frozen encoder; when a signal comes meanwhile it returns early, and no step may follow. */
int gate_prepare(void *t, struct error *err);

/* gate_step.c */
int gate_step(void *t, struct error *err);
void gate_measure_step(void *t, struct measurement *m);

#endif
