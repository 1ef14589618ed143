/*
 * reward_report.h - report.html of a finished run of `ambit-train reward`.
 *
 * Rewards, recall and precision of the test records before and after training are compared with intervals by a
 * bootstrap over databases. A database and its altered copies are one unit.
 */
#ifndef TRAIN_LM_REWARD_REPORT_H
#define TRAIN_LM_REWARD_REPORT_H

#include "train/lm/reward_trainer.h"

/* Writes OUT/report.html from the files of OUT, and logs its table. Returns 0, or -1 with err. */
int reward_report(const struct reward_trainer *t, struct error *err);

#endif
