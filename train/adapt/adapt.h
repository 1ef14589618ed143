/*
 * adapt.h - `ambit-train adapt`: a finished detector and a few labels; an adapter's file, or what such files bring.
 */
#ifndef TRAIN_ADAPT_ADAPT_H
#define TRAIN_ADAPT_ADAPT_H

#include "train/adapt/adapt_fit.h"

enum { ADAPT_LEAST = 4, ADAPT_MOST = 48 }; /* labels that are adapted to */

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
