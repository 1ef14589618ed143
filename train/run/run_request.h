/*
 * run_request.h - all settings of a run: those of its command line, or, of a run that goes on, those that it began
 * with.
 *
 * OUT/config.yaml keeps every one of them, input paths from the root, so that `--resume --out OUT` says enough.  What
 * is given beside it goes before what is kept; a checkpoint refuses what would change the run (run_meta.h).
 */
#ifndef TRAIN_RUN_RUN_REQUEST_H
#define TRAIN_RUN_RUN_REQUEST_H

#include "data/cli/yaml.h"

#define RUN_CONFIG "config.yaml"

struct run_request {
    void *settings; /* the struct that the command's options fill */
    struct texts texts;
};

/* The command has the options out and resume.  -1 with EXIT_CODE_USAGE, also where what is required was neither given
 * nor kept.  The caller releases either way. */
int run_request_init(struct run_request *r, const struct command *c, const struct call *call, struct error *err);
void run_request_release(struct run_request *r);

#endif
