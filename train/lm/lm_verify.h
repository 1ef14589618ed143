/*
 * lm_verify.h - whether an exported model still says what the trained one said.
 */
#ifndef TRAIN_LM_LM_VERIFY_H
#define TRAIN_LM_LM_VERIFY_H

#include "train/lm/lm_export.h"

/* Opens what was written to e->request->out in the format peft or merged, and compares its logits on fixed texts with
 * those of the trained model, both computed in F32; tells the largest difference.  -1 with EXIT_CODE_FAILURE when that
 * is more than rounding explains. */
int lm_verify(const struct lm_export *e, struct error *err);

#endif
