/*
 * gate_predictions.h - answers that anyone has given to labelled questions, as answers of a detector.
 */
#ifndef TRAIN_GATE_GATE_PREDICTIONS_H
#define TRAIN_GATE_GATE_PREDICTIONS_H

#include "train/gate/gate_eval.h"

/*
 * Reads records {"id", "score"}, score from 0 to 1, and "alternatives" where they are known, as ambit-infer detect
 * writes them: one for each example, by id, in any order.  Logits are of temperature 1.  -1 with EXIT_CODE_DATA naming
 * the line, or an example without an answer, unless partial: then those without one are left out, and there must be
 * one. The caller releases what was filled either way.
 */
int gate_predictions_read(struct gate_answers *answers, struct gate_answers *presence, const char *path,
                          const struct example_list *examples, bool partial, struct error *err);

#endif
