/*
 * gate_report.h - the final evaluation of a run: test.json, report.html and a printed table.
 */
#ifndef TRAIN_DETECTOR_GATE_REPORT_H
#define TRAIN_DETECTOR_GATE_REPORT_H

#include "train/detector/gate_trainer.h"

/* Evaluates the test split, hard negatives apart. Prints the table to standard output and writes OUT/test.json and
 * OUT/report.html. Returns 1 when a signal asked to stop. */
int gate_report(struct gate_trainer *t, struct error *err);

#endif
