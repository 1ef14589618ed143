/*
 * adapt_measure.h - how good scores of a few questions are, and mean, 5 % and 95 % of many such.
 */
#ifndef TRAIN_ADAPT_ADAPT_MEASURE_H
#define TRAIN_ADAPT_ADAPT_MEASURE_H

#include "data/stats/stats.h"
#include "models/gate/gate_model.h"

enum adapt_figure { ADAPT_AP, ADAPT_F1, ADAPT_MACRO_F1, ADAPT_ACCURACY, ADAPT_BRIER, ADAPT_SECONDS, ADAPT_FIGURES };
extern const char *const adapt_figure_names[ADAPT_FIGURES];

/* Of n logits at the model's threshold, temperature and shift, all but the seconds. */
void adapt_measure(const struct gate_model *m, const double *logit, const uint8_t *label, int n,
                   double figures[ADAPT_FIGURES]);

struct adapt_cell {
    double *of[ADAPT_FIGURES]; /* [n] */
    int n, cap;
};
void adapt_cell_add(struct adapt_cell *c, const double figures[ADAPT_FIGURES]);
void adapt_cell_release(struct adapt_cell *c);
struct adapt_spread {
    double mean, low, high; /* 5 % and 95 %, between neighbours where it lies there */
};
struct adapt_spread adapt_cell_spread(const struct adapt_cell *c, enum adapt_figure figure);

#endif
