/*
 * gate_mistakes.h - a part of a run's page: the questions that the detector was surest of and wrong about, each with a
 * drawing of its schema.
 */
#ifndef TRAIN_GATE_GATE_MISTAKES_H
#define TRAIN_GATE_GATE_MISTAKES_H

#include "data/report/report.h"
#include "train/gate/gate_eval.h"

/* Ten at most.  Marked are the alternatives by the labels and by the detector, whose likeliest ones they are also where
 * it calls the question clear. */
void gate_mistakes(struct report *r, const struct gate_model *m, const struct schema_set *schemas,
                   const struct gate_answers *a);

#endif
