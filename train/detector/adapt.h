/*
 * adapt.h - `ambit-train adapt`: fits a detector to a few labels and writes an adapter, or estimates the gain by
 * repeated trials.
 */
#ifndef TRAIN_DETECTOR_ADAPT_H
#define TRAIN_DETECTOR_ADAPT_H

#include "data/base/stats.h"
#include "models/gatekeeper/gate_model.h"
#include "train/detector/adapt_fit.h"

/* Metrics of a small set of questions, and their mean and quantiles over many sets. */

/* From ADAPT_DECISION on: the metrics of enum stats_metric. */
enum adapt_metric {
    ADAPT_AP,
    ADAPT_DECISION,
    ADAPT_BRIER = ADAPT_DECISION + STATS_METRICS,
    ADAPT_SECONDS,
    ADAPT_METRICS
};

struct adapt_cell {
    double *of[ADAPT_METRICS]; /* [n] */
    int n, cap;
};
void adapt_cell_add(struct adapt_cell *c, const double metrics[ADAPT_METRICS]);
void adapt_cell_release(struct adapt_cell *c);
struct adapt_spread {
    double mean, low, high; /* mean, 5 % and 95 % quantile, interpolated */
};
struct adapt_spread adapt_cell_spread(const struct adapt_cell *c, enum adapt_metric metric);

enum { ADAPT_MIN = 4, ADAPT_MAX = 48 }; /* number of labels */

struct adapt_request {
    const char *run; /* a detector's folder */
    const char *support, *queries, *db, *schema, *label_field, *out, *device;
    enum record_format format_in;
    struct adapt_settings set;
    int64_t tokens, seed;
    int64_t elements;      /* max elements of a schema that are read; 0: all */
    const char *retriever; /* folder of a sentence encoder, or NULL */
    int64_t repeats;       /* trials; 0: fit to the whole support and write `out` */
    bool json, no_graph;
};

/* Prints tables to standard output. */
int adapt(const struct adapt_request *q, struct error *err);

#endif
