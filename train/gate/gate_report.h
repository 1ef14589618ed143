/*
 * gate_report.h - the final table of a run: test.json, report.html and the same in words.
 */
#ifndef TRAIN_GATE_GATE_REPORT_H
#define TRAIN_GATE_GATE_REPORT_H

#include "train/gate/gate_trainer.h"

/* Judges the test fold (crossed and presence slices apart): prints the table to standard output, writes OUT/test.json
 * and OUT/report.html.  An empty test fold is only said.  1 when a signal asked to stop. */
int gate_report(struct gate_trainer *t, struct error *err);

#endif
