/*
 * lm_report.h - OUT/report.html: what was trained, and the curves of its losses.
 */
#ifndef TRAIN_LM_LM_REPORT_H
#define TRAIN_LM_LM_REPORT_H

#include "train/lm/lm_trainer.h"

int lm_report(const struct lm_trainer *t, struct error *err);

#endif
