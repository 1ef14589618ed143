/*
 * adapt.h - `ambit-train adapt`: a finished detector and a few labels; an adapter's file, or what such files bring.
 */
#ifndef TRAIN_ADAPT_ADAPT_H
#define TRAIN_ADAPT_ADAPT_H

#include "data/stats/stats.h"
#include "models/gate/gate_model.h"
#include "train/adapt/adapt_fit.h"

/* How good scores of a few questions are, and mean, 5 % and 95 % of many such. */

enum adapt_metric { ADAPT_AP, ADAPT_F1, ADAPT_MACRO_F1, ADAPT_ACCURACY, ADAPT_BRIER, ADAPT_SECONDS, ADAPT_METRICS };
extern const char *const adapt_metric_names[ADAPT_METRICS];

struct adapt_cell {
    double *of[ADAPT_METRICS]; /* [n] */
    int n, cap;
};
void adapt_cell_add(struct adapt_cell *c, const double metrics[ADAPT_METRICS]);
void adapt_cell_release(struct adapt_cell *c);
struct adapt_spread {
    double mean, low, high; /* 5 % and 95 %, between neighbours where it lies there */
};
struct adapt_spread adapt_cell_spread(const struct adapt_cell *c, enum adapt_metric metric);

enum { ADAPT_MIN = 4, ADAPT_MAX = 48 }; /* labels that are adapted to */

struct adapt_request {
    const char *run; /* a detector's folder */
    const char *support, *queries, *db, *schema, *label_field, *out, *device;
    enum record_form form;
    struct adapt_settings set;
    int64_t tokens, seed;
    int64_t elements;      /* of a schema, that are read at most; 0: all */
    const char *retriever; /* a folder that embeds sentences, or NULL */
    int64_t draws;         /* 0: the whole support is adapted to, and out written */
    bool json, no_graph;
};

/* Tables to standard output. */
int adapt(const struct adapt_request *q, struct error *err);

#endif
