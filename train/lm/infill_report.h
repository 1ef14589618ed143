/*
 * infill_report.h - OUT/report.html: what was trained, and the curves of its losses.
 */
#ifndef TRAIN_LM_INFILL_REPORT_H
#define TRAIN_LM_INFILL_REPORT_H

#include "train/lm/infill_trainer.h"

int infill_report(const struct infill_trainer *t, struct error *err);

#endif
