/*
 * ablate_table.h - what the runs of an ablation reached: a row each, the mean over seeds and its 95 % interval.
 *
 * The interval is Student's over the seeds, mean +- t s / sqrt(n); of one seed there is none.
 */
#ifndef TRAIN_ABLATE_ABLATE_TABLE_H
#define TRAIN_ABLATE_ABLATE_TABLE_H

#include "train/ablate/ablate_plan.h"

enum ablate_figure {
    FIGURE_AP,
    FIGURE_F1,       /* at the threshold chosen on validation */
    FIGURE_MACRO_F1, /* mean of that of yes and of no */
    FIGURE_ACCURACY,
    FIGURE_PRECISION,
    FIGURE_RECALL,
    ABLATE_FIGURES
};

struct ablate_cell {
    double sum, squares;
    int n;
};

struct ablate_table {
    const struct ablate_plan *plan;
    struct ablate_cell (*cells)[ABLATE_FIGURES]; /* of each row, then of what needs no training */
};

void ablate_table_init(struct ablate_table *t, const struct ablate_plan *plan);
/* A finished run: its test.json.  -1 with EXIT_CODE_DATA. */
int ablate_table_add(struct ablate_table *t, int row, const char *folder, struct error *err);
/* To standard output. */
void ablate_table_print(const struct ablate_table *t);
/* OUT/ablate.json and OUT/report.html. */
int ablate_table_write(const struct ablate_table *t, const char *out, struct error *err);
void ablate_table_release(struct ablate_table *t);

#endif
