/*
 * ablate.h - `ambit-train ablate`: trains the rows of a sweep with several seeds and compares their metrics.
 *
 * OUT/ROW/seed-N is a run of `ambit-train gatekeeper`. A finished run is skipped, and a stopped one is resumed.
 * OUT/states caches the states of frozen encoders for all runs. OUT/linker/seed-N are the sweep's linkers.
 * OUT/ablate.json and OUT/report.html hold the table of finished runs.
 */
#ifndef TRAIN_DETECTOR_ABLATE_H
#define TRAIN_DETECTOR_ABLATE_H

#include "data/base/options.h"

struct ablate_request {
    const char *sweep, *out, *device;
    bool dry_run; /* print the estimated time of each row, train nothing */
};

/* Returns 1 when a signal stopped it, -1 on failure. *left_out is the number of rows that would exceed the sweep's
 * time limit. */
int ablate(const struct ablate_request *q, int *left_out, struct error *err);

#endif
