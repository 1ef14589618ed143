/*
 * gate_table.h - measures as rows of a table.
 */
#ifndef TRAIN_GATE_GATE_TABLE_H
#define TRAIN_GATE_GATE_TABLE_H

#include "train/gate/gate_measure.h"

enum { GATE_COLUMNS = 9, GATE_CELL = 64 };
struct gate_row {
    char cells[GATE_COLUMNS][GATE_CELL];
};

/* What stands above the rows; the first says what their names are. */
extern const char *const gate_columns[GATE_COLUMNS];

void gate_row_fill(struct gate_row *row, const char *name, const struct gate_measures *m);
/* To standard output, under the names of the columns; first is the first one's. */
void gate_rows_print(const char *first, const struct gate_row *rows, int n);
/* A line: AP and AUC with their intervals, calibration. */
void gate_summary_print(const struct gate_measures *m);

#endif
