/*
 * gate_page.h - report.html of a run: what it was, how good it is, where it is wrong, how it learned.
 */
#ifndef TRAIN_GATE_GATE_PAGE_H
#define TRAIN_GATE_GATE_PAGE_H

#include "train/gate/gate_findings.h"

/* Into the run's folder, of the answers to the test fold's crossed questions. */
int gate_page(const struct gate_trainer *t, const struct gate_findings *f, const struct gate_answers *a,
              struct error *err);

#endif
