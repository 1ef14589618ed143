/*
 * ablate.h - trains every row of a plan with every seed, each in a folder of its own, and tells what they reached.
 *
 * OUT/ROW/seed-N is a run of `ambit-train gatekeeper`; one that is finished is not trained again and one that was
 * stopped goes on.  OUT/states has the states of frozen encoders for all of them, OUT/linker/seed-N what the plan's
 * linker is.  OUT/ablate.json and OUT/report.html have the table of what is finished.
 */
#ifndef TRAIN_ABLATE_ABLATE_H
#define TRAIN_ABLATE_ABLATE_H

#include "data/cli/options.h"

struct ablate_request {
    const char *plan, *out, *device;
    bool dry_run; /* tells how long each row will take, and trains nothing */
};

/* 1 when a signal stopped it, -1 on failure; *left_out: how many rows are not trained since they would take longer than
 * the plan allows. */
int ablate(const struct ablate_request *q, int *left_out, struct error *err);

#endif
